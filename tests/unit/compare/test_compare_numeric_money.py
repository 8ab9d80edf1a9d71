from __future__ import annotations

import pytest

from fieldmark.compare.numeric import Money
from fieldmark.errors import OptionError
from fieldmark.model.outcome import Reason

OUTSIDE, INVALID, TYPE = Reason.OUTSIDE_TOLERANCE, Reason.INVALID_NUMBER, Reason.TYPE_MISMATCH


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "matched", "ambiguous"),
    [
        pytest.param({}, "RM 12.50", "MYR 12.50", True, False, id="symbol-and-code"),
        pytest.param({}, "€10", "10,00 EUR", True, False, id="other-format"),
        pytest.param({}, "5 Euro", "€ 5", True, False, id="name-and-symbol"),
        pytest.param({}, "EUR 5", "5 euros", True, False, id="code-and-name-in-the-plural"),
        pytest.param({}, "5 US dollars", "USD 5", True, False, id="name-of-two-words"),
        pytest.param({}, "5 dollars", "$5", True, True, id="name-of-several-currencies"),
        pytest.param({}, "5 dollars", "€5", False, False, id="name-of-other-currency"),
        pytest.param({}, "120 złotych", "120,00 zł", True, False, id="local-name"),
        pytest.param({}, "25 Schweizer Franken", "CHF 25.-", True, False, id="local-name-of-two-words"),
        pytest.param({}, "$10", "€10", False, False, id="other-currency"),
        pytest.param({}, "USD 10", "CAD 10", False, False, id="other-code"),
        pytest.param({}, "RM 12.50", "12.50", True, True, id="candidate-without-currency"),
        pytest.param({}, 12.5, "RM 12.50", True, True, id="number-against-money"),
        pytest.param({}, "12.50", "12.5", True, False, id="no-currency-on-either-side"),
        pytest.param({}, 12.5, 12.5, True, False, id="numbers"),
        pytest.param({}, "$10", "USD 10", True, True, id="dollar-sign-can-be-usd"),
        pytest.param({}, "CA$10", "$10", True, True, id="dollar-sign-can-be-cad"),
        pytest.param({}, "$10", "$10.00", True, False, id="same-sign"),
        pytest.param({}, "US$10", "CA$10", False, False, id="two-dollars"),
        pytest.param({}, "1,240", "1240", True, True, id="digits-in-two-formats"),
        pytest.param({"number_format": "us"}, "1,240", "1240", True, False, id="format-settles-digits"),
        pytest.param({"currency": "USD"}, "$10", "USD 10", True, False, id="currency-settles-signs"),
        pytest.param({"currency": "usd"}, "10", "$10", True, False, id="currency-of-bare-amounts"),
        pytest.param({"currency": "USD"}, "10", "€10", False, False, id="bare-amount-in-other-currency"),
        pytest.param({"currency": "USD"}, "CA$10", "$10", False, False, id="currency-of-signs-differs"),
        pytest.param({"tolerance": 0.01}, "€10.00", "€10.01", True, False, id="tolerance"),
        pytest.param({"tolerance": 0.01}, "€10.00", "€10.02", False, False, id="above-the-tolerance"),
        pytest.param({"tolerance": 0.01}, "€10.00", "$10.01", False, False, id="tolerance-in-other-currency"),
        pytest.param({}, "€10.00", "€10.01", False, False, id="no-tolerance-by-default"),
        pytest.param({}, "(€10.00)", "-€10", True, False, id="negative"),
    ],
)  # fmt: skip
def test_amount_and_currency_are_compared(options, expected, candidate, matched, ambiguous):
    comparison = Money(**options).compare(expected, candidate)
    assert (comparison.matched, comparison.ambiguous) == (matched, ambiguous)
    assert comparison.score == float(matched)


@pytest.mark.parametrize(
    ("expected", "candidate", "note", "coerced"),
    [
        pytest.param("€10", "EUR 10", None, False, id="same-currency"),
        pytest.param("€10", "$10", "currencies differ", False, id="other-currency"),
        pytest.param("$10", "USD 10", "currency: a symbol has several meanings", False, id="sign-against-code"),
        pytest.param("USD 10", "$10", "currency: a symbol has several meanings", False, id="code-against-sign"),
        pytest.param("$10", "10", "currency: one is missing", False, id="candidate-without-currency"),
        pytest.param("10", "USD 10", "currency: one is missing", False, id="expected-without-currency"),
        pytest.param(10, "USD 10", "currency: one is missing", True, id="number-against-money"),
        pytest.param("USD 10", 10, "currency: one is missing", True, id="money-against-number"),
        pytest.param("10", 10, None, True, id="text-against-number"),
        pytest.param(10, 10.0, None, False, id="numbers"),
    ],
)  # fmt: skip
def test_notes_about_currencies(expected, candidate, note, coerced):
    comparison = Money().compare(expected, candidate)
    assert (comparison.note or None, comparison.coerced) == (note, coerced)
    assert comparison.ambiguous == (note is not None and note.startswith("currency: "))


@pytest.mark.parametrize(
    ("expected", "candidate", "reason", "wrong_kind"),
    [
        pytest.param("$10", "$11", OUTSIDE, False, id="other-amount"),
        pytest.param("$10", "€10", Reason.DIFFERENT, False, id="other-currency"),
        pytest.param(10, "$11", TYPE, True, id="other-amount-as-text"),
        pytest.param("INV-100", "INV-100", TYPE, True, id="codes-are-not-money"),
        pytest.param("$10", "ten dollars", TYPE, True, id="words-for-the-number"),
        pytest.param("19%", "19%", TYPE, True, id="percent-is-not-money"),
        pytest.param("soon", "$10", INVALID, False, id="expected-value-is-no-amount"),
        pytest.param(10, float("nan"), INVALID, True, id="nan"),
        pytest.param(1, True, TYPE, True, id="boolean"),
    ],
)
def test_reasons_for_mismatches(expected, candidate, reason, wrong_kind):
    comparison = Money().compare(expected, candidate)
    assert not comparison.matched
    assert (comparison.reason, comparison.wrong_kind) == (reason, wrong_kind)


def test_unknown_currency_is_rejected():
    with pytest.raises(OptionError) as caught:
        Money(currency="EURO")
    assert caught.value.option == "currency"
