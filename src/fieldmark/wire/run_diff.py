"""The comparison of two runs: the result of `diff`, for the API and reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple, TypeAlias

from fieldmark.metrics.difference import (
    CaseChange,
    DiffVerdict,
    Direction,
    MetricDifference,
    PairedCases,
    PairedMetrics,
)
from fieldmark.metrics.gates import GateResult
from fieldmark.metrics.repeated_errors import RepeatedError
from fieldmark.metrics.significance import ALPHA, mcnemar, smallest_p
from fieldmark.metrics.summary import Summary
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.values.records import to_json
from fieldmark.wire.case_result import CaseResult
from fieldmark.wire.improvement import repeated_error_to_json

__all__ = ["ChangedValues", "FieldValues", "RunDiff", "RunName", "case_to_json", "field_values"]


class FieldValues(NamedTuple):
    """The expected value of a changed field, and what the runs predicted."""

    expected: JsonValue | Missing = MISSING
    before: JsonValue | Missing = MISSING
    after: JsonValue | Missing = MISSING


ChangedValues: TypeAlias = Mapping[str, Sequence[FieldValues]]
"""The values of changed fields by case id; cases without values are absent."""


def field_values(change: CaseChange, before: CaseResult, after: CaseResult) -> list[FieldValues]:
    """Return the values of the changed fields of a case; none if a run was saved without them."""
    if not (before.has_values and after.has_values):
        return []
    wanted = {each.path for each in change.fields}
    # An extra field may have the path of an expected one, but not the same outcome.
    old, new = (
        {(each.path, each.outcome): each for each in case.iter_fields() if each.path in wanted}
        for case in (before, after)
    )
    found = []
    for path, *outcomes in change.fields:
        one, other = old.get((path, outcomes[0])), new.get((path, outcomes[1]))
        sides = [each for each in (one, other) if each is not None]
        expected = [each.expected for each in sides if each.expected is not MISSING]
        found.append(
            FieldValues(
                expected[0] if expected else MISSING,
                MISSING if one is None else one.candidate,
                MISSING if other is None else other.candidate,
            )
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RunName:
    """The id of a run, its name for people, its directory, start time and convention."""

    name: str
    title: str
    path: str
    started_at: str | None
    convention: str


@dataclass(frozen=True, kw_only=True)
class RunDiff:
    """Two runs on the same cases: the difference of every metric, and the changed cases.

    Runs with different rules, conventions, weights or evaluators are not `comparable`: nothing is
    better or worse, and `different` names what differs. `primary` is the score of a case, whose
    mean is the mean score. The first metric is the primary one of the convention, or the mean score
    if evaluators score the cases. `sliced` are the cases of every slice. `new_errors` are the
    repeated errors that only the second run has, and `fixed_errors` those that only the first has.
    `warnings` are the structural warnings of the runs.
    """

    before: RunName
    after: RunName
    summaries: tuple[Summary, Summary]
    metrics: PairedMetrics
    pairs: PairedCases
    sliced: Mapping[str, PairedCases] = field(default_factory=dict, repr=False)
    different: Sequence[str] = ()
    primary: str = ""
    only_before: int = 0
    only_after: int = 0
    new_errors: tuple[RepeatedError, ...] = ()
    fixed_errors: tuple[RepeatedError, ...] = ()
    gates: tuple[GateResult, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    values_of: Callable[[Sequence[CaseChange]], ChangedValues] = field(
        default=lambda _: {}, repr=False, compare=False
    )
    """Reads the values of the changed fields of some cases."""

    @property
    def metric(self) -> str:
        """The name of the first metric, which decides the conclusion."""
        return next(iter(self.metrics.headline))

    @property
    def main(self) -> MetricDifference:
        """The difference of the first metric."""
        return self.metrics.headline[self.metric]

    @property
    def word(self) -> DiffVerdict:
        """Whether the first metric changed significantly."""
        return self.main.word

    @property
    def comparable(self) -> bool:
        """Whether both runs have the same rules, convention and evaluators."""
        return self.pairs.comparable

    @property
    def attributes(self) -> Mapping[str, MetricDifference]:
        """The F1 of every attribute in both runs, with its difference."""
        return self.metrics.attributes

    @property
    def evaluators(self) -> Mapping[str, MetricDifference]:
        """The mean score of every evaluator in both runs, with its difference."""
        return self.metrics.evaluators

    @property
    def slices(self) -> Mapping[str, MetricDifference]:
        """The first metric of every slice in both runs, with its difference."""
        return self.metrics.slices

    def note(self, metric: str) -> str:
        """Return in which run a metric is vacuous, or an empty string."""
        flagged = ["vacuous" in each.flags.get(metric, ()) for each in self.summaries]
        if not any(flagged):
            return ""
        return "vacuous" if all(flagged) else f"vacuous {'before' if flagged[0] else 'after'}"

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
    def improved(self) -> list[CaseChange]:
        """Cases that improved, largest gain first."""
        return self.pairs.changed(Direction.IMPROVED)

    @property
    def worse(self) -> list[CaseChange]:
        """Cases that got worse, largest loss first."""
        return self.pairs.changed(Direction.WORSE)

    @property
    def mixed(self) -> list[CaseChange]:
        """Cases that are neither better nor worse, although outcomes of fields changed."""
        return self.pairs.changed(Direction.UNCHANGED)

    @property
    def listed_changes(self) -> Mapping[str, list[CaseChange]]:
        """The cases that changed by the key of their list in JSON."""
        return {"worse": self.worse, "improved": self.improved, "mixed": self.mixed}

    def changed_cases(
        self,
        *,
        direction: Direction | None = None,
        attribute: str | None = None,
        within: str | None = None,
    ) -> list[tuple[Direction, CaseChange]]:
        """Return the cases that changed, those that got worse first, largest change first.

        With an `attribute`, these are the cases with more or fewer mistakes in it, and `direction`
        refers to the attribute. `within` is the name of a slice.
        """
        pairs = self.pairs
        if within is not None:
            pairs = self.sliced.get(within, PairedCases())
        found = [(way, each) for way in pairs.changes for each in pairs.changed(way, attribute)]
        if attribute is not None:
            ways = Direction.WORSE, Direction.IMPROVED
            found = [(ways[each.attributes[attribute] > 0], each) for _, each in found]
            found.sort(key=lambda pair: pair[0] is Direction.IMPROVED)
        return [(way, each) for way, each in found if direction in {None, way}]

    @property
    def case_counts(self) -> Mapping[str, int | None]:
        """The numbers of improved, worse, unchanged and not scored cases, if comparable."""
        counts = self.pairs.directions
        return {way.value: counts[way] if self.comparable else None for way in Direction}

    @property
    def passes_p(self) -> float | None:
        """The p-value of the numbers of fixed and regressed cases; none if they are too few."""
        fixed, regressed = self.pairs.passes()
        too_few = smallest_p(fixed + regressed) > ALPHA
        return None if too_few or not self.comparable else mcnemar(fixed, regressed)

    @property
    def passed(self) -> bool:
        """Whether every gate passed; true without gates."""
        return all(gate.passed for gate in self.gates)

    def to_json(self, metric: MetricDifference) -> JsonObject:
        """Return a metric, an attribute or an evaluator as JSON."""
        return {
            "before": metric.before,
            "after": metric.after,
            "delta": metric.delta,
            "interval": None if metric.interval is None else list(metric.interval),
            "p": metric.p,
            "p_adjusted": metric.adjusted,
            "detectable": metric.detectable,
            "word": metric.word.value,
            "improved": metric.improved if self.comparable else None,
            "worse": metric.worse if self.comparable else None,
        }

    def overview(self) -> JsonObject:
        """Return the conclusion as JSON, with the names of the runs and the numbers of cases."""
        return {
            "before": asdict(self.before),
            "after": asdict(self.after),
            "comparable": self.comparable,
            "different": list(self.different),
            "cases": {
                "paired": self.pairs.cases,
                "only_before": self.only_before,
                "only_after": self.only_after,
                **self.case_counts,
                "mixed": len(self.mixed) if self.comparable else None,
            },
            "conclusion": {
                "word": self.word.value,
                "metric": self.metric,
                "primary": self.primary,
                "p": self.main.p,
                "alpha": ALPHA,
            },
            "notes": [*(f"warning: {text}" for text in self.warnings), *self.notes],
        }

    def to_dict(self, *, changes: bool = True) -> JsonObject:
        """Return everything as JSON, or without `changes` everything but the changed cases."""
        listed = self.listed_changes if changes else {}
        cases: JsonObject = {
            name: [case_to_json(change) for change in found] for name, found in listed.items()
        }
        fixed, regressed = self.pairs.passes()
        verdicts = _ranked(self.pairs.verdicts)
        return {
            "format": 1,
            **self.overview(),
            "metrics": {
                name: {**self.to_json(each), "note": self.note(name)}
                for name, each in self.metrics.headline.items()
            },
            "attributes": {name: self.to_json(each) for name, each in self.attributes.items()},
            "evaluators": {name: self.to_json(each) for name, each in self.evaluators.items()},
            "slices": {name: self.to_json(each) for name, each in self.slices.items()},
            "errors_by_type": {
                name: {"before": before, "after": after}
                for name, (before, after) in self.mistakes.items()
            },
            "repeated_errors": {
                "new": [repeated_error_to_json(each) for each in self.new_errors],
                "fixed": [repeated_error_to_json(each) for each in self.fixed_errors],
            },
            "shifts": [{"before": a, "after": b, "fields": n} for a, b, n in self.shifts],
            "verdicts": {
                "fixed": fixed if self.comparable else None,
                "regressed": regressed if self.comparable else None,
                "p": self.passes_p,
                "changes": [{"before": a, "after": b, "cases": n} for a, b, n in verdicts],
            },
            **cases,
            "gates": [to_json(gate) for gate in self.gates],
        }


def _ranked(changes: Counter[tuple[str, str]]) -> list[tuple[str, str, int]]:
    """Return changes as (before, after, number), most frequent first."""
    ranked = sorted(changes.items(), key=lambda item: (-item[1], item[0]))
    return [(before, after, number) for (before, after), number in ranked]


def case_to_json(change: CaseChange, max_fields: int | None = None) -> JsonObject:
    """Return a changed case as JSON, with all of its changed fields or the first of them."""
    fields: list[JsonValue] = [each._asdict() for each in change.fields[:max_fields]]
    return {
        "case_id": change.case_id,
        "before": change.before,
        "after": change.after,
        "verdict_before": change.verdict_before,
        "verdict_after": change.verdict_after,
        "attributes": dict(change.attributes),
        "fields": fields,
        "field_count": len(change.fields),
    }
