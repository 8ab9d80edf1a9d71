"""A list of runs that is not styled: the same words, drawn without what styles."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys

import pytest

import fieldmark as fm
from fieldmark.cli import runs as runs_command

PAIRS = [({"total": 1, "vendor": "Acme"}, {"total": 1, "vendor": "Acne"})]
COLOUR = "\x1b["
LOADED = """
import sys
from fieldmark.cli.main import main
try:
    main()
finally:
    print("loaded:", *sorted({"rich", "rapidfuzz", "numpy", "ruamel"} & {*sys.modules}), sep="")
"""


@pytest.fixture
def runs(folder, monkeypatch):
    """A run that is complete, one that is corrupt, and nobody who asks for colours."""
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name in ("first", "second"):
        fm.score(PAIRS, out=folder / "runs" / name)
    (folder / "runs" / "second" / "summary.json").write_bytes(b"{")
    return folder / "runs"


@pytest.fixture
def is_short(monkeypatch):
    """Whether the short way was taken."""
    taken = []
    real = runs_command.write_stdout

    def noticed(text):
        taken.append(len(text))
        real(text)

    monkeypatch.setattr(runs_command, "write_stdout", noticed)
    return lambda: bool(taken)


def styled(command, monkeypatch, *words):
    """What is printed where something may be styled, which is then not."""
    with monkeypatch.context() as patched:
        patched.setenv("TTY_COMPATIBLE", "0")
        return command("runs", *words).out


@pytest.mark.parametrize(
    ("note", "tag"),
    [
        pytest.param("before the new prompt", "baseline", id="plain-words"),
        pytest.param("請求書 – Müller", "é", id="wide-and-other-letters"),
        pytest.param("\x1b[31mred\u202e", "kept", id="what-would-command-a-terminal"),
        pytest.param("a  b\n c", "kept", id="many-lines"),
        pytest.param("word " * 60, "kept", id="more-than-there-is-room-for"),
    ],
)
def test_the_short_way_prints_the_same(runs, command, monkeypatch, is_short, note, tag):
    command("runs", "first", "--note", note, "--add-tag", tag)
    usual = styled(command, monkeypatch)
    assert not is_short()
    assert command("runs").out == usual
    assert is_short()


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--format", "json"], id="another-form"),
        pytest.param(["--quiet"], id="nothing-is-to-be-shown"),
        pytest.param(["--trend"], id="a-trend"),
        pytest.param(["first"], id="one-run"),
        pytest.param(["--tag", "none"], id="no-runs"),
    ],
)
def test_only_a_list_is_printed_the_short_way(runs, command, monkeypatch, is_short, words):
    assert command("runs", *words).out == styled(command, monkeypatch, *words)
    assert not is_short()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("FORCE_COLOR", "1", id="colour-is-forced"),
        pytest.param("TTY_COMPATIBLE", "1", id="output-is-as-good-as-a-terminal"),
    ],
)
def test_who_asks_for_colours_gets_them(runs, command, monkeypatch, is_short, name, value):
    monkeypatch.setenv(name, value)
    assert COLOUR in command("runs").out
    assert COLOUR not in command("runs", "--no-color").out
    assert not is_short()


def test_a_terminal_gets_colours(runs, command, monkeypatch, is_short):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert COLOUR in command("runs").out
    assert not is_short()


def test_who_names_a_width_gets_it(runs, command, monkeypatch, is_short):
    command("runs", "first", "--note", "word " * 60)
    monkeypatch.setenv("COLUMNS", "90")
    assert max(map(len, command("runs").out.splitlines())) <= 90
    assert not is_short()


def test_a_notebook_has_its_own_way(runs, command, monkeypatch, is_short):
    monkeypatch.setattr(builtins, "get_ipython", lambda: None, raising=False)
    assert "first" in command("runs").out
    assert not is_short()


def test_a_list_loads_nothing_that_styles(runs):
    manifest = runs / "second" / "manifest.json"  # so that it has no figures, but dashes
    manifest.write_bytes(manifest.read_bytes().replace(b'"complete"', b'"failed"', 1))
    env = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    done = subprocess.run(
        [sys.executable, "-c", LOADED, "runs"], capture_output=True, check=True, text=True, env=env
    )
    *listed, loaded = done.stdout.splitlines()
    assert [line.split()[0] for line in listed] == ["Run", "first", "second"]
    assert "\N{EN DASH}" in listed[2]
    assert loaded == "loaded:"
