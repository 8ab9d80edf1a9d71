"""Lists of runs as lines, folded in narrow terminals."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from fieldmark.analyses.runs import RunList
from fieldmark.report.document import Cell, Column, Document, Format, Table, Tone
from fieldmark.report.render import RichDocument, document_text
from fieldmark.runs.manifest import RunEntry


def shown(rows, *, width=80, color=None):
    console = Console(
        file=io.StringIO(), width=width, color_system=color, force_terminal=True, no_color=False
    )
    tones = {"complete": Tone.GOOD, "failed": Tone.WARNING}
    columns = [
        Column("Run", "0", folds=True),
        Column("Started", "1"),
        Column("Status", "2"),
        Column("Cases", "3", Format.COUNT),
        Column("Tags and note", "4", folds=True),
    ]
    cells = [
        {str(place): Cell(cell, tone=tones.get(cell, Tone.PLAIN)) for place, cell in enumerate(row)}
        for row in rows
    ]
    console.print(RichDocument(Document(Table(columns=columns, rows=cells, gap=1))), crop=False)
    return console.file.getvalue()


def test_columns_are_as_wide_as_their_widest_cell():
    rows = [("a", "today", "complete", "7", "first"), ("long", "now", "running", "12", "")]
    assert shown(rows).splitlines() == [
        "Run  Started Status   Cases Tags and note",
        "a    today   complete     7 first",
        "long now     running     12",
    ]


def test_wide_characters_take_two_cells():
    rows = [("請求書", "-", "complete", "1", "x"), ("abcdef", "-", "complete", "1", "x")]
    first, second = shown(rows).splitlines()[1:]
    assert (first[:4], second[:7]) == ("請求書 ", "abcdef ")


def test_notes_are_folded_before_names():
    rows = [("r" * 20, "now", "complete", "1", "n" * 20)]
    assert shown(rows, width=54).splitlines()[2:] == [
        f"{'r' * 20} now     complete     1 {'n' * 10}",
        f"{'':20}                        {'n' * 10}",
    ]
    narrow = shown(rows, width=40).splitlines()[1:]
    assert max(map(len, narrow)) <= 40
    assert "".join(line.split()[0] for line in narrow if line.startswith("r")) == "r" * 20


@pytest.mark.parametrize(("status", "code"), [("complete", "32m"), ("failed", "33m")])
def test_a_status_has_a_color(status, code):
    assert f"{code} {status}" in shown([("a", "now", status, "1", "")], color="standard")


@pytest.mark.parametrize(
    "cells",
    [
        pytest.param(["a", "–", "ab–"], id="dashes-are-one-cell-wide"),
        pytest.param(["請", "abc"], id="wide-character"),
        pytest.param(["請a", "e\u0301", "ab"], id="wide-and-combining-characters"),
        pytest.param(["e\u0301e\u0301", "ab"], id="combining-characters"),
    ],
)
def test_columns_are_aligned(cells):
    rows = [(cell, "|", "complete", "7", "") for cell in cells]
    before = {cell_len(line.partition("|")[0]) for line in shown(rows).splitlines()[1:]}
    assert before == {max(3, *map(cell_len, cells)) + 1}


PLAIN = RunEntry(
    id="first",
    status="complete",
    started_at="2025-01-31T12:00:00.123+00:00",
    cases=7,
    metrics={"mean_score": 0.12345, "macro_f1_by_attribute": 1.0, "micro_f1": None},
)


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(PLAIN, id="plain"),
        pytest.param(PLAIN._replace(metrics=None, cases=None), id="without-metrics"),
        pytest.param(PLAIN._replace(id="a\x1b[31m"), id="escape-sequence-in-id"),
        pytest.param(PLAIN._replace(started_at="\x07now"), id="control-character-in-time"),
        pytest.param(PLAIN._replace(status="odd\u202e"), id="bidi-override-in-status"),
        pytest.param(PLAIN._replace(id="\ud800 請求書"), id="lone-surrogate"),
        pytest.param(PLAIN._replace(tags=["a", "b"]), id="tags"),
        pytest.param(PLAIN._replace(note=" a\n  b\x1b "), id="multiline-note"),
        pytest.param(PLAIN._replace(tags=["a"], note="why"), id="tags-and-note"),
        pytest.param(PLAIN._replace(tags=["a"], note="why", problem="truncated file"), id="problem"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("width", [120, 60])
def test_plain_and_styled_output_have_the_same_text(entry, width):
    document = RunList(entries=(PLAIN, entry, PLAIN)).document()
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(RichDocument(document), crop=False)
    assert document_text(document, width=width) == console.file.getvalue()
