"""Non-blocking communication with a program over its three pipes."""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Callable
from enum import Enum, auto
from typing import IO, Final, Self

from fieldmark.judges.managed_process import ManagedProcess, ProcessGroup, ProcessLimits

__all__ = ["PipeState", "ProcessPipes"]

_CHUNK: Final = 1 << 16
_POLL_SECONDS: Final = 0.1
"""The longest delay before a stop is noticed."""
_POLL_SECONDS_WITHOUT_EXIT_FD: Final = 0.02
"""The same where the exit of a program cannot be selected together with its pipes."""


class PipeState(Enum):
    """Why the communication paused or ended."""

    LINE_READ = auto()
    EXITED = auto()
    TIMED_OUT = auto()
    TOO_MUCH_OUTPUT = auto()
    STOPPED = auto()


class ProcessPipes:
    """The three pipes of a program, served by one thread without blocking.

    A program may stop reading its input; that is no failure.
    """

    def __init__(self, program: ManagedProcess, limits: ProcessLimits) -> None:
        self.output = bytearray()
        self._errors = bytearray()
        self._error_bytes = 0
        self._last = False
        self._pending = memoryview(b"")
        self._program = program
        self._limits = limits
        self._selector = selectors.DefaultSelector()
        for pipe, read in self._readers():
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, read)
        os.set_blocking(program.stdin.fileno(), False)
        if program.exit_fd is not None:
            self._selector.register(program.exit_fd, selectors.EVENT_READ)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop watching the pipes, which belong to the program."""
        self._selector.close()

    @property
    def output_open(self) -> bool:
        """Return whether the program may still write to standard output."""
        return self._is_open(self._program.stdout)

    @property
    def input_open(self) -> bool:
        """Return whether the program may still read from standard input."""
        return not self._program.stdin.closed

    @property
    def sending(self) -> bool:
        """Return whether the program has not read all of its input."""
        return bool(self._pending)

    @property
    def wrote_errors(self) -> bool:
        """Return whether the program wrote to standard error since the last input."""
        return self._error_bytes > 0

    @property
    def error_tail(self) -> str:
        """Return the end of standard error."""
        return bytes(self._errors[-self._limits.tail_bytes :]).decode("utf-8", "replace")

    @property
    def too_much_output(self) -> bool:
        """Return whether the output exceeds its limits."""
        return (
            len(self.output) > self._limits.output_bytes
            or self._error_bytes > self._limits.error_bytes
        )

    def send(self, data: bytes, *, last: bool) -> None:
        """Send input, as far as the program reads it; the last input closes the pipe."""
        self._last = last
        self._error_bytes = 0
        stdin = self._program.stdin
        if stdin.closed:
            return
        self._pending = memoryview(data)
        if data:
            self._write()
        elif last:
            stdin.close()
        if self._pending:
            self._selector.register(stdin, selectors.EVENT_WRITE, self._write)

    def wait_for_exit(self, deadline: float, group: ProcessGroup) -> PipeState:
        """Wait for the program to exit, then briefly for children that hold its output open."""
        while not self._program.exited():
            if (failure := self._failure(deadline, group)) is not None:
                return failure
            self._step(deadline)
        deadline = time.monotonic() + self._limits.linger
        while self.output_open and not self.too_much_output:
            if time.monotonic() >= deadline or group.stopped:
                break
            self._step(deadline)
        return PipeState.EXITED

    def wait_for_line(self, deadline: float, group: ProcessGroup) -> PipeState:
        """Wait for a complete line of output."""
        seen = 0
        while self.output.find(b"\n", seen) < 0:
            seen = len(self.output)
            if self._output_ended():
                return PipeState.EXITED
            if (failure := self._failure(deadline, group)) is not None:
                return failure
            self._step(deadline)
        return PipeState.TOO_MUCH_OUTPUT if self.too_much_output else PipeState.LINE_READ

    def take_line(self) -> bytes:
        """Remove and return the first line of the output."""
        line, newline, rest = self.output.partition(b"\n")
        self.output = rest
        return bytes(line + newline)

    def drain(self) -> None:
        """Read what has been written, without waiting for more."""
        for pipe, read in self._readers():
            while self._is_open(pipe) and not self.too_much_output and read():
                pass

    def _output_ended(self) -> bool:
        """Return whether no more output can come, except from a process left behind."""
        if not self.output_open:
            return True
        if self._is_watched(self._program.exit_fd) or not self._program.exited():
            return False
        before = len(self.output)
        self.drain()
        return len(self.output) == before

    def _failure(self, deadline: float, group: ProcessGroup) -> PipeState | None:
        if self.too_much_output:
            return PipeState.TOO_MUCH_OUTPUT
        if group.stopped:
            return PipeState.STOPPED
        return PipeState.TIMED_OUT if time.monotonic() >= deadline else None

    def _step(self, deadline: float) -> None:
        longest = _POLL_SECONDS_WITHOUT_EXIT_FD if self._program.exit_fd is None else _POLL_SECONDS
        for key, _ in self._selector.select(max(0.0, min(longest, deadline - time.monotonic()))):
            if key.data is None:
                # The exit stays readable; it is noticed once.
                self._forget(self._program.exit_fd)
            else:
                key.data()

    def _readers(self) -> tuple[tuple[IO[bytes], Callable[[], bool]], ...]:
        return (
            (self._program.stdout, self._read_output),
            (self._program.stderr, self._read_errors),
        )

    def _write(self) -> bool:
        stdin = self._program.stdin
        try:
            sent = os.write(stdin.fileno(), self._pending[:_CHUNK])
        except BlockingIOError:
            return False
        except OSError:
            # The program closed its input; it may still answer.
            self._pending = memoryview(b"")
            self._last = True
            sent = 0
        self._pending = self._pending[sent:]
        if not self._pending:
            self._forget(stdin)
            if self._last:
                stdin.close()
        return True

    def _read_output(self) -> bool:
        data = self._read_chunk(self._program.stdout)
        self.output += data
        return bool(data)

    def _read_errors(self) -> bool:
        data = self._read_chunk(self._program.stderr)
        self._error_bytes += len(data)
        self._errors += data
        if len(self._errors) > 2 * self._limits.tail_bytes:
            del self._errors[: -self._limits.tail_bytes]
        return bool(data)

    def _read_chunk(self, pipe: IO[bytes]) -> bytes:
        """Return some bytes; none if there are none yet, or if the pipe is closed."""
        try:
            data = os.read(pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return b""
        except OSError:
            data = b""
        if not data:
            self._forget(pipe)
        return data

    def _is_open(self, pipe: IO[bytes]) -> bool:
        return not pipe.closed and self._is_watched(pipe)

    def _is_watched(self, pipe: IO[bytes] | int | None) -> bool:
        return pipe is not None and pipe in self._selector.get_map()

    def _forget(self, pipe: IO[bytes] | int | None) -> None:
        if pipe is not None and self._is_watched(pipe):
            self._selector.unregister(pipe)
