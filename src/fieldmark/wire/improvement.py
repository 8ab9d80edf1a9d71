"""What to fix first in an extraction: the result of `improve`, for the API and reports."""

from __future__ import annotations

from dataclasses import dataclass

from fieldmark.metrics.clusters import MistakeCluster, MistakeExample
from fieldmark.metrics.patterns import BY_NAME
from fieldmark.metrics.repeated_errors import RepeatedError
from fieldmark.metrics.summary import Summary
from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.model.json import MISSING, JsonObject

__all__ = ["AttributeGain", "Improvement"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeGain:
    """One attribute: its mistakes, their patterns, and the gain of each metric without them."""

    attribute: str
    f1: float | None
    mistakes: ErrorCounts
    cases: int
    mean_score: float
    macro_f1: float
    micro_f1: float
    patterns: tuple[tuple[str, int], ...]

    @property
    def dominant(self) -> str:
        """The most frequent type of its mistakes."""
        counts = self.mistakes._asdict()
        return max(counts, key=lambda name: counts[name])

    @property
    def hint(self) -> str:
        """What to change in the extraction, for the most frequent pattern."""
        return BY_NAME[self.patterns[0][0]].hint if self.patterns else ""

    def to_dict(self) -> JsonObject:
        """Return the attribute as JSON."""
        return {
            "attribute": self.attribute,
            "f1": self.f1,
            "mistakes": self.mistakes.total,
            "errors_by_type": dict(self.mistakes._asdict()),
            "dominant": self.dominant,
            "cases": self.cases,
            "gain": {
                "mean_score": self.mean_score,
                "macro_f1_by_attribute": self.macro_f1,
                "micro_f1": self.micro_f1,
            },
            "patterns": [{"pattern": name, "mistakes": times} for name, times in self.patterns],
            "hint": self.hint,
        }


@dataclass(frozen=True, kw_only=True)
class Improvement:
    """Attributes by the gain from fixing them, clusters of similar mistakes, repeated errors."""

    run: str
    summary: Summary
    attributes: tuple[AttributeGain, ...]
    clusters: tuple[MistakeCluster, ...]
    repeated: tuple[RepeatedError, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""
        return {
            "format": 1,
            "run": self.run,
            "metrics": dict(self.summary.headline),
            "attributes": [each.to_dict() for each in self.attributes],
            "clusters": [
                {
                    "pattern": each.pattern.name,
                    "title": each.pattern.title,
                    "hint": each.pattern.hint,
                    "mistakes": each.number,
                    "attributes": dict(each.attributes.most_common()),
                    "examples": [_example_to_json(example) for example in each.examples],
                }
                for each in self.clusters
            ],
            "repeated": [each.to_dict() for each in self.repeated],
            "notes": list(self.notes),
        }


def _example_to_json(example: MistakeExample) -> JsonObject:
    """Return an example as JSON, without absent values."""
    document: JsonObject = {"case_id": example.case_id, "path": example.path}
    if example.expected is not MISSING:
        document["expected"] = example.expected
    if example.candidate is not MISSING:
        document["candidate"] = example.candidate
    return {**document, "other_field": example.note} if example.note else document
