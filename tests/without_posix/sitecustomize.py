"""Takes away from Python on Linux what Windows or macOS do not have.

Python imports this module at its start if its directory is on PYTHONPATH, also in the processes that
multiprocessing starts. The standard library may keep what it needs itself; what is imported later,
such as fieldmark, finds the system without it.
"""

from __future__ import annotations

import asyncio  # noqa: F401 - imported before anything is removed
import concurrent.futures.process  # noqa: F401
import ctypes
import errno
import multiprocessing.connection
import multiprocessing.context
import multiprocessing.popen_fork
import multiprocessing.popen_spawn_posix
import multiprocessing.resource_tracker
import multiprocessing.spawn
import os
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import types

import fake_msvcrt
import numpy as np  # noqa: F401 - it knows the system by its platform, and asks for os.uname
import psutil  # noqa: F401 - it has other code for every system, and uses what this one has

MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "syslog")
OF_OS = (
    "fork", "forkpty", "killpg", "getpgid", "setpgid", "setsid", "getuid", "geteuid", "getgid", "getegid", "wait3", "wait4",
    "waitid", "sched_getaffinity", "O_NOFOLLOW", "O_DIRECTORY", "O_CLOEXEC", "O_NONBLOCK", "fchmod", "fchown", "pread",
    "pwrite", "statvfs", "uname", "posix_fadvise", "pidfd_open", "mkfifo",
)  # fmt: skip
OF_SIGNAL = ("SIGKILL", "SIGHUP", "SIGALRM", "SIGUSR1", "setitimer", "alarm")
BINARY = 0x8000
"""The value of O_BINARY on Windows, which has no effect on Linux."""
MOST_FILES = 256


def kill(process) -> None:
    """End a process, as the standard library does on Windows without SIGKILL."""
    os.kill(process.pid, 9)


def start(process, *arguments, start=subprocess.Popen.__init__, **options) -> None:
    assert not options.get("preexec_fn"), "preexec_fn"
    assert not options.get("start_new_session"), "start_new_session"
    start(process, *arguments, **options)


def refuse(event: str, arguments: tuple) -> None:
    """Refuse what Windows refuses, and files that only Linux has."""
    if event in {"open", "os.listdir", "os.scandir"}:
        path = os.fsdecode(arguments[0]) if isinstance(arguments[0], str | bytes) else ""
        if path.startswith(("/proc", "/dev")) and path != os.devnull:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
        if event == "open" and arguments[1] is None and path:  # only `os.open` has no mode
            if stat.S_ISDIR(mode_of(path)):
                raise PermissionError(errno.EACCES, "Permission denied", path)
            caller = sys._getframe(1).f_globals["__name__"]
            if caller.startswith("fieldmark.") and not arguments[2] & os.O_BINARY:
                raise AssertionError(f"{caller} opens {path} with translated line ends")
    elif event in {"os.remove", "os.rename"}:
        for path in arguments[: 1 if event == "os.remove" else 2]:
            if is_open(path):
                error = PermissionError(errno.EACCES, "The file is being used", path)
                error.winerror = 32
                raise error
    elif event in {"os.fork", "os.forkpty"}:
        raise AssertionError(event)


def mode_of(path: str) -> int:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def is_open(path: object) -> bool:
    """Return whether this process has a file open."""
    try:
        found = os.stat(path)  # noqa: PTH116 - a path may be bytes
    except OSError:
        return False
    for file in range(MOST_FILES):
        try:
            if os.path.samestat(found, os.fstat(file)):
                return True
        except OSError:
            continue
    return False


def load_nothing(library, name=None, *arguments, load=ctypes.CDLL.__init__, **options) -> None:
    if name is None:
        raise OSError("no library")
    load(library, name, *arguments, **options)


def disk_usage(path, statvfs=os.statvfs):
    found = statvfs(path)
    return types.SimpleNamespace(free=found.f_bavail * found.f_frsize)


os.O_BINARY = BINARY
for name in OF_OS:
    delattr(os, name)
for name in OF_SIGNAL:
    delattr(signal, name)
del select.poll, select.epoll
for name in MODULES:
    sys.modules[name] = None
sys.modules["msvcrt"] = fake_msvcrt
os.supports_dir_fd.clear()
os.supports_fd.clear()
shutil._use_fd_functions = False
shutil.disk_usage = disk_usage
subprocess.Popen.__init__ = start
subprocess.Popen.kill = kill
multiprocessing.popen_fork.Popen.kill = kill
ctypes.CDLL.__init__ = load_nothing
for name in ("fork", "forkserver"):
    del multiprocessing.context._concrete_contexts[name]
spawn = multiprocessing.context._concrete_contexts["spawn"]
multiprocessing.context._default_context._default_context = spawn
multiprocessing.get_all_start_methods = lambda: ["spawn"]
tempfile.TemporaryFile = tempfile.NamedTemporaryFile
sys.addaudithook(refuse)
