# SPDX-License-Identifier: BSD-3-Clause
"""A virtual machine that runs one command and is gone."""
import collections
import fcntl
import json
import os
import re
import resource
import signal
import socket
import subprocess
import termios
import time
import tty

from channel import ERRORS, EXIT, INPUT, OUTPUT, READY, RUN, WINDOW, Channel
from host import Failure, Stopped, environment, on_signal, progress, start_thread

IPV4, IPV6 = "192.0.2.1", "2001:db8::1"
# The last three spare time where the machine is emulated.
KERNEL_OPTIONS = ("console=ttyS0 quiet panic=-1 "
                  "no_timer_check mitigations=off cryptomgr.notests no5lvl")
BOOT_LIMIT = 240  # seconds
ACCELERATORS = ("auto", "kvm", "tcg")


class TimedOut(Exception):
    """The time that the caller set is over."""


class _BootTimedOut(Exception):
    """BOOT_LIMIT is over."""


class Terminal:
    """The caller's terminal, if the command is to have one."""

    def __init__(self):
        self.saved = None

    @staticmethod
    def window():
        """Rows and columns, as the kernel packs them; nothing if there is no terminal."""
        if not (os.isatty(0) and os.isatty(1)):
            return b""
        return fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8))[:4]

    def hand_over(self, channel):
        """From now on every key goes to the machine."""
        if self.window():
            self.saved = termios.tcgetattr(0)
            tty.setraw(0)
            on_signal(signal.SIGWINCH, lambda: channel.send(WINDOW, self.window()))

    def restore(self):
        if self.saved:
            signal.signal(signal.SIGWINCH, signal.SIG_DFL)
            termios.tcsetattr(0, termios.TCSADRAIN, self.saved)


class Machine:
    """Boots when made. close() switches it off."""

    def __init__(self, entry, options):
        ours, theirs = socket.socketpair()
        self.socket = ours
        self.channel = Channel(ours.fileno())
        with theirs:
            # setpriv: no machine outlives this process, whatever ends it.
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *_qemu(entry, options, theirs.fileno())],
                env=environment(), start_new_session=True, pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.console = collections.deque(maxlen=60)
        self.watcher = start_thread(self._watch_console)

    def _watch_console(self):
        for line in self.process.stdout:
            self.console.append(line.decode(errors="replace").strip())

    def close(self):
        self.process.kill()
        self.process.wait()
        self.socket.close()

    def run(self, order, timeout):
        """Runs what `order` says; the exit status."""
        begin = time.monotonic()
        terminal = Terminal()
        if timeout and timeout < BOOT_LIMIT:
            _limit(timeout, TimedOut)
        else:
            _limit(BOOT_LIMIT, _BootTimedOut)
        try:
            self.channel.send(RUN, json.dumps(order).encode())
            while True:
                kind, payload = self.channel.receive()
                if kind == READY:
                    progress.clear()
                    _limit(begin + timeout - time.monotonic() if timeout else 0, TimedOut)
                    terminal.hand_over(self.channel)
                    start_thread(self._pass_input)
                elif kind == OUTPUT:
                    _write(1, payload)
                elif kind == ERRORS:
                    _write(2, payload)
                elif kind == EXIT:
                    return payload[0], payload[1:].decode(errors="surrogateescape")
        except (EOFError, ConnectionError) as error:
            raise self._failure("the machine ended unexpectedly") from error
        except _BootTimedOut as error:
            raise self._failure(f"the machine does not boot within {BOOT_LIMIT} s") from error
        finally:
            _limit(0, TimedOut)
            terminal.restore()

    def _failure(self, text):
        self.process.kill()
        self.watcher.join()
        words = [line for line in self.console if line]
        return Failure("\n".join([f"{text}; its last words:" if words else text, *words]))

    def _pass_input(self):
        try:
            while data := os.read(0, 16384):
                self.channel.send(INPUT, data)
            self.channel.send(INPUT)
        except OSError:  # the machine is gone, or there is no input
            pass


def _write(fd, data):
    try:
        while data:
            data = data[os.write(fd, data):]
    except BrokenPipeError as error:
        raise Stopped(signal.SIGPIPE) from error


def _limit(seconds, exception):
    """Raises `exception` in so many seconds; 0: never."""
    def time_out():
        raise exception
    on_signal(signal.SIGALRM, time_out)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001) if seconds else 0)


def _accelerator(wanted):
    """Some hypervisors offer a /dev/kvm that cannot boot a usual kernel, on processors without
    virtualization.
    """
    if wanted != "auto":
        return wanted
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as cpuinfo:
        virtualizes = re.search(r"^flags\b.*\b(vmx|svm)\b", cpuinfo.read(), re.MULTILINE)
    return "kvm" if virtualizes and os.access("/dev/kvm", os.R_OK | os.W_OK) else "tcg"


def _qemu(entry, options, fd):
    return [
        "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
        "-machine", f"q35,accel={_accelerator(options.accel)}", "-cpu", "max",
        "-m", options.memory, "-smp", str(options.cpus),
        "-kernel", os.path.join(entry, "vmlinux"), "-initrd", os.path.join(entry, "initramfs"),
        "-append", KERNEL_OPTIONS,
        "-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console",
        "-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap",
        "-device", "virtio-serial-pci",
        "-chardev", f"socket,id=command,fd={fd}", "-device", "virtserialport,chardev=command",
    ]


def order(entry, options):
    """What the machine is to do."""
    try:
        folder = os.getcwd()
    except FileNotFoundError as error:
        raise Failure("the working directory is gone") from error
    return {
        "device": options.device,
        "module": os.path.join(entry, "siw.ko") if options.device == "siw" else None,
        "ipv4": IPV4,
        "ipv6": IPV6,
        "command": options.command,
        "environment": {**os.environ, "RPMA_ADDRESS": IPV4},
        "folder": folder,
        "files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "window": list(Terminal.window()),
        "errors": os.isatty(2),
    }
