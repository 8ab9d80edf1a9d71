"""The comparison of two runs for the page: a view of their difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from fieldmark.analyses.diff import DiffResult
from fieldmark.metrics.difference import CaseChange, Direction
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.document import Column, table_to_json
from fieldmark.report.html.metrics import tiles
from fieldmark.report.html.value_encoding import encode_shortened

_MAX_CASES: Final = 250
"""The number of cases of each direction that are listed."""
_MAX_FIELDS: Final = 20
_MAX_TEXT: Final = 80
"""The number of characters of a value in a list."""
_CONCLUSION: Final = Column("Conclusion", "word")
_NAMES: Final = {
    Direction.WORSE: "worse",
    Direction.IMPROVED: "improved",
    Direction.UNCHANGED: "mixed",
}


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
            encoded = (encode_shortened(value, _MAX_TEXT) for value in found)
            each["values"] = dict(zip(("expected", "before", "after"), encoded, strict=True))
        lines.append({"direction": _NAMES[way], **line})
    return lines


def change_tables(diff: DiffResult) -> JsonObject:
    """Return the tables of metrics, evaluators, attributes and slices, with a conclusion."""
    return {
        table.name: table_to_json(replace(table, columns=(*table.columns, _CONCLUSION)))
        for table in diff.tables()
    }


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """The comparison of a run with an earlier one in its report."""

    diff: DiffResult

    @property
    def listed_ids(self) -> frozenset[str]:
        """The ids of the cases that are listed: the largest changes of each direction."""
        return frozenset(change.case_id for _, change in self._listed())

    def _listed(self) -> list[tuple[Direction, CaseChange]]:
        pairs = self.diff.pairs
        return [(way, change) for way in _NAMES for change in pairs.changed(way)[:_MAX_CASES]]

    def view(self, ranks: Mapping[str, int]) -> JsonObject:
        """Return metrics, attributes and changed cases of both runs; `ranks` belong to cases.

        Lists are limited to the largest changes; the numbers of all changes are given too.
        """
        diff = self.diff
        before, after = ({tile.label: tile for tile in tiles(each)} for each in diff.summaries)
        overview, listed = diff.overview(), self._listed()
        slices_of: dict[str, list[JsonValue]] = {}
        for name, pairs in diff.sliced.items():
            for changes in pairs.changes.values():
                for each in changes:
                    slices_of.setdefault(each.case_id, []).append(name)
        return {
            **overview,
            "conclusion": {
                **cast("JsonObject", overview["conclusion"]),
                **diff.conclusion_to_json(),
            },
            "tiles": [
                {**tile.to_dict(), "before": before[label].value if label in before else None}
                for label, tile in after.items()
            ],
            "tables": change_tables(diff),
            "changes": [
                {
                    **line,
                    "attributes": [
                        {"attribute": attribute, "change": number}
                        for attribute, number in change.attributes.items()
                    ],
                    "rank": ranks.get(change.case_id),
                    "slices": slices_of.get(change.case_id, []),
                }
                for (_, change), line in zip(listed, change_lines(diff, listed), strict=True)
            ],
            "changed": sum(map(len, diff.pairs.changes.values())),
        }
