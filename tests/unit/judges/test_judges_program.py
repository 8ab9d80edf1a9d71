"""The program of a judge: its environment, and why it cannot be started."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from fieldmark.errors import OptionError
from fieldmark.judges import program
from fieldmark.judges.code_judge import CodeJudge
from fieldmark.judges.process_tree import MARKER_VARIABLE
from fieldmark.judges.program import (
    ProcessLimits,
    Program,
    check_environment,
    check_startable,
    program_argv,
    program_environment,
    unset_variables,
)
from unit.judges.judge_processes import CASE, judge, judge_case

INHERITED = {
    "PATH": "/bin", "HOME": "/h", "LANG": "C", "LC_ALL": "C.UTF-8", "TMPDIR": "/t", "TZ": "UTC",
    "AWS_SECRET_ACCESS_KEY": "s", "PYTHONPATH": "/x", "LD_PRELOAD": "evil", "EMPTY": "",
}  # fmt: skip
DEFAULT = {"PATH": "/bin", "HOME": "/h", "LANG": "C", "LC_ALL": "C.UTF-8", "TMPDIR": "/t"}


@pytest.mark.parametrize(
    ("declared", "added"),
    [
        pytest.param((), {}, id="none"),
        pytest.param(("TZ",), {"TZ": "UTC"}, id="passed-on"),
        pytest.param(("NOT_SET",), {}, id="not-set"),
        pytest.param(("EMPTY",), {"EMPTY": ""}, id="empty-value"),
        pytest.param({"MODE": "fast"}, {"MODE": "fast"}, id="value"),
        pytest.param({"ZONE": "env:TZ"}, {"ZONE": "UTC"}, id="reference"),
        pytest.param({"PATH": "/usr/bin"}, {"PATH": "/usr/bin"}, id="override"),
    ],
)
def test_environment_of_a_program(declared, added):
    assert program_environment(declared, INHERITED) == {**DEFAULT, **added}


def test_referenced_variable_must_be_set():
    assert unset_variables({"A": "env:TZ", "B": "env:NOPE", "C": "env"}, INHERITED) == ["NOPE"]
    assert judge("write", env={"KEY": "env:NOT_SET_ANYWHERE"}).unready() == (
        "the environment variable NOT_SET_ANYWHERE is not set"
    )


@pytest.mark.parametrize(
    "declared",
    [
        pytest.param({"API_KEY": "k"}, id="api-key"),
        pytest.param({"DB_PASSWORD": "x"}, id="password"),
        pytest.param({"MODE": "sk-" + "a1" * 12}, id="value-that-looks-like-a-key"),
        pytest.param({"URL": "postgres://me:pw@host/db"}, id="password-in-url"),
        pytest.param({"": "x"}, id="no-name"),
        pytest.param(("A=B",), id="name-with-equals-sign"),
        pytest.param({"A": "x\0y"}, id="nul"),
    ],
)
def test_invalid_declarations(declared):
    with pytest.raises(OptionError, match="env"):
        check_environment(declared)


def test_judge_receives_only_declared_variables(monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "key-0123456789")
    monkeypatch.setenv("UNRELATED", "x")
    result = judge_case("environment", env={"MODE": "fast"})
    known = set(result.details["env"]) - {MARKER_VARIABLE, "LC_CTYPE"}
    default = ("PATH", "HOME", "LANG", "LANGUAGE", "TMPDIR", "TMP", "TEMP", "MODE")
    assert {name for name in known if not name.startswith("LC_")} <= set(default)
    assert result.details["env"]["MODE"] == "fast"


@pytest.mark.parametrize(
    ("behavior", "attribute"),
    [
        pytest.param(("environment",), "details", id="in-details"),
        pytest.param(("write_stderr_and", "key-0123456789", "exit_with", "1"), "reasoning", id="in-stderr"),
        pytest.param(("write", "key-0123456789"), "reasoning", id="in-invalid-response"),
        pytest.param(("write", '{"score": 1, "hits": ["key-0123456789"]}'), "hits", id="in-hits"),
    ],
)  # fmt: skip
def test_declared_secret_is_redacted(monkeypatch, behavior, attribute):
    monkeypatch.setenv("MY_API_KEY", "key-0123456789")
    result = judge_case(*behavior, env=("MY_API_KEY",))
    assert "0123456789" not in repr(result)
    assert "[MY_API_KEY]" in repr(getattr(result, attribute))


ENV = {"PATH": os.environ["PATH"]}


@pytest.fixture
def directory(tmp_path):
    files = {"fine.sh": "#!/bin/sh\necho '{\"score\": 1}'\n", "bare": "echo hi\n", "judge.py": ""}
    files |= {"odd.sh": "#!/no/such/interpreter\n", "plain.sh": "#!/bin/sh\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
        if name != "plain.sh":
            (tmp_path / name).chmod(0o755)
    (tmp_path / "sub").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        pytest.param(["sh"], None, id="on-the-path"),
        pytest.param(["./fine.sh"], None, id="script-in-directory"),
        pytest.param(["python3", "judge.py"], None, id="interpreter-and-script"),
        pytest.param(["sh", "-c", "missing.sh"], None, id="code-option"),
        pytest.param(["sh", "--out=missing.py"], None, id="long-option"),
        pytest.param(["sh", "fine.sh", "missing.py"], None, id="second-argument"),
        pytest.param(["no-such-program"], "no-such-program not found on PATH", id="missing"),
        pytest.param(
            ["python judge.py"],
            r"not found on PATH; write the command as a list: \[python, judge.py\]",
            id="command-as-string",
        ),
        pytest.param(["./none.sh"], "./none.sh not found in", id="missing-file"),
        pytest.param(["./sub"], "./sub is not a file", id="directory"),
        pytest.param(
            ["./plain.sh"],
            "not executable; make it executable or put its interpreter first",
            id="not-executable",
        ),
        pytest.param(
            ["./odd.sh"],
            "interpreter /no/such/interpreter of ./odd.sh not found",
            id="missing-interpreter",
        ),
        pytest.param(["./bare"], "does not start with #!", id="no-shebang"),
        pytest.param(["sh", "gone.sh"], "script gone.sh not found in", id="missing-script"),
        pytest.param(
            ["node", "-x", "sub/gone.mjs"],
            "gone.mjs not found|node not found",
            id="missing-javascript",
        ),
    ],
)
def test_startup_problems(directory, argv, reason):
    import re

    found = check_startable(argv, directory, ENV)
    assert (found is None) == (reason is None), found
    assert reason is None or re.search(reason, found), found


def test_missing_working_directory(tmp_path):
    assert "none not found" in check_startable(["sh"], tmp_path / "none", ENV)


def test_python_is_this_interpreter_unless_there_is_one_on_the_path(tmp_path):
    env = {"PATH": str(tmp_path)}
    assert program_argv(["python", "x.py"], env) == (sys.executable, "x.py")
    (tmp_path / "python").write_text("#!/bin/sh\n", "utf-8")
    (tmp_path / "python").chmod(0o755)
    assert program_argv(["python", "x.py"], env) == ("python", "x.py")
    assert program_argv(["python3", "x.py"], env) == ("python3", "x.py")


def test_judge_reports_why_it_cannot_be_started(directory):
    assert CodeJudge(script=("./fine.sh",), cwd=directory).unready() is None
    assert "gone" in CodeJudge(script=("./gone.sh",), cwd=directory).unready()


def test_paths_are_relative_to_the_working_directory(directory, monkeypatch):
    monkeypatch.chdir("/")
    with CodeJudge(script=("./fine.sh",), cwd=directory).opened() as score_case:
        assert score_case(CASE).score == 1.0


def test_declared_path_is_searched(directory):
    (directory / "sub" / "tool").write_text((directory / "fine.sh").read_text("utf-8"), "utf-8")
    (directory / "sub" / "tool").chmod(0o755)
    without_path = CodeJudge(script=("tool",))
    found = CodeJudge(script=("tool",), env={"PATH": f"{directory / 'sub'}:/bin:/usr/bin"})
    assert (without_path.unready(), found.unready()) == ("tool not found on PATH", None)
    with found.opened() as score_case:
        assert score_case(CASE).score == 1.0
    assert shutil.which("tool") is None


@pytest.mark.parametrize(
    ("options", "option"),
    [
        pytest.param({"script": ()}, "script", id="no-program"),
        pytest.param({"script": ("",)}, "script", id="empty-program-name"),
        pytest.param({"script": ("a\0b",)}, "script", id="nul"),
        pytest.param({"workers": 2}, "workers", id="workers-without-lines"),
        pytest.param({"env": {"MY_TOKEN": "abc"}}, "env", id="secret"),
    ],
)
def test_invalid_options(options, option):
    with pytest.raises(OptionError) as error:
        CodeJudge(**{"script": ("sh",), **options})
    assert error.value.option == option


@pytest.mark.parametrize(
    ("threshold", "verdict"),
    [
        pytest.param(0.79, "pass", id="above"),
        pytest.param(0.8, "pass", id="equal"),
        pytest.param(0.81, "fail", id="below"),
    ],
)
def test_score_passes_if_it_reaches_the_threshold(threshold, verdict):
    script = ("sh", "-c", "echo '{\"score\": 0.8}'")
    with CodeJudge(script=script, pass_threshold=threshold).opened() as score_case:
        assert score_case(CASE).verdict == verdict


@pytest.fixture
def windows(monkeypatch):
    monkeypatch.setattr(program, "_WINDOWS", True)


@pytest.mark.usefixtures("windows")
def test_windows_starts_the_program_that_was_checked(directory, tmp_path):
    env = {"PATH": str(tmp_path)}
    tool = tmp_path / "tool"
    tool.write_bytes(b"MZ")
    tool.chmod(0o755)
    assert program_argv(["tool", "x"], env) == (str(tool), "x")
    assert program_argv(["./fine.sh", "x"], env, directory) == (str(directory / "fine.sh"), "x")
    assert program_argv([str(tool)], env, directory) == (str(tool),)
    assert program_argv(["none"], env) == ("none",)


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize(
    ("name", "content", "starts"),
    [
        ("judge.exe", b"MZ\x90\0", True),
        ("judge.bat", b"@echo off", True),
        ("judge.CMD", b"@echo off", True),
        ("judge.py", b"#!/bin/sh", False),
        ("judge", b"\x7fELF\0", False),
    ],
)
def test_windows_runs_only_its_own_programs(tmp_path, name, content, starts):
    (tmp_path / name).write_bytes(content)
    (tmp_path / name).chmod(0o755)
    found = check_startable([f"./{name}"], tmp_path, ENV)
    problem = f"./{name} is not a Windows program; put its interpreter first"
    assert found == (None if starts else problem)


def test_python_writes_utf8_on_windows(monkeypatch):
    def variables():
        return Program.from_options(["cat"], {}, None, ProcessLimits()).env

    assert "PYTHONUTF8" not in variables()
    monkeypatch.setattr(program, "_WINDOWS", True)
    assert variables()["PYTHONUTF8"] == "1"


def test_variables_without_which_windows_starts_nothing_are_passed_on():
    own = {"SYSTEMROOT": "C:\\Windows", "USERPROFILE": "C:\\Users\\me", "SECRET": "s"}
    assert program_environment((), own) == {
        name: own[name] for name in ("SYSTEMROOT", "USERPROFILE")
    }
