"""Progress is a bar on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from fieldmark.cli import output as output_module
from fieldmark.cli.output import OutputOptions, show_progress


@pytest.fixture
def now(monkeypatch):
    """Return the time of the progress display in a list, to be changed."""
    seconds = [0.0]
    clock = SimpleNamespace(monotonic=lambda: seconds[0])
    monkeypatch.setattr(output_module, "time", clock)
    return seconds


def test_quiet_shows_no_progress():
    with show_progress(OutputOptions(quiet=True)) as progress:
        assert progress is None


def test_progress_without_a_terminal_is_a_line_every_few_seconds(now, capsys):
    with show_progress(OutputOptions()) as progress:
        progress(10, 50, 100)
        now[0] = 11.0
        progress(20, 50, 100)
        progress(30, 60, 100)
        now[0] = 22.0
        progress(40, 70, None)
    assert capsys.readouterr().err == "20 cases, 50% read\n40 cases\n"


@pytest.mark.parametrize("color", [True, False])
def test_progress_without_color_is_plain_lines(now, monkeypatch, capsys, color):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    if color:
        monkeypatch.setenv("NO_COLOR", "1")
    with show_progress(OutputOptions(color=color)) as progress:
        now[0] = 11.0
        progress(20, 50, 100)
    assert capsys.readouterr().err == "20 cases, 50% read\n"


def test_progress_on_a_terminal_is_a_bar_after_one_second(now, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    with show_progress(OutputOptions()) as progress:
        progress(10, 50, 100)
        assert capsys.readouterr().err == ""
        now[0] = 2.0
        progress(20, 50, 100)
