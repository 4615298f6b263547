#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""On the emulator every scenario comes to its end, and each time in the same way."""
import os
import subprocess
import sys
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))


def play(profile):
    environment = {"RPMA_TRANSPORT": "emulator", "RPMA_EMU": "fabric=private profile=" + profile}
    return subprocess.run([PROGRAM, "127.0.0.1"], env={**os.environ, **environment}, text=True,
                          stdout=subprocess.PIPE, check=True).stdout.splitlines()


class EmulatorTest(unittest.TestCase):

    def test_histories(self):
        for profile in "roce", "ib", "iwarp":
            with self.subTest(profile):
                history = play(profile)
                self.assertGreater(len(history), 100)
                for line in history:
                    self.assertNotRegex(line, "no event$|no completion|no connection|unknown")
                self.assertEqual(history, play(profile))


if __name__ == "__main__":
    unittest.main()
