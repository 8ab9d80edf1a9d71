"""A crash inside a plug-in becomes an error, never a score, and costs nothing but its field."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fieldmark.evaluators.base import Score
from fieldmark.model.case import Case
from fieldmark.model.outcome import CELL_BITS, Outcome, Presence, fact
from fieldmark.model.outcomes import Attribute, Outcomes
from fieldmark.plan import Plan, compile_plan
from fieldmark.run.careful import careful_rules, crashed

__all__ = ["guarded", "guarded_score"]

_CRASH = fact(Outcome.ERROR, Presence.VALUE, Presence.VALUE)


def guarded(plan: Plan, cases: Sequence[Case]) -> list[Outcomes]:
    """Compare a batch; a field that crashes is marked as an error and the others go on."""
    try:
        return plan.compare_all([(case.expected, case.candidate) for case in cases])
    except Exception:  # noqa: BLE001 - the cases are tried again, one by one and with care
        plan.discard_deferred()
        careful = compile_plan(careful_rules(plan.rules), plan.table)
        return [_one(careful, case) for case in cases]


def guarded_score(name: str, score: Callable[[], Score]) -> Score:
    """What an evaluator says; a crash inside of it is an error, never a score."""
    try:
        return score()
    except Exception as error:  # noqa: BLE001 - a plug-in may raise anything
        return Score.error(f"{name} crashed: {error!r}")


def _one(plan: Plan, case: Case) -> Outcomes:
    """One case; what crashes outside of its comparators is an error of the whole case."""
    try:
        return plan.compare(case.expected, case.candidate)
    except Exception as error:  # noqa: BLE001
        plan.discard_deferred()
        number = plan.table.add(Attribute(path="$", comparator=""))
        return Outcomes(cells=[number << CELL_BITS | _CRASH], comparisons={0: crashed(error)})
