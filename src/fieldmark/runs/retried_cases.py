"""The failed cases of a complete run, compared and judged again between its other results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

from fieldmark.compare.provider_lookup import with_sources
from fieldmark.errors import ConfigError
from fieldmark.evaluators.base import Status
from fieldmark.model.case import Case
from fieldmark.model.comparison import Comparison, Similarity, TextPair
from fieldmark.model.json import MISSING
from fieldmark.model.outcome import Reason
from fieldmark.model.rule import Rules
from fieldmark.plan import Plan, compile_plan
from fieldmark.runs.case_processor import CaseProcessor, split_unreadable
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.resume import StoredResults
from fieldmark.runs.session import SegmentResult
from fieldmark.runs.stored_run import StoredRun

if TYPE_CHECKING:
    from fieldmark.runs.session import Session


def is_failed(result: CaseResult) -> bool:
    """Return whether a comparison, an evaluator or the target of a case failed."""
    return result.stats.errors_count > 0 or any(
        evaluation.score.status is Status.ERROR for evaluation in result.evaluator_results
    )


def retried_segments(
    session: Session, run: StoredRun, processor: CaseProcessor
) -> Iterator[SegmentResult]:
    """Yield all segments of a run, with new results for its failed cases."""
    stored: StoredResults | None = None
    rows = run.cases()
    for number, segment in enumerate(session.segments()):
        cases, unreadable = split_unreadable(segment)
        before = list(islice(rows, len(cases)))
        if [result.id for result in before] != [case.id for case in cases]:
            raise ConfigError.of(f"{run.path} does not have the cases of its inputs")
        failed = [is_failed(result) for result in before]
        target = session.prepared.target
        new = [case for case, again in zip(cases, failed, strict=True) if again]
        if target is not None and new:
            with closing(session.produced(target, new)) as produced:
                new = list(produced)
        if stored is None:
            # Attributes are numbered as in a run without failures, in which they occur in the
            # order of the cases.
            produced_cases = iter(new)
            complete = [
                next(produced_cases) if again else _with_candidate(case, result)
                for case, result, again in zip(cases, before, failed, strict=True)
            ]
            _register(session, complete)
            stored = StoredResults(run, session.plan, session.own_plans, when_used=True)
        restored = stored.restore(number, cases) or []
        fresh = iter(processor.process(new))
        results: Sequence[CaseResult] = [
            next(fresh) if again else result for result, again in zip(restored, failed, strict=True)
        ]
        if session.runner is not None:
            results = session.runner.evaluate(results, stored=[not again for again in failed])
        yield SegmentResult(number, results, unreadable, stored=False)


def _with_candidate(case: Case, result: CaseResult) -> Case:
    candidate = result.candidate
    return case if candidate is MISSING else case._replace(candidate=candidate)


def _register(session: Session, cases: Sequence[Case]) -> None:
    """Add the attributes of cases to the table of the run, without asking a provider."""
    plans: dict[int, Plan] = {}

    def plan_of(rules: Rules) -> Plan:
        if id(rules) not in plans:
            unasked = with_sources(rules, lambda _: _Unasked())
            plans[id(rules)] = compile_plan(unasked, session.plan.table)
        return plans[id(rules)]

    settings = session.settings
    own = {case_id: plan_of(rules) for case_id, rules in settings.own_rules.items()}
    CaseProcessor(plan_of(settings.rules), settings.convention, own).process(cases)


class _Unasked:
    """A source of similarities that knows none."""

    def similarities(self, pairs: Sequence[TextPair]) -> Sequence[Similarity]:
        """Return an error for each pair."""
        return [Comparison.error(Reason.PROVIDER_FAILED)] * len(pairs)
