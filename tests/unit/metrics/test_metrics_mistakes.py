"""Grouping of mistakes by pattern."""

from __future__ import annotations

import pytest

import fieldmark as fm
from fieldmark.metrics.mistakes import MistakeClusters, MistakeReader
from fieldmark.model.case import Case, CaseInput


def clusters_of(expected, candidate, *, read=CaseInput.OK, align=None):
    rules = {"fields": [{"path": "rows", "align": align}]} if align else None
    result = fm.compare(expected, candidate, rules=rules)
    clusters = MistakeClusters()
    case = Case("case", expected, candidate, read)
    clusters.add(MistakeReader().read(result.outcomes, result.attributes, case))
    return {each.pattern.name: each for each in clusters.largest()}


ROWS = [
    {"sku": "A-100", "price": 11.5},
    {"sku": "B-200", "price": 22.5},
    {"sku": "C-300", "price": 33.5},
]


@pytest.mark.parametrize(
    ("expected", "candidate", "patterns"),
    [
        pytest.param({"a": "x1", "b": "y"}, {"b": "y"}, {"missing_key": 1}, id="missing-key"),
        pytest.param({"a": "x1"}, {"a": None}, {"null_value": 1}, id="null"),
        pytest.param({"a": "x1"}, {"a": " "}, {"blank_value": 1}, id="blank"),
        pytest.param({"a": None}, {"a": "made up"}, {"extra_value": 1}, id="value-for-null"),
        pytest.param({"a": 1}, {"a": 1, "z": "new"}, {"extra_key": 1}, id="unknown-key"),
        pytest.param(
            {"rows": ROWS}, {"rows": ROWS[:2]}, {"missing_item": 2}, id="missing-item"
        ),
        pytest.param(
            {"rows": ROWS[:2]}, {"rows": ROWS}, {"extra_item": 2}, id="extra-item"
        ),
        pytest.param(
            {"buyer": "Acme Corp", "seller": "Bolt Ltd"},
            {"buyer": "Bolt Ltd", "seller": "Acme Corp"},
            {"other_field": 2},
            id="two-fields-swapped",
        ),
        pytest.param({"a": "xyz", "b": "new"}, {"a": "new", "b": "new"}, {"other_field": 1}, id="three-characters-of-another-field"),
    ],
)  # fmt: skip
def test_pattern_of_a_field(expected, candidate, patterns):
    found = clusters_of(expected, candidate)
    assert {name: cluster.number for name, cluster in found.items()} == patterns


WIDE_ROWS = [{**row, "unit": "piece", "tax": 19} for row in ROWS]


@pytest.mark.parametrize(
    ("expected", "candidate", "patterns"),
    [
        pytest.param(
            ROWS, ROWS[1:], {"item_offset": 4, "missing_item": 2}, id="first-item-missing"
        ),
        pytest.param(ROWS, [ROWS[0], *ROWS[:2]], {"item_offset": 4}, id="first-item-twice"),
        pytest.param(ROWS, [ROWS[1], ROWS[0], ROWS[2]], {"item_order": 4}, id="two-exchanged"),
        pytest.param(
            WIDE_ROWS,
            [{**row, "price": ROWS[n]["price"]} for n, row in zip((1, 2, 2), WIDE_ROWS, strict=True)],
            {"shifted_rows": 2},
            id="one-column-shifted",
        ),
        pytest.param(
            WIDE_ROWS,
            [{**WIDE_ROWS[0], "price": ROWS[2]["price"]}, *WIDE_ROWS[1:]],
            {"other_row": 1},
            id="one-value-of-another-row",
        ),
        pytest.param(["a", "b", "c", "d"], ["b", "c", "x", "d"], {"item_offset": 3}, id="unknown-text-after-an-offset"),
        pytest.param([7, 8, 9], [8, 7, 9], {"item_order": 2}, id="two-numbers-exchanged"),
        pytest.param(
            ["a", "b", "c", "d"], ["b", "c", "d"], {"item_offset": 3, "missing_item": 1}, id="first-text-missing"
        ),
    ],
)  # fmt: skip
def test_pattern_of_items_that_are_compared_by_position(expected, candidate, patterns):
    found = clusters_of({"rows": expected}, {"rows": candidate}, align="index")
    assert {name: cluster.number for name, cluster in found.items()} == patterns


def test_single_value_of_the_next_row_is_not_a_shift():
    moved = [{**ROWS[0], "price": 22.5}, *ROWS[1:]]
    assert "shifted_rows" not in clusters_of({"rows": ROWS}, {"rows": moved}, align="index")


@pytest.mark.parametrize(("others", "shifted"), [(0, True), (2, True), (3, False)])
def test_a_shift_explains_at_least_half_of_the_mistakes_of_a_list(others, shifted):
    expected = [{"a": 11 * n, "b": f"text {n}"} for n in range(1, 5)]
    candidate = [{**item} for item in expected]
    for row in (0, 1):  # with the values of the next rows
        candidate[row]["a"] = expected[row + 1]["a"]
    for row in range(others):
        candidate[row]["b"] = "different"
    found = clusters_of({"rows": expected}, {"rows": candidate}, align="index")
    assert ("shifted_rows" in found) is shifted
    assert sum(cluster.number for cluster in found.values()) == 2 + others


def test_largest_cluster_comes_first_and_mistakes_without_a_pattern_last():
    expected = dict.fromkeys("abcdefgh", "Acme Corp")
    values = ["x1", "y2", "z3", "ACME CORP", "acme corp", None, "Acme", "N/A"]
    found = clusters_of(expected, dict(zip(expected, values, strict=True)))
    assert [(name, cluster.number) for name, cluster in found.items()] == [
        ("case_or_whitespace", 2),
        ("null_value", 1),
        ("placeholder", 1),
        ("truncated", 1),
        ("different", 3),
    ]


@pytest.mark.parametrize(
    ("read", "pattern"),
    [(CaseInput.MISSING, "no_candidate"), (CaseInput.PARSE_ERROR, "parse_error")],
)
def test_case_without_a_readable_candidate(read, pattern):
    found = clusters_of({"a": 1, "b": 2}, {}, read=read)
    assert {name: each.number for name, each in found.items()} == {pattern: 2}


def test_examples_are_the_first_few():
    clusters = MistakeClusters()
    for number in range(10):
        result = fm.compare({"a": "Acme"}, {"a": "ACME"})
        case = Case(f"case-{number}", {"a": "Acme"}, {"a": "ACME"})
        clusters.add(MistakeReader().read(result.outcomes, result.attributes, case))
    [cluster] = clusters.largest()
    assert cluster.number == 10
    assert [each.case_id for each in cluster.examples] == ["case-0", "case-1", "case-2"]


@pytest.mark.parametrize(
    ("expected", "candidate", "has_values"),
    [
        pytest.param({"a": "Acme", "b": 1}, {"a": "ACME"}, False, id="run-without-values"),
        pytest.param({"a": "Acme"}, {}, True, id="document-without-the-candidate"),
        pytest.param({}, {"a": "ACME"}, True, id="document-without-the-expected-value"),
    ],
)
def test_wrong_values_that_were_not_saved_have_no_pattern(expected, candidate, has_values):
    result = fm.compare({"a": "Acme", "b": 1}, {"a": "ACME"})
    clusters = MistakeClusters()
    case = Case("case", expected, candidate)
    read = MistakeReader().read(result.outcomes, result.attributes, case, has_values=has_values)
    clusters.add(read)
    assert [each.pattern.name for each in clusters.largest()] == ["missing_key"]
