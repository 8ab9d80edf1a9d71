"""Compare currencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fieldmark.model.comparison import MATCHED, WRONG_TYPE, ComparatorGroup, Comparison, mismatch
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.currencies import UNCLEAR_SYMBOL, checked_currency, named_currencies
from fieldmark.values.equality import equal
from fieldmark.values.strategy_options import check_options
from fieldmark.values.text import normalized


@dataclass(frozen=True, slots=True, kw_only=True)
class Currency:
    """Match codes, symbols and names of the same currency, such as EUR, € and Euro.

    A symbol such as $ matches any of its currencies; such a result is marked as ambiguous.
    `currency` is the code of the currency that it means. Text that is no currency matches the same
    text.
    """

    name: ClassVar[str] = "currency"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.NUMBERS
    normalization: ClassVar[str] = "codes, symbols and names are read as currencies"
    reflexive: ClassVar[bool] = True
    currency: str | None = None

    def __post_init__(self) -> None:
        check_options(self)
        if self.currency is not None:
            object.__setattr__(self, "currency", checked_currency(self.currency))

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match the same currency.

        >>> Currency().compare("€", "Euro").matched
        True
        >>> Currency().compare("USD", "$").note
        'currency: a symbol has several meanings'
        """
        if not isinstance(expected, str) or not isinstance(candidate, str):
            return MATCHED if equal(expected, candidate) else WRONG_TYPE
        if normalized(expected) == normalized(candidate):
            return MATCHED
        candidate_codes = self._codes(candidate)
        if not candidate_codes:
            return Comparison.wrong_type(Reason.UNPARSEABLE)
        expected_codes = self._codes(expected)
        if expected_codes.isdisjoint(candidate_codes):
            return mismatch(expected, candidate)
        if expected_codes == candidate_codes:
            return MATCHED
        return MATCHED._replace(ambiguous=True, note=UNCLEAR_SYMBOL)

    def reads(self, text: str) -> bool:
        """Whether a text is a currency.

        >>> Currency().reads("zł"), Currency().reads("usd"), Currency().reads("5 EUR")
        (True, True, False)
        """
        return bool(self._codes(text))

    def _codes(self, text: str) -> frozenset[str]:
        """Return the codes that a text can mean; codes and symbols may be in any case."""
        text = text.strip()
        forms = (named_currencies(form) for form in (text, text.upper(), text.lower()))
        codes = next((codes for codes in forms if codes), frozenset[str]())
        return frozenset({self.currency}) if self.currency in codes else codes
