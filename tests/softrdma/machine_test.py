#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/softrdma with real machines, each booted for one test: what a command finds there, how its
end is told, and that nothing stays behind.

  tests/softrdma/machine_test.py [--device rxe|siw] [--accel auto|kvm|tcg] [TEST]...
"""
import argparse
import fcntl
import hashlib
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

PROGRAM = os.path.abspath(os.path.join("tools", "softrdma"))
LIMIT = 600  # seconds
TOOL = [PROGRAM]
DEVICE = "rxe"

RPING = """
set -eu
rping -s -a $1 -C 3 &
until rping -c -a $1 -C 3 -v; do :; done
wait
"""
PINGPONG = """
set -eu
ibv_rc_pingpong -g 1 &
until ibv_rc_pingpong -g 1 localhost; do :; done
wait
"""


def run(*command, **options):
    return subprocess.run([*TOOL, "--", *command], timeout=LIMIT, check=False,
                          **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                             "stderr": subprocess.PIPE, "text": True, **options})


def start(*arguments, **options):
    return subprocess.Popen([*TOOL, *arguments], stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def machines_of(pid):
    """The processes that `pid` started."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], stdout=subprocess.PIPE,
                           check=False, text=True)
    return [int(each) for each in found.stdout.split()]


def cache_entries(folder):
    return sorted(os.listdir(os.path.join(folder, "softrdma")))


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def expect(self, done, status, output=None, errors=""):
        self.assertEqual((done.returncode, done.stderr), (status, errors), done.stdout)
        if output is not None:
            self.assertEqual(done.stdout, output)


class DeviceTest(Case):
    def test_the_device_is_there(self):
        done = run("ibv_devices")
        self.expect(done, 0)
        self.assertIn(f"{DEVICE}0", done.stdout)

    def test_a_client_pings_a_server_over_either_address(self):
        for address in ("$RPMA_ADDRESS", "2001:db8::1"):
            with self.subTest(address):
                done = run("bash", "-c", f"set -- {address}; {RPING}")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout.count("ping data"), 3)

    def test_verbs_exchange_messages(self):
        if DEVICE == "siw":
            self.skipTest("iWARP connects with the connection manager only")
        done = run("bash", "-c", PINGPONG)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("8192000 bytes in"), 2)


class CommandTest(Case):
    def test_it_has_the_callers_arguments_environment_and_folder(self):
        done = run(sys.executable, "-c", "import os, sys\n"
                   "print(sys.argv[1:], os.environ['TEST_TEXT'], os.getcwd(), sep='|', end='')",
                   "a b", "'\"\n$x", "", env={**os.environ, "TEST_TEXT": "c\nd"}, cwd=self.folder)
        self.expect(done, 0, f"{['a b', chr(39) + chr(34) + chr(10) + '$x', '']}|c\nd|{self.folder}")

    def test_input_output_and_errors_are_passed_on(self):
        self.expect(run("sh", "-c", "cat; echo late >/dev/stderr", stdin=None, input="early"),
                    0, "early", "late\n")

    def test_much_input_comes_back_unharmed(self):
        data = os.urandom(1 << 20) * 64
        done = run("cat", stdin=None, input=data, text=False)
        self.assertEqual(hashlib.sha256(done.stdout).digest(), hashlib.sha256(data).digest())

    def test_memory_can_be_locked_and_files_mapped(self):
        path = os.path.join(self.folder, "file")
        with open(path, "wb") as file:
            file.write(bytes(300 << 20) + b"\0end")
        self.expect(run("bash", "-c", "ulimit -l; exec \"$@\"", "bash", sys.executable, "-c",
                        "import mmap, sys\nwith open(sys.argv[1], 'rb') as file, "
                        "mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as map:\n"
                        "  print(sum(map[::4096]), map[-3:])", path), 0, "unlimited\n0 b'end'\n")

    def test_what_it_writes_stays_in_the_machine(self):
        self.expect(run("sh", "-c", "echo new >f; cat f; rm /bin/true", cwd=self.folder), 0, "new\n")
        self.assertEqual(os.listdir(self.folder), [])
        self.assertTrue(os.path.exists("/bin/true"))

    def test_links_and_other_file_systems_of_the_host_are_reachable(self):
        mount = os.path.join(self.folder, "mount")
        os.mkdir(mount)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", mount], check=True)
        try:
            with open(os.path.join(mount, "file"), "w", encoding="utf-8") as file:
                file.write("there")
            os.symlink(os.path.join(mount, "file"), os.path.join(self.folder, "link"))
            self.expect(run("cat", "link", cwd=self.folder), 0, "there")
        finally:
            subprocess.run(["umount", mount], check=True)

    def test_background_processes_end_with_it(self):
        self.expect(run("bash", "-c", "sleep 1000 & echo started"), 0, "started\n")


class EndTest(Case):
    def test_the_exit_status_is_told(self):
        for command, status in (("exit 1", 1), ("exit 42", 42), ("kill -KILL $$", 137)):
            with self.subTest(command):
                self.expect(run("bash", "-c", command), status, "")

    def test_a_command_that_is_not_there_or_no_program_is_told(self):
        self.expect(run("no-such-program"), 127, "",
                    "softrdma: no-such-program: No such file or directory\n")
        self.expect(run("/etc/passwd"), 126, "", "softrdma: /etc/passwd: Permission denied\n")

    def test_a_time_out_is_told(self):
        tool = start("--timeout", "20", "sleep", "1000")
        _, errors = tool.communicate(timeout=LIMIT)
        self.assertEqual((tool.returncode, errors), (124, "softrdma: time-out after 20 s\n"))

    def test_an_interrupt_leaves_no_machine(self):
        tool = start("sh", "-c", "echo up; sleep 1000")
        self.assertEqual(tool.stdout.readline(), "up\n")
        machines = machines_of(tool.pid)
        self.assertEqual(len(machines), 1)
        tool.send_signal(signal.SIGINT)
        _, errors = tool.communicate(timeout=LIMIT)
        self.assertEqual((tool.returncode, errors),
                         (-signal.SIGINT, "softrdma: stopped by SIGINT\n"))
        self.assertFalse(os.path.exists(f"/proc/{machines[0]}"))


class CacheTest(Case):
    def test_two_runs_prepare_at_once(self):
        environment = {**os.environ, "XDG_CACHE_HOME": self.folder}
        runs = [start("echo", "up", env=environment) for _ in range(2)]
        for each in runs:
            self.assertEqual(each.communicate(timeout=LIMIT), ("up\n", ""))
        self.assertEqual(len(cache_entries(self.folder)), 1)

    def test_an_interrupt_while_preparing_breaks_no_cache(self):
        environment = {**os.environ, "XDG_CACHE_HOME": self.folder}
        tool = start("true", env=environment)
        while not any(name.startswith("tmp.") for _, folders, _ in os.walk(self.folder)
                      for name in folders):
            time.sleep(0.1)
        tool.terminate()
        tool.communicate(timeout=LIMIT)
        self.assertEqual((tool.returncode, cache_entries(self.folder)), (-signal.SIGTERM, []))

    def test_too_little_room_is_told(self):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", self.folder], check=True)
        try:
            done = run("true", env={**os.environ, "XDG_CACHE_HOME": self.folder})
            self.assertEqual(done.returncode, 125)
            self.assertRegex(done.stderr, r"MiB are needed, \d+ MiB are free")
            self.assertEqual(cache_entries(self.folder), [])
        finally:
            subprocess.run(["umount", self.folder], check=True)


class Shell:
    """An interactive shell in a machine, on a terminal of its own."""

    def __init__(self):
        self.fd, end = pty.openpty()
        self.resize(33, 77)
        self.process = subprocess.Popen([*TOOL, "bash", "--norc"], stdin=end, stdout=end,
                                        stderr=end, start_new_session=True,
                                        env={**os.environ, "TERM": "dumb"}, preexec_fn=lambda:
                                        fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(end)

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("=HHHH", rows, columns, 0, 0))

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def read_until(self, pattern):
        text = ""
        while not re.search(pattern, text):
            if not select.select([self.fd], (), (), LIMIT)[0]:
                raise TimeoutError(text)
            text += os.read(self.fd, 4096).decode()
        return text


class TerminalTest(Case):
    def test_a_shell_is_usable(self):
        shell = Shell()
        self.assertIn("booting", shell.read_until(r"bash-[0-9.]+# "))
        shell.type("tty; stty size\r")
        shell.read_until(r"/dev/pts/\d+\s+33 77\s+bash\S+# ")
        shell.resize(44, 88)
        shell.type("until [ \"$(stty size)\" = '44 88' ]; do :; done; echo $((40 + 4))rows\r")
        shell.read_until(r"44rows\s+bash\S+# ")
        shell.type("echo $((1 + 1))up; sleep 1000\r")
        shell.read_until("2up")
        shell.type("\3")  # Ctrl-C
        shell.read_until(r"\^C\s+bash\S+# ")
        shell.type("echo $?; exit 7\r")
        shell.read_until(r"130\s")
        self.assertEqual(shell.process.wait(LIMIT), 7)
        self.assertTrue(termios.tcgetattr(shell.fd)[3] & termios.ISIG)
        os.close(shell.fd)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="rxe")
    parser.add_argument("--accel", default="auto")
    args, tests = parser.parse_known_args()
    DEVICE = args.device
    TOOL += ["--device", args.device, "--accel", args.accel]
    unittest.main(argv=[sys.argv[0], *tests], verbosity=2)
