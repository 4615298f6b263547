#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs all tests with `bazel coverage` and prints the line coverage per folder.

Lines of headers count where code was compiled from them. A source file that no
test links has no lines to count: it is named, and the command fails.
"""
import argparse
import collections
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
FOLDERS = ("api", "core", "emulator", "backends")
HELD_TO_MINIMUM = ("api", "core", "emulator")


def parse_args():
    parser = argparse.ArgumentParser(prog="tools/coverage", description=__doc__)
    parser.add_argument("--minimum", type=float, default=90, metavar="PERCENT",
                        help="fail if less of %s is covered (default: %%(default)g)"
                        % ", ".join(HELD_TO_MINIMUM))
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--missed", action="store_true",
                        help="also list the lines that no test runs (not with --json)")
    parser.add_argument("--report", metavar="FILE",
                        help="read this lcov file, and run no tests")
    parser.add_argument("options", nargs="*", metavar="-- option",
                        help="for `bazel coverage`; Bazel 7 needs --config=workspace")
    return parser.parse_args()


def run_tests(options):
    """Runs `bazel coverage`; returns the path of its report."""
    tests = subprocess.run(["bazel", "coverage", "--config=ci", *options, "//..."],
                           cwd=ROOT, check=False, stdout=sys.stderr)
    if tests.returncode:
        sys.exit("tools/coverage: no figures, as `bazel coverage //...` failed")
    output = subprocess.run(["bazel", "info", "output_path"], cwd=ROOT, check=True,
                            stdout=subprocess.PIPE, encoding="utf-8").stdout.strip()
    return os.path.join(output, "_coverage", "_coverage_report.dat")


def read_report(path):
    """Returns file -> line -> how often it ran."""
    lines = collections.defaultdict(dict)
    with open(path, encoding="utf-8") as report:
        for row in report:
            tag, _, rest = row.strip().partition(":")
            if tag == "SF":
                source = rest
            elif tag == "DA":
                line, count = rest.split(",")[:2]
                lines[source][int(line)] = int(count)
    return lines


def unmeasured_sources(lines):
    """Sources under version control that are in no test."""
    listing = subprocess.run(["git", "ls-files", *(f"{folder}/*.cc" for folder in FOLDERS)],
                             cwd=ROOT, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
    return [source for source in listing.split() if source not in lines]


def summary(lines):
    """Returns folder -> numbers, and the same for the total."""
    counts = {name: [0, 0] for name in (*FOLDERS, "total")}
    for source, runs in lines.items():
        covered = sum(1 for count in runs.values() if count)
        for name in (source.split("/")[0], "total"):
            counts[name][0] += covered
            counts[name][1] += len(runs)
    return {
        name: {"covered": covered, "lines": total,
               "percent": round(100 * covered / total, 2) if total else 0.0}
        for name, (covered, total) in counts.items()
    }


def ranges(numbers):
    """[1, 2, 3, 7] -> "1-3, 7"."""
    spans = []
    for number in sorted(numbers):
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def print_missed(lines):
    for source in sorted(lines):
        missed = [line for line, count in lines[source].items() if not count]
        if missed:
            print(f"{source}: {ranges(missed)}")


def main():
    args = parse_args()
    lines = read_report(args.report or run_tests(args.options))
    folders = summary(lines)
    unmeasured = unmeasured_sources(lines)
    short = [name for name in HELD_TO_MINIMUM if folders[name]["percent"] < args.minimum]
    if args.json:
        print(json.dumps({"minimum": args.minimum, "folders": folders,
                          "below_minimum": short, "unmeasured": unmeasured}, indent=2))
    else:
        if args.missed:
            print_missed(lines)
        for name, numbers in folders.items():
            print("{:<10}{percent:6.2f} %  {covered:5} of {lines:5} lines".format(name, **numbers))
        for name in short:
            print(f"{name}: below {args.minimum:g} %")
        for source in unmeasured:
            print(f"{source}: in no test")
    sys.exit(1 if short or unmeasured else 0)


if __name__ == "__main__":
    main()
