"""Non-blocking communication with a program over its three pipes."""

from __future__ import annotations

import os
import selectors
import time
from enum import Enum, auto
from typing import IO, Final, cast

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
        self.error_bytes = 0
        """The number of bytes on standard error since the last input."""
        self.unsent = memoryview(b"")
        """The input that the program has not read."""
        self._last = False
        self._program = program
        self._limits = limits
        self._selector = selectors.DefaultSelector()
        for pipe in (program.stdin, program.stdout, program.stderr):
            os.set_blocking(pipe.fileno(), False)
        for source in (program.stdout, program.stderr, program.exit_fd):
            if source is not None:
                self._selector.register(source, selectors.EVENT_READ)

    def close(self) -> None:
        """Stop watching the pipes, which belong to the program."""
        self._selector.close()

    @property
    def output_open(self) -> bool:
        """Return whether the program may still write to standard output."""
        return self._is_open(self._program.stdout)

    @property
    def error_tail(self) -> str:
        """Return the end of standard error."""
        return bytes(self._errors[-self._limits.tail_bytes :]).decode("utf-8", "replace")

    @property
    def too_much_output(self) -> bool:
        """Return whether the output exceeds its limits."""
        return (
            len(self.output) > self._limits.output_bytes
            or self.error_bytes > self._limits.error_bytes
        )

    def send(self, data: bytes, *, last: bool) -> None:
        """Send input, as far as the program reads it; the last input closes the pipe."""
        self._last = last
        self.error_bytes = 0
        stdin = self._program.stdin
        if stdin.closed:
            return
        self.unsent = memoryview(data)
        if data:
            self._write()
        elif last:
            stdin.close()
        if self.unsent:
            self._selector.register(stdin, selectors.EVENT_WRITE)

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
            if not self.output_open:
                return PipeState.EXITED
            if not self._is_watched(self._program.exit_fd) and self._program.exited():
                # More output can only come from a process left behind.
                self.drain()
                if len(self.output) == seen:
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
        for pipe in (self._program.stdout, self._program.stderr):
            while self._is_open(pipe) and not self.too_much_output and self._read(pipe):
                pass

    def _failure(self, deadline: float, group: ProcessGroup) -> PipeState | None:
        if self.too_much_output:
            return PipeState.TOO_MUCH_OUTPUT
        if group.stopped:
            return PipeState.STOPPED
        return PipeState.TIMED_OUT if time.monotonic() >= deadline else None

    def _step(self, deadline: float) -> None:
        longest = _POLL_SECONDS_WITHOUT_EXIT_FD if self._program.exit_fd is None else _POLL_SECONDS
        for key, _ in self._selector.select(max(0.0, min(longest, deadline - time.monotonic()))):
            if key.fileobj == self._program.exit_fd:
                # The exit stays readable; it is noticed once.
                self._forget(self._program.exit_fd)
            elif key.fileobj is self._program.stdin:
                self._write()
            else:
                self._read(cast("IO[bytes]", key.fileobj))

    def _write(self) -> None:
        stdin = self._program.stdin
        try:
            sent = os.write(stdin.fileno(), self.unsent[:_CHUNK])
        except BlockingIOError:
            return
        except OSError:
            # The program closed its input; it may still answer.
            self.unsent = memoryview(b"")
            self._last = True
            sent = 0
        self.unsent = self.unsent[sent:]
        if not self.unsent:
            self._forget(stdin)
            if self._last:
                stdin.close()

    def _read(self, pipe: IO[bytes]) -> bool:
        """Read some output or errors; return false if there are none yet, or no more."""
        try:
            data = os.read(pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._forget(pipe)
        elif pipe is self._program.stdout:
            self.output += data
        else:
            self.error_bytes += len(data)
            self._errors += data
            if len(self._errors) > 2 * self._limits.tail_bytes:
                del self._errors[: -self._limits.tail_bytes]
        return bool(data)

    def _is_open(self, pipe: IO[bytes]) -> bool:
        return not pipe.closed and self._is_watched(pipe)

    def _is_watched(self, pipe: IO[bytes] | int | None) -> bool:
        return pipe is not None and pipe in self._selector.get_map()

    def _forget(self, pipe: IO[bytes] | int | None) -> None:
        if pipe is not None and self._is_watched(pipe):
            self._selector.unregister(pipe)
