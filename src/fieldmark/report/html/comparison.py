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
    before, after = ({tile.label: tile for tile in tiles(each)} for each in diff.summaries)
    return {
        **diff.overview(),
        "tiles": [
            {**tile.to_dict(), "before": before[label].value if label in before else None}
            for label, tile in after.items()
        ],
        # Lists, because names from data must not become keys of the view.
        "metrics": [
            {"name": name, **diff.to_json(each), "note": diff.note(name)}
            for name, each in diff.metrics.headline.items()
        ],
        **{
            group: [{"name": name, **diff.to_json(each)} for name, each in metrics.items()]
            for group, metrics in (
                ("evaluators", diff.evaluators),
                ("attributes", diff.attributes),
                ("slices", diff.slices),
            )
        },
        "worse": _cases(diff.worse, ranks),
        "improved": _cases(diff.improved, ranks),
    }


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
