# SPDX-License-Identifier: BSD-3-Clause
"""The machine's own program, its process 1: brings the device up, runs the one command that the
host asks for, and hands its input and output through.
"""
import errno
import fcntl
import glob
import json
import os
import pty
import resource
import signal
import struct
import subprocess
import termios
import threading
import time

from channel import ERRORS, EXIT, INPUT, OUTPUT, READY, RUN, WINDOW, Channel

FAILED, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127
INTERFACE = "rdma0"
COMMANDS = {
    "rxe": (
        f"ip link add {INTERFACE} type dummy",
    ),
    "siw": (
        f"ip link add {INTERFACE} type veth peer name peer0",
        "ip link set peer0 up",
    ),
}


class Failure(Exception):
    """status, message: what the host is told instead of the command's exit status."""


def open_port():
    while not (ports := glob.glob("/dev/vport*p*")):
        time.sleep(0.01)
    return os.open(ports[0], os.O_RDWR)


def call(*argv):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise Failure(FAILED, f"{' '.join(argv)}: {done.stdout.decode(errors='replace').strip()}")


def bring_up(order):
    device = order["device"]
    if order["module"]:
        call("insmod", order["module"])
    call("ip", "link", "set", "lo", "up")
    for command in COMMANDS[device]:
        call(*command.split())
    call("ip", "address", "add", f"{order['ipv4']}/24", "dev", INTERFACE)
    call("ip", "address", "add", f"{order['ipv6']}/64", "dev", INTERFACE, "nodad")
    call("ip", "link", "set", INTERFACE, "up")
    call("rdma", "link", "add", f"{device}0", "type", device, "netdev", INTERFACE)


def lift_limits(files):
    unlimited = resource.RLIM_INFINITY
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (unlimited, unlimited))
    with open("/proc/sys/fs/nr_open", encoding="ascii") as most:
        files = min(files, int(most.read()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))


class Command:
    """The command, with its input and output on pipes, or on a terminal if the host has one."""

    def __init__(self, order, channel):
        self.channel = channel
        self.terminal = None
        if not os.path.isdir(order["folder"]):
            raise Failure(FAILED, f"{order['folder']}: not a folder in the machine")
        pipe = subprocess.PIPE
        options = {"stdin": pipe, "stdout": pipe, "stderr": pipe}
        if order["window"]:
            self.terminal, end = pty.openpty()
            self.resize(bytes(order["window"]))
            options = {"stdin": end, "stdout": end, "stderr": end if order["errors"] else pipe,
                       "preexec_fn": lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)}
        try:
            self.process = subprocess.Popen(order["command"], cwd=order["folder"],
                                            env=order["environment"], start_new_session=True,
                                            bufsize=0, **options)
        except FileNotFoundError as error:
            raise Failure(NOT_FOUND, f"{order['command'][0]}: {error.strerror}") from error
        except OSError as error:
            raise Failure(NOT_EXECUTABLE, f"{order['command'][0]}: {error.strerror}") from error
        if order["window"]:
            os.close(end)

    def resize(self, window):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, window + bytes(4))

    def pass_input(self):
        """Until the machine is switched off."""
        stdin = self.process.stdin.fileno() if self.terminal is None else self.terminal
        while True:
            kind, payload = self.channel.receive()
            if kind == WINDOW and self.terminal is not None:
                self.resize(payload)
            elif kind == INPUT:
                stdin = self.write(stdin, payload)

    def write(self, stdin, payload):
        """To the command's input; where further input is to go: None once it is closed."""
        if stdin is None:
            return None
        try:
            if payload:
                while payload:
                    payload = payload[os.write(stdin, payload):]
                return stdin
        except OSError:  # the command has closed it
            pass
        if self.terminal is None:
            self.process.stdin.close()
        return None

    def pass_output(self, fd, kind):
        """Until nobody has the other end open."""
        try:
            while data := os.read(fd, 16384):
                self.channel.send(kind, data)
        except OSError as error:  # how the end of a terminal reads
            if error.errno != errno.EIO:
                raise

    def outputs(self):
        stdout = self.process.stdout
        yield (self.terminal if stdout is None else stdout.fileno()), OUTPUT
        if self.process.stderr:
            yield self.process.stderr.fileno(), ERRORS

    def run(self):
        """Its exit status, as a shell has it, after the last of its output."""
        threading.Thread(target=self.pass_input, daemon=True).start()
        pumps = [threading.Thread(target=self.pass_output, args=output, daemon=True)
                 for output in self.outputs()]
        for pump in pumps:
            pump.start()
        status = self.reap()
        try:
            os.kill(-1, signal.SIGKILL)  # all but this process
        except ProcessLookupError:
            pass
        for pump in pumps:
            pump.join()
        return status

    def reap(self):
        """Waits for the command, and for the orphans that end meanwhile."""
        while True:
            pid, status = os.wait()
            if pid == self.process.pid:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code


def obey(channel):
    kind, payload = channel.receive()
    assert kind == RUN
    order = json.loads(payload)
    bring_up(order)
    lift_limits(order["files"])
    command = Command(order, channel)
    channel.send(READY)
    return command.run()


def main():
    channel = Channel(open_port())
    message = ""
    try:
        status = obey(channel)
    except Failure as failure:
        status, message = failure.args
    except Exception:  # else the kernel would panic
        import traceback  # only now: it takes long to load
        status, message = FAILED, traceback.format_exc()
    channel.send(EXIT, bytes([status]) + message.encode(errors="surrogateescape"))
    while True:
        signal.pause()  # until the host switches off


main()
