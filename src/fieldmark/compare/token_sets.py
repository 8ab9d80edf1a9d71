"""Compare names and addresses by their sets of words, in any order."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, ClassVar, Final, TypeAlias

import orjson

from fieldmark.compare.fuzzy import levenshtein_similarity, with_equal_numbers
from fieldmark.model.comparison import MATCHED, WRONG_TYPE, ComparatorGroup, Comparison
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.annotations import Share
from fieldmark.values.equality import equal
from fieldmark.values.strategy_options import check_options
from fieldmark.values.text import Ignored, ignoring, unified

_Words: TypeAlias = frozenset[str]

_MAX_LENGTH: Final = 2_000
_MIN_WORD_SIMILARITY: Final = 0.6
"""The similarity from which two words can be spellings of one word."""
_TOO_LONG: Final = Comparison.error(
    Reason.TOO_LONG, note=f"string is too long for comparing words (limit {_MAX_LENGTH:,})"
)
_IDENTICAL: Final = Comparison(matched=True, score=1.0, similarity=1.0)
_INITIAL: Final = re.compile(r"(?<![^\W_])([^\W\d_])\.")
_APOSTROPHE: Final = re.compile(r"['\u2019\u02bc`]")
_SEPARATORS: Final = re.compile(r"[\W_]+")
_INITIALS: Final = re.compile(r"(?<=\b[^\W\d_]) (?=[^\W\d_]\b)")
"""The blank between two initials."""
_HOUSE_LETTER: Final = re.compile(r"\b([0-9]+) ([a-df-mo-rt-vx-z])\b")
"""A letter that belongs to the number before it, unless it is a direction (E, N, S, W)."""


def _first_of_each(groups: Sequence[Sequence[str]]) -> Mapping[str, str]:
    """Return the first word of each group for all of its words."""
    return {word: group[0] for group in groups for word in group}


_TABLES: Final[Mapping[str, Any]] = orjson.loads(
    files("fieldmark.compare").joinpath("word_forms.json").read_bytes()
)
_FORMS: Final = _first_of_each(_TABLES["names"])
"""Forms of one word in names of companies and people."""
_TITLES: Final = frozenset[str](_TABLES["titles"])
_STREETS: Final = _first_of_each(_TABLES["addresses"])
"""Forms of one word in addresses, mostly the abbreviations of postal services."""


def _words(text: str) -> str:
    """Return a text as lower-case words, without accents and punctuation.

    >>> _words("O'Brien & Söhne, L.L.C., No.5")
    'obrien and sohne llc no 5'
    """
    text = ignoring(unified(text), [Ignored.ACCENTS]).replace("&", " and ").replace("+", " and ")
    text = _INITIAL.sub(r"\1", _APOSTROPHE.sub("", text))
    return _SEPARATORS.sub(" ", text).strip()


def _name_words(text: str) -> _Words:
    joined = _INITIALS.sub("", _words(text))
    words = [_FORMS.get(word, word) for word in joined.split()]
    return frozenset(word for word in words if word not in _TITLES) or frozenset(words)


def _address_words(text: str) -> _Words:
    words = _HOUSE_LETTER.sub(r"\1\2", _words(text)).split()
    return frozenset(
        f"{word}asse" if word.endswith("str") and word != "str" else _STREETS.get(word, word)
        for word in words
    )


def _similarity(expected_words: _Words, candidate_words: _Words) -> float:
    """Return the share of letters in words that both sets have.

    Different spellings of one word count by their similarity; each word is used once.
    """
    total = sum(map(len, expected_words)) + sum(map(len, candidate_words))
    shared = 2.0 * sum(map(len, expected_words & candidate_words))
    pairs = sorted(
        (-levenshtein_similarity(word, other), min(word, other), max(word, other), word, other)
        for word in expected_words - candidate_words
        for other in candidate_words - expected_words
        if not (_has_digit(word) or _has_digit(other))
    )
    used: set[tuple[bool, str]] = set()
    for less, _, _, word, other in pairs:
        if -less < _MIN_WORD_SIMILARITY:
            break
        if not used & {(True, word), (False, other)}:
            used |= {(True, word), (False, other)}
            shared -= less * (len(word) + len(other))
    return min(1.0, shared / total) if total else 0.0


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


def _compare_words(
    expected: JsonValue, candidate: JsonValue, threshold: float, words: Callable[[str], _Words]
) -> Comparison:
    if not isinstance(expected, str) or not isinstance(candidate, str):
        return MATCHED if equal(expected, candidate) else WRONG_TYPE
    if expected == candidate:
        return MATCHED
    if len(expected) > _MAX_LENGTH or len(candidate) > _MAX_LENGTH:
        return _TOO_LONG
    expected_words, candidate_words = words(expected), words(candidate)
    if expected_words == candidate_words and expected_words:
        return _IDENTICAL
    graded = Comparison.graded(_similarity(expected_words, candidate_words), threshold)
    if not graded.matched:
        return graded
    numbers = [
        [word for word in side if _has_digit(word)] for side in (expected_words, candidate_words)
    ]
    return with_equal_numbers(graded, *numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """Match names of people or companies with the same words in any order.

    Case, accents, punctuation, titles and common abbreviations such as Inc. are ignored. The
    similarity is the share of letters in equal or similar words, and must be at least `threshold`.
    Numbers must be the same.
    """

    name: ClassVar[str] = "name"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.CONTACTS
    normalization: ClassVar[str] = (
        "case, accents, punctuation, titles and common abbreviations are ignored"
    )
    reflexive: ClassVar[bool] = True
    threshold: Share = 0.85

    def __post_init__(self) -> None:
        check_options(self)

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Grade the similarity of two names.

        >>> Name().compare("Dr. José Smith", "SMITH, JOSE").matched
        True
        """
        return _compare_words(expected, candidate, self.threshold, _name_words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Match postal addresses with the same words in any order.

    Case, accents, punctuation and common abbreviations such as St. are ignored. The similarity is
    the share of letters in equal or similar words, and must be at least `threshold`. Numbers must
    be the same.
    """

    name: ClassVar[str] = "address"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.CONTACTS
    normalization: ClassVar[str] = "case, accents, punctuation and common abbreviations are ignored"
    reflexive: ClassVar[bool] = True
    threshold: Share = 0.85

    def __post_init__(self) -> None:
        check_options(self)

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Grade the similarity of two addresses.

        >>> Address().compare("12 Main Street", "12 Main St.").matched
        True
        >>> Address().compare("12 Main Street, Springfield", "21 Main Street, Springfield").note
        'numbers differ: 12 vs. 21'
        """
        return _compare_words(expected, candidate, self.threshold, _address_words)
