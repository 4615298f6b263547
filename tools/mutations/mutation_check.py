#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Breaks the core in one place after the other, in a copy of the tree, and expects tests/errors
and tests/faults to notice each time. Fails if one defect goes unnoticed, or its place is no more.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from mutations import MUTATIONS

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
SUITES = ("//tests/errors/...", "//tests/faults/...")
# Of `bazel test`.
TESTS_PASS, BUILD_FAILS, TESTS_FAIL = 0, 1, 3


def parse_args():
    parser = argparse.ArgumentParser(prog="tools/mutation_check", description=__doc__)
    parser.add_argument("--apply-only", action="store_true",
                        help="only see whether the place of each defect is there, in the current "
                        "folder; run no tests")
    parser.add_argument("--only", metavar="TEXT", help="only defects whose file or description has it")
    parser.add_argument("--list", action="store_true", help="list the defects")
    parser.add_argument("--scratch", metavar="FOLDER",
                        help="where the copy and its build go, and stay (default: a temporary one)")
    parser.add_argument("options", nargs="*", metavar="-- option",
                        help="for `bazel test`; Bazel 7 needs --config=workspace")
    return parser.parse_args()


def mutated(mutation, root):
    """The text of the file with the defect; None if its place is not there, just once."""
    with open(os.path.join(root, mutation.file), encoding="utf-8") as source:
        text = source.read()
    if text.count(mutation.text) != 1:
        return None
    return text.replace(mutation.text, mutation.replacement)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def check_places(mutations, root):
    """Names the mutations that do not apply; whether all do."""
    gone = [each for each in mutations if mutated(each, root) is None]
    for each in gone:
        print(f"{each.file}: the place of \"{each.what}\" is not there:\n{each.text}")
    return not gone


class Progress:
    """One line on a terminal; nothing elsewhere."""

    def __init__(self):
        self.shown = sys.stderr.isatty()

    def say(self, text):
        if self.shown:
            width = shutil.get_terminal_size().columns
            print("\r" + text[:width - 1].ljust(width - 1), end="", file=sys.stderr, flush=True)

    def clear(self):
        self.say("")
        if self.shown:
            print("\r", end="", file=sys.stderr, flush=True)


class Copy:
    """A copy of the tree that can be built and tested."""

    def __init__(self, folder, options):
        self.tree = os.path.join(folder, "tree")
        self.bazel = ["bazel", f"--output_base={os.path.join(folder, 'output')}"]
        self.options = options
        files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                               cwd=ROOT, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
        for file in files.split("\0"):
            source = os.path.join(ROOT, file)
            if not file or not os.path.isfile(source):
                continue
            target = os.path.join(self.tree, file)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if not os.path.exists(target) or open(source, "rb").read() != open(target, "rb").read():
                shutil.copy(source, target)

    def test(self):
        """Runs the suites; returns Bazel's exit code and its output."""
        run = subprocess.run(
            [*self.bazel, "test", "--config=ci", "--symlink_prefix=/", "--notest_keep_going",
             "--test_output=summary", "--test_env=GTEST_FAIL_FAST=1", "--test_timeout=120",
             *self.options, *SUITES],
            cwd=self.tree, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            encoding="utf-8", errors="replace")
        return run.returncode, run.stdout

    def test_with(self, mutation):
        path = os.path.join(self.tree, mutation.file)
        with open(path, encoding="utf-8") as source:
            original = source.read()
        text = mutated(mutation, self.tree)
        try:
            write(path, text)
            return self.test()
        finally:
            write(path, original)

    def shut_down(self):
        subprocess.run([*self.bazel, "shutdown"], cwd=self.tree, check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def killer(output):
    """The test that failed first, as Bazel names it at once: there may be no line in the summary."""
    found = re.search(r"^(?:FAIL|TIMEOUT): (//\S+)", output, re.MULTILINE)
    return found.group(1) if found else None


def verdict(code, output):
    """What became of a defect, and whether that is as it should be."""
    if code == TESTS_FAIL and killer(output):
        return f"noticed by {killer(output)}", True
    if code == TESTS_PASS:
        return "NOT NOTICED", False
    if code == BUILD_FAILS:
        return "DOES NOT COMPILE", False
    return f"bazel exited with {code}", False


def run(mutations, copy):
    """Tries each defect and prints a row of the table for it; how many went wrong."""
    progress = Progress()
    progress.say("building and testing without a defect")
    code, output = copy.test()
    if code != TESTS_PASS:
        progress.clear()
        print(output)
        sys.exit("tools/mutation_check: the suites fail without any defect")
    wrong = 0
    for number, mutation in enumerate(mutations, 1):
        progress.say(f"[{number} of {len(mutations)}] {mutation.file}: {mutation.what}")
        begin = time.monotonic()
        code, output = copy.test_with(mutation)
        result, good = verdict(code, output)
        wrong += not good
        progress.clear()
        print(f"{number:3}  {mutation.file:32}  {mutation.what}\n"
              f"{'':37}  {result}, {time.monotonic() - begin:.0f} s", flush=True)
        if code == BUILD_FAILS:
            print(output)
    return wrong


def main():
    args = parse_args()
    mutations = [each for each in MUTATIONS
                 if args.only is None or args.only in each.file or args.only in each.what]
    if not mutations:
        sys.exit("tools/mutation_check: no such defect")
    if args.list:
        for each in mutations:
            print(f"{each.file:32}  {each.what}")
        return
    root = os.getcwd() if args.apply_only else ROOT
    if not check_places(mutations, root):
        sys.exit(1)
    if args.apply_only:
        return
    folder = args.scratch or tempfile.mkdtemp(prefix="mutation_check_")
    copy = Copy(os.path.realpath(folder), args.options)
    try:
        wrong = run(mutations, copy)
    finally:
        copy.shut_down()
        if not args.scratch:
            subprocess.run(["chmod", "-R", "u+w", folder], check=False)
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(mutations) - wrong} of {len(mutations)} defects were noticed")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
