#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What tests/differential/compare.py calls an error."""
import os
import subprocess
import sys
import tempfile
import unittest

COMPARE = os.path.abspath(sys.argv.pop(1))
HEADER = "device\tscenario\temulator\treal\treason\n"


class CompareTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def compare(self, real, emulator, *entries):
        """The exit status and what was printed, of the scenario `s` with these lines."""
        result = subprocess.run(
            [COMPARE, "rxe", self.write("real", "== s\n" + real),
             self.write("emulator", "== s\n" + emulator),
             self.write("entries", HEADER + "".join("\t".join(e) + "\n" for e in entries))],
            stdout=subprocess.PIPE, text=True, check=False)
        return result.returncode, result.stdout

    def test_equal_histories(self):
        status, report = self.compare("a\nb\n", "a\nb\n")
        self.assertEqual((status, report),
                         (0, "rxe: 1 scenarios, 1 equal; 0 differences allowed, 0 errors\n"))

    def test_difference_without_an_entry(self):
        status, report = self.compare("a\nb\n", "a\nc\n")
        self.assertEqual(status, 1)
        self.assertIn("NO ENTRY", report)

    def test_difference_with_an_entry(self):
        status, report = self.compare("a\nb\n", "a\nc\n", ("rxe", "s", "c", "b", "for a reason"))
        self.assertEqual(status, 0)
        self.assertIn("for a reason", report)

    def test_line_more(self):
        self.assertEqual(self.compare("a\nb\n", "a\n")[0], 1)
        self.assertEqual(self.compare("a\nb\n", "a\n", ("rxe", "s", "-", "b", "reason"))[0], 0)
        self.assertEqual(self.compare("a\n", "a\nb\n", ("rxe", "s", "-", "b", "reason"))[0], 1)

    def test_difference_that_comes_twice(self):
        entry = ("rxe", "s", "c", "b", "reason")
        real, emulator = "b\na\nb\n", "c\na\nc\n"
        status, report = self.compare(real, emulator)
        self.assertEqual(status, 1)
        self.assertIn("0 differences allowed, 2 errors", report)
        status, report = self.compare(real, emulator, entry)
        self.assertEqual(status, 1)
        self.assertIn("1 differences allowed, 1 errors", report)
        status, report = self.compare(real, emulator, entry, entry)
        self.assertEqual(status, 0)
        self.assertIn("2 differences allowed, 0 errors", report)

    def test_entry_once_too_often(self):
        entry = ("rxe", "s", "c", "b", "reason")
        status, report = self.compare("b\n", "c\n", entry, entry)
        self.assertEqual(status, 1)
        self.assertIn("1 differences allowed, 1 errors", report)

    def test_order_matters(self):
        self.assertEqual(self.compare("a\nb\n", "b\na\n")[0], 1)

    def test_entry_that_no_longer_differs(self):
        status, report = self.compare("a\n", "a\n", ("rxe", "s", "c", "b", "reason"))
        self.assertEqual(status, 1)
        self.assertIn("NO LONGER DIFFERS", report)

    def test_entry_of_another_device(self):
        self.assertEqual(self.compare("a\n", "a\n", ("siw", "s", "c", "b", "reason"))[0], 0)

    def test_history_that_is_empty(self):
        empty = self.write("empty", "")
        status = subprocess.run([COMPARE, "rxe", empty, empty, self.write("none", HEADER)],
                                stderr=subprocess.DEVNULL, check=False).returncode
        self.assertEqual(status, 1)


if __name__ == "__main__":
    unittest.main()
