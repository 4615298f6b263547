#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What in_shards.py makes of processes that pass, fail, crash or hang."""
import os
import subprocess
import sys
import tempfile
import unittest

IN_SHARDS = os.path.abspath(sys.argv.pop(1))
# Runs two tests; its arguments say for each shard how the second ends.
SUITE = """#!/bin/sh
shift "$GTEST_SHARD_INDEX"
[ "$1" != no-tests ] || exit 0
echo '[==========] Running 2 tests from 1 test suite.'
echo '[ RUN      ] S.First/rxe'
echo '[       OK ] S.First/rxe (0 ms)'
echo '[ RUN      ] S.Second/rxe'
case "$1" in
  pass) echo '[       OK ] S.Second/rxe (0 ms)' ;;
  fail)
    echo 'a_test.cc:7: Failure'
    echo '[  FAILED  ] S.Second/rxe, where GetParam() = rxe (0 ms)' ;;
  crash) kill -SEGV $$ ;;
  exit) exit 0 ;;
  hang) exec tail -f /dev/null ;;
esac
echo '[==========] 2 tests from 1 test suite ran. (0 ms total)'
[ "$1" != fail ] || echo '[  FAILED  ] S.Second/rxe, where GetParam() = rxe'
echo 'left out: S.Third: a reason'
echo 'left out: T.Only: another'
echo '2 passed, 0 failed, 2 left out'
[ "$1" != fail ]
"""
LEFT_OUT = ["left out: S.Third: a reason", "left out: T.Only: another"]


class InShardsTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.suite = os.path.join(folder.name, "suite")
        with open(self.suite, "w", encoding="utf-8") as file:
            file.write(SUITE)
        os.chmod(self.suite, 0o755)

    def run_shards(self, *ends, timeout=60):
        """The exit status and the lines printed."""
        result = subprocess.run(
            [IN_SHARDS, f"--shards={len(ends)}", f"--timeout={timeout}", "--", self.suite, *ends],
            stdout=subprocess.PIPE, text=True, check=False)
        return result.returncode, result.stdout.splitlines()

    def test_shards_that_pass_are_counted_and_what_they_leave_out_is_told_once(self):
        self.assertEqual(self.run_shards("pass", "pass", "pass"),
                         (0, LEFT_OUT + ["6 passed, 0 failed, 2 left out"]))

    def test_failure_is_shown(self):
        status, lines = self.run_shards("pass", "fail")
        self.assertEqual(status, 1)
        self.assertIn("a_test.cc:7: Failure", lines)
        self.assertIn("a process ended with 1", lines)
        self.assertNotIn("[       OK ] S.First/rxe (0 ms)", lines)
        self.assertEqual(lines[-3:], LEFT_OUT + ["3 passed, 1 failed, 2 left out"])

    def test_crash_names_its_test(self):
        status, lines = self.run_shards("crash", "pass")
        self.assertEqual(status, 1)
        self.assertIn("a process ended by SIGSEGV in S.Second/rxe; "
                      "1 of its tests did not finish", lines)
        self.assertEqual(lines[-1], "3 passed, 1 failed, 2 left out")

    def test_exit_in_a_test_is_no_success(self):
        status, lines = self.run_shards("exit", "pass")
        self.assertEqual(status, 1)
        self.assertIn("a process ended with 0 in S.Second/rxe; "
                      "1 of its tests did not finish", lines)
        self.assertEqual(lines[-1], "3 passed, 1 failed, 2 left out")

    def test_test_that_hangs_is_stopped_and_named(self):
        status, lines = self.run_shards("hang", "pass", timeout=5)
        self.assertEqual(status, 1)
        self.assertIn("a process was stopped after 5 s in S.Second/rxe; "
                      "1 of its tests did not finish", lines)
        self.assertEqual(lines[-1], "3 passed, 1 failed, 2 left out")

    def test_no_test_is_no_success(self):
        self.assertEqual(self.run_shards("no-tests", "no-tests"),
                         (1, ["0 passed, 0 failed, 0 left out"]))

    def test_usage(self):
        for arguments in [], ["--shards=0", "--", self.suite], ["--shards=26", "--", self.suite]:
            result = subprocess.run([IN_SHARDS, *arguments], stderr=subprocess.PIPE, text=True,
                                    check=False)
            self.assertEqual(result.returncode, 2)
            self.assertIn("needs a command and 1 to 25 shards", result.stderr)


if __name__ == "__main__":
    unittest.main()
