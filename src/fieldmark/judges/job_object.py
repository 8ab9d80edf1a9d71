"""Job objects of Windows, which contain a process and all its descendants."""

from __future__ import annotations

import ctypes
from typing import ClassVar, Final

AVAILABLE: Final = hasattr(ctypes, "WinDLL")
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
    """Contains a process and those that it starts from now on.

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
