"""The words and values of a text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

NEGATION: Final = "not"
"""The word that stands for all negations."""


class TextTokenKind(StrEnum):
    """The kind of a token."""

    WORD = "word"
    NUMBER = "number"
    DATE = "date"
    TIME = "time"
    CODE = "code"

    @property
    def is_value(self) -> bool:
        """Whether a token is more than a word."""
        return self is not TextTokenKind.WORD


class Quantity(NamedTuple):
    """A number in the common unit of its quantity; a count has no quantity."""

    measure: str
    value: Fraction


Day: TypeAlias = tuple[int | None, int, int]
Period: TypeAlias = tuple[Day, Day]
Key: TypeAlias = "str | Quantity | Period | int"


@dataclass(frozen=True, slots=True)
class TextToken:
    """A word or value of a text.

    Tokens mean the same if they have a key in common: an ambiguous token has several. `weight` is
    the contribution of the token to similarity, `written` its text in the original case, and
    `plain` the values that a number can have without its unit. A `label` names a value, as in "Lot:
    7". The key of a word is also its `word`.
    """

    kind: TextTokenKind
    keys: frozenset[Key]
    written: str
    weight: float = 1.0
    segment: int = 0
    dotted: bool = False
    plain: frozenset[Fraction] = frozenset()
    label: bool = False
    word: str = ""

    @property
    def has_unit(self) -> bool:
        """Whether a number certainly has a unit or a currency."""
        return all(isinstance(key, Quantity) and key.measure for key in self.keys)


_ROUNDING: Final = Fraction(5, 1000)
"""How much a conversion between metric and other units may be rounded."""
_IRREGULAR: Final = frozenset({"mass", "length", "area", "volume", "speed", "celsius"})
"""Quantities whose units are no round multiples of each other."""


def same_value(expected: TextToken, candidate: TextToken) -> bool:
    """Whether two tokens mean the same; converted units may be rounded.

    >>> from fieldmark.compare.lexical.text_reader import read_text
    >>> grams, ounces = (read_text(text)[0] for text in ("1 lb", "454 g"))
    >>> same_value(grams, ounces)
    True
    """
    if not expected.keys.isdisjoint(candidate.keys):
        return True
    return any(
        quantity.measure == other.measure
        and not (_is_decimal(quantity.value) and _is_decimal(other.value))
        and abs(quantity.value - other.value) <= _ROUNDING * abs(quantity.value)
        for quantity in _irregular(expected.keys)
        for other in _irregular(candidate.keys)
    )


@lru_cache(maxsize=4096)
def _irregular(keys: frozenset[Key]) -> tuple[Quantity, ...]:
    """Return the quantities that may be rounded; a symbol of many currencies has none."""
    return tuple(key for key in keys if isinstance(key, Quantity) and key.measure in _IRREGULAR)


def _is_decimal(value: Fraction) -> bool:
    return (value * 10_000).denominator == 1
