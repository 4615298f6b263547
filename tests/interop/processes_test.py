#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The two sides of interop in two processes, which link librpma.so.0, on the emulator."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

PATHS = {os.path.basename(path): os.path.abspath(path) for path in sys.argv[1:]}
PROFILES = "ib", "iwarp", "roce"
TIMEOUT = 50


class ProcessesTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for library in "librpma.so.0", "librpma_emu.so.0":
            shutil.copy(PATHS[library], self.folder)

    def start(self, profile, side, port=7204):
        options = f"profile={profile} fabric=test dir={self.folder}/fabrics"
        environment = {"LD_LIBRARY_PATH": self.folder, "RPMA_TRANSPORT": "emulator",
                       "RPMA_EMU": options}
        process = subprocess.Popen([PATHS["interop"], side, "127.0.0.1", str(port)],
                                   env=environment, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def start_server(self, profile, port=7204):
        server = self.start(profile, "server", port)
        self.assertNotEqual(server.stdout.readline(), "", "it says when it listens")
        return server

    def assert_passed(self, process, side):
        output, _ = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 0, output)
        self.assertRegex(output, side + r": \d+ steps passed\n")

    def test_every_operation(self):
        for profile in PROFILES:
            with self.subTest(profile):
                server = self.start_server(profile)
                client = self.start(profile, "client")
                self.assert_passed(client, "client")
                self.assert_passed(server, "server")

    def test_several_pairs_at_once(self):
        ports = range(7204, 7208)
        servers = [self.start_server("roce", port) for port in ports]
        clients = [self.start("roce", "client", port) for port in ports]
        for client, server in zip(clients, servers):
            self.assert_passed(client, "client")
            self.assert_passed(server, "server")

    def test_client_ends_when_its_server_is_killed(self):
        server = self.start_server("roce")
        client = self.start("roce", "client")
        server.send_signal(signal.SIGKILL)
        client.communicate(timeout=TIMEOUT)
        self.assertNotEqual(client.returncode, 0)

    def test_port_of_a_killed_server_is_free(self):
        for _ in range(3):
            server = self.start_server("roce")
            server.kill()
            server.wait()
        server = self.start_server("roce")
        self.assert_passed(self.start("roce", "client"), "client")
        self.assert_passed(server, "server")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
