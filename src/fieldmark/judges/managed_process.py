"""Child processes with limits, which are killed together with everything that they started.

A child can leave its process group and be adopted when its parent exits. Its environment stays
with it, so a random marker there identifies it. This needs /proc: on other systems, and for a
child that also clears its environment, an orphaned process may survive.
"""

from __future__ import annotations

import os
import secrets
import select
import signal as signals
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import IO, Final, Self, cast

__all__ = [
    "LIMITS",
    "MARKER_VARIABLE",
    "MEGABYTE",
    "GroupStopped",
    "ManagedProcess",
    "ProcessGroup",
    "ProcessLimits",
    "kill_marked",
]

MEGABYTE: Final = 1 << 20
MARKER_VARIABLE: Final = "FIELDMARK_CONTAINED"
"""The variable with the markers of all programs that a process descends from."""
_PROC: Final = Path("/proc")
_PARENT: Final = 1
_START_TIME: Final = 19
"""Positions of fields that `_read_stat` returns; the start time tells reused ids apart."""
_KILL_ROUNDS: Final = 100
_KILL_PAUSE: Final = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """Limits of one program; it is killed when it exceeds them, and no output is truncated.

    `tail_bytes` of standard error are kept of the `error_bytes` that are allowed. `grace` are
    the seconds between SIGTERM and SIGKILL; `linger` the seconds to wait for output of processes
    that the program left behind. CPU time is limited too unless the program is `long_lived`.
    """

    seconds: float = 30.0
    output_bytes: int = MEGABYTE
    error_bytes: int = 16 * MEGABYTE
    tail_bytes: int = 64 << 10
    input_bytes: int = 16 * MEGABYTE
    grace: float = 2.0
    linger: float = 1.0
    memory_bytes: int | None = None
    long_lived: bool = False
    file_bytes: int = 1024 * MEGABYTE
    open_files: int = 1024

    @property
    def output_message(self) -> str:
        """Return the message about a program that wrote too much."""
        return (
            f"wrote more than {self.output_bytes:,} bytes to standard output "
            f"or {self.error_bytes:,} to standard error"
        )

    @property
    def cpu_seconds(self) -> int | None:
        """Return the CPU time that one process can use within the time limit."""
        if self.long_lived:
            return None
        return ceil(self.seconds + self.grace) * (os.cpu_count() or 1) + 1


LIMITS: Final = ProcessLimits()


def _set_limits(pid: int, limits: ProcessLimits) -> None:
    """Set the resource limits of a new process, which its children inherit (Linux only).

    Setting them in the child would need code between fork and exec, which is unsafe with threads.
    """
    if sys.platform != "linux":
        return
    import resource

    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: limits.cpu_seconds,
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


class ManagedProcess:
    """A running program in its own session; leaving the context kills all its processes.

    The first process is not reaped before its group is killed: until then the system cannot give
    the group's id to other processes.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path | None,
        env: Mapping[str, str],
        limits: ProcessLimits,
        marker: str,
    ) -> None:
        inherited = os.environ.get(MARKER_VARIABLE, "")
        self._ended = False
        self._limits = limits
        self._marker = marker
        self.exit_fd: int | None = None
        """Becomes readable when the first process exits; none where there are no pidfds."""
        self._process = subprocess.Popen(  # noqa: S603 - from a trusted file, without a shell
            list(argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**env, MARKER_VARIABLE: inherited + marker},
            bufsize=0,
            start_new_session=True,
        )
        self.pid = self._process.pid
        """The id of the first process and of its group."""
        self.stdin = cast("IO[bytes]", self._process.stdin)
        self.stdout = cast("IO[bytes]", self._process.stdout)
        self.stderr = cast("IO[bytes]", self._process.stderr)
        try:
            _set_limits(self.pid, limits)
            if sys.platform == "linux":
                self.exit_fd = os.pidfd_open(self.pid)
        except BaseException:
            self.close()
            raise

    @property
    def exit_code(self) -> int | None:
        """Return the exit code, if it exited by itself."""
        status = self._process.returncode
        return status if status is not None and status >= 0 else None

    @property
    def signal(self) -> str | None:
        """Return the name of the signal that ended it."""
        status = self._process.returncode
        if status is None or status >= 0:
            return None
        try:
            return signals.Signals(-status).name
        except ValueError:
            return f"signal {-status}"

    def exited(self) -> bool:
        """Return whether the first process has exited."""
        if self._process.returncode is not None:
            return True
        if sys.platform == "linux":
            how = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self.pid, how) is not None
        else:  # noqa: RET505 - so that the type checker skips it on other systems
            return self._process.poll() is not None

    def end(self) -> None:
        """Terminate the group, kill it after the grace period, and kill processes that left it."""
        if self._ended:
            return
        descendants = {} if self.exited() else _descendants(self.pid)
        try:
            if not self.exited():
                self._signal_group(signals.SIGTERM)
                self.wait(self._limits.grace)
        finally:
            self._signal_group(signals.SIGKILL)
            self._process.wait()
            for pid, started in descendants.items():
                # The id may belong to another process by now.
                stat = _read_stat(pid)
                if stat and stat[_START_TIME] == started:
                    _kill(pid)
            kill_marked(self._marker)
            self._ended = True

    def wait(self, seconds: float) -> None:
        """Wait until the first process exits, up to a time limit."""
        if self.exit_fd is not None:
            poll = select.poll()
            poll.register(self.exit_fd, select.POLLIN)
            poll.poll(seconds * 1000)
            return
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def _signal_group(self, number: signals.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the program and close its pipes."""
        try:
            self.end()
        finally:
            for pipe in (self.stdin, self.stdout, self.stderr):
                with suppress(OSError):
                    pipe.close()
            if self.exit_fd is not None:
                os.close(self.exit_fd)
                self.exit_fd = None


class GroupStopped(Exception):
    """The group was stopped and starts no further programs."""


class ProcessGroup:
    """All programs of one run.

    Leaving the context stops programs that other threads still run, waits until they are gone, and
    kills what is left of them.
    """

    def __init__(self) -> None:
        self._marker = secrets.token_hex(12)
        self._started = 0
        self._running = 0
        self._change = threading.Condition()
        self.stopped = False
        """Whether all programs have to end."""

    def stop(self) -> None:
        """Start no further program, and end those that run."""
        with self._change:
            self.stopped = True

    def new_marker(self) -> str:
        """Return the marker for one more program."""
        with self._change:
            self._started += 1
            return f"{self._marker}.{self._started}."

    @contextmanager
    def running(self) -> Iterator[None]:
        """Keep the group open while a program runs; raise GroupStopped if it was stopped."""
        with self._change:
            if self.stopped:
                raise GroupStopped
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
                kill_marked(self._marker)


def kill_marked(marker: str) -> None:
    """Kill every process with a marker in its environment, until none is left."""
    wanted = marker.encode()
    for _ in range(_KILL_ROUNDS):
        found = [pid for pid in _other_pids() if wanted in _read_proc(pid, "environ")]
        if not found:
            return
        for pid in found:
            _kill(pid)
        time.sleep(_KILL_PAUSE)


def _descendants(root: int) -> dict[int, bytes]:
    """Return the processes that descend from one, with their start times."""
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
        # It has exited, or belongs to another user.
        return b""


def _kill(pid: int) -> None:
    with suppress(OSError):
        os.kill(pid, signals.SIGKILL)
