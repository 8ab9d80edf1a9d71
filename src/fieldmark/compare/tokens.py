"""Compare texts word by word."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from fieldmark.compare.exact import Exact, NormalizedText
from fieldmark.compare.mismatch import mismatch
from fieldmark.model.comparison import MATCHED, Comparison
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.json_text import strict_json


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
            words = [word for each in words for word in self.inner.text(each).split()]
        return words

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match texts with the same words; the similarity is the F1 of the words.

        >>> Tokens(inner=Exact()).compare("a b c", "c a d").similarity
        0.6666666666666666
        """
        ours, theirs = self.words(expected), self.words(candidate)
        if ours is None or theirs is None:
            return mismatch(expected, candidate)
        common = (Counter(ours) & Counter(theirs)).total()
        if common == len(ours) == len(theirs):
            return MATCHED
        similarity = 2 * common / (len(ours) + len(theirs))
        return Comparison.differs(Reason.DIFFERENT)._replace(similarity=similarity)
