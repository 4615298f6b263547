#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the histories of a device and of the emulator's profile for it.

  compare.py DEVICE HISTORY_OF_DEVICE HISTORY_OF_EMULATOR DIFFERENCES

DIFFERENCES, differences.tsv, names for each device and scenario the lines in
which the two may differ, and why. A difference without an entry is an error,
and so is an entry without its difference: one that comes twice has two entries.
"""
import collections
import csv
import difflib
import itertools
import sys

NOTHING = "-"  # in an entry: the other has a line more


def read_histories(path):
    """The lines of each scenario, by its name, in the order of the file."""
    histories = {}
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("== "):
                lines = histories.setdefault(line[3:], [])
            else:
                lines.append(line)
    return histories


def read_entries(path, device):
    """The reasons of a device's differences, by scenario, emulator's and device's line."""
    reasons = collections.defaultdict(list)
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["device"] == device:
                reasons[row["scenario"], row["emulator"], row["real"]].append(row["reason"])
    return reasons


def differences(emulator, real):
    """Pairs of lines that differ; NOTHING where the other has a line more."""
    matcher = difflib.SequenceMatcher(None, emulator, real, autojunk=False)
    for tag, *at in matcher.get_opcodes():
        if tag != "equal":
            yield from itertools.zip_longest(emulator[at[0]:at[1]], real[at[2]:at[3]],
                                             fillvalue=NOTHING)


def compare(device, real, emulator, entries):
    """Prints the report; gives how many errors there are. Uses the entries up."""
    errors, equal, allowed = 0, 0, 0
    for scenario in sorted(set(real) | set(emulator)):
        found = sorted(differences(emulator.get(scenario, []), real.get(scenario, [])))
        equal += not found
        for lines in found:
            reasons = entries[scenario, *lines]
            reason = reasons.pop(0) if reasons else None
            errors += reason is None
            allowed += reason is not None
            print(f"{device}: {scenario}\n  emulator  {lines[0]}\n  {device}       {lines[1]}\n"
                  f"  {'NO ENTRY' if reason is None else 'allowed   ' + reason}")
    for entry, reasons in sorted(entries.items()):
        errors += len(reasons)
        for _ in reasons:
            print(f"{device}: {entry[0]}\n  NO LONGER DIFFERS: {entry[1]} / {entry[2]}")
    print(f"{device}: {len(real)} scenarios, {equal} equal; {allowed} differences allowed, "
          f"{errors} errors")
    return errors


def main():
    device, real, emulator, entries = sys.argv[1:]
    real, emulator = read_histories(real), read_histories(emulator)
    if not real or not emulator:
        sys.exit(f"{device}: a history is empty")
    sys.exit(1 if compare(device, real, emulator, read_entries(entries, device)) else 0)


if __name__ == "__main__":
    main()
