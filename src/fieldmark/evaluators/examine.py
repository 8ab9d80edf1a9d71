"""Documents laid side by side: outcomes and figures, at the price of compiling the rules once."""

from __future__ import annotations

from typing import Final, NamedTuple

from fieldmark.evaluators.wording import Account, Marked, account_of, marked
from fieldmark.metrics.case_score import CaseCounter, CaseStats
from fieldmark.metrics.conventions import Convention
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.outcomes import AttributeTable, Outcomes
from fieldmark.model.rule import Rules
from fieldmark.plan import Plan, compile_plan

__all__ = ["Examined", "Examiner"]

_MOST_CASES: Final = 1_000
"""A plan remembers every key that it met, so it is let go before strange keys pile up."""


class Examined(NamedTuple):
    """Two documents with all that was found out about them."""

    expected: JsonValue
    candidate: JsonValue | Missing
    block: Outcomes
    table: AttributeTable
    convention: Convention
    stats: CaseStats
    fields: tuple[Marked, ...]
    unreadable: bool

    def account(self) -> Account:
        """Every field as a hit, a miss or skipped."""
        return account_of(self.fields, unreadable=self.unreadable)


class _Desk:
    """A plan with its counter: the place where one comparison at a time is made."""

    __slots__ = ("cases", "counter", "plan")

    def __init__(self, rules: Rules, convention: Convention) -> None:
        self.plan: Plan = compile_plan(rules)
        self.counter = CaseCounter(convention, self.plan.table)
        self.cases = 0


class Examiner:
    """Compares pairs of documents under one set of rules and one convention.

    A plan serves one comparison at a time. Whoever compares takes an idle one, or makes one, and
    gives it back when done; both are single steps, so threads need no lock. A plan that was left
    in the middle of a comparison is not given back.
    """

    __slots__ = ("_convention", "_idle", "_rules")

    def __init__(self, rules: Rules, convention: Convention) -> None:
        self._rules = convention.rules_for(rules)
        self._convention = convention
        self._idle: list[_Desk] = []

    def examine(
        self,
        expected: JsonValue,
        candidate: JsonValue | Missing,
        *,
        unreadable: bool = False,
        safety: float | None = None,
    ) -> Examined:
        """Compare two documents; without a candidate there is nothing to read either."""
        unreadable = unreadable or candidate is MISSING
        if unreadable:
            candidate = MISSING
        desk = self._desk()
        plan, counter = desk.plan, desk.counter
        block = plan.compare(expected, candidate)
        stats = counter.stats(block, unreadable=unreadable, safety=safety)
        desk.cases += 1
        if desk.cases < _MOST_CASES:
            self._idle.append(desk)
        fields = marked(block, plan.table, self._convention.counting, unreadable=unreadable)
        return Examined(
            expected,
            candidate,
            block,
            plan.table,
            self._convention,
            stats,
            tuple(fields),
            unreadable,
        )

    def _desk(self) -> _Desk:
        try:
            return self._idle.pop()
        except IndexError:
            return _Desk(self._rules, self._convention)

    def __reduce__(self) -> tuple[type[Examiner], tuple[Rules, Convention]]:
        return Examiner, (self._rules, self._convention)
