"""Several candidates of one truth: which is best, and how far they agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from fieldmark.api.case_result import CaseResult
from fieldmark.api.compare import compare_under
from fieldmark.api.settings import RulesLike, settle
from fieldmark.metrics.consistency import Ranking, agreement, consistency
from fieldmark.metrics.consistency import rank as ranking_of
from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["RankResult", "rank"]


@dataclass(frozen=True, slots=True)
class RankResult:
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


def rank(
    expected: JsonValue,
    candidates: Sequence[JsonValue],
    *,
    rules: RulesLike = None,
    convention: str = "confusion",
    options: Mapping[str, JsonValue] | None = None,
) -> RankResult:
    """Compare several candidates with one truth and with one another.

    >>> import fieldmark as fm
    >>> ranked = fm.rank({"total": 5}, [{"total": 6}, {"total": 5}, {"total": 5}])
    >>> ranked.ranking.order, ranked.consistency
    ((1, 2, 0), 0.3333333333333333)
    """
    settings = settle(rules, convention=convention, options=options)
    results = tuple(compare_under(settings, expected, candidate) for candidate in candidates)
    pairs = [
        list(pair.block.records(pair.table))
        for pair in (compare_under(settings, *two) for two in combinations(candidates, 2))
    ]
    return RankResult(
        results,
        ranking_of([result.score for result in results]),
        consistency(pairs),
        agreement(pairs),
    )
