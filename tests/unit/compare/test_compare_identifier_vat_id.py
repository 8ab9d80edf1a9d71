from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.compare.identifier import VatId
from fieldmark.model.outcome import Reason
from json_strategies import any_json

NUMBERS = st.from_regex(r"(?:DE|GR|EL|FR|XI|ES)?[0-9A-Z][0-9]{8,9}", fullmatch=True)
SEPARATED = st.lists(st.sampled_from([" ", ".", "-", "\N{EN DASH}", "\N{NO-BREAK SPACE}"]))


@pytest.mark.parametrize(
    ("expected", "candidate", "matched"),
    [
        pytest.param("DE123456789", "DE123456789", True, id="equal"),
        pytest.param("DE123456789", "de 123.456-789", True, id="case-and-separators"),
        pytest.param("DE123456789", "D.E. 123 456 789", True, id="separators-in-the-prefix"),
        pytest.param("DE123456789", "DE\N{EN DASH}123456789", True, id="other-dash"),
        pytest.param("DE123456789", "ＤＥ１２３４５６７８９", True, id="full-width"),
        pytest.param("DE123456789", "123456789", True, id="only-expected-has-a-prefix"),
        pytest.param("123456789", "DE123456789", True, id="only-candidate-has-a-prefix"),
        pytest.param("123456789", "123 456 789", True, id="no-prefixes"),
        pytest.param("DE123456789", "AT123456789", False, id="different-prefixes"),
        pytest.param("DE123456789", "DE123456780", False, id="different-numbers"),
        pytest.param("DE123456789", "DE0123456789", False, id="leading-zeros-count"),
        pytest.param("EL123456789", "GR123456789", True, id="greece-by-its-code"),
        pytest.param("GR123456789", "GR123456789", True, id="greece-by-its-code-on-both-sides"),
        pytest.param("XI123456789", "XI 123 4567 89", True, id="northern-ireland"),
        pytest.param("XI123456789", "IE123456789", False, id="northern-ireland-is-not-ireland"),
        pytest.param("XI123456789", "GB123456789", False, id="northern-ireland-is-not-britain"),
        pytest.param("ATU12345678", "U12345678", True, id="letter-of-the-number-is-no-prefix"),
        pytest.param("FRXX123456789", "XX 123456789", True, id="letters-without-a-prefix"),
        pytest.param("IE1+23456A", "ie 1+23456a", True, id="sign-in-an-old-irish-number"),
        pytest.param("DE123456789", 123456789, True, id="integer"),
        pytest.param("DE123/456/789", "DE123456789", False, id="other-separators-count"),
        pytest.param("DE", "DE", False, id="only-a-prefix"),
        pytest.param("VAT", "VAT", False, id="no-digits"),
        pytest.param(10**12 - 1, "9" * 12, True, id="longest-integer"),
        pytest.param(10**12, 10**12, False, id="integer-too-long-for-a-number"),
        pytest.param("1" * 12, "1" * 12, True, id="longest-number"),
        pytest.param("1" * 13, "1" * 13, False, id="too-long-for-a-number"),
        pytest.param(10**4000, 10**4000, False, id="huge-integer"),
        pytest.param(-123456789, 123456789, False, id="negative-integer"),
        pytest.param(True, True, False, id="boolean"),
        pytest.param(["DE123456789"], ["DE123456789"], False, id="list"),
    ],
)
def test_numbers_are_compared_without_separators_and_missing_prefixes(expected, candidate, matched):
    assert VatId().compare(expected, candidate).matched is matched


@pytest.mark.parametrize(
    ("expected", "candidate", "flags"),
    [
        pytest.param("DE123456789", "DE 123456789", (False, False), id="same-prefix"),
        pytest.param("123456789", "123456789", (False, False), id="no-prefix"),
        pytest.param("DE123456789", "123456789", (True, False), id="one-prefix"),
        pytest.param("123456789", 123456789, (False, True), id="integer-without-a-prefix"),
        pytest.param("DE123456789", 123456789, (True, True), id="integer-for-a-prefix"),
    ],
)
def test_flags_of_a_match(expected, candidate, flags):
    comparison = VatId().compare(expected, candidate)
    assert comparison.matched
    assert (comparison.ambiguous, comparison.coerced) == flags
    assert comparison.note == ("country: one is missing" if comparison.ambiguous else "")


@pytest.mark.parametrize(
    ("expected", "candidate", "reason", "wrong_kind"),
    [
        pytest.param("DE1", "DE12", Reason.UNPARSEABLE, False, id="expected-is-no-number"),
        pytest.param("DE12", "DE", Reason.UNPARSEABLE, True, id="candidate-is-no-number"),
        pytest.param("DE12", "DE13", Reason.DIFFERENT, False, id="another-number"),
        pytest.param("DE12", 13, Reason.TYPE_MISMATCH, True, id="another-number-of-another-type"),
        pytest.param("DE12", None, Reason.UNPARSEABLE, True, id="null"),
    ],
)
def test_reason_of_a_mismatch(expected, candidate, reason, wrong_kind):
    comparison = VatId().compare(expected, candidate)
    assert (comparison.matched, comparison.reason) == (False, reason)
    assert comparison.wrong_kind is wrong_kind


@pytest.mark.parametrize(
    "number",
    [
        "ATU12345678", "BE0123456789", "BG123456789", "BG1234567890", "CY12345678X", "CZ12345678",
        "DE123456789", "DK12345678", "EE123456789", "EL123456789", "GR123456789", "ESX1234567X",
        "ES12345678X", "ESB12345678", "FI12345678", "FR12123456789", "FRXX123456789",
        "HR12345678901", "HU12345678", "IE1234567FA", "IE1234567X", "IE1X23456X", "IT12345678901",
        "LT123456789", "LT123456789012", "LU12345678", "LV12345678901", "MT12345678",
        "NL123456789B01", "PL1234567890", "PT123456789", "RO12", "RO1234567890", "SE123456789001",
        "SI12345678", "SK1234567890", "XI123456789", "XI123456789012", "XIGD123", "XIHA599",
    ],
)  # fmt: skip
def test_formats_of_countries_pass_the_check(number):
    assert VatId(check=True).compare(number, number.lower()).matched


@pytest.mark.parametrize("number", ["DE123456789", "ATU12345678", "ES12345678X", "RO12"])
def test_a_number_without_prefix_passes_the_check_with_the_format_of_any_country(number):
    assert VatId(check=True).compare(number, number[2:]).matched


@pytest.mark.parametrize(
    "number",
    [
        "AT12345678", "BE2123456789", "CY123456789", "DE12345678", "ES123456789", "FRIO123456789",
        "IE12345678", "NL123456789A01", "PL123456789", "SE12345678901", "XI1234567", "GB123456789",
        "XX123456789", "1234567890123", "A1",
    ],
)  # fmt: skip
def test_another_format_is_not_a_number_for_the_check(number):
    comparison = VatId(check=True).compare(number, number)
    assert (comparison.matched, comparison.reason) == (False, Reason.UNPARSEABLE)


@given(NUMBERS, SEPARATED)
def test_a_number_matches_itself_with_any_separators(number, separators):
    written = "".join(
        f"{char}{separators[place % len(separators)] if separators else ''}"
        for place, char in enumerate(number)
    )
    comparison = VatId().compare(number, written.lower())
    assert (comparison.matched, comparison.ambiguous) == (True, False)


@given(any_json, any_json)
def test_what_passes_the_check_matches_without_it(expected, candidate):
    if VatId(check=True).compare(expected, candidate).matched:
        assert VatId().compare(expected, candidate).matched
