#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that every function of a C header is called by compiled tests.

A call is what the linker sees of one: a relocation of a call or jump
instruction in an object file. Taking a function's address does not count.
"""
import argparse
import csv
import os
import re
import subprocess
import sys

# What a call leaves behind in an object file: on x86-64 and on AArch64.
CALL_RELOCATIONS = {"R_X86_64_PLT32", "R_AARCH64_CALL26", "R_AARCH64_JUMP26"}

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
FUNCTION = re.compile(r"\b(rpma_\w+)\s*\(")


def declared_functions(header):
    """Names of the functions that the text of a header declares."""
    text = DIRECTIVE.sub("", COMMENT.sub("", header))
    statements = (s.strip() for s in re.split(r"[;{}]", text))
    found = (FUNCTION.search(s) for s in statements if not s.startswith("typedef"))
    return {match.group(1) for match in found if match}


def called_functions(objects):
    """Names of the functions that code in the object files calls."""
    listing = subprocess.run(["readelf", "--relocs", "--wide", *objects], check=True,
                             stdout=subprocess.PIPE, encoding="utf-8").stdout
    fields = (line.split() for line in listing.splitlines())
    return {f[4] for f in fields if len(f) > 4 and f[2] in CALL_RELOCATIONS}


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("header", help="declares the functions, all named rpma_*")
    parser.add_argument("table", help="tab-separated; names them in the column 'function'")
    parser.add_argument("objects", nargs="+", metavar="object", help="an .o file of a test")
    return parser.parse_args()


def main():
    args = parse_args()
    with open(args.header, encoding="utf-8") as header:
        declared = declared_functions(header.read())
    with open(args.table, encoding="utf-8") as table:
        documented = {row["function"] for row in csv.DictReader(table, delimiter="\t")}
    called = called_functions(args.objects)

    header = os.path.basename(args.header)
    complaints = [f"{name}: declared in {header}, but not documented"
                  for name in declared - documented]
    complaints += [f"{name}: documented, but not declared in {header}"
                   for name in documented - declared]
    complaints += [f"{name}: no test calls it" for name in declared - called]
    for complaint in sorted(complaints):
        print(complaint)
    print(f"{len(declared & called)} of {len(declared)} functions of {header} are called")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
