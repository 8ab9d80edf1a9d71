"""Normalized text, and suggestions for misspelled words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from unicodedata import normalize

from fieldmark.model.json import JsonValue
from fieldmark.values.canonical import canonical_text, integer_text

__all__ = [
    "did_you_mean",
    "exact_text",
    "folded",
    "is_typo",
    "nearest",
    "normalized",
    "replace_surrogates",
]

_MIN_SIMILARITY: Final = 0.6
"""The least similarity of a suggestion, unless a single typo is the only difference."""
_MIN_TYPO_LENGTH: Final = 2
_MIN_PREFIX_LENGTH: Final = 3


def normalized(text: str) -> str:
    """Text without regard to case, to the width of blanks, and to how accents are encoded.

    >>> normalized("  Crème   BRULEE ")
    'crème brulee'
    """
    if text.isascii():
        return " ".join(text.lower().split())
    # Folding can take composed letters apart, so they are composed again afterwards.
    return normalize("NFC", " ".join(normalize("NFC", text).casefold().split()))


def folded(text: str) -> str:
    """Text without regard to case and to blanks at its ends.

    >>> folded(" ACME Corp ")
    'acme corp'
    """
    return text.strip().casefold()


def exact_text(value: JsonValue) -> str:
    """A value as lower-case text: literally `str(value).lower()`, containers as sorted JSON.

    >>> exact_text(True), exact_text(1.0), exact_text({"B": 1, "A": [2]})
    ('true', '1.0', '{"a":[2],"b":1}')
    """
    if isinstance(value, str):
        return value.lower()
    if isinstance(value, (list, dict)):
        return canonical_text(value).decode("utf-8", "surrogatepass").lower()
    if type(value) is int:
        return integer_text(value)
    return str(value).lower()


def replace_surrogates(text: str) -> str:
    r"""The text with a replacement character for every lone surrogate, which has no encoding.

    >>> replace_surrogates("a\ud800b") == "a\ufffdb"
    True
    """
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The known word that was probably meant, if one is near enough.

    >>> nearest("fuzy", ["exact", "fuzzy"])
    'fuzzy'
    """
    from rapidfuzz.distance import OSA

    wanted = folded(word)
    ranked = ((OSA.normalized_similarity(wanted, folded(known)), known) for known in sorted(words))
    similarity, known = max(ranked, key=lambda pair: pair[0], default=(0.0, ""))
    return known if similarity >= _MIN_SIMILARITY or is_typo(wanted, folded(known)) else None


def is_typo(word: str, known: str) -> bool:
    """Whether a word differs from a known one by one insertion, deletion, change or swap."""
    from rapidfuzz.distance import OSA

    return len(word) >= _MIN_TYPO_LENGTH and OSA.distance(word, known) == 1


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """A question that names the known word that was probably meant, or an empty text.

    >>> did_you_mean("treshold", ["path", "threshold"])
    'Did you mean threshold?'
    >>> did_you_mean("numeric", ["exact", "numeric_tolerance"])
    'Did you mean numeric_tolerance?'
    """
    known = list(words)
    meant = folded(word).replace("-", "_")
    best = nearest(meant, known)
    completions = [word for word in known if word.startswith(meant)]
    if not best and len(completions) == 1 and len(meant) >= _MIN_PREFIX_LENGTH:
        best = completions[0]
    return f"Did you mean {best}?" if best else ""
