"""What `improve` answers: attributes by what they would return, and mistakes that look alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fieldmark.metrics.clusters import MistakeCluster, MistakeExample
from fieldmark.metrics.patterns import BY_NAME
from fieldmark.metrics.summary import Summary
from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.model.json import MISSING, JsonObject

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["AttributeGain", "ImproveResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeGain:
    """One attribute: its mistakes, how they look, and what each figure would gain without them."""

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
        """The type that most of its mistakes are of."""
        counts = self.mistakes._asdict()
        return max(counts, key=lambda name: counts[name])

    @property
    def hint(self) -> str:
        """What to change in the extraction, for the most frequent pattern."""
        return BY_NAME[self.patterns[0][0]].hint if self.patterns else ""

    def to_dict(self) -> JsonObject:
        """The attribute as JSON."""
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


@dataclass(frozen=True, kw_only=True, repr=False)
class ImproveResult:
    """What to fix first in the extraction."""

    run: str
    summary: Summary
    attributes: tuple[AttributeGain, ...]
    clusters: tuple[MistakeCluster, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> JsonObject:
        """Everything as JSON, for a loop that goes on by itself."""
        return {
            "format": 1,
            "run": self.run,
            "figures": {
                "mean_score": self.summary.mean_score,
                "macro_f1_by_attribute": self.summary.macro_f1_by_attribute,
                "macro_f1_by_case": self.summary.macro_f1_by_case,
                "micro_f1": self.summary.micro.f1,
            },
            "attributes": [each.to_dict() for each in self.attributes],
            "clusters": [_cluster(each) for each in self.clusters],
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        from fieldmark.report.terminal import as_text

        return as_text(self.__rich__())

    def __rich__(self) -> RenderableType:
        from fieldmark.report.improve_view import improve_view

        return improve_view(self.to_dict())


def _cluster(cluster: MistakeCluster) -> JsonObject:
    return {
        "pattern": cluster.pattern.name,
        "title": cluster.pattern.title,
        "hint": cluster.pattern.hint,
        "mistakes": cluster.number,
        "attributes": dict(cluster.attributes.most_common()),
        "examples": [_example(each) for each in cluster.examples],
    }


def _example(example: MistakeExample) -> JsonObject:
    """An example as JSON; a value that is not there is left out."""
    said: JsonObject = {"case_id": example.case_id, "path": example.path}
    if example.expected is not MISSING:
        said["expected"] = example.expected
    if example.candidate is not MISSING:
        said["candidate"] = example.candidate
    return {**said, "other_field": example.note} if example.note else said
