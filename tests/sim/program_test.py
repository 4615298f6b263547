#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs rpma_sim as a user would: its output, exit codes and messages."""
import json
import os
import pty
import re
import subprocess
import sys
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))


def run(*args, prefix=()):
    return subprocess.run([*prefix, PROGRAM, *args], text=True, timeout=50,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


class ProgramTest(unittest.TestCase):
    def test_tells_what_the_seeds_came_to(self):
        result = run("--seeds", "3", "--steps", "50")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, 
                         r"\n3 seeds, \d+ steps, \d+ faults, [\d.]+ s: 0 failed\n$")
        self.assertRegex(result.stdout, r"(?m)^  new_peer +\d+$")

    def test_is_quiet_in_a_pipe(self):
        self.assertEqual(run("--seeds", "3", "--steps", "50").stderr, "")

    def test_shows_its_progress_on_a_terminal(self):
        fd, end = pty.openpty()
        with subprocess.Popen([PROGRAM, "--seeds", "3", "--steps", "50"],
                              stdout=subprocess.DEVNULL, stderr=end) as process:
            os.close(end)
            self.assertIn(b"of 3 seeds", os.read(fd, 4096))
            process.wait(timeout=50)
        os.close(fd)

    def test_json_is_one_object(self):
        result = run("--seed=7", "--seeds=2", "--steps=50", "--json")
        summary = json.loads(result.stdout)
        self.assertEqual(summary["seeds"], 2)
        self.assertEqual(summary["failures"], [])
        self.assertGreater(summary["counts"]["new_peer"], 0)

    def test_verbose_prints_the_walk(self):
        result = run("--seed", "5", "--steps", "50", "--profile", "ib", "--verbose")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"^seed 5, 50 steps, profile ib, ")
        self.assertRegex(result.stdout, r"(?m)^\d+  peer 1: new on node \d -> 0$")

    def test_a_seed_has_one_history_wherever_it_runs(self):
        args = ("--seeds", "10", "--steps", "200", "--hashes")
        hashes = [line for line in run(*args).stdout.splitlines() if " hash " in line]
        self.assertEqual(len(hashes), 10)
        self.assertEqual(len(set(hash.split(" ", 2)[2] for hash in hashes)), 10)
        # Addresses differ from process to process, unless that is turned off,
        # which not every container allows.
        prefixes = [[], ["env", "A=" + 5000 * "x"]]
        fixed = ["setarch", "-R"]
        if subprocess.run([*fixed, "true"], stderr=subprocess.DEVNULL).returncode == 0:
            prefixes.append(fixed)
        for prefix in prefixes:
            again = run(*args, prefix=prefix)
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertEqual(
                [line for line in again.stdout.splitlines() if " hash " in line], hashes)

    def test_runs_with_some_of_the_faults(self):
        def plan(*args):
            result = run("--seed", "7", "--steps", "50", "--verbose", *args)
            self.assertEqual(result.returncode, 0, result.stderr)
            found = re.search(r"(?m)^plan: (.*)$", result.stdout)
            return found.group(1).split("; ") if found else []
        rules = plan()
        self.assertGreater(len(rules), 1)
        self.assertEqual(plan("--rules", "1"), rules[1:2])
        self.assertEqual(plan("--rules=none"), [])
        self.assertEqual(plan("--no-faults"), [])

    def test_help(self):
        result = run("--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for option in ("--seeds", "--seed ", "--steps", "--profile", "--schedule",
                       "--rules", "--no-faults", "--trace", "--hashes", "--verbose", "--json"):
            self.assertIn(option, result.stdout)

    def test_wrong_usage(self):
        for args, message in [
                (["--seeds", "x"], "--seeds 'x' is not a number from 1 to"),
                (["--steps", "0"], "--steps '0' is not a number from 1 to 1000000"),
                (["--seed"], "--seed '' is not a number"),
                (["--profile", "tcp"], "--profile 'tcp' is none of roce, ib and iwarp"),
                (["--schedule", "random"], "'random' is neither inline nor stepped"),
                (["--rules", "1,"], "--rules '1,' is neither none nor like 0,2"),
                (["--trace", ""], "--trace needs the name of a file"),
                (["--nonsense", "1"], "unknown option '--nonsense'"),
                (["7"], "unexpected argument '7'")]:
            with self.subTest(args):
                result = run(*args)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertRegex(result.stderr, r"^rpma_sim: [^\n]+\n$")
                self.assertIn(message, result.stderr)


if __name__ == "__main__":
    unittest.main()
