#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a binary of GoogleTest as several processes at once.

On real devices most tests wait for timers, so that they take no longer together
than the slowest of them. Prints what the processes say that do not pass, and at
last one line with the sums. Exit status: 0 if all tests passed, 1 if one failed, a
process ended in another way or was stopped, or no test ran, 2 for wrong usage.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys

PASSED = re.compile(r"^\[       OK \] ", re.MULTILINE)
FAILED = re.compile(r"^\[  FAILED  \] .* \(\d+ ms\)$", re.MULTILINE)
LEFT_OUT = re.compile(r"^left out: .*$", re.MULTILINE)
NOT_SAID = re.compile(r"^(\[       OK \]|\[ RUN      \]|\[-{10}\]|left out: ).*\n|^\n", re.MULTILINE)
# Their ports: thousands from 7300 on, below those that the kernel gives out.
MOST_SHARDS = 25


def run(command, shard, shards, timeout):
    """What a process said, and how it ended: None if it passed."""
    environment = {**os.environ, "GTEST_TOTAL_SHARDS": str(shards),
                   "GTEST_SHARD_INDEX": str(shard), "GTEST_COLOR": "no"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8",
                          errors="replace") as process:
        try:
            text, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            text, _ = process.communicate()
            return text, f"was stopped after {timeout} s"
    return text, f"ended with {process.returncode}" if process.returncode else None


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, default=8, help="number of processes (default: 8)")
    parser.add_argument("--timeout", type=int, default=240,
                        help="seconds that each may take (default: 240)")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the binary and its arguments")
    args = parser.parse_args()
    if args.command[:1] == ["--"]:
        del args.command[0]
    if not args.command or not 1 <= args.shards <= MOST_SHARDS:
        parser.error(f"needs a command and 1 to {MOST_SHARDS} shards")

    passed, failed, left_out, all_well = 0, 0, set(), True
    with concurrent.futures.ThreadPoolExecutor(args.shards) as pool:
        shards = [pool.submit(run, args.command, i, args.shards, args.timeout)
                  for i in range(args.shards)]
        for shard in concurrent.futures.as_completed(shards):
            text, end = shard.result()
            passed += len(PASSED.findall(text))
            failed += len(FAILED.findall(text))
            left_out.update(LEFT_OUT.findall(text))
            if end is not None:
                all_well = False
                # The last test that began, too: it may be what was stopped.
                began = re.findall(r"^\[ RUN      \] (.*)$", text, re.MULTILINE)
                print(NOT_SAID.sub("", text), end="")
                print(f"a process {end}; its last test was {began[-1:] or 'none'}", flush=True)
    for line in sorted(left_out):
        print(line)
    print(f"{passed} passed, {failed} failed, {len(left_out)} left out")
    sys.exit(0 if all_well and passed else 1)


if __name__ == "__main__":
    main()
