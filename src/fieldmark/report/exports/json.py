"""JSON export: the whole run in one file, with all fields of all cases."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from fieldmark.metrics.summary import summary_to_json
from fieldmark.model.case import CaseInput
from fieldmark.model.json import JsonObject, JsonValue, Missing
from fieldmark.report.exports.common import (
    atomic_path,
    evaluator_rows,
    field_columns,
    field_row,
    mistakes_of,
)
from fieldmark.report.shown_run import ShownRun
from fieldmark.runs.case_result import CaseResult
from fieldmark.values.json_text import strict_json
from fieldmark.values.records import to_json

_FORMAT: Final = 1
_OF_CASE: Final = frozenset({"case_id", "tags", "metadata"})
"""The columns of fields that are the same in all fields of a case."""


@dataclass(frozen=True, slots=True)
class Json:
    """Everything as one JSON document."""

    name: ClassVar[str] = "json"
    file: ClassVar[str] = "report.json"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write the manifest, the summary and all cases."""
        manifest = to_json(run.manifest)
        if not run.has_values:
            del manifest["segment_size"]
        head: JsonObject = {
            "format": _FORMAT,
            "name": run.name,
            "manifest": manifest,
            "summary": summary_to_json(run.summary),
        }
        with atomic_path(out) as path, path.open("wb") as file:
            file.write(strict_json(head)[:-1] + b',"cases":[')
            separator = b"\n"
            for case in run.cases():
                file.write(separator + strict_json(case_document(case, values=run.has_values)))
                separator = b",\n"
            file.write(b"\n]}\n")


def case_document(
    case: CaseResult, *, values: bool = True, only_mistakes: bool = False
) -> JsonObject:
    """Return a case with its outcomes, or its mistakes, as objects without absent values."""
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
    if stats.vacuous:
        document["vacuous"] = True
    if case.bounds is not None:
        document |= {"error": case.error, "bounds": to_json(case.bounds)}
    if read.input is not CaseInput.OK:
        document["input"] = case.input
        if case.has_values:
            document["note"] = read.note
    if read.parsed_from:
        document["parsed_from"] = read.parsed_from
    if case.tags:
        document["tags"] = list(case.tags)
    if case.metadata:
        document["metadata"] = case.metadata
    if case.outcomes.fallback:
        document["fallback"] = True
    if case.overall is not None:
        if case.has_values:
            document |= {
                "hits": list(case.overall.hits),
                "misses": list(case.overall.misses),
                "reasoning": case.overall.reasoning,
            }
        else:
            document |= {"hits_total": case.stats.hits, "misses_total": case.stats.misses}
        document["evaluator_results"] = list[JsonValue](evaluator_rows(case))
    known = field_columns(values=values, confidence=case.confidences is not None)
    columns = [name for name in known if name not in _OF_CASE]
    outcomes: list[JsonValue] = []
    for field in mistakes_of(case) if only_mistakes else case.iter_fields():
        row = field_row(case, field)
        cells = ((name, row[name]) for name in columns)
        outcomes.append({name: cell for name, cell in cells if not isinstance(cell, Missing)})
    return {**document, "outcomes": outcomes}
