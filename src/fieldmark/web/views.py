"""The data that pages show: a compared pair, a case, and the summary of a run."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import orjson

from fieldmark.analyses.run_result import RunResult
from fieldmark.errors import ConfigError, DataError
from fieldmark.metrics.mistakes import MistakeClusters, MistakeReader
from fieldmark.metrics.patterns import BY_NAME
from fieldmark.metrics.summary import summary_to_json
from fieldmark.model.case import CaseInput
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.rule import Rules
from fieldmark.report.html import cases
from fieldmark.report.html.metric_tabs import case_metrics, run_quality
from fieldmark.report.html.metrics import (
    attribute_lines,
    case_tiles,
    confidence_view,
    detection_tables,
    domain_lines,
    evaluator_lines,
    has_rqs,
    metrics_view,
    slice_lines,
    tiles,
)
from fieldmark.report.metric_titles import METRIC_TITLES, rqs_formula
from fieldmark.report.shown_run import comparators_by_attribute
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.manifest import RunEntry
from fieldmark.runs.run_index import COMPLETE, read_notes, title_of
from fieldmark.runs.stored_cases import check_rescorable
from fieldmark.runs.stored_run import StoredRun
from fieldmark.values.records import to_json
from fieldmark.web.app_state import AppState

_MAX_OTHER_RUNS: Final = 50


def pair_view(result: CaseResult, rules: Rules) -> JsonObject:
    """Return the data for the tabs of a compared pair, in addition to its metrics."""
    shown = case_tiles(result)
    return {
        "tiles": [tile.to_dict() for tile in shown],
        "formula": rqs_formula(result.convention.counting) if has_rqs(shown) else "",
        "documents": case_documents(result, metrics=False),
        "metrics": case_metrics(result, rules),
        "recommendations": _recommendations(result),
    }


def case_documents(case: CaseResult, *, metrics: bool = True) -> JsonValue:
    """Return both documents of a case side by side, or None if they are too large."""
    view = cases.case_documents(case, metrics=metrics)
    documents: JsonValue = None if view is None else orjson.loads(view)
    return documents


def _recommendations(result: CaseResult) -> list[JsonValue]:
    """Return recommendations for the extraction, most frequent pattern first."""
    clusters = MistakeClusters()
    case = result.case._replace(input=CaseInput.OK)
    clusters.add(MistakeReader().read(result.outcomes, result.attributes, case))
    return [
        {
            "pattern": cluster.pattern.name,
            "title": cluster.pattern.title,
            "hint": cluster.pattern.hint,
            "mistakes": cluster.number,
            "fields": [example.path for example in cluster.examples],
        }
        for cluster in clusters.largest()
    ]


def describe_run(state: AppState, stored: StoredRun) -> JsonObject:
    """Return all data of a run except its cases and attributes."""
    notes = read_notes(stored.path)
    # Long lists and file locations are not part of responses.
    manifest = to_json(replace(stored.manifest, lists={}, options=None))
    summary = None if stored.summary is None else summary_to_json(stored.summary)
    return {
        "id": stored.path.name,
        "status": stored.status,
        "saved": state.catalog.is_saved(stored.path),
        "manifest": state.redactor.redact(manifest),
        "summary": state.redactor.redact(summary),
        "name": notes.name,
        "tags": list(notes.tags),
        "note": notes.note,
        "archived": notes.archived,
    }


def job_result(state: AppState, result: RunResult) -> JsonObject:
    """Return the result of a job that made a run."""
    return {
        "saved": state.options.write,
        "passed": result.passed,
        "notes": [state.redactor.redact_text(note) for note in result.notes],
        "headline": [tile.to_dict() for tile in tiles(result.summary)[:2]],
        "summary": state.redactor.redact(result.to_dict()),
    }


def shown_title(state: AppState, stored: StoredRun) -> str:
    """Return the name of a run for people, without the location of files."""
    return state.redactor.redact_text(title_of(stored))


def run_view(state: AppState, run: str) -> JsonObject:
    """Return the summary of a run in the form that the report components expect."""
    stored = state.catalog.open(run)
    described = describe_run(state, stored)
    manifest, summary = stored.manifest, stored.summary
    entries = (listed.entry for listed in state.catalog.entries())
    parent_title = next((entry.title for entry in entries if entry.id == manifest.parent), "")
    view: JsonObject = {
        "run": described,
        "title": shown_title(state, stored),
        "date": manifest.finished_at or manifest.started_at,
        "convention": manifest.convention.name,
        "write": state.options.write,
        "parent_title": state.redactor.redact_text(parent_title),
    }
    if summary is None:
        return {**view, "resume_note": _resume_note(stored), "attributes": []}
    metrics = metrics_view(summary)
    comparators = comparators_by_attribute(stored.compared_attributes)
    return {
        **view,
        **metrics,
        "gates": state.redactor.redact(metrics["gates"]),
        "attributes": attribute_lines(summary, comparators),
        "quality": run_quality(summary, comparators),
        "domains": domain_lines(summary),
        "evaluators": evaluator_lines(summary),
        "detection": [table.to_json() for table in detection_tables(summary)],
        "slices": state.redactor.redact(slice_lines(summary)),
        "confidence": confidence_view(summary),
        "patterns": {name: pattern.title for name, pattern in BY_NAME.items()},
        "warnings": state.redactor.redact(list(summary.warnings)),
    }


def review_view(state: AppState, run: str) -> JsonObject:
    """Return the data for the page of a review besides its fields."""
    stored = state.catalog.open(run)
    summary = stored.summary
    listed = [listed_run.entry for listed_run in reversed(state.catalog.entries())]
    own = next((entry for entry in listed if entry.id == run), RunEntry(run, stored.status))
    complete = [entry for entry in listed if entry.id != run and entry.status == COMPLETE]
    others = [entry for entry in complete if _has_cases_of(entry, own)]
    others.sort(key=lambda entry: entry.comparable != own.comparable)
    return {
        "run": run,
        "title": shown_title(state, stored),
        "writable": state.options.write or not state.catalog.is_saved(stored.path),
        "complete": summary is not None,
        "titles": dict(METRIC_TITLES),
        "cases": 0 if summary is None else summary.cases.total,
        "confidence": summary is not None and summary.confidence is not None,
        "others": [
            {
                "id": entry.id,
                "name": state.redactor.redact_text(entry.title),
                "comparable": entry.comparable == own.comparable,
            }
            for entry in others[:_MAX_OTHER_RUNS]
        ],
    }


def _has_cases_of(entry: RunEntry, own: RunEntry) -> bool:
    """Whether two runs probably have the same cases; only the reader of both knows it for sure."""
    if own.comparable and entry.comparable == own.comparable:
        return True
    return bool(own.truth) and (entry.truth, entry.cases) == (own.truth, own.cases)


def rescore_view(state: AppState, run: str) -> JsonObject:
    """Return the rules of a run, and its attributes, for editing the rules."""
    stored = state.catalog.open(run)
    return {
        "run": run,
        "title": shown_title(state, stored),
        "rules": stored.manifest.rules,
        "applied": stored.manifest.convention.name,
        "problem": rescore_problem(state, stored),
        "attributes": [
            {"attribute": attribute.path, "comparator": attribute.comparator}
            for attribute in stored.compared_attributes
        ],
    }


def rescore_problem(state: AppState, run: StoredRun) -> str:
    """Return why a run cannot be rescored with other rules; empty if it can."""
    try:
        check_rescorable(run)
    except ConfigError as error:
        return state.redactor.redact_text("; ".join(map(str, error.problems)))
    except DataError as error:
        return state.redactor.redact_text(error.message)
    return ""


def _resume_note(stored: StoredRun) -> str:
    if stored.manifest.options is None:
        return (
            "It has no metrics and cannot be resumed, because its data was not stored: it came"
            " from a request, from memory or from standard input. Start the run again."
        )
    command = "eval" if stored.manifest.command == "eval" else "score"
    return (
        "It has no metrics yet. If it is no longer being written, it can be resumed in the"
        f" workspace: fieldmark {command} --resume runs/{stored.path.name}"
    )
