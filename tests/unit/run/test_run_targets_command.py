"""The command target: JSON in, text out, and nothing of the case on the command line."""

from __future__ import annotations

import json
import sys
import threading

import pytest

from fieldmark.errors import OptionError
from fieldmark.model.json import MISSING
from fieldmark.run.targets.command import CommandTarget
from fieldmark.run.targets.target import TargetResponse
from waiting import PATIENCE, eventually

REQUEST = {
    "case_id": "ä; touch canary $(touch canary)",
    "input": "x",
    "question": "x",
    "metadata": {},
}


def target(source, **options):
    return CommandTarget(command=(sys.executable, "-c", source), **options)


def asked(source, timeout=10.0, **options):
    with target(source, **options).opened(timeout) as ask:
        return ask(REQUEST)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        pytest.param("print('{}')", "{}", id="without-the-last-line-break"),
        pytest.param("print('a\\n\\n')", "a\n\n", id="without-the-last-alone"),
        pytest.param("print('a', end='\\r\\n')", "a", id="of-either-kind"),
        pytest.param("", "", id="nothing-is-an-answer"),
        pytest.param("print('Total: 1')", "Total: 1", id="text"),
        pytest.param("import sys; sys.stdout.buffer.write('ä€'.encode())", "ä€", id="in-utf-8"),
        pytest.param("import sys; sys.stdin.close(); print(1)", "1", id="without-reading-the-request"),
    ],
)  # fmt: skip
def test_what_a_program_prints_is_taken(source, text):
    assert asked(source) == TargetResponse(text=text)


def test_the_request_is_the_case_as_json_with_the_configuration():
    got = asked("import sys; print(sys.stdin.read())", config={"model": "m"})
    assert json.loads(got.text) == {**REQUEST, "config": {"model": "m"}}


def test_nothing_of_a_case_becomes_part_of_the_command(tmp_path):
    got = asked("import sys; print(len(sys.argv))", cwd=tmp_path)
    assert got.text == "1"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("source", "why", "transient"),
    [
        pytest.param("print('{}'); raise SystemExit(3)", "exit code 3", False, id="another-exit-code"),
        pytest.param("raise SystemExit(75)", "exit code 75", True, id="the-code-for-come-again"),
        pytest.param("raise ValueError('no model')", "ValueError: no model", False, id="a-crash-with-its-last-words"),
        pytest.param("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV", False, id="a-signal"),
        pytest.param("import sys; sys.stdout.buffer.write(b'caf\\xe9')", "not UTF-8", False, id="another-encoding"),
    ],
)  # fmt: skip
def test_a_program_that_goes_wrong_is_a_failure(source, why, transient):
    got = asked(source)
    assert (got.text, got.value, got.transient) == (None, MISSING, transient)
    assert why in got.failure


def test_a_program_that_takes_too_long_is_ended():
    got = asked("import time; time.sleep(60)", timeout=0.3)
    assert "timeout" in got.failure
    assert got.transient


def test_a_program_that_prints_without_end_is_ended():
    got = asked("while True: print('y' * 65536)")
    assert "output_limit" in got.failure
    assert not got.transient


def test_leaving_ends_the_programs_that_still_run(tmp_path):
    got, started = [], tmp_path / "started"
    source = f"import time; open({str(started)!r}, 'w').close(); time.sleep({PATIENCE})"
    with target(source).opened(PATIENCE) as ask:
        thread = threading.Thread(target=lambda: got.append(ask(REQUEST)))
        thread.start()
        assert eventually(started.exists)
    thread.join(PATIENCE)
    assert "interrupted" in got[0].failure
    assert not got[0].transient


@pytest.mark.parametrize(
    ("env", "seen"),
    [
        pytest.param((), [None, None], id="nothing-by-itself"),
        pytest.param(("FM_TEST_MODE",), ["fast", None], id="what-is-named"),
        pytest.param({"FM_TEST_MODE": "slow"}, ["slow", None], id="what-is-given"),
        pytest.param({"FM_TEST_MODE": "env:FM_TEST_OTHER"}, ["other", None], id="what-is-referred-to"),
    ],
)  # fmt: skip
def test_a_program_sees_of_the_environment(monkeypatch, env, seen):
    monkeypatch.setenv("FM_TEST_MODE", "fast")
    monkeypatch.setenv("FM_TEST_OTHER", "other")
    source = "import os, json, sys; print(len([os.environ.get(k) for k in ('FM_TEST_MODE', 'FM_TEST_OTHER')])); sys.stderr.write(''); raise SystemExit(os.environ.get('FM_TEST_MODE') != %r or os.environ.get('FM_TEST_OTHER') != %r)"
    assert asked(source % tuple(seen), env=env).text == "2"


@pytest.mark.parametrize(
    ("source", "why"),
    [
        pytest.param("import os; print(os.environ['FM_TEST_NAME'])", "output holds the value of FM_TEST_NAME", id="in-its-output"),
        pytest.param("import os; raise SystemExit(os.environ['FM_TEST_NAME'])", "[FM_TEST_NAME]", id="in-its-last-words"),
    ],
)  # fmt: skip
def test_a_secret_that_a_program_prints_goes_nowhere(monkeypatch, source, why):
    monkeypatch.setenv("FM_TEST_OTHER", "sentinel-4711")
    got = asked(source, env={"FM_TEST_NAME": "env:FM_TEST_OTHER"})
    assert why in got.failure
    assert "sentinel" not in repr(got)


@pytest.mark.parametrize(
    ("options", "option"),
    [
        pytest.param({"command": ()}, "command", id="no-program"),
        pytest.param({"command": ("",)}, "command", id="an-empty-name"),
        pytest.param({"command": ("a", "b\0c")}, "command", id="a-character-that-no-word-can-hold"),
        pytest.param({"env": ("A=B",)}, "env", id="no-name-of-a-variable"),
        pytest.param({"env": {"API_KEY": "sk-1234567890"}}, "env", id="a-secret-written-out"),
    ],
)
def test_options_that_are_refused(options, option):
    with pytest.raises(OptionError) as refused:
        CommandTarget(**{"command": ("true",), **options})
    assert refused.value.option == option


def test_what_is_wrong_is_found_before_the_run(tmp_path, monkeypatch):
    monkeypatch.delenv("FM_TEST_UNSET", raising=False)
    assert (
        "FM_TEST_UNSET"
        in CommandTarget(command=("true",), env={"A": "env:FM_TEST_UNSET"}).unready()
    )
    assert CommandTarget(command=("no-such-program-4711",)).unready() is not None
    assert "[python, extract.py]" in CommandTarget(command=("python extract.py",)).unready()
    assert CommandTarget(command=(sys.executable,), cwd=tmp_path / "none").unready() is not None
    assert CommandTarget(command=(sys.executable, "-V"), cwd=tmp_path).unready() is None


def test_the_identity_holds_the_content_of_the_files_and_no_value_of_a_variable(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("FM_TEST_OTHER", "sentinel-4711")
    script = tmp_path / "extract.py"
    script.write_text("print(1)", "utf-8")
    made = CommandTarget(
        command=("python", "extract.py", "--fast"), cwd=tmp_path, env={"NAME": "env:FM_TEST_OTHER"}
    )
    first = made.identity()
    assert list(first["files"]) == ["extract.py"]
    assert "sentinel" not in repr(first)
    script.write_text("print(2)", "utf-8")
    assert made.identity() != first
