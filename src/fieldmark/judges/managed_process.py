"""Programs with limits on time, output and resources, which are ended with their descendants.

`run_process` runs a program once. A `ProcessPool` has long-lived programs that respond to one line
per request, and are restarted on exit.
"""

from __future__ import annotations

import os
import queue
import secrets
import select
import selectors
import signal as signals
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from io import RawIOBase
from typing import IO, Final, Self, cast

from fieldmark.errors import DataError
from fieldmark.judges.process_tree import ProcessTree, kill_marked
from fieldmark.judges.program import ProcessLimits, Program

_POLL_SECONDS: Final = 0.1
"""The maximum delay before a stop is noticed."""
_POLL_SECONDS_WITHOUT_EXIT_FD: Final = 0.02
"""The same on systems where the selector cannot report the exit of a program."""
_MAX_QUOTED: Final = 1_000
_INTERRUPTED: Final = "the run was interrupted"


class ProcessFailure(StrEnum):
    """Why a program returned no usable response."""

    NOT_STARTED = "not_started"
    TIMEOUT = "timeout"
    OUTPUT_LIMIT = "output_limit"
    INPUT_LIMIT = "input_limit"
    EXIT_STATUS = "exit_status"
    SIGNAL = "signal"
    INTERRUPTED = "interrupted"
    DIED = "died"
    OUT_OF_STEP = "out_of_step"


class ProcessError(Exception):
    """A program returned no response; the message may still contain secrets."""

    def __init__(self, failure: ProcessFailure, message: str) -> None:
        super().__init__(message)
        self.failure = failure


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessResult:
    """The output and the exit status of a program.

    `failure` is none if it exited by itself with code 0. `cause` describes the failure, and
    `reason` also quotes the end of standard error. Secrets are redacted from both and from
    `stderr`, not from `stdout`.
    """

    stdout: bytes = b""
    stderr: str = ""
    exit_code: int | None = None
    signal: str | None = None
    failure: ProcessFailure | None = None
    cause: str = ""
    reason: str = ""

    @classmethod
    def not_run(cls, program: Program, error: ProcessError | OSError | ValueError) -> ProcessResult:
        """Return the result for a request that was not sent to a program."""
        if isinstance(error, ProcessError):
            failure, message = error.failure, str(error)
        else:
            failure = ProcessFailure.NOT_STARTED
            system = error.strerror if isinstance(error, OSError) else None
            message = f"cannot start {program.argv[0]}: {system or error}"
        cause = f"{failure}: {message}"
        return cls(failure=failure, cause=cause, reason=cause)


def stderr_suffix(stderr: str) -> str:
    """Return the end of standard error in the form that is appended to a reason."""
    return _output_suffix("standard error", stderr)


def _output_suffix(stream: str, output: str) -> str:
    text = output.strip()
    if not text:
        return ""
    dots = "…" if len(text) > _MAX_QUOTED else ""
    return f"; {stream}: {dots}{text[-_MAX_QUOTED:]}"


class ProcessGroup:
    """All programs of one run.

    Leaving the context stops programs that other threads still run, waits for them, and kills their
    remaining processes.
    """

    def __init__(self) -> None:
        self._marker = secrets.token_hex(12)
        self._started = 0
        self._running = 0
        self._change = threading.Condition()
        self.stopped = False
        """Whether all programs must end."""

    def stop(self) -> None:
        """Start no more programs, and end the running ones."""
        with self._change:
            self.stopped = True

    def new_marker(self) -> str:
        """Return the marker for a new program."""
        with self._change:
            self._started += 1
            return f"{self._marker}.{self._started}."

    @contextmanager
    def running(self) -> Iterator[None]:
        """Keep the group open while a program runs; raise ProcessError if it was stopped."""
        with self._change:
            if self.stopped:
                raise ProcessError(ProcessFailure.INTERRUPTED, _INTERRUPTED)
            self._running += 1
        try:
            yield
        finally:
            with self._change:
                self._running -= 1
                self._change.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        try:
            with self._change:
                self._change.wait_for(lambda: not self._running)
        finally:
            if self._started:
                kill_marked(self._marker, wait_for_new=True)


class ManagedProcess:
    """A running program; leaving the context kills all its processes.

    One thread serves its three pipes without blocking. A program that stops reading its input has
    not failed.
    """

    def __init__(self, program: Program, group: ProcessGroup) -> None:
        self._program = program
        self._limits = program.limits
        self._group = group
        self.exit_code: int | None = None
        self.signal: str | None = None
        """How the program ended: its exit code, or the name of the signal that ended it."""
        self._ended = False
        self._output = bytearray()
        self._errors = bytearray()
        self._error_bytes = 0
        """The number of bytes on standard error since the last input."""
        self._unsent = memoryview(b"")
        """The input that the program has not read."""
        self._last_input = False
        self._tree = ProcessTree(program, group.new_marker())
        self._exit_fd = self._tree.exit_fd
        process = self._tree.process
        self._pipes: list[RawIOBase] = []
        self._selector = selectors.DefaultSelector()
        try:
            for wrapped, pipe in (
                (input_pipe, process.stdin),
                (output_pipe, process.stdout),
                (output_pipe, process.stderr),
            ):
                self._pipes.append(wrapped(cast("IO[bytes]", pipe)))
            self._stdin, self._stdout, self._stderr = self._pipes
            for source in (self._stdout, self._stderr, self._exit_fd):
                if source is not None:
                    self._selector.register(source, selectors.EVENT_READ)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, data: bytes, *, last: bool) -> None:
        """Send input as far as the program reads it; the last input closes the pipe."""
        self._last_input = last
        self._error_bytes = 0
        if self._stdin.closed:
            return
        self._unsent = memoryview(data)
        if data:
            self._write()
        elif last:
            self._stdin.close()
        if self._unsent:
            self._selector.register(self._stdin, selectors.EVENT_WRITE)

    def wait_for_exit(self, deadline: float) -> ProcessResult:
        """Wait for the program, then briefly for children that keep its output open, and end it."""
        error: ProcessError | None = None
        overdue = f"exceeded the time limit of {self._limits.seconds:g} s"
        try:
            while not self._tree.exited():
                self._check_limits(deadline, overdue)
                self._step(deadline)
            deadline = time.monotonic() + self._limits.linger
            while self._is_open(self._stdout) and not self._too_much_output:
                if time.monotonic() >= deadline or self._group.stopped:
                    break
                self._step(deadline)
        except ProcessError as exceeded:
            error = exceeded
        self.end()
        if self._too_much_output:
            error = self._output_error()
        elif error is None and self.signal is not None:
            error = ProcessError(ProcessFailure.SIGNAL, f"terminated by {self.signal}")
        elif error is None and self.exit_code:
            message = f"exited with code {self.exit_code}"
            error = ProcessError(ProcessFailure.EXIT_STATUS, message)
        return self.result(error, stdout=bytes(self._output))

    def result(self, error: ProcessError | None = None, *, stdout: bytes = b"") -> ProcessResult:
        """Return the result of a program that has ended or responded, or its failure."""
        redact = self._program.redactor.redact
        tail = bytes(self._errors[-self._limits.tail_bytes :]) if self._error_bytes else b""
        stderr = redact(tail.decode("utf-8", "replace"))
        cause = f"{error.failure}: {redact(str(error))}" if error else ""
        suffix = stderr_suffix(stderr)
        if error and error.failure is ProcessFailure.EXIT_STATUS:
            # The SDKs of judges write what went wrong to standard output.
            written = stdout[-self._limits.tail_bytes :].decode("utf-8", "replace")
            suffix += _output_suffix("standard output", redact(written))
        return ProcessResult(
            stdout=stdout,
            stderr=stderr,
            exit_code=self.exit_code,
            signal=self.signal,
            failure=error.failure if error else None,
            cause=cause,
            reason=f"{cause}{suffix}" if error else "",
        )

    def end(self) -> None:
        """End the program and all its processes, and read their remaining output."""
        if self._ended:
            return
        status = self._tree.end(self._limits.grace)
        if status < 0:
            try:
                self.signal = signals.Signals(-status).name
            except ValueError:
                self.signal = f"signal {-status}"
        else:
            self.exit_code = status
        self._ended = True
        self._drain(wait=True)

    def close(self) -> None:
        """End the program and close its pipes."""
        try:
            self.end()
        finally:
            self._selector.close()
            for pipe in self._pipes:
                with suppress(OSError):
                    pipe.close()
            self._tree.close()

    @property
    def _too_much_output(self) -> bool:
        return (
            len(self._output) > self._limits.output_bytes
            or self._error_bytes > self._limits.error_bytes
        )

    def _output_error(self) -> ProcessError:
        return ProcessError(
            ProcessFailure.OUTPUT_LIMIT,
            f"wrote more than {self._limits.output_bytes:,} bytes to standard output "
            f"or {self._limits.error_bytes:,} bytes to standard error",
        )

    def _check_limits(self, deadline: float, overdue: str) -> None:
        """Raise ProcessError if output or time exceeds its limit, or the run was stopped."""
        if self._too_much_output:
            raise self._output_error()
        if self._group.stopped:
            raise ProcessError(ProcessFailure.INTERRUPTED, _INTERRUPTED)
        if time.monotonic() >= deadline:
            raise ProcessError(ProcessFailure.TIMEOUT, overdue)

    def _step(self, deadline: float) -> None:
        """Wait for the pipes and serve every pipe that is ready."""
        longest = _POLL_SECONDS_WITHOUT_EXIT_FD if self._exit_fd is None else _POLL_SECONDS
        for key, _ in self._selector.select(max(0.0, min(longest, deadline - time.monotonic()))):
            if key.fileobj == self._exit_fd:
                # The descriptor stays readable, so it is no longer watched.
                self._forget(self._exit_fd)
            elif key.fileobj is self._stdin:
                self._write()
            else:
                self._read(cast("RawIOBase", key.fileobj))

    def _drain(self, *, wait: bool = False) -> None:
        """Read the available output.

        With `wait`, the program has exited, and all its output is available or being copied.
        """
        deadline = time.monotonic() + self._limits.linger
        for pipe in self._pipes[1:]:
            while self._is_open(pipe) and not self._too_much_output:
                if self._read(pipe):
                    continue
                if not (wait and COPIED and time.monotonic() < deadline):
                    break
                self._step(deadline)

    def _write(self) -> None:
        try:
            sent = self._stdin.write(self._unsent[:CHUNK])
        except OSError:
            # The program closed its input; it may still respond.
            self._unsent = memoryview(b"")
            self._last_input = True
            sent = 0
        if sent is None:
            return
        self._unsent = self._unsent[sent:]
        if not self._unsent:
            self._forget(self._stdin)
            if self._last_input:
                self._stdin.close()

    def _read(self, pipe: RawIOBase) -> bool:
        """Read a chunk from a pipe; return false if there is none yet, or no more."""
        try:
            data = pipe.read(CHUNK)
        except OSError:
            data = b""
        if data is None:
            return False
        if not data:
            self._forget(pipe)
        elif pipe is self._stdout:
            self._output += data
        else:
            self._error_bytes += len(data)
            self._errors += data
            if len(self._errors) > 2 * self._limits.tail_bytes:
                del self._errors[: -self._limits.tail_bytes]
        return bool(data)

    def _is_open(self, pipe: RawIOBase) -> bool:
        return not pipe.closed and self._is_watched(pipe)

    def _is_watched(self, pipe: RawIOBase | int | None) -> bool:
        return pipe is not None and pipe in self._selector.get_map()

    def _forget(self, pipe: RawIOBase | int | None) -> None:
        if pipe is not None and self._is_watched(pipe):
            self._selector.unregister(pipe)


def run_process(program: Program, stdin: bytes, group: ProcessGroup) -> ProcessResult:
    r"""Run a program until it exits or exceeds a limit, and kill all its remaining processes.

    Stopping the group from another thread ends the program.

    >>> cat = Program(argv=["cat"], env={"PATH": "/usr/bin:/bin"})
    >>> with ProcessGroup() as group:
    ...     run_process(cat, b"hello", group).stdout
    b'hello'
    """
    try:
        check_input(stdin, program.limits)
        with group.running():
            deadline = time.monotonic() + program.limits.seconds
            with ManagedProcess(program, group) as process:
                process.send(stdin, last=True)
                return process.wait_for_exit(deadline)
    except (ProcessError, OSError, ValueError) as error:
        return ProcessResult.not_run(program, error)


def check_input(data: bytes, limits: ProcessLimits) -> None:
    """Raise ProcessError for an input that is too large."""
    if len(data) > limits.input_bytes:
        message = f"the request exceeds the limit of {limits.input_bytes:,} bytes"
        raise ProcessError(ProcessFailure.INPUT_LIMIT, message)


CHUNK: Final = 1 << 16
COPIED = not hasattr(select, "poll")
"""Whether threads copy the pipes, so that output may arrive after its program has ended."""


def output_pipe(pipe: IO[bytes]) -> RawIOBase:
    """Return the output of a program; reading returns `None` if there is none yet."""
    if not COPIED:
        return _unblocked(pipe)
    file_end, thread_end = socket.socketpair()

    def copy() -> None:
        with pipe, thread_end, suppress(OSError):
            while data := pipe.read(CHUNK):
                thread_end.sendall(data)

    return _start_copying(file_end, copy)


def input_pipe(pipe: IO[bytes]) -> RawIOBase:
    """Return the input of a program; writing returns `None` if nothing can be written yet."""
    if not COPIED:
        return _unblocked(pipe)
    file_end, thread_end = socket.socketpair()

    def copy() -> None:
        with suppress(OSError), pipe, thread_end:
            while data := memoryview(thread_end.recv(CHUNK)):
                while data:
                    data = data[pipe.write(data) :]

    return _start_copying(file_end, copy)


def _unblocked(pipe: IO[bytes]) -> RawIOBase:
    if sys.platform != "win32":
        os.set_blocking(pipe.fileno(), False)
    return cast("RawIOBase", pipe)


def _start_copying(file_end: socket.socket, copy: Callable[[], None]) -> RawIOBase:
    file_end.settimeout(0)
    threading.Thread(target=copy, daemon=True).start()
    with file_end:  # which stays open until the file is closed
        return file_end.makefile("rwb", buffering=0)


_MAX_SHOWN: Final = 200


class _Worker(ManagedProcess):
    """A program of a pool."""

    @property
    def gone(self) -> bool:
        """Return whether it has exited, or closed its input or output."""
        return self._tree.exited() or self._stdin.closed or not self._is_open(self._stdout)

    def request(self, request: bytes) -> ProcessResult:
        """Send one line and return the response line, or the failure."""
        try:
            self._check_in_step()
            self.send(request + b"\n", last=False)
            line = self._read_line(time.monotonic() + self._limits.seconds)
            self._check_in_step()
        except ProcessError as error:
            return self.result(error)
        return self.result(stdout=line)

    def _read_line(self, deadline: float) -> bytes:
        """Wait for a complete line of output and return it."""
        overdue = (
            f"no response within {self._limits.seconds:g} s; "
            "a judge must respond to each line immediately"
        )
        seen = 0
        while self._output.find(b"\n", seen) < 0:
            seen = len(self._output)
            if not self._is_open(self._stdout):
                raise self._died()
            if not self._is_watched(self._exit_fd) and self._tree.exited():
                # More output can only come from a process that outlived the program.
                self._drain(wait=True)
                if len(self._output) == seen:
                    raise self._died()
            self._check_limits(deadline, overdue)
            self._step(deadline)
        if self._too_much_output:
            raise self._output_error()
        line, newline, self._output = self._output.partition(b"\n")
        return bytes(line + newline)

    def _died(self) -> ProcessError:
        self.end()
        how = f"exited with code {self.exit_code}"
        if self.signal:
            how = f"terminated by {self.signal}"
        return ProcessError(ProcessFailure.DIED, f"{how} before it responded")

    def _check_in_step(self) -> None:
        """Raise ProcessError for unrequested output or an unread request."""
        self._drain()
        if self._output:
            words = bytes(self._output[:_MAX_SHOWN]).decode("utf-8", "replace").split()
            message = (
                f"unrequested output: {' '.join(words)}; "
                "write one line per case to standard output, and diagnostics to standard error"
            )
            raise ProcessError(ProcessFailure.OUT_OF_STEP, message)
        if self._unsent:
            message = "responded before it had read the whole request"
            raise ProcessError(ProcessFailure.OUT_OF_STEP, message)

    def finish(self, *, graceful: bool) -> ProcessResult | None:
        """End the worker after its last request; a graceful end gives it time to exit by itself.

        Returns the failure of a worker that wrote unrequested output.
        """
        with self:
            if graceful:
                self._tree.wait(self._limits.grace)
            self.end()
            try:
                self._check_in_step()
            except ProcessError as error:
                return self.result(error)
        return None


class ProcessPool:
    """Up to `size` workers, started on demand; thread-safe.

    A worker that fails is replaced, and a request is retried once if the worker exits. After
    unrequested output, lines can no longer be assigned to requests: the pool then returns no more
    responses, and if that is detected only at the end, leaving the context raises an error.
    """

    def __init__(self, program: Program, size: int, group: ProcessGroup) -> None:
        self._program = program
        self._group = group
        self._out_of_step: ProcessResult | None = None
        # None stands for a worker that has not been started yet.
        self._idle: queue.LifoQueue[_Worker | None] = queue.LifoQueue(size)
        for _ in range(size):
            self._idle.put(None)

    def request(self, request: bytes) -> ProcessResult:
        """Return the response line for a request, or the failure."""
        worker = self._idle.get()
        try:
            check_input(request, self._program.limits)
            with self._group.running():
                worker, result = self._request_once(worker, request)
                if result.failure is ProcessFailure.DIED:
                    worker, result = self._request_once(None, request)
                    if result.failure is ProcessFailure.DIED:
                        result = replace(result, reason=f"{result.reason} (2 attempts)")
        except ProcessError as error:
            return ProcessResult.not_run(self._program, error)
        except (OSError, ValueError) as error:
            worker = None
            return ProcessResult.not_run(self._program, error)
        finally:
            self._idle.put(worker)
        return result

    def _request_once(
        self, worker: _Worker | None, request: bytes
    ) -> tuple[_Worker | None, ProcessResult]:
        if self._out_of_step is not None:
            return worker, self._out_of_step
        if worker is not None and worker.gone:
            worker.close()
            worker = None
        if worker is None:
            worker = _Worker(self._program, self._group)
        result = worker.request(request)
        if result.failure is None:
            return worker, result
        if result.failure is ProcessFailure.OUT_OF_STEP:
            self._out_of_step = result
        worker.close()
        return None, result

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._group.stop()
        idle = [self._idle.get() for _ in range(self._idle.maxsize)]
        for _ in idle:
            # Threads that are still waiting for a worker find out that the run is over.
            self._idle.put(None)
        workers = [worker for worker in idle if worker is not None]
        for worker in workers:
            worker.send(b"", last=True)
        results = [worker.finish(graceful=kind is None) for worker in workers]
        reason = next((result.reason for result in results if result is not None), None)
        if kind is None and reason is not None and self._out_of_step is None:
            name = self._program.argv[0]
            raise DataError(f"the scores of {name} cannot be trusted: {reason}")
