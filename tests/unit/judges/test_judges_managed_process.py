"""Processes are limited in time, output and resources, and are killed with their children."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import psutil
import pytest

from fieldmark.judges import managed_process
from fieldmark.judges.managed_process import ProcessFailure, ProcessGroup, run_process
from fieldmark.judges.process_tree import MARKER_VARIABLE
from fieldmark.judges.program import ProcessLimits, Program
from unit.judges.judge_processes import (
    PYTHON,
    new_marker,
    open_files,
    remaining,
    script,
    sleeping,
    zombies,
)
from waiting import TIMEOUT, eventually

ENV = {"PATH": os.environ["PATH"]}
MB = 1 << 20


def run_argv(argv, env=ENV, stdin=b"", cwd=None, group=None, seconds=TIMEOUT, **limits):
    limits = ProcessLimits(seconds=seconds, **limits)
    program = Program(argv=argv, env=env, cwd=cwd, limits=limits)
    if group is not None:
        return run_process(program, stdin, group)
    with ProcessGroup() as own:
        return run_process(program, stdin, own)


def run(*behavior, **options):
    return run_argv(script(*behavior), **options)


@pytest.fixture(params=["selected", "copied"])
def _pipes(request, monkeypatch):
    """Wait for pipes, or copy them in threads and notice no exit of a program, as on Windows."""
    if request.param == "copied":
        monkeypatch.setattr(managed_process, "COPIED", True)
        monkeypatch.delattr(os, "pidfd_open")


def test_result_contains_stdout_stderr_and_exit_code():
    done = run("write_stderr_and", "warning", "write")
    assert (done.stdout, done.stderr, done.exit_code) == (b'{"score": 1}', "warning", 0)
    assert (done.signal, done.failure, done.reason) == (None, None, "")


@pytest.mark.usefixtures("_pipes")
def test_whole_input_arrives():
    sent = os.urandom(3 * MB)
    done = run_argv(["cat"], stdin=sent, output_bytes=4 * MB)
    assert done.stdout == sent


@pytest.mark.usefixtures("_pipes")
@pytest.mark.parametrize(
    ("behavior", "seconds", "failure"),
    [
        pytest.param(("write",), TIMEOUT, None, id="responds-without-reading"),
        pytest.param(("close", "0"), TIMEOUT, None, id="closes-stdin"),
        pytest.param(("sleep",), 0.5, ProcessFailure.TIMEOUT, id="sleeps"),
        pytest.param(("flood", "1"), TIMEOUT, ProcessFailure.OUTPUT_LIMIT, id="floods-stdout"),
        pytest.param(("flood", "2"), TIMEOUT, ProcessFailure.OUTPUT_LIMIT, id="floods-stderr"),
    ],
)
def test_program_that_does_not_read_does_not_block(behavior, seconds, failure):
    done = run(*behavior, stdin=b"x" * 16 * MB, seconds=seconds)
    assert done.failure is failure


def test_input_above_the_limit_is_not_sent():
    marker = new_marker()
    done = run("write", marker, stdin=b"x" * 11, input_bytes=10)
    assert done.failure is ProcessFailure.INPUT_LIMIT
    assert "the request exceeds the limit of 10 bytes" in done.reason


@pytest.mark.parametrize("stream", [pytest.param("1", id="stdout"), pytest.param("2", id="stderr")])
def test_memory_is_constant_for_any_amount_of_output(stream):
    probe = (
        "import re\n"
        "from fieldmark.judges.managed_process import ProcessGroup, run_process\n"
        "from fieldmark.judges.program import Program\n"
        "def peak():\n"
        "    return int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
        "def run(argv, env):\n"
        "    with ProcessGroup() as group:\n"
        "        return run_process(Program(argv=argv, env=env), b'', group)\n"
        "run(['true'], {'PATH': '/bin:/usr/bin'})\n"
        "before = peak()\n"
        f"reasons = {{run({script('flood', stream)!r}, {{}}).failure for _ in '123'}}\n"
        "print(*reasons, peak() - before)\n"
    )
    output = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True
    ).stdout
    reason, grown = output.split()
    assert (reason, int(grown) < 6_000) == ("output_limit", True), output


def test_only_the_end_of_stderr_is_reported():
    done = run("write_stderr", "0123456789", "100000", tail_bytes=1000)
    assert done.failure is None
    assert done.stderr == "0123456789" * 100


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        pytest.param(["no-such-program"], "cannot start no-such-program: No such file", id="missing"),
        pytest.param(["/"], "cannot start /: Permission denied", id="directory"),
        pytest.param([__file__], f"cannot start {__file__}: Permission denied", id="not-executable"),
        pytest.param(["echo", "a\0b"], "embedded null byte", id="nul-in-argument"),
    ],
)  # fmt: skip
def test_program_that_cannot_be_started(argv, reason):
    before = open_files()
    done = run_argv(argv)
    assert done.failure is ProcessFailure.NOT_STARTED
    assert reason in done.reason
    assert open_files() <= before


def test_missing_working_directory(tmp_path):
    done = run_argv(["true"], cwd=tmp_path / "missing")
    assert done.failure is ProcessFailure.NOT_STARTED


def test_arguments_are_not_passed_to_a_shell(tmp_path):
    words = ["$(touch canary)", "; touch canary", "`touch canary`", "> canary", "*"]
    done = run_argv(["printf", "%s\n", *words], cwd=tmp_path)
    assert done.stdout.decode().splitlines() == words
    assert not list(tmp_path.iterdir())


def test_resource_limits_are_set():
    import json

    done = run("limits", seconds=99, grace=1, memory_bytes=512 * MB, file_bytes=MB, open_files=64)
    output = json.loads(done.stdout)["details"]
    cpu_seconds = 100 * (os.cpu_count() or 1) + 1
    assert output == {"CORE": 0, "CPU": cpu_seconds, "FSIZE": MB, "NOFILE": 64, "DATA": 512 * MB}


def test_existing_limit_is_never_raised():
    probe = (
        "import resource\n"
        "from fieldmark.judges.managed_process import ProcessGroup, run_process\n"
        "from fieldmark.judges.program import ProcessLimits, Program\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))\n"
        "limits = ProcessLimits(open_files=1000, memory_bytes=512 << 20)\n"
        f"program = Program(argv={script('limits')!r}, env={{}}, limits=limits)\n"
        "with ProcessGroup() as group:\n"
        "    print(run_process(program, b'', group).stdout)\n"
    )
    output = subprocess.run([sys.executable, "-c", probe], capture_output=True, check=True).stdout
    assert b'"NOFILE": 200, "DATA": 536870912' in output


@pytest.mark.parametrize(
    "behavior",
    [
        pytest.param("daemon", id="daemon"),
        pytest.param("background_child", id="child"),
        pytest.param("background_child_without_env", id="child-without-environment"),
    ],
)
def test_background_processes_are_killed(behavior):
    marker = new_marker()
    assert run("write_and", behavior, marker, linger=0.1).failure is None
    assert not remaining(marker)


def test_long_lived_program_has_no_cpu_limit():
    done = run("limits", long_lived=True)
    assert f'"CPU": {resource.getrlimit(resource.RLIMIT_CPU)[0]}' in done.stdout.decode()


def test_memory_limit():
    done = run("use_memory", memory_bytes=200 * MB)
    assert done.failure is ProcessFailure.EXIT_STATUS
    assert "MemoryError" in done.stderr


def test_leaving_a_group_ends_programs_of_other_threads():
    marker = new_marker()
    found = []
    group = ProcessGroup()
    threads = [
        threading.Thread(
            target=lambda: found.append(run("start_child", marker, group=group).failure)
        )
        for _ in range(3)
    ]
    with group:
        for thread in threads:
            thread.start()
        assert eventually(lambda: len(sleeping(marker)) == 3)
    for thread in threads:
        thread.join()
    assert found == [ProcessFailure.INTERRUPTED] * 3
    assert not remaining(marker)


def test_stopped_group_starts_no_programs():
    with ProcessGroup() as group:
        pass
    assert run("write", group=group).failure is ProcessFailure.INTERRUPTED
    assert not group._started


def test_secrets_are_redacted():
    env = {**ENV, "API_KEY": "k-123456789", "MODE": "fast-enough"}
    done = run("write_stderr_and", "k-123456789 is wrong, fast-enough", "exit_with", "1", env=env)
    assert done.stderr == "[API_KEY] is wrong, fast-enough"
    assert "k-123456789" not in done.reason


INTERRUPTED = """
import os, sys
from fieldmark.judges.managed_process import ProcessGroup, run_process
from fieldmark.judges.program import Program
try:
    print("ready", flush=True)
    with ProcessGroup() as group:
        run_process(Program(argv=sys.argv[1:], env=dict(os.environ)), b"", group)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1, 0.2])
def test_interrupt_leaves_no_process(delay):
    marker = new_marker()
    runner = subprocess.Popen(
        [*PYTHON[:1], "-c", INTERRUPTED, *script("start_grandchild", marker)],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert runner.stdout.readline() == b"ready\n"
    time.sleep(delay)
    os.kill(runner.pid, signal.SIGINT)
    output, _ = runner.communicate(timeout=TIMEOUT)
    assert output == b"interrupted\n"
    assert not remaining(marker)


def test_program_that_is_still_starting_is_killed(monkeypatch):
    group = ProcessGroup()
    environment = {MARKER_VARIABLE: group.new_marker()}
    program = subprocess.Popen(["sleep", "3600"], env=environment, start_new_session=True)
    environ, reads = psutil.Process.environ, Counter()

    def environ_of_new_process(process):
        """Return no environment for a moment, like a process that has just been started."""
        reads[process.pid] += 1
        is_new = process.pid == program.pid and reads[process.pid] <= 2
        return {} if is_new else environ(process)

    monkeypatch.setattr(psutil.Process, "environ", environ_of_new_process)
    with group:
        pass
    assert program.wait(TIMEOUT) == -signal.SIGKILL


def test_program_is_ended_without_a_list_of_processes(monkeypatch, tmp_path):
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path / "not-mounted"))
    marker = new_marker()
    done = run_argv(script("start_child", marker), seconds=0.5, grace=0.1)
    assert done.failure is ProcessFailure.TIMEOUT
    assert not remaining(marker)


def test_many_programs_leave_no_open_files_or_zombies():
    files, processes = open_files(), zombies()
    assert {run_argv(["true"]).exit_code for _ in range(30)} == {0}
    assert open_files() <= files
    assert zombies() <= processes
