"""The comparison of two runs for the page: a view of their difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

from fieldmark.metrics.difference import CaseChange, Direction
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.html.metrics import tiles
from fieldmark.report.html.value_encoding import encode_shortened

if TYPE_CHECKING:
    from fieldmark.api.diff import DiffResult

__all__ = ["change_lines", "comparison_view", "listed_changes"]

_MAX_CASES: Final = 250
"""The number of cases of each direction that are listed."""
_MAX_FIELDS: Final = 20
_MAX_TEXT: Final = 80
"""The number of characters of a value in a list."""
_NAMES: Final = {
    Direction.WORSE: "worse",
    Direction.IMPROVED: "improved",
    Direction.UNCHANGED: "mixed",
}


def listed_changes(diff: DiffResult) -> list[tuple[Direction, CaseChange]]:
    """Return the changed cases that a report lists: the largest changes of each direction."""
    return [(way, change) for way in _NAMES for change in diff.pairs.changed(way)[:_MAX_CASES]]


def change_lines(
    diff: DiffResult, changes: Sequence[tuple[Direction, CaseChange]]
) -> list[JsonObject]:
    """Return changed cases with the first of their fields, and their values if they were saved."""
    values = diff.values_of([change for _, change in changes])
    lines = []
    for way, change in changes:
        line = change.to_dict(_MAX_FIELDS)
        fields = cast("list[JsonObject]", line["fields"])
        for each, found in zip(fields, values.get(change.case_id, ()), strict=False):
            each["values"] = [encode_shortened(value, _MAX_TEXT) for value in found]
        lines.append({"direction": _NAMES[way], **line})
    return lines


def comparison_view(diff: DiffResult, ranks: Mapping[str, int]) -> JsonObject:
    """Return metrics, attributes and changed cases of both runs; `ranks` are those of cases.

    Lists are limited to the largest changes; the numbers of all changes are given too.
    """
    before, after = ({tile.label: tile for tile in tiles(each)} for each in diff.summaries)
    overview, listed = diff.overview(), listed_changes(diff)
    slices_of: dict[str, list[JsonValue]] = {}
    for name, pairs in diff.sliced.items():
        for changes in pairs.changes.values():
            for each in changes:
                slices_of.setdefault(each.case_id, []).append(name)
    return {
        **overview,
        "conclusion": {**cast("JsonObject", overview["conclusion"]), **diff.conclusion_to_json()},
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
        "changes": [
            {
                **line,
                "attributes": [list(each) for each in change.attributes.items()],
                "rank": ranks.get(change.case_id),
                "slices": slices_of.get(change.case_id, []),
            }
            for (_, change), line in zip(listed, change_lines(diff, listed), strict=True)
        ],
        "changed": sum(map(len, diff.pairs.changes.values())),
    }
