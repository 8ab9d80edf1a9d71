"""The command target: requests, responses and failures."""

from __future__ import annotations

import json
import sys
import threading

import pytest

from fieldmark.errors import OptionError
from fieldmark.model.json import MISSING
from fieldmark.runs.targets.command import CommandTarget
from fieldmark.runs.targets.target import TargetResponse
from waiting import TIMEOUT, eventually

REQUEST = {
    "case_id": "ä; touch canary $(touch canary)",
    "input": "x",
    "question": "x",
    "metadata": {},
}


def target(source, **options):
    return CommandTarget(command=(sys.executable, "-c", source), **options)


def call(source, timeout=TIMEOUT, **options):
    with target(source, **options).opened(timeout) as ask:
        return ask(REQUEST)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        pytest.param("print('{}')", "{}", id="without-the-last-line-break"),
        pytest.param("print('a\\n\\n')", "a\n\n", id="without-the-last-alone"),
        pytest.param("print('a', end='\\r\\n')", "a", id="of-either-kind"),
        pytest.param("", "", id="empty-response"),
        pytest.param("print('Total: 1')", "Total: 1", id="text"),
        pytest.param("import sys; sys.stdout.buffer.write('ä€'.encode())", "ä€", id="in-utf-8"),
        pytest.param("import sys; sys.stdin.close(); print(1)", "1", id="without-reading-the-request"),
    ],
)  # fmt: skip
def test_output_of_the_program_is_the_response(source, text):
    assert call(source) == TargetResponse(text=text)


def test_request_contains_the_case_and_the_config():
    result = call("import sys; print(sys.stdin.read())", config={"model": "m"})
    assert json.loads(result.text) == {**REQUEST, "config": {"model": "m"}}


def test_case_data_is_not_part_of_the_command(tmp_path):
    result = call("import sys; print(len(sys.argv))", cwd=tmp_path)
    assert result.text == "1"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("source", "reason", "transient"),
    [
        pytest.param("print('{}'); raise SystemExit(3)", "exited with code 3", False, id="another-exit-code"),
        pytest.param("raise SystemExit(75)", "exited with code 75", True, id="exit-code-75"),
        pytest.param("raise ValueError('no model')", "ValueError: no model", False, id="exception-with-message"),
        pytest.param("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV", False, id="signal"),
        pytest.param("import sys; sys.stdout.buffer.write(b'caf\\xe9')", "invalid UTF-8", False, id="another-encoding"),
    ],
)  # fmt: skip
def test_failing_program_is_a_failure(source, reason, transient):
    result = call(source)
    assert (result.text, result.value, result.transient) == (None, MISSING, transient)
    assert reason in result.failure


def test_program_that_times_out_is_ended():
    result = call("import time; time.sleep(60)", timeout=0.3)
    assert "timeout" in result.failure
    assert result.transient


def test_program_with_too_much_output_is_ended():
    result = call("while True: print('y' * 65536)")
    assert "output_limit" in result.failure
    assert not result.transient


def test_leaving_the_context_ends_running_programs(tmp_path):
    responses, started = [], tmp_path / "started"
    source = f"import time; open({str(started)!r}, 'w').close(); time.sleep({TIMEOUT})"
    with target(source).opened(TIMEOUT) as ask:
        thread = threading.Thread(target=lambda: responses.append(ask(REQUEST)))
        thread.start()
        assert eventually(started.exists)
    thread.join(TIMEOUT)
    assert "interrupted" in responses[0].failure
    assert not responses[0].transient


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        pytest.param("print(os.environ['NAME'])", "the output contains the secret value of NAME", id="in-its-output"),
        pytest.param("raise SystemExit(os.environ['NAME'])", "[NAME]", id="in-the-error-message"),
    ],
)  # fmt: skip
def test_declared_secret_in_the_output_is_not_shown(monkeypatch, source, reason):
    monkeypatch.setenv("FM_TEST_OTHER", "sentinel-4711")
    result = call(f"import os; {source}", env={"NAME": "env:FM_TEST_OTHER"})
    assert reason in result.failure
    assert "sentinel" not in repr(result)


@pytest.mark.parametrize(
    ("options", "option"),
    [
        pytest.param({"command": ("",)}, "command", id="command"),
        pytest.param({"env": {"API_KEY": "sk-1234567890"}}, "env", id="environment"),
    ],
)
def test_invalid_options(options, option):
    with pytest.raises(OptionError) as refused:
        CommandTarget(**{"command": ("true",), **options})
    assert refused.value.option == option


def test_program_that_cannot_be_started_is_found_before_the_run(tmp_path):
    assert CommandTarget(command=(sys.executable, "-V"), cwd=tmp_path).unready() is None
    assert "not found" in CommandTarget(command=(sys.executable,), cwd=tmp_path / "no").unready()
    assert "is not set" in CommandTarget(command=("true",), env={"A": "env:FM_UNSET"}).unready()


def test_identity_contains_file_digests_and_no_values_of_variables(tmp_path, monkeypatch):
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
