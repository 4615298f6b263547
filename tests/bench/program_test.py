#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs rpma_bench as a user would, with few measurements."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
IDS = ["write_8_one_way", "write_8_completed", "write_8_completed_p99", "wake", "wake_later",
       "write_1m", "write_1m_best", "memcpy_1m", "write_1m_share", "idle_cpu", "write_8_rate",
       "write_1m_inside", "write_1m_inside_share", "connection_rate"]
WITH_TARGETS = {"write_8_one_way", "wake", "write_1m_share", "idle_cpu",
                "write_8_rate", "write_1m_inside_share", "connection_rate"}
WITH_UCX = {"write_8_one_way", "wake", "write_1m", "write_1m_share"}
WITH_MACHINE = WITH_UCX | {"wake_later"}
UCX_PERFTEST = """#!/bin/sh
[ "$1" = 127.0.0.1 ] || exec sleep 60
echo iterations,50.0_percentile_lat,avg_lat
echo 10,0.500,0.600
"""


def run(*args, path="/usr/bin:/bin"):
    return subprocess.run([PROGRAM, *args], text=True, timeout=240, env={"PATH": path},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


class ProgramTest(unittest.TestCase):
    def test_all_is_measured(self):
        result = run("--quick", "--no-ucx", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = json.loads(result.stdout)["rows"]
        self.assertEqual([row["id"] for row in rows], IDS)
        self.assertEqual({row["id"] for row in rows if "target" in row}, WITH_TARGETS)
        for row in rows:
            self.assertEqual("target" in row, "met" in row, row)
            self.assertNotIn("ucx", row)
            self.assertEqual("machine" in row, row["id"] in WITH_MACHINE, row)
            if "machine" in row:
                self.assertGreater(row["machine"], 0, row)
            if row["id"] != "idle_cpu":
                self.assertGreater(row["value"], 0, row)

    def test_ucx_is_in_the_same_table(self):
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "ucx_perftest")
            with open(name, "w") as file:
                file.write(UCX_PERFTEST)
            os.chmod(name, 0o755)
            result = run("--quick", "--json", path=folder + ":/usr/bin:/bin")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        ucx = {row["id"]: row["ucx"] for row in report["rows"] if "ucx" in row}
        self.assertEqual(set(ucx), WITH_UCX)
        self.assertAlmostEqual(ucx["wake"], 0.5)
        self.assertAlmostEqual(ucx["write_1m"], (1 << 20) / 500, delta=1)
        self.assertIn("UCX_TLS=", report["ucx"])

    def test_without_ucx_it_says_how_to_get_it(self):
        result = run("--quick", path="/nowhere")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("ucx-utils", result.stdout)
        self.assertEqual(len(result.stdout.splitlines()), len(IDS) + 2)

    def test_wrong_usage(self):
        for argument in ("--fast", "fast"):
            result = run(argument)
            self.assertEqual(result.returncode, 2)
            self.assertIn(argument, result.stderr)
            self.assertEqual(result.stdout, "")

    def test_help(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        for option in ("--json", "--quick", "--no-ucx"):
            self.assertIn(option, result.stdout)


if __name__ == "__main__":
    unittest.main()
