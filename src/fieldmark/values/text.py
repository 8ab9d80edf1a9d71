"""Normalized text, suggestions for misspelled words, and counts with nouns."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final
from unicodedata import category, combining, decomposition, is_normalized, normalize

from fieldmark.model.json import JsonValue
from fieldmark.values.equality import canonical_text, integer_text

_MIN_SIMILARITY: Final = 0.6
"""The minimum similarity of a suggestion, unless it differs by a single typo."""
_MIN_TYPO_LENGTH: Final = 2
_MIN_PREFIX_LENGTH: Final = 3
_MAX_CACHED: Final = 64
"""The maximum length of text whose normalized form is cached."""

_DASHES: Final = str.maketrans(
    {
        "\N{HYPHEN}": "-",  # also a non-breaking hyphen in the form NFKC
        "\N{FIGURE DASH}": "-",
        "\N{EN DASH}": "-",
        "\N{EM DASH}": "-",
        "\N{HORIZONTAL BAR}": "-",
        "\N{MINUS SIGN}": "-",
    }
)
"""Dashes in the form NFKC, as a hyphen-minus."""


def with_plain_dashes(text: str) -> str:
    r"""Replace all dashes of a text in the form NFKC by the hyphen-minus.

    >>> with_plain_dashes("0 \N{EN DASH} 20")
    '0 - 20'
    """
    return text if text.isascii() else text.translate(_DASHES)


_KEPT_FORMS: Final = frozenset(
    {
        "<super>",  # m² is not m2
        "<fraction>",  # 1½ is not 11/2
        "<square>",  # units: ㎡ is not m2, and ㎿ is not ㎽
    }
)
"""The compatible forms that change the meaning of a text, as Unicode names them."""


def normalized(text: str) -> str:
    r"""Normalize case, whitespace, dashes and compatible forms of characters.

    Characters that would change the meaning of a text are kept: m² is not m2, and 1½ is not 11/2.

    >>> normalized("  Crème   BRULEE \uff11\uff10 \N{EN DASH} 12 m²")
    'crème brulee 10 - 12 m²'
    """
    if text.isascii():
        return " ".join(text.lower().split())
    folded_text = with_plain_dashes(_compatible(text)).casefold()
    # Folding can decompose letters, so they are composed again.
    return normalize("NFC", " ".join(folded_text.split()))


def _compatible(text: str) -> str:
    """Return a text in the form NFKC, except for the characters of `_KEPT_FORMS`."""
    if is_normalized("NFKC", text):
        return text
    forms = [char if _is_kept(char) else normalize("NFKC", char) for char in text]
    return normalize("NFC", "".join(forms))


def _is_kept(char: str) -> bool:
    return decomposition(char).partition(" ")[0] in _KEPT_FORMS


def unified(text: str) -> str:
    r"""Normalize case, whitespace and all compatible forms of characters, such as ligatures.

    >>> unified("  ACME   O\ufb03ce ")
    'acme office'
    """
    if text.isascii():
        text = text.strip().lower()
        # Most strings have single blanks only.
        return text if "  " not in text and text.isprintable() else " ".join(text.split())
    return _unified_wide(text) if len(text) <= _MAX_CACHED else _unified_wide.__wrapped__(text)


@lru_cache(maxsize=4096)
def _unified_wide(text: str) -> str:
    """Return the same for text beyond ASCII; cached, since names recur."""
    # Folding can decompose letters, so they are composed again.
    return " ".join(normalize("NFKC", normalize("NFKC", text).casefold()).split())


_PLAIN_MARKS: Final = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"),
        **dict.fromkeys("\u2019\u02bc", "'"),
    }
)


def with_plain_marks(text: str) -> str:
    """Replace all kinds of dashes and apostrophes by the ASCII characters.

    >>> with_plain_marks("\u22125\u20137")
    '-5-7'
    """
    return text if text.isascii() else text.translate(_PLAIN_MARKS)


class Ignored(StrEnum):
    """Parts of a text that a comparison can ignore."""

    PUNCTUATION = "punctuation"
    ACCENTS = "accents"
    WHITE_SPACE = "white_space"


NEGATIVE: Final = r"(?<![\w)\]])-(?=[^\w\s-]?\.?[0-9])|(?<=[0-9])-(?=\Z)"
"""A minus before a number, or before its currency, or behind a number at the end of the text."""
GRADE: Final = r"(?<![^\W_])[^\W\d_]{1,2}[+-]++(?!\w)"
"""One or two letters with a sign, such as A+ or AB-."""
_MARKS_IN_NUMBERS: Final = re.compile(
    rf"(?<=[0-9])(?:[^\w\s()\[\]{{}}\"]|_)+(?=[0-9])|(?<![\w.])\.(?=[0-9])|(?<=[0-9])\s?[%‰]|{NEGATIVE}|{GRADE}"
)
"""Marks that are no punctuation: separators between digits, decimal points, percents and signs."""
_DASH_BETWEEN_NUMBERS: Final = re.compile(r"(?<=[0-9])\s*-\s*(?=[0-9])")


def ignoring(text: str, ignored: Collection[Ignored]) -> str:
    """Return a text without its ignored parts; a text without other parts is unchanged.

    Signs, decimal points and separators between digits are no punctuation.

    >>> ignoring("Café-Bar, Inc.", [Ignored.PUNCTUATION, Ignored.ACCENTS])
    'CafeBar Inc'
    >>> ignoring("(10 - 20): -1.5", [Ignored.PUNCTUATION])
    '10-20 -1.5'
    """
    remaining = text
    if Ignored.ACCENTS in ignored and not remaining.isascii():
        remaining = "".join(char for char in normalize("NFD", remaining) if not combining(char))
        remaining = normalize("NFC", remaining)
    if Ignored.PUNCTUATION in ignored:
        remaining = _without_punctuation(remaining)
    if Ignored.WHITE_SPACE in ignored:
        remaining = "".join(remaining.split())
    return remaining or text


def _without_punctuation(text: str) -> str:
    text = _DASH_BETWEEN_NUMBERS.sub("-", with_plain_marks(text.strip()))
    kept = {place for mark in _MARKS_IN_NUMBERS.finditer(text) for place in range(*mark.span())}
    remaining = (
        char
        for place, char in enumerate(text)
        if place in kept or not category(char).startswith("P")
    )
    return " ".join("".join(remaining).split())


def folded(text: str) -> str:
    """Fold case and remove whitespace at both ends.

    >>> folded(" ACME Corp ")
    'acme corp'
    """
    return text.strip().casefold()


def exact_text(value: JsonValue) -> str:
    """Return a value as lower-case text: `str(value).lower()`, containers as sorted JSON.

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


def shorten(text: str, limit: int) -> str:
    """Shorten text that is longer than a limit, with an ellipsis.

    >>> shorten("abc", 3), shorten("abcd", 3)
    ('abc', 'ab…')
    """
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def replace_surrogates(text: str) -> str:
    r"""Replace lone surrogates, which cannot be encoded, with a replacement character.

    >>> replace_surrogates("a\ud800b") == "a\ufffdb"
    True
    """
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def nearest(word: str, words: Iterable[str]) -> str | None:
    """Return the most similar known word, if it is similar enough.

    >>> nearest("fuzy", ["exact", "fuzzy"])
    'fuzzy'
    """
    from rapidfuzz.distance import OSA  # slow to import, and only for messages

    wanted = folded(word)
    ranked = ((OSA.normalized_similarity(wanted, folded(known)), known) for known in sorted(words))
    similarity, known = max(ranked, key=lambda pair: pair[0], default=(0.0, ""))
    return known if similarity >= _MIN_SIMILARITY or is_typo(wanted, folded(known)) else None


def is_typo(word: str, known: str) -> bool:
    """Return whether words differ by one insertion, deletion, substitution or transposition."""
    from rapidfuzz.distance import OSA  # slow to import, and only for messages

    return len(word) >= _MIN_TYPO_LENGTH and OSA.distance(word, known) == 1


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """Return a suggestion that names the most similar known word, or an empty string.

    >>> did_you_mean("treshold", ["path", "threshold"])
    "did you mean 'threshold'?"
    >>> did_you_mean("numeric", ["exact", "numeric_tolerance"])
    "did you mean 'numeric_tolerance'?"
    """
    known = list(words)
    meant = folded(word).replace("-", "_")
    best = nearest(meant, known)
    completions = [name for name in known if folded(name).startswith(meant)]
    if not best and len(completions) == 1 and len(meant) >= _MIN_PREFIX_LENGTH:
        best = completions[0]
    return f"did you mean {str(best)!r}?" if best else ""


def plural(count: int, noun: str, nouns: str = "") -> str:
    """Return a count with its noun.

    >>> plural(1, "case"), plural(2_000, "case"), plural(3, "entry", "entries")
    ('1 case', '2,000 cases', '3 entries')
    """
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"


def counts_text(counts: Mapping[str, int]) -> str:
    """Return counts by noun as a text.

    >>> counts_text({"query": 2, "signature": 1})
    '2 queries, 1 signature'
    """
    return ", ".join(
        plural(count, noun, f"{noun[:-1]}ies" if re.search("[^aeiou]y$", noun) else "")
        for noun, count in counts.items()
    )
