#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares librpma.so.0 with that of Debian's librpma0, by abidiff.

Skipped, with a word about it, on a machine that lacks the one or the other.
"""
import glob
import os
import shutil
import subprocess
import sys

REPORT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites><testsuite name="debian_abi_test">
<testcase classname="DebianAbiTest" name="IsCompatible"><skipped message="{}"/></testcase>
</testsuite></testsuites>
"""


def skip(reason):
    print("SKIPPED:", reason)
    if "XML_OUTPUT_FILE" in os.environ:
        with open(os.environ["XML_OUTPUT_FILE"], "w", encoding="utf-8") as report:
            report.write(REPORT.format(reason))
    sys.exit(0)


def main():
    _, ours = sys.argv
    theirs = glob.glob("/usr/lib/*/librpma.so.0") + glob.glob("/usr/lib/librpma.so.0")
    if not theirs:
        skip("no librpma0 on this machine")
    if not shutil.which("abidiff"):
        skip("no abidiff on this machine; it is in the package abigail-tools")
    print("compared with", theirs[0], flush=True)
    sys.exit(subprocess.run(["abidiff", "--no-added-syms", theirs[0], ours], check=False).returncode)


if __name__ == "__main__":
    main()
