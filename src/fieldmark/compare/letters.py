"""Texts that have letters rather than a meaning: names, identifiers, short codes."""

from __future__ import annotations

import re
from typing import Final

from rapidfuzz import fuzz

from fieldmark.compare.fuzzy import levenshtein_similarity
from fieldmark.values.text import normalized

__all__ = ["likeness_of_letters", "same_letters", "speaks_by_letters"]

_LONGEST: Final = 60
_MOST_WORDS: Final = 5
_FEWEST_WORDS: Final = 2
_WORD: Final = re.compile(r"[^\W\d_]['\u2019.\-&\w]*,?\Z")
_PARTICLES: Final = frozenset(
    [
        "van",
        "von",
        "de",
        "der",
        "den",
        "del",
        "della",
        "di",
        "da",
        "du",
        "la",
        "le",
        "bin",
        "al",
        "ter",
        "zu",
        "of",
        "and",
    ]
)
_MARKS: Final = re.compile(r"[\W_]+")
_CODE: Final = re.compile(r"(?=[^ ]*[0-9])[^ ]{1,40}\Z|[A-Z]{2,5}\Z")


def speaks_by_letters(text: str) -> bool:
    """Whether a text looks like a name, an identifier or a short code.

    >>> [speaks_by_letters(text) for text in ("John van Dyke", "INV-7", "EUR", "Paid in full")]
    [True, True, True, False]
    """
    text = text.strip()
    if len(text) > _LONGEST:
        return False
    return _CODE.match(text) is not None or _is_name(text)


def same_letters(expected: str, candidate: str) -> bool:
    """Whether two texts differ in nothing but case, blanks and marks.

    >>> same_letters("INV-2041", "inv 2041"), same_letters("-", "+")
    (True, False)
    """
    want, got = (_MARKS.sub("", normalized(text)) for text in (expected, candidate))
    return want == got != ""


def likeness_of_letters(expected: str, candidate: str) -> float:
    """The likeness of two texts letter by letter, the words in the order that suits them best."""
    expected, candidate = normalized(expected), normalized(candidate)
    sorted_words = fuzz.token_sort_ratio(expected, candidate) / 100
    return max(levenshtein_similarity(expected, candidate), sorted_words)


def _is_name(text: str) -> bool:
    """Two to five words that begin with a capital, and not all of them are nothing else."""
    words = text.split()
    if not _FEWEST_WORDS <= len(words) <= _MOST_WORDS or text.upper() == text:
        return False
    return (
        all(
            _WORD.match(word) is not None and (word[0].isupper() or word in _PARTICLES)
            for word in words
        )
        and words[0][0].isupper()
    )
