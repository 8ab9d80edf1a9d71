"""Error boundaries: an exception in a plug-in becomes an error of its field, never a score.

An exception of a comparator is an error of the field (`compare_cases`), and of an evaluator an
error of its result (`score_or_error`). All other exceptions end the run: resources that cannot be
opened before the first case (`open_evaluators`), and files that cannot be read or written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from fieldmark.compare.exact import Ignore
from fieldmark.compare.wrappers import AnyOf
from fieldmark.errors import ConfigError
from fieldmark.evaluators.base import SAFETY, EvaluatorResult, Score, Status
from fieldmark.metrics.conventions import OnError
from fieldmark.metrics.counts import verdict_at
from fieldmark.model.case import Case, CaseInput, Verdict, documents_of
from fieldmark.model.comparison import BatchComparator, Comparator, Comparison, TextPair
from fieldmark.model.json import MISSING, JsonValue
from fieldmark.model.outcome import CELL_BITS, Outcome, Presence, Reason, fact
from fieldmark.model.outcomes import Attribute, Outcomes
from fieldmark.model.rule import Rules
from fieldmark.plan import Plan, compile_plan
from fieldmark.values.paths import ROOT

if TYPE_CHECKING:
    from fieldmark.judges.safety import SafetyFunction, SafetyJudge

_FAILED_FACT: Final = fact(Outcome.ERROR, Presence.VALUE, Presence.VALUE)


def compare_cases(plan: Plan, cases: Sequence[Case]) -> list[Outcomes]:
    """Compare cases; a field whose comparator raises an exception is an error."""
    try:
        return plan.compare_all(documents_of(cases))
    except Exception:  # noqa: BLE001 - compare the cases again, one by one
        plan.discard_deferred()
    safe = compile_plan(safe_rules(plan.rules), plan.table)
    outcomes: list[Outcomes] = []
    for case in cases:
        try:
            outcomes += safe.compare_all(documents_of([case]))
        except Exception as error:  # noqa: BLE001 - outside its comparators: the whole case fails
            safe.discard_deferred()
            cell = safe.table.add(Attribute(path="$", comparator="")) << CELL_BITS | _FAILED_FACT
            outcomes.append(Outcomes(cells=[cell], comparisons={0: _failed(error)}))
    return outcomes


def score_or_error(
    name: str, score: Callable[[], Score], on_error: OnError = OnError.UNDEFINED
) -> Score:
    """Return the score of an evaluator; an exception becomes an error.

    With `on_error: zero`, a failed evaluation scores 0 and has a miss.
    """
    try:
        result = score()
    except Exception as error:  # noqa: BLE001 - a plug-in may raise anything
        result = Score.error(f"{name} raised {error!r}")
    if result.status is Status.OK or on_error != OnError.ZERO:
        return result
    misses = (*result.misses, f"{ROOT} (evaluation error: {result.reasoning})")
    return replace(
        result,
        score=0.0,
        verdict=Verdict.FAIL,
        misses=misses,
        status=Status.OK,
        bounds=None,
        zeroed=True,
    )


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
    if isinstance(comparator, Ignore) or any(
        hasattr(comparator, reads_parts) for reads_parts in ("words", "is_list")
    ):
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


_PASS_THRESHOLD: Final = 0.8


def check_safety(judge: SafetyJudge) -> None:
    """Raise an error if the judge cannot be used, before the first case."""
    if reason := judge.unready():
        raise ConfigError.of(f"safety: {reason}")


class SafetyRunner:
    """Judges the predictions of cases; a prediction that cannot be judged is an error."""

    __slots__ = ("_judge", "_name", "_pool")

    def __init__(self, name: str, judge: SafetyFunction, pool: ThreadPoolExecutor | None) -> None:
        self._name = name
        self._judge = judge
        self._pool = pool

    def judge(self, cases: Sequence[Case]) -> Iterator[EvaluatorResult | None]:
        """Return the safety of each case; `None` if there is no prediction to judge."""
        run = map if self._pool is None else self._pool.map
        return iter(run(self._result, cases))

    def _result(self, case: Case) -> EvaluatorResult | None:
        if case.input is CaseInput.FAILED:
            return EvaluatorResult(
                name=SAFETY, type=SAFETY, weight=0.0, score=Score.error(case.note)
            )
        if case.input is not CaseInput.OK or case.candidate is MISSING:
            return None
        score = score_or_error(SAFETY, partial(self._score, case.candidate))
        return EvaluatorResult(name=SAFETY, type=SAFETY, weight=0.0, score=score)

    def _score(self, candidate: JsonValue) -> Score:
        judged = self._judge(candidate)
        if judged.score is None:
            return Score.error(f"{SAFETY}: {judged.failure}")
        return Score(
            score=judged.score,
            verdict=verdict_at(judged.score, _PASS_THRESHOLD),
            reasoning=judged.reason,
            details={"judge": self._name, **judged.details},
            warnings=judged.warnings,
        )


@contextmanager
def open_safety(judge: SafetyJudge) -> Iterator[SafetyRunner]:
    """Open the judge for one run."""
    with ExitStack() as stack:
        concurrency: int | None = getattr(judge, "concurrency", None)
        pool = None
        if concurrency is not None:
            pool = ThreadPoolExecutor(concurrency, SAFETY)
            # Shut down after the judge: closing it ends any call that is still running.
            stack.callback(pool.shutdown, cancel_futures=True)
        yield SafetyRunner(judge.name, stack.enter_context(judge.opened()), pool)
