#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs that link librpma.so.0, with the emulator present, absent and wrong."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PATHS = {os.path.basename(path): os.path.abspath(path) for path in sys.argv[1:]}
LIBRARY, EMULATOR = "librpma.so.0", "librpma_emu.so.0"

HAS_RDMA = os.path.exists("/dev/infiniband")


class SharedLibrariesTest(unittest.TestCase):

    def setUp(self):
        self.folder = self.new_folder()
        self.install(LIBRARY)

    def new_folder(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return folder.name

    def install(self, name, to=None, as_name=None):
        shutil.copy(PATHS[name], os.path.join(to or self.folder, as_name or name))

    def run_program(self, program, transport=None, folders=()):
        environment = {"LD_LIBRARY_PATH": ":".join([*folders, self.folder])}
        if transport:
            environment["RPMA_TRANSPORT"] = transport
            environment["RPMA_EMU"] = "fabric=private"
        return subprocess.run([PATHS[program]], env=environment, text=True, timeout=50,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def assert_prints(self, result, *lines):
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(result.stdout.splitlines(), list(lines))

    def assert_refused(self, result, *texts):
        """Each of the two look-ups gives one line that has all the texts, and an error."""
        self.assertEqual((result.returncode, result.stdout), (1, ""), result.stderr)
        lines = result.stderr.splitlines()
        self.assertEqual(lines[1::2], ["Provider error occurred"] * 2, result.stderr)
        for line in lines[0::2]:
            for text in texts:
                self.assertIn(text, line)

    def test_program_runs_on_the_emulator(self):
        self.install(EMULATOR)
        self.assert_prints(self.run_program("replicate", "emulator"), 'the server has "hello"')

    def test_emulator_is_found_where_the_loader_looks(self):
        other = self.new_folder()
        self.install(EMULATOR, to=other)
        result = self.run_program("replicate", "emulator", folders=[other])
        self.assert_prints(result, 'the server has "hello"')

    def test_emulator_beside_the_library_comes_first(self):
        other = self.new_folder()
        self.install("other_emulator.so", to=other, as_name=EMULATOR)
        self.install(EMULATOR)
        result = self.run_program("find_device", "emulator", folders=[other])
        self.assert_prints(result, "emu0", "emu0")

    def test_missing_emulator(self):
        self.assert_refused(self.run_program("find_device", "emulator"),
                            f"{EMULATOR}: cannot open shared object file",
                            f"install {EMULATOR} in the folder of librpma.so.0 or where the "
                            "loader looks (LD_LIBRARY_PATH)")

    def test_broken_emulator(self):
        path = os.path.join(self.folder, EMULATOR)
        for content, reason in ((b"", "file too short"), (b"garbage\n" * 1000, "invalid ELF header")):
            with open(path, "wb") as file:
                file.write(content)
            with self.subTest(reason):
                self.assert_refused(self.run_program("find_device", "emulator"), path, reason)

    def test_emulator_of_another_build(self):
        self.install("other_emulator.so", as_name=EMULATOR)
        result = self.run_program("find_device", "emulator")
        self.assert_refused(result, "built for another librpma (0123456789abcdef, this one is ",
                            "install both from one build")

    def test_emulator_that_registers_nothing(self):
        self.install("no_emulator.so", as_name=EMULATOR)
        self.assert_refused(self.run_program("find_device", "emulator"),
                            "what was loaded as the emulator is none")

    def test_program_that_links_an_emulator_of_another_build(self):
        self.install("other_emulator.so", as_name=EMULATOR)
        self.assert_refused(self.run_program("find_device_and_other_emulator"),
                            "built for another librpma (0123456789abcdef, this one is ")

    def test_unknown_transport(self):
        self.assert_refused(self.run_program("find_device", "emulater"),
                            "RPMA_TRANSPORT=emulater names no transport")

    @unittest.skipIf(HAS_RDMA, "this machine may have an RDMA device")
    def test_machine_without_rdma(self):
        self.install(EMULATOR)
        for transport in (None, "verbs"):
            with self.subTest(transport):
                self.assert_refused(self.run_program("find_device", transport),
                                    "this host has no RDMA device", "RPMA_TRANSPORT=emulator")

    def test_program_that_links_the_emulator_needs_no_variable(self):
        self.install(EMULATOR)
        for transport in (None, "verbs"):
            with self.subTest(transport):
                self.assert_prints(self.run_program("select_fabric", transport), "emu0")

    def test_library_that_is_closed_and_opened_again(self):
        self.install(EMULATOR)
        self.assert_prints(self.run_program("reopen", "emulator"),
                           "emu0", "emu0", "stays loaded")

    @unittest.skipIf(HAS_RDMA, "this machine may have an RDMA device")
    def test_library_that_is_closed_and_opened_again_without_emulator(self):
        self.assert_prints(self.run_program("reopen"), "no device", "no device", "stays loaded")

    def test_process_that_forks(self):
        self.install(EMULATOR)
        self.assert_prints(self.run_program("fork_child", "emulator"),
                           "parent: emu0", "child: emu0", "parent: emu0")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
