"""Whether a document agrees with itself: rules across fields, such as items that add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import fsum, isfinite
from typing import ClassVar, Final, NamedTuple

from fieldmark.compare.options import check_share
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import Score
from fieldmark.evaluators.expressions import (
    Expression,
    ExpressionError,
    Finding,
    TooManySteps,
    Truth,
    parse_expression,
)
from fieldmark.evaluators.expressions.wording import as_json
from fieldmark.evaluators.field_evaluator import defined
from fieldmark.metrics.verdict import verdict_at, verdict_of
from fieldmark.model.case import Verdict
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing

__all__ = ["Constraint", "Constraints"]

MOST_RULES: Final = 1_000
_EXPECTED: Final = "$expected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A condition that a candidate has to fulfil, called by its name or else by its text."""

    check: str
    name: str = ""
    weight: float = 1.0
    _expression: Expression = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.check, str):
            raise OptionError("check", f"must be a text, not {self.check!r}")
        if not (isfinite(self.weight) and self.weight >= 0):
            raise OptionError("weight", f"must be a number of at least 0, not {self.weight}")
        object.__setattr__(self, "_expression", parse_expression(self.check))

    @property
    def title(self) -> str:
        """What the constraint is called."""
        return self.name or self._expression.text

    def find(self, expected: JsonValue, candidate: JsonValue) -> Finding:
        """Whether a candidate fulfils the condition, and if not, why.

        >>> Constraint(check="net + 2 == total").find(None, {"net": 1, "total": 4}).reason
        '3 against 4 (differs by 1)'
        """
        return self._expression.check(expected, candidate)


class _Checked(NamedTuple):
    """A constraint and what became of it."""

    constraint: Constraint
    finding: Finding

    @property
    def text(self) -> str:
        """The constraint with the reason, if there is one."""
        title, reason = self.constraint.title, self.finding.reason
        return f"{title}: {reason}" if reason else title

    def row(self) -> JsonObject:
        """The constraint as a detail of the score."""
        finding = self.finding
        sides = {"left": as_json(finding.left), "right": as_json(finding.right)}
        return {
            "name": self.constraint.title,
            "weight": self.constraint.weight,
            "holds": _HOLDS[finding.truth],
            **defined(sides),
            **defined({"reason": finding.reason or None}),
        }


_HOLDS: Final = {
    Truth.TRUE: True,
    Truth.FALSE: False,
    Truth.FAULT: False,
    Truth.NOT_APPLICABLE: None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraints:
    """The share of the constraints, by weight, that a candidate fulfils.

    A constraint about values that are not there is skipped, and one about values of the wrong
    kind is a miss. `pass_threshold` makes the score decide the verdict, in place of hits and
    misses.

    >>> sums = Constraints(rules=("sum(lines[].amount) == total ± 0.01",))
    >>> sums.evaluate({}, {"lines": [{"amount": 118}], "total": 120}).misses
    ('sum(lines[].amount) == total ± 0.01: 118 against 120 (differs by 2)',)
    """

    name: ClassVar[str] = "constraints"
    rules: tuple[Constraint | str, ...]
    pass_threshold: float | None = None
    _constraints: tuple[Constraint, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 < len(self.rules) <= MOST_RULES:
            raise OptionError("rules", f"must be 1 to {MOST_RULES} rules, not {len(self.rules)}")
        constraints = tuple(_constraint(place, rule) for place, rule in enumerate(self.rules))
        _refuse_twins(constraints)
        if not any(constraint.weight for constraint in constraints):
            raise OptionError("rules", "needs a rule with a weight above 0")
        if self.pass_threshold is not None:
            check_share("pass_threshold", self.pass_threshold)
        object.__setattr__(self, "_constraints", constraints)

    @property
    def needs_expected(self) -> bool:
        """Whether a rule speaks of the truth; `$expected` inside of quotes counts as well."""
        return any(_EXPECTED in constraint.check for constraint in self._constraints)

    def evaluate(
        self, expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool = False
    ) -> Score:
        """Score a candidate; one that could not be read, or is not there, fulfils nothing."""
        if unreadable or candidate is MISSING:
            lost = Finding(Truth.FAULT, "no readable candidate")
            return self._scored([_Checked(each, lost) for each in self._constraints])
        checked: list[_Checked] = []
        for constraint in self._constraints:
            try:
                checked.append(_Checked(constraint, constraint.find(expected, candidate)))
            except TooManySteps:
                return Score.error(f"{constraint.title}: the document is too large to check this")
        return self._scored(checked)

    def _scored(self, checked: Sequence[_Checked]) -> Score:
        hits = [each for each in checked if _HOLDS[each.finding.truth] is True]
        misses = [each for each in checked if _HOLDS[each.finding.truth] is False]
        skipped = [each for each in checked if _HOLDS[each.finding.truth] is None]
        score = _share(hits, misses)
        return Score(
            score=score,
            verdict=self._verdict(score, len(hits), len(misses)),
            hits=tuple(each.constraint.title for each in hits),
            misses=tuple(each.text for each in misses),
            reasoning=f"{len(hits)}/{len(hits) + len(misses)} constraints hold",
            details={"constraints": [each.row() for each in checked]},
            vacuous=not hits and not misses,
            skipped=tuple(each.text for each in skipped),
        )

    def _verdict(self, score: float, hits: int, misses: int) -> Verdict:
        if self.pass_threshold is None:
            return verdict_of(hits, misses)
        return verdict_at(score, self.pass_threshold)


def _share(hits: Sequence[_Checked], misses: Sequence[_Checked]) -> float:
    """The weight of what holds among all that applies; without any weight, all or nothing."""
    held = fsum(each.constraint.weight for each in hits)
    total = fsum(each.constraint.weight for each in (*hits, *misses))
    return held / total if total else float(not misses)


def _constraint(place: int, rule: Constraint | str) -> Constraint:
    if isinstance(rule, Constraint):
        return rule
    if not isinstance(rule, str):
        raise OptionError("rules", f"[{place}]: must be a text, not {rule!r}")
    try:
        return Constraint(check=rule)
    except ExpressionError as error:
        raise OptionError("rules", f"[{place}], {error.message}") from error


def _refuse_twins(constraints: Sequence[Constraint]) -> None:
    """Two constraints of one name could not be told apart in the results."""
    seen: set[str] = set()
    for constraint in constraints:
        if constraint.title in seen:
            raise OptionError("rules", f"names {constraint.title} twice")
        seen.add(constraint.title)
