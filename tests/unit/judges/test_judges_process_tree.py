"""Programs on systems without process groups, resource limits or pipes that can be selected."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from itertools import count
from types import SimpleNamespace

import pytest

from fieldmark.judges import managed_process, process_tree
from fieldmark.judges.managed_process import (
    ManagedProcess,
    ProcessFailure,
    ProcessGroup,
    ProcessPool,
    run_process,
)
from fieldmark.judges.process_tree import JobObject, unavailable_limits
from fieldmark.judges.program import ProcessLimits, Program
from unit.judges.judge_processes import PYTHON, new_marker, open_files, remaining, script
from waiting import TIMEOUT, eventually

MB = 1 << 20
ENV = {"PATH": os.environ["PATH"]}


def program(*argv, seconds=TIMEOUT, **limits):
    return Program(argv=argv, env=ENV, limits=ProcessLimits(seconds=seconds, **limits))


def run(own, stdin=b""):
    with ProcessGroup() as group:
        return run_process(own, stdin, group)


@pytest.fixture
def copied_pipes(monkeypatch):
    """Threads copy the pipes, and nothing tells that a program has exited, as on Windows."""
    monkeypatch.setattr(managed_process, "COPIED", True)
    monkeypatch.delattr(os, "pidfd_open")


@pytest.mark.usefixtures("copied_pipes")
def test_output_before_the_end_of_a_program_is_never_lost():
    code = "import sys; sys.stdout.write('o' * 200000); sys.stderr.write('e' * 30000)"
    done = run(program(*PYTHON, "-c", code))
    assert (len(done.stdout), len(done.stderr), done.exit_code) == (200_000, 30_000, 0)


LINES = """
import sys
for line in sys.stdin:
    print(line.strip()[::-1], flush=True)
    if line.startswith("last"):
        print("no more", file=sys.stderr)
        break
"""


@pytest.mark.usefixtures("copied_pipes")
def test_persistent_program_answers_through_copied_pipes():
    own = program(*PYTHON, "-c", LINES, long_lived=True)
    with ProcessGroup() as group, ProcessPool(own, 1, group) as pool:
        found = [pool.request(each).stdout for each in (b"ab", b"last", b"cd")]
    assert found == [b"ba\n", b"tsal\n", b"dc\n"]


@pytest.mark.usefixtures("copied_pipes")
def test_line_that_a_program_writes_before_it_exits_is_read():
    own = program(*PYTHON, "-c", "input(); print('x' * 500_000)", long_lived=True)
    with ProcessGroup() as group, ProcessPool(own, 1, group) as pool:
        found = [pool.request(b"?") for _ in range(5)]
    assert [(len(each.stdout), each.failure) for each in found] == [(500_001, None)] * 5


class HeldPipe:
    """The output of a program, which arrives only after it is waited for."""

    def __init__(self, pipe, awaited):
        self._pipe = pipe
        self._awaited = awaited

    def read(self, size):
        assert self._awaited.wait(TIMEOUT)
        return self._pipe.read(size)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._pipe.close()


@pytest.fixture
def held(copied_pipes, monkeypatch):
    """Return a function that holds the outputs with these numbers until the end of a program."""

    def hold(numbers, is_over):
        awaited = threading.Event()
        output_pipe, step, calls = managed_process.output_pipe, ManagedProcess._step, count()

        def held_pipe(pipe):
            return output_pipe(HeldPipe(pipe, awaited) if next(calls) in numbers else pipe)

        def step_at_the_end(process, deadline):
            if is_over(process):
                awaited.set()
            step(process, deadline)

        monkeypatch.setattr(managed_process, "output_pipe", held_pipe)
        monkeypatch.setattr(ManagedProcess, "_step", step_at_the_end)

    return hold


def test_line_that_is_still_copied_when_its_program_has_exited_is_awaited(held):
    held({0}, lambda process: process._tree.exited())
    own = program(*PYTHON, "-c", "input(); print('x')", long_lived=True, linger=TIMEOUT)
    with ProcessGroup() as group, ProcessPool(own, 1, group) as pool:
        assert pool.request(b"?").stdout == b"x\n"
        assert group._started == 1


def test_errors_that_are_still_copied_when_a_program_has_ended_are_awaited(held):
    held({1}, lambda process: process._ended)
    code = "import sys; sys.stderr.write('late')"
    assert run(program(*PYTHON, "-c", code, linger=TIMEOUT)).stderr == "late"


@pytest.mark.usefixtures("copied_pipes")
def test_copied_pipes_are_closed():
    before = open_files()
    run(program("cat"), b"x")
    assert eventually(lambda: open_files() <= before)


def test_program_without_a_process_group_is_ended(monkeypatch):
    monkeypatch.delattr(os, "killpg")
    monkeypatch.delattr(os, "waitid")
    marker = new_marker()
    done = run(program(*script("sleep", marker), seconds=0.5))
    assert done.failure is ProcessFailure.TIMEOUT
    assert not remaining(marker)


def test_kernel_without_process_descriptors(monkeypatch):
    def refuse(_):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    assert run(program("cat"), b"x").stdout == b"x"


@pytest.mark.parametrize(
    ("prlimit", "job_objects", "missing"),
    [
        pytest.param(True, False, [], id="linux"),
        pytest.param(False, False, ["memory", "CPU time", "file size", "open files"], id="macos"),
        pytest.param(False, True, ["CPU time", "file size", "open files"], id="windows"),
    ],
)
def test_limits_that_a_system_cannot_enforce_are_named(monkeypatch, prlimit, job_objects, missing):
    import resource

    if not prlimit:
        monkeypatch.delattr(resource, "prlimit")
    monkeypatch.setattr(process_tree, "HAS_JOB_OBJECTS", job_objects)
    assert unavailable_limits() == missing


WORKER = """
import ctypes, multiprocessing, os, sys, time
from fieldmark.judges.process_tree import end_with_parent

def work(parent, marker):
    end_with_parent(parent)
    print("ready", flush=True)
    time.sleep(3600)

if __name__ == "__main__":
    def refuse(*_, **__):
        raise OSError("no library")
    ctypes.CDLL.__init__ = refuse
    process = multiprocessing.get_context("fork").Process(target=work, args=(os.getpid(), sys.argv[1]))
    process.start()
    process.join()
"""


def test_worker_ends_with_its_parent_on_systems_that_do_not_signal_it():
    marker = new_marker()
    parent = subprocess.Popen(
        [sys.executable, "-c", WORKER, marker], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout.readline() == "ready\n"
    parent.kill()
    parent.wait(TIMEOUT)
    parent.stdout.close()
    assert not remaining(marker)


class Kernel32:
    """The functions of Windows for jobs, whose processes are process groups of Linux."""

    def __init__(self, failing=""):
        self.calls = []
        self._failing = failing
        self._group = 0
        for name in (
            "CreateJobObjectW", "SetInformationJobObject", "OpenProcess", "AssignProcessToJobObject",
            "TerminateJobObject", "CloseHandle",
        ):  # fmt: skip
            setattr(self, name, self._function(name))

    def _function(self, name):
        def call(*arguments):
            self.calls.append((name, *arguments))
            if name == self._failing:
                return 0
            return getattr(self, f"_{name}", lambda *_: 1)(*arguments)

        return call

    def _SetInformationJobObject(self, _job, kind, limits, size):  # noqa: N802
        limits = limits._obj
        self.limits = (kind, size, limits.basic.flags, limits.process_memory)
        return 1

    def _OpenProcess(self, _rights, _inherited, pid):  # noqa: N802
        self._group = pid
        return 1

    def _TerminateJobObject(self, _job, _code):  # noqa: N802
        os.killpg(self._group, signal.SIGKILL)
        return 1


@pytest.fixture
def windows(monkeypatch):
    """Return a function that provides job objects."""

    def provide(**options):
        kernel = Kernel32(**options)
        monkeypatch.setattr(ctypes, "WinDLL", lambda *_, **__: kernel, raising=False)
        monkeypatch.setattr(ctypes, "get_last_error", lambda: 5, raising=False)
        error = lambda number: PermissionError(13, f"Windows error {number}")  # noqa: E731
        monkeypatch.setattr(ctypes, "WinError", error, raising=False)
        monkeypatch.setattr(process_tree, "HAS_JOB_OBJECTS", True)
        return kernel

    return provide


def test_limits_have_the_layout_of_windows():
    """The sizes and offsets that the header winnt.h has for 64 bits."""
    extended = process_tree._ExtendedLimits
    assert ctypes.sizeof(extended) == 144
    assert (extended.basic.offset, extended.process_memory.offset) == (0, 112)
    assert process_tree._BasicLimits.flags.offset == 16


def test_job_object_kills_its_processes_and_limits_their_memory(windows):
    kernel = windows()
    child = subprocess.Popen(["sleep", "3600"], start_new_session=True)
    job = JobObject(child.pid, 64 * MB)
    job.terminate()
    assert child.wait(TIMEOUT) == -signal.SIGKILL
    job.close()
    job.close()
    assert kernel.limits == (9, 144, 0x2000 | 0x100, 64 * MB)
    assert [name for name, *_ in kernel.calls] == [
        "CreateJobObjectW", "SetInformationJobObject", "OpenProcess", "AssignProcessToJobObject", "CloseHandle",
        "TerminateJobObject", "CloseHandle",
    ]  # fmt: skip


def test_memory_is_not_limited_by_default(windows):
    kernel = windows()
    JobObject(os.getpid(), None).close()
    assert kernel.limits == (9, 144, 0x2000, 0)


def test_program_in_a_job_object_is_ended_with_it(windows, monkeypatch):
    kernel = windows()
    killpg = os.killpg
    monkeypatch.delattr(os, "killpg")
    monkeypatch.setattr(process_tree, "_has_groups", lambda: True)  # for the group of the job
    kernel._TerminateJobObject = lambda *_: killpg(kernel._group, signal.SIGKILL) or 1
    marker = new_marker()
    done = run(program(*script("start_child", marker), seconds=0.5, grace=0.1))
    assert done.failure is ProcessFailure.TIMEOUT
    assert not remaining(marker)
    names = [name for name, *_ in kernel.calls]
    assert (names.count("TerminateJobObject"), names[-1]) == (1, "CloseHandle")


def test_program_that_belongs_to_no_job_is_not_run(windows):
    windows(failing="AssignProcessToJobObject")
    marker = new_marker()
    before = open_files()
    done = run(program(*script("sleep", marker)))
    assert done.failure is ProcessFailure.NOT_STARTED
    assert "Windows error 5" in done.reason
    assert not remaining(marker)
    assert open_files() <= before


def test_program_that_has_exited_needs_no_job(windows, monkeypatch):
    windows(failing="AssignProcessToJobObject")
    start = subprocess.Popen.__init__

    def start_and_wait(process, *arguments, **options):
        start(process, *arguments, **options)
        assert eventually(
            lambda: os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        )

    monkeypatch.setattr(subprocess.Popen, "__init__", start_and_wait)
    assert run(program("true")).exit_code == 0


def test_windows_asks_a_program_to_exit_by_an_event_of_its_console(monkeypatch):
    sent = []
    monkeypatch.delattr(os, "killpg")
    monkeypatch.setattr(process_tree, "_BREAK", 1)
    tree = object.__new__(process_tree.ProcessTree)
    tree.process = SimpleNamespace(send_signal=sent.append)
    assert tree._terminate()
    assert sent == [1]


def test_program_without_a_console_is_killed_without_waiting(monkeypatch):
    def refuse(*_):
        raise OSError(6, "The handle is invalid")

    def kill(process):
        os.kill(process.pid, signal.SIGKILL)

    monkeypatch.delattr(os, "killpg")
    monkeypatch.setattr(process_tree, "_BREAK", 1)
    monkeypatch.setattr(subprocess.Popen, "send_signal", refuse)
    monkeypatch.setattr(subprocess.Popen, "kill", kill)
    monkeypatch.setattr(process_tree.ProcessTree, "wait", lambda *_: pytest.fail("waited"))
    done = run(program(*script("sleep"), seconds=0.2))
    assert done.failure is ProcessFailure.TIMEOUT
