"""Progress is a bar on a terminal, else a line now and then."""

from __future__ import annotations

import sys

import pytest

from fieldmark.cli import progress as progress_module
from fieldmark.cli.output import OutputOptions
from fieldmark.cli.progress import show_progress


def test_there_is_no_progress_when_quiet():
    with show_progress(OutputOptions(quiet=True)) as tell:
        assert tell is None


def test_without_a_terminal_progress_is_a_line_now_and_then(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[0])
    with show_progress(OutputOptions()) as tell:
        tell(10, 50, 100)
        now[0] = 11.0
        tell(20, 50, 100)
        tell(30, 60, 100)
        now[0] = 22.0
        tell(40, 70, None)
    assert capsys.readouterr().err == "20 cases, 50% read\n40 cases\n"


@pytest.mark.parametrize("color", [True, False])
def test_a_terminal_that_wants_no_colour_gets_plain_lines(monkeypatch, capsys, color):
    now = [0.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    if color:
        monkeypatch.setenv("NO_COLOR", "1")
    with show_progress(OutputOptions(color=color)) as tell:
        now[0] = 11.0
        tell(20, 50, 100)
    assert capsys.readouterr().err == "20 cases, 50% read\n"


def test_on_a_terminal_progress_is_a_bar_that_waits_and_goes(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    with show_progress(OutputOptions()) as tell:
        tell(10, 50, 100)
        assert capsys.readouterr().err == ""
        now[0] = 2.0
        tell(20, 50, 100)
