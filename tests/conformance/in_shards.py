#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a binary of GoogleTest as several processes at once.

On real devices most tests wait for timers, so that they take no longer together
than the slowest of them. Prints what the processes say, except for tests that
pass, and at last one line with the sums. Exit status: 0 if all tests passed, 1 if
one failed, a process ended in another way, or no test ran, 2 for wrong usage.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys

PASSED = re.compile(r"^\[  PASSED  \] (\d+) tests?\.", re.MULTILINE)
FAILED = re.compile(r"^ *(\d+) FAILED TESTS?$", re.MULTILINE)
LEFT_OUT = re.compile(r"^left out: .*$", re.MULTILINE)


def run(command, shard, shards):
    """The exit status of one process and what it said."""
    environment = {**os.environ, "GTEST_TOTAL_SHARDS": str(shards),
                   "GTEST_SHARD_INDEX": str(shard), "GTEST_BRIEF": "1", "GTEST_COLOR": "no"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8", errors="replace")
    return done.returncode, done.stdout


def count(pattern, text):
    return sum(map(int, pattern.findall(text)))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, default=8, help="number of processes (default: 8)")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the binary and its arguments")
    args = parser.parse_args()
    if args.command[:1] == ["--"]:
        del args.command[0]
    if not args.command or not 1 <= args.shards <= 50:
        parser.error("needs a command and 1 to 50 shards")

    passed, failed, left_out, all_well = 0, 0, set(), True
    with concurrent.futures.ThreadPoolExecutor(args.shards) as pool:
        shards = [pool.submit(run, args.command, i, args.shards) for i in range(args.shards)]
        for shard in concurrent.futures.as_completed(shards):
            status, text = shard.result()
            passed += count(PASSED, text)
            failed += count(FAILED, text)
            left_out.update(LEFT_OUT.findall(text))
            if status != 0:
                all_well = False
                print(LEFT_OUT.sub("", text).strip())
                print(f"a process ended with {status}", flush=True)
    print("\n".join(sorted(left_out)))
    print(f"{passed} passed, {failed} failed, {len(left_out)} left out")
    sys.exit(0 if all_well and passed else 1)


if __name__ == "__main__":
    main()
