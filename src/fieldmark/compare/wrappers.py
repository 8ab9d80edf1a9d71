"""Comparators that apply another comparator: to each acceptable value, or to each word."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, Final

from fieldmark.compare.exact import Exact, NormalizedText
from fieldmark.model.comparison import MATCHED, Comparator, Comparison, mismatch
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.json_text import strict_json
from fieldmark.values.presence import is_present

_NONE: Final = Comparison.differs(Reason.NONE_ACCEPTABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """Match one of the acceptable values that the expected list contains."""

    name: ClassVar[str] = "any_of"
    # A candidate that equals the whole list is not one of its members.
    reflexive: ClassVar[bool] = False
    inner: Comparator

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Return the best comparison with any of the acceptable values.

        >>> from fieldmark.compare.exact import Exact
        >>> AnyOf(inner=Exact()).compare(["USD", "$"], "$").matched
        True
        """
        if not isinstance(expected, list):
            return self.inner.compare(expected, candidate)
        acceptable = (value for value in expected if is_present(value))
        results = [self.inner.compare(value, candidate) for value in acceptable]
        # A match takes precedence, then a failure, which might have been a match.
        best = max(
            results, key=lambda result: (result.matched, result.failed, result.score), default=_NONE
        )
        if best.matched or best.failed:
            return best
        similarities = [result.similarity for result in results if result.similarity is not None]
        return _NONE._replace(
            similarity=max(similarities, default=None),
            wrong_kind=bool(results) and all(result.wrong_kind for result in results),
            coerced=any(result.coerced for result in results),
            ambiguous=any(result.ambiguous for result in results),
            approximate=any(result.approximate for result in results),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Count the words that two texts have in common, in any order.

    Each word that both have is a match, each further word of the expected text is missing, and each
    further word of the candidate is extra. `inner` says which words are equal.
    """

    name: ClassVar[str] = "tokens"
    # Equal texts have one match per word.
    reflexive: ClassVar[bool] = False
    inner: Exact | NormalizedText

    def words(self, value: JsonValue) -> list[str] | None:
        """Return the words of a text, number or boolean; `None` for a list or an object.

        >>> Tokens(inner=NormalizedText()).words("Blue  Widget, large")
        ['blue', 'widget,', 'large']
        """
        if isinstance(value, dict | list):
            return None
        words = (value if isinstance(value, str) else strict_json(value).decode()).split()
        if isinstance(self.inner, NormalizedText):
            words = [part for word in words for part in self.inner.text(word).split()]
        return words

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match texts with the same words; the similarity is the F1 of the words.

        >>> Tokens(inner=Exact()).compare("a b c", "c a d").similarity
        0.6666666666666666
        """
        expected_words, candidate_words = self.words(expected), self.words(candidate)
        if expected_words is None or candidate_words is None:
            return mismatch(expected, candidate)
        common = (Counter(expected_words) & Counter(candidate_words)).total()
        if common == len(expected_words) == len(candidate_words):
            return MATCHED
        similarity = 2 * common / (len(expected_words) + len(candidate_words))
        return Comparison.differs(Reason.DIFFERENT)._replace(similarity=similarity)
