"""Child processes with resource limits, which are killed together with all their descendants.

A child can leave its process group and be reparented when its parent exits. It keeps its
environment, so a random marker there identifies it. This requires /proc: on other systems, and
if a child also clears its environment, an orphaned process may survive.
"""

from __future__ import annotations

import os
import secrets
import select
import selectors
import signal as signals
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from pathlib import Path
from typing import IO, Final, Self, cast

from fieldmark.judges.program import ProcessLimits, Program

__all__ = [
    "MARKER_VARIABLE",
    "ManagedProcess",
    "ProcessError",
    "ProcessFailure",
    "ProcessGroup",
    "ProcessResult",
    "check_input",
    "end_with_parent",
    "run_process",
    "stderr_suffix",
]

MARKER_VARIABLE: Final = "FIELDMARK_CONTAINED"
"""The environment variable with the markers of all programs that a process descends from."""
_PROC: Final = Path("/proc")
_PARENT: Final = 1
_START_TIME: Final = 19
"""Indexes into the result of `_read_stat`; the start time distinguishes reused process ids."""
_PR_SET_PDEATHSIG: Final = 1
_KILL_ROUNDS: Final = 100
_KILL_PAUSE: Final = 0.005
_CHUNK: Final = 1 << 16
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

    `failure` is none if it exited by itself with code 0. `reason` describes the failure and quotes
    the end of standard error. Secrets are redacted from `stderr` and `reason`, not from `stdout`.
    """

    stdout: bytes = b""
    stderr: str = ""
    exit_code: int | None = None
    signal: str | None = None
    failure: ProcessFailure | None = None
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
        return cls(failure=failure, reason=f"{failure}: {message}")


def stderr_suffix(stderr: str) -> str:
    """Return the end of standard error in the form that is appended to a reason."""
    text = stderr.strip()
    if not text:
        return ""
    dots = "…" if len(text) > _MAX_QUOTED else ""
    return f"; standard error: {dots}{text[-_MAX_QUOTED:]}"


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
                _kill_marked(self._marker, wait_for_new=True)


class ManagedProcess:
    """A running program in its own session; leaving the context kills all its processes.

    One thread serves its three pipes without blocking. A program that stops reading its input has
    not failed. The first process is not reaped before its group is killed: until then the system
    cannot reuse the id of the group.
    """

    def __init__(self, program: Program, group: ProcessGroup) -> None:
        self._program = program
        self._limits = program.limits
        self._group = group
        self._marker = group.new_marker()
        self.exit_code: int | None = None
        self.signal: str | None = None
        """How the program ended: its exit code, or the name of the signal that ended it."""
        self._ended = False
        self._exit_fd: int | None = None
        """Becomes readable when the first process exits; none without pidfd support."""
        self._output = bytearray()
        self._errors = bytearray()
        self._error_bytes = 0
        """The number of bytes on standard error since the last input."""
        self._unsent = memoryview(b"")
        """The input that the program has not read."""
        self._last_input = False
        self._selector = selectors.DefaultSelector()
        inherited = os.environ.get(MARKER_VARIABLE, "")
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the command comes from the user, and no shell is used
                list(program.argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=program.cwd,
                env={**program.env, MARKER_VARIABLE: inherited + self._marker},
                bufsize=0,
                start_new_session=True,
            )
        except BaseException:
            self._selector.close()
            raise
        self._pid = self._process.pid
        """The id of the first process and of its group."""
        self._stdin = cast("IO[bytes]", self._process.stdin)
        self._stdout = cast("IO[bytes]", self._process.stdout)
        self._stderr = cast("IO[bytes]", self._process.stderr)
        try:
            _set_limits(self._pid, program.limits)
            if sys.platform == "linux":
                self._exit_fd = os.pidfd_open(self._pid)
            for pipe in (self._stdin, self._stdout, self._stderr):
                os.set_blocking(pipe.fileno(), False)
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
            while not self._exited():
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
        return ProcessResult(
            stdout=stdout,
            stderr=stderr,
            exit_code=self.exit_code,
            signal=self.signal,
            failure=error.failure if error else None,
            reason=f"{error.failure}: {redact(str(error))}{stderr_suffix(stderr)}" if error else "",
        )

    def end(self) -> None:
        """End the program and all its processes, and read their remaining output.

        The group is terminated, then killed after the grace period, as are processes that left it.
        """
        if self._ended:
            return
        descendants = {} if self._exited() else _descendants(self._pid)
        try:
            if not self._exited():
                self._signal_group(signals.SIGTERM)
                self._wait(self._limits.grace)
        finally:
            self._signal_group(signals.SIGKILL)
            status = self._process.wait()
            if status < 0:
                self.signal = _signal_name(-status)
            else:
                self.exit_code = status
            for pid, started in descendants.items():
                # The id may belong to another process by now.
                stat = _read_stat(pid)
                if stat and stat[_START_TIME] == started:
                    _kill(pid)
            _kill_marked(self._marker)
            self._ended = True
        self._drain()

    def close(self) -> None:
        """End the program and close its pipes."""
        try:
            self.end()
        finally:
            self._selector.close()
            for pipe in (self._stdin, self._stdout, self._stderr):
                with suppress(OSError):
                    pipe.close()
            if self._exit_fd is not None:
                os.close(self._exit_fd)
                self._exit_fd = None

    def _exited(self) -> bool:
        """Return whether the first process has exited."""
        if self._process.returncode is not None:
            return True
        if sys.platform == "linux":
            how = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self._pid, how) is not None
        else:  # noqa: RET505 - so that the type checker skips it on other systems
            return self._process.poll() is not None

    def _wait(self, seconds: float) -> None:
        """Wait until the first process exits, up to a time limit, without reading its output."""
        if self._exit_fd is not None:
            poll = select.poll()
            poll.register(self._exit_fd, select.POLLIN)
            poll.poll(seconds * 1000)
            return
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def _signal_group(self, number: signals.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)

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
        """Wait for the pipes and serve those that are ready."""
        longest = _POLL_SECONDS_WITHOUT_EXIT_FD if self._exit_fd is None else _POLL_SECONDS
        for key, _ in self._selector.select(max(0.0, min(longest, deadline - time.monotonic()))):
            if key.fileobj == self._exit_fd:
                # The descriptor stays readable, so it is no longer watched.
                self._forget(self._exit_fd)
            elif key.fileobj is self._stdin:
                self._write()
            else:
                self._read(cast("IO[bytes]", key.fileobj))

    def _drain(self) -> None:
        """Read the available output without waiting for more."""
        for pipe in (self._stdout, self._stderr):
            while self._is_open(pipe) and not self._too_much_output and self._read(pipe):
                pass

    def _write(self) -> None:
        try:
            sent = os.write(self._stdin.fileno(), self._unsent[:_CHUNK])
        except BlockingIOError:
            return
        except OSError:
            # The program closed its input; it may still respond.
            self._unsent = memoryview(b"")
            self._last_input = True
            sent = 0
        self._unsent = self._unsent[sent:]
        if not self._unsent:
            self._forget(self._stdin)
            if self._last_input:
                self._stdin.close()

    def _read(self, pipe: IO[bytes]) -> bool:
        """Read a chunk from a pipe; return false if there is none yet, or no more."""
        try:
            data = os.read(pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
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

    def _is_open(self, pipe: IO[bytes]) -> bool:
        return not pipe.closed and self._is_watched(pipe)

    def _is_watched(self, pipe: IO[bytes] | int | None) -> bool:
        return pipe is not None and pipe in self._selector.get_map()

    def _forget(self, pipe: IO[bytes] | int | None) -> None:
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


def end_with_parent(parent: int) -> None:
    """Kill this process when its parent dies, or now if it is dead already (Linux only)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signals.SIGKILL)
        if os.getppid() != parent:
            os.kill(os.getpid(), signals.SIGKILL)


def _set_limits(pid: int, limits: ProcessLimits) -> None:
    """Set the resource limits of a new process, which its children inherit (Linux only).

    Setting them in the child requires code between fork and exec, which is unsafe with threads.
    """
    if sys.platform != "linux":
        return
    import resource

    cpu_seconds = ceil(limits.seconds + limits.grace) * (os.cpu_count() or 1) + 1
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: None if limits.long_lived else cpu_seconds,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_DATA: limits.memory_bytes,
    }
    for kind, limit in wanted.items():
        if limit is None:
            continue
        try:
            _, hard = resource.prlimit(pid, kind)
            bound = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.prlimit(pid, kind, (bound, bound))
        except (ProcessLookupError, PermissionError):
            # The process has exited or changed its user.
            return


def _kill_marked(marker: str, *, wait_for_new: bool = False) -> None:
    """Kill every process with a marker in its environment until none is left.

    If the start of a program was interrupted, its process may have no environment yet. With
    `wait_for_new`, such children get time to start.
    """
    wanted = marker.encode()
    for _ in range(_KILL_ROUNDS):
        environments = {pid: _read_proc(pid, "environ") for pid in _other_pids()}
        found = [pid for pid, environment in environments.items() if wanted in environment]
        if not found and not (
            wait_for_new
            and any(
                _is_new_child(pid) for pid, environment in environments.items() if not environment
            )
        ):
            return
        for pid in found:
            _kill(pid)
        time.sleep(_KILL_PAUSE)


def _is_new_child(pid: int) -> bool:
    """Return whether a process without an environment is a child that has not exited."""
    stat = _read_stat(pid)
    return bool(stat) and int(stat[_PARENT]) == os.getpid() and stat[0] != b"Z"


def _descendants(root: int) -> dict[int, bytes]:
    """Return the descendants of a process with their start times."""
    stats = {pid: fields for pid in _other_pids() if (fields := _read_stat(pid))}
    found: dict[int, bytes] = {}
    parents = {root}
    while parents:
        children = [pid for pid, fields in stats.items() if int(fields[_PARENT]) in parents]
        # A snapshot taken while processes start and exit may contain a cycle.
        parents = set(children) - found.keys()
        found |= {pid: stats[pid][_START_TIME] for pid in parents}
    return found


def _other_pids() -> Iterator[int]:
    if sys.platform != "linux":
        return
    own = os.getpid()
    for name in os.listdir(_PROC):  # noqa: PTH208 - faster, and this runs for every case
        if name.isdigit() and int(name) != own:
            yield int(name)


def _read_stat(pid: int) -> list[bytes]:
    """Return the fields of /proc/PID/stat after the name of the program."""
    return _read_proc(pid, "stat").rpartition(b")")[2].split()


def _read_proc(pid: int, file: str) -> bytes:
    try:
        return (_PROC / str(pid) / file).read_bytes()
    except OSError:
        # The process has exited, or belongs to another user.
        return b""


def _signal_name(number: int) -> str:
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _kill(pid: int) -> None:
    with suppress(OSError):
        os.kill(pid, signals.SIGKILL)
