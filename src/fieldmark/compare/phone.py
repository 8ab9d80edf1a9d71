"""Compare telephone numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Final

from fieldmark.errors import MissingExtra, OptionError
from fieldmark.model.comparison import DIFFERENT, MATCHED, ComparatorGroup, Comparison, mismatch
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.equality import integer_text

if TYPE_CHECKING:
    from phonenumbers import PhoneNumber
from fieldmark.values.strategy_options import check_options

_MAX_LENGTH: Final = 100
_AMBIGUOUS: Final = MATCHED._replace(ambiguous=True, note="only one side has a country code")
_NOT_A_NUMBER: Final = Comparison.wrong_type(
    Reason.UNPARSEABLE, note="the value is not a telephone number"
)
_NO_EXPECTED_NUMBER: Final = Comparison.differs(
    Reason.UNPARSEABLE, note="the expected value is not a telephone number"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phone:
    """Match the same telephone number in any notation.

    `region` is the country of numbers without a country code, such as `US`. Without it, such a
    number matches one with a country code and otherwise the same digits, and the result is marked
    as ambiguous.
    """

    name: ClassVar[str] = "phone"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.CONTACTS
    normalization: ClassVar[str] = "values are read as telephone numbers"
    # Equal values that are not telephone numbers do not match.
    reflexive: ClassVar[bool] = False
    region: str | None = None

    def __post_init__(self) -> None:
        try:
            from phonenumbers import SUPPORTED_REGIONS
        except ImportError as error:
            raise MissingExtra("comparing telephone numbers", "phone") from error
        check_options(self)
        if self.region is None:
            return
        region = self.region.upper()
        if region not in SUPPORTED_REGIONS:
            message = f"must be the code of a country, such as US; got {self.region!r}"
            raise OptionError("region", message)
        object.__setattr__(self, "region", region)

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match the same telephone number.

        >>> Phone(region="US").compare("+1 212 555 0123", "(212) 555-0123").matched
        True
        """
        from phonenumbers import MatchType, is_number_match

        candidate_number = self._read_number(candidate)
        if candidate_number is None:
            return _NOT_A_NUMBER
        expected_number = self._read_number(expected)
        if expected_number is None:
            return mismatch(expected, candidate, _NO_EXPECTED_NUMBER)
        match = is_number_match(expected_number, candidate_number)
        if match == MatchType.EXACT_MATCH:
            result = MATCHED
        elif match == MatchType.NSN_MATCH:
            result = (
                MATCHED
                if expected_number.country_code == candidate_number.country_code
                else _AMBIGUOUS
            )
        else:
            result = mismatch(expected, candidate, DIFFERENT)
        coerced = isinstance(expected, str) != isinstance(candidate, str)
        return result._replace(coerced=True) if coerced else result

    def _read_number(self, value: JsonValue) -> PhoneNumber | None:
        if type(value) is int:
            value = integer_text(value)
        if not isinstance(value, str) or len(value) > _MAX_LENGTH:
            return None
        return _parsed(value, self.region)


@lru_cache(maxsize=8192)
def _parsed(text: str, region: str | None) -> PhoneNumber | None:
    """Return the number in a text; its country code is 0 if it has none and no region is known."""
    from phonenumbers import NumberParseException, parse

    try:
        number = parse(text, region, _check_region=region is not None)
    except NumberParseException:
        return None
    number.country_code = number.country_code or 0
    return number
