# SPDX-License-Identifier: BSD-3-Clause
"""What the tool has of the host: failures, progress on a terminal, and commands that end with it."""
import os
import signal
import subprocess
import sys
import time

NAME = "softrdma"
_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Failure(Exception):
    """The tool cannot do its work; the text says why."""


class Stopped(Exception):
    """The tool got the signal `number`."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number


def _stop(number, _):
    for each in _STOPPING:  # nothing is to interrupt the clearing up
        signal.signal(each, signal.SIG_IGN)
    raise Stopped(number)


def catch_signals():
    for number in _STOPPING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)


def die_of(number):
    """So that the caller sees the signal."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def environment():
    """Programs of the system's administration are often missing in the PATH."""
    return {**os.environ, "PATH": os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin",
            "LC_ALL": "C.UTF-8"}


class Progress:
    """One line that says what is going on, with the seconds so far; only on a terminal."""

    def __init__(self):
        self.text = ""
        self.begin = 0.0

    def say(self, text):
        self.text = text
        self.begin = time.monotonic()
        self.refresh()

    def refresh(self):
        if self.text and os.isatty(2):
            seconds = time.monotonic() - self.begin
            print(f"\r\x1b[K{NAME}: {self.text} ... {seconds:.0f} s", end="", file=sys.stderr,
                  flush=True)

    def clear(self):
        if self.text and os.isatty(2):
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        self.text = ""


progress = Progress()


def run(*argv, folder=None, finish=False, failure=Failure):
    """What the command prints; `failure` if it fails. A signal ends the command, too, or, with
    `finish`, waits for it to end.
    """
    try:
        process = subprocess.Popen(argv, cwd=folder, env=environment(), start_new_session=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, errors="replace")
    except OSError as error:
        raise failure(f"{argv[0]}: {error.strerror}") from error
    try:
        output, errors = _communicate(process)
    except BaseException:
        if not finish:
            os.killpg(process.pid, signal.SIGTERM)
        process.communicate()
        raise
    if process.returncode:
        raise failure(f"`{' '.join(argv)}` failed\n{_tail(errors or output)}")
    return output


def _communicate(process):
    while True:
        try:
            return process.communicate(timeout=0.5)
        except subprocess.TimeoutExpired:
            progress.refresh()


def _tail(text):
    return "\n".join(text.strip().splitlines()[-15:])
