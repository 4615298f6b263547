# SPDX-License-Identifier: BSD-3-Clause
"""tools/softrdma: the command line."""
import getopt
import platform
import re
import signal
import sys

import image
import machine
from host import NAME, Failure, Stopped, catch_signals, die_of, progress, signals_held

HELP = f"""\
Usage: tools/softrdma [OPTION]... [--] COMMAND [ARGUMENT]...

Runs COMMAND on an RDMA device in software, in a virtual machine that has this
machine's files, and is gone afterwards. It takes no RDMA hardware, no module of
this machine's kernel and no root, only an x86-64 Debian.

  --device rxe|siw       soft-RoCE or soft-iWARP (default: rxe)
  --memory SIZE          of the machine, like 512M or 3G (default: 3G)
  --cpus N               of the machine (default: 2)
  --timeout SECONDS      for booting and COMMAND together (default: no limit)
  --accel auto|kvm|tcg   virtualize, emulate, or what works (default: auto)
  --help                 this text

In the machine, COMMAND has the caller's working directory, arguments,
environment, input and output; output and errors stay apart. If input and output
are a terminal, it has a terminal, too: `tools/softrdma bash` gives a shell.
RPMA_ADDRESS is the device's address, {machine.IPV4}; {machine.IPV6} is another. The
device serves connections from the machine to itself; no other network is there.
COMMAND is root and may lock any amount of memory.

Files are those of this machine, all of them but /dev, /proc, /run and /sys, as
the caller may read them. What COMMAND writes stays in the machine's memory and
is lost. When COMMAND ends, so do its background processes. Like ssh, this reads
its input even if COMMAND does not: give it </dev/null where that matters.

The kernel and siw come from Debian's packages, once, and are then kept in
{image.cache_folder()}.
Missing programs are installed with tools/install_packages softrdma.

Exit status: that of COMMAND, 128 + N if signal N ended it;
  2 wrong usage, 124 time-out, 125 there is no machine for COMMAND,
  126 COMMAND cannot be executed, 127 COMMAND is not there.
"""
USAGE, TIMED_OUT, FAILED = 2, 124, 125


class Options:
    """Of the command line."""

    device = "rxe"
    memory = "3G"
    cpus = 2
    timeout = None
    accel = "auto"
    command = ()


class UsageError(Exception):
    """The command line is wrong."""


def one_of(*values):
    def check(text):
        if text not in values:
            raise ValueError(f"not one of {', '.join(values)}")
        return text
    return check


def memory(text):
    if not re.fullmatch(r"[1-9][0-9]*[MG]", text):
        raise ValueError("not a size like 512M or 3G")
    if int(text[:-1]) << (20 if text[-1] == "M" else 30) < 256 << 20:
        raise ValueError("less than 256M")
    return text


def cpus(text):
    if not re.fullmatch(r"[0-9]{1,3}", text) or not 1 <= int(text) <= 255:
        raise ValueError("not a number from 1 to 255")
    return int(text)


def timeout(text):
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]+)?", text) or float(text) == 0:
        raise ValueError("not a number of seconds")
    return float(text)


OPTIONS = {
    "device": one_of("rxe", "siw"),
    "memory": memory,
    "cpus": cpus,
    "timeout": timeout,
    "accel": one_of(*machine.ACCELERATORS),
}


def parse(arguments):
    """The options; None if help is wanted."""
    options = Options()
    try:
        given, options.command = getopt.getopt(arguments, "h",
                                               ["help", *(f"{name}=" for name in OPTIONS)])
    except getopt.GetoptError as error:
        raise UsageError(error.msg) from error
    for option, value in given:
        if option in ("-h", "--help"):
            return None
        name = option.removeprefix("--")
        try:
            setattr(options, name, OPTIONS[name](value))
        except ValueError as error:
            raise UsageError(f"{option} {value}: {error}") from error
    if not options.command:
        raise UsageError("COMMAND is missing")
    return options


def complain(text):
    progress.clear()
    print(f"{NAME}: {text}", file=sys.stderr)


def run(options):
    if platform.machine() != "x86_64":
        raise Failure("this takes an x86-64 machine")
    entry = image.prepare(options.device)
    order = machine.order(entry, options)
    progress.say("booting")
    guest = None
    try:
        with signals_held():
            guest = machine.Machine(entry, options)
        status, message = guest.run(order, options.timeout)
    finally:
        if guest:
            guest.close()
    if message:
        complain(message)
    return status


def main():
    try:
        options = parse(sys.argv[1:])
    except UsageError as error:
        complain(f"{error}\nTry 'tools/softrdma --help'.")
        return USAGE
    if options is None:
        print(HELP, end="")
        return 0
    try:
        catch_signals()
        return run(options)
    except Failure as failure:
        complain(failure)
        return FAILED
    except machine.TimedOut:
        complain(f"time-out after {options.timeout:g} s")
        return TIMED_OUT
    except OSError as error:
        complain(error)
        return FAILED
    except Stopped as stopped:
        if stopped.number != signal.SIGPIPE:
            complain(f"stopped by {signal.Signals(stopped.number).name}")
        return die_of(stopped.number)


if __name__ == "__main__":
    sys.exit(main())
