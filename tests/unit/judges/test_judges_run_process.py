"""Processes are limited in time, output and resources, and are killed with their children."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time

import pytest

from fieldmark.judges.managed_process import ProcessGroup, ProcessLimits
from fieldmark.judges.run_process import ProcessFailure, run_process
from unit.judges.lab import PYTHON, asleep, living, new_mark, open_files, script, zombies
from waiting import PATIENCE, eventually

ENV = {"PATH": os.environ["PATH"]}
MB = 1 << 20


def run(*behaviour, env=ENV, stdin=b"", group=None, **limits):
    return run_process(
        script(*behaviour), env=env, stdin=stdin, group=group, limits=ProcessLimits(**limits)
    )


def test_output_remarks_and_exit_code_are_kept():
    done = run("complain_and", "remark", "say")
    assert (done.stdout, done.stderr, done.exit_code) == (b'{"score": 1}', "remark", 0)
    assert (done.signal, done.failure, done.reason) == (None, None, "")


def test_all_that_is_sent_arrives():
    sent = os.urandom(3 * MB)
    done = run_process(["cat"], env=ENV, stdin=sent, limits=ProcessLimits(output_bytes=4 * MB))
    assert done.stdout == sent


@pytest.mark.parametrize(
    ("behaviour", "seconds", "failure"),
    [
        pytest.param(("say",), PATIENCE, None, id="it-answers-without-reading"),
        pytest.param(("close", "0"), PATIENCE, None, id="it-closes-its-input-and-answers"),
        pytest.param(("sleep",), 0.5, ProcessFailure.TIMEOUT, id="it-sleeps"),
    ],
)
def test_who_never_reads_does_not_hold_us_up(behaviour, seconds, failure):
    done = run(*behaviour, stdin=b"x" * 16 * MB, seconds=seconds)
    assert done.failure is failure


def test_more_than_may_be_sent_is_not_sent():
    mark = new_mark()
    done = run("say", mark, stdin=b"x" * 11, input_bytes=10)
    assert done.failure is ProcessFailure.INPUT_LIMIT
    assert "11 bytes, at most 10" in done.reason


@pytest.mark.parametrize(
    "stream", [pytest.param("1", id="output"), pytest.param("2", id="remarks")]
)
def test_memory_stays_flat_however_much_is_written(stream):
    probe = (
        "import re\n"
        "from fieldmark.judges.run_process import run_process\n"
        "def peak():\n"
        "    return int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
        "run_process(['true'], env={'PATH': '/bin:/usr/bin'})\n"
        "before = peak()\n"
        f"reasons = {{run_process({script('flood', stream)!r}, env={{}}).failure for _ in '123'}}\n"
        "print(*reasons, peak() - before)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True
    ).stdout
    reason, grown = told.split()
    assert (reason, int(grown) < 6_000) == ("output_limit", True), told


def test_only_the_end_of_the_remarks_is_kept():
    done = run("complain", "0123456789", "100000", tail_bytes=1000)
    assert done.failure is None
    assert done.stderr == "0123456789" * 100


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        pytest.param(["no-such-program"], "no-such-program cannot be started: No such file", id="missing"),
        pytest.param(["/"], "/ cannot be started: Permission denied", id="a-folder"),
        pytest.param([__file__], "cannot be started: Permission denied", id="not-executable"),
        pytest.param(["echo", "a\0b"], "embedded null byte", id="an-argument-no-program-can-get"),
    ],
)  # fmt: skip
def test_what_cannot_be_started_says_so(argv, reason):
    before = open_files()
    done = run_process(argv, env=ENV)
    assert done.failure is ProcessFailure.NOT_STARTED
    assert reason in done.reason
    assert open_files() == before


def test_a_folder_that_is_missing_says_so(tmp_path):
    done = run_process(["true"], env=ENV, cwd=tmp_path / "missing")
    assert done.failure is ProcessFailure.NOT_STARTED


def test_no_shell_reads_the_arguments(tmp_path):
    words = ["$(touch canary)", "; touch canary", "`touch canary`", "> canary", "*"]
    done = run_process(["printf", "%s\n", *words], env=ENV, cwd=tmp_path)
    assert done.stdout.decode().splitlines() == words
    assert not list(tmp_path.iterdir())


def test_the_system_knows_the_limits_too():
    import json

    done = run("limits", seconds=99, grace=1, memory_bytes=512 * MB, file_bytes=MB, open_files=64)
    told = json.loads(done.stdout)["details"]
    processor = 100 * (os.cpu_count() or 1) + 1
    assert told == {"CORE": 0, "CPU": processor, "FSIZE": MB, "NOFILE": 64, "DATA": 512 * MB}


def test_a_limit_is_never_raised():
    probe = (
        "import resource\n"
        "from fieldmark.judges.managed_process import ProcessLimits\n"
        "from fieldmark.judges.run_process import run_process\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))\n"
        "limits = ProcessLimits(open_files=1000, memory_bytes=512 << 20)\n"
        f"print(run_process({script('limits')!r}, env={{}}, limits=limits).stdout)\n"
    )
    told = subprocess.run([sys.executable, "-c", probe], capture_output=True, check=True).stdout
    assert b'"NOFILE": 200, "DATA": 536870912' in told


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param("daemon", id="a-daemon"),
        pytest.param("background", id="a-child"),
        pytest.param("nameless_background", id="a-child-without-our-variables"),
    ],
)
def test_what_a_program_left_behind_is_gone_when_its_answer_is_there(behaviour):
    mark = new_mark()
    assert run("say_and", behaviour, mark, linger=0.1).failure is None
    assert not living(mark)


def test_one_that_lives_long_may_use_the_processor_long():
    done = run("limits", long_lived=True)
    assert f'"CPU": {resource.getrlimit(resource.RLIMIT_CPU)[0]}' in done.stdout.decode()


def test_who_devours_memory_harms_only_itself():
    done = run("devour", memory_bytes=200 * MB)
    assert done.failure is ProcessFailure.EXIT_STATUS
    assert "MemoryError" in done.stderr


def test_leaving_a_group_ends_what_other_threads_wait_for():
    mark = new_mark()
    found = []
    group = ProcessGroup()
    threads = [
        threading.Thread(target=lambda: found.append(run("child", mark, group=group).failure))
        for _ in range(3)
    ]
    with group:
        for thread in threads:
            thread.start()
        assert eventually(lambda: len(asleep(mark)) == 3)
    for thread in threads:
        thread.join()
    assert found == [ProcessFailure.INTERRUPTED] * 3
    assert not living(mark)


def test_a_group_that_was_stopped_starts_nothing():
    with ProcessGroup() as group:
        pass
    assert run("say", group=group).failure is ProcessFailure.INTERRUPTED
    assert not group._started


def test_secrets_are_taken_out_of_what_is_told():
    env = {**ENV, "API_KEY": "k-123456789", "MODE": "fast-enough"}
    done = run("complain_and", "k-123456789 is wrong, fast-enough", "leave", "1", env=env)
    assert done.stderr == "[API_KEY] is wrong, fast-enough"
    assert "k-123456789" not in done.reason


INTERRUPTED = """
import os, sys
from fieldmark.judges.run_process import run_process
try:
    print("ready", flush=True)
    run_process(sys.argv[1:], env=dict(os.environ))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1, 0.2])
def test_an_interrupt_at_any_moment_leaves_no_process(delay):
    mark = new_mark()
    runner = subprocess.Popen(
        [*PYTHON[:1], "-c", INTERRUPTED, *script("grandchild", mark)],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert runner.stdout.readline() == b"ready\n"
    time.sleep(delay)
    os.kill(runner.pid, signal.SIGINT)
    told, _ = runner.communicate(timeout=PATIENCE)
    assert told == b"interrupted\n"
    assert not living(mark)


def test_many_programs_leave_neither_files_nor_zombies():
    before = open_files()
    assert {run_process(["true"], env=ENV).exit_code for _ in range(30)} == {0}
    assert open_files() == before
    assert not zombies()
