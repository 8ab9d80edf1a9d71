"""The pipes of a program as files that a selector can watch and that never block.

Windows selects only sockets. There, a thread copies between each pipe and a socket.
"""

from __future__ import annotations

import os
import select
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from io import RawIOBase
from typing import IO, Final, cast

CHUNK: Final = 1 << 16
COPIED = not hasattr(select, "poll")
"""Whether threads copy the pipes, so that output may arrive after its program has ended."""


def output_pipe(pipe: IO[bytes]) -> RawIOBase:
    """Return the output of a program; reading returns `None` if there is none yet."""
    if not COPIED:
        return _unblocked(pipe)
    ours, theirs = socket.socketpair()

    def copy() -> None:
        with pipe, theirs, suppress(OSError):
            while data := pipe.read(CHUNK):
                theirs.sendall(data)

    return _socket_file(ours, copy)


def input_pipe(pipe: IO[bytes]) -> RawIOBase:
    """Return the input of a program; writing returns `None` if nothing can be written yet."""
    if not COPIED:
        return _unblocked(pipe)
    ours, theirs = socket.socketpair()

    def copy() -> None:
        with suppress(OSError), pipe, theirs:
            while data := memoryview(theirs.recv(CHUNK)):
                while data:
                    data = data[pipe.write(data) :]

    return _socket_file(ours, copy)


def _unblocked(pipe: IO[bytes]) -> RawIOBase:
    if sys.platform != "win32":
        os.set_blocking(pipe.fileno(), False)
    return cast("RawIOBase", pipe)


def _socket_file(ours: socket.socket, copy: Callable[[], None]) -> RawIOBase:
    ours.settimeout(0)
    threading.Thread(target=copy, daemon=True).start()
    with ours:  # which stays open until the file is closed
        return ours.makefile("rwb", buffering=0)
