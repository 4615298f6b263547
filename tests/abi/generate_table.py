#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Turns the tables of the public interface into C for the ABI tests.

Each output is a list of macro calls, for a file that defines the macro:
  constants.tsv -> ABI_CONSTANT(name, documented value)
  functions.tsv -> ABI_FUNCTION(name, definition of a pointer of its documented type)
"""
import argparse
import csv
import re
import sys


def constant(row):
    name, value = row["name"], row["value"]
    if row["kind"].startswith("macro"):
        yield f"#ifndef {name}\n#error {name} is not a macro\n#endif"
    yield f"ABI_CONSTANT({name}, {value})"


def function(row):
    name = row["function"]
    pointer, found = re.subn(rf"\b{name}\(", f"(*const pointer_to_{name})(",
                             row["c_prototype"].rstrip(";"))
    if found != 1:
        raise ValueError(f"{name} does not occur once in its prototype")
    yield f"ABI_FUNCTION({name}, {pointer})"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["constants", "functions"])
    parser.add_argument("table", help="tab-separated, with a heading")
    args = parser.parse_args()
    generate = {"constants": constant, "functions": function}[args.kind]
    with open(args.table, encoding="utf-8") as table:
        for row in csv.DictReader(table, delimiter="\t"):
            sys.stdout.writelines(line + "\n" for line in generate(row))


if __name__ == "__main__":
    main()
