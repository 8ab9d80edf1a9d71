"""Documents without styles: same text as with styles, printed without rich."""

from __future__ import annotations

import builtins
import sys

import pytest

import fieldmark as fm
from fieldmark.cli import output

PAIRS = [({"total": 1, "vendor": "Acme"}, {"total": 1, "vendor": "Acne"})]
COLOR = "\x1b["


@pytest.fixture
def runs(folder, monkeypatch):
    """A complete and a corrupt run, in an environment that does not force colors."""
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name in ("first", "second"):
        fm.score(PAIRS, out=folder / "runs" / name)
    (folder / "runs" / "second" / "summary.json").write_bytes(b"{")
    return folder / "runs"


@pytest.fixture
def printed_plain(monkeypatch):
    """Whether a document was printed without rich."""
    results = []
    real = output._is_plain

    def recorded():
        results.append(real())
        return results[-1]

    monkeypatch.setattr(output, "_is_plain", recorded)
    return lambda: any(results)


def styled(command, monkeypatch, *arguments):
    """Return the output of rich without styles."""
    with monkeypatch.context() as patched:
        patched.setattr(output, "_is_plain", lambda: False)
        return command("runs", *arguments).out


@pytest.mark.parametrize(
    ("note", "tag"),
    [
        pytest.param("before the new prompt", "baseline", id="ascii"),
        pytest.param("請求書 – Müller", "é", id="wide-characters"),
        pytest.param("\x1b[31mred\u202e", "saved", id="control-characters"),
        pytest.param("a  b\n c", "saved", id="multiline"),
        pytest.param("word " * 60, "saved", id="long"),
    ],
)
def test_plain_output_has_the_same_text(runs, command, monkeypatch, printed_plain, note, tag):
    command("runs", "first", "--note", note, "--add-tag", tag)
    expected = styled(command, monkeypatch)
    assert command("runs").out == expected
    assert printed_plain()


@pytest.mark.parametrize(
    ("arguments", "plain"),
    [
        pytest.param(["--trend"], True, id="trend"),
        pytest.param(["first"], True, id="one-run"),
        pytest.param(["--tag", "none"], True, id="no-runs"),
        pytest.param(["--format", "json"], False, id="other-format"),
        pytest.param(["--quiet"], False, id="quiet"),
    ],
)
def test_every_document_is_printed_plain(
    runs, command, monkeypatch, printed_plain, arguments, plain
):
    expected = styled(command, monkeypatch, *arguments)
    assert command("runs", *arguments).out == expected
    assert printed_plain() is plain


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("FORCE_COLOR", "1", id="force-color"),
        pytest.param("TTY_COMPATIBLE", "1", id="tty-compatible"),
    ],
)
def test_colors_can_be_forced(runs, command, monkeypatch, printed_plain, name, value):
    monkeypatch.setenv(name, value)
    assert COLOR in command("runs").out
    assert COLOR not in command("runs", "--no-color").out
    assert not printed_plain()


def test_a_terminal_gets_colors(runs, command, monkeypatch, printed_plain):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert COLOR in command("runs").out
    assert not printed_plain()


def test_columns_sets_the_width(runs, command, monkeypatch):
    command("runs", "first", "--note", "word " * 60)
    monkeypatch.setenv("COLUMNS", "90")
    assert max(map(len, command("runs").out.splitlines())) <= 90


def test_a_notebook_is_not_plain(runs, command, monkeypatch, printed_plain):
    monkeypatch.setattr(builtins, "get_ipython", lambda: None, raising=False)
    assert "first" in command("runs").out
    assert not printed_plain()


def test_a_run_without_metrics_has_dashes(runs, command):
    manifest = runs / "second" / "manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"complete"', b'"failed"', 1))
    listed = command("runs").out.splitlines()
    assert [line.split()[0] for line in listed] == ["Run", "first", "second"]
    assert "\N{EN DASH}" in listed[2]
