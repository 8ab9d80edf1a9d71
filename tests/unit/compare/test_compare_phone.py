from __future__ import annotations

import sys

import pytest

from fieldmark.compare.phone import Phone
from fieldmark.errors import MissingExtra, OptionError
from fieldmark.model.outcome import Reason


@pytest.mark.parametrize(
    ("region", "expected", "candidate", "matched", "ambiguous"),
    [
        pytest.param(None, "+1 212 555 0123", "+1 (212) 555-0123", True, False, id="notation"),
        pytest.param(None, "+12125550123", "tel:+1-212-555-0123", True, False, id="tel"),
        pytest.param("US", "+1 212 555 0123", "(212) 555-0123", True, False, id="region"),
        pytest.param("us", "+1 212 555 0123", "212.555.0123", True, False, id="region-in-small-letters"),
        pytest.param("GB", "+44 20 7946 0958", "020 7946 0958", True, False, id="trunk-prefix"),
        pytest.param("DE", "+44 20 7946 0958", "020 7946 0958", False, False, id="another-region"),
        pytest.param("DE", "+1 212 555 0123", "001 212 555 0123", True, False, id="international-prefix"),
        pytest.param(None, "+1 212 555 0123", "(212) 555-0123", True, True, id="country-code-on-one-side"),
        pytest.param(None, "212 555 0123", "(212) 555-0123", True, False, id="no-country-code"),
        pytest.param(None, "030 1234567", "30 1234567", False, False, id="leading-zeros-count"),
        pytest.param(None, "+1 212 555 0123", "+1 212 555 0124", False, False, id="other-number"),
        pytest.param(None, "+1 212 555 0123", "+44 212 555 0123", False, False, id="other-country"),
        pytest.param(None, "+1 212 555 0123", "555 0123", False, False, id="part-of-a-number"),
        pytest.param(None, "+1 212 555 0123 ext. 5", "+1 212 555 0123 x5", True, False, id="extension"),
        pytest.param(None, "+1 212 555 0123 ext. 5", "+1 212 555 0123", False, False, id="extension-counts"),
    ],
)  # fmt: skip
def test_same_number_matches(region, expected, candidate, matched, ambiguous):
    comparison = Phone(region=region).compare(expected, candidate)
    assert (comparison.matched, comparison.ambiguous) == (matched, ambiguous)


def test_integer_is_read_as_its_digits():
    comparison = Phone(region="US").compare(2125550123, "(212) 555-0123")
    assert comparison.matched
    assert comparison.coerced


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("call us", id="words"),
        pytest.param("1", id="too-short"),
        pytest.param("1" * 60, id="too-long"),
        pytest.param(1.5, id="decimal-number"),
        pytest.param(True, id="boolean"),
        pytest.param(None, id="null"),
    ],
)
def test_values_that_are_no_numbers(value):
    candidate = Phone().compare("+1 212 555 0123", value)
    assert (candidate.reason, candidate.wrong_kind) == (Reason.UNPARSEABLE, True)
    assert not Phone().compare(value, "+1 212 555 0123").matched


@pytest.mark.parametrize("region", ["USA", 5, ""])
def test_unknown_region_is_rejected(region):
    with pytest.raises(OptionError, match="region"):
        Phone(region=region)


def test_missing_library_is_reported_with_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "phonenumbers", None)
    with pytest.raises(MissingExtra, match=r'pip install "fieldmark\[phone\]"'):
        Phone()
