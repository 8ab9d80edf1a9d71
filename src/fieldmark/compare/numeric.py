"""Compare numbers with a tolerance, amounts of money, and truth values."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, ClassVar, Final, TypeAlias

from fieldmark.errors import OptionError
from fieldmark.model.comparison import MATCHED, WRONG_TYPE, ComparatorGroup, Comparison, mismatch
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.annotations import Range
from fieldmark.values.currencies import UNCLEAR_SYMBOL, checked_currency
from fieldmark.values.equality import equal
from fieldmark.values.numbers import (
    Number,
    NumberFormat,
    Tolerance,
    as_number,
    exact_fraction,
    read_amount,
)
from fieldmark.values.strategy_options import check_options
from fieldmark.values.text import folded

Amount: TypeAlias = Annotated[float | Decimal, Range(ge=0)]

_COERCED: Final = MATCHED._replace(coerced=True)
_OUTSIDE: Final = Comparison.differs(Reason.OUTSIDE_TOLERANCE)
_NO_EXPECTED_NUMBER: Final = Comparison.differs(
    Reason.INVALID_NUMBER, note="the expected value is not a number"
)
_INVALID: Final = Comparison.wrong_type(Reason.INVALID_NUMBER)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericTolerance:
    """Match numbers that differ by at most `tolerance`.

    With `relative`, the tolerance is a fraction of the expected number; for an expected zero it
    is absolute. With `absolute` and `relative_tolerance`, a number within either limit matches.
    Plain numeric strings are numbers; 1,240.00 and $5 require a `number_format`. If it is `auto`
    and another format reads another number, the result is marked as ambiguous. With a `period`,
    such as 360 for angles, differences wrap around.
    """

    name: ClassVar[str] = "numeric_tolerance"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.NUMBERS
    normalization: ClassVar[str] = "values are read as numbers"
    # Equal values that are not finite numbers do not match.
    reflexive: ClassVar[bool] = False
    reflexive_on_numbers: ClassVar[bool] = True
    tolerance: Amount = 0
    relative: bool = False
    absolute: Amount | None = None
    relative_tolerance: Amount | None = None
    number_format: NumberFormat | None = None
    period: Annotated[float | Decimal, Range(gt=0)] | None = None
    _limits: Tolerance = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_options(self)
        absolute, relative = self.absolute, self.relative_tolerance
        if absolute is None and relative is None:
            absolute, relative = (None, self.tolerance) if self.relative else (self.tolerance, None)
        elif self.tolerance or self.relative:
            message = "set either tolerance and relative, or absolute and relative_tolerance"
            raise OptionError("tolerance", message)
        limits = Tolerance(
            absolute=None if absolute is None else exact_fraction(absolute),
            relative=None if relative is None else exact_fraction(relative),
            period=None if self.period is None else exact_fraction(self.period),
        )
        object.__setattr__(self, "_limits", limits)

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match numbers within the tolerance.

        >>> NumericTolerance(tolerance=0.1).compare(1.0, 1.1).matched
        True
        """
        expected_number = as_number(expected, self.number_format)
        candidate_number = as_number(candidate, self.number_format)
        if candidate_number is None:
            return _INVALID if isinstance(candidate, float) else WRONG_TYPE
        if expected_number is None:
            return mismatch(expected, candidate, _NO_EXPECTED_NUMBER)
        coerced = isinstance(expected, str) or isinstance(candidate, str)
        if expected_number == candidate_number or self._limits.admits(
            expected_number, candidate_number
        ):
            result = _COERCED if coerced else MATCHED
        else:
            result = mismatch(expected, candidate, _OUTSIDE)
            result = result._replace(coerced=True) if coerced else result
        if coerced and self.number_format is NumberFormat.AUTO:
            return flag_ambiguous(result, expected, candidate)
        return result

    @property
    def leaf_limits(self) -> tuple[float, float, float]:
        """The absolute, relative and zero limits; negative if numbers have a period."""
        return self._limits.as_floats

    def item_leaves(self, leaves: Sequence[Hashable]) -> Sequence[Hashable] | None:
        """Return numbers that are equal if these are within the tolerance, or `None`."""
        try:
            groups = self._limits.groups(leaves)  # type: ignore[arg-type]
        except TypeError:  # not only numbers
            return None
        if groups is None:
            return None
        return [groups.get(leaf, leaf) for leaf in leaves] if groups else leaves  # type: ignore[call-overload]


def flag_ambiguous(result: Comparison, expected: JsonValue, candidate: JsonValue) -> Comparison:
    """Flag a comparison of different texts if another number format reads another number."""
    if expected == candidate:
        return result
    amounts = (read_amount(value) for value in (expected, candidate) if isinstance(value, str))
    ambiguous = any(amount is not None and amount.ambiguous for amount in amounts)
    return result._replace(ambiguous=True) if ambiguous else result


# --- money ----------------------------------------------------------------------------------------

_NO_EXPECTED_AMOUNT: Final = Comparison.differs(
    Reason.INVALID_NUMBER, note="the expected value is not an amount of money"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """Match amounts of money in the same currency that differ by at most `tolerance`.

    The currency is a code, a symbol or a name, such as EUR, € and euros. An amount without a
    currency matches any currency, and a symbol such as $ any of its currencies; such results are
    marked as ambiguous. `currency` is the code of the currency that
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
            object.__setattr__(self, "currency", checked_currency(self.currency))

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match amounts in the same currency.

        >>> Money().compare("5 euros", "€ 5").matched
        True
        >>> Money().compare("$10", "€10").note
        'currencies differ'
        """
        expected_amount, candidate_amount = self._read_money(expected), self._read_money(candidate)
        if candidate_amount is None:
            return _INVALID if isinstance(candidate, float) else WRONG_TYPE
        if expected_amount is None:
            return mismatch(expected, candidate, _NO_EXPECTED_AMOUNT)
        coerced = isinstance(expected, str) != isinstance(candidate, str)
        result = MATCHED
        if not (
            expected_amount[0] == candidate_amount[0]
            or self._limits.admits(expected_amount[0], candidate_amount[0])
        ):
            result = mismatch(expected, candidate, _OUTSIDE)
        elif (
            expected_amount[1]
            and candidate_amount[1]
            and expected_amount[1].isdisjoint(candidate_amount[1])
        ):
            result = Comparison.differs(note="currencies differ")
        elif expected_amount[1] != candidate_amount[1]:
            both = expected_amount[1] and candidate_amount[1]
            note = UNCLEAR_SYMBOL if both else "currency: one is missing"
            result = result._replace(ambiguous=True, note=note)
        if coerced:
            result = result._replace(coerced=True)
        if self.number_format is NumberFormat.AUTO:
            return flag_ambiguous(result, expected, candidate)
        return result

    def _read_money(self, value: JsonValue) -> tuple[Number, frozenset[str]] | None:
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


# --- truth values ---------------------------------------------------------------------------------

_WORDS: Final[Mapping[str, bool]] = {"true": True, "yes": True, "false": False, "no": False}
_NUMBERS: Final[Mapping[float, bool]] = {0: False, 1: True}
_NOT_BOOLEAN: Final = Comparison.wrong_type(Reason.NOT_A_BOOLEAN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Boolean:
    """Match equal truth values: true, "true", "yes" and 1, or false, "false", "no" and 0."""

    name: ClassVar[str] = "boolean"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.NUMBERS
    normalization: ClassVar[str] = "values are read as true or false"
    reflexive: ClassVar[bool] = True

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match values with the same truth value.

        >>> Boolean().compare(True, "Yes").matched
        True
        """
        if equal(expected, candidate):
            return MATCHED
        truth_value = _as_boolean(candidate)
        if truth_value is None:
            return _NOT_BOOLEAN
        return _COERCED if _as_boolean(expected) is truth_value else mismatch(expected, candidate)


def _as_boolean(value: JsonValue) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _WORDS.get(folded(value))
    if isinstance(value, (int, float)):
        return _NUMBERS.get(value)
    return None
