"""Compare strings by their similarity."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Final, cast

from rapidfuzz import fuzz
from rapidfuzz.distance import JaroWinkler, Levenshtein

from fieldmark.compare.mismatch import WRONG_TYPE
from fieldmark.compare.options import check_flag, check_share, checked_choice
from fieldmark.model.comparison import MATCHED, Comparison
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.equality import equal
from fieldmark.values.text import folded

if TYPE_CHECKING:
    from fieldmark.values.arrays import Floats

__all__ = ["MAX_TEXT_LENGTH", "Algorithm", "Fuzzy", "levenshtein_similarity"]

MAX_TEXT_LENGTH: Final = 10_000
"""Longer strings are not compared, because the cost is quadratic."""

_IDENTICAL: Final = Comparison(matched=True, score=1.0, similarity=1.0)
_TOO_LONG: Final = Comparison.error(
    Reason.TOO_LONG, note=f"string is too long for fuzzy matching (limit {MAX_TEXT_LENGTH:,})"
)


class Algorithm(StrEnum):
    """How the similarity of two strings is computed."""

    LEVENSHTEIN = "levenshtein"
    JARO_WINKLER = "jaro_winkler"
    TOKEN_SORT = "token_sort"  # noqa: S105 - words, not secrets
    TOKEN_SET = "token_set"  # noqa: S105 - words, not secrets


def levenshtein_similarity(expected: str, candidate: str) -> float:
    """Return 1 minus the edit distance divided by the length of the longer string.

    >>> levenshtein_similarity("kitten", "sitting")
    0.5714285714285714
    """
    longer = max(len(expected), len(candidate))
    return 1.0 - Levenshtein.distance(expected, candidate) / longer if longer else 1.0


_SIMILARITY: Final[Mapping[Algorithm, Callable[[str, str], float]]] = {
    Algorithm.LEVENSHTEIN: levenshtein_similarity,
    Algorithm.JARO_WINKLER: JaroWinkler.similarity,
    Algorithm.TOKEN_SORT: lambda one, other: fuzz.token_sort_ratio(one, other) / 100,
    Algorithm.TOKEN_SET: lambda one, other: fuzz.token_set_ratio(one, other) / 100,
}

_SCORERS: Final[Mapping[Algorithm, tuple[Callable[..., float], int]]] = {
    Algorithm.LEVENSHTEIN: (Levenshtein.distance, 1),
    Algorithm.JARO_WINKLER: (JaroWinkler.similarity, 1),
    Algorithm.TOKEN_SORT: (fuzz.token_sort_ratio, 100),
    Algorithm.TOKEN_SET: (fuzz.token_set_ratio, 100),
}
"""The same for many strings at once: a scorer, and what its result is divided by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fuzzy:
    """Match strings whose similarity is at least `threshold`; the score is the similarity.

    Case and surrounding whitespace are ignored unless `case_sensitive` is set.
    """

    name: ClassVar[str] = "fuzzy"
    reflexive: ClassVar[bool] = True
    algorithm: Algorithm = Algorithm.LEVENSHTEIN
    threshold: float = 0.85
    case_sensitive: bool = False
    _similarity: Callable[[str, str], float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        algorithm = checked_choice("algorithm", self.algorithm, Algorithm)
        check_share("threshold", self.threshold)
        check_flag("case_sensitive", self.case_sensitive)
        object.__setattr__(self, "algorithm", algorithm)
        object.__setattr__(self, "_similarity", _SIMILARITY[algorithm])

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Grade the similarity of two strings.

        >>> Fuzzy(threshold=0.5).compare("kitten", "sitting").matched
        True
        """
        if not isinstance(expected, str) or not isinstance(candidate, str):
            return MATCHED if equal(expected, candidate) else WRONG_TYPE
        if expected == candidate:
            return MATCHED
        if not self.case_sensitive:
            expected, candidate = folded(expected), folded(candidate)
            if expected == candidate:
                return _IDENTICAL
        if len(expected) > MAX_TEXT_LENGTH or len(candidate) > MAX_TEXT_LENGTH:
            return _TOO_LONG
        return Comparison.graded(self._similarity(expected, candidate), self.threshold)

    def agrees_with_default(self, leaves: Sequence[Hashable]) -> bool:
        """Whether the default similarity of list items gives leaves the same similarities."""
        # Two different ISO dates have no similarity by default.
        return (
            self.algorithm is Algorithm.LEVENSHTEIN
            and not self.case_sensitive
            and set(map(type, leaves)) == {str}
            and not [leaf for leaf in cast("Sequence[str]", leaves) if leaf[4:5] == "-"]
        )

    def similarities(self, expected: Sequence[JsonValue], candidate: Sequence[JsonValue]) -> Floats:
        """Return the similarity of every pair of values; 0 if it cannot be computed."""
        import numpy as np
        from rapidfuzz.process import cdist

        similarities: Floats = np.zeros((len(expected), len(candidate)))
        ours, theirs = self._texts(expected), self._texts(candidate)
        if ours and theirs:
            scorer, divisor = _SCORERS[self.algorithm]
            found = cdist(
                list(ours.values()), list(theirs.values()), scorer=scorer, dtype=np.float64
            )
            if self.algorithm is Algorithm.LEVENSHTEIN:
                sizes, other_sizes = map(list, (map(len, ours.values()), map(len, theirs.values())))
                found = 1.0 - found / np.maximum(np.maximum.outer(sizes, other_sizes), 1)
            similarities[np.ix_(list(ours), list(theirs))] = found / divisor
        compared = len(ours) == len(expected) and len(theirs) == len(candidate)
        for place, value in enumerate(() if compared else expected):
            for other, candidate_value in enumerate(candidate):
                if place not in ours or other not in theirs:
                    similarities[place, other] = self.compare(value, candidate_value).score
        return similarities

    def _texts(self, values: Sequence[JsonValue]) -> dict[int, str]:
        """Return the strings that are compared by the algorithm, by position."""
        read = str if self.case_sensitive else folded
        texts = {p: read(value) for p, value in enumerate(values) if isinstance(value, str)}
        return {p: text for p, text in texts.items() if len(text) <= MAX_TEXT_LENGTH}
