"""The intervals of a run as a record, and how a summary tells them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fieldmark.metrics.intervals import Interval
from fieldmark.model.json import JsonObject

__all__ = ["RunIntervals", "with_intervals"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunIntervals:
    """Intervals by the short names of figures, and by attribute; where there is none, no entry."""

    figures: Mapping[str, Interval] = field(default_factory=dict)
    attributes: Mapping[str, Interval] = field(default_factory=dict)

    def to_dict(self) -> JsonObject:
        """The intervals of the headline figures as JSON."""
        return {name: list(interval) for name, interval in self.figures.items()}


def with_intervals(summary: JsonObject, intervals: RunIntervals) -> JsonObject:
    """A summary as it is written, with `intervals` and an `interval` for each attribute."""
    attributes = summary.get("attributes")
    told: JsonObject = {}
    for path, figures in (attributes if isinstance(attributes, dict) else {}).items():
        own = intervals.attributes.get(path)
        known = figures if isinstance(figures, dict) else {}
        told[path] = {**known, "interval": {"f1": None if own is None else list(own)}}
    return {**summary, "attributes": told, "intervals": intervals.to_dict()}
