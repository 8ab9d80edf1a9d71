"""Compare identifiers: invoice numbers and the like, and VAT numbers of the European Union."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import accumulate
from typing import ClassVar, Final, NamedTuple

import orjson

from fieldmark.model.comparison import (
    DIFFERENT,
    MATCHED,
    WRONG_TYPE,
    ComparatorGroup,
    Comparison,
    mismatch,
)
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.equality import equal, integer_text
from fieldmark.values.strategy_options import check_options
from fieldmark.values.text import unified, with_plain_marks

_COERCED: Final = MATCHED._replace(coerced=True)
_OTHER_PLACES: Final = Comparison.differs(note="separators are at different places")


_BRACKETS: Final = re.compile(r"[\s()\[\]{}\"']+|#(?=\s*[0-9])")
"""Treated like blanks."""
_SEPARATOR: Final = re.compile(r"(?<=[^\W_])\s*(?:-+|/+|_+)\s*(?=[^\W_])|\s+")
"""Dashes, slashes and underscores separate only letters and digits; others are signs or marks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identifier:
    """Match identifiers with the same letters, digits, signs and marks, ignoring case.

    All digits count, leading zeros too, and similar characters such as 0 and O differ. Dashes,
    slashes, blanks, underscores and brackets between letters or digits are separators: one side may
    have none of them, but if both sides have separators, they must be at the same places. One
    separator is as good as another: AB-12, AB 12, AB/12 and AB12 match. An integer matches a string
    with the same digits.
    """

    name: ClassVar[str] = "identifier"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.TEXT
    normalization: ClassVar[str] = "case is ignored, and separators that one side lacks"
    reflexive: ClassVar[bool] = True

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match identifiers with the same letters, digits, signs and marks.

        >>> Identifier().compare("INV-2024/007", "inv2024007").matched
        True
        >>> Identifier().compare("1-23", "12-3").note
        'separators are at different places'
        """
        if equal(expected, candidate):
            return MATCHED
        expected_id, candidate_id = read_identifier(expected), read_identifier(candidate)
        if expected_id is None or candidate_id is None:
            return WRONG_TYPE
        coerced = isinstance(expected, str) != isinstance(candidate, str)
        if expected_id.text != candidate_id.text:
            return WRONG_TYPE if coerced else DIFFERENT
        places = (expected_id.separators, candidate_id.separators)
        if all(places) and places[0] != places[1]:
            return _OTHER_PLACES
        return _COERCED if coerced else MATCHED


class IdentifierText(NamedTuple):
    """What counts in an identifier, and the places in it where separators were."""

    text: str
    separators: tuple[int, ...] = ()


def read_identifier(value: JsonValue) -> IdentifierText | None:
    """Return what counts in a value, or `None` if it is not an identifier.

    >>> read_identifier("INV-7")
    IdentifierText(text='inv7', separators=(3,))
    """
    if type(value) is int:
        return IdentifierText(integer_text(value))
    if not isinstance(value, str):
        return None
    text = with_plain_marks(unified(value))
    parts = [part for part in _SEPARATOR.split(_BRACKETS.sub(" ", text).strip()) if part]
    if not parts:
        return IdentifierText(text)
    return IdentifierText("".join(parts), tuple(accumulate(map(len, parts[:-1]))))


# --- VAT numbers ----------------------------------------------------------------------------------

_MAX_LENGTH: Final = 100
_SEPARATORS: Final = re.compile(r"[\s.\-\u2010-\u2015\u2212]")
_NUMBER: Final = re.compile(r"(?=.*[0-9])[0-9A-Z+*]{2,12}")
_MAX_INTEGER: Final = 10**12
_SPELLINGS: Final[Mapping[str, str]] = {"GR": "EL"}
"""Codes of countries that numbers are printed with instead of their prefix."""
_NO_PREFIX: Final = MATCHED._replace(ambiguous=True, note="country: one is missing")
_NOT_A_NUMBER: Final = Comparison.wrong_type(
    Reason.UNPARSEABLE, note="the value is not a VAT identification number"
)
_NO_EXPECTED_NUMBER: Final = Comparison.differs(
    Reason.UNPARSEABLE, note="the expected value is not a VAT identification number"
)


@cache
def _formats() -> Mapping[str, re.Pattern[str]]:
    """Return the patterns of the numbers that VIES accepts, by the prefix of the country."""
    table = orjson.loads(files("fieldmark.compare").joinpath("vat_formats.json").read_bytes())
    return {prefix: re.compile(pattern) for prefix, pattern in table["formats"].items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class VatId:
    """Match VAT identification numbers of the EU, ignoring case, blanks, dots and dashes.

    Prefixes of countries must agree, where GR is EL, and XI is Northern Ireland. If only one side
    has a prefix, the numbers are compared without it, and the result is marked as ambiguous. With
    `check`, a value must have the format of its country; check digits are not verified.
    """

    name: ClassVar[str] = "vat_id"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.TEXT
    normalization: ClassVar[str] = "case, blanks, dots and dashes are ignored"
    # Equal values that are not such numbers do not match.
    reflexive: ClassVar[bool] = False
    check: bool = False

    def __post_init__(self) -> None:
        check_options(self)

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match the same VAT identification number.

        >>> VatId().compare("DE 123.456.789", "de123456789").matched
        True
        >>> VatId().compare("ATU12345678", "U12345678").note
        'country: one is missing'
        >>> VatId(check=True).compare("DE123456789", "DE12345678").note
        'the value is not a VAT identification number'
        """
        candidate_id = self._read_vat_number(candidate)
        if candidate_id is None:
            return _NOT_A_NUMBER
        expected_id = self._read_vat_number(expected)
        if expected_id is None:
            return mismatch(expected, candidate, _NO_EXPECTED_NUMBER)
        (country, number), (other_country, other_number) = expected_id, candidate_id
        if number != other_number or (country and other_country and country != other_country):
            return mismatch(expected, candidate, DIFFERENT)
        result = MATCHED if country == other_country else _NO_PREFIX
        coerced = isinstance(expected, str) != isinstance(candidate, str)
        return result._replace(coerced=True) if coerced else result

    def _read_vat_number(self, value: JsonValue) -> tuple[str, str] | None:
        """Return the prefix, empty if there is none, and the number."""
        if type(value) is int and 0 <= value < _MAX_INTEGER:
            text = str(value)
        elif isinstance(value, str) and len(value) <= _MAX_LENGTH:
            text = _SEPARATORS.sub("", unified(value)).upper()
        else:
            return None
        country = _SPELLINGS.get(text[:2], text[:2])
        country, number = (country, text[2:]) if country in _formats() else ("", text)
        if _NUMBER.fullmatch(number) is None:
            return None
        if not self.check:
            return country, number
        if country:
            has_format = _formats()[country].fullmatch(number) is not None
        else:
            # Two letters are more often the prefix of another country than a part of the number.
            has_format = not number[:2].isalpha() and any(
                pattern.fullmatch(number) for pattern in _formats().values()
            )
        return (country, number) if has_format else None
