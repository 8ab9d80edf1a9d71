"""What became of figures over earlier runs that can be compared with this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.html.shown import Figure, figure, mapping

__all__ = ["Earlier", "trends_of"]


class Earlier(NamedTuple):
    """A run before this one, and its summary."""

    name: str
    summary: JsonObject


def trends_of(summary: JsonObject, earlier: Sequence[Earlier]) -> JsonObject | None:
    """The F1 of every attribute over the runs, the oldest first; nothing where there is one run."""
    if not earlier:
        return None
    history = [*(each.summary for each in earlier), summary]
    return {
        "runs": [*(each.name for each in earlier), ""],
        "macro": [figure(each.get("macro_f1_by_attribute")) for each in history],
        "attributes": [
            [path, list[JsonValue](_f1(each, path) for each in history)]
            for path in mapping(summary.get("attributes"))
        ],
    }


def _f1(summary: JsonObject, path: str) -> Figure:
    return figure(mapping(mapping(summary.get("attributes")).get(path)).get("f1"))
