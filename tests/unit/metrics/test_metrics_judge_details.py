"""The details of judges over all cases: confusion counts and numbers by path."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.metrics.judge_details import MAX_PATHS, JudgeDetails, confusion_rows, number_rows
from json_strategies import any_json


def total(*details):
    totals = JudgeDetails()
    for case in details:
        totals.add(case)
    return totals


COUNTS = {"tp": 1, "tn": 0, "fp": 2, "fn": 3}


@pytest.mark.parametrize(
    ("details", "confusion", "numbers"),
    [
        pytest.param({}, [], [], id="empty"),
        pytest.param({"gap": 2}, [], ["gap"], id="integer"),
        pytest.param({"a": {"b": -0.5}}, [], ["a.b"], id="nested"),
        pytest.param({"a": True, "b": "1", "c": None}, [], [], id="no-numbers"),
        pytest.param({"a": [1, {"b": 2}]}, [], [], id="lists-are-not-summed"),
        pytest.param({"m": {"x": COUNTS}}, ["m.x"], [], id="counts"),
        pytest.param(COUNTS, ["$"], [], id="counts-at-the-root"),
        pytest.param({"x": {"tp": 1, "fp": 2, "fn": 3}}, ["x"], [], id="counts-without-tn"),
        pytest.param({"x": {**COUNTS, "tp": 1.0}}, ["x"], [], id="whole-float"),
        pytest.param({"x": {**COUNTS, "f1": 0.3, "n": 7}}, ["x"], ["x.n"], id="rates-are-not-numbers"),
        pytest.param({"x": {"tp": 1, "fp": 2}}, [], ["x.fp", "x.tp"], id="no-fn"),
        pytest.param({"x": {**COUNTS, "fp": -1}}, [], ["x.fn", "x.fp", "x.tn", "x.tp"], id="negative"),
        pytest.param({"x": {**COUNTS, "fp": 0.5}}, [], ["x.fn", "x.fp", "x.tn", "x.tp"], id="fraction"),
        pytest.param({"x": {**COUNTS, "tn": None}}, [], ["x.fn", "x.fp", "x.tp"], id="null"),
        pytest.param({"x": {**COUNTS, "tp": True}}, [], ["x.fn", "x.fp", "x.tn"], id="boolean"),
        pytest.param({"x": {**COUNTS, "y": COUNTS}}, ["x", "x.y"], [], id="counts-in-counts"),
        pytest.param({"a": {"b": 1}, "a.b": 2}, [], ["a.b", '["a.b"]'], id="paths-that-look-the-same"),
        pytest.param({"x": 10**400}, [], [], id="too-large-for-a-float"),
    ],
)  # fmt: skip
def test_details_are_summed_by_path(details, confusion, numbers):
    metrics = total(details).metrics()
    assert [row.path for row in confusion_rows(metrics)] == confusion
    assert [row.path for row in number_rows(metrics)] == numbers
    assert bool(metrics) == bool(confusion or numbers)


def test_counts_have_pooled_rates():
    metrics = total(*[{"x": {**COUNTS, "f1": 1}}] * 2, {"x": {**COUNTS, "fp": 0}}).metrics()
    (row,) = confusion_rows(metrics)
    assert row[1:5] == (3, 0, 4, 9)
    assert row.precision == 3 / 7
    assert row.recall == 3 / 12
    assert row.f1 == 6 / 19
    (undefined,) = confusion_rows(total({"x": dict.fromkeys(COUNTS, 0)}).metrics())
    assert undefined[5:] == (None, None, None)


def test_numbers_have_exact_means_and_sums():
    metrics = total({"x": 0.1}, {"x": 0.2, "y": 1}, {"x": 0.3}).metrics()
    assert metrics["numbers"] == {
        "x": {"cases": 3, "mean": 0.2, "sum": 0.6},
        "y": {"cases": 1, "mean": 1.0, "sum": 1.0},
    }
    (large,) = number_rows(total(*[{"x": 1.7e308}] * 2).metrics())
    assert (large.mean, large.sum) == (1.7e308, None)


@pytest.mark.parametrize("value", [1, COUNTS], ids=["number", "counts"])
@pytest.mark.parametrize(
    ("paths", "truncated"),
    [(MAX_PATHS, False), (MAX_PATHS + 1, True), (5 * MAX_PATHS, True)],
)
def test_the_number_of_paths_is_limited(value, paths, truncated):
    cases = [{f"{number:05}": value} for number in range(paths)]
    metrics = total(*reversed(cases), *cases).metrics()
    rows = metrics["numbers" if value == 1 else "confusion"]
    assert list(rows) == [f"{number:05}" for number in range(min(paths, MAX_PATHS))]
    assert {row["sum"] if value == 1 else row["tp"] for row in rows.values()} == {2}
    assert metrics.get("truncated", False) is truncated


@pytest.mark.parametrize(("length", "kept"), [(199, True), (200, False)])
def test_the_length_of_paths_is_limited(length, kept):
    metrics = total({"x" * length: {"y": 1}}).metrics()
    assert bool(metrics["numbers"]) is kept
    assert metrics.get("truncated", False) is not kept


KEYS = st.text("ab.", max_size=2) | st.integers(0, 3 * MAX_PATHS).map(str)
DETAILS = st.dictionaries(
    KEYS, any_json | st.just(COUNTS) | st.dictionaries(KEYS, st.just(COUNTS) | st.floats(-9, 9))
)


@given(st.lists(DETAILS), st.integers(0, 5))
def test_parts_merge_into_the_sums_of_the_whole(cases, split):
    whole, parts = total(*cases), total(*cases[:split])
    parts.merge(total(*cases[split:]))
    assert parts.metrics() == whole.metrics()
    json.dumps(whole.metrics(), allow_nan=False)
