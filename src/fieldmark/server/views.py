"""The data that pages show: a compared pair, a case, and the summary of a run."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, cast

import orjson

from fieldmark.compare.auto import comparator_for
from fieldmark.errors import ConfigError, DataError
from fieldmark.metrics.clusters import MistakeClusters
from fieldmark.metrics.headline import METRIC_TITLES
from fieldmark.metrics.quality import QualityBuckets, bucket_table, rqs_formula
from fieldmark.model.case import CaseInput
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.model.outcome import fact
from fieldmark.model.rule import Rules
from fieldmark.report.html import cases
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
)
from fieldmark.report.shown_run import comparators_by_attribute
from fieldmark.run.stored_cases import check_rescorable
from fieldmark.server.app_state import AppState
from fieldmark.store.index import COMPLETE
from fieldmark.store.notes import read_notes
from fieldmark.store.reader import StoredRun
from fieldmark.values.paths import PathError, covers, parse_path
from fieldmark.wire.case_result import CaseResult, FieldResult
from fieldmark.wire.manifest import manifest_to_json
from fieldmark.wire.summary import summary_to_json

__all__ = [
    "case_documents",
    "describe_run",
    "pair_view",
    "rescore_problem",
    "rescore_view",
    "review_view",
    "run_view",
]

_AUTO: Final = "auto"
_MAX_OTHER_RUNS: Final = 50


def pair_view(result: CaseResult, rules: Rules) -> JsonObject:
    """Return the data for the tabs of a compared pair, in addition to its metrics."""
    tiles = case_tiles(result)
    return {
        "tiles": [tile.to_dict() for tile in tiles],
        "formula": rqs_formula(result.convention.counting) if has_rqs(tiles) else "",
        "documents": case_documents(result),
        "buckets": _paths_by_bucket(result),
        "fields": [
            _compared_field(field, rules)
            for field in result.fields
            if field.expected_presence == field.candidate_presence == "value"
        ],
        "recommendations": _recommendations(result),
    }


def case_documents(case: CaseResult) -> JsonValue:
    """Return both documents of a case side by side, or None if they are too large."""
    view = cases.case_documents(case)
    documents: JsonValue = None if view is None else orjson.loads(view)
    return documents


def _paths_by_bucket(result: CaseResult) -> JsonObject:
    table = bucket_table(result.convention.counting.ignore_scope)
    paths: dict[str, list[JsonValue]] = {name: [] for name in QualityBuckets._fields}
    for record in result.outcomes.records(result.attributes):
        code = fact(record.outcome, record.expected_presence, record.candidate_presence)
        for name, size in table[code].buckets()._asdict().items():
            if size:
                paths[name].append(record.path)
    return dict(paths.items())


def _compared_field(field: FieldResult, rules: Rules) -> JsonObject:
    """Return the strategy, similarity and threshold of a field with values on both sides."""
    strategy = field.comparator
    detected = strategy == _AUTO and field.expected is not MISSING
    if detected:
        strategy = comparator_for(cast("JsonValue", field.expected))
    has_threshold = not detected or strategy == "semantic"
    return {
        "path": field.path,
        "strategy": strategy,
        "detected": detected,
        "outcome": field.outcome,
        "similarity": field.similarity,
        "threshold": _threshold(field, rules) if has_threshold else None,
        "note": field.note,
    }


def _threshold(field: FieldResult, rules: Rules) -> float | None:
    comparator = rules.default
    try:
        attribute = parse_path(field.attribute)
        for rule in rules.fields:
            if rule.comparator is not None and covers(parse_path(rule.path), attribute):
                comparator = rule.comparator
    except PathError:
        return None
    threshold = getattr(comparator, "threshold", None)
    return float(threshold) if isinstance(threshold, int | float) else None


def _recommendations(result: CaseResult) -> list[JsonValue]:
    """Return recommendations for the extraction, most frequent pattern first."""
    clusters = MistakeClusters()
    case = result.case._replace(input=CaseInput.OK)
    clusters.add(result.outcomes, result.attributes, case)
    return [
        {
            "pattern": each.pattern.name,
            "title": each.pattern.title,
            "hint": each.pattern.hint,
            "mistakes": each.number,
            "fields": [example.path for example in each.examples],
        }
        for each in clusters.largest()
    ]


def describe_run(state: AppState, stored: StoredRun) -> JsonObject:
    """Return all data of a run except its cases and attributes."""
    notes = read_notes(stored.path)
    # Long lists and file locations are not part of responses.
    manifest = manifest_to_json(replace(stored.manifest, lists={}, options=None))
    summary = None if stored.summary is None else summary_to_json(stored.summary)
    return {
        "id": stored.path.name,
        "status": stored.status,
        "saved": state.catalog.is_saved(stored.path),
        "manifest": state.redactor.redact(manifest),
        "summary": state.redactor.redact(summary),
        "tags": list(notes.tags),
        "note": notes.note,
    }


def run_view(state: AppState, run: str) -> JsonObject:
    """Return the summary of a run in the form that the report components expect."""
    stored = state.catalog.open(run)
    described = describe_run(state, stored)
    manifest, summary = stored.manifest, stored.summary
    view: JsonObject = {
        "run": described,
        "title": str(described["note"] or state.redactor.redact_text(manifest.eval) or run),
        "date": manifest.finished_at or manifest.started_at,
        "convention": manifest.convention.name,
        "write": state.options.write,
        "has_parent": bool(manifest.parent) and state.catalog.has(manifest.parent),
    }
    if summary is None:
        return {**view, "resume_note": _resume_note(stored)}
    metrics = metrics_view(summary)
    return {
        **view,
        **metrics,
        "gates": state.redactor.redact(metrics["gates"]),
        "attributes": attribute_lines(
            summary, comparators_by_attribute(stored.compared_attributes)
        ),
        "domains": domain_lines(summary),
        "evaluators": evaluator_lines(summary),
        "detection": [each.to_json() for each in detection_tables(summary)],
        "slices": state.redactor.redact(slice_lines(summary)),
        "confidence": confidence_view(summary),
        "warnings": state.redactor.redact(list(summary.warnings)),
    }


def review_view(state: AppState, run: str) -> JsonObject:
    """Return what the page of a review needs besides its fields."""
    stored = state.catalog.open(run)
    summary = stored.summary
    listed = [each.entry for each in reversed(state.catalog.entries())]
    own = next((each.comparable for each in listed if each.id == run), "")
    others = [each for each in listed if each.id != run and each.status == COMPLETE]
    others.sort(key=lambda each: not own or each.comparable != own)
    return {
        "run": run,
        "title": read_notes(stored.path).note or run,
        "writable": state.options.write or not state.catalog.is_saved(stored.path),
        "complete": summary is not None,
        "titles": dict(METRIC_TITLES),
        "cases": 0 if summary is None else summary.cases.total,
        "confidence": summary is not None and summary.confidence is not None,
        "others": [
            {"id": each.id, "name": each.note or each.id, "comparable": each.comparable == own}
            for each in others[:_MAX_OTHER_RUNS]
        ],
    }


def rescore_view(state: AppState, run: str) -> JsonObject:
    """Return the rules of a run, and its attributes, for editing the rules."""
    stored = state.catalog.open(run)
    note = read_notes(stored.path).note
    return {
        "run": run,
        "title": str(note or state.redactor.redact_text(stored.manifest.eval) or run),
        "rules": stored.manifest.rules,
        "applied": {
            "convention": stored.manifest.convention.name,
            "provider": [str(each.get("name")) for each in stored.manifest.providers],
        },
        "problem": rescore_problem(state, stored),
        "attributes": [
            [each.path, each.comparator, each.weight, each.configured]
            for each in stored.compared_attributes
        ],
        "write": state.options.write,
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
    return (
        "It has no metrics yet. If it is no longer being written, it can be resumed from the"
        " command line."
    )
