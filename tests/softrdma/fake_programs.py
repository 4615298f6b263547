# SPDX-License-Identifier: BSD-3-Clause
"""Programs for a PATH of their own, in the place of those that tools/softrdma runs."""
import os
import sys

TOOL_FOLDER = os.path.abspath(os.path.join("tools", "virtual_machine"))

# A machine that boots at once, whose command is a Python expression of `machine`.
QEMU = """#!{python}
import json, os, re, signal, sys
sys.path.insert(0, {folder!r})
from channel import *

class Machine:
    def __init__(self):
        self.arguments = sys.argv[1:]
        self.channel = Channel(int(re.search(r"fd=([0-9]+)", " ".join(sys.argv)).group(1)))
        kind, payload = self.channel.receive()
        assert kind == RUN
        self.order = json.loads(payload)

    def boot(self):
        self.channel.send(READY)

    def say(self, text):
        self.channel.send(OUTPUT, text.encode())

    def complain(self, text):
        self.channel.send(ERRORS, text.encode())

    def input(self):
        data = b""
        while (piece := self.channel.receive()[1]):
            data += piece
        return data.decode()

    def exit(self, status, message=""):
        self.channel.send(EXIT, bytes([status]) + message.encode())
        self.hang()

    def hang(self):
        with open(os.environ["FAKE_PID"], "w") as file:
            print(os.getpid(), file=file, flush=True)
        while True:
            signal.pause()

    def break_down(self, words):
        print(words, flush=True)
        sys.exit(1)

machine = Machine()
exec(machine.order["command"][0])
"""


class FakePath:
    """A folder of programs: the fakes, and nothing else that tools/softrdma looks for."""

    def __init__(self, folder):
        self.folder = folder
        os.mkdir(folder)
        self.add("qemu-system-x86_64", QEMU.format(python=sys.executable, folder=TOOL_FOLDER))
        for name in ("ip", "rdma"):
            self.add(name, "#!/bin/sh\n")
        for name in ("bash", "dirname", "env", "realpath", "setpriv", "sh"):
            os.symlink(f"/usr/bin/{name}", os.path.join(folder, name))
        os.symlink(sys.executable, os.path.join(folder, "python3"))

    def add(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def remove(self, name):
        os.remove(os.path.join(self.folder, name))
