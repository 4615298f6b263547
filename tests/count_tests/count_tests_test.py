#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/build/count_tests.py on small runs."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))


class CountTestsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ["TEST_TMPDIR"])
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def bazel_run(self, status, *cases):
        """The events of one test that ran, with the elements of its report."""
        report = self.write("test.xml", f"<testsuites><testsuite>{''.join(cases)}"
                                        "</testsuite></testsuites>")
        events = [
            {"id": {"targetConfigured": {"label": "//a:test"}}, "configured": {"testSize": "SMALL"}},
            {"id": {"testResult": {"label": "//a:test"}}, "testResult": {
                "status": status,
                "testActionOutput": [{"name": "test.xml", "uri": f"file://{report}"}]}}]
        return self.write("all.json", "\n".join(map(json.dumps, events)))

    def expect(self, status, last_line, *runs, words=()):
        done = subprocess.run([PROGRAM, *runs], stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.stdout.splitlines()[-1], last_line)
        for word in words:
            self.assertIn(word, done.stdout)
        self.assertEqual(done.returncode, status)

    def test_cases_of_bazel_are_counted_by_outcome(self):
        run = self.bazel_run(
            "FAILED", '<testcase classname="A" name="B" status="run"/>',
            '<testcase classname="A" name="C"><failure message="is not 1"/></testcase>',
            '<testcase classname="A" name="D"><skipped message="no reason"/></testcase>')
        self.expect(1, "1 passed, 1 failed, 1 skipped", run,
                    words=["failed (all): //a:test A.C: is not 1"])

    def test_a_test_that_ends_badly_is_a_failed_case(self):
        run = self.bazel_run("TIMEOUT", '<testcase classname="A" name="B" status="run"/>')
        self.expect(1, "1 passed, 1 failed, 0 skipped", run, words=["//a:test: timeout"])

    def test_cases_of_shards_are_counted_by_outcome(self):
        run = self.write("siw.txt", "left out: A.B/siw: siw cannot: it is slow\n"
                                    "12 passed, 0 failed, 1 left out\n")
        self.expect(0, "12 passed, 0 failed, 1 skipped", run,
                    words=["skipped (siw): A.B/siw: siw cannot: it is slow"])
        run = self.write("siw.txt", "12 passed, 2 failed, 0 left out\n")
        self.expect(1, "12 passed, 2 failed, 0 skipped", run)

    def test_runs_add_up(self):
        shards = self.write("siw.txt", "12 passed, 0 failed, 0 left out\n")
        bazel = self.bazel_run("PASSED", '<testcase classname="A" name="B" status="run"/>')
        self.expect(0, "13 passed, 0 failed, 0 skipped", shards, bazel)

    def test_a_run_that_did_not_come_to_its_end_is_a_failure(self):
        for text in ("", "[ RUN      ] A.B\n", "12 passed, 0 failed, 0 left out\nKilled\n"):
            with self.subTest(text):
                self.expect(1, "0 passed, 1 failed, 0 skipped", self.write("siw.txt", text))
        for name in ("missing.txt", "missing.json"):
            with self.subTest(name):
                self.expect(1, "0 passed, 1 failed, 0 skipped", os.path.join(self.folder, name))

    def test_nothing_at_all_is_a_failure(self):
        self.expect(1, "0 passed, 0 failed, 0 skipped")


if __name__ == "__main__":
    unittest.main()
