"""Mistakes that look alike: the pattern of each pair of values."""

from __future__ import annotations

import pytest

import fieldmark as fm
from fieldmark.metrics.clusters import CaseDocuments, MistakeClusters
from fieldmark.metrics.patterns import BY_NAME, pattern_of
from fieldmark.model.case import CaseInput
from fieldmark.model.json import MISSING


@pytest.mark.parametrize(
    ("expected", "candidate", "pattern"),
    [
        pytest.param("2024-03-02", "2024-02-03", "date_swapped", id="iso-dates"),
        pytest.param("03/02/2024", "02/03/2024", "date_swapped", id="dates-with-slashes"),
        pytest.param("2024-03-02", "03/02/2024", "date_format", id="the-same-day-otherwise"),
        pytest.param("2024-03-02", "02-MAR-2024", "date_format", id="a-month-in-letters"),
        pytest.param("2024-03-02", "2023-03-02", "date_part", id="another-year"),
        pytest.param("2015-09-01", "09/01", "date_without_year", id="no-year"),
        pytest.param("1,240.00", "1240.00", "thousands_separator", id="separators-left-out"),
        pytest.param(1240, 1.24, "thousands_separator", id="a-separator-read-as-a-point"),
        pytest.param("1.240,50", "1,240.50", "thousands_separator", id="two-ways-of-writing"),
        pytest.param(12.5, 1250, "scale", id="a-point-lost"),
        pytest.param(0.15, 15, "scale", id="a-share-for-a-percentage"),
        pytest.param("$5.00", "€5.00", "currency_sign", id="the-wrong-sign"),
        pytest.param("$5.00", "5.00", "currency_sign", id="no-sign"),
        pytest.param("5.00 USD", "5.00 EUR", "currency_sign", id="the-wrong-code"),
        pytest.param("12 kg", "12", "unit", id="no-unit"),
        pytest.param("12 kg", "12 lb", "unit", id="another-unit"),
        pytest.param(12, "12 pcs", "unit", id="a-unit-too-many"),
        pytest.param(-5, 5, "sign", id="minus-lost"),
        pytest.param("(120.00)", "120.00", "sign", id="brackets-for-minus"),
        pytest.param("00123", "123", "leading_zeros", id="zeros-in-front"),
        pytest.param("00123", 123, "leading_zeros", id="an-identifier-as-a-number"),
        pytest.param(12.345, 12.35, "rounded", id="rounded"),
        pytest.param(12.7, 12, "rounded", id="cut"),
        pytest.param(24684525, 24604525, "one_digit", id="a-digit-misread"),
        pytest.param("ACME Corp", "Acme corp", "case_or_blanks", id="case"),
        pytest.param("Acme Corp", "AcmeCorp", "case_or_blanks", id="blanks"),
        pytest.param("Acme, Inc.", "Acme Inc", "punctuation", id="punctuation"),
        pytest.param("Müller", "Muller", "accents", id="accents"),
        pytest.param("John Smith", "Smith, John", "word_order", id="order-of-words"),
        pytest.param("12 Long Street, Springfield", "12 Long Street", "truncated", id="cut-off"),
        pytest.param("The Acme Company", "Acme", "part_of_text", id="a-part"),
        pytest.param("Acme", "Vendor: Acme", "too_much_text", id="a-label-too-many"),
        pytest.param("B0B5", "BOBS", "look_alikes", id="look-alikes"),
        pytest.param("Springfield", "Springfeild", "misspelt", id="a-typing-error"),
        pytest.param(5, "5", "number_as_text", id="a-number-as-text"),
        pytest.param(True, "yes", "truth_as_word", id="a-word-for-true"),
        pytest.param("Acme", "N/A", "placeholder", id="a-word-for-nothing"),
        pytest.param("Acme", ["Acme"], "wrapped", id="a-list-of-one"),
        pytest.param("Acme", {"name": "Bolt"}, "other_structure", id="an-object"),
        pytest.param("Acme", "Bolt", "different", id="nothing-in-common"),
        pytest.param(5, 9, "different", id="numbers-with-nothing-in-common"),
    ],
)
def test_the_pattern_of_a_wrong_value(expected, candidate, pattern):
    assert pattern_of(expected, candidate) == pattern


def clusters_of(expected, candidate, *, read=CaseInput.OK, align=None):
    rules = {"fields": [{"path": "rows", "align": align}]} if align else None
    result = fm.compare(expected, candidate, rules=rules)
    clusters = MistakeClusters()
    clusters.add(
        result.outcomes, result.attributes, CaseDocuments("case", expected, candidate, read)
    )
    return {each.pattern.name: each for each in clusters.largest()}


ROWS = [
    {"sku": "A-100", "price": 11.5},
    {"sku": "B-200", "price": 22.5},
    {"sku": "C-300", "price": 33.5},
]


@pytest.mark.parametrize(
    ("expected", "candidate", "patterns"),
    [
        pytest.param({"a": "x1", "b": "y"}, {"b": "y"}, {"left_out": 1}, id="a-key-left-out"),
        pytest.param({"a": "x1"}, {"a": None}, {"null_given": 1}, id="null"),
        pytest.param({"a": "x1"}, {"a": " "}, {"blank_given": 1}, id="blank"),
        pytest.param({"a": None}, {"a": "made up"}, {"for_nothing": 1}, id="a-value-for-null"),
        pytest.param({"a": 1}, {"a": 1, "z": "new"}, {"unknown_key": 1}, id="an-unknown-key"),
        pytest.param(
            {"rows": ROWS}, {"rows": ROWS[:2]}, {"item_missing": 2}, id="an-item-that-is-missing"
        ),
        pytest.param(
            {"rows": ROWS[:2]}, {"rows": ROWS}, {"item_invented": 2}, id="an-item-that-is-invented"
        ),
        pytest.param(
            {"buyer": "Acme Corp", "seller": "Bolt Ltd"},
            {"buyer": "Bolt Ltd", "seller": "Acme Corp"},
            {"other_field": 2},
            id="two-fields-exchanged",
        ),
    ],
)  # fmt: skip
def test_the_pattern_of_a_field(expected, candidate, patterns):
    found = clusters_of(expected, candidate)
    assert {name: cluster.number for name, cluster in found.items()} == patterns


def test_rows_that_are_out_of_step():
    found = clusters_of({"rows": ROWS}, {"rows": ROWS[1:]}, align="index")
    assert found["shifted_rows"].number == 4
    assert found["shifted_rows"].attributes == {"rows[].sku": 2, "rows[].price": 2}


def test_one_value_of_the_next_row_may_be_chance():
    moved = [{**ROWS[0], "price": 22.5}, *ROWS[1:]]
    assert "shifted_rows" not in clusters_of({"rows": ROWS}, {"rows": moved}, align="index")


@pytest.mark.parametrize(
    ("read", "pattern"),
    [(CaseInput.MISSING, "no_candidate"), (CaseInput.PARSE_ERROR, "unreadable")],
)
def test_a_case_without_a_readable_candidate(read, pattern):
    found = clusters_of({"a": 1, "b": 2}, {}, read=read)
    assert {name: each.number for name, each in found.items()} == {pattern: 2}


def test_examples_are_the_first_few():
    clusters = MistakeClusters()
    for number in range(10):
        result = fm.compare({"a": "Acme"}, {"a": "ACME"})
        documents = CaseDocuments(f"case-{number}", {"a": "Acme"}, {"a": "ACME"}, CaseInput.OK)
        clusters.add(result.outcomes, result.attributes, documents)
    [cluster] = clusters.largest()
    assert cluster.number == 10
    assert [each.case_id for each in cluster.examples] == ["case-0", "case-1", "case-2"]


def test_wrong_values_that_were_not_kept_have_no_pattern():
    result = fm.compare({"a": "Acme"}, {"a": "ACME"})
    clusters = MistakeClusters()
    clusters.add(
        result.outcomes, result.attributes, CaseDocuments("case", MISSING, MISSING, CaseInput.OK)
    )
    assert clusters.largest() == []


def test_every_pattern_says_what_to_change_and_never_the_measuring():
    for pattern in BY_NAME.values():
        assert pattern.hint.endswith(".")
        words = pattern.hint.casefold()
        assert not {"tolerance", "threshold", "comparator", "metric", "rules file", "ignore"} & set(
            words.replace(",", "").split()
        )
