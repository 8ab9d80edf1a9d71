"""JSON: the whole run in one file, with every field of every case."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fieldmark.evaluators.base import Score
from fieldmark.model.case import CaseInput
from fieldmark.model.json import MISSING, JsonObject
from fieldmark.report.exports.hiding import shown_with
from fieldmark.report.exports.outcomes import VALUES, OutcomeRow, outcome_rows
from fieldmark.report.exports.text import json_bytes
from fieldmark.report.exports.whole import whole_file
from fieldmark.report.html.shown import ShownRun
from fieldmark.wire.case_result import CaseResult

__all__ = ["case_document", "write_json"]

_FORMAT: Final = 1
_WITHOUT_TEXT: Final = ("name", "type", "weight", "score", "verdict", "status")
"""What the result of an evaluator says without quoting a document."""


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


def case_document(case: CaseResult, *, values: bool = True) -> JsonObject:
    """All that is known of a case, its outcomes as objects."""
    stats, read = case.stats, case.case
    document: JsonObject = {
        "case_id": case.id,
        "score": case.score,
        "verdict": case.verdict,
        "status": case.status,
        "counts": dict(stats.counts._asdict()),
        "errors_by_type": dict(stats.errors._asdict()),
        "quality": dict(stats.quality._asdict()),
    }
    if read.input is not CaseInput.OK:
        document["input"] = case.input
        if case.has_values:
            document["note"] = read.note
    if read.parsed_from:
        document["parsed_from"] = read.parsed_from
    if case.tags:
        document["tags"] = list(case.tags)
    if case.outcomes.fallback:
        document["fallback"] = True
    if case.overall is not None:
        document |= _evaluations(case, case.overall)
    outcomes = [_outcome(row, values=values) for row in outcome_rows(case)]
    return {**document, "outcomes": list(outcomes)}


def _evaluations(case: CaseResult, overall: Score) -> JsonObject:
    results = [each.to_dict() for each in case.evaluator_results]
    if case.has_values:
        return {
            "hits": list(overall.hits),
            "misses": list(overall.misses),
            "reasoning": overall.reasoning,
            "evaluator_results": list(results),
        }
    return {
        "hits_total": case.stats.hits,
        "misses_total": case.stats.misses,
        "evaluator_results": [{key: each[key] for key in _WITHOUT_TEXT} for each in results],
    }


def _outcome(row: OutcomeRow, *, values: bool) -> JsonObject:
    """A field as an object; a value that is not there is left out."""
    told: JsonObject = {}
    for name, value in zip(row._fields[1:], row[1:], strict=True):
        if value is not MISSING and (values or name not in VALUES):
            told[name] = value
    return {**told, "flags": list(row.flags.split())}
