#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a binary of GoogleTest as several processes at once.

On real devices most tests wait for timers, so that they take no longer together
than the slowest of them. Prints what the processes say that do not pass, which tests
are left out, and at last one line with the sums; a test that did not finish counts as
failed. Exit status: 0 if all tests passed, 1 if one failed, a process ended in another
way or was stopped, or no test ran, 2 for wrong usage.
"""
import argparse
import concurrent.futures
import os
import re
import signal
import subprocess
import sys

RUNNING = re.compile(r"^\[={10}\] Running (\d+) tests? from ", re.MULTILINE)
BEGAN = re.compile(r"^\[ RUN      \] (.*)$", re.MULTILINE)
PASSED = re.compile(r"^\[       OK \] ", re.MULTILINE)
FAILED = re.compile(r"^\[  FAILED  \] .* \(\d+ ms\)$", re.MULTILINE)
LEFT_OUT = re.compile(r"^left out: .*$", re.MULTILINE)
NOT_SAID = re.compile(r"^(\[       OK \]|\[ RUN      \]|\[-{10}\]|left out: "
                      r"|\d+ passed, \d+ failed, ).*\n|^\n", re.MULTILINE)
# Their ports: thousands from 7300 on, below those that the kernel gives out.
MOST_SHARDS = 25


class Shard:
    """What came of one of the processes. `end` says how it ended; None if it passed."""

    def __init__(self, text, end):
        self.text = text
        self.passed = len(PASSED.findall(text))
        finished = self.passed + len(FAILED.findall(text))
        announced = RUNNING.search(text)
        self.unfinished = int(announced[1]) - finished if announced else 0
        self.failed = finished - self.passed + self.unfinished
        self.end = end or ("ended with 0" if self.unfinished else None)
        began = BEGAN.findall(text)
        # The test that the process did not come back from.
        self.last = began[-1] if len(began) > finished else None

    def report(self):
        said = NOT_SAID.sub("", self.text)
        if said and not said.endswith("\n"):
            said += "\n"
        where = f" in {self.last}" if self.last else ""
        missing = f"; {self.unfinished} of its tests did not finish" if self.unfinished else ""
        return f"{said}a process {self.end}{where}{missing}"


def how_it_ended(status):
    if status == 0:
        return None
    return f"ended with {status}" if status > 0 else f"ended by {signal.Signals(-status).name}"


def run(command, shard, shards, timeout):
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
            return Shard(text, f"was stopped after {timeout} s")
    return Shard(text, how_it_ended(process.returncode))


def parse_arguments():
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
    return args


def main():
    args = parse_arguments()
    passed, failed, left_out, all_well = 0, 0, set(), True
    with concurrent.futures.ThreadPoolExecutor(args.shards) as pool:
        shards = [pool.submit(run, args.command, i, args.shards, args.timeout)
                  for i in range(args.shards)]
        for future in concurrent.futures.as_completed(shards):
            shard = future.result()
            passed += shard.passed
            failed += shard.failed
            left_out.update(LEFT_OUT.findall(shard.text))
            if shard.end is not None:
                all_well = False
                print(shard.report(), flush=True)
    for line in sorted(left_out):
        print(line)
    print(f"{passed} passed, {failed} failed, {len(left_out)} left out")
    sys.exit(0 if all_well and passed else 1)


if __name__ == "__main__":
    main()
