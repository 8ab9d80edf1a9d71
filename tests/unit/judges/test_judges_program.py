"""The program of a judge: its environment, and why it cannot be started."""

from __future__ import annotations

import json
import os
import shutil
import sys

import pytest

from fieldmark.errors import OptionError
from fieldmark.judges.code_judge import CodeJudge
from fieldmark.judges.managed_process import MARKER_VARIABLE
from fieldmark.judges.program import (
    check_environment,
    check_startable,
    program_argv,
    program_environment,
    unset_variables,
)
from unit.judges.lab import CASE, judge, judged

OWN = {
    "PATH": "/bin", "HOME": "/h", "LANG": "C", "LC_ALL": "C.UTF-8", "TMPDIR": "/t", "TZ": "UTC",
    "AWS_SECRET_ACCESS_KEY": "s", "PYTHONPATH": "/x", "LD_PRELOAD": "evil", "EMPTY": "",
}  # fmt: skip
USUAL = {"PATH": "/bin", "HOME": "/h", "LANG": "C", "LC_ALL": "C.UTF-8", "TMPDIR": "/t"}


@pytest.mark.parametrize(
    ("declared", "more"),
    [
        pytest.param((), {}, id="nothing-else"),
        pytest.param(("TZ",), {"TZ": "UTC"}, id="a-name-is-handed-on"),
        pytest.param(("NOT_SET",), {}, id="a-name-that-is-not-set"),
        pytest.param(("EMPTY",), {"EMPTY": ""}, id="a-name-that-is-set-to-nothing"),
        pytest.param({"MODE": "fast"}, {"MODE": "fast"}, id="a-value-is-given"),
        pytest.param({"ZONE": "env:TZ"}, {"ZONE": "UTC"}, id="a-value-is-taken-over"),
        pytest.param({"PATH": "/usr/bin"}, {"PATH": "/usr/bin"}, id="a-usual-one-is-replaced"),
    ],
)
def test_what_a_program_may_know(declared, more):
    assert program_environment(declared, OWN) == {**USUAL, **more}


def test_a_variable_that_a_value_refers_to_must_be_set():
    assert unset_variables({"A": "env:TZ", "B": "env:NOPE", "C": "env"}, OWN) == ["NOPE"]
    assert judge("say", env={"KEY": "env:NOT_SET_ANYWHERE"}).unready() == (
        "the variable NOT_SET_ANYWHERE is not set"
    )


@pytest.mark.parametrize(
    "declared",
    [
        pytest.param({"API_KEY": "k"}, id="a-key-in-the-file"),
        pytest.param({"DB_PASSWORD": "x"}, id="a-password-in-the-file"),
        pytest.param({"MODE": "sk-" + "a1" * 12}, id="a-value-that-looks-like-a-key"),
        pytest.param({"URL": "postgres://me:pw@host/db"}, id="a-password-in-an-address"),
        pytest.param({"": "x"}, id="no-name"),
        pytest.param(("A=B",), id="a-name-with-a-value"),
        pytest.param({"A": "x\0y"}, id="a-zero-byte"),
    ],
)
def test_what_may_not_be_declared(declared):
    with pytest.raises(OptionError, match="env"):
        check_environment(declared)


def test_a_judge_knows_nothing_that_was_not_declared(monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "key-0123456789")
    monkeypatch.setenv("UNRELATED", "x")
    said = judged("surroundings", env={"MODE": "fast"})
    known = set(said.details["env"]) - {MARKER_VARIABLE, "LC_CTYPE"}
    usual = ("PATH", "HOME", "LANG", "LANGUAGE", "TMPDIR", "TMP", "TEMP", "MODE")
    assert {name for name in known if not name.startswith("LC_")} <= set(usual)
    assert said.details["env"]["MODE"] == "fast"


@pytest.mark.parametrize(
    ("behaviour", "seen"),
    [
        pytest.param(("surroundings",), "details", id="in-details"),
        pytest.param(("complain_and", "key-0123456789", "leave", "1"), "reasoning", id="in-remarks"),
        pytest.param(("say", "key-0123456789"), "reasoning", id="in-a-bad-reply"),
        pytest.param(("say", '{"score": 1, "hits": ["key-0123456789"]}'), "hits", id="in-hits"),
    ],
)  # fmt: skip
def test_a_secret_that_was_declared_is_never_written_down(monkeypatch, behaviour, seen):
    monkeypatch.setenv("MY_API_KEY", "key-0123456789")
    said = judged(*behaviour, env=("MY_API_KEY",))
    assert "0123456789" not in json.dumps(said.to_dict())
    assert "[MY_API_KEY]" in json.dumps(said.to_dict()[seen])


ENV = {"PATH": os.environ["PATH"]}


@pytest.fixture
def folder(tmp_path):
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
        pytest.param(["./fine.sh"], None, id="a-script-beside-the-file"),
        pytest.param(["python3", "judge.py"], None, id="an-interpreter-and-its-script"),
        pytest.param(["sh", "-c", "missing.sh"], None, id="code-is-no-script"),
        pytest.param(["sh", "--out=missing.py"], None, id="an-option-is-no-script"),
        pytest.param(["sh", "fine.sh", "missing.py"], None, id="only-the-first-is-the-script"),
        pytest.param(["no-such-program"], "no-such-program is not on the path", id="missing"),
        pytest.param(["python judge.py"], r"write a list: \[python, judge.py\]", id="words-in-one"),
        pytest.param(["./none.sh"], "./none.sh does not exist in", id="a-missing-file"),
        pytest.param(["./sub"], "./sub is no file", id="a-folder"),
        pytest.param(["./plain.sh"], "not executable; name its interpreter", id="not-executable"),
        pytest.param(["./odd.sh"], "asks for /no/such/interpreter, which is missing", id="odd"),
        pytest.param(["./bare"], "does not begin with #!", id="no-interpreter-named"),
        pytest.param(["sh", "gone.sh"], "the script gone.sh does not exist in", id="no-script"),
        pytest.param(["node", "-x", "sub/gone.mjs"], "gone.mjs|node is not", id="no-javascript"),
    ],
)
def test_why_a_program_cannot_be_started(folder, argv, reason):
    import re

    found = check_startable(argv, folder, ENV)
    assert (found is None) == (reason is None), found
    assert reason is None or re.search(reason, found), found


def test_a_folder_that_does_not_exist(tmp_path):
    assert "does not exist" in check_startable(["sh"], tmp_path / "none", ENV)


def test_python_is_ours_where_no_other_has_the_name(tmp_path):
    nowhere = {"PATH": str(tmp_path)}
    assert program_argv(["python", "x.py"], nowhere) == (sys.executable, "x.py")
    (tmp_path / "python").write_text("#!/bin/sh\n", "utf-8")
    (tmp_path / "python").chmod(0o755)
    assert program_argv(["python", "x.py"], nowhere) == ("python", "x.py")
    assert program_argv(["python3", "x.py"], nowhere) == ("python3", "x.py")


def test_a_judge_says_why_it_is_not_ready(folder):
    assert CodeJudge(script=("./fine.sh",), cwd=folder).unready() is None
    assert "gone" in CodeJudge(script=("./gone.sh",), cwd=folder).unready()


def test_paths_are_seen_from_the_folder_of_the_judge(folder, monkeypatch):
    monkeypatch.chdir("/")
    with CodeJudge(script=("./fine.sh",), cwd=folder).opened() as judging:
        assert judging(CASE).score == 1.0


def test_the_declared_path_is_the_one_that_is_searched(folder):
    (folder / "sub" / "tool").write_text((folder / "fine.sh").read_text("utf-8"), "utf-8")
    (folder / "sub" / "tool").chmod(0o755)
    lost = CodeJudge(script=("tool",))
    found = CodeJudge(script=("tool",), env={"PATH": f"{folder / 'sub'}:/bin:/usr/bin"})
    assert (lost.unready(), found.unready()) == ("tool is not on the path", None)
    with found.opened() as judging:
        assert judging(CASE).score == 1.0
    assert shutil.which("tool") is None


@pytest.mark.parametrize(
    ("options", "option"),
    [
        pytest.param({"script": ()}, "script", id="no-program"),
        pytest.param({"script": ("",)}, "script", id="a-program-without-a-name"),
        pytest.param({"script": ("a\0b",)}, "script", id="a-zero-byte"),
        pytest.param({"timeout": 0}, "timeout", id="no-time"),
        pytest.param({"timeout": float("nan")}, "timeout", id="time-that-is-no-number"),
        pytest.param({"timeout": float("inf")}, "timeout", id="time-without-end"),
        pytest.param({"pass_threshold": 1.1}, "pass_threshold", id="more-than-all"),
        pytest.param({"pass_threshold": -0.1}, "pass_threshold", id="less-than-nothing"),
        pytest.param({"workers": 0, "protocol": "lines"}, "workers", id="nobody-works"),
        pytest.param({"workers": 2}, "workers", id="workers-without-lines"),
        pytest.param({"protocol": "line"}, "protocol", id="an-unknown-protocol"),
        pytest.param({"max_output": 0}, "max_output", id="nothing-may-be-said"),
        pytest.param({"memory": 0}, "memory", id="no-memory"),
        pytest.param({"env": {"MY_TOKEN": "abc"}}, "env", id="a-secret"),
    ],
)
def test_options_that_cannot_be(options, option):
    with pytest.raises(OptionError) as refused:
        CodeJudge(**{"script": ("sh",), **options})
    assert refused.value.option == option


@pytest.mark.parametrize(
    ("threshold", "verdict"),
    [
        pytest.param(0.79, "pass", id="above"),
        pytest.param(0.8, "pass", id="reached"),
        pytest.param(0.81, "fail", id="below"),
    ],
)
def test_a_score_passes_from_the_threshold_on(threshold, verdict):
    script = ("sh", "-c", "echo '{\"score\": 0.8}'")
    with CodeJudge(script=script, pass_threshold=threshold).opened() as judging:
        assert judging(CASE).verdict == verdict
