"""Compare strings by their similarity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Final, cast

from rapidfuzz import fuzz
from rapidfuzz.distance import JaroWinkler, Levenshtein

from fieldmark.model.comparison import MATCHED, WRONG_TYPE, ComparatorGroup, Comparison
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.annotations import Share
from fieldmark.values.equality import equal
from fieldmark.values.numbers import numbers_in
from fieldmark.values.strategy_options import check_options
from fieldmark.values.text import Ignored, ignoring, shorten, unified, with_plain_dashes

MAX_TEXT_LENGTH: Final = 10_000
"""Longer strings are not compared, because the cost is quadratic."""

_MAX_NAMED: Final = 3
_MAX_SHOWN: Final = 20
_ODD_BLANKS: Final = ("  ", *"\t\n\v\f\r\x1c\x1d\x1e\x1f")
"""Blanks in ASCII text that are not a single space between words."""
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


class NumbersInText(StrEnum):
    """Whether numbers inside text are compared like letters, or must be the same."""

    SIMILAR = "similar"
    EXACT = "exact"


def with_equal_numbers(
    graded: Comparison, expected: Sequence[str], candidate: Sequence[str], *, in_order: bool = False
) -> Comparison:
    """Return the comparison, or a mismatch with its similarity if the numbers differ.

    >>> with_equal_numbers(Comparison.graded(0.9, 0.8), ["12"], ["21"]).note
    'numbers differ: 12 vs. 21'
    """
    expected_counts, candidate_counts = Counter(expected), Counter(candidate)
    if expected_counts != candidate_counts:
        missing, extra = (
            sorted((expected_counts - candidate_counts).elements()),
            sorted((candidate_counts - expected_counts).elements()),
        )
        note = f"numbers differ: {first_few(missing)} vs. {first_few(extra)}"
    elif in_order and list(expected) != list(candidate):
        note = f"order of numbers differs: {first_few(expected)} vs. {first_few(candidate)}"
    else:
        return graded
    return graded._replace(matched=False, score=0.0, reason=Reason.GUARD_FAILED, note=note)


def first_few(words: Sequence[str]) -> str:
    """Return the first words for a note.

    >>> first_few(["1", "2", "3", "4"]), first_few([])
    ('1, 2, 3, …', 'none')
    """
    dots = ", …" if len(words) > _MAX_NAMED else ""
    return ", ".join(shorten(word, _MAX_SHOWN) for word in words[:_MAX_NAMED]) + dots or "none"


def levenshtein_similarity(expected: str, candidate: str) -> float:
    """Return 1 minus the edit distance divided by the length of the longer string.

    >>> levenshtein_similarity("kitten", "sitting")
    0.5714285714285714
    """
    longer = max(len(expected), len(candidate))
    return 1.0 - Levenshtein.distance(expected, candidate) / longer if longer else 1.0


def _token_sort_similarity(expected: str, candidate: str) -> float:
    return fuzz.token_sort_ratio(expected, candidate) / 100


def _token_set_similarity(expected: str, candidate: str) -> float:
    return fuzz.token_set_ratio(expected, candidate) / 100


_SIMILARITY: Final[Mapping[Algorithm, Callable[[str, str], float]]] = {
    Algorithm.LEVENSHTEIN: levenshtein_similarity,
    Algorithm.JARO_WINKLER: JaroWinkler.similarity,
    Algorithm.TOKEN_SORT: _token_sort_similarity,
    Algorithm.TOKEN_SET: _token_set_similarity,
}
"""Functions of this module, because strategies are sent to worker processes."""


def _folded(text: str) -> str:
    return with_plain_dashes(unified(text))


_IN_ORDER: Final = frozenset({Algorithm.LEVENSHTEIN, Algorithm.JARO_WINKLER})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fuzzy:
    """Match strings whose similarity is at least `threshold`; the score is the similarity.

    Case, whitespace, dashes and Unicode forms are normalized unless `case_sensitive` is set.
    `ignore` lists what else is ignored: `punctuation`, `accents` and `white_space`. With
    `numbers: exact`, the numbers inside both strings must be the same, with their signs, decimals
    and the letters behind them, and in the same order unless the algorithm compares words in any
    order.
    """

    name: ClassVar[str] = "fuzzy"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.TEXT
    normalization: ClassVar[str] = "case, whitespace, kinds of dashes and Unicode form are ignored"
    reflexive: ClassVar[bool] = True
    algorithm: Algorithm = Algorithm.LEVENSHTEIN
    threshold: Share = 0.85
    case_sensitive: bool = False
    ignore: tuple[Ignored, ...] = ()
    numbers: NumbersInText = NumbersInText.SIMILAR
    _similarity: Callable[[str, str], float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_options(self)
        object.__setattr__(self, "_similarity", _SIMILARITY[self.algorithm])

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
            expected, candidate = _folded(expected), _folded(candidate)
        expected_text, candidate_text = expected, candidate
        if self.ignore:
            expected_text, candidate_text = (
                ignoring(expected_text, self.ignore),
                ignoring(candidate_text, self.ignore),
            )
        if expected_text == candidate_text:
            graded = _IDENTICAL
        elif len(expected_text) > MAX_TEXT_LENGTH or len(candidate_text) > MAX_TEXT_LENGTH:
            return _TOO_LONG
        else:
            graded = Comparison.graded(
                self._similarity(expected_text, candidate_text), self.threshold
            )
        if self.numbers is NumbersInText.EXACT and graded.matched:
            return with_equal_numbers(
                graded,
                numbers_in(expected),
                numbers_in(candidate),
                in_order=self.algorithm in _IN_ORDER,
            )
        return graded

    @property
    def keeps_text_leaves(self) -> bool:
        """Whether `item_leaves` returns normalized ASCII text unchanged, except dates."""
        changed = self.case_sensitive or self.ignore or self.numbers is NumbersInText.EXACT
        return self.algorithm is Algorithm.LEVENSHTEIN and not changed

    def item_leaves(self, leaves: Sequence[Hashable]) -> Sequence[Hashable] | None:
        """Return strings whose edit distance this comparator measures, or `None`."""
        if not self.keeps_text_leaves:
            return None
        texts = cast("Sequence[str]", leaves)
        try:
            joined = "|".join(texts)
        except TypeError:  # not only strings
            return None
        # Most strings are folded already, because leaves have no case and no blanks around them.
        if [blanks for blanks in _ODD_BLANKS if blanks in joined]:
            texts = list(map(_folded, texts))
        elif not joined.isascii():
            texts = [text if text.isascii() else _folded(text) for text in texts]
        # By default, two different ISO dates have no similarity.
        if "-" in joined and [text for text in texts if text[4:5] == "-"]:
            return None
        return texts
