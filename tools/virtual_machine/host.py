# SPDX-License-Identifier: BSD-3-Clause
"""What the tool has of the host: failures, progress on a terminal, and commands that end with it."""
import contextlib
import functools
import os
import signal
import subprocess
import sys
import threading
import time

NAME = "softrdma"
PATIENCE = 5  # seconds that a command has to end in when told to
_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Failure(Exception):
    """The tool cannot do its work; the text says why."""


class Stopped(Exception):
    """The tool got the signal `number`."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number


# The answers to the signals that came while they are held.
_held = None


def on_signal(number, answer):
    """Calls `answer`, which may raise, when the signal comes and signals are not held."""
    def handle(*_):
        if _held is None:
            answer()
        else:
            _held.append(answer)
    signal.signal(number, handle)


def _stop(number):
    for each in _STOPPING:  # nothing is to interrupt the clearing up
        signal.signal(each, signal.SIG_IGN)
    raise Stopped(number)


def catch_signals():
    for number in _STOPPING:
        if signal.getsignal(number) != signal.SIG_IGN:
            on_signal(number, functools.partial(_stop, number))


@contextlib.contextmanager
def signals_held():
    """For starting a process or a thread: whoever does so knows it before a signal is answered.
    May be nested.
    """
    global _held
    if _held is not None:
        yield
        return
    _held = []
    try:
        yield
    finally:
        arrived, _held = _held, None
    for answer in arrived:
        answer()


def start_thread(target):
    """One that does not keep the process alive. An exception out of the midst of
    Thread.start() would make the new thread fail.
    """
    with signals_held():
        thread = threading.Thread(target=target, daemon=True)
        thread.start()
    return thread


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
        self._text = ""
        self._begin = 0.0
        self._lock = threading.Lock()
        self._ticker = None

    def say(self, text):
        if not os.isatty(2):
            return
        with self._lock:
            self._text = text
            self._begin = time.monotonic()
            if not self._ticker:
                self._ticker = start_thread(self._tick)

    def _tick(self):
        while True:
            with self._lock:
                if self._text:
                    seconds = time.monotonic() - self._begin
                    self._print(f"{NAME}: {self._text} ... {seconds:.0f} s")
            time.sleep(0.25)

    def clear(self):
        with self._lock:
            if self._text:
                self._text = ""
                self._print("")

    @staticmethod
    def _print(text):
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


progress = Progress()


def run(*argv, folder=None, finish=False, failure=Failure):
    """What the command prints; `failure` if it fails. A signal ends the command, too, or, with
    `finish`, waits for it to end.
    """
    process = None
    try:
        with signals_held():
            process = subprocess.Popen(argv, cwd=folder, env=environment(), start_new_session=True,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, errors="replace")
        output, errors = process.communicate()
    except OSError as error:
        raise failure(f"{argv[0]}: {error.strerror}") from error
    except Stopped:
        if process:
            if not finish:
                _end(process)
            process.communicate()
        raise
    if process.returncode:
        raise failure(f"`{' '.join(argv)}` failed\n{_tail(errors or output)}")
    return output


def _end(process):
    """With all that it started."""
    with contextlib.suppress(ProcessLookupError):  # all have ended
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def _tail(text):
    return "\n".join(text.strip().splitlines()[-15:])
