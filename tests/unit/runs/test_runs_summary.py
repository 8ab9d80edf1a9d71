"""Summaries as JSON, written and read."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.metrics.gates import GateKind, GateResult
from fieldmark.metrics.summary import (
    RateVariations,
    RunIntervals,
    Summary,
    summary_from_json,
    summary_to_json,
)
from fieldmark.values.records import to_json
from record_values import values_of

PAIRS = [
    (
        {"id": 1, "items": [{"price": 1}, {"price": 2}]},
        {"id": 1, "items": [{"price": 1}, {"price": 3}]},
    ),
    ({"id": 2}, {"items": [{"price": 1}]}),
]


def scored(**options):
    return fm.score(PAIRS, align="index", intervals=True, **options)


def test_summary_as_json():
    wire = summary_to_json(replace(scored().summary, intervals=None))
    assert list(wire) == [
        "format", "convention", "cases", "verdicts", "micro", "macro", "macro_f1_by_attribute",
        "macro_f1_by_case", "mean_score", "attributes", "errors_by_type", "quality", "evaluators",
        "gates", "passed", "failures", "warnings", "structural_warnings",
    ]  # fmt: skip
    assert list(wire["convention"]) == [
        "name", "version", "options", "comparison_sha256", "counting_sha256",
    ]  # fmt: skip
    assert wire["cases"] == {
        "total": 2, "scored": 2, "perfect": 0, "errors": 0,
        "missing": 0, "unparseable": 0, "invalid_truth": 0, "unexpected": 0,
        "vacuous": 0,
    }  # fmt: skip
    assert wire["verdicts"] == {"pass": 0, "partial": 1, "fail": 1}
    assert wire["micro"] == {
        "tp": 2, "tn": 0, "fp": 2, "fn": 2, "precision": 0.5, "recall": 0.5, "f1": 0.5,
    }  # fmt: skip
    assert wire["errors_by_type"] == {
        "omission": 1, "hallucination": 1, "format_error": 0, "wrong_value": 1,
    }  # fmt: skip
    assert list(wire["attributes"]) == ["id", "items[].price"]
    assert wire["attributes"]["items[].price"] == {
        "tp": 1, "tn": 0, "fp": 2, "fn": 1, "precision": pytest.approx(1 / 3), "recall": 0.5,
        "f1": 0.4, "accuracy": pytest.approx(1 / 3), "errors": 0,
        "errors_by_type": {"omission": 0, "hallucination": 1, "format_error": 0, "wrong_value": 1},
    }  # fmt: skip
    assert json.loads(json.dumps(wire, allow_nan=False)) == wire


@pytest.mark.parametrize(
    ("more", "keys"),
    [
        pytest.param({}, [], id="ordinary-gate"),
        pytest.param({"note": "undefined"}, ["note"], id="note"),
        pytest.param({"note": "unknown metric", "known": False}, ["note", "known"], id="unknown"),
    ],
)
def test_defaults_of_a_gate_are_omitted(more, keys):
    gate = GateResult(name="rqs", kind=GateKind.MIN, limit=0.5, value=None, passed=False, **more)
    assert list(to_json(gate)) == ["name", "kind", "limit", "value", "passed", *keys]


def test_intervals_are_added_to_a_summary():
    run = fm.score(PAIRS * 10, align="index", intervals=True).summary
    plain = summary_to_json(replace(run, intervals=None))
    written = summary_to_json(run)
    low, high = written["attributes"]["items[].price"]["interval"]["f1"]
    assert low < plain["attributes"]["items[].price"]["f1"] < high
    assert written["intervals"]["mean_score"][0] < plain["mean_score"]
    assert written["deviations"]["mean_score"] > 0
    assert written["attributes"]["items[].price"]["deviation"]["f1"] > 0
    assert {key for key in written if key not in plain} == {"intervals", "deviations"}


NAMES = st.text(min_size=1, max_size=8)
LATER = {"intervals": st.none(), "by": st.just(()), "slices": st.just({})}  # see the test
SUMMARIES = values_of(Summary, confidence=st.none(), **LATER)
VARIATIONS = values_of(RateVariations).filter(lambda variations: variations != RateVariations())


EMPTY = {
    "evaluators": {}, "detection": {}, "usage": {}, "gates": (), "warnings": (),
    "structural_warnings": (), "failures": (),
}  # fmt: skip


@given(SUMMARIES, st.data())
def test_summary_is_read_back_as_written(summary, data):
    if data.draw(st.booleans()):
        own = st.dictionaries(st.sampled_from(sorted(summary.attributes)), VARIATIONS)
        attributes = own if summary.attributes else st.just({})
        intervals = data.draw(values_of(RunIntervals, attributes=attributes))
        summary = replace(summary, intervals=intervals)
        keys = data.draw(st.lists(NAMES, unique=True))
        inner = replace(summary, convention=summary.convention, **EMPTY)
        slices = {f"{key}={value}": inner for key in keys for value in ("", "x")}
        summary = replace(summary, by=tuple(keys), slices=slices)
    written = json.dumps(summary_to_json(summary))
    read = summary_from_json(json.loads(written))
    assert read == summary
    assert json.dumps(summary_to_json(read)) == written


def test_run_is_read_back_as_scored():
    summary = scored(min={"rqs": 0.9}).summary
    assert summary_from_json(json.loads(json.dumps(summary_to_json(summary)))) == summary


def changed(path, value):
    wire = json.loads(json.dumps(scored(min={"rqs": 0.9}).to_dict()))
    *way, last = path
    location = wire
    for step in way:
        location = location[step]
    if value is ...:
        del location[last]
    else:
        location[last] = value
    return wire


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        pytest.param(("format",), 3, "has format 3, .*update", id="newer-format"),
        pytest.param(("format",), ..., "has format None", id="missing-format"),
        pytest.param(("cases", "total"), "3", "cases.total must be an integer", id="column"),
        pytest.param(("quality", "rqs_max"), None, "quality.rqs_max must be a number", id="null-metric"),
        pytest.param(("quality", "depth"), "deep", "must be one of: leaf, top", id="word"),
        pytest.param(("attributes", "id", "interval"), ..., "interval is missing", id="half-an-interval"),
        pytest.param(("intervals", "micro_f1"), [0.5], "an array of two numbers", id="interval"),
        pytest.param(("gates", 0, "passed"), 1, "gates[0].passed must be true", id="gate"),
    ],
)  # fmt: skip
def test_invalid_summary_is_rejected_with_the_path(path, value, reason):
    with pytest.raises(ValueError, match=reason.replace("[", r"\[").replace("]", r"\]")):
        summary_from_json(changed(path, value))


def test_summary_without_failures_derives_them():
    wire = summary_to_json(scored().summary)
    del wire["passed"], wire["failures"]
    wire["cases"]["invalid_truth"] = 1
    assert summary_from_json(wire).failures == ("invalid_truth",)
