"""Lists of runs as lines: all that fits in a line, folded where it does not."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from fieldmark.report.run_lines import RunLines

TITLES = ("Run", "Began", "Status", "Cases", "Tags and note")


def shown(rows, *, width=80, color=None):
    console = Console(
        file=io.StringIO(), width=width, color_system=color, force_terminal=True, no_color=False
    )
    console.print(RunLines(TITLES, rows, styles={"complete": "green"}, right=(3,)), crop=False)
    return console.file.getvalue()


def test_columns_are_as_wide_as_their_widest_cell():
    rows = [("a", "today", "complete", "7", "first"), ("long", "now", "running", "12", "")]
    assert shown(rows).splitlines() == [
        "Run  Began Status   Cases Tags and note",
        "a    today complete     7 first",
        "long now   running     12",
    ]


def test_wide_characters_take_two_cells():
    rows = [("請求書", "-", "complete", "1", "x"), ("abcdef", "-", "complete", "1", "x")]
    first, second = shown(rows).splitlines()[1:]
    assert (first[:4], second[:7]) == ("請求書 ", "abcdef ")


def test_notes_give_way_first_and_then_names():
    rows = [("r" * 20, "now", "complete", "1", "n" * 20)]
    assert shown(rows, width=52).splitlines()[2:] == [
        f"{'r' * 20} now   complete     1 {'n' * 10}",
        f"{'':20}                      {'n' * 10}",
    ]
    narrow = shown(rows, width=40).splitlines()[1:]
    assert max(map(len, narrow)) <= 40
    assert "".join(line.split()[0] for line in narrow if line.startswith("r")) == "r" * 20


@pytest.mark.parametrize(("status", "code"), [("complete", "32m"), ("failed", "33m")])
def test_a_status_has_a_colour(status, code):
    assert f"{code}{status}" in shown([("a", "now", status, "1", "")], color="standard")
