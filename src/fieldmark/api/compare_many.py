"""Several candidates of one truth: which is best, and how far they agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from fieldmark.api.compare import compare_under, json_of
from fieldmark.metrics.consistency import Ranking, agreement, consistency
from fieldmark.metrics.consistency import rank as ranking_of
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.model.outcome import Outcome
from fieldmark.model.outcomes import FieldOutcome
from fieldmark.model.rule import Rules, Scope
from fieldmark.run.provider_set import ProviderSet
from fieldmark.run.settings import RulesLike, resolve_settings
from fieldmark.values.equality import equal
from fieldmark.wire.case_result import CaseResult, FieldResult

__all__ = ["ManyResult", "compare_many"]


@dataclass(frozen=True, slots=True)
class ManyResult:
    """Every candidate compared with the truth, in the order given, and what they have in common.

    `consistency` is the mean agreement of the candidates with one another over all fields, and
    `agreement` what it is field by field; with a single candidate there is none.
    """

    results: tuple[CaseResult, ...]
    ranking: Ranking
    consistency: float | None
    agreement: Mapping[str, float]

    @property
    def best(self) -> CaseResult:
        """The candidate with the highest score, the first of equals."""
        return self.results[self.ranking.order[0]]

    def to_dict(self) -> JsonObject:
        """Everything as JSON."""
        return {
            "order": list(self.ranking.order),
            "best": self.ranking.best,
            "mean": self.ranking.mean,
            "deviation": self.ranking.deviation,
            "consistency": self.consistency,
            "agreement": dict(self.agreement),
            "results": [result.to_dict() for result in self.results],
        }


def compare_many(
    expected: JsonValue,
    candidates: Sequence[JsonValue],
    *,
    rules: RulesLike = None,
    convention: str = "confusion",
    options: Mapping[str, JsonValue] | None = None,
) -> ManyResult:
    """Compare several candidates with one truth and with one another.

    >>> import fieldmark as fm
    >>> ranked = fm.compare_many({"total": 5}, [{"total": 6}, {"total": 5}, {"total": 5}])
    >>> ranked.ranking.order, ranked.consistency
    ((1, 2, 0), 0.3333333333333333)
    """
    settings = resolve_settings(rules, convention=convention, options=options)
    ProviderSet(settings.rules).check_ready()
    named = {f"candidates[{place}]": each for place, each in enumerate(candidates)}
    expected, *candidates = json_of({"expected": expected, **named})
    results = tuple(compare_under(settings, expected, candidate) for candidate in candidates)
    even = replace(settings, rules=_for_equals(settings.rules))
    pairs = [_records(compare_under(even, *two)) for two in combinations(candidates, 2)]
    return ManyResult(
        results,
        ranking_of([result.score for result in results]),
        consistency(pairs),
        agreement(pairs),
    )


def _for_equals(rules: Rules) -> Rules:
    """The rules between candidates, of which neither is the truth."""
    return replace(rules, scope=Scope.UNION) if rules.scope is Scope.TRUTH else rules


def _records(pair: CaseResult) -> list[FieldOutcome]:
    """The fields of two candidates; equal values agree, whatever the comparator asks of a truth."""
    return [
        record._replace(outcome=Outcome.MATCH) if _same(field) else record
        for record, field in zip(pair.outcomes.records(pair.attributes), pair.fields, strict=True)
    ]


def _same(field: FieldResult) -> bool:
    one, other = field.expected, field.candidate
    compared = field.outcome != Outcome.IGNORED.label
    return compared and one is not MISSING and other is not MISSING and equal(one, other)
