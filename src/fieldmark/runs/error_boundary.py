"""Error boundaries: an exception in a plug-in becomes an error of its field, never a score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from fieldmark.compare.any_of import AnyOf
from fieldmark.compare.ignore import Ignore
from fieldmark.evaluators.base import Score, Status
from fieldmark.metrics.conventions import OnError
from fieldmark.model.case import Case, Verdict, documents_of
from fieldmark.model.comparison import BatchComparator, Comparator, Comparison, TextPair
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import CELL_BITS, Outcome, Presence, Reason, fact
from fieldmark.model.outcomes import Attribute, Outcomes
from fieldmark.model.rule import Rules
from fieldmark.plan import Plan, compile_plan
from fieldmark.values.paths import ROOT

_FAILED_FACT: Final = fact(Outcome.ERROR, Presence.VALUE, Presence.VALUE)


def compare_cases(plan: Plan, cases: Sequence[Case]) -> list[Outcomes]:
    """Compare cases; a field whose comparator raises an exception is an error."""
    try:
        return plan.compare_all(documents_of(cases))
    except Exception:  # noqa: BLE001 - compare the cases again, one by one
        plan.discard_deferred()
        safe = compile_plan(safe_rules(plan.rules), plan.table)
        return [_compare_one(safe, case) for case in cases]


def score_or_error(
    name: str, score: Callable[[], Score], on_error: OnError = OnError.UNDEFINED
) -> Score:
    """Return the score of an evaluator; an exception becomes an error.

    With `on_error: zero`, a failed evaluation scores 0 and has a miss.
    """
    try:
        found = score()
    except Exception as error:  # noqa: BLE001 - a plug-in may raise anything
        found = Score.error(f"{name} raised {error!r}")
    if found.status is Status.OK or on_error != OnError.ZERO:
        return found
    misses = (*found.misses, f"{ROOT} (evaluation error: {found.reasoning})")
    return replace(found, score=0.0, verdict=Verdict.FAIL, misses=misses, status=Status.OK)


def _compare_one(plan: Plan, case: Case) -> Outcomes:
    """Compare one case; an exception outside its comparators is an error of the whole case."""
    try:
        return plan.compare_all([case.unparsed or (case.expected, case.candidate)])[0]
    except Exception as error:  # noqa: BLE001
        plan.discard_deferred()
        number = plan.table.add(Attribute(path="$", comparator=""))
        return Outcomes(cells=[number << CELL_BITS | _FAILED_FACT], comparisons={0: _failed(error)})


def _failed(error: Exception) -> Comparison:
    return Comparison.error(Reason.CRASHED, note=f"{type(error).__name__}: {error}")


def safe_rules(rules: Rules) -> Rules:
    """Return the same rules with comparators that never raise."""
    return replace(
        rules,
        default=None if rules.default is None else safe_comparator(rules.default),
        fields=tuple(
            rule
            if rule.comparator is None
            else replace(rule, comparator=safe_comparator(rule.comparator))
            for rule in rules.fields
        ),
    )


def safe_comparator(comparator: Comparator) -> Comparator:
    """Return a comparator that never raises an exception."""
    if isinstance(comparator, Ignore) or hasattr(comparator, "words"):
        return comparator
    if isinstance(comparator, AnyOf):
        return AnyOf(inner=safe_comparator(comparator.inner))
    if hasattr(comparator, "settle"):
        return cast(Comparator, _SafeBatchComparator(inner=comparator))
    return cast(Comparator, _SafeComparator(inner=comparator))


@dataclass(frozen=True, slots=True, kw_only=True)
class _SafeComparator:
    """A comparator that returns an error instead of raising an exception."""

    inner: Comparator

    @property
    def name(self) -> str:
        """The name of the wrapped comparator."""
        return self.inner.name

    @property
    def reflexive(self) -> bool:
        """Always false: equal values are compared too, because this may be what fails."""
        return False

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Compare one pair."""
        try:
            return self.inner.compare(expected, candidate)
        except Exception as error:  # noqa: BLE001 - a plug-in may raise anything
            return _failed(error)


class _SafeBatchComparator(_SafeComparator):
    """The same for a comparator that calls a provider."""

    __slots__ = ()

    def settle(self, expected: JsonValue, candidate: JsonValue) -> Comparison | TextPair:
        """Return the comparison if it needs no provider, otherwise the strings to send."""
        try:
            return cast(BatchComparator, self.inner).settle(expected, candidate)
        except Exception as error:  # noqa: BLE001
            return _failed(error)

    def ask(self, pairs: Sequence[TextPair]) -> Sequence[Comparison]:
        """Compare a batch of pairs."""
        try:
            return cast(BatchComparator, self.inner).ask(pairs)
        except Exception as error:  # noqa: BLE001
            return [_failed(error)] * len(pairs)
