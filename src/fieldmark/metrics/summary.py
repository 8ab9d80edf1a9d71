"""The summary of a run: every figure that is reported, and its shape on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from fieldmark.metrics.averages import MacroMean
from fieldmark.metrics.gate import GateResult
from fieldmark.metrics.intervals_record import RunIntervals, with_intervals
from fieldmark.metrics.quality import QualityCounts
from fieldmark.metrics.sums import CaseTotals, VerdictCounts
from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.model.json import JsonObject
from fieldmark.model.rule import Depth

__all__ = [
    "AttributeSummary",
    "ConventionStamp",
    "EvaluatorSummary",
    "Macro",
    "Micro",
    "QualitySummary",
    "Summary",
]

FORMAT: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ConventionStamp:
    """Which reading the figures come from, so that unlike figures are never compared."""

    name: str
    version: int
    options: JsonObject
    comparison_sha256: str
    counting_sha256: str

    def to_dict(self) -> JsonObject:
        """The stamp as JSON."""
        return {
            "name": self.name,
            "version": self.version,
            "options": self.options,
            "comparison_sha256": self.comparison_sha256,
            "counting_sha256": self.counting_sha256,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Micro:
    """Pooled counts and their rates."""

    tp: int
    tn: int
    fp: int
    fn: int
    precision: float | None
    recall: float | None
    f1: float | None

    def to_dict(self) -> JsonObject:
        """The figures as JSON."""
        return {
            "tp": self.tp,
            "tn": self.tn,
            "fp": self.fp,
            "fn": self.fn,
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeSummary(Micro):
    """The counts and rates of one attribute over all cases.

    `errors` counts comparisons that could not be made; they are in no other figure.
    """

    accuracy: float | None
    errors: int
    errors_by_type: ErrorCounts

    def to_dict(self) -> JsonObject:
        """The figures as JSON."""
        # `super()` without arguments does not survive the class that slots make anew.
        return {
            **Micro.to_dict(self),
            "accuracy": self.accuracy,
            "errors": self.errors,
            "errors_by_type": _named(self.errors_by_type),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Macro:
    """Both means that are called macro."""

    by_attribute: MacroMean
    by_case: MacroMean

    def to_dict(self) -> JsonObject:
        """The means as JSON."""
        return {"by_attribute": _mean(self.by_attribute), "by_case": _mean(self.by_case)}


@dataclass(frozen=True, slots=True, kw_only=True)
class QualitySummary:
    """Response quality over the pooled keys of a run, at the depth at which they were compared."""

    completeness: float
    hallucination: float
    accuracy: float
    safety: float
    rqs: float
    rqs_max: float
    depth: Depth
    flags: Mapping[str, tuple[str, ...]]
    buckets: QualityCounts

    def to_dict(self) -> JsonObject:
        """The figures as JSON."""
        return {
            "completeness": self.completeness,
            "hallucination": self.hallucination,
            "accuracy": self.accuracy,
            "safety": self.safety,
            "rqs": self.rqs,
            "rqs_max": self.rqs_max,
            "depth": self.depth.value,
            "flags": {figure: list(flags) for figure, flags in self.flags.items()},
            "buckets": self.buckets.buckets(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorSummary:
    """What one evaluator said over all cases, and its figures for all of them together, if any."""

    mean_score: float | None
    scored: int
    errors: int
    verdicts: VerdictCounts
    figures: JsonObject = field(default_factory=dict)

    def to_dict(self) -> JsonObject:
        """The figures as JSON."""
        return {
            "mean_score": self.mean_score,
            "scored": self.scored,
            "errors": self.errors,
            "verdicts": _verdicts(self.verdicts),
            **({"figures": self.figures} if self.figures else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Every figure of a run."""

    convention: ConventionStamp
    cases: CaseTotals
    verdicts: VerdictCounts
    micro: Micro
    macro: Macro
    mean_score: float | None
    consistency: float | None
    attributes: Mapping[str, AttributeSummary]
    errors_by_type: ErrorCounts
    quality: QualitySummary
    evaluators: Mapping[str, EvaluatorSummary] = field(default_factory=dict)
    detection: JsonObject = field(default_factory=dict)
    intervals: RunIntervals | None = None
    usage: JsonObject = field(default_factory=dict)
    gates: tuple[GateResult, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def macro_f1_by_attribute(self) -> float | None:
        """The mean F1 over attributes."""
        return self.macro.by_attribute.f1

    @property
    def macro_f1_by_case(self) -> float | None:
        """The mean F1 over cases."""
        return self.macro.by_case.f1

    def to_dict(self) -> JsonObject:
        """The summary as JSON, in the order in which people read it."""
        figures: JsonObject = {
            "format": FORMAT,
            "convention": self.convention.to_dict(),
            "cases": _named(self.cases),
            "verdicts": _verdicts(self.verdicts),
            "micro": self.micro.to_dict(),
            "macro": self.macro.to_dict(),
            "macro_f1_by_attribute": self.macro_f1_by_attribute,
            "macro_f1_by_case": self.macro_f1_by_case,
            "mean_score": self.mean_score,
            "consistency": self.consistency,
            "attributes": {path: each.to_dict() for path, each in self.attributes.items()},
            "errors_by_type": _named(self.errors_by_type),
            "quality": self.quality.to_dict(),
            "evaluators": {name: each.to_dict() for name, each in self.evaluators.items()},
            **({"detection": self.detection} if self.detection else {}),
            **({"usage": self.usage} if self.usage else {}),
            "gates": [gate.to_dict() for gate in self.gates],
            "warnings": list(self.warnings),
        }
        return figures if self.intervals is None else with_intervals(figures, self.intervals)


def _named(record: CaseTotals | ErrorCounts) -> JsonObject:
    return dict(record._asdict())


def _verdicts(counts: VerdictCounts) -> JsonObject:
    return {"pass": counts.passed, "partial": counts.partial, "fail": counts.failed}


def _mean(mean: MacroMean) -> JsonObject:
    """The means as JSON; the flag stands only where it is raised."""
    figures: JsonObject = {"precision": mean.precision, "recall": mean.recall, "f1": mean.f1}
    return {**figures, "vacuous": True} if mean.vacuous else figures
