"""Compare amounts of money."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Final

from fieldmark.compare.mismatch import WRONG_TYPE, mismatch
from fieldmark.compare.numeric import Amount, flag_ambiguous
from fieldmark.errors import OptionError, with_hint
from fieldmark.model.comparison import MATCHED, ComparatorGroup, Comparison
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.currencies import currencies
from fieldmark.values.numbers import (
    Number,
    NumberFormat,
    Tolerance,
    as_number,
    exact_fraction,
    read_amount,
)
from fieldmark.values.strategy_options import check_options
from fieldmark.values.text import did_you_mean

_OUTSIDE: Final = Comparison.differs(Reason.OUTSIDE_TOLERANCE)
_INVALID: Final = Comparison.wrong_type(Reason.INVALID_NUMBER)
_NO_EXPECTED_AMOUNT: Final = Comparison.differs(
    Reason.INVALID_NUMBER, note="the expected value is not an amount of money"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """Match amounts of money in the same currency that differ by at most `tolerance`.

    An amount without a currency matches any currency, and a symbol such as $ any of its
    currencies; such results are marked as ambiguous. `currency` is the code of the currency that
    both of these mean. `number_format` is the format of numbers in strings.
    """

    name: ClassVar[str] = "money"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.NUMBERS
    normalization: ClassVar[str] = "values are read as amounts with a currency"
    # Equal values that are not amounts do not match.
    reflexive: ClassVar[bool] = False
    reflexive_on_numbers: ClassVar[bool] = True
    tolerance: Amount = 0
    currency: str | None = None
    number_format: NumberFormat = NumberFormat.AUTO
    _limits: Tolerance = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_options(self)
        object.__setattr__(self, "_limits", Tolerance(absolute=exact_fraction(self.tolerance)))
        if self.currency is not None:
            object.__setattr__(self, "currency", _checked_currency(self.currency))

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match amounts in the same currency.

        >>> Money().compare("RM 12.50", "MYR 12.50").matched
        True
        >>> Money().compare("$10", "€10").note
        'currencies differ'
        """
        want, got = self._read(expected), self._read(candidate)
        if got is None:
            return _INVALID if isinstance(candidate, float) else WRONG_TYPE
        if want is None:
            return mismatch(expected, candidate, _NO_EXPECTED_AMOUNT)
        coerced = isinstance(expected, str) != isinstance(candidate, str)
        result = MATCHED
        if not (want[0] == got[0] or self._limits.admits(want[0], got[0])):
            result = mismatch(expected, candidate, _OUTSIDE)
        elif want[1] and got[1] and want[1].isdisjoint(got[1]):
            result = Comparison.differs(note="currencies differ")
        elif want[1] != got[1]:
            unclear = "a symbol has several meanings" if want[1] and got[1] else "one is missing"
            result = result._replace(ambiguous=True, note=f"currency: {unclear}")
        if coerced:
            result = result._replace(coerced=True)
        if self.number_format is NumberFormat.AUTO:
            return flag_ambiguous(result, expected, candidate)
        return result

    def _read(self, value: JsonValue) -> tuple[Number, frozenset[str]] | None:
        """Return the number of an amount and the codes that its currency can be."""
        if isinstance(value, str):
            amount = read_amount(value, self.number_format)
            if amount is None or amount.percent:
                return None
            number: Number = amount.number
            codes = amount.currencies
        else:
            plain = as_number(value)
            if plain is None:
                return None
            number, codes = plain, frozenset()
        if self.currency is not None and (not codes or self.currency in codes):
            codes = frozenset({self.currency})
        return number, codes


def _checked_currency(code: str) -> str:
    """Return the code of a currency; raise an error if it is unknown."""
    codes = currencies().codes
    if code.upper() in codes:
        return code.upper()
    message = f"must be the code of a currency, such as EUR; got {code!r}"
    raise OptionError("currency", with_hint(message, did_you_mean(code.upper(), codes)))
