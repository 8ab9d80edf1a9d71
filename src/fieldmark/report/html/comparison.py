"""The comparison of two runs for the page: a view of their difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from fieldmark.metrics.difference import CaseChange
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.html.metrics import tiles
from fieldmark.wire.run_diff import RunDiff

__all__ = ["comparison_view"]

_MAX_CASES: Final = 250
_MAX_FIELDS: Final = 20


def comparison_view(diff: RunDiff, ranks: Mapping[str, int]) -> JsonObject:
    """Return metrics, attributes and changed cases of both runs; `ranks` are those of cases.

    Lists are limited to the largest changes; the numbers of all changes are given too.
    """
    document = diff.to_dict()
    before, after = (tiles(summary) for summary in diff.summaries)
    return {
        **{
            name: document[name]
            for name in ("before", "after", "comparable", "cases", "conclusion", "notes")
        },
        "tiles": [
            {**new.to_dict(), "before": old.value} for old, new in zip(before, after, strict=True)
        ],
        "metrics": _named(document["metrics"]),
        "attributes": _named(document["attributes"]),
        "worse": _cases(diff.worse, ranks),
        "improved": _cases(diff.improved, ranks),
    }


def _named(metrics: JsonValue) -> list[JsonValue]:
    """Return a list, because names from data must not become keys of the view."""
    found = metrics if isinstance(metrics, dict) else {}
    return [{"name": name, **each} for name, each in found.items() if isinstance(each, dict)]


def _cases(changes: Sequence[CaseChange], ranks: Mapping[str, int]) -> list[JsonValue]:
    return [
        {
            "case_id": change.case_id,
            "before": change.before,
            "after": change.after,
            "rank": ranks.get(change.case_id),
            "fields": [each._asdict() for each in change.fields[:_MAX_FIELDS]],
            "field_count": len(change.fields),
        }
        for change in changes[:_MAX_CASES]
    ]
