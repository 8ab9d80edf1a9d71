"""A run without values: paths and scores stay, whatever may quote a document goes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcomes import AttributeTable, Outcomes
from fieldmark.report.html.shown import ShownCase, ShownRun, listed, mapping

__all__ = ["hidden_case", "shown_with", "without_values"]

_OF_RUN: Final = frozenset(
    {"format", "command", "fieldmark", "python", "convention", "eval", "inputs", "limits", "status",
     "started_at", "finished_at", "attributes"}
)  # fmt: skip
"""What a manifest says of a run; the rest is what someone asked for, which may hold examples."""

_OF_CASE: Final = frozenset(
    {"case_id", "segment", "score", "verdict", "status", "counts", "errors_by_type", "quality",
     "input", "parsed_from", "tags", "hits_total", "misses_total"}
)  # fmt: skip
_OF_EVALUATOR: Final = frozenset({"name", "type", "score", "weight", "verdict", "status"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _HiddenCase:
    """One case, as far as it can be told without quoting its documents."""

    id: str
    score: float | None
    verdict: str | None
    status: str
    block: Outcomes
    table: AttributeTable
    input: str
    tags: tuple[str, ...]
    row: JsonObject
    evaluator_results: list[JsonObject]
    expected: Missing = MISSING
    candidate: Missing = MISSING
    note: str = ""


def shown_with(run: ShownRun, *, values: bool) -> ShownRun:
    """The run itself, or the run without values."""
    return run if values else without_values(run)


def without_values(run: ShownRun) -> ShownRun:
    """The run with paths and scores only: no values, notes, reasons in words or warnings."""
    # A warning names the first thing that went wrong in its own words.
    hidden = len(listed(run.summary.get("warnings")))
    told = f"{hidden} {'warning is' if hidden == 1 else 'warnings are'} not shown"
    warnings: list[JsonValue] = [f"{told}: values are left out"] if hidden else []

    def cases() -> Iterator[ShownCase]:
        return map(hidden_case, run.cases())

    return replace(
        run,
        manifest={key: value for key, value in run.manifest.items() if key in _OF_RUN},
        summary={**_classless(run.summary), "warnings": warnings},
        cases=cases,
    )


def _classless(summary: JsonObject) -> JsonObject:
    """The summary without the names of classes of regions, which are values of documents."""
    shown = {key: value for key, value in summary.items() if key != "detection"}
    if detection := _without_classes(mapping(summary.get("detection"))):
        shown["detection"] = detection
    if evaluators := mapping(summary.get("evaluators")):
        shown["evaluators"] = {name: _figures_of(mapping(e)) for name, e in evaluators.items()}
    return shown


def _figures_of(evaluator: JsonObject) -> JsonObject:
    if "figures" not in evaluator:
        return evaluator
    return {**evaluator, "figures": _without_classes(mapping(evaluator["figures"]))}


def _without_classes(figures: JsonObject) -> JsonObject:
    return {key: value for key, value in figures.items() if key != "classes"}


def hidden_case(case: ShownCase) -> ShownCase:
    """The case with paths and scores only."""
    said = {
        position: each._replace(note="") if each.note else each
        for position, each in case.block.comparisons.items()
    }
    results: list[JsonObject] = [
        {key: value for key, value in each.items() if key in _OF_EVALUATOR}
        for each in case.evaluator_results
    ]
    return _HiddenCase(
        id=case.id,
        score=case.score,
        verdict=case.verdict,
        status=case.status,
        block=Outcomes(case.block.cells, said, case.block.items, fallback=case.block.fallback),
        table=case.table,
        input=case.input,
        tags=case.tags,
        row={key: value for key, value in case.row.items() if key in _OF_CASE},
        evaluator_results=results,
    )
