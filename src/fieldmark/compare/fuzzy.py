"""Compare strings by their similarity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Final

from rapidfuzz import fuzz
from rapidfuzz.distance import JaroWinkler, Levenshtein

from fieldmark.compare.mismatch import WRONG_TYPE
from fieldmark.compare.options import check_flag, check_share, checked_choice
from fieldmark.model.comparison import MATCHED, Comparison
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.equality import equal
from fieldmark.values.text import folded

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
