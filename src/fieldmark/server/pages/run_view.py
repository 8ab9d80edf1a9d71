"""The first look at a run: everything that its summary says, which needs no case to be read."""

from __future__ import annotations

from fieldmark.model.json import JsonObject
from fieldmark.report.html.detection import detection_lines
from fieldmark.report.html.figures import (
    attribute_lines,
    domain_lines,
    gate_lines,
    tiles,
    verdict_of,
)
from fieldmark.report.html.method import evaluator_lines
from fieldmark.report.html.shown import mapping, whole
from fieldmark.server.app_state import AppState
from fieldmark.server.routes.runs import comparators_by_attribute, run_description
from fieldmark.store.reader import StoredRun

__all__ = ["run_view"]


def run_view(state: AppState, run: str) -> JsonObject:
    """The figures of a run in the form that the components of the report draw."""
    error_body = run_description(state, run)
    summary = mapping(error_body["summary"])
    manifest = mapping(error_body["manifest"])
    view: JsonObject = {
        "run": error_body,
        "title": str(error_body["note"] or manifest.get("eval") or run),
        "made": str(manifest.get("finished_at") or manifest.get("started_at") or ""),
        "convention": str(mapping(manifest.get("convention")).get("name", "")),
        "write": state.options.write,
    }
    stored = state.catalog.run(run)
    if not summary:
        return {**view, "going_on": _going_on(stored)}
    return {
        **view,
        "verdict": verdict_of(summary),
        "gates": gate_lines(summary),
        "tiles": tiles(summary),
        "micro": _numbers(summary, "micro"),
        "totals": _numbers(summary, "cases"),
        "verdicts": _numbers(summary, "verdicts"),
        "errors": _numbers(summary, "errors_by_type"),
        "attributes": attribute_lines(summary, comparators_by_attribute(stored)),
        "domains": domain_lines(summary),
        "evaluators": evaluator_lines(summary),
        "detection": detection_lines(summary),
        "warnings": summary.get("warnings") or [],
    }


def _going_on(stored: StoredRun) -> str:
    """What can be done about a run that did not end."""
    if not isinstance(stored.manifest.get("request"), dict):
        return (
            "It has no figures, and it cannot go on: what it was made from came with a request,"
            " from memory or from standard input. Start it again."
        )
    command = f"fieldmark {stored.manifest.get('command')} --resume runs/{stored.path.name}"
    return f"It has no figures. If nothing writes to it any more, it can go on with: {command}"


def _numbers(summary: JsonObject, name: str) -> JsonObject:
    return {key: whole(value) for key, value in mapping(summary.get(name)).items()}
