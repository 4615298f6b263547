#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""called_functions.py finds what is missing, tried on example.h and calls.c."""
import subprocess
import sys
import tempfile
import unittest

SCRIPT, HEADER, *OBJECTS = sys.argv[1:]


def check(*documented):
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as table:
        table.write("function\n" + "".join(name + "\n" for name in documented))
        table.flush()
        return subprocess.run([SCRIPT, HEADER, table.name, *OBJECTS], check=False,
                              stdout=subprocess.PIPE, encoding="utf-8")


class CalledFunctionsTest(unittest.TestCase):

    def test_function_that_is_only_declared_or_pointed_to_is_not_called(self):
        result = check("rpma_called", "rpma_address_taken", "rpma_split")
        self.assertEqual(result.stdout.splitlines(), [
            "rpma_address_taken: no test calls it",
            "rpma_split: no test calls it",
            "1 of 3 functions of example.h are called",
        ])
        self.assertEqual(result.returncode, 1)

    def test_header_and_table_must_name_the_same_functions(self):
        result = check("rpma_called", "rpma_address_taken", "rpma_forgotten")
        self.assertIn("rpma_forgotten: documented, but not declared in example.h",
                      result.stdout.splitlines())
        self.assertIn("rpma_split: declared in example.h, but not documented",
                      result.stdout.splitlines())
        self.assertEqual(result.returncode, 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
