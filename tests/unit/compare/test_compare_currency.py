"""Codes, symbols and names of currencies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.compare.currency import Currency
from fieldmark.errors import OptionError
from fieldmark.model.outcome import Reason
from fieldmark.values.currencies import currencies


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "matched", "ambiguous"),
    [
        pytest.param({}, "€", "EUR", True, False, id="symbol-and-code"),
        pytest.param({}, "EUR", "Euro", True, False, id="code-and-name"),
        pytest.param({}, "€", " euros ", True, False, id="plural-and-blanks"),
        pytest.param({}, "PLN", "pln", True, False, id="code-in-lower-case"),
        pytest.param({}, "Kn", "HRK", True, False, id="symbol-in-another-case"),
        pytest.param({}, "Swiss franc", "Schweizer Franken", True, False, id="names-in-two-languages"),
        pytest.param({}, "US-Dollar", "US$", True, False, id="name-with-a-hyphen"),
        pytest.param({}, "$", "USD", True, True, id="symbol-of-several-currencies"),
        pytest.param({}, "dollars", "$", True, True, id="name-of-several-currencies"),
        pytest.param({}, "$", "$", True, False, id="same-symbol"),
        pytest.param({}, "$", "€", False, False, id="other-symbol"),
        pytest.param({}, "$", "GBP", False, False, id="no-currency-of-the-symbol"),
        pytest.param({}, "USD", "CAD", False, False, id="two-dollars"),
        pytest.param({"currency": "usd"}, "$", "USD", True, False, id="option-settles-the-symbol"),
        pytest.param({"currency": "USD"}, "$", "CAD", False, False, id="option-settles-it-against-another"),
        pytest.param({}, "Bitcoin", "bitcoin", True, False, id="same-text-that-is-no-currency"),
        pytest.param({}, 840, 840.0, True, False, id="equal-values-of-other-types"),
    ],
)  # fmt: skip
def test_currencies_are_compared_by_their_codes(options, expected, candidate, matched, ambiguous):
    comparison = Currency(**options).compare(expected, candidate)
    assert (comparison.matched, comparison.ambiguous) == (matched, ambiguous)
    assert comparison.wrong_kind is False


@pytest.mark.parametrize(
    ("expected", "candidate", "reason", "wrong_kind"),
    [
        pytest.param("EUR", "5 EUR", Reason.UNPARSEABLE, True, id="amount-is-no-currency"),
        pytest.param("EUR", 5, Reason.TYPE_MISMATCH, True, id="number"),
        pytest.param("points", "EUR", Reason.DIFFERENT, False, id="expected-value-is-no-currency"),
    ],
)
def test_other_values_do_not_match(expected, candidate, reason, wrong_kind):
    comparison = Currency().compare(expected, candidate)
    assert (comparison.reason, comparison.wrong_kind) == (reason, wrong_kind)
    assert not comparison.matched


def test_an_unknown_code_names_a_similar_one():
    with pytest.raises(OptionError, match="EUR"):
        Currency(currency="EURO")


@given(st.sampled_from(sorted(currencies().codes)), st.sampled_from(sorted(currencies().names)))
def test_the_order_of_both_sides_does_not_matter(code, name):
    one, other = Currency().compare(code, name), Currency().compare(name, code)
    assert (one.matched, one.ambiguous) == (other.matched, other.ambiguous)
    assert one.matched == (code in currencies().names[name])


def test_a_symbol_with_several_meanings_is_counted_in_a_warning():
    pairs = [({"currency": "$"}, {"currency": "USD"}), ({"currency": "€"}, {"currency": "Euro"})]
    run = fm.score(pairs, rules={"currency": {"match": "currency"}})
    assert run.attributes["currency"].tp == 2
    assert any("1 ambiguous value" in warning for warning in run.summary.warnings)
