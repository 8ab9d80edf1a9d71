"""The one broad `except`: a crash inside a plug-in becomes an error, never a score."""

from __future__ import annotations

from collections.abc import Sequence

from fieldmark.model.block import Attribute, OutcomeBlock
from fieldmark.model.case import Case
from fieldmark.model.comparison import Comparison
from fieldmark.model.outcome import CELL_BITS, Outcome, Presence, Reason, fact
from fieldmark.plan import Plan

__all__ = ["guarded"]

_CRASH = fact(Outcome.ERROR, Presence.VALUE, Presence.VALUE)


def guarded(plan: Plan, cases: Sequence[Case]) -> list[OutcomeBlock]:
    """Compare a batch; a case that crashes is marked as an error and the others go on."""
    try:
        return plan.compare_all([(case.expected, case.candidate) for case in cases])
    except Exception:  # noqa: BLE001 - the cases are tried one by one below
        return [_one(plan, case) for case in cases]


def _one(plan: Plan, case: Case) -> OutcomeBlock:
    plan.forget_questions()
    try:
        return plan.compare(case.expected, case.candidate)
    except Exception as error:  # noqa: BLE001 - whatever a plug-in raises is that case's error
        number = plan.table.add(Attribute(path="$", comparator=""))
        note = f"{type(error).__name__}: {error}"
        return OutcomeBlock(
            cells=[number << CELL_BITS | _CRASH],
            comparisons={0: Comparison.error(Reason.CRASHED, note=note)},
        )
