"""The comparison of two runs: the result of `diff`, for the API and reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from fieldmark.metrics.difference import (
    CaseChange,
    DiffVerdict,
    MetricDifference,
    PairedCases,
    PairedMetrics,
    greatest,
)
from fieldmark.metrics.gates import GateResult
from fieldmark.metrics.headline import MAIN_METRIC
from fieldmark.metrics.significance import ALPHA, mcnemar
from fieldmark.metrics.summary import Summary
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.wire.summary import gate_to_json

__all__ = ["RunDiff", "RunName"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunName:
    """The name, directory and start time of a run."""

    name: str
    path: str
    started_at: str | None


@dataclass(frozen=True, kw_only=True)
class RunDiff:
    """Two runs on the same cases: the difference of every metric, and the changed cases."""

    before: RunName
    after: RunName
    summaries: tuple[Summary, Summary]
    metrics: PairedMetrics
    pairs: PairedCases
    only_before: int = 0
    only_after: int = 0
    gates: tuple[GateResult, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def main(self) -> MetricDifference:
        """The difference of the main metric, the mean score."""
        return self.metrics.headline[MAIN_METRIC]

    @property
    def word(self) -> DiffVerdict:
        """Whether the mean score changed significantly."""
        return self.main.word

    @property
    def attributes(self) -> Mapping[str, MetricDifference]:
        """The F1 of every attribute in both runs, with its difference."""
        return self.metrics.attributes

    @property
    def mistakes(self) -> Mapping[str, tuple[int, int]]:
        """The number of mistakes in both runs by type."""
        before, after = (summary.errors_by_type for summary in self.summaries)
        return dict(zip(before._fields, zip(before, after, strict=True), strict=True))

    @property
    def shifts(self) -> list[tuple[str, str, int]]:
        """The changed outcomes of fields as (before, after, number), most frequent first."""
        return _ranked(self.pairs.shifts)

    @property
    def fixed(self) -> list[CaseChange]:
        """Cases that pass only in the second run, largest gain first; at most fifty."""
        return greatest(self.pairs.fixed)

    @property
    def regressed(self) -> list[CaseChange]:
        """Cases that passed only in the first run, largest loss first; at most fifty."""
        return greatest(self.pairs.regressed)

    @property
    def passes_p(self) -> float:
        """The p-value of the numbers of fixed and regressed cases."""
        return mcnemar(*self.pairs.passes())

    @property
    def passed(self) -> bool:
        """Whether every gate passed; true without gates."""
        return all(gate.passed for gate in self.gates)

    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""
        fixed, regressed = self.pairs.passes()
        verdicts = _ranked(self.pairs.verdicts)
        return {
            "format": 1,
            "before": asdict(self.before),
            "after": asdict(self.after),
            "convention": self.summaries[0].convention.name,
            "cases": {
                "paired": self.pairs.cases,
                "only_before": self.only_before,
                "only_after": self.only_after,
                **{f"score_{way}": self.pairs.scores[way] for way in ("up", "down", "same")},
            },
            "conclusion": {
                "word": self.word.value,
                "metric": MAIN_METRIC,
                "p": self.main.p,
                "alpha": ALPHA,
            },
            "metrics": _metrics_to_json(self.metrics.headline),
            "attributes": _metrics_to_json(self.attributes),
            "errors_by_type": {
                name: {"before": before, "after": after}
                for name, (before, after) in self.mistakes.items()
            },
            "shifts": [{"before": a, "after": b, "fields": n} for a, b, n in self.shifts],
            "verdicts": {
                "fixed": fixed,
                "regressed": regressed,
                "p": self.passes_p,
                "changes": [{"before": a, "after": b, "cases": n} for a, b, n in verdicts],
            },
            "fixed": [asdict(change) for change in self.fixed],
            "regressed": [asdict(change) for change in self.regressed],
            "gates": [gate_to_json(gate) for gate in self.gates],
            "notes": list(self.notes),
        }


def _ranked(changes: Counter[tuple[str, str]]) -> list[tuple[str, str, int]]:
    """Return changes as (before, after, number), most frequent first."""
    ranked = sorted(changes.items(), key=lambda item: (-item[1], item[0]))
    return [(before, after, number) for (before, after), number in ranked]


def _metrics_to_json(metrics: Mapping[str, MetricDifference]) -> JsonObject:
    def metric(each: MetricDifference) -> JsonValue:
        return {
            "before": each.before,
            "after": each.after,
            "delta": each.delta,
            "interval": None if each.interval is None else list(each.interval),
            "p": each.p,
            "p_adjusted": each.adjusted,
            "word": each.word.value,
        }

    return {name: metric(each) for name, each in metrics.items()}
