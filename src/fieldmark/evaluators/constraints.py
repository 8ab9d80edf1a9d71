"""Rules across the fields of a document, such as items that add up to a total."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated, ClassVar, Final, NamedTuple

from fieldmark.errors import OptionError
from fieldmark.evaluators.base import (
    Score,
    check_unique,
    defined,
    unreadable_reason,
    verdict_for,
)
from fieldmark.evaluators.expressions import (
    CheckResult,
    Expression,
    ExpressionError,
    TooManySteps,
    Truth,
    parse_expression,
)
from fieldmark.evaluators.expressions.values import value_to_json
from fieldmark.metrics.rates import weighted_share
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.values.annotations import Length, NonNegativeFloat, Share
from fieldmark.values.strategy_options import check_options

MAX_RULES: Final = 1_000
_EXPECTED: Final = "$expected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A condition that a candidate must satisfy, identified by its name or its text."""

    check: str
    name: str = ""
    weight: NonNegativeFloat = 1.0
    _expression: Expression = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_options(self)
        object.__setattr__(self, "_expression", parse_expression(self.check))

    @property
    def title(self) -> str:
        """The name, or without one the text of the condition."""
        return self.name or self._expression.text

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths in the condition."""
        return self._expression.paths

    def evaluate(self, expected: JsonValue, candidate: JsonValue) -> CheckResult:
        """Return whether a candidate satisfies the condition, and if not, why.

        >>> Constraint(check="net + 2 == total").evaluate(None, {"net": 1, "total": 4}).reason
        '3 vs. 4 (differs by 1)'
        """
        return self._expression.check(expected, candidate)


class _Checked(NamedTuple):
    """A constraint and its result for a case."""

    constraint: Constraint
    result: CheckResult

    @property
    def holds(self) -> bool | None:
        """Whether the constraint holds; `None` if it does not apply."""
        if self.result.truth is Truth.NOT_APPLICABLE:
            return None
        return self.result.truth is Truth.TRUE

    @property
    def text(self) -> str:
        """The title, with the reason if there is one."""
        title, reason = self.constraint.title, self.result.reason
        return f"{title}: {reason}" if reason else title

    def to_dict(self) -> JsonObject:
        """Return the constraint as a row of the details."""
        values = {
            "left": value_to_json(self.result.left),
            "right": value_to_json(self.result.right),
            "reason": self.result.reason or None,
        }
        return {
            "name": self.constraint.title,
            "weight": self.constraint.weight,
            "holds": self.holds,
            **defined(values),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraints:
    """Score the weighted share of constraints that the candidate satisfies.

    A constraint on missing values is skipped, and a constraint on values of the wrong type is a
    miss. With `pass_threshold`, the score decides the verdict instead of hits and misses.

    >>> sums = Constraints(rules=("sum(lines[].amount) == total ± 0.01",))
    >>> sums.evaluate({}, {"lines": [{"amount": 118}], "total": 120}).misses
    ('sum(lines[].amount) == total ± 0.01: 118 vs. 120 (differs by 2)',)
    """

    name: ClassVar[str] = "constraints"
    rules: Annotated[tuple[Constraint | str, ...], Length(ge=1, le=MAX_RULES, noun="rule")]
    pass_threshold: Share | None = None
    _constraints: tuple[Constraint, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_options(self)
        constraints: list[Constraint] = []
        for index, rule in enumerate(self.rules):
            if isinstance(rule, Constraint):
                constraints.append(rule)
                continue
            if not isinstance(rule, str):
                raise OptionError("rules", f"[{index}]: expected a string, got {rule!r}")
            try:
                constraints.append(Constraint(check=rule))
            except ExpressionError as error:
                raise OptionError("rules", f"[{index}], {error.message}") from error
        check_unique("rules", [constraint.title for constraint in constraints])
        if not any(constraint.weight for constraint in constraints):
            raise OptionError("rules", "must contain a rule with a weight greater than 0")
        object.__setattr__(self, "_constraints", tuple(constraints))

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths in all conditions; paths of list items may be at any depth."""
        by_constraint = [constraint.paths for constraint in self._constraints]
        # A constraint without paths always applies.
        return tuple(dict.fromkeys(chain(*by_constraint))) if all(by_constraint) else ()

    @property
    def optional_paths(self) -> tuple[str, ...]:
        """All paths, because a constraint on missing values is skipped."""
        return self.paths

    @property
    def needs_expected(self) -> bool:
        """Whether any rule contains `$expected`, even in quotes."""
        return any(_EXPECTED in constraint.check for constraint in self._constraints)

    def evaluate(
        self, expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool = False
    ) -> Score:
        """Score a candidate; an unreadable or missing candidate satisfies no constraint."""
        absent = unreadable_reason(candidate, unreadable=unreadable)
        checked: list[_Checked] = []
        for constraint in self._constraints:
            result = CheckResult(Truth.FAULT, absent or "")
            if not absent and candidate is not MISSING:
                try:
                    result = constraint.evaluate(expected, candidate)
                except TooManySteps:
                    reason = "the document is too large for this constraint"
                    return Score.error(f"{constraint.title}: {reason}")
            checked.append(_Checked(constraint, result))
        hits = [rule for rule in checked if rule.holds is True]
        misses = [rule for rule in checked if rule.holds is False]
        held = [rule.constraint.weight for rule in hits]
        score = weighted_share(held, [*held, *(rule.constraint.weight for rule in misses)])
        if score is None:  # If only constraints with weight 0 apply, it is all or nothing.
            score = float(not misses)
        return Score(
            score=score,
            verdict=verdict_for(score, self.pass_threshold, len(hits), len(misses)),
            hits=tuple(rule.constraint.title for rule in hits),
            misses=tuple(rule.text for rule in misses),
            reasoning=f"{len(hits)}/{len(hits) + len(misses)} constraints hold",
            details={"constraints": [rule.to_dict() for rule in checked]},
            vacuous=not hits and not misses,
            skipped=tuple(rule.text for rule in checked if rule.holds is None),
        )
