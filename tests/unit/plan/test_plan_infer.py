"""Proposed rules and their reasons."""

from __future__ import annotations

import copy

import pytest

from fieldmark.model.json import MISSING
from fieldmark.plan import infer
from fieldmark.plan.infer import RuleInferrer
from fieldmark.plan.value_kinds import Difference, ValueKind, decimals, difference_of, kind_of_value

LONG = "The supplier shall deliver the goods within thirty days of the order, free of charge. " * 2


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        pytest.param(True, ValueKind.BOOLEAN, id="boolean-is-not-a-number"),
        pytest.param(7, ValueKind.WHOLE_NUMBER, id="integer"),
        pytest.param(7.0, ValueKind.WHOLE_NUMBER, id="integral-float"),
        pytest.param(7.25, ValueKind.DECIMAL_NUMBER, id="decimal"),
        pytest.param("7.25", ValueKind.NUMBER_TEXT, id="number-in-string"),
        pytest.param("1,240.00", ValueKind.AMOUNT_US, id="american-amount"),
        pytest.param("$5", ValueKind.AMOUNT_US, id="dollars"),
        pytest.param("1.240,00", ValueKind.AMOUNT_EU, id="european-amount"),
        pytest.param("2024-01-31", ValueKind.DATE, id="iso-date"),
        pytest.param("31/12/2024", ValueKind.DATE, id="date-with-slashes"),
        pytest.param("05 MAR 2018", ValueKind.DATE, id="date-with-month-in-letters"),
        pytest.param("18-03-18", ValueKind.DATE, id="date-with-two-digit-year"),
        pytest.param("a@b.org", ValueKind.EMAIL, id="e-mail"),
        pytest.param("https://a.org/x?y=1", ValueKind.WEB_ADDRESS, id="web-address"),
        pytest.param("Yes", ValueKind.YES_OR_NO, id="yes"),
        pytest.param("123456789", ValueKind.DIGITS, id="many-digits"),
        pytest.param("00123", ValueKind.DIGITS, id="leading-zeros"),
        pytest.param("007", ValueKind.CODE, id="few-digits-with-leading-zeros"),
        pytest.param("INV-001", ValueKind.CODE, id="code"),
        pytest.param("+1 (555) 123 4567", ValueKind.CODE, id="telephone"),
        pytest.param("Acme Corp", ValueKind.TEXT, id="text"),
        pytest.param("Route 66", ValueKind.TEXT, id="text-with-number"),
        pytest.param(LONG, ValueKind.LONG_TEXT, id="long-text"),
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


def _settings(values, candidates=None):
    inferrer = RuleInferrer()
    others = candidates or [MISSING] * len(values)
    for expected, candidate in zip(values, others, strict=True):
        other = MISSING if candidate is MISSING else {"x": candidate}
        inferrer.add({"x": expected}, other)
    return {proposal.path: dict(proposal.settings) for proposal in inferrer.rules()}


NAMES = ["Acme Corp", "Bolt and Sons", "Crane Limited", "Dyer Brothers"]


@pytest.mark.parametrize(
    ("values", "settings"),
    [
        pytest.param([None, ""], None, id="always-empty"),
        pytest.param([True, False, None], {"match": "boolean"}, id="booleans"),
        pytest.param(["yes", "No"], {"match": "boolean"}, id="yes-or-no"),
        pytest.param([1, 2, 3.0], {"match": "numeric_tolerance", "tolerance": 0}, id="integer"),
        pytest.param([1, 2.55], {"match": "numeric_tolerance", "tolerance": 0.01}, id="cost"),
        pytest.param(
            [1.23456, 2.5],
            {"match": "numeric_tolerance", "tolerance": 0.000001, "relative": True},
            id="measurements",
        ),
        pytest.param(
            ["1.5", "20"], {"match": "numeric_tolerance", "tolerance": 0}, id="numbers-in-strings"
        ),
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
            id="day-first",
        ),
        pytest.param(
            ["31/12/2024", "05 MAR 2018", "01-02-2024"],
            {"match": "date", "formats": ["ISO", "DD MMM YYYY", "DD-MM-YYYY", "DD/MM/YYYY"]},
            id="unusual-formats",
        ),
        pytest.param(
            ["05 MAR 2018", "01/02/2024"],
            {"match": "date"},
            id="ambiguous-dates",
        ),
        pytest.param(
            ["31/12/2018", "18-03-18", "14-03-18"], {"match": "date"}, id="two-digit-years"
        ),
        pytest.param(["31/12/2018"] * 20 + ["unknown"], {"match": "date"}, id="nearly-all-dates"),
        pytest.param(
            ["EUR 9.00", "$8.20", "1,240.00", "7.50"],
            {"match": "numeric_tolerance", "tolerance": 0.01, "number_format": "us"},
            id="amounts-with-currency",
        ),
        pytest.param(
            ["9.00", "8.20", "Qx 7.10", "Qx 9.90", "free"], {"match": "exact"}, id="mostly-digits"
        ),
        pytest.param(["9.00"] * 40 + ["18-03-18"] * 10, {"match": "exact"}, id="repeated-digits"),
        pytest.param(["a@b.org", "C@d.org"], {"match": "normalized_text"}, id="e-mails"),
        pytest.param(["https://a.org", "http://b.org/x"], {"match": "exact"}, id="web-addresses"),
        pytest.param(["A-1", "B-2", "77"], {"match": "exact"}, id="codes"),
        pytest.param(["12345", "54321"], {"match": "exact"}, id="digits"),
        pytest.param(["open", "closed"] * 10, {"match": "normalized_text"}, id="enumeration"),
        pytest.param(NAMES, {"match": "fuzzy", "threshold": 0.85}, id="short-text"),
        pytest.param([LONG, LONG[1:]], {"match": "semantic", "threshold": 0.8}, id="long-text"),
        pytest.param([1, "Acme", True], {"match": "exact"}, id="mixed-types"),
        pytest.param([{}, {}], None, id="empty-objects"),
    ],
)
def test_proposals_from_ground_truth_only(values, settings):
    assert _settings(values).get("x") == settings


def test_codes_in_another_case_in_candidates():
    assert _settings(["A-1", "B-2"], ["a-1", "B-2"])["x"] == {"match": "normalized_text"}


def test_lists_of_acceptable_values():
    found = _settings([["5.0", "5"], ["7"], ["8"]], ["5", "7", "9"])
    assert found == {"x": {"match": "numeric_tolerance", "tolerance": 0, "any_of": True}}


def test_lists_in_both_documents_are_aligned():
    found = _settings([["a b", "c d"], ["e f"]], [["c d", "a b"], ["e f"]])
    assert found["x"] == {"align": "greedy"}


DATE, EXACT = {"match": "date"}, {"match": "exact"}
NUMBER = {"match": "numeric_tolerance", "tolerance": 0}


@pytest.mark.parametrize(
    ("expected", "candidate", "settings"),
    [
        pytest.param("2015-09-08", "08-SEP-2015", DATE, id="date-in-another-format"),
        pytest.param("2015-09-08", "2015-09-09", DATE, id="another-date"),
        pytest.param("2015-09-08", "09/08", EXACT, id="unparsable-date"),
        pytest.param("1240", 1240, NUMBER, id="number-for-string"),
        pytest.param("1240", "1240'", EXACT, id="unparsable-number"),
        pytest.param(1240, "1240 ft", NUMBER, id="numbers-stay-numbers"),
    ],
)
def test_values_are_parsed_if_candidates_can_be_parsed(expected, candidate, settings):
    assert _settings([expected], [candidate])["x"] == settings


@pytest.mark.parametrize(
    ("value", "other", "settings"),
    [
        pytest.param("2015-09-08", "unknown", DATE, id="dates"),
        pytest.param(5, "N/A", NUMBER, id="numbers"),
    ],
)
def test_exceptions_that_candidates_share_still_match(value, other, settings):
    values = [value] * 20 + [other]
    assert _settings(values)["x"] == settings
    assert _settings(values, values)["x"]["match"] != settings["match"]


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
GREEDY, KEY = {"align": "greedy"}, {"align": "key", "key": ["sku"]}


@pytest.mark.parametrize(
    ("expected", "candidate", "settings"),
    [
        pytest.param(LISTS, LISTS, KEY, id="unique-code-on-both-sides"),
        pytest.param(LISTS[:5], LISTS[:5], KEY, id="minimum-lists-and-items"),
        pytest.param(LISTS, [list(reversed(x)) for x in LISTS], KEY, id="in-any-order"),
        pytest.param(
            LISTS, _but(LISTS, lambda items: items[0].update(n=9)), KEY, id="other-fields-may-differ"
        ),
        pytest.param(
            _lists(5, 4, key="a.b"), _lists(5, 4, key="a.b"), {**KEY, "key": ['["a.b"]']},
            id="key-with-dot",
        ),
        pytest.param(LISTS, None, GREEDY, id="without-candidates"),
        pytest.param(LISTS[:4], LISTS[:4], GREEDY, id="too-few-lists"),
        pytest.param(_lists(6, 3), _lists(6, 3), GREEDY, id="too-few-items"),
        pytest.param(_lists(6, 4, same=True), LISTS, GREEDY, id="duplicate-code"),
        pytest.param(LISTS, _lists(6, 4, same=True), GREEDY, id="duplicate-in-candidate"),
        pytest.param(
            _but(LISTS, lambda items: items[0].pop("sku")), LISTS, GREEDY, id="code-is-missing"
        ),
        pytest.param(
            LISTS, _but(LISTS, lambda items: items[0].update(sku=None)), GREEDY,
            id="missing-in-candidate",
        ),
        pytest.param(
            LISTS, _but(LISTS, lambda items: items.append({"name": "ink", "sku": "A-0"})), GREEDY,
            id="duplicate-in-one-list",
        ),
        pytest.param(
            LISTS, _but(LISTS, lambda items: items[0].update(sku="A-0.")), GREEDY,
            id="wrong-code",
        ),
        pytest.param([[]], None, GREEDY, id="empty-list"),
        pytest.param([["a", "b"]], [["b", "a"]], GREEDY, id="scalars"),
    ],
)  # fmt: skip
def test_alignment_of_lists(expected, candidate, settings):
    assert _settings(expected, candidate)["x"] == settings


def test_order_of_items_does_not_matter():
    lines = [{"item": "Blue pens", "n": 2}, {"item": "Red paper", "n": 7}]
    inferrer = RuleInferrer()
    inferrer.add({"x": lines}, {"x": [*reversed(lines), {"item": "Ink", "n": 1}]})
    assert "different value" not in " ".join(each.reason for each in inferrer.rules())


def test_aligned_items_are_compared():
    expected = [{"item": "Blue pens", "n": 2}, {"item": "Red paper", "n": 7}]
    inferrer = RuleInferrer()
    inferrer.add({"x": expected}, {"x": [{"item": "RED PAPER", "n": 7}]})
    reason = next(each.reason for each in inferrer.rules() if each.path == "x[*].item")
    assert reason.endswith("(2 values, different case: 1)")


def test_reasons_include_counts():
    inferrer = RuleInferrer()
    for expected, candidate in (("Acme Corp", "ACME CORP"), ("Bolt", "Bolt"), (None, "x")):
        inferrer.add({"name": expected}, {"name": candidate})
    (proposal,) = inferrer.rules()
    assert proposal.reason == (
        "short text, with small spelling differences allowed (2 values, 1 empty, different case: 1)"
    )


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        pytest.param({"a": {"b": 1}, "c": [[1]]}, ["a.b", "c", "c[*]", "c[*][*]"], id="nested"),
        pytest.param([{"a": 1}], ["[*].a"], id="root-list"),
        pytest.param(5, ["$"], id="root-scalar"),
        pytest.param({"a.b": 1}, ['["a.b"]'], id="key-with-dot"),
    ],
)
def test_paths_of_proposals(document, paths):
    inferrer = RuleInferrer()
    inferrer.add(document)
    assert [proposal.path for proposal in inferrer.rules()] == paths


def test_memory_is_bounded_by_the_number_of_attributes(monkeypatch):
    monkeypatch.setattr(infer, "_MAX_ATTRIBUTES", 10)
    inferrer = RuleInferrer()
    for case in range(100):
        inferrer.add({f"key {case}": f"value {case}", "same": f"text {case}"})
    assert len(inferrer.rules()) == 10
    assert inferrer.cases == 100


def test_at_most_a_thousand_distinct_values_are_counted():
    inferrer = RuleInferrer()
    for case in range(1_500):
        inferrer.add({"x": f"value {case}"})
    assert inferrer._evidence["x"].distinct == 1_000
