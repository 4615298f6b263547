#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program that knows nothing of the emulator under plans of faults."""
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))


class ProgramTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(folder.name, "plan.txt")

    def run_under_file(self, path):
        environment = {"RPMA_TRANSPORT": "emulator", "RPMA_EMU": "fabric=private",
                       "RPMA_EMU_FAULTS": path}
        return subprocess.run([PROGRAM], env=environment, text=True, timeout=20,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_under(self, plan):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(plan)
        return self.run_under_file(self.path)

    def test_an_empty_plan_changes_nothing(self):
        result = self.run_under("# nothing yet\n")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_no_file_is_no_plan(self):
        result = self.run_under_file("")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_request_fails(self):
        result = self.run_under("complete write status=REM_ACCESS_ERR")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("status 10", result.stderr)

    def test_a_lost_request_is_retried(self):
        result = self.run_under("drop write nth=1")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_call_fails(self):
        result = self.run_under("fail ibv_reg_mr nth=2 errno=ENOMEM")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("Cannot allocate memory", result.stderr)
        self.assertNotIn("has not fired", result.stderr)

    def test_rules_that_have_not_fired_are_told_at_exit(self):
        result = self.run_under("fail ibv_reg_mr nth=99\n\nfail ibv_advise_mr;fail any nth=1000")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count("has not fired"), 3, result.stderr)
        self.assertIn("rule 1 of the plan of faults (fail ibv_advise_mr) has not fired",
                      result.stderr)

    def test_a_wrong_plan_is_told_with_its_place(self):
        result = self.run_under("fail any nth=5\nfail ibv_reg_mrs")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(f"{self.path}: line 2, column 6: ", result.stderr)

    def test_a_plan_must_be_readable(self):
        result = self.run_under_file(self.path)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(f"{self.path}: No such file or directory", result.stderr)
        result = self.run_under_file(self.folder)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(f"{self.folder}: Is a directory", result.stderr)

    def test_the_program_ends_by_itself_whichever_call_fails(self):
        for k in range(1, 1000):
            result = self.run_under(f"fail any nth={k}")
            if "has not fired" in result.stderr:
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertGreater(k, 50)
                return
            self.assertIn(result.returncode, (0, 1), f"k = {k}: {result.stderr}")
        self.fail("there is no end of calls")


if __name__ == "__main__":
    unittest.main()
