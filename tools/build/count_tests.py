#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the test cases of one or more runs.

Reads, of `bazel test`, the files that it wrote for --build_event_json_file, and
the test.xml of each test that they name: so only what ran in those runs counts;
of tests/conformance/in_shards.py, what it printed, in files called *.txt. Lists
the failed and the skipped cases, with the name of the file, the run, and with
the reasons given; ends with the line
  N passed, N failed, N skipped
A test that could not be built, or that wrote no report, and a run without sums
count as one failed case. Exits with 1 if a case failed or if none passed.
"""
import argparse
import collections
import json
import os
import re
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree

Case = collections.namedtuple("Case", "outcome name reason")
SUMS = re.compile(r"(\d+) passed, (\d+) failed, \d+ left out")
LEFT_OUT = re.compile(r"left out: (\S+): (.*)")


def one_line(text):
    return " ".join((text or "").split())


def case_of_xml(label, element):
    """The outcome of one <testcase>, in the format of GoogleTest and JUnit."""
    suite = element.get("classname")
    name = f"{label} {suite}.{element.get('name')}" if suite else label
    for tag in ("failure", "error"):
        failure = element.find(tag)
        if failure is not None:
            return Case("failed", name, one_line(failure.get("message")))
    skipped = element.find("skipped")
    if skipped is not None:
        return Case("skipped", name, one_line(skipped.get("message")))
    if element.get("status") == "notrun":
        return Case("skipped", name, "disabled")
    return Case("passed", name, "")


def cases_of_result(label, result):
    """The cases of one testResult event: of one run of a test or of a shard of it."""
    reports = [output["uri"] for output in result.get("testActionOutput", [])
               if output["name"] == "test.xml"]
    cases = []
    for uri in reports:
        path = urllib.parse.unquote(urllib.parse.urlparse(uri).path)
        try:
            tree = ElementTree.parse(path)
        except (OSError, ElementTree.ParseError):
            continue
        cases += [case_of_xml(label, element) for element in tree.iter("testcase")]
    passed = result.get("status") == "PASSED"
    if not passed and all(case.outcome != "failed" for case in cases):
        cases.append(Case("failed", label, result.get("status", "no status").lower()))
    return cases


def cases_of_run(path):
    """The cases of one run of `bazel test`."""
    if not os.path.exists(path):
        return [Case("failed", "all tests", "the run did not start")]
    tests, cases = {}, []
    with open(path, encoding="utf-8") as events:
        for event in map(json.loads, events):
            kind, key = next(iter(event["id"].items()))
            if kind == "targetConfigured" and "testSize" in event.get("configured", {}):
                tests.setdefault(key["label"], False)
            elif kind == "testResult":
                tests[key["label"]] = True
                cases += cases_of_result(key["label"], event["testResult"])
    return cases + [Case("failed", label, "did not run") for label, ran in tests.items() if not ran]


def cases_of_shards(path):
    """The cases that in_shards.py counts in the last line; one failed if that is missing."""
    if not os.path.exists(path):
        return [Case("failed", "all tests", "the run did not start")]
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    sums = SUMS.fullmatch(lines[-1] if lines else "")
    if not sums:
        return [Case("failed", "all tests", "the run did not come to its end")]
    passed, failed = map(int, sums.groups())
    left_out = [LEFT_OUT.fullmatch(line) for line in lines]
    return ([Case("passed", "", "")] * passed + [Case("failed", "a test", "see above")] * failed +
            [Case("skipped", *line.groups()) for line in left_out if line])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", metavar="run",
                        help="a build event file, or what in_shards.py printed")
    args = parser.parse_args()

    count = collections.Counter()
    for path in args.runs:
        run = os.path.splitext(os.path.basename(path))[0]
        cases_of = cases_of_shards if path.endswith(".txt") else cases_of_run
        for case in cases_of(path):
            count[case.outcome] += 1
            if case.outcome != "passed":
                print(f"{case.outcome} ({run}): {case.name}: {case.reason or 'no reason given'}")
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    sys.exit(1 if count["failed"] or not count["passed"] else 0)


if __name__ == "__main__":
    main()
