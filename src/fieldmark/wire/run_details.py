"""One stored run without its cases: its manifest, metrics and notes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fieldmark.metrics.summary import RunIntervals, Summary
from fieldmark.model.json import JsonObject
from fieldmark.values.records import to_json
from fieldmark.wire.manifest import Manifest
from fieldmark.wire.summary import summary_to_json

__all__ = ["RunDetails"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetails:
    """Everything about one run except its cases; an unfinished run has no summary."""

    id: str
    path: str
    manifest: Manifest
    summary: Summary | None
    intervals: RunIntervals
    tags: tuple[str, ...]
    note: str
    name: str = ""
    archived: bool = False

    def to_dict(self) -> JsonObject:
        """Return the details as JSON, without the long parts: the lists and the attributes."""
        summary = {} if self.summary is None else summary_to_json(self.summary)
        return {
            "format": 1,
            "id": self.id,
            "name": self.name,
            "path": self.path,
            "manifest": to_json(replace(self.manifest, lists={})),
            "summary": {key: value for key, value in summary.items() if key != "attributes"},
            "intervals": to_json(self.intervals)["intervals"],
            "tags": list(self.tags),
            "note": self.note,
            "archived": self.archived,
        }
