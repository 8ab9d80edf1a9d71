"""A run without values: paths and scores stay, whatever may quote a document goes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.html.shown import ShownRun, listed, mapping
from fieldmark.wire.case_result import CaseResult

__all__ = ["shown_with", "without_values"]

_OF_RUN: Final = frozenset(
    {"format", "command", "fieldmark", "python", "convention", "eval", "inputs", "limits", "status",
     "started_at", "finished_at", "attributes"}
)  # fmt: skip
"""What a manifest says of a run; the rest is what someone asked for, which may hold examples."""


def shown_with(run: ShownRun, *, values: bool) -> ShownRun:
    """The run itself, or the run without values."""
    return run if values else without_values(run)


def without_values(run: ShownRun) -> ShownRun:
    """The run with paths and scores only: no values, notes, reasons in words or warnings."""
    # A warning names the first thing that went wrong in its own words.
    hidden = len(listed(run.summary.get("warnings")))
    told = f"{hidden} {'warning is' if hidden == 1 else 'warnings are'} not shown"
    warnings: list[JsonValue] = [f"{told}: values are left out"] if hidden else []

    def cases() -> Iterator[CaseResult]:
        return (case.without_values() for case in run.cases())

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
