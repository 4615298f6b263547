# SPDX-License-Identifier: BSD-3-Clause
"""Messages between the host and the machine: a kind, a length, and so many bytes."""
import os
import struct
import threading

# To the machine: what to run, in JSON; its input, empty at the end; the terminal's rows and columns.
RUN, INPUT, WINDOW = b"R", b"I", b"W"
# To the host: the device is up; what the command writes; its exit status (a byte) and why, if not
# by itself.
READY, OUTPUT, ERRORS, EXIT = b"r", b"o", b"e", b"x"

_HEADER = struct.Struct("=cI")


class Channel:
    """Over a file descriptor. One thread receives, any may send."""

    def __init__(self, fd):
        self.fd = fd
        self._sending = threading.Lock()

    def send(self, kind, payload=b""):
        """Blocks until the other side has room. BrokenPipeError if it is gone."""
        message = memoryview(_HEADER.pack(kind, len(payload)) + payload)
        with self._sending:
            while message:
                message = message[os.write(self.fd, message):]

    def receive(self):
        """The next kind and payload. EOFError if the other side is gone."""
        kind, length = _HEADER.unpack(self._read(_HEADER.size))
        return kind, self._read(length)

    def _read(self, length):
        data = b""
        while len(data) < length:
            piece = os.read(self.fd, length - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data
