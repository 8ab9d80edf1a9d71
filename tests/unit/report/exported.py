"""Runs to export: an ordinary run, and a run in which every string is hostile."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from rich.console import Console

import fieldmark as fm
from fieldmark.report.shown_run import ShownRun
from fieldmark.runs.stored_run import open_run

DATA = Path(__file__).parents[2] / "data"
FORMULAS = (DATA / "csv-injection" / "csv-payload.txt").read_text("utf-8").splitlines()
NAUGHTY = json.loads((DATA / "naughty-strings" / "blns_even.json").read_text("utf-8"))
ODD = [
    "=1+1",
    "+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "_x0041_",
    "\ufffe\uffff",
    "\x00\x01\x1b[31m\x7f\x85",
    "]]>",
    "a|b\\|c`d``",
    "@everyone #tag http://example.invalid <b>x</b> ![](x)",
    " ",
    "line\nbreak\r\n\u2028",
    "\u202egnp.exe",
    "lone surrogate: \ud800",
]
HOSTILE = list(dict.fromkeys([*FORMULAS, *ODD, *NAUGHTY]))

TRUTH = [
    {"id": "a", "expected": {"vendor": "Acme GmbH", "total": 12.5, "items": [{"d": "x", "q": 3}]}},
    {"id": "b", "expected": {"vendor": "Bolt", "total": 1, "items": []}},
    {"id": "c", "expected": {"vendor": "Gone", "total": 2, "items": []}},
]
CANDIDATES = [
    {
        "id": "a",
        "candidate": {"vendor": "Acme Gmbh", "total": "twelve", "items": [{"d": "y", "q": 3}]},
    },
    {"id": "b", "candidate": {"vendor": "Bolt", "total": 1, "items": []}},
]


def shown(directory):
    run = open_run(directory)
    return ShownRun(
        name=run.path.name,
        manifest=run.manifest,
        summary=run.summary,
        cases=run.cases,
        attributes=run.compared_attributes,
    )


def stored_case(directory, expected, candidate, **options):
    """Score one case and return it as a run directory has it."""
    fm.score([(expected, candidate)], out=directory / "run", **options)
    (case,) = open_run(directory / "run").cases()
    return case


def rows_of(table):
    """Return the rows of a table as objects, as the page reads them."""
    return [_row_of(table["columns"], row) for row in table["rows"]]


def _row_of(columns, values):
    row = {}
    for column, value in zip(columns, values, strict=False):
        if column == "members":
            row[column] = rows_of({"columns": columns, "rows": value})
        elif isinstance(column, dict):
            nested = isinstance(value, list)
            row[column["name"]] = _row_of(column["columns"], value) if nested else value
        else:
            row[column] = value
    return row


def ordinary_run(directory, **options):
    fm.score(TRUTH, CANDIDATES, out=directory, **options)
    return shown(directory)


def hostile_run(directory):
    """Score a run with every hostile string as a key, as a value on each side, and as a case id."""
    truth = [
        {"id": text, "expected": {text: text, "same": text, "missing": text}}
        for text in HOSTILE
        if text
    ]
    candidates = [
        {"id": text, "candidate": {text: f"{text}!", "same": text, "extra": text}}
        for text in HOSTILE
        if text
    ]
    fm.score(truth, candidates, out=directory)
    return shown(directory)


def read_csv(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def as_text(renderable, *, width=120):
    """Render without colors, as a terminal of this width would show it."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(renderable, crop=False)
    return console.file.getvalue().rstrip("\n")
