"""The words of dates: names of months and weekdays, in English and in other languages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol
from unicodedata import combining, normalize

from fieldmark.errors import MissingExtra, OptionError

if TYPE_CHECKING:
    from babel import Locale


_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_WEEKDAYS: Final = (
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    "mon", "tues", "tue", "wed", "thurs", "thur", "thu", "fri", "sat", "sun",
)  # fmt: skip
_UNIFIED: Final = str.maketrans({"\u0131": "i", "\u200e": "", "\u200f": ""})
"""Dotless i, which capitals hide, and marks of the direction of text."""
_QUOTED: Final = re.compile(r"'([^']+)'|([^\W\d_a-zA-Z]+)")
"""Words in a CLDR date pattern: quoted, or in letters that are no pattern letters."""


class _Names(Protocol):
    """The names of one width, by number."""

    def items(self) -> Iterable[tuple[int, str]]: ...


@dataclass(frozen=True, slots=True, eq=False)
class DateWords:
    """The words that dates may contain, in the form that `fold` returns.

    `wide` are full names of months, `short` their abbreviations, and `months` both. `unclear` are
    names that mean different months in different languages. `particles` are words between the
    parts of a date.
    """

    months: Mapping[str, int]
    wide: Mapping[str, int]
    short: Mapping[str, int]
    weekdays: frozenset[str]
    particles: frozenset[str]
    unclear: frozenset[str] = frozenset()
    locales: tuple[str, ...] = ()

    def fold(self, text: str) -> str:
        """Return a text in the form of the words; English words have no accents to remove."""
        return _fold(text) if self.locales else text.lower()


def _fold(text: str) -> str:
    """Fold case and remove accents, which documents in capitals often omit.

    >>> _fold("5 FÉVRIER 2024")
    '5 fevrier 2024'
    """
    if text.isascii():
        return text.lower()
    decomposed = normalize("NFKD", text.casefold())
    bare = "".join(char for char in decomposed if not combining(char))
    return normalize("NFKC", bare).translate(_UNIFIED)


_WIDE: Final = {name: number for number, name in enumerate(_MONTHS, 1)}
_SHORT: Final = {**{name[:3]: number for name, number in _WIDE.items()}, "sept": 9}
ENGLISH: Final = DateWords(
    months={**_SHORT, **_WIDE},
    wide=_WIDE,
    short=_SHORT,
    weekdays=frozenset(_WEEKDAYS),
    particles=frozenset({"of", "the"}),
)


@lru_cache(maxsize=64)
def date_words(locales: tuple[str, ...] = ()) -> DateWords:
    """Return the English words and those of other languages, from the CLDR data of Babel.

    A name with different meanings has that of the first language that has it, and is unclear.

    >>> date_words().months["sept"]
    9
    """
    if not locales:
        return ENGLISH
    found: dict[str, list[tuple[str, int]]] = {"wide": [], "abbreviated": []}
    weekdays, particles = set(ENGLISH.weekdays), set(ENGLISH.particles)
    for locale in map(_parse_locale, locales):
        for context in ("format", "stand-alone"):
            for width, months in found.items():
                names: _Names = locale.months[context][width]
                months += [(_name(each), number) for number, each in names.items()]
            for width in ("wide", "abbreviated", "short"):
                names = locale.days[context].get(width, {})
                weekdays |= {_name(each) for _, each in names.items()}
        for length in ("long", "full", "medium"):
            quoted = _QUOTED.findall(locale.date_formats[length].pattern)
            particles |= {_name(word or other) for word, other in quoted}
    wide = [*found["wide"], *_WIDE.items()]
    short = [*found["abbreviated"], *_SHORT.items()]
    months = [*found["wide"], *found["abbreviated"], *_WIDE.items(), *_SHORT.items()]
    first = _first_meanings(months)
    return DateWords(
        months=first,
        wide=_first_meanings(wide),
        short=_first_meanings(short),
        weekdays=frozenset(weekdays - {""}),
        particles=frozenset(particles - {""}),
        unclear=frozenset(name for name, number in months if first.get(name, number) != number),
        locales=locales,
    )


def _first_meanings(names: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return what each name means first; names without letters are left out."""
    first: dict[str, int] = {}
    for name, number in names:
        if any(map(str.isalpha, name)):
            first.setdefault(name, number)
    return first


def _parse_locale(name: str) -> Locale:
    try:
        from babel import Locale, UnknownLocaleError
    except ImportError as error:
        raise MissingExtra("reading dates in other languages", "locales") from error
    try:
        return Locale.parse(name.replace("-", "_"))
    except (UnknownLocaleError, ValueError, TypeError) as error:
        message = f"unknown locale {name!r}; use codes such as de or pt-BR"
        raise OptionError("locales", message) from error


def _name(written: str) -> str:
    """Return a name or word without blanks and dots at its ends."""
    return _fold(written).strip(" .,\u00a0\u202f")
