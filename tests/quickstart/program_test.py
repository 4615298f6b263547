#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs rpma_quickstart as a user would: its output, exit codes and messages."""
import hashlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
HAS_RDMA = os.path.exists("/dev/infiniband")
os.environ.pop("RPMA_ADDRESS", None)
os.environ["RPMA_EMU"] = "fabric=private"


def run(*args, wrapper=(), **kwargs):
    return subprocess.run([*wrapper, PROGRAM, *args], text=True, timeout=50,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs)


def sha256_of(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Terminal:
    """The program with a terminal as its stderr."""

    def __init__(self, *args):
        self.fd, end = pty.openpty()
        self.process = subprocess.Popen([PROGRAM, *args], stdout=subprocess.DEVNULL, stderr=end)
        os.close(end)
        self.text = ""

    def read(self):
        """The next piece of output; empty at its end."""
        try:
            piece = os.read(self.fd, 4096).decode()
        except OSError:  # EIO: the program has closed its end
            piece = ""
        self.text += piece
        return piece

    def finish(self):
        while self.read():
            pass
        os.close(self.fd)
        return self.process.wait(timeout=50)


class SuccessTest(unittest.TestCase):
    def assert_replicated(self, result, digest=None):
        self.assertEqual(result.returncode, 0, result.stderr)
        digests = re.findall(r"\b[0-9a-f]{64}\b", result.stdout)
        self.assertEqual(len(digests), 3, result.stdout)
        self.assertEqual(set(digests), {digest or digests[0]})

    def test_without_arguments(self):
        result = run()
        self.assert_replicated(result)
        self.assertIn("268435456 bytes", result.stdout)

    def test_a_file(self):
        result = run("--file", "/usr/bin/bash")
        self.assert_replicated(result, sha256_of("/usr/bin/bash"))

    def test_the_fault_is_shown_and_explained(self):
        result = run("--file", "/usr/bin/bash")
        self.assertRegex(result.stdout, r"completion +IBV_WC_REM_ACCESS_ERR\n")
        self.assertRegex(result.stdout, r"device says +\S.*deregistered")

    def test_a_fault_that_only_ends_the_connection(self):
        env = dict(os.environ, RPMA_EMU="fabric=private profile=iwarp")
        result = run("--file", "/usr/bin/bash", env=env)
        self.assert_replicated(result)
        self.assertRegex(result.stdout, r"completion +IBV_WC_SUCCESS, as iWARP answers no write\n")
        self.assertIn("the device ended the connection", result.stdout)
        fault = json.loads(run("--file", "/usr/bin/bash", "--json", env=env).stdout)["fault"]
        self.assertEqual((fault["status"], fault["ended_connection"]), ("IBV_WC_SUCCESS", True))

    def test_other_addresses_of_this_host(self):
        for address in "::1", "localhost":
            with self.subTest(address):
                self.assert_replicated(run("--file", "/usr/bin/bash", "--address", address))

    def test_a_relative_file_under_bazel_run(self):
        env = dict(os.environ, BUILD_WORKING_DIRECTORY="/usr/bin")
        self.assert_replicated(run("--file", "bash", env=env), sha256_of("/usr/bin/bash"))

    def test_a_region_of_just_the_right_size(self):
        size = os.path.getsize("/usr/bin/bash") + 8
        self.assert_replicated(run("--file", "/usr/bin/bash", "--region-size", str(size)))

    def test_json(self):
        result = run("--file", "/usr/bin/bash", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        summary = json.loads(result.stdout)
        size = os.path.getsize("/usr/bin/bash")
        chunks = -(-size // (256 * 1024))
        self.assertEqual(summary["bytes"], size)
        self.assertEqual((summary["writes"], summary["reads"]), (chunks, chunks))
        self.assertEqual((summary["flushes"], summary["atomic_writes"]), (2, 1))
        self.assertEqual(set(summary["sha256"].values()), {sha256_of("/usr/bin/bash")})
        self.assertEqual(summary["fault"]["status"], "IBV_WC_REM_ACCESS_ERR")
        self.assertFalse(summary["fault"]["ended_connection"])
        self.assertIn("deregistered", summary["fault"]["explanation"])

    def test_help(self):
        result = run("--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertTrue(result.stdout.startswith("Usage: rpma_quickstart"))


class ProgressTest(unittest.TestCase):
    def test_a_pipe_gets_two_plain_lines(self):
        result = run()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"\Awrite .*100 %.*\nverify .*100 %.*\n\Z")
        self.assertNotRegex(result.stdout + result.stderr, r"[\r\x1b]")

    def test_a_terminal_gets_a_bar_that_grows(self):
        terminal = Terminal()
        self.assertEqual(terminal.finish(), 0, terminal.text)
        for label in "write ", "verify":
            steps = [int(p) for p in re.findall(r"\r%s \[.*?\] +(\d+) %%" % label, terminal.text)]
            self.assertEqual((steps[0], steps[-1]), (0, 100), terminal.text)
            self.assertGreater(len(steps), 2)
            self.assertEqual(steps, sorted(steps))
        self.assertNotIn("\x1b", terminal.text)
        self.assertLess(max(len(line) for line in re.split(r"[\r\n]+", terminal.text)), 80)


class RefusalTest(unittest.TestCase):
    def assert_refused(self, code, pattern, *args, **kwargs):
        result = run(*args, **kwargs)
        self.assertRegex(result.stderr, r"\Arpma_quickstart: [^\n]*%s[^\n]*\n\Z" % pattern)
        self.assertEqual(result.returncode, code)

    def test_missing_file(self):
        self.assert_refused(1, "'/no/such': No such file or directory", "--file", "/no/such")

    def test_directory(self):
        self.assert_refused(1, "'/usr': it is a directory", "--file", "/usr")

    def test_empty_file(self):
        with tempfile.NamedTemporaryFile() as file:
            self.assert_refused(1, "is empty", "--file", file.name)

    def test_unreadable_file(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"x")
            file.flush()
            os.chmod(file.name, 0)
            # Root may read any file, unless it gives up the right to.
            weaken = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
            wrapper = weaken if os.access(file.name, os.R_OK) else []
            self.assert_refused(1, "Permission denied", "--file", file.name, wrapper=wrapper)

    def test_file_larger_than_the_region(self):
        size = os.path.getsize("/usr/bin/bash")
        self.assert_refused(1, "does not fit.*--region-size %d" % (size + 8),
                            "--file", "/usr/bin/bash", "--region-size", str(size + 7))

    def test_region_larger_than_memory(self):
        self.assert_refused(1, "cannot map .* bytes of memory: Cannot allocate memory",
                            "--region-size", str(1 << 62), "--file", "/usr/bin/bash")

    def test_unknown_host(self):
        self.assert_refused(1, "'no such host'.*not known", "--address", "no such host")

    def test_address_of_another_host(self):
        # 192.0.2.0/24 is for documentation (RFC 5737).
        self.assert_refused(1, "this host with the address '192.0.2.1'", "--address", "192.0.2.1")

    def test_client_alone(self):
        self.assert_refused(1, "nobody listens there", "--role", "client",
                            "--file", "/usr/bin/bash")

    def test_verbs_without_an_address(self):
        for env in os.environ, dict(os.environ, RPMA_ADDRESS=""):
            self.assert_refused(2, "--transport verbs needs the address of an RDMA device.*"
                                "RPMA_ADDRESS.*tools/softrdma.*--transport=emulator",
                                "--transport", "verbs", env=env)

    @unittest.skipIf(HAS_RDMA, "this machine may have an RDMA device")
    def test_verbs_without_a_device(self):
        pattern = "'192.0.2.1'.* this host has no RDMA device.*tools/softrdma.*--transport=emulator"
        for role in "both", "server", "client":
            with self.subTest(role):
                self.assert_refused(1, pattern, "--transport=verbs", "--address=192.0.2.1",
                                    "--role", role)
        # Neither variable puts it on the emulator.
        self.assert_refused(1, pattern, "--transport=verbs", env=dict(
            os.environ, RPMA_ADDRESS="192.0.2.1", RPMA_TRANSPORT="emulator"))

    def test_the_address_of_a_device_is_none_of_the_emulator(self):
        result = run("--file", "/usr/bin/bash", env=dict(os.environ, RPMA_ADDRESS="192.0.2.1"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("memory of 127.0.0.1 port 7471", result.stdout)

    def test_wrong_usage(self):
        for pattern, args in (
                ("unknown option '--fast'", ["--fast"]),
                ("--port '0' is not a number from 1 to 65535", ["--port", "0"]),
                ("--region-size 'big' is not a number", ["--region-size=big"]),
                ("--file needs a value", ["--file"]),
        ):
            with self.subTest(args):
                self.assert_refused(2, pattern, *args)

    def test_a_line_break_in_a_name_makes_no_second_line(self):
        self.assert_refused(1, re.escape("'/no/a?b'"), "--file", "/no/a\nb")

    def test_full_output(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            result = subprocess.run([PROGRAM, "--help"], stdout=full, stderr=subprocess.PIPE,
                                    text=True, timeout=50)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"\A.*cannot write to stdout: No space left.*\n\Z")


class TwoProcessesTest(unittest.TestCase):
    def test_a_server_and_a_client(self):
        with tempfile.TemporaryDirectory(dir=os.environ["TEST_TMPDIR"]) as folder:
            folder = os.path.join(folder, "fabrics")
            env = dict(os.environ, RPMA_EMU=f"fabric=quickstart dir={folder}")
            with subprocess.Popen([PROGRAM, "--role", "server"], env=env, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
                self.assertIn("Waiting for a client", server.stdout.readline())
                client = run("--role", "client", "--file", "/usr/bin/bash", env=env)
                received, errors = server.communicate(timeout=50)
        self.assertEqual(client.returncode, 0, client.stderr)
        self.assertEqual((server.returncode, errors), (0, ""))
        digest = sha256_of("/usr/bin/bash")
        self.assertIn(digest, client.stdout)
        self.assertIn(f"SHA-256 {digest}", received)
        self.assertRegex(client.stdout, r"completion +IBV_WC_REM_ACCESS_ERR\n")


class SignalTest(unittest.TestCase):
    def test_a_waiting_server_ends_at_a_signal(self):
        for number, code in (signal.SIGINT, 130), (signal.SIGTERM, 143):
            with self.subTest(number.name):
                server = subprocess.Popen([PROGRAM, "--role", "server"], text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.assertIn("Waiting for a client on 127.0.0.1 port 7471",
                              server.stdout.readline())
                server.send_signal(number)
                out, err = server.communicate(timeout=50)
                self.assertEqual((server.returncode, out), (code, ""))
                self.assertEqual(err, "rpma_quickstart: interrupted by %s; nothing is left "
                                      "behind\n" % number.name)

    def test_a_transfer_ends_at_a_signal(self):
        terminal = Terminal()
        self.assertIn("write  [", terminal.read())
        terminal.process.send_signal(signal.SIGINT)
        self.assertEqual(terminal.finish(), 130, terminal.text)
        self.assertRegex(terminal.text, r"\r\nrpma_quickstart: interrupted by SIGINT; [^\n]*\r\n\Z")
        self.assertNotIn("verify [##############################]", terminal.text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
