"""Texts that mean the same, by a provider's judgement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from fieldmark.compare.kinds import mismatch
from fieldmark.compare.options import check_share
from fieldmark.compare.providers import Lexical
from fieldmark.model.comparison import MATCHED, Comparison, Provider, Similarity, TextPair
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.equality import equal

__all__ = ["Semantic"]

_MISCOUNTED: Final = Comparison.error(
    Reason.PROVIDER_FAILED, note="the provider gave another number of answers than it was asked"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Semantic:
    """Texts whose similarity in meaning reaches `threshold`; a pass earns the similarity.

    Equal values, and values that are not both texts, never reach the provider. A provider that
    fails makes an error, never a low score.
    """

    name: ClassVar[str] = "semantic"
    reflexive: ClassVar[bool] = True
    provider: Provider = field(default_factory=Lexical)
    threshold: float = 0.80

    def __post_init__(self) -> None:
        check_share("threshold", self.threshold)

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Grade the likeness in meaning of one pair: a column of one.

        >>> Semantic().compare("10 years of experience", "experience of 10 years").matched
        True
        """
        settled = self.settle(expected, candidate)
        return settled if isinstance(settled, Comparison) else self.ask([settled])[0]

    def settle(self, expected: JsonValue, candidate: JsonValue) -> Comparison | TextPair:
        """Decide without the provider unless both values are texts and differ."""
        if equal(expected, candidate):
            return MATCHED
        if isinstance(expected, str) and isinstance(candidate, str):
            return expected, candidate
        return mismatch(expected, candidate)

    def ask(self, pairs: Sequence[TextPair]) -> Sequence[Comparison]:
        """Grade a column of pairs with one call to the provider."""
        answers = self.provider.similarities(pairs)
        if len(answers) != len(pairs):
            return [_MISCOUNTED] * len(pairs)
        return [self._graded(answer) for answer in answers]

    def _graded(self, answer: Similarity) -> Comparison:
        if isinstance(answer, Comparison):
            return answer
        if not 0.0 <= answer <= 1.0:
            note = f"the provider gave {answer!r}, which is not between 0 and 1"
            return Comparison.error(Reason.PROVIDER_FAILED, note=note)
        return Comparison.graded(answer, self.threshold, approximate=self.provider.approximate)
