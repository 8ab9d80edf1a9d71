"""Compare several candidates with one expected value: which is best, and do they agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Unpack

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.compare import check_ready, compare_case, read_cases
from fieldmark.data.json_rows import ensure_documents
from fieldmark.metrics.consistency import Ranking, agreement, consistency
from fieldmark.metrics.consistency import rank as ranking_of
from fieldmark.model.case import Case
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.model.outcome import Outcome
from fieldmark.model.outcomes import FieldOutcome
from fieldmark.model.rule import Scope
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.run_options import CompareOptions
from fieldmark.runs.settings import resolve_settings
from fieldmark.values.equality import equal


@dataclass(frozen=True, slots=True)
class ManyResult:
    """The comparison of every candidate with the expected value, and of the candidates.

    Attributes:
        results: The result of each candidate.
        ranking: The order of the candidates from best to worst.
        consistency: The mean agreement over all fields; `None` with a single candidate.
        agreement: The share of pairs of candidates that agree, by field.
    """

    results: tuple[CaseResult, ...]
    ranking: Ranking
    consistency: float | None
    agreement: Mapping[str, float]

    @property
    def best(self) -> CaseResult:
        """The result with the highest score; the first if several have it."""
        return self.results[self.ranking.order[0]]

    def to_dict(self) -> JsonObject:
        """Return the results as JSON."""
        return {
            "order": list(self.ranking.order),
            "ranks": list(self.ranking.ranks),
            "best": self.ranking.best,
            "mean": self.ranking.mean,
            "deviation": self.ranking.deviation,
            "consistency": self.consistency,
            "agreement": dict(self.agreement),
            "results": [result.to_dict() for result in self.results],
        }


@checked
def compare_many(
    expected: object,
    candidates: Iterable[object],
    **options: Unpack[CompareOptions],
) -> ManyResult:
    """Compare several candidates with the expected value and with each other.

    Args:
        expected: The correct document, as for `compare`.
        candidates: The extracted documents, as for `compare`.
        **options: Further options, listed below.

    >>> import fieldmark as fm
    >>> ranked = fm.compare_many({"total": 5}, [{"total": 6}, {"total": 5}, {"total": 5}])
    >>> ranked.ranking.order, ranked.consistency
    ((1, 2, 0), 0.3333333333333333)
    """
    settings = resolve_settings(**options)
    check_ready(settings)
    documents = ensure_documents(candidates, "candidates", "a list of documents")
    named = {f"candidates[{place}]": each for place, each in enumerate(documents)}
    cases = read_cases(expected, named)
    results = tuple(compare_case(settings, case) for case in cases)
    # In a comparison of two candidates, neither is the ground truth, and both were judged.
    settings = replace(settings, safety=None)
    if settings.rules.scope is Scope.TRUTH:
        settings = replace(settings, rules=replace(settings.rules, scope=Scope.UNION))
    pairs = [
        _agreement_outcomes(compare_case(settings, other._replace(expected=_document(one))))
        for one, other in combinations(cases, 2)
    ]
    return ManyResult(
        results,
        ranking_of([result.score for result in results]),
        consistency(pairs),
        agreement(pairs),
    )


def _document(case: Case) -> JsonValue:
    """Return the candidate of a case, which is empty if it could not be read."""
    return None if case.candidate is MISSING else case.candidate


def _agreement_outcomes(pair: CaseResult) -> list[FieldOutcome]:
    """Return the fields of two candidates; equal values agree with any comparator."""
    records: list[FieldOutcome] = []
    for record, field in zip(pair.outcomes.records(pair.attributes), pair.fields, strict=True):
        first, second = field.expected, field.candidate
        same = first is not MISSING and second is not MISSING and equal(first, second)
        agree = same and record.outcome is not Outcome.IGNORED
        records.append(record._replace(outcome=Outcome.MATCH) if agree else record)
    return records
