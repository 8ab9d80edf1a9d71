"""Guards: heuristics that reject a semantic match.

Embedding models give "terminated" and "not terminated", 1,200 and 12,000, or "A sued B" and
"B sued A" a similarity near 1. A guard looks for one such difference and reports it. Guards do
not understand meaning and can be wrong in both directions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, TypeAlias

from fieldmark.errors import OptionError
from fieldmark.model.json import JsonObject

GUARDS_VERSION: Final = 2
"""Incremented whenever the guards reject other pairs than before."""

GuardsOption: TypeAlias = "Mapping[str, bool] | bool | None"
"""All guards, none, some by name, or the default of the provider."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """Which guards are on; each requires that two strings agree in one respect.

    With `strings`, names, identifiers and short codes are compared by `lexical` and not sent to
    another provider.
    """

    numbers: bool = True
    units: bool = True
    dates: bool = True
    negation: bool = True
    opposites: bool = True
    codes: bool = True
    order: bool = True
    strings: bool = True

    @classmethod
    def of(cls, chosen: GuardsOption, *, default: bool) -> Guards:
        """Return the guards of an option: all, none, or the default with exceptions."""
        names = [guard.name for guard in fields(cls)]
        if isinstance(chosen, bool) or chosen is None:
            on = default if chosen is None else chosen
            return cls(**dict.fromkeys(names, on))
        for name in chosen:
            if name not in names:
                valid = ", ".join(names)
                raise OptionError("guards", f"unknown guard {name!r}; must be one of: {valid}")
        return cls(**{**dict.fromkeys(names, default), **chosen})

    def objection(self, expected: str, candidate: str) -> str:
        """Return why two similar strings cannot mean the same; empty if they can.

        >>> Guards().objection("1,200 units", "12,000 units")
        'numbers differ: 1,200 vs. 12,000'
        """
        # Reading the tables of words takes time, and most rules do not need them.
        from fieldmark.compare.lexical.differences import find_difference

        on = (guard.name for guard in fields(self) if getattr(self, guard.name))
        return find_difference(on, expected, candidate)

    def to_dict(self) -> JsonObject:
        """Return which guards are on, and their version."""
        flags = {guard.name: getattr(self, guard.name) for guard in fields(self)}
        return {"version": GUARDS_VERSION, **flags} if any(flags.values()) else {}


# --- names and codes ------------------------------------------------------------------------------

_MAX_NAME_LENGTH: Final = 60
_MAX_NAME_WORDS: Final = 5
_MIN_NAME_WORDS: Final = 2
_NAME_WORD: Final = re.compile(r"[^\W\d_]['\u2019.\-&\w]*,?\Z")
_PARTICLES: Final = frozenset(
    (
        "van", "von", "de", "der", "den", "del", "della", "di", "da", "du", "la", "le", "bin", "al",
        "ter", "zu", "of", "and",
    )
)  # fmt: skip
_CODE: Final = re.compile(r"(?=[^ ]*[0-9])[^ ]{1,40}\Z|[A-Z]{2,5}\Z")


def is_name_or_code(text: str) -> bool:
    """Whether a string looks like a name, an identifier or a short code.

    >>> [is_name_or_code(text) for text in ("John van Dyke", "INV-7", "EUR", "Paid in full")]
    [True, True, True, False]
    """
    text = text.strip()
    if len(text) > _MAX_NAME_LENGTH:
        return False
    if _CODE.match(text):
        return True
    # A name has two to five capitalized words and is not entirely in uppercase.
    words = text.split()
    if not _MIN_NAME_WORDS <= len(words) <= _MAX_NAME_WORDS or text.upper() == text:
        return False
    return words[0][0].isupper() and all(
        _NAME_WORD.match(word) and (word[0].isupper() or word in _PARTICLES) for word in words
    )
