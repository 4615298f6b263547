#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/softrdma without a machine: usage, failures, signals, exit codes. QEMU and apt-get are
fakes.
"""
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import threading
import unittest
from unittest import mock

from fake_programs import TOOL_FOLDER, FakePath

sys.path.insert(0, TOOL_FOLDER)
import host  # pylint: disable=wrong-import-position
import image  # pylint: disable=wrong-import-position

PROGRAM = os.path.abspath(os.path.join("tools", "softrdma"))
LIMIT = 50  # seconds


class Case(unittest.TestCase):
    """Has a cache and a PATH of its own."""

    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"]))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.path = FakePath(os.path.join(self.folder, "bin"))
        self.cache = os.path.join(self.folder, "cache")
        self.pid_file = os.path.join(self.folder, "pid")
        os.mkfifo(self.pid_file)
        self.environment = {"PATH": self.path.folder, "XDG_CACHE_HOME": self.cache,
                            "FAKE_PID": self.pid_file, "HOME": self.folder}

    def run_tool(self, *arguments, **options):
        return subprocess.run([PROGRAM, *arguments], text=True, timeout=LIMIT, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=self.environment, **{"stdin": subprocess.DEVNULL, **options})

    def start_tool(self, *arguments, **options):
        return subprocess.Popen([PROGRAM, *arguments], text=True, env=self.environment,
                                **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                                   "stderr": subprocess.PIPE, **options})

    def fill_cache(self, *names):
        entry = os.path.join(self.cache, "softrdma", f"linux-image-1-{image.digest()}")
        os.makedirs(entry)
        for name in names:
            with open(os.path.join(entry, name), "w", encoding="utf-8"):
                pass
        return entry

    def machine_pid(self):
        fifo = os.open(self.pid_file, os.O_RDONLY | os.O_NONBLOCK)
        try:
            self.assertTrue(_ready(fifo), "nothing has started")
            return int(os.read(fifo, 100))
        finally:
            os.close(fifo)

    def expect_failure(self, done, status, *words):
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertRegex(done.stderr, "^softrdma: ")
        self.assertNotIn("Traceback", done.stderr)
        self.assertEqual(done.returncode, status)
        self.assertEqual(done.stdout, "")

    def expect_gone(self, pid):
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)


class UsageTest(Case):
    def test_help_names_every_option_and_where_the_cache_is(self):
        done = self.run_tool("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for option in ("--device", "--memory", "--cpus", "--timeout", "--accel", "--help"):
            self.assertIn(option, done.stdout)
        self.assertIn(os.path.join(self.cache, "softrdma"), done.stdout)
        self.assertLessEqual(max(map(len, done.stdout.replace(self.folder, "").splitlines())), 80)

    def test_wrong_usage_is_told_and_points_to_the_help(self):
        for arguments, words in (
                ((), "COMMAND is missing"),
                (("--device", "rxe", "--"), "COMMAND is missing"),
                (("--device", "mlx5", "true"), "--device mlx5: not one of rxe, siw"),
                (("--device",), "--device"),
                (("--colour", "red", "true"), "--colour"),
                (("-x", "true"), "-x"),
                (("--cpus", "0", "true"), "--cpus 0: not a number from 1 to 255"),
                (("--cpus", "256", "true"), "--cpus 256"),
                (("--cpus", "two", "true"), "--cpus two"),
                (("--memory", "3", "true"), "--memory 3: not a size like 512M or 3G"),
                (("--memory", "-1G", "true"), "--memory -1G"),
                (("--memory", "255M", "true"), "--memory 255M: less than 256M"),
                (("--timeout", "0", "true"), "--timeout 0: not a number of seconds"),
                (("--timeout", "-1", "true"), "--timeout -1"),
                (("--timeout", "nan", "true"), "--timeout nan"),
                (("--accel", "fast", "true"), "--accel fast: not one of auto, kvm, tcg")):
            with self.subTest(arguments):
                self.expect_failure(self.run_tool(*arguments), 2, words, "softrdma --help")


class MachineTest(Case):
    def setUp(self):
        super().setUp()
        self.entry = self.fill_cache("vmlinux", "initramfs", "siw.ko")

    def order(self, *arguments, **options):
        done = self.run_tool(*arguments, "machine.boot(); machine.say(json.dumps([machine.order,"
                             "machine.arguments])); machine.exit(0)", "a b", "'\"\n", "--cpus", "",
                             **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_arguments_environment_and_folder_arrive_intact(self):
        self.environment["TEST_TEXT"] = "a b\n'\""
        order, _ = self.order("--", cwd=self.folder)
        self.assertEqual(order["command"][1:], ["a b", "'\"\n", "--cpus", ""])
        self.assertEqual(order["environment"],
                         {**self.environment, **order["environment"], "RPMA_ADDRESS": "192.0.2.1"})
        self.assertEqual(order["folder"], self.folder)
        self.assertEqual(order["window"], [])

    def test_rxe_is_the_default_and_siw_takes_its_module_along(self):
        order, _ = self.order()
        self.assertEqual((order["device"], order["module"]), ("rxe", None))
        order, _ = self.order("--device", "siw")
        self.assertEqual((order["device"], order["module"]),
                         ("siw", os.path.join(self.entry, "siw.ko")))

    def test_options_of_the_machine_reach_it(self):
        _, arguments = self.order("--memory=512M", "--cpus", "5", "--accel", "kvm")
        options = dict(zip(arguments, arguments[1:]))
        self.assertEqual((options["-m"], options["-smp"]), ("512M", "5"))
        self.assertIn("accel=kvm", options["-machine"])

    def test_the_status_is_the_commands_and_streams_stay_apart(self):
        for status in (0, 1, 42, 137):
            with self.subTest(status):
                done = self.run_tool("machine.boot(); machine.say('out'); machine.complain('err');"
                                     f"machine.exit({status})")
                self.assertEqual((done.returncode, done.stdout, done.stderr),
                                 (status, "out", "err"))

    def test_input_reaches_the_command_with_its_end(self):
        done = self.run_tool("machine.boot(); machine.say(machine.input()); machine.exit(0)",
                             stdin=None, input="one\ntwo")
        self.assertEqual((done.returncode, done.stdout), (0, "one\ntwo"))

    def test_closed_streams_do_no_harm(self):
        done = subprocess.run(["bash", "-c", f"{PROGRAM} \"$1\" <&- 2>&-", "bash",
                               "machine.boot(); machine.say(repr(machine.input()));"
                               "machine.complain('lost'); machine.exit(3)"],
                              env=self.environment, stdout=subprocess.PIPE, timeout=LIMIT,
                              check=False)
        self.assertEqual((done.returncode, done.stdout), (3, b"''"))

    def test_why_a_command_cannot_start_is_told(self):
        done = self.run_tool("machine.exit(127, 'nothing: No such file or directory')")
        self.expect_failure(done, 127, "softrdma: nothing: No such file or directory")

    def test_the_last_words_of_a_machine_that_breaks_down_are_told(self):
        done = self.run_tool("machine.break_down('Kernel panic')")
        self.expect_failure(done, 125, "the machine ended unexpectedly", "Kernel panic")
        done = self.run_tool("machine.boot(); machine.break_down('Out of memory')")
        self.expect_failure(done, 125, "the machine ended unexpectedly", "Out of memory")

    def test_what_qemu_complains_of_is_told(self):
        self.path.add("qemu-system-x86_64", "#!/bin/sh\necho cannot set up guest memory >&2\nexit 1")
        self.expect_failure(self.run_tool("true"), 125, "cannot set up guest memory")

    def test_a_time_out_ends_the_machine_whether_it_has_booted_or_not(self):
        for boot in ("", "machine.boot();"):
            with self.subTest(boot):
                # On a busy host the machine may need longer to start.
                self.assertTrue(any(self.times_out(boot, seconds) for seconds in (0.5, 2, 8, 32)),
                                "nothing has started")

    def times_out(self, boot, seconds):
        """Expects a time-out; says whether the machine had started before."""
        tool = self.start_tool("--timeout", str(seconds), f"{boot}machine.hang()")
        over = os.pidfd_open(tool.pid)
        fifo = os.open(self.pid_file, os.O_RDONLY | os.O_NONBLOCK)
        has_started = fifo in select.select([fifo, over], (), (), LIMIT)[0]
        pid = os.read(fifo, 100)
        os.close(fifo)
        os.close(over)
        _, errors = tool.communicate(timeout=LIMIT)
        self.assertEqual((tool.returncode, errors),
                         (124, f"softrdma: time-out after {seconds} s\n"))
        if has_started:
            self.expect_gone(int(pid))
        return has_started

    def test_a_signal_ends_the_machine_and_the_tool(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                tool = self.start_tool("machine.boot(); machine.hang()")
                pid = self.machine_pid()
                tool.send_signal(number)
                _, errors = tool.communicate(timeout=LIMIT)
                self.assertEqual((tool.returncode, errors),
                                 (-number, f"softrdma: stopped by {number.name}\n"))
                self.expect_gone(pid)

    def test_the_machine_does_not_outlive_a_tool_that_is_killed(self):
        tool = self.start_tool("machine.boot(); machine.hang()")
        pid = self.machine_pid()
        watch = os.pidfd_open(pid)
        tool.kill()
        tool.communicate(timeout=LIMIT)
        self.assertTrue(_ready(watch))
        os.close(watch)

    def test_a_reader_that_goes_away_ends_the_tool_quietly(self):
        tool = self.start_tool("machine.boot()\nwhile True: machine.say('y' * 4096)")
        tool.stdout.close()
        self.assertEqual(tool.stderr.read(), "")
        tool.stderr.close()
        self.assertEqual(tool.wait(LIMIT), -signal.SIGPIPE)

    def test_on_a_terminal_the_command_has_one_too_and_keys_go_to_it(self):
        ours, theirs = pty.openpty()
        tool = self.start_tool("machine.say(repr(machine.order['window'])); machine.boot();"
                               "machine.say(repr(machine.channel.receive())); machine.exit(5)",
                               stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
        os.close(theirs)
        text = _read_until(ours, "]")
        self.assertIn("[0, 0, 0, 0]", text)
        while "\\x03" not in text:  # Ctrl-C, once the terminal is the command's
            if _is_raw(ours):
                os.write(ours, b"\3")
            text += _read_available(ours)
        self.assertEqual(tool.wait(LIMIT), 5)
        os.close(ours)


class SignalTest(unittest.TestCase):
    """Of the module host, in this process."""

    def setUp(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.addCleanup(signal.signal, number, signal.getsignal(number))
        host.catch_signals()

    def test_a_signal_while_a_thread_starts_does_the_thread_no_harm(self):
        start = threading._start_new_thread  # pylint: disable=protected-access
        ran = threading.Event()

        def start_with_signal(*arguments):
            start(*arguments)
            os.kill(os.getpid(), signal.SIGTERM)

        with mock.patch.object(threading, "_start_new_thread", start_with_signal):
            with self.assertRaises(host.Stopped):
                host.start_thread(ran.set)
        self.assertTrue(ran.wait(LIMIT))

    def test_signals_are_answered_when_the_outermost_holder_ends(self):
        answers = []
        host.on_signal(signal.SIGHUP, lambda: answers.append("hung up"))
        with host.signals_held():
            with host.signals_held():
                os.kill(os.getpid(), signal.SIGHUP)
            self.assertEqual(answers, [])
        self.assertEqual(answers, ["hung up"])


class PreparationTest(Case):
    """The cache is empty, and no package is missing."""

    def setUp(self):
        super().setUp()
        self.path.add("dpkg-query", "#!/bin/sh\necho installed")
        self.path.add("apt-cache", "#!/bin/sh\n[ $1 = depends ] && echo '  Depends: linux-image-1'"
                      "\necho 'Version: 1-1'")
        self.path.add("apt-get", "#!/bin/sh\necho apt-get $* >>$HOME/log; "
                      "echo E: Could not resolve deb.debian.org >&2; exit 100")

    def calls(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8") as file:
            return file.read().splitlines()

    def expect_no_remains(self):
        self.assertEqual(os.listdir(os.path.join(self.cache, "softrdma")), [])

    def test_without_a_network_the_failure_of_apt_get_is_told(self):
        self.expect_failure(self.run_tool("true"), 125, "download linux-image-1` failed",
                            "Could not resolve deb.debian.org")
        self.expect_no_remains()

    def test_a_kernel_that_vanished_makes_the_lists_be_updated(self):
        self.path.add("apt-get", "#!/bin/sh\necho $* >>$HOME/log\n"
                      "case $* in *update) exit 0;; *) echo 404 Not Found >&2; exit 100;; esac")
        self.expect_failure(self.run_tool("true"), 125, "404")
        download, update, again = self.calls()
        self.assertEqual((download, update), (again, "-q update"))
        self.expect_no_remains()

    def test_a_distribution_without_the_kernel_is_told(self):
        self.path.add("apt-cache", "#!/bin/sh\n")
        self.path.add("apt-get", "#!/bin/sh\n")
        self.expect_failure(self.run_tool("true"), 125,
                            "apt-cache knows no package linux-image-amd64")
        self.expect_no_remains()

    def test_packages_that_cannot_be_installed_are_named(self):
        self.path.remove("qemu-system-x86_64")
        self.path.add("dpkg-query", "#!/bin/sh\n[ $3 = qemu-system-x86 ] || echo installed")
        for name in ("mkdir", "cat"):
            os.symlink(f"/usr/bin/{name}", os.path.join(self.path.folder, name))
        self.path.add("sudo", "#!/bin/sh\nexit 1")
        self.expect_failure(self.run_tool("true"), 125, "install_packages softrdma",
                            "Could not resolve deb.debian.org" if os.geteuid() == 0
                            else "qemu-system-x86")

    def test_a_cache_that_cannot_be_written_is_told(self):
        with open(self.cache, "w", encoding="utf-8"):
            pass
        self.expect_failure(self.run_tool("true"), 125, self.cache, "Not a directory")

    def test_a_signal_while_preparing_leaves_nothing_behind(self):
        self.path.add("apt-get", "#!/bin/sh\necho $$ >$FAKE_PID; exec sleep 1000")
        os.symlink("/usr/bin/sleep", os.path.join(self.path.folder, "sleep"))
        tool = self.start_tool("true")
        pid = self.machine_pid()
        tool.send_signal(signal.SIGTERM)
        tool.communicate(timeout=LIMIT)
        self.assertEqual(tool.returncode, -signal.SIGTERM)
        self.expect_gone(pid)
        self.expect_no_remains()

    def test_remains_of_a_run_that_was_killed_go(self):
        os.makedirs(os.path.join(self.cache, "softrdma", "tmp.killed"))
        self.run_tool("true")
        self.expect_no_remains()

    def test_an_entry_made_by_another_version_of_the_tool_is_not_used(self):
        entry = self.fill_cache("vmlinux", "initramfs")
        os.rename(entry, os.path.join(self.cache, "softrdma", "linux-image-1-0123456789ab"))
        self.expect_failure(self.run_tool("machine.exit(0)"), 125, "download linux-image-1")

    def test_siw_wants_its_module_and_rxe_does_not(self):
        self.fill_cache("vmlinux", "initramfs")
        self.assertEqual(self.run_tool("machine.exit(0)").returncode, 0)
        self.expect_failure(self.run_tool("--device", "siw", "machine.exit(0)"), 125,
                            "download linux-")


def _ready(fd, limit=LIMIT):
    """Whether there is something to read, or the end, within so many seconds."""
    return bool(select.select([fd], (), (), limit)[0])


def _read_until(fd, end):
    text = ""
    while end not in text:
        text += os.read(fd, 4096).decode()
    return text


def _read_available(fd):
    return os.read(fd, 4096).decode() if _ready(fd, limit=0.01) else ""


def _is_raw(fd):
    return not termios.tcgetattr(fd)[3] & termios.ISIG


if __name__ == "__main__":
    unittest.main()
