"""Lists of runs as lines: all that fits in a line, folded where it does not."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from fieldmark.report.runs_view import RunLines, run_lines, runs_view
from fieldmark.wire.run_entry import RunEntry

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


@pytest.mark.parametrize(
    "cells",
    [
        pytest.param(["a", "–", "ab–"], id="dashes-take-one-place"),
        pytest.param(["請", "abc"], id="one-cell-is-wide"),
        pytest.param(["請a", "e\u0301", "ab"], id="a-wide-cell-makes-up-for-a-narrow-one"),
        pytest.param(["e\u0301e\u0301", "ab"], id="accents-take-no-place"),
    ],
)
def test_what_comes_after_a_column_stands_in_one_place(cells):
    rows = [(cell, "|", "complete", "7", "") for cell in cells]
    before = {cell_len(line.partition("|")[0]) for line in shown(rows).splitlines()[1:]}
    assert before == {max(3, *map(cell_len, cells)) + 1}


PLAIN = RunEntry(
    id="first",
    status="complete",
    started_at="2025-01-31T12:00:00.123+00:00",
    cases=7,
    figures={"mean_score": 0.12345, "macro_f1_by_attribute": 1.0, "micro_f1": None},
)


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(PLAIN, id="plain"),
        pytest.param(PLAIN._replace(figures=None, cases=None), id="without-figures"),
        pytest.param(PLAIN._replace(id="a\x1b[31m"), id="a-name-that-would-command-a-terminal"),
        pytest.param(PLAIN._replace(started_at="\x07now"), id="a-time-that-would-ring-a-bell"),
        pytest.param(PLAIN._replace(status="odd\u202e"), id="a-status-that-would-turn-the-line"),
        pytest.param(PLAIN._replace(id="\ud800 請求書"), id="half-a-character"),
        pytest.param(PLAIN._replace(tags=["a", "b"]), id="tags"),
        pytest.param(PLAIN._replace(note=" a\n  b\x1b "), id="a-note-over-many-lines"),
        pytest.param(PLAIN._replace(tags=["a"], note="why"), id="tags-and-a-note"),
        pytest.param(PLAIN._replace(tags=["a"], note="why", problem="torn"), id="a-problem-first"),
    ],
)
@pytest.mark.parametrize("width", [120, 60])
def test_runs_are_shown_the_same_with_and_without_styles(entry, width):
    entries = [PLAIN, entry, PLAIN]
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(runs_view(entries), crop=False)
    assert run_lines(entries).text(width) == console.file.getvalue()
