"""Reading saved runs, valid and corrupt."""

from __future__ import annotations

import json
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.errors import DataError
from fieldmark.model.json import MISSING
from fieldmark.runs.stored_run import open_run
from json_strategies import any_json

TRUTH = [
    {"id": "a", "expected": {"total": 10.0, "rows": [{"x": "one"}, {"x": "two"}]}},
    {"id": "b", "expected": {"total": 1, "name": "Acme Corp"}},
    {"id": "c", "expected": {"total": 1}},
]
FOUND = [
    {"id": "a", "candidate": {"total": "10.0", "rows": [{"x": "two"}, {"x": "onee"}]}},
    {"id": "b", "candidate": {"total": 2, "name": "Acme Corpp"}},
]
RULES = {
    "fields": [
        {"path": "name", "match": "fuzzy", "threshold": 0.8, "weight": 2},
        {"path": "total", "match": "numeric_tolerance", "tolerance": 0.1, "required": False},
    ]
}


@pytest.fixture
def run(tmp_path):
    fm.score(TRUTH, FOUND, rules=RULES, out=tmp_path / "run")
    return tmp_path / "run"


def records(case):
    return [
        (attribute.path, attribute.candidate_path, attribute.outcome.label)
        for attribute in case.outcomes.records(case.attributes)
    ]


def test_rows_are_read_with_their_outcomes(run):
    first, second, third = open_run(run).cases()
    assert (first.id, first.expected, first.candidate) == (
        "a",
        TRUTH[0]["expected"],
        FOUND[0]["candidate"],
    )
    assert records(first) == [
        ("total", "total", "match"),
        ("rows[0].x", "rows[1].x", "wrong_value"),
        ("rows[1].x", "rows[0].x", "match"),
    ]
    assert records(second) == [("total", "total", "wrong_value"), ("name", "name", "match")]
    [comparison] = [value for value in second.outcomes.comparisons.values() if value.similarity]
    assert (comparison.matched, comparison.similarity, comparison.score) == (True, 0.9, 0.9)
    assert (third.candidate, third.input, third.score) == (MISSING, "missing", 0.0)


@given(st.lists(st.tuples(any_json, any_json), min_size=1, max_size=5))
def test_documents_are_read_as_they_were_compared(pairs):
    """Digit for digit, with the types of numbers and the order of keys."""
    truth = [{"id": str(n), "expected": {"a": expected}} for n, (expected, _) in enumerate(pairs)]
    candidates = [
        {"id": str(n), "candidate": {"a": candidate}} for n, (_, candidate) in enumerate(pairs)
    ]
    with TemporaryDirectory() as folder:
        fm.score(truth, candidates, out=f"{folder}/run")
        cases = list(open_run(f"{folder}/run").cases())
    assert [json.dumps([case.expected["a"], case.candidate["a"]]) for case in cases] == [
        json.dumps(pair) for pair in pairs
    ]


def test_attributes_are_read_with_their_rules(run):
    *_, last = open_run(run).cases()
    by_path = {attribute.path: attribute for attribute in last.attributes.attributes}
    assert (by_path["name"].comparator, by_path["name"].weight) == ("fuzzy", 2.0)
    assert by_path["total"].required is False


def test_status_and_summary(run):
    stored = open_run(run)
    assert stored.status == "complete"
    assert stored.summary.cases.total == 3


def test_incomplete_last_line_is_ignored(run):
    results = run / "results.jsonl"
    results.write_bytes(results.read_bytes()[:-5])
    assert [case.id for case in open_run(run).cases()] == ["a", "b"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(lambda _: "[]", "2: expected a JSON object", id="no-object"),
        pytest.param(lambda _: '{"a"', "2: invalid JSON", id="no-json"),
        pytest.param(lambda _: {"score": 1}, "2: invalid row", id="no-case"),
        pytest.param(lambda row: {**row, "cells": [1 << 40]}, "KeyError", id="unknown-attribute"),
        pytest.param(lambda row: {**row, "cells": [True]}, "items must be arrays", id="no-number"),
        pytest.param(lambda row: {**row, "comparisons": [[99, None, 1.0, None, []]]}, "2", id="place"),
        pytest.param(lambda row: {**row, "comparisons": [[0, 1]]}, "a comparison must have", id="comparison"),
        pytest.param(lambda row: {**row, "items": [["x"]]}, "an item must have", id="item"),
        pytest.param(lambda row: {**row, "totals": [1]}, "four numbers", id="totals"),
        pytest.param(lambda row: {**row, "counts": 7}, "counts must be an object", id="counts"),
    ],
)  # fmt: skip
def test_invalid_row_is_an_error_with_its_line(run, change, message):
    results = run / "results.jsonl"
    lines = results.read_text("utf-8").splitlines()
    changed = change(json.loads(lines[1]))
    lines[1] = changed if isinstance(changed, str) else json.dumps(changed)
    results.write_text("\n".join(lines) + "\n", "utf-8")
    with pytest.raises(DataError, match=message):
        list(open_run(run).cases())


def test_directory_without_a_run(tmp_path):
    with pytest.raises(DataError, match=r"not a run directory; it has no manifest\.json"):
        open_run(tmp_path)
    with pytest.raises(DataError, match="nowhere: run not found"):
        open_run(tmp_path / "nowhere")


def test_invalid_manifest_is_an_error(run):
    (run / "manifest.json").write_text("{")
    with pytest.raises(DataError, match=r"manifest\.json: invalid JSON"):
        open_run(run)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param("[]", "must be a node or an attribute", id="no-object"),
        pytest.param("{", "invalid attribute", id="no-json"),
        pytest.param('{"node": 9, "parent": 77, "step": "x"}', "node 77", id="no-parent"),
        pytest.param(
            '{"attribute": 1, "node": 77, "comparator": "exact", "weight": 1, "required": true, '
            '"configured": false}', "node 77", id="no-node",
        ),
    ],
)  # fmt: skip
def test_invalid_attribute_is_an_error_with_its_line(run, line, message):
    with (run / "attributes.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(DataError, match=message) as caught:
        list(open_run(run).cases())
    assert "attributes.jsonl:" in str(caught.value)
