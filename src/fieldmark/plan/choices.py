"""Which comparator is proposed for which values: a table whose first line that fits holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from fieldmark.model.json import JsonValue
from fieldmark.plan.evidence import Evidence
from fieldmark.plan.value_kinds import USUAL_FORMATS, Difference, ValueKind

__all__ = ["NEARLY_ALL", "Settings", "comparator_for", "is_code"]

Settings: TypeAlias = dict[str, JsonValue]

NEARLY_ALL: Final = 0.95
"""The share of values from which on the rest are exceptions."""
_MONEY: Final = 2


class _Choice(NamedTuple):
    """When this holds for an attribute, these settings are proposed for that reason."""

    fits: Callable[[Evidence], bool]
    settings: Callable[[Evidence], Settings]
    reason: str


def comparator_for(evidence: Evidence) -> tuple[Settings, str]:
    """The settings for an attribute's values, and the reason for them."""
    choice = next((choice for choice in _CHOICES if choice.fits(evidence)), _OTHERWISE)
    return choice.settings(evidence), choice.reason


def _mostly(*looks: ValueKind) -> Callable[[Evidence], bool]:
    return lambda evidence: evidence.share(*looks) >= NEARLY_ALL


def _numbers(evidence: Evidence) -> bool:
    readable = (*_NUMBERS, ValueKind.NUMBER_TEXT, ValueKind.DIGITS)
    return _mostly(*_NUMBERS)(evidence) and evidence.gains_by(*readable)


def _read_as(*looks: ValueKind) -> Callable[[Evidence], bool]:
    """Text that can be read as something: reading is no use where candidates write otherwise."""
    return lambda evidence: (
        _mostly(*looks)(evidence)
        and evidence.gains_by(*looks, *_NUMBERS)
        and evidence.is_written_as(*looks, *_NUMBERS)
    )


def _always(**settings: JsonValue) -> Callable[[Evidence], Settings]:
    return lambda _: settings


def _differ(*differences: Difference) -> Callable[[Evidence], bool]:
    return lambda evidence: any(evidence.differences[difference] for difference in differences)


def _date(evidence: Evidence) -> Settings:
    """Formats are named where they are unusual, or where month first would be wrong."""
    seen = set(evidence.formats)
    day_first = any(name.startswith(("DD/MM/", "DD-MM-", "DD.MM.")) for name in seen)
    day_first = day_first and not any(name.startswith("MM") for name in seen)
    for formats in evidence.open_formats:
        seen.update(name for name in formats if not day_first or name.startswith("DD"))
    if seen <= USUAL_FORMATS and not (day_first and evidence.open_formats):
        return {"match": "date"}
    return {"match": "date", "formats": ["ISO", *sorted(seen - {"ISO"})]}


def is_code(evidence: Evidence) -> bool:
    """Whether values are codes, among which a short one may look like a number."""
    return _mostly(*_CODES)(evidence) and evidence.share(ValueKind.CODE, ValueKind.DIGITS) * 2 > 1


_NUMBERS: Final = (ValueKind.WHOLE_NUMBER, ValueKind.DECIMAL_NUMBER)
_CODES: Final = (ValueKind.CODE, ValueKind.DIGITS, ValueKind.NUMBER_TEXT)
_PLAIN: Final = (ValueKind.NUMBER_TEXT, ValueKind.DIGITS)
_US: Final = (ValueKind.AMOUNT_US, *_PLAIN)
_EU: Final = (ValueKind.AMOUNT_EU, *_PLAIN)
_OF_DIGITS: Final = (ValueKind.DATE, ValueKind.AMOUNT_US, ValueKind.AMOUNT_EU, *_CODES)
_TEXTS: Final = frozenset(ValueKind) - {ValueKind.BOOLEAN, *_NUMBERS}

_CHOICES: Final = (
    _Choice(_mostly(ValueKind.BOOLEAN), _always(match="boolean"), "true or false"),
    _Choice(_mostly(ValueKind.YES_OR_NO), _always(match="boolean"), "yes or no as text"),
    _Choice(
        lambda evidence: (
            _numbers(evidence) and evidence.share(ValueKind.WHOLE_NUMBER) >= NEARLY_ALL
        ),
        _always(match="numeric_tolerance", tolerance=0),
        "whole numbers, so nothing but the same number will do",
    ),
    _Choice(
        lambda evidence: _numbers(evidence) and evidence.most_decimals <= _MONEY,
        _always(match="numeric_tolerance", tolerance=0.01),
        "numbers with at most two decimals, so a cent of rounding is allowed",
    ),
    _Choice(
        _numbers,
        _always(match="numeric_tolerance", tolerance=0.000001, relative=True),
        "numbers with many decimals, so a millionth of the value is allowed",
    ),
    _Choice(_read_as(ValueKind.DATE), _date, "dates, compared by the day whatever their form"),
    _Choice(
        _mostly(ValueKind.DATE),
        _always(match="exact"),
        "dates, but what candidates write instead cannot be read as dates",
    ),
    _Choice(
        _mostly(ValueKind.EMAIL), _always(match="normalized_text"), "e-mail addresses, in any case"
    ),
    _Choice(_mostly(ValueKind.WEB_ADDRESS), _always(match="exact"), "web addresses, as they are"),
    _Choice(
        lambda evidence: (
            is_code(evidence) and _differ(Difference.CASE, Difference.BLANKS)(evidence)
        ),
        _always(match="normalized_text"),
        "codes, which candidates write in another case or with other blanks",
    ),
    _Choice(is_code, _always(match="exact"), "codes, in which every character counts"),
    _Choice(
        _read_as(*_PLAIN),
        _always(match="numeric_tolerance", tolerance=0),
        "numbers as text, compared by value",
    ),
    _Choice(
        _read_as(*_US),
        _always(match="numeric_tolerance", tolerance=0.01, number_format="us"),
        "amounts like 1,240.00, compared by value",
    ),
    _Choice(
        _read_as(*_EU),
        _always(match="numeric_tolerance", tolerance=0.01, number_format="eu"),
        "amounts like 1.240,00, compared by value",
    ),
    _Choice(
        lambda evidence: evidence.share(*_OF_DIGITS) * 2 > 1,
        _always(match="exact"),
        "mostly digits in several forms, and a digit is never a slip that may be forgiven",
    ),
    _Choice(
        lambda evidence: evidence.is_enumeration and not evidence.share(ValueKind.LONG_TEXT),
        _always(match="normalized_text"),
        "a few words that come again and again, in any case",
    ),
    _Choice(
        lambda evidence: evidence.share(ValueKind.LONG_TEXT) * 2 > 1,
        _always(match="semantic", threshold=0.8),
        "long text, compared by its words rather than letter by letter",
    ),
    _Choice(
        _mostly(*_TEXTS),
        _always(match="fuzzy", threshold=0.85),
        "short text, in which a slip of a letter is forgiven",
    ),
)

_OTHERWISE: Final = _Choice(
    lambda _: True, _always(match="exact"), "values of several kinds, so they must be the same"
)
