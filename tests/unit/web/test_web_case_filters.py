"""The filters of a list of cases, alone and combined, against a slow and simple selection."""

from __future__ import annotations

import pytest

import fieldmark as fm
from fieldmark.metrics.counts import ErrorCounts, cost_table
from fieldmark.metrics.mistakes import MistakeClusters, MistakeReader
from fieldmark.model.outcome import CELL_BITS, FACT_MASK
from fieldmark.runs.stored_run import open_run
from fieldmark.web import case_index
from fieldmark.web.case_index import CaseIndex, SelectedCases
from fieldmark.web.request_models import CaseQuery
from unit.web.live_server import write_jsonl

ROWS = [
    {
        "id": "plain",
        "tags": ["easy"],
        "metadata": {"lang": "de"},
        "expected": {"vendor": {"name": "Müller", "country": "DE"}, "paid": True, "total": 10},
        "candidate": {"vendor": {"name": "Müller", "country": "DE"}, "paid": True, "total": 10},
    },
    {
        "id": "swapped",
        "tags": ["hard", "scan"],
        "metadata": {"lang": "de"},
        "expected": {"vendor": {"name": "Acme", "country": "US"}, "date": "2024-03-02"},
        "candidate": {"vendor": {"name": "Acne", "country": "US"}, "date": "2024-02-03"},
    },
    {
        "id": "gone",
        "tags": ["hard"],
        "metadata": {"lang": "fr"},
        "expected": {"vendor": {"name": "Acme", "country": "US"}, "paid": False, "total": 7},
        "candidate": {"vendor": {"name": "Acme"}, "paid": True, "total": "7 EUR", "odd": 'x"y'},
    },
    {
        "id": "unread \u00e9",
        "tags": [],
        "metadata": {},
        "expected": {"vendor": {"name": "Globex", "country": "FR"}, "paid": None},
        "candidate": {"vendor": {"name": "Globex", "country": "FR"}, "paid": None},
    },
]  # fmt: skip


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    directory = tmp_path_factory.mktemp("filters")
    write_jsonl(directory / "rows.jsonl", ROWS)
    fm.score(directory / "rows.jsonl", out=directory / "run", by=["tag", "vendor.country"])
    indexed = CaseIndex(open_run(directory / "run"))
    indexed.read()
    return indexed


def ids(index, **query):
    return [head.id for head in SelectedCases(index, CaseQuery(sort="number", **query)).heads]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param({"attribute": "vendor.**"}, ["swapped", "gone"], id="all-below-a-key"),
        pytest.param({"attribute": "odd**["}, [], id="invalid-pattern-selects-nothing"),
        pytest.param({"tag": "hard"}, ["swapped", "gone"], id="tag"),
        pytest.param({"tag": "har"}, [], id="only-whole-tags"),
        pytest.param({"slice": "tag=scan"}, ["swapped"], id="slice-of-a-tag"),
        pytest.param({"slice": "tag="}, ["unread é"], id="slice-without-a-tag"),
        pytest.param({"slice": "vendor.country=US"}, ["swapped", "gone"], id="slice-of-a-value"),
        pytest.param({"slice": "paid="}, ["swapped", "unread é"], id="slice-without-a-value"),
        pytest.param({"expected": "false", "found": "true", "attribute": "paid"}, ["gone"], id="both-values"),
        pytest.param({"found": "absent", "attribute": "vendor.country"}, ["gone"], id="absent-value"),
        pytest.param({"expected": "true", "attribute": "paid"}, ["plain"], id="value-without-a-mistake"),
        pytest.param({"ranks": "1-2"}, ["swapped", "gone"], id="worst-cases"),
        pytest.param({"score": "0-0.95"}, ["swapped", "gone"], id="scores-below-a-limit"),
        pytest.param({"score": "0.95-1"}, ["plain", "unread é"], id="scores-up-to-1"),
        pytest.param({"input": "parse_error"}, [], id="input"),
        pytest.param({"text": "SWAP"}, ["swapped"], id="text-in-id"),
        pytest.param({"text": "scan"}, ["swapped"], id="text-in-tag"),
        pytest.param({"text": "müll"}, ["plain"], id="text-in-expected-value"),
        pytest.param({"text": "acne"}, ["swapped"], id="text-in-predicted-value"),
        pytest.param({"text": 'x"y'}, ["gone"], id="text-that-is-escaped-in-json"),
        pytest.param({"text": "UNREAD É"}, ["unread é"], id="text-with-accents"),
        pytest.param({"text": "paid"}, ["plain", "gone", "unread é"], id="text-in-path"),
        pytest.param({"text": "wrong_value"}, [], id="not-in-the-keys-of-the-file"),
        pytest.param({"text": "acme", "tag": "hard", "slice": "vendor.country=US", "error": "omission"}, ["gone"], id="combined"),
    ],
)  # fmt: skip
def test_filters_select_cases(index, query, expected):
    assert ids(index, **query) == expected


def test_filters_agree_with_a_slow_selection_for_all_combinations(index):
    """Every attribute with every outcome, count and pattern, against the decoded cases."""
    numbers = range(1, len(index.heads) + 1)
    cases = list(index.open(numbers))
    costs = cost_table(index.run.convention.counting)
    paths = {
        cases[0].attributes.path(cell >> CELL_BITS)
        for case in cases
        for cell in case.outcomes.cells
    }
    for path in (None, *sorted(paths)):
        for name in (*ErrorCounts._fields, "tp", "tn", "fp", "fn"):
            expected = [
                case.id
                for case in cases
                if any(
                    path in (None, case.attributes.path(cell >> CELL_BITS))
                    and (getattr(costs[cell & FACT_MASK], name, 0) or name == field.outcome)
                    for cell, field in zip(case.outcomes.cells, case.fields, strict=True)
                )
            ]
            assert ids(index, attribute=path, error=name) == expected, (path, name)
        for pattern in ("date_swapped", "different", "missing_key", "one_letter"):
            expected = [
                case.id
                for case in cases
                if any(
                    cluster.pattern == pattern and path in (None, cluster.attribute)
                    for cluster in MistakeClusters().add(
                        MistakeReader().read(case.outcomes, case.attributes, case.case)
                    )
                )
            ]
            assert ids(index, attribute=path, pattern=pattern) == expected


def test_search_continues_with_each_request_and_says_how_far_it_is(index, monkeypatch):
    monkeypatch.setattr(case_index, "_SEARCHED_BYTES", 1)
    query = CaseQuery(text="Acme")
    progress = [SelectedCases(index, query).searched for _ in range(5)]
    assert [item["cases"] for item in progress] == [1, 2, 3, 4, 4]
    assert {item["total"] for item in progress} == {4}
    assert all(item["values"] for item in progress)
    assert SelectedCases(index, CaseQuery(text="globex"), whole=True).searched["cases"] == 4


def test_run_without_values_says_that_they_were_not_searched(tmp_path):
    fm.score([({"vendor": "Acme"}, {"vendor": "Acne"})], values=False, out=tmp_path / "run")
    index = CaseIndex(open_run(tmp_path / "run"))
    index.read()
    selected = SelectedCases(index, CaseQuery(text="acme"))
    assert (selected.heads, selected.searched["values"]) == ([], False)
    assert SelectedCases(index, CaseQuery(text="vendor")).searched["values"] is False


def test_invalid_slice_is_an_error(index):
    with pytest.raises(Exception, match="slice"):
        ids(index, slice="a[*]=1")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param(
            {"attribute": "vendor.**"},
            {"swapped": ("vendor.name", "Acme", "Acne", 0), "gone": ("vendor.country", "US", {"m": 1}, 0)},
            id="first-mistake-below-a-key",
        ),
        pytest.param({"attribute": "paid", "error": "tp"}, {"plain": ("paid", True, {}, 0)}, id="field-with-the-selected-outcome"),
        pytest.param({"error": "omission"}, {"gone": None}, id="nothing-without-an-attribute"),
    ],
)  # fmt: skip
def test_list_by_attribute_has_the_values_of_its_field(index, query, expected):
    rows = SelectedCases(index, CaseQuery(sort="number", **query)).page()
    fields = {row["id"]: row.get("field") for row in rows}
    assert {name: field and tuple(field.values()) for name, field in fields.items()} == expected


def test_list_by_attribute_opens_only_its_page_and_counts_further_mistakes(tmp_path, monkeypatch):
    pairs = [({"items": [1, 2, 3]}, {"items": [4, 5, 3]})] * 5
    for name, save in (("run", True), ("without", False)):
        fm.score(pairs, align="index", out=tmp_path / name, values=save)
    opened = []
    real = CaseIndex.open
    monkeypatch.setattr(
        CaseIndex, "open", lambda self, numbers: (opened.extend(numbers), real(self, numbers))[1]
    )
    pages = []
    for name in ("run", "without"):
        indexed = CaseIndex(open_run(tmp_path / name))
        indexed.read()
        query = CaseQuery(sort="number", attribute="items[]", offset=1, limit=2)
        pages.append(SelectedCases(indexed, query).page())
    field = {"path": "items[0]", "expected": 1, "candidate": 4, "more": 1}
    assert [row["field"] for row in pages[0]] == [field, field]
    assert not any("field" in row for row in pages[1])
    assert opened == [1, 2, 3, 1]  # the first case says whether the run has values


def test_filters_by_score_and_input_select_the_cases_that_charts_count(tmp_path):
    candidates = [{"candidate": {"a": 1, "b": 2}}, {"candidate": {"a": 1}}, {"candidate": "no"}, {}]
    rows = [{"expected": {"a": 1, "b": 2}, **candidate} for candidate in candidates]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    run = fm.score(tmp_path / "rows.jsonl", out=tmp_path / "run", convention="field_accuracy")
    indexed = CaseIndex(open_run(run.path))
    indexed.read()
    assert [head.score for head in indexed.heads] == [1.0, 0.5, 0.0, 0.0]
    assert ids(indexed, score="0.5-0.55") == ["2"]
    assert ids(indexed, score="0.45-0.5") == []
    assert ids(indexed, score="0-0.05") == ["3", "4"]
    inputs = {name: ids(indexed, input=name) for name in ("parse_error", "missing")}
    assert inputs == {"parse_error": ["3"], "missing": ["4"]}
