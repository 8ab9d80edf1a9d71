"""Proposed rules and their reasons."""

from __future__ import annotations

import copy
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.align.greedy import Greedy
from fieldmark.analyses import value_kinds
from fieldmark.analyses.infer import proposed_rules, render_proposal, rule_inferrer
from fieldmark.analyses.infer.rule_inferrer import InferredRule, RuleInferrer, SampleLists
from fieldmark.analyses.value_kinds import (
    Difference,
    ValueKind,
    decimals,
    difference_of,
    kind_of_value,
)
from fieldmark.compare.date import DateMatch
from fieldmark.model.json import MISSING
from fieldmark.model.outcome import Presence
from fieldmark.model.rule import Rules
from fieldmark.plan.plan import compile_plan
from fieldmark.rules.config_values import Context
from fieldmark.rules.rules_file import load_rules, read_rules, rules_of
from fieldmark.rules.yaml_parser import parse_yaml
from fieldmark.values.paths import join
from fieldmark.values.presence import presence
from pure_python import with_and_without_kernel

__all__ = ["with_and_without_kernel"]
LONG = "The supplier shall deliver the goods within thirty days of the order, free of charge. " * 2


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        pytest.param(True, ValueKind.BOOLEAN, id="boolean-is-not-a-number"),
        pytest.param(7.0, ValueKind.WHOLE_NUMBER, id="integral-float"),
        pytest.param("2025-01-2025", ValueKind.IMPOSSIBLE_DATE, id="two-years"),
        pytest.param("31-FEB-2024", ValueKind.IMPOSSIBLE_DATE, id="day-that-does-not-exist"),
        pytest.param("12. März 2018", ValueKind.FOREIGN_DATE, id="date-in-another-language"),
        pytest.param("INV-100", ValueKind.CODE, id="no-currency-in-front-of-a-number"),
        pytest.param("123456789", ValueKind.DIGITS, id="many-digits"),
        pytest.param("00123", ValueKind.DIGITS, id="leading-zeros"),
        pytest.param("007", ValueKind.CODE, id="few-digits-with-leading-zeros"),
        pytest.param("Route 66", ValueKind.TEXT, id="text-with-number"),
        pytest.param("請求書100号", ValueKind.TEXT, id="text-without-spaces"),
        pytest.param("Ł-100", ValueKind.CODE, id="code-with-a-letter-of-another-language"),
        pytest.param("x" * 120, ValueKind.TEXT, id="longest-text"),
        pytest.param("x" * 121, ValueKind.LONG_TEXT, id="text-that-is-too-long"),
        pytest.param("lorem " * 15, ValueKind.TEXT, id="most-words-of-text"),
        pytest.param("lorem " * 15 + " ipsum", ValueKind.LONG_TEXT, id="too-many-words"),
        pytest.param("x" * 39 + "1", ValueKind.CODE, id="longest-code"),
        pytest.param("x" * 40 + "1", ValueKind.TEXT, id="too-long-for-a-code"),
    ],
)
def test_kinds_of_values(value, kind):
    assert kind_of_value(value) is kind


@pytest.mark.parametrize(
    ("expected", "candidate", "difference"),
    [
        pytest.param("a", "a", Difference.NONE, id="equal"),
        pytest.param("Acme", "ACME", Difference.CASE, id="case"),
        pytest.param("Acme  Corp", " acme corp", Difference.WHITESPACE, id="whitespace"),
        pytest.param("0 - 20", "0 – 20", Difference.DASH, id="kind-of-dash"),
        pytest.param("１２", "12", Difference.FORM, id="wide-number"),
        pytest.param("Straße １", "Straße 1", Difference.FORM, id="wide-digit-in-text"),
        pytest.param("横浜 － 小田原", "横浜－小田原", Difference.SPACING, id="spaces"),
        pytest.param("Unit 1 2", "Unit 12", Difference.CLOSE, id="space-between-digits"),
        pytest.param("99,90 €", 99.9, Difference.NUMBER_FORMAT, id="number-that-floats-round"),
        pytest.param("2024-05", "May 2024", Difference.DATE_FORMAT, id="same-month"),
        pytest.param("2024-05", "2024-05-01", Difference.OTHER, id="month-and-day"),
        pytest.param(
            "2024-05-03T14:30", "2024-05-03 14:30:00", Difference.DATE_FORMAT, id="same-instant"
        ),
        pytest.param(
            "2024-12-31T23:30-02:00", "2025-01-01T01:30Z", Difference.DATE_FORMAT, id="two-zones"
        ),
        pytest.param("2024-05-03T14:30", "2024-05-03T15:30", Difference.OTHER, id="another-time"),
        pytest.param(
            "2024-05-03T14:30+02:00", "2024-05-03T14:30Z", Difference.OTHER, id="another-zone"
        ),
        pytest.param("2024-05-03T14:30", "2024-05-03", Difference.DATE_FORMAT, id="without-a-time"),
        pytest.param("14:30", "2:30 PM", Difference.TIME_FORMAT, id="same-time"),
        pytest.param("EUR", "€", Difference.CURRENCY_NAME, id="same-currency"),
        pytest.param("EUR", "$", Difference.OTHER, id="another-currency"),
        pytest.param(5, "5", Difference.NUMBER_FORMAT, id="number-in-string"),
        pytest.param("1240", "1,240.00", Difference.NUMBER_FORMAT, id="thousands"),
        pytest.param(5, 6, Difference.OTHER, id="another-number"),
        pytest.param("2024-01-31", "31-JAN-2024", Difference.DATE_FORMAT, id="same-day"),
        pytest.param("2024-01-31", "2024-01-30", Difference.OTHER, id="another-day"),
        pytest.param("Acme Corporation", "Acme Corporatoin", Difference.CLOSE, id="typo"),
        pytest.param("Acme", "Zebra", Difference.OTHER, id="another-text"),
        pytest.param(["a", "b"], "b", Difference.LISTED, id="in-list"),
        pytest.param(["a", "b"], "c", Difference.OTHER, id="not-in-list"),
        pytest.param("a", {"a": 1}, Difference.OTHER, id="different-type"),
        pytest.param(True, 1, Difference.OTHER, id="boolean-is-not-a-number"),
    ],
)
def test_differences(expected, candidate, difference):
    assert difference_of(expected, candidate) is difference


@pytest.mark.parametrize(("number", "digits"), [(1.0, 0), (12.5, 1), (1e-7, 7), (1.5e300, 0)])
def test_decimals(number, digits):
    assert decimals(number) == digits


def _inferrer():
    return RuleInferrer(lambda rules: read_rules(proposed_rules(rules)).rules)


def _settings(values, candidates=None):
    inferrer = _inferrer()
    others = candidates or [MISSING] * len(values)
    for expected, candidate in zip(values, others, strict=True):
        other = MISSING if candidate is MISSING else {"x": candidate}
        inferrer.add({"x": expected}, other)
    return {proposal.path: dict(proposal.settings) for proposal in inferrer.rules()}


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(["2024-01-31", "2024-02-01", "2024-02-03", "soon", "later"], id="some-are-words"),
        pytest.param(["31-31-2024", "32-12-2024", "30-30-2024", "2024-02-01"], id="most-are-impossible"),
    ],
)  # fmt: skip
def test_values_that_are_mostly_but_not_nearly_all_dates_are_not_dates(values):
    others = [f"{value} " for value in values]
    assert _settings(values * 5, others * 5).get("x", {}).get("match") != "date"


NAMES = ["Acme Corp", "Bolt and Sons", "Crane Limited", "Dyer Brothers"]
STREETS = ["12 Main Street, Springfield", "7 Elm Road, Leeds"]
PHONES = ["(212) 555-0123", "+1 212 555 0199"]
FUZZY = {"match": "fuzzy", "threshold": 0.85, "numbers": "exact"}
NORMALIZED = {"match": "normalized_text"}
IDENTIFIER = {"match": "identifier"}
MEANING = {"match": "semantic", "threshold": 0.8, "guards": {"numbers": True}}


def _format(name):
    return {"match": "numeric_tolerance", "tolerance": 0, "number_format": name}


def _order(name):
    return {"match": "date", "order": name}


@pytest.mark.parametrize(
    ("values", "settings"),
    [
        pytest.param([None, ""], None, id="always-empty"),
        pytest.param([True, False, None], {"match": "boolean"}, id="booleans"),
        pytest.param(["yes", "No"], {"match": "boolean"}, id="yes-or-no"),
        pytest.param([1, 2, 3.0], {"match": "numeric_tolerance", "tolerance": 0}, id="integer"),
        pytest.param([10**5000], {"match": "numeric_tolerance", "tolerance": 0}, id="huge"),
        pytest.param([1, 2.55], {"match": "numeric_tolerance", "tolerance": 0.001}, id="cost"),
        pytest.param([1.23456, 2.5], {"match": "numeric_tolerance", "tolerance": 0.000001, "relative": True}, id="measurements"),
        pytest.param(["1.5", "20"], {"match": "numeric_tolerance", "tolerance": 0}, id="numbers-in-strings"),
        pytest.param(["1,240.00", "7.50"], _format("us"), id="american-amounts"),
        pytest.param(["1.240,00", "7,50"], _format("eu"), id="european-amounts"),
        pytest.param(["1'240.50", "7.50"], _format("ch"), id="swiss-amounts"),
        pytest.param(["1,23,456.50", "7.50"], _format("in"), id="indian-amounts"),
        pytest.param(["19%", "7 %"], _format("us"), id="percentages-are-not-money"),
        pytest.param(["EUR 9.00", "$8.20", "1,240.00", "7.50"], {"match": "money", "number_format": "us"}, id="money-in-several-currencies"),
        pytest.param(["RM 9.00", "7.50"], {"match": "money", "number_format": "us", "currency": "MYR"}, id="money-in-one-currency"),
        pytest.param(["INV-100", "ABC-100"], {"match": "exact"}, id="codes-are-not-amounts"),
        pytest.param(["R1001", "1002"], IDENTIFIER, id="whole-numbers-with-a-prefix"),
        pytest.param(["CHF100", "INR4411"], IDENTIFIER, id="prefixes-that-are-currencies"),
        pytest.param(["R1001", "R-1001"], {"match": "exact"}, id="prefixes-with-and-without-a-dash"),
        pytest.param(["R1001", "R 1,002.00"], {"match": "money", "number_format": "us", "currency": "ZAR"}, id="prefix-and-an-amount"),
        pytest.param(["$5", "$7"], {"match": "money", "number_format": "us"}, id="symbol-is-no-prefix"),
        pytest.param(["2024-01-31", "2024-02-01"], {"match": "date"}, id="dates"),
        pytest.param(["12/31/2024", "01/02/2024"], _order("mdy"), id="month-first"),
        pytest.param(["31/12/2024", "01/02/2024"], _order("dmy"), id="day-first"),
        pytest.param(["31/12/2024", "05 MAR 2018"] * 10 + ["25032018"], _order("dmy"), id="no-marks"),
        pytest.param(["05 MAR 2018", "01/02/2024"], {"match": "date"}, id="ambiguous-dates"),
        pytest.param(["31/12/2024", "12/31/2024"], {"match": "date"}, id="both-orders"),
        pytest.param(["31/12/2024"] * 6 + ["12/31/2024"], _order("dmy"), id="order-with-outlier"),
        pytest.param(["2025-01-31"] * 6 + ["2025-01-2025"], {"match": "date"}, id="impossible"),
        pytest.param(["31/12/2018", "18-03-18", "14-03-18"], {**_order("dmy"), "two_digit_years": 1970}, id="two-digit-years"),
        pytest.param(["31/12/1948", "18-03-18"], {**_order("dmy"), "two_digit_years": 1940}, id="two-digit-years-near-the-others"),
        pytest.param(
            ["12. März 2018", "3. Mai 2019", "31.12.2018", "1 Jan 2019"],
            {"match": "date", "order": "dmy", "locales": ["de"]},
            id="month-names-of-another-language",
        ),
        pytest.param(["31/12/2018"] * 20 + ["unknown"], _order("dmy"), id="nearly-all-dates"),
        pytest.param(["9.00", "8.20", "Qx 7.10", "Qx 9.90", "free"], {"match": "exact"}, id="mostly-digits"),
        pytest.param(["9.00"] * 40 + ["18-03-18"] * 10, {"match": "exact"}, id="repeated-digits"),
        pytest.param(["a@b.org", "C@d.org"], {"match": "email"}, id="e-mails"),
        pytest.param(["https://a.org", "http://b.org/x"], {"match": "url"}, id="web-addresses"),
        pytest.param(["A-1", "B-2", "77"], {"match": "exact"}, id="codes"),
        pytest.param(["12345", "54321"], {"match": "exact"}, id="digits"),
        pytest.param(["open", "closed"] * 10, {"match": "exact"}, id="enumeration"),
        pytest.param(["open", "Open"] * 10, NORMALIZED, id="enumeration-in-any-case"),
        pytest.param(NAMES, FUZZY, id="short-text"),
        pytest.param([LONG, LONG[1:]], MEANING, id="long-text"),
        pytest.param(["神奈川県横浜市1−1−1", "東京都2−2"], FUZZY, id="text-without-blanks"),
        pytest.param([1, "Acme", True], {"match": "exact"}, id="mixed-types"),
        pytest.param([{}, {}], None, id="empty-objects"),
    ],
)  # fmt: skip
def test_proposals_from_ground_truth_only(values, settings):
    assert _settings(values).get("x") == settings


@pytest.mark.parametrize(
    ("name", "values", "settings"),
    [
        pytest.param("due_date", ["2024-01-31", "Friday"], {"match": "date"}, id="half-are-dates"),
        pytest.param("due", ["2024-01-31", "Friday"], FUZZY, id="half-are-dates-by-no-name"),
        pytest.param("vendor_name", NAMES, {"match": "name"}, id="names"),
        pytest.param("currencyCode", ["EUR", "USD"], {"match": "currency"}, id="currencies"),
        pytest.param("country", ["EUR", "USD"], FUZZY, id="currencies-by-no-name"),
        pytest.param("period", ["2024-05", "2024-06"], {"match": "partial_date"}, id="months"),
        pytest.param("number", ["2024-05", "2024-06"], IDENTIFIER, id="numbers-like-months"),
        pytest.param("year", ["2024", "2025"], {"match": "numeric_tolerance", "tolerance": 0}, id="years-alone"),
        pytest.param("opens", ["14:30", "2 PM"], {"match": "time"}, id="times"),
        pytest.param("ratio", ["14:30", "1:20"], {"match": "exact"}, id="ratios"),
        pytest.param("sent", ["2024-05-03T14:30:00Z"], {"match": "timestamp"}, id="instants"),
        pytest.param("total", ["RM1200", "RM300"], {"match": "money", "number_format": "us", "currency": "MYR"}, id="amounts-by-name"),
        pytest.param("companies", NAMES, FUZZY, id="unknown-word"),
        pytest.param("name", ["solar cells", "thin films"], FUZZY, id="name-of-no-person"),
        pytest.param("homeAddress", STREETS, {"match": "address"}, id="address"),
        pytest.param("address", ["somewhere", "elsewhere"], FUZZY, id="address-without-number"),
        pytest.param("phone", PHONES, {"match": "phone"}, id="telephone-numbers"),
        pytest.param("extension", PHONES, {"match": "exact"}, id="telephone-numbers-by-no-name"),
        pytest.param("invoiceNumber", ["A-1", "B-2"], {"match": "identifier"}, id="identifiers"),
        pytest.param("number", ["A-1", "A1"], {"match": "exact"}, id="identifiers-told-by-marks"),
        pytest.param("code", ["A-1.5", "B-2.5"], {"match": "exact"}, id="codes-with-decimals"),
        pytest.param("zip", ["1234", "9876"], {"match": "identifier"}, id="digits-that-are-codes"),
        pytest.param("orderNumber", ["20240131", "20240201"], {"match": "identifier"}, id="number-like-a-date"),
        pytest.param("order", ["20240131", "20240201"], {"match": "date"}, id="date-without-marks"),
        pytest.param("ein", ["12-3456789", "98-7654321"], {"match": "identifier"}, id="tax-number"),
        pytest.param("typeCode", ["SA", "NE", "K1"], {"match": "identifier"}, id="codes-of-letters"),
        pytest.param("code", ["two words", "SA"], FUZZY, id="several-words-are-no-code"),
        pytest.param("type", ["SA", "NE", "RL"], FUZZY, id="letters-by-no-name"),
    ],
)  # fmt: skip
def test_proposals_by_name_and_values(name, values, settings):
    inferrer = _inferrer()
    for value in values:
        inferrer.add({name: value})
    (proposal,) = inferrer.rules()
    assert proposal.settings == settings


def test_without_the_extra_telephone_numbers_are_compared_by_digits(monkeypatch):
    monkeypatch.setattr(rule_inferrer, "phone_is_available", lambda: False)
    inferrer = _inferrer()
    inferrer.add({"phone": PHONES[0]})
    (proposal,) = inferrer.rules()
    assert proposal.settings == {"match": "identifier"}
    assert 'requires pip install "fieldmark[phone]"' in proposal.reason


def test_without_the_extra_no_locale_is_proposed(monkeypatch):
    monkeypatch.setattr(value_kinds, "_locale_readers", dict)
    assert "locales" not in _settings(["12. Abril 2018", "13. Abril 2018", "31.12.2018"])["x"]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        pytest.param(
            ["31/12/2024"] * 6 + ["12/28/2017"],
            "7 dates, order dmy, compared by day; 1 of 7 cannot be read with this order and"
            " counts as wrong type: 12/28/2017 (7 values)",
            id="date-in-another-order",
        ),
        pytest.param(
            ["2025-01-31"] * 6 + ["2025-01-2025"],
            "7 dates, compared by day; 1 of 7 cannot be read and counts as wrong type:"
            " 2025-01-2025 (7 values)",
            id="impossible-date",
        ),
        pytest.param(
            ["05 MAR 2018", "01/02/2024"],
            "2 dates, compared by day; the order of 1 is unclear, set it with order: 01/02/2024"
            " (2 values)",
            id="order-unknown",
        ),
        pytest.param(
            ["1 mai 2018", "2 juin 2018"] * 10 + ["le 3 avril 2018"],
            "21 dates, month names in fr, compared by day; 1 of 21 cannot be read and counts as"
            " wrong type: le 3 avril 2018"
            " (21 values)",
            id="month-names",
        ),
        pytest.param(
            ["31/12/18", "31/12/2018"],
            "2 dates, order dmy, compared by day; two-digit years (1) are 1970 to 2069 (2 values)",
            id="two-digit-years",
        ),
        pytest.param(
            ["1,240", "2,500"],
            "2 amounts in us format, compared by value; 2 mean another number in another format:"
            " 1,240, 2,500 (2 values)",
            id="thousands-or-decimals",
        ),
        pytest.param(["RM 5.00", "6.00"], "2 amounts in us format, compared by value and currency (1 with a currency) (2 values)", id="money"),
        pytest.param(
            ["$5.00", "6.00"],
            "2 amounts in us format, compared by value and currency (1 with a currency); amounts"
            " without one match any currency (2 values)",
            id="money-in-several-currencies",
        ),
        pytest.param(["2024-01-31T10:30:00", "2024-02-01"], "2 dates, compared by day; the times of 1 are ignored (2 values)", id="dates-with-times"),
        pytest.param(
            ["LiFePO4", "TiO2", "steel"],
            "2 of 3 are codes, dates or numbers in several formats, compared exactly (3 values)",
            id="codes-and-text",
        ),
        pytest.param([LONG], "long text, compared by meaning; numbers must be the same (1 value)", id="long-text"),
        pytest.param(
            ["open", "closed", "open", "open", "open"] * 2,
            "2 distinct strings: open, closed; compared exactly (10 values)",
            id="enumeration",
        ),
    ],
)  # fmt: skip
def test_reasons_name_what_the_rule_cannot_read(values, reason):
    inferrer = _inferrer()
    for value in values:
        inferrer.add({"x": value})
    (proposal,) = inferrer.rules()
    assert proposal.reason == reason


def _reasons(*cases):
    inferrer = _inferrer()
    for case in cases:
        inferrer.add(*case)
    return {rule.path: rule.reason for rule in inferrer.rules()}


def test_counts_are_those_of_the_ground_truth():
    reasons = _reasons(({"x": "5.00", "y": "31/12/2018"}, {"x": "$5.00", "y": "31/12/18"}))
    assert "(0 with a currency)" in reasons["x"]
    assert "two-digit years in predictions are 1970 to 2069" in reasons["y"]


def test_acceptable_values_are_counted_like_the_rule_compares_them():
    reasons = _reasons(
        ({"x": ["450", "449"]}, {"x": "450.0"}),
        ({"x": ["7"]}, {"x": "7"}),
        ({"x": ["7"]}, {"x": "8"}),
    )
    assert reasons["x"].endswith(
        "(3 values, different number format: 1, one of the acceptable values: 1,"
        " different value: 1)"
    )


def test_lists_of_one_item_may_be_acceptable_values():
    reasons = _reasons(({"x": ["a b"]}, MISSING), ({"x": ["c d"]}, MISSING))
    assert "2 of 2 lists have one item: if these are acceptable values" in reasons["x"]
    reasons = _reasons(({"x": ["a b"]}, {"x": ["a b"]}), ({"x": ["c d"]}, {"x": ["c d"]}))
    assert "one item" not in reasons["x"]


def test_single_values_in_place_of_lists_are_counted():
    reasons = _reasons(
        ({"x": ["a b", "c d"]}, {"x": ["a b"]}),
        ({"x": ["a b", "c d"]}, {"x": "a b"}),
        ({"x": ["e f"]}, {"x": ["e f"]}),
    )
    assert reasons["x"].endswith("(3 lists, single value in predictions: 1)")


def test_a_whole_document_that_is_a_list_has_match_fields():
    inferrer = _inferrer()
    inferrer.add(LINES)
    assert inferrer.rules()[0].path == "$"
    assert inferrer.rules()[0].settings == FIELDS
    rules = [{"path": rule.path, **rule.settings} for rule in inferrer.rules()]
    result = fm.compare(LINES, [{**line, "n": 9} for line in reversed(LINES)], rules=rules)
    assert result.counts.tp == len(LINES)


SOME_DATES = ["31/12/2024", "12/31/2024", "01/02/2024", "2024-05-06", "31-02-20", "05 MAR 18", "25032018", "soon"]  # fmt: skip


@given(st.lists(st.sampled_from(SOME_DATES), min_size=1, max_size=30))
def test_counts_of_unreadable_dates_agree_with_the_rule(values):
    values = ["31/12/2024"] * 8 + values
    inferrer = _inferrer()
    for value in values:
        inferrer.add({"x": value})
    (proposal,) = inferrer.rules()
    if proposal.settings["match"] != "date":
        return
    options = {key: value for key, value in proposal.settings.items() if key != "match"}
    unreadable = sum(not DateMatch(**options).compare(value, value).matched for value in values)
    assert (f"; {unreadable} of {len(values)} cannot be read" in proposal.reason) == (
        unreadable > 0
    )


TEXT_WITH_NUMBERS = st.builds(
    "{} {}{}".format,
    st.sampled_from(["Unit", "No.", "INV", "Very long name of a street in Springfield"]),
    st.integers(0, 99),
    st.sampled_from(["", " b", "-7", ".5"]),
)


@given(
    st.sampled_from(["x", "name", "address", "number", "phone"]),
    st.lists(st.tuples(TEXT_WITH_NUMBERS, TEXT_WITH_NUMBERS), min_size=1, max_size=12),
)
def test_proposals_for_text_never_accept_other_digits(name, pairs):
    inferrer = _inferrer()
    for expected, candidate in pairs:
        inferrer.add({name: expected}, {name: candidate})
    (proposal,) = inferrer.rules()
    for expected, candidate in pairs:
        result = fm.compare(
            {name: expected}, {name: candidate}, rules={name: dict(proposal.settings)}
        )
        same = re.sub("[^0-9]", "", expected) == re.sub("[^0-9]", "", candidate)
        assert same or result.score < 1


ONE, TWO = {"a": ["x", "y"], "b": ["z"], "c": ["v", "w"]}, {"a": "x", "b": "z"}


@pytest.mark.parametrize(
    ("candidate", "any_of"),
    [
        pytest.param(TWO, ["a", "b", "c"], id="as-in-the-other-lists"),
        pytest.param({"a": "x"}, ["a"], id="too-few-other-lists"),
        pytest.param({**TWO, "b": ["z"]}, ["a"], id="another-list-is-a-list"),
        pytest.param({**TWO, "c": ["v"]}, ["a", "b"], id="candidate-is-a-list"),
    ],
)
def test_lists_without_candidates_follow_the_others(candidate, any_of):
    inferrer = _inferrer()
    inferrer.add(ONE, candidate)
    paths = [rule.path for rule in inferrer.rules() if "any_of" in rule.settings]
    assert paths == any_of


DATE, EXACT = {"match": "date"}, {"match": "exact"}
NUMBER = {"match": "numeric_tolerance", "tolerance": 0}


ANY_OF = {"any_of": True}
MONEY = {"match": "money", "number_format": "us"}
MOSTLY_NUMBERS = [5] * 20 + ["N/A"]


@pytest.mark.parametrize(
    ("expected", "candidates", "settings"),
    [
        pytest.param(["2015-09-08"], ["08-SEP-2015"], DATE, id="date-in-another-format"),
        pytest.param(["2015-09-08"], ["2015-09-09"], DATE, id="another-date"),
        pytest.param(["2024-05-03T14:30Z"], ["2024-05-03T16:30+02:00"], {"match": "timestamp"}, id="instant"),
        pytest.param(["2024-05-03T00:00"], ["2024-05-03"], DATE, id="midnight-is-no-time"),
        pytest.param(["2024-05-03T14:30", "2024-05-04T10:00"], ["2024-05-03", "2024-05-04"], DATE, id="predictions-have-no-times"),
        pytest.param(["2024-05", "2024-06"], ["May 2024", "06/2024"], {"match": "partial_date"}, id="months"),
        pytest.param(["2024-05", "2024-05-03", "2023"], ["May 2024", "3 May 2024", "2023"], {"match": "partial_date"}, id="months-days-and-years"),
        pytest.param(["14:30", "9:05"], ["2:30 PM", "09:05"], {"match": "time"}, id="times"),
        pytest.param(["€", "$", "EUR"], ["EUR", "$", "Euro"], {"match": "currency"}, id="currencies"),
        pytest.param(["EUR", "USD"], ["EUR", "EUR"], FUZZY, id="currencies-that-predictions-write-alike"),
        pytest.param(["1.234,50 €", "99,90 €"], [1234.5, 99.9], {"match": "money", "number_format": "eu", "currency": "EUR"}, id="amounts-and-numbers"),
        pytest.param([1234.5, 99.9], ["1.234,50 €", "99,90 €"], {"match": "numeric_tolerance", "tolerance": 0.001, "number_format": "eu"}, id="numbers-and-amounts"),
        pytest.param([1240, 7], ["1,240", "7.00"], NUMBER | {"number_format": "us"}, id="integers-and-amounts"),
        pytest.param(["12345", "54321"], [12345, "54321"], {"match": "identifier"}, id="digits-and-numbers"),
        pytest.param(["横浜 － 小田原", "東京 － 品川"], ["横浜－小田原", "東京－品川"], FUZZY | {"ignore": ["white_space"]}, id="spaces-in-text"),
        pytest.param(["Blue pen", "Red pen"] * 10, ["Bluepen", "Red pen"] * 10, {"match": "normalized_text", "ignore": ["white_space"]}, id="spaces-in-an-enumeration"),
        pytest.param(["Size 1 2", "Size 3"] * 10, ["size 1 2", "Size3"] * 10, NORMALIZED, id="spaces-between-digits-count"),
        pytest.param(["small - large"] * 10, ["small – large"] * 10, NORMALIZED, id="kinds-of-dashes"),
        pytest.param(["2015-09-08"], ["09/08"], EXACT, id="unparsable-date"),
        pytest.param(["1240"], [1240], NUMBER, id="number-for-string"),
        pytest.param(["1240"], ["1240'"], EXACT, id="unparsable-number"),
        pytest.param([1240], ["1240 ft"], NUMBER, id="numbers-stay-numbers"),
        pytest.param(MOSTLY_NUMBERS, None, NUMBER, id="exception-in-numbers"),
        pytest.param(MOSTLY_NUMBERS, MOSTLY_NUMBERS, EXACT, id="exception-that-candidates-share"),
        pytest.param(["A-1", "B-2"], ["a-1", "B-2"], {"match": "identifier"}, id="codes-in-another-case"),
        pytest.param(["Ap", "Bt1", "Bt2"], ["Ap", "BT1", "Bt2"], NORMALIZED, id="codes-and-text-in-another-case"),
        pytest.param([["5.0", "5"], ["7"], ["8"]], ["5", "7", "9"], NUMBER | ANY_OF, id="acceptable-values"),
        pytest.param([["5"], ["1200"], ["3"]], ["$5.00", "$1,200.00", "3"], MONEY | ANY_OF, id="acceptable-values-read-like-candidates"),
        pytest.param([["a b", "c d"], ["e f"]], [["c d", "a b"], ["e f"]], {"align": "greedy"}, id="lists-on-both-sides"),
        pytest.param(["R1001", "R1002"], ["R1001", "R1002.00"], MONEY | {"currency": "ZAR"}, id="prefix-and-an-amount-in-candidates"),
        pytest.param(["R1001", "R1002"], ["R1001", 1002.5], MONEY | {"currency": "ZAR"}, id="prefix-and-a-number-in-candidates"),
        pytest.param(["R1001", "R1002"], ["R1001", "1002"], IDENTIFIER, id="prefix-that-candidates-lack"),
    ],
)  # fmt: skip
def test_proposals_from_both_sides(expected, candidates, settings):
    assert _settings(expected, candidates)["x"] == settings


def test_a_number_without_the_prefix_is_a_different_value_for_identifiers():
    reasons = _reasons(({"x": "R1001"}, {"x": "1001"}))
    assert reasons["x"].endswith("(1 value, different value: 1)")


DATES = [f"{day}/10/2017" for day in range(13, 31)]


@pytest.mark.parametrize(
    ("values", "candidates", "settings", "reason"),
    [
        pytest.param(
            [*DATES, "12/28/2017"], [*DATES, "12/28/2017"], DATE,
            "; not match: date, order: dmy, which cannot read values that both sides have: 12/28/2017",
            id="an-order-that-a-date-does-not-have",
        ),
        pytest.param(
            [*DATES * 2, "n/a"], [*DATES, *reversed(DATES), "n/a"], EXACT,
            "19 distinct values, compared as text; not match: date, order: dmy, which cannot read"
            " values that both sides have: n/a",
            id="text-that-is-no-date",
        ),
        pytest.param(
            ["2015-09-08"] * 20 + ["unknown"], ["08.09.2015"] * 20 + ["unknown"], EXACT,
            "2 distinct values, compared as text; not match: date, which cannot read values that"
            " both sides have: unknown",
            id="text-beside-dates-in-another-form",
        ),
        pytest.param(
            ["$5.00"] * 30 + ["free"], ["5"] * 30 + ["free"], EXACT,
            "; not match: money, number_format: us, which cannot read values that both sides have: free",
            id="text-beside-amounts",
        ),
        pytest.param(
            ["2015-09-08"] * 20 + ["unknown"], ["2015-09-08"] * 20 + ["2015-09-08"], DATE,
            "21 dates, compared by day; 1 of 21 cannot be read and counts as wrong type: unknown",
            id="text-that-predictions-do-not-have",
        ),
    ],
)  # fmt: skip
def test_no_proposal_makes_equal_values_wrong(values, candidates, settings, reason):
    assert _settings(values, candidates)["x"] == settings
    cases = [({"x": value}, {"x": other}) for value, other in zip(values, candidates, strict=True)]
    assert reason in _reasons(*cases)["x"]
    result = fm.score(cases, rules={"x": settings})
    equal = sum(value == other for value, other in zip(values, candidates, strict=True))
    assert result.attributes["x"].tp >= equal


@pytest.mark.parametrize(
    ("path", "pairs", "reason"),
    [
        pytest.param(
            "x", [("2015-09-08", "09/08"), ("2015-09-09", "09/09")],
            "dates, but most predictions that differ cannot be parsed as dates", id="no-dates",
        ),
        pytest.param(
            "order_number", [("20240131", "20240131"), ("2024-01-31", "2024-01-31")],
            "2 of 2 are codes, dates or numbers in several formats, compared exactly",
            id="numbers-of-orders",
        ),
    ],
)  # fmt: skip
def test_reasons_of_dates_that_are_compared_exactly_are_true(path, pairs, reason):
    reasons = _reasons(*(({path: value}, {path: other}) for value, other in pairs))
    assert reasons[path].startswith(reason)


def _lists(count, size, *, key="sku", same=False):
    return [
        [{"name": "pen", key: "A-1" if same else f"A-{item}", "n": item} for item in range(size)]
        for _ in range(count)
    ]


def _but(lists, change):
    changed = copy.deepcopy(lists)
    change(changed[2])
    return changed


LISTS = _lists(6, 4)
LINES = [
    {"item": f"{word} of paper", "n": number}
    for number, word in enumerate(["Sheets", "Reams", "Boxes", "Pallets", "Rolls"])
]
FIELDS = {"align": "greedy", "match_fields": ["item"], "threshold": 0.5}
GREEDY, KEY = {"align": "greedy"}, {"align": "key", "key": ["sku"]}
CODE = {**FIELDS, "match_fields": ["sku"]}


@pytest.mark.parametrize(
    ("expected", "candidate", "settings"),
    [
        pytest.param(LISTS, LISTS, KEY, id="unique-code-on-both-sides"),
        pytest.param(LISTS[:5], LISTS[:5], KEY, id="minimum-lists-and-items"),
        pytest.param(LISTS, [list(reversed(x)) for x in LISTS], KEY, id="in-any-order"),
        pytest.param(LISTS, _but(LISTS, lambda items: items[0].update(n=9)), KEY, id="other-fields-may-differ"),
        pytest.param(_lists(5, 4, key="a.b"), _lists(5, 4, key="a.b"), {**KEY, "key": ['["a.b"]']}, id="key-with-dot"),
        pytest.param(LISTS, None, GREEDY, id="without-candidates"),
        pytest.param(_lists(4, 5), _lists(4, 5), CODE, id="too-few-lists"),
        pytest.param(_lists(6, 3), _lists(6, 3), CODE, id="too-few-items"),
        pytest.param(_lists(6, 4, same=True), LISTS, GREEDY, id="duplicate-code"),
        pytest.param(LISTS, _lists(6, 4, same=True), GREEDY, id="duplicate-in-candidate"),
        pytest.param(_but(LISTS, lambda items: items[0].pop("sku")), LISTS, GREEDY, id="code-is-missing"),
        pytest.param(LISTS, _but(LISTS, lambda items: items[0].update(sku=None)), GREEDY, id="missing-in-candidate"),
        pytest.param(LISTS, _but(LISTS, lambda items: items.append({"name": "ink", "sku": "A-0"})), CODE, id="duplicate-in-one-list"),
        pytest.param(LISTS, _but(LISTS, lambda items: items[0].update(sku="A 0")), CODE, id="code-in-another-form"),
        pytest.param(LISTS, _but(LISTS, lambda items: items[0].update(sku="A-9")), GREEDY, id="wrong-code"),
        pytest.param([[]], None, GREEDY, id="empty-list"),
        pytest.param([["a", "b"]], [["b", "a"]], GREEDY, id="scalars"),
        pytest.param([LINES], None, FIELDS, id="text-that-differs-between-items"),
        pytest.param([LINES], [LINES[::-1]], FIELDS, id="text-found-again"),
        pytest.param([LINES[:4]], None, GREEDY, id="too-few-items-for-match-fields"),
        pytest.param([[line] for line in LINES], None, GREEDY, id="lists-of-one-item"),
        pytest.param([LINES[:2], LINES[1:3], LINES[3:]], None, FIELDS, id="lists-of-two-items"),
        pytest.param([LINES + LINES], None, GREEDY, id="repeated-text"),
        pytest.param([[*LINES, {"n": 1}]], None, GREEDY, id="text-missing-in-an-item"),
        pytest.param([LINES], [[{**line, "item": "Zzz"} for line in LINES]], GREEDY, id="text-not-found-again"),
    ],
)  # fmt: skip
def test_alignment_of_lists(expected, candidate, settings):
    assert _settings(expected, candidate)["x"] == settings


def _payments():
    """Payments whose dates lack the year in predictions, as they do in statements."""
    references = ["21301980", "25500747", "20151012", "31888412", "40017733", "51200934"]
    truth = [
        {
            "posted": f"2015-09-{8 + n:02}",
            "due": f"2015-10-{8 + n:02}",
            "reference": reference,
            "memo": f"Ticket {n} of the conference",
            "tickets": 1,
            "amount": 458.5 + n,
        }
        for n, reference in enumerate(references)
    ]
    candidates = [
        {**item, "posted": item["posted"][5:].replace("-", "/"), "due": f"{item['due'][5:]}."}
        for item in truth
    ]
    return truth, candidates


TRUTH, FOUND = _payments()
WITHOUT_AMOUNTS = [{**item, "amount": None, "tickets": None} for item in FOUND]


def _without(items, *names):
    return [{key: value for key, value in item.items() if key not in names} for item in items]


def _counted(rules, expected, candidate):
    outcomes = compile_plan(rules).compare({"x": expected}, {"x": candidate})
    return sum(None not in item[2:4] for item in outcomes.items)


PAIRED_ROWS = [
    pytest.param(
        _without(TRUTH, "memo"), _without(WITHOUT_AMOUNTS, "memo"),
        {**FIELDS, "match_fields": ["reference"]},
        "items aligned by similarity of reference (6 distinct in 6 items); order does not matter"
        " (1 list)",
        id="code-that-predictions-have",
    ),
    pytest.param(
        TRUTH, FOUND, {**FIELDS, "match_fields": ["memo", "reference"]},
        "items aligned by similarity of memo (6 distinct in 6 items), reference (6 distinct in 6"
        " items); order does not matter (1 list)",
        id="text-before-codes",
    ),
    pytest.param(
        _without(TRUTH, "reference"),
        [{**_without(FOUND, "reference")[0], "memo": "Refund"}, *_without(FOUND, "reference")[1:]],
        {"align": "greedy", "threshold": 0.4},
        "items aligned by similarity of all their values, threshold 0.4; order does not matter; by"
        " memo with threshold 0.5, 1 of 6 items would not be paired (1 list)",
        id="lower-threshold",
    ),
    pytest.param(
        _without(TRUTH, "reference", "due"),
        [{**_without(FOUND, "reference", "due")[0], "memo": "Refund"},
         *_without(FOUND, "reference", "due")[1:]],
        GREEDY,
        "items aligned by similarity of all their values; order does not matter; by memo with"
        " threshold 0.5, 1 of 6 items would not be paired (1 list)",
        id="all-values-if-a-text-is-wrong",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "candidate", "settings", "reason"), PAIRED_ROWS)
def test_rules_pair_items_that_are_paired_without_rules(expected, candidate, settings, reason):
    inferrer = _inferrer()
    inferrer.add({"x": expected}, {"x": candidate})
    rules = inferrer.rules()
    assert rules[0].settings == settings
    assert rules[0].reason == reason
    pairs = _counted(read_rules(proposed_rules(rules)).rules, expected, candidate)
    assert pairs == _counted(Rules(), expected, candidate) == len(expected)


def test_reasons_say_that_more_items_would_be_paired_without_rules():
    """A code is equal or not, so a misread one is not similar under its rule."""
    codes = [f"AB-{number}" for number in range(101, 107)]
    reasons = _reasons(({"x": codes}, {"x": [f"{code}." for code in codes]}))
    assert reasons["x"] == (
        "scalars, aligned by similarity; order does not matter;"
        " without rules, 6 more items would be paired (1 list)"
    )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(
            st.fixed_dictionaries(
                {
                    "day": st.sampled_from(["2024-01-31", "31/01/2024", "01/31", "soon"]),
                    "code": st.sampled_from(["A-1", "a1", "B-2", "C-3", ""]),
                    "text": st.sampled_from(["Blue pens", "Blue pen", "Red paper 5", "Ink"]),
                    "price": st.sampled_from([1.5, "1.50", "$1.5", None]),
                }
            ),
            max_size=5,
        ),
        min_size=2,
        max_size=8,
    )
)
def test_no_proposal_loses_pairs_without_saying_so(lists):
    cases = list(zip(lists[::2], lists[1::2], strict=False))
    inferrer = _inferrer()
    for expected, candidate in cases:
        inferrer.add({"x": expected}, {"x": candidate})
    proposals = inferrer.rules()
    rules = read_rules(proposed_rules(proposals)).rules
    pairs = sum(_counted(rules, *case) for case in cases)
    lost = sum(_counted(Rules(), *case) for case in cases) - pairs
    says_so = any("without rules" in proposal.reason for proposal in proposals)
    assert lost <= 0 or says_so


def test_lists_are_tried_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(rule_inferrer, "_MAX_LISTS", 2)
    monkeypatch.setattr(rule_inferrer, "_MAX_PAIRS", 7)
    sample = SampleLists()
    for candidate in (["a b"], ["a bc"], ["a bc"] * 8, ["a bc"], ["a bc"]):
        sample.add(["a b"], candidate, Greedy().align(["a b"], candidate))
    assert sample.pairs == 2  # not those of equal items, of long lists, or after two lists
    assert sample.pairs_under(Rules(), "x") == 2


def test_aligned_items_are_compared_in_any_order():
    expected = [{"item": "Blue pens", "n": 2}, {"item": "Red paper", "n": 7}]
    candidate = [{"item": "RED PAPER", "n": 7}, {"item": "Blue pens", "n": 2}]
    reasons = _reasons(({"x": expected}, {"x": candidate}))
    assert reasons["x[*].item"].endswith("(2 values, different case: 1)")
    assert "different" not in reasons["x[*].n"]


def test_reasons_include_counts():
    inferrer = _inferrer()
    for expected, candidate in (("Acme Corp", "ACME CORP"), ("Bolt", "Bolt"), (None, "x")):
        inferrer.add({"name": expected}, {"name": candidate})
    (proposal,) = inferrer.rules()
    assert proposal.reason == (
        "names, words in any order; legal forms and initials may differ"
        " (2 values, 1 empty, different case: 1)"
    )


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        pytest.param({"a": {"b": 1}, "c": [["x"]]}, ["a.b", "c[*]", "c[*][*]"], id="nested"),
        pytest.param([{"a": 1}], ["[*].a"], id="root-list"),
        pytest.param(5, ["$"], id="root-scalar"),
        pytest.param({"a.b": 1}, ['["a.b"]'], id="key-with-dot"),
    ],
)
def test_paths_of_proposals(document, paths):
    inferrer = _inferrer()
    inferrer.add(document)
    assert [proposal.path for proposal in inferrer.rules()] == paths


def test_memory_is_bounded_by_the_number_of_attributes(monkeypatch):
    monkeypatch.setattr(rule_inferrer, "_MAX_ATTRIBUTES", 10)
    inferrer = _inferrer()
    for case in range(100):
        inferrer.add({f"key {case}": f"value {case}", "same": f"text {case}"})
    assert len(inferrer.rules()) == 10
    assert inferrer.cases == 100


def test_at_most_a_thousand_distinct_values_are_counted():
    inferrer = _inferrer()
    for case in range(1_500):
        inferrer.add({"x": f"value {case}"})
    assert inferrer._evidence["x"].distinct == 1_000


# --- proposed rules as a file ---------------------------------------------------------------------

INVOICE = {
    "number": "INV-0001",
    "vendor": {"e-mail": "a@b.org"},
    "line_items": [{"text": "Blue pens", "price": 1.25}, {"text": "Red paper", "price": 10.0}],
}

FILE = """\
# Proposed from 1 case. The comment above each rule gives the reason.
# Review the rules before you use them.
scope: union
defaults: {match: exact}
fields:
  # identifiers, ignoring case and separators; all digits count (1 value)
  - {path: number, match: identifier}
  # e-mail addresses, ignoring case (1 value)
  - {path: "vendor.e-mail", match: email}
  # items aligned by similarity of all their values; order does not matter (1 list)
  - {path: line_items, align: greedy}
  # short text, with small spelling differences; numbers must be the same (2 values)
  - {path: "line_items[*].text", match: fuzzy, threshold: 0.85, numbers: exact}
  # numbers with at most two decimals, equal up to 0.001 (2 values)
  - {path: "line_items[*].price", match: numeric_tolerance, tolerance: 0.001}
"""


def test_a_proposal_is_a_valid_rules_file(tmp_path):
    inferrer = _inferrer()
    inferrer.add(INVOICE)
    text = render_proposal(inferrer.rules(), source="1 case")
    assert text == FILE
    path = tmp_path / "rules.yaml"
    path.write_text(text)
    loaded = load_rules(path)
    assert loaded.warnings == ()
    assert [rule.path for rule in loaded.rules.fields] == [
        proposal.path for proposal in inferrer.rules()
    ]


def test_without_data_there_are_no_fields():
    text = render_proposal([], source="0 cases")
    assert parse_yaml(text).value == {"scope": "union", "defaults": {"match": "exact"}}


@pytest.mark.parametrize(
    "value",
    ["true", "null", "NO", "a: b", '"', "\\", "tab\tline\nreturn\r", "\x85\u2028\ufeff\x00", "🙂é",
     "\ud800", "# no", "", " ", 0, -3, 0.000001, 0.8, True, None, ["a", 1], {"k": "v"}],
)  # fmt: skip
def test_settings_round_trip(value):
    proposal = InferredRule(path="a", settings={"x": value}, reason="two\nlines")
    text = render_proposal([proposal], source="1 case")
    assert parse_yaml(text).value["fields"] == [{"path": "a", "x": value}]


def _items(value):
    return value if isinstance(value, list) else []


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.text(), st.text() | st.integers() | st.lists(st.fixed_dictionaries({"a": st.text()}))
    )
)
def test_proposals_for_any_keys_are_valid(document):
    inferrer = _inferrer()
    # Items whose text differs, so that the rules for lists are tried on them.
    others = [{"a": f"{item['a']}x"} for value in document.values() for item in _items(value)]
    inferrer.add(document, dict.fromkeys(document, others))
    context = Context()
    text = render_proposal(inferrer.rules(), source="1 case")
    rules = rules_of(parse_yaml(text), context).rules
    context.problems.raise_any()
    assert [rule.path for rule in rules.fields if "[*]" not in rule.path] == [
        join("", key)
        for key, value in document.items()
        if "[*]" not in join("", key) and presence(value) is Presence.VALUE
    ]
