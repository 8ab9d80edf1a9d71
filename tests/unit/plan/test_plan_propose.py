"""Which rule is proposed for which data, and why."""

from __future__ import annotations

import pytest

from fieldmark.model.json import MISSING
from fieldmark.plan import propose
from fieldmark.plan.looks import Difference, Look, decimals, difference_of, look_of
from fieldmark.plan.propose import Proposer

LONG = "The supplier shall deliver the goods within thirty days of the order, free of charge. " * 2


@pytest.mark.parametrize(
    ("value", "look"),
    [
        pytest.param(True, Look.BOOLEAN, id="a-boolean-is-no-number"),
        pytest.param(7, Look.WHOLE_NUMBER, id="whole"),
        pytest.param(7.0, Look.WHOLE_NUMBER, id="whole-with-a-point"),
        pytest.param(7.25, Look.DECIMAL_NUMBER, id="decimal"),
        pytest.param("7.25", Look.NUMBER_TEXT, id="number-as-text"),
        pytest.param("1,240.00", Look.AMOUNT_US, id="american-amount"),
        pytest.param("$5", Look.AMOUNT_US, id="dollars"),
        pytest.param("1.240,00", Look.AMOUNT_EU, id="european-amount"),
        pytest.param("2024-01-31", Look.DATE, id="iso-date"),
        pytest.param("31/12/2024", Look.DATE, id="date-with-slashes"),
        pytest.param("a@b.org", Look.EMAIL, id="e-mail"),
        pytest.param("https://a.org/x?y=1", Look.WEB_ADDRESS, id="web-address"),
        pytest.param("Yes", Look.YES_OR_NO, id="yes"),
        pytest.param("123456789", Look.DIGITS, id="many-digits"),
        pytest.param("00123", Look.DIGITS, id="leading-zeros"),
        pytest.param("007", Look.CODE, id="few-digits-with-leading-zeros"),
        pytest.param("INV-001", Look.CODE, id="code"),
        pytest.param("+1 (555) 123 4567", Look.CODE, id="telephone"),
        pytest.param("Acme Corp", Look.TEXT, id="text"),
        pytest.param("Route 66", Look.TEXT, id="text-with-a-number"),
        pytest.param(LONG, Look.LONG_TEXT, id="long-text"),
    ],
)
def test_looks(value, look):
    assert look_of(value) is look


@pytest.mark.parametrize(
    ("expected", "candidate", "difference"),
    [
        pytest.param("a", "a", Difference.NONE, id="equal"),
        pytest.param("Acme", "ACME", Difference.CASE, id="case"),
        pytest.param("Acme  Corp", " acme corp", Difference.BLANKS, id="blanks"),
        pytest.param(5, "5", Difference.NUMBER_FORM, id="a-number-as-text"),
        pytest.param("1240", "1,240.00", Difference.NUMBER_FORM, id="thousands"),
        pytest.param(5, 6, Difference.OTHER, id="another-number"),
        pytest.param("2024-01-31", "31-JAN-2024", Difference.DATE_FORM, id="the-same-day"),
        pytest.param("2024-01-31", "2024-01-30", Difference.OTHER, id="another-day"),
        pytest.param("Acme Corporation", "Acme Corporatoin", Difference.CLOSE, id="a-slip"),
        pytest.param("Acme", "Zebra", Difference.OTHER, id="another-text"),
        pytest.param(["a", "b"], "b", Difference.LISTED, id="one-of-several"),
        pytest.param(["a", "b"], "c", Difference.OTHER, id="none-of-several"),
        pytest.param("a", {"a": 1}, Difference.OTHER, id="another-kind"),
        pytest.param(True, 1, Difference.OTHER, id="a-boolean-is-no-number"),
    ],
)
def test_differences(expected, candidate, difference):
    assert difference_of(expected, candidate) is difference


@pytest.mark.parametrize(("number", "digits"), [(1.0, 0), (12.5, 1), (1e-7, 7), (1.5e300, 0)])
def test_digits_behind_the_point(number, digits):
    assert decimals(number) == digits


def _settings(values, candidates=None):
    proposer = Proposer()
    others = candidates or [MISSING] * len(values)
    for expected, candidate in zip(values, others, strict=True):
        other = MISSING if candidate is MISSING else {"x": candidate}
        proposer.add({"x": expected}, other)
    return {proposal.path: dict(proposal.settings) for proposal in proposer.proposals()}


NAMES = ["Acme Corp", "Bolt and Sons", "Crane Limited", "Dyer Brothers"]


@pytest.mark.parametrize(
    ("values", "settings"),
    [
        pytest.param([None, ""], {"match": "exact"}, id="always-empty"),
        pytest.param([True, False, None], {"match": "boolean"}, id="booleans"),
        pytest.param(["yes", "No"], {"match": "boolean"}, id="yes-or-no"),
        pytest.param([1, 2, 3.0], {"match": "numeric_tolerance", "tolerance": 0}, id="whole"),
        pytest.param([1, 2.55], {"match": "numeric_tolerance", "tolerance": 0.01}, id="money"),
        pytest.param(
            [1.23456, 2.5],
            {"match": "numeric_tolerance", "tolerance": 0.000001, "relative": True},
            id="measurements",
        ),
        pytest.param(["1.5", "20"], {"match": "numeric_tolerance", "tolerance": 0}, id="as-text"),
        pytest.param(
            ["1,240.00", "7.50"],
            {"match": "numeric_tolerance", "tolerance": 0.01, "number_format": "us"},
            id="american-amounts",
        ),
        pytest.param(
            ["1.240,00", "7,50"],
            {"match": "numeric_tolerance", "tolerance": 0.01, "number_format": "eu"},
            id="european-amounts",
        ),
        pytest.param(["2024-01-31", "2024-02-01"], {"match": "date"}, id="dates"),
        pytest.param(["12/31/2024", "01/02/2024"], {"match": "date"}, id="month-first"),
        pytest.param(
            ["31/12/2024", "01/02/2024"],
            {"match": "date", "formats": ["ISO", "DD/MM/YYYY"]},
            id="day-first-is-said",
        ),
        pytest.param(["a@b.org", "C@d.org"], {"match": "normalized_text"}, id="e-mails"),
        pytest.param(["https://a.org", "http://b.org/x"], {"match": "exact"}, id="web-addresses"),
        pytest.param(["A-1", "B-2", "77"], {"match": "exact"}, id="codes"),
        pytest.param(["12345", "54321"], {"match": "exact"}, id="digits"),
        pytest.param(["open", "closed"] * 10, {"match": "normalized_text"}, id="enumeration"),
        pytest.param(NAMES, {"match": "fuzzy", "threshold": 0.85}, id="short-text"),
        pytest.param([LONG, LONG[1:]], {"match": "semantic", "threshold": 0.8}, id="long-text"),
        pytest.param([1, "Acme", True], {"match": "exact"}, id="several-kinds"),
        pytest.param([{}, {}], None, id="empty-objects"),
    ],
)
def test_proposals_from_the_truth_alone(values, settings):
    assert _settings(values).get("x") == settings


def test_candidates_show_codes_in_another_case():
    assert _settings(["A-1", "B-2"], ["a-1", "B-2"])["x"] == {"match": "normalized_text"}


def test_candidates_show_lists_of_acceptable_answers():
    found = _settings([["5.0", "5"], ["7"], ["8"]], ["5", "7", "9"])
    assert found == {"x": {"match": "numeric_tolerance", "tolerance": 0, "any_of": True}}


def test_lists_stay_lists_where_candidates_list_too():
    found = _settings([["a b", "c d"], ["e f"]], [["c d", "a b"], ["e f"]])
    assert found["x"] == {"align": "set"}


ITEMS = [{"sort": "pen", "name": f"{name} pen", "price": 1.5} for name in ("blue", "red", "green")]


@pytest.mark.parametrize(
    ("items", "settings"),
    [
        pytest.param(
            ITEMS,
            {"align": "greedy", "match_fields": ["name"], "threshold": 0.8},
            id="the-text-that-differs",
        ),
        pytest.param(
            [{"sort": "pen", "price": price} for price in (1, 2)],
            {"align": "greedy"},
            id="nothing-tells-apart",
        ),
        pytest.param([{"name": "a pen"}], {"align": "greedy"}, id="one-item-tells-nothing"),
        pytest.param(
            [{"a.b": "a pen"}, {"a.b": "b pen"}],
            {"align": "greedy", "match_fields": ['["a.b"]'], "threshold": 0.8},
            id="a-key-with-a-dot",
        ),
        pytest.param([], {"align": "set"}, id="an-empty-list"),
    ],
)
def test_how_lists_are_paired(items, settings):
    assert _settings([items])["x"] == settings


def test_reasons_carry_the_numbers():
    proposer = Proposer()
    for expected, candidate in (("Acme Corp", "ACME CORP"), ("Bolt", "Bolt"), (None, "x")):
        proposer.add({"name": expected}, {"name": candidate})
    (proposal,) = proposer.proposals()
    assert proposal.reason == (
        "short text, in which a slip of a letter is forgiven "
        "(2 values, 1 empty, different only in case: 1)"
    )


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        pytest.param({"a": {"b": 1}, "c": [[1]]}, ["a.b", "c", "c[*]", "c[*][*]"], id="nested"),
        pytest.param([{"a": 1}], ["[*].a"], id="a-root-list"),
        pytest.param(5, ["$"], id="a-root-scalar"),
        pytest.param({"a.b": 1}, ['["a.b"]'], id="a-key-with-a-dot"),
    ],
)
def test_paths_of_proposals(document, paths):
    proposer = Proposer()
    proposer.add(document)
    assert [proposal.path for proposal in proposer.proposals()] == paths


def test_memory_is_bounded_by_attributes_and_not_by_cases(monkeypatch):
    monkeypatch.setattr(propose, "_MOST_ATTRIBUTES", 10)
    proposer = Proposer()
    for case in range(100):
        proposer.add({f"key {case}": f"value {case}", "same": f"text {case}"})
    assert len(proposer.proposals()) == 10
    assert proposer.cases == 100


def test_at_most_a_thousand_values_are_told_apart():
    proposer = Proposer()
    for case in range(1_500):
        proposer.add({"x": f"value {case}"})
    assert proposer._seen["x"].distinct == 1_000
