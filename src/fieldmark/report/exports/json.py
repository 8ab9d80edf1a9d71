"""JSON: the whole run in one file, with every field of every case."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fieldmark.model.json import MISSING, JsonObject
from fieldmark.report.exports.hiding import shown_with
from fieldmark.report.exports.outcomes import VALUES, OutcomeRow, outcome_rows
from fieldmark.report.exports.text import json_bytes
from fieldmark.report.exports.whole import whole_file
from fieldmark.report.html.shown import ShownCase, ShownRun

__all__ = ["case_document", "write_json"]

_FORMAT: Final = 1
_STORED: Final = frozenset(
    {"segment", "attributes", "cells", "comparisons", "items", "expected", "candidate"}
)
"""Parts of a row that outcomes say in full."""


def write_json(run: ShownRun, out: Path, *, values: bool = True) -> None:
    """What the run was made from, its summary, and its cases one after the other."""
    shown = shown_with(run, values=values)
    head: JsonObject = {
        "format": _FORMAT,
        "name": shown.name,
        "manifest": shown.manifest,
        "summary": shown.summary,
    }
    with whole_file(out) as beside, beside.open("wb") as file:
        file.write(json_bytes(head)[:-1] + b',"cases":[')
        before = b"\n"
        for case in shown.cases():
            file.write(before + json_bytes(case_document(case, values=values)))
            before = b",\n"
        file.write(b"\n]}\n")


def case_document(case: ShownCase, *, values: bool = True) -> JsonObject:
    """All that is known of a case, its outcomes as objects."""
    said = {key: value for key, value in case.row.items() if key not in _STORED}
    if "evaluator_results" in case.row or case.evaluator_results:
        said["evaluator_results"] = list(case.evaluator_results)
    outcomes = [_outcome(row, values=values) for row in outcome_rows(case)]
    return {"case_id": case.id, **said, "outcomes": list(outcomes)}


def _outcome(row: OutcomeRow, *, values: bool) -> JsonObject:
    """A field as an object; a value that is not there is left out."""
    told: JsonObject = {}
    for name, value in zip(row._fields[1:], row[1:], strict=True):
        if value is not MISSING and (values or name not in VALUES):
            told[name] = value
    return {**told, "flags": list(row.flags.split())}
