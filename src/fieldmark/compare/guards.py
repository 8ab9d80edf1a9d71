"""Heuristics that stop a match by meaning: what is alike in wording may say the opposite.

Models give "terminated" and "not terminated", 1,200 and 12,000, or "A sued B" and "B sued A" a
similarity near 1. A guard looks for one such difference and names it; it knows nothing of
meaning, and can be wrong both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Final, TypeAlias

from fieldmark.compare.guards_dates import Written, dates_in, same_date
from fieldmark.compare.guards_numbers import Figure, numbers_in, spelled_in
from fieldmark.compare.guards_words import (
    acronyms_in,
    capitals_in,
    codes_in,
    negations_in,
    without_codes,
)
from fieldmark.compare.options import check_flag
from fieldmark.errors import OptionError
from fieldmark.model.json import JsonObject

__all__ = ["GUARDS_VERSION", "Guards"]

GUARDS_VERSION: Final = 1
"""Counts the changes of what guards object to."""

_MOST_NAMED: Final = 3
_MOST_DATES: Final = 200
_Guard: TypeAlias = Callable[[str, str], str]
Chosen: TypeAlias = "Mapping[str, bool] | bool | None"
"""All guards, none, some, or as the provider needs them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """Which guards are on: each needs both texts to have the same of something.

    `strings` leaves names, identifiers and short codes to their letters instead of a provider.
    """

    numbers: bool = True
    dates: bool = True
    negation: bool = True
    codes: bool = True
    order: bool = True
    strings: bool = True

    @classmethod
    def of(cls, chosen: Chosen, *, default: bool) -> Guards:
        """The guards that an option asks for: all, none, or some unlike the rest."""
        names = [guard.name for guard in fields(cls)]
        if isinstance(chosen, bool) or chosen is None:
            on = default if chosen is None else chosen
            return cls(**dict.fromkeys(names, on))
        if not isinstance(chosen, Mapping):
            raise OptionError("guards", f"must be true, false, or a flag for {', '.join(names)}")
        for name, flag in chosen.items():
            if name not in names:
                valid = ", ".join(names)
                raise OptionError("guards", f"there is no guard {name}; there are {valid}")
            check_flag(f"guards.{name}", flag)
        return cls(**{**dict.fromkeys(names, default), **chosen})

    def objection(self, expected: str, candidate: str) -> str:
        """Why two texts cannot mean the same however alike they are; nothing if no guard objects.

        >>> Guards().objection("1,200 units", "12,000 units")
        'numbers differ: 1,200 against 12,000'
        """
        for name, guard in _GUARDS.items():
            if getattr(self, name):
                told = guard(expected, candidate)
                if told:
                    return told
        return ""

    def to_dict(self) -> JsonObject:
        """Which guards are on, and which edition of them."""
        flags = {guard.name: getattr(self, guard.name) for guard in fields(self)}
        return {"version": GUARDS_VERSION, **flags} if any(flags.values()) else {}


def _dates(expected: str, candidate: str) -> str:
    want, got = dates_in(expected), dates_in(candidate)
    if max(len(want), len(got)) > _MOST_DATES:
        return f"dates cannot be compared: there are more than {_MOST_DATES}"
    lost = [one for one in want if not any(same_date(one, other) for other in got)]
    found = [one for one in got if not any(same_date(one, other) for other in want)]
    return _told("dates", [date.text for date in lost], [date.text for date in found])


def _negation(expected: str, candidate: str) -> str:
    want, got = negations_in(expected), negations_in(candidate)
    return _told("negations", want, got) if len(want) != len(got) else ""


def _codes(expected: str, candidate: str) -> str:
    want, got = codes_in(_without_dates(expected)), codes_in(_without_dates(candidate))
    lost = [text for code, text in want.items() if code not in got]
    found = [text for code, text in got.items() if code not in want]
    if lost or found:
        return _told("codes", lost, found)
    lost, found = _apart(acronyms_in(expected), acronyms_in(candidate))
    # An acronym may be spelled out on the other side; another acronym is another thing.
    return _told("codes", lost, found) if lost and found else ""


def _numbers(expected: str, candidate: str) -> str:
    want_text, got_text = (without_codes(_without_dates(text)) for text in (expected, candidate))
    want, got = numbers_in(want_text), numbers_in(got_text)
    said_by_want = _values([*want, *spelled_in(want_text)])
    said_by_got = _values([*got, *spelled_in(got_text)])
    lost = [number.text for number in want if number.values.isdisjoint(said_by_got)]
    found = [number.text for number in got if number.values.isdisjoint(said_by_want)]
    return _told("numbers", lost, found)


def _values(figures: Iterable[Figure]) -> set[Decimal]:
    return {value for figure in figures for value in figure.values}


def _order(expected: str, candidate: str) -> str:
    want, got = capitals_in(expected), capitals_in(candidate)
    shared = set(want) & set(got)
    first = list(dict.fromkeys(word for word in want if word in shared))
    second = list(dict.fromkeys(word for word in got if word in shared))
    return _told("names stand in another order", first, second) if first != second else ""


_GUARDS: Final[Mapping[str, _Guard]] = {
    "dates": _dates,
    "numbers": _numbers,
    "codes": _codes,
    "negation": _negation,
    "order": _order,
}


def _apart(expected: Sequence[str], candidate: Sequence[str]) -> tuple[list[str], list[str]]:
    """What one side has and the other has not, on both sides."""
    want, got = set(expected), set(candidate)
    lost = [one for one in dict.fromkeys(expected) if one not in got]
    found = [one for one in dict.fromkeys(candidate) if one not in want]
    return lost, found


def _without_dates(text: str) -> str:
    return _blanked(text, dates_in(text))


def _blanked(text: str, places: Iterable[Written]) -> str:
    """The text with a blank in place of each of its dates."""
    parts, position = [], 0
    for place in places:
        parts.append(text[position : place.start])
        position = place.end
    return " ".join([*parts, text[position:]])


def _told(what: str, expected: Sequence[str], candidate: Sequence[str]) -> str:
    if not expected and not candidate:
        return ""
    verb = "" if " " in what else " differ"
    return f"{what}{verb}: {_named(expected)} against {_named(candidate)}"


def _named(items: Sequence[str]) -> str:
    if not items:
        return "none"
    dots = ", …" if len(items) > _MOST_NAMED else ""
    return ", ".join(items[:_MOST_NAMED]) + dots
