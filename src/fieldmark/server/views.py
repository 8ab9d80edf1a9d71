"""What pages draw of a pair that was compared: documents, buckets, strategies, recommendations."""

from __future__ import annotations

from typing import Final

import orjson

from fieldmark.compare.auto import Detected, detect
from fieldmark.metrics.clusters import CaseDocuments, MistakeClusters
from fieldmark.metrics.quality import QualityBuckets, bucket_table
from fieldmark.model.case import CaseInput
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.model.outcome import fact
from fieldmark.model.rule import Rules
from fieldmark.report.html.case_view import opened_case
from fieldmark.store.reader import StoredCase
from fieldmark.values.paths import PathError, covers, parse_path
from fieldmark.wire.case_result import CaseResult, FieldResult

__all__ = ["opened", "pair_view"]

_AUTO: Final = "auto"


def pair_view(result: CaseResult, rules: Rules) -> JsonObject:
    """Everything beside the figures, of one pair under settled rules."""
    case = result.case
    shown = StoredCase(
        id=case.id,
        score=result.score,
        verdict=result.verdict,
        status=result.status,
        block=result.outcomes,
        table=result.attributes,
        expected=case.expected,
        candidate=case.candidate,
    )
    return {
        "documents": opened(shown),
        "buckets": _buckets(result),
        "fields": [_compared(field, rules) for field in result.fields if _both(field)],
        "recommendations": _recommendations(result),
    }


def opened(case: StoredCase) -> JsonValue:
    """The documents of a case side by side; nothing where they are too large to draw."""
    view = opened_case(case)
    found: JsonValue = None if view is None else orjson.loads(view)
    return found


def _buckets(result: CaseResult) -> JsonObject:
    """The fields by bucket, under the names that reports use for them."""
    table = bucket_table(result.convention.counting.ignore_scope)
    keys: dict[str, list[JsonValue]] = {name: [] for name in QualityBuckets._fields}
    for record in result.outcomes.records(result.attributes):
        code = fact(record.outcome, record.expected_presence, record.candidate_presence)
        for name, size in table[code].buckets()._asdict().items():
            if size:
                keys[name].append(record.path)
    return dict(keys.items())


def _both(field: FieldResult) -> bool:
    return field.expected_presence == field.candidate_presence == "value"


def _compared(field: FieldResult, rules: Rules) -> JsonObject:
    """A field with values on both sides: the strategy, what it found, and what it asks for."""
    strategy = field.comparator
    if strategy == _AUTO and field.expected is not MISSING:
        strategy = "semantic" if detect(field.expected) is Detected.TEXT else "exact_text"
    return {
        "path": field.path,
        "strategy": strategy,
        "detected": field.comparator == _AUTO,
        "outcome": field.outcome,
        "similarity": field.similarity,
        "threshold": _threshold(field, strategy, rules),
        "note": field.note,
    }


def _threshold(field: FieldResult, strategy: str, rules: Rules) -> float | None:
    comparator = rules.default
    try:
        attribute = parse_path(field.attribute)
        for rule in rules.fields:
            if rule.comparator is not None and covers(parse_path(rule.path), attribute):
                comparator = rule.comparator
    except PathError:
        return None
    if strategy == "exact_text":
        return None
    found = getattr(comparator, "threshold", None)
    return float(found) if isinstance(found, int | float) else None


def _recommendations(result: CaseResult) -> list[JsonValue]:
    """What to change in the extraction, the most frequent pattern first."""
    clusters = MistakeClusters()
    case = result.case
    clusters.add(
        result.outcomes,
        result.attributes,
        CaseDocuments(case.id, case.expected, case.candidate, CaseInput.OK),
    )
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
