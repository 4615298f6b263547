#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The same seed and plan give the same history in every process, wherever in memory its things are
and whatever was there before."""
import ctypes
import itertools
import os
import subprocess
import sys
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
ADDR_NO_RANDOMIZE = 0x0040000  # of <sys/personality.h>
# Of glibc's malloc: most blocks get maps of their own, of which later ones have lower addresses,
# and none is empty.
OTHER_MALLOC = {"MALLOC_MMAP_THRESHOLD_": "256", "MALLOC_PERTURB_": "165"}


def fix_addresses():
    """Of the calling process, from its next program on."""
    if ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE) == -1:
        print("addresses cannot be fixed here; they are random", file=sys.stderr)


def run(environment, before=None):
    """What the program prints: its layout, and its histories."""
    result = subprocess.run([PROGRAM], env={**os.environ, **environment}, preexec_fn=before,
                            check=True, stdout=subprocess.PIPE, encoding="utf-8")
    layout, *histories = result.stdout.splitlines()
    return layout, histories


class HistoriesInProcessesTest(unittest.TestCase):
    def test_are_the_same(self):
        runs = [run({}),
                run({"SHORT": "1"}, fix_addresses),
                run({"LONG": "x" * 100000, **OTHER_MALLOC})]
        self.assertGreater(len(runs[0][1]), 1000)
        for (layout, histories), (other_layout, others) in itertools.combinations(runs, 2):
            self.assertNotEqual(layout, other_layout)
            different = [pair for pair in zip(histories, others) if pair[0] != pair[1]]
            self.assertEqual(different[:3], [])
            self.assertEqual(len(histories), len(others))


if __name__ == "__main__":
    unittest.main()
