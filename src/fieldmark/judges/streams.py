"""Moves bytes to and from a program, none of whose ends may ever hold us up."""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Callable
from enum import Enum, auto
from types import TracebackType
from typing import IO, Final, Self

from fieldmark.judges.contained import Contained
from fieldmark.judges.leash import Leash
from fieldmark.judges.limits import ProcessLimits

__all__ = ["Pumped", "Streams"]

_CHUNK: Final = 1 << 16
_SLICE: Final = 0.1
"""How long the word to stop may stay unheard."""
_BLIND_SLICE: Final = 0.02
"""The same where the end of a program cannot be waited for together with its pipes."""


class Pumped(Enum):
    """Why the bytes have stopped."""

    DONE = auto()
    ENDED = auto()
    LATE = auto()
    FLOODED = auto()
    STOPPED = auto()


class Streams:
    """The three pipes of a program, one thread, no blocking.

    A program that never reads is written to as far as it goes; that it stops reading is no fault.
    """

    __slots__ = (
        "_errors",
        "_last",
        "_limits",
        "_pending",
        "_program",
        "_selector",
        "_written",
        "output",
    )

    def __init__(self, program: Contained, limits: ProcessLimits) -> None:
        self.output = bytearray()
        self._errors = bytearray()
        self._written = 0
        self._last = False
        self._pending = memoryview(b"")
        self._program = program
        self._limits = limits
        self._selector = selectors.DefaultSelector()
        for pipe, take in self._readers():
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, take)
        os.set_blocking(program.stdin.fileno(), False)
        if program.watch is not None:
            self._selector.register(program.watch, selectors.EVENT_READ)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Watch the pipes no longer; they belong to the program."""
        self._selector.close()

    @property
    def listening(self) -> bool:
        """Whether the program may still write to standard output."""
        return self._open(self._program.stdout)

    @property
    def heard(self) -> bool:
        """Whether the program may still read from standard input."""
        return not self._program.stdin.closed

    @property
    def sending(self) -> bool:
        """Whether the program has not yet read all that it was sent."""
        return bool(self._pending)

    @property
    def remarked(self) -> bool:
        """Whether the program wrote to standard error since it was last sent something."""
        return self._written > 0

    @property
    def tail(self) -> str:
        """The end of what was written to standard error."""
        return bytes(self._errors[-self._limits.tail_bytes :]).decode("utf-8", "replace")

    @property
    def flooded(self) -> bool:
        """Whether more was written than may be."""
        return (
            len(self.output) > self._limits.output_bytes or self._written > self._limits.error_bytes
        )

    def send(self, data: bytes, *, last: bool) -> None:
        """Write as far as the program reads; after the last bytes its input is closed."""
        self._last = last
        self._written = 0
        stdin = self._program.stdin
        if stdin.closed:
            return
        self._pending = memoryview(data)
        if data:
            self._give()
        elif last:
            stdin.close()
        if self._pending:
            self._selector.register(stdin, selectors.EVENT_WRITE, self._give)

    def until_exit(self, deadline: float, leash: Leash) -> Pumped:
        """Wait for the end of the program, then a little for what holds its output open."""
        while not self._program.exited():
            hindered = self._hindered(deadline, leash)
            if hindered is not None:
                return hindered
            self._step(deadline)
        deadline = time.monotonic() + self._limits.linger
        while self.listening and not self.flooded:
            if time.monotonic() >= deadline or leash.stopped:
                break
            self._step(deadline)
        return Pumped.ENDED

    def until_line(self, deadline: float, leash: Leash) -> Pumped:
        """Wait for a whole line of output."""
        seen = 0
        while self.output.find(b"\n", seen) < 0:
            seen = len(self.output)
            if self._silent():
                return Pumped.ENDED
            hindered = self._hindered(deadline, leash)
            if hindered is not None:
                return hindered
            self._step(deadline)
        return Pumped.FLOODED if self.flooded else Pumped.DONE

    def take_line(self) -> bytes:
        """The first line of the output, which is forgotten."""
        line, newline, rest = self.output.partition(b"\n")
        self.output = rest
        return bytes(line + newline)

    def drain(self) -> None:
        """Take what has been written, without waiting for more."""
        for pipe, take in self._readers():
            while self._open(pipe) and not self.flooded and take():
                pass

    def _silent(self) -> bool:
        """Whether no more output can come, unless from a process that was left behind."""
        if not self.listening:
            return True
        watch = self._program.watch
        if watch in self._selector.get_map() or not self._program.exited():
            return False
        before = len(self.output)
        self.drain()
        return len(self.output) == before

    def _hindered(self, deadline: float, leash: Leash) -> Pumped | None:
        if self.flooded:
            return Pumped.FLOODED
        if leash.stopped:
            return Pumped.STOPPED
        return Pumped.LATE if time.monotonic() >= deadline else None

    def _step(self, deadline: float) -> None:
        most = _BLIND_SLICE if self._program.watch is None else _SLICE
        for key, _ in self._selector.select(max(0.0, min(most, deadline - time.monotonic()))):
            if key.data is None:
                # The end of a program can be seen for ever after; once is enough.
                self._forget(self._program.watch)
            else:
                key.data()

    def _readers(self) -> tuple[tuple[IO[bytes], Callable[[], bool]], ...]:
        return ((self._program.stdout, self._take), (self._program.stderr, self._take_error))

    def _give(self) -> bool:
        stdin = self._program.stdin
        try:
            sent = os.write(stdin.fileno(), self._pending[:_CHUNK])
        except BlockingIOError:
            return False
        except OSError:
            # The program does not want to read on. It may still answer.
            self._pending = memoryview(b"")
            self._last = True
            sent = 0
        self._pending = self._pending[sent:]
        if not self._pending:
            self._forget(stdin)
            if self._last:
                stdin.close()
        return True

    def _take(self) -> bool:
        data = self._read(self._program.stdout)
        self.output += data
        return bool(data)

    def _take_error(self) -> bool:
        data = self._read(self._program.stderr)
        self._written += len(data)
        self._errors += data
        if len(self._errors) > 2 * self._limits.tail_bytes:
            del self._errors[: -self._limits.tail_bytes]
        return bool(data)

    def _read(self, pipe: IO[bytes]) -> bytes:
        """Some bytes, or none when there are none yet or will never be again."""
        try:
            data = os.read(pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return b""
        except OSError:
            data = b""
        if not data:
            self._forget(pipe)
        return data

    def _open(self, pipe: IO[bytes]) -> bool:
        return not pipe.closed and pipe in self._selector.get_map()

    def _forget(self, pipe: IO[bytes] | int | None) -> None:
        if pipe is not None and pipe in self._selector.get_map():
            self._selector.unregister(pipe)
