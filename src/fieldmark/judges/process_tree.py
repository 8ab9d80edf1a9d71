"""A program with all processes that it starts: limited together, and ended together.

The method depends on the system:

- POSIX: the program has its own process group. A child can leave the group and be reparented when
  its parent exits. It keeps its environment, so a random marker there identifies it. An orphaned
  process may survive if it clears its environment, or if the system does not show it: macOS hides
  the environment of its own programs.
- Windows: the program belongs to a job object, which its children cannot leave.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import select
import signal as signals
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from math import ceil
from typing import TYPE_CHECKING, ClassVar, Final

from fieldmark.judges.program import ProcessLimits, Program

if TYPE_CHECKING:
    import psutil

MARKER_VARIABLE: Final = "FIELDMARK_CONTAINED"
"""The environment variable with the markers of all programs that a process descends from."""
_PR_SET_PDEATHSIG: Final = 1
_KILL_ROUNDS: Final = 100
_KILL_PAUSE: Final = 0.005
_KILL: Final[int] = getattr(signals, "SIGKILL", signals.SIGTERM)
_NEW_GROUP: Final[int] = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
_BREAK: Final[int | None] = getattr(signals, "CTRL_BREAK_EVENT", None)


class ProcessTree:
    """A program that has been started, and all its descendants.

    On POSIX, the first process is not reaped before its group is killed: until then the system
    cannot reuse the id of the group.
    """

    def __init__(self, program: Program, marker: str) -> None:
        self._marker = marker
        self._job: JobObject | None = None
        self.exit_fd: int | None = None
        """Becomes readable when the first process exits; none if the system has no such file."""
        inherited = os.environ.get(MARKER_VARIABLE, "")
        self.process = subprocess.Popen(  # noqa: S603 - the command comes from the user, and no shell is used
            list(program.argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=program.cwd,
            env={**program.env, MARKER_VARIABLE: inherited + marker},
            bufsize=0,
            start_new_session=_has_groups(),
            creationflags=_NEW_GROUP,
        )
        self._pid = self.process.pid
        """The id of the first process and of its group."""
        try:
            _set_limits(self._pid, program.limits)
            if HAS_JOB_OBJECTS:
                try:
                    self._job = JobObject(self._pid, program.limits.memory_bytes)
                except OSError:
                    if not self.exited():  # a process that has exited belongs to no job
                        raise
            if hasattr(os, "pidfd_open") and hasattr(select, "poll"):
                with suppress(OSError):  # an old kernel, or a sandbox
                    self.exit_fd = os.pidfd_open(self._pid)
        except BaseException:
            self.end(0)
            self.close()
            for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
                if pipe is not None:
                    pipe.close()
            raise

    def exited(self) -> bool:
        """Return whether the first process has exited."""
        if self.process.returncode is not None:
            return True
        if sys.platform == "linux" and hasattr(os, "waitid"):
            how = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self._pid, how) is not None
        return self.process.poll() is not None

    def wait(self, seconds: float) -> None:
        """Wait until the first process exits, up to a time limit, without reading its output."""
        if self.exit_fd is not None and sys.platform != "win32":
            poll = select.poll()
            poll.register(self.exit_fd, select.POLLIN)
            poll.poll(seconds * 1000)
            return
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)

    def end(self, grace: float) -> int:
        """End all processes and return the status of the first one.

        They are terminated, and killed after the grace period.
        """
        import psutil

        descendants: list[psutil.Process] = []
        if self._job is None and not self.exited():
            with suppress(psutil.Error, FileNotFoundError):  # /proc may not be mounted
                descendants = psutil.Process(self._pid).children(recursive=True)
        try:
            if not self.exited() and self._terminate():
                self.wait(grace)
        finally:
            with suppress(ProcessLookupError, PermissionError):
                if hasattr(os, "killpg"):
                    os.killpg(self._pid, _KILL)
                elif self._job is not None:
                    self._job.terminate()
                else:
                    self.process.kill()
            status = self.process.wait()
            for process in descendants:
                with suppress(psutil.Error):
                    process.kill()
            if self._job is None:
                kill_marked(self._marker)
        return status

    def close(self) -> None:
        """Close the handles of the system for the processes, which have ended."""
        if self._job is not None:
            self._job.close()
        if self.exit_fd is not None:
            os.close(self.exit_fd)
            self.exit_fd = None

    def _terminate(self) -> bool:
        """Ask the processes to exit, and return whether that was possible."""
        try:
            if hasattr(os, "killpg"):
                os.killpg(self._pid, signals.SIGTERM)
            elif _BREAK is not None:
                self.process.send_signal(_BREAK)
            else:
                self.process.terminate()
        except OSError:  # has exited, belongs to another user, or has no console
            return False
        return True


def unavailable_limits() -> list[str]:
    """Return the limits of programs that this system cannot enforce."""
    if _has_prlimit():
        return []
    others = ["CPU time", "file size", "open files"]
    return others if HAS_JOB_OBJECTS else ["memory", *others]


def end_with_parent(parent: int) -> None:
    """Kill this process when its parent dies, or now if it is dead already.

    Except on Linux, only worker processes are killed; the programs of judges see the end of their
    input.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signals.SIGKILL)
            if os.getppid() != parent:
                os.kill(os.getpid(), signals.SIGKILL)
            return

    started_by = multiprocessing.parent_process()
    if started_by is not None:

        def follow() -> None:
            started_by.join()
            os._exit(1)

        threading.Thread(target=follow, daemon=True).start()


def kill_marked(marker: str, *, wait_for_new: bool = False) -> None:
    """Kill every process with a marker in its environment until none is left.

    If the start of a program was interrupted, its process may have no environment yet. With
    `wait_for_new`, such children get time to start.
    """
    import psutil

    own = os.getpid()
    for _ in range(_KILL_ROUNDS):
        marked: list[psutil.Process] = []
        starting = False
        processes: Iterable[psutil.Process] = ()
        with suppress(FileNotFoundError):  # /proc may not be mounted
            processes = list(psutil.process_iter())
        for process in processes:
            with suppress(psutil.Error):
                environment = process.environ()
                if marker in environment.get(MARKER_VARIABLE, ""):
                    marked.append(process)
                elif wait_for_new and not environment and process.ppid() == own:
                    starting |= process.status() != psutil.STATUS_ZOMBIE
        if not marked and not starting:
            return
        for process in marked:
            with suppress(psutil.Error):
                process.kill()
        time.sleep(_KILL_PAUSE)


def _has_groups() -> bool:
    return hasattr(os, "killpg")


def _has_prlimit() -> bool:
    try:
        import resource
    except ImportError:
        return False
    return hasattr(resource, "prlimit")


def _set_limits(pid: int, limits: ProcessLimits) -> None:
    """Set the resource limits of a new process, which its children inherit (Linux only).

    Setting them in the child requires code between fork and exec, which is unsafe with threads.
    """
    if sys.platform == "linux" and _has_prlimit():
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


HAS_JOB_OBJECTS: Final = hasattr(ctypes, "WinDLL")
_PROCESS_TERMINATE: Final = 0x0001
_PROCESS_SET_QUOTA: Final = 0x0100
_EXTENDED_LIMIT_INFORMATION: Final = 9
_LIMIT_PROCESS_MEMORY: Final = 0x0100
_LIMIT_KILL_ON_JOB_CLOSE: Final = 0x2000
_KILLED: Final = 1
"""The exit code of processes that are killed."""


class _BasicLimits(ctypes.Structure):
    """JOBOBJECT_BASIC_LIMIT_INFORMATION."""

    _fields_: ClassVar = [
        ("process_user_time", ctypes.c_int64),
        ("job_user_time", ctypes.c_int64),
        ("flags", ctypes.c_uint32),
        ("minimum_working_set", ctypes.c_size_t),
        ("maximum_working_set", ctypes.c_size_t),
        ("active_processes", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority_class", ctypes.c_uint32),
        ("scheduling_class", ctypes.c_uint32),
    ]


class _ExtendedLimits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

    _fields_: ClassVar = [
        ("basic", _BasicLimits),
        ("io_counters", ctypes.c_uint64 * 6),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("peak_process_memory", ctypes.c_size_t),
        ("peak_job_memory", ctypes.c_size_t),
    ]


class JobObject:
    """Contains a process and all processes that it starts from now on.

    They are killed when the job is terminated or closed, also by the end of this process.
    """

    def __init__(self, pid: int, memory_bytes: int | None) -> None:
        kernel: ctypes.CDLL = vars(ctypes)["WinDLL"]("kernel32", use_last_error=True)
        handle, boolean, number = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32
        signatures: dict[str, tuple[type, list[type]]] = {
            "CreateJobObjectW": (handle, [ctypes.c_void_p, ctypes.c_wchar_p]),
            "SetInformationJobObject": (boolean, [handle, ctypes.c_int, ctypes.c_void_p, number]),
            "OpenProcess": (handle, [number, boolean, number]),
            "AssignProcessToJobObject": (boolean, [handle, handle]),
            "TerminateJobObject": (boolean, [handle, number]),
            "CloseHandle": (boolean, [handle]),
        }
        for name, (result, arguments) in signatures.items():
            function = getattr(kernel, name)
            function.restype, function.argtypes = result, arguments
        self._kernel = kernel
        self._handle = _checked(kernel.CreateJobObjectW(None, None))
        try:
            limits = _ExtendedLimits()
            limits.basic.flags = _LIMIT_KILL_ON_JOB_CLOSE
            if memory_bytes is not None:
                limits.basic.flags |= _LIMIT_PROCESS_MEMORY
                limits.process_memory = memory_bytes
            size = ctypes.sizeof(limits)
            _checked(
                kernel.SetInformationJobObject(
                    self._handle, _EXTENDED_LIMIT_INFORMATION, ctypes.byref(limits), size
                )
            )
            process = _checked(kernel.OpenProcess(_PROCESS_SET_QUOTA | _PROCESS_TERMINATE, 0, pid))
            try:
                _checked(kernel.AssignProcessToJobObject(self._handle, process))
            finally:
                kernel.CloseHandle(process)
        except BaseException:
            self.close()
            raise

    def terminate(self) -> None:
        """Kill all processes of the job."""
        _checked(self._kernel.TerminateJobObject(self._handle, _KILLED))

    def close(self) -> None:
        """Kill all processes of the job, and close it."""
        if self._handle:
            self._kernel.CloseHandle(self._handle)
            self._handle = 0


def _checked(result: int | None) -> int:
    """Return the result of a function that succeeded, or raise the error of the system."""
    if not result:
        error: OSError = vars(ctypes)["WinError"](vars(ctypes)["get_last_error"]())
        raise error
    return result
