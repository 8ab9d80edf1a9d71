"""The scenarios of the specification of structured data evaluators, from YAML to result row."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest


class Scenario(NamedTuple):
    """A candidate, the expected document, the evaluator, and the expected result."""

    candidate: object
    expected: object
    evaluator: str
    score: float
    verdict: str
    hits: list[str]
    misses: list[str]
    reasoning: str = ""
    code: int = 0


NUMBER = "fields: [{path: invoice.number, match: exact}]"
THREE = "fields: [{path: a, weight: 1.0}, {path: b, weight: 0.5}, {path: c, weight: 0.8}]"
FOUR = (
    "fields: [{path: invoice.number}, {path: invoice.date}, {path: invoice.vendor}, "
    "{path: invoice.total}]"
)
OPTIONAL = (
    "fields: [{path: invoice.number, required: true}, {path: invoice.notes, required: false}]"
)


def tolerance(value, *, relative="false"):
    settings = f"match: numeric_tolerance, tolerance: {value}, relative: {relative}"
    return f"fields: [{{path: invoice.total, {settings}}}]"


def fuzzy(algorithm, threshold):
    return f"fields: [{{path: vendor.name, match: fuzzy, {algorithm}, threshold: {threshold}}}]"


def total(value):
    return {"invoice": {"total": value}}


def vendor(name):
    return {"vendor": {"name": name}}


def number(text):
    return {"invoice": {"number": text}}


SCENARIOS = {
    "exact-string-match-succeeds": Scenario(
        number("INV-001"), number("INV-001"), NUMBER, 1.0, "pass", ["invoice.number"], []
    ),
    "exact-match-fails-on-mismatch": Scenario(
        number("INV-001"), number("INV-002"), NUMBER, 0.0, "fail", [], ["invoice.number"]
    ),
    "missing-required-field": Scenario(
        {"invoice": {}},
        number("INV-001"),
        NUMBER,
        0.0,
        "fail",
        [],
        ["invoice.number (required, missing)"],
    ),
    "absolute-tolerance-succeeds-within-the-threshold": Scenario(
        total(100.02), total(100.00), tolerance(0.05), 1.0, "pass", ["invoice.total"], []
    ),
    "relative-tolerance-succeeds-within-the-percentage": Scenario(
        total(101.00),
        total(100.00),
        tolerance(0.02, relative="true"),
        1.0,
        "pass",
        ["invoice.total"],
        [],
    ),
    "numeric-tolerance-fails-outside-the-threshold": Scenario(
        total(105.00), total(100.00), tolerance(1.0), 0.0, "fail", [], ["invoice.total"]
    ),
    "fuzzy-match-succeeds-above-the-threshold": Scenario(
        vendor("Acme Corp"),
        vendor("ACME CORP"),
        fuzzy("algorithm: levenshtein", "0.80"),
        1.0,
        "pass",
        ["vendor.name"],
        [],
    ),
    "jaro-winkler-favors-a-common-prefix": Scenario(
        vendor("Microsoft Corp"),
        vendor("Microsoft Corporation"),
        fuzzy("algorithm: jaro_winkler", "0.85"),
        0.9333333333333333,
        "pass",
        ["vendor.name"],
        [],
    ),
    "fuzzy-match-fails-below-the-threshold": Scenario(
        vendor("XYZ Inc"),
        vendor("Acme Corp"),
        fuzzy("algorithm: levenshtein", "0.80"),
        0.0,
        "fail",
        [],
        ["vendor.name"],
    ),
    "nested-object-access": Scenario(
        {"invoice": {"vendor": {"address": {"city": "Seattle"}}}},
        {"invoice": {"vendor": {"address": {"city": "Seattle"}}}},
        "fields: [{path: invoice.vendor.address.city}]",
        1.0,
        "pass",
        ["invoice.vendor.address.city"],
        [],
    ),
    "array-index-in-a-path": Scenario(
        {"invoice": {"line_items": [{"amount": 50.00}, {"amount": 75.00}]}},
        {"invoice": {"line_items": [{"amount": 50.00}, {"amount": 99.00}]}},
        'fields: [{path: "invoice.line_items[0].amount"}]',
        1.0,
        "pass",
        ["invoice.line_items[0].amount"],
        [],
    ),
    "unknown-path-is-a-miss": Scenario(
        total(100),
        {"invoice": {"total": 100, "vendor": {"name": "Acme"}}},
        "fields: [{path: invoice.vendor.name}]",
        0.0,
        "fail",
        [],
        ["invoice.vendor.name (required, missing)"],
    ),
    "weighted-average": Scenario(
        {"a": 1, "b": 9, "c": 3},
        {"a": 1, "b": 2, "c": 3},
        f"{THREE}\n    aggregation: weighted_average",
        1.8 / 2.3,
        "partial",
        ["a", "c"],
        ["b"],
    ),
    "all-or-nothing-fails-with-one-field": Scenario(
        {"a": 1, "b": 2, "c": 9},
        {"a": 1, "b": 2, "c": 3},
        f"{THREE}\n    aggregation: all_or_nothing",
        0.0,
        "fail",
        ["a", "b"],
        ["c"],
    ),
    "all-or-nothing-passes-when-all-fields-match": Scenario(
        {"a": 1, "b": 2, "c": 3},
        {"a": 1, "b": 2, "c": 3},
        f"{THREE}\n    aggregation: all_or_nothing",
        1.0,
        "pass",
        ["a", "b", "c"],
        [],
    ),
    "three-of-four-fields": Scenario(
        {"invoice": {"number": "1", "date": "2", "vendor": "3", "total": 5}},
        {"invoice": {"number": "1", "date": "2", "vendor": "3", "total": 4}},
        FOUR,
        0.75,
        "partial",
        ["invoice.number", "invoice.date", "invoice.vendor"],
        ["invoice.total"],
        "3/4 fields matched",
    ),
    "all-fields-match": Scenario(
        {"invoice": {"number": "1", "date": "2", "vendor": "3", "total": 4}},
        {"invoice": {"number": "1", "date": "2", "vendor": "3", "total": 4}},
        FOUR,
        1.0,
        "pass",
        ["invoice.number", "invoice.date", "invoice.vendor", "invoice.total"],
        [],
        "4/4 fields matched",
    ),
    "fuzzy-without-a-threshold-uses-its-default": Scenario(
        vendor("Acme Corpp"),
        vendor("Acme Corp"),
        "fields: [{path: vendor.name, match: fuzzy}]",
        0.9,
        "pass",
        ["vendor.name"],
        [],
    ),
    "null-instead-of-value": Scenario(
        total(None), total(100), tolerance(0), 0.0, "fail", [], ["invoice.total (null value)"]
    ),
    "string-instead-of-number": Scenario(
        total("100"),
        total(100),
        "fields: [{path: invoice.total, match: exact}]",
        0.0,
        "fail",
        [],
        ["invoice.total (type mismatch)"],
    ),
    "malformed-path-is-a-miss": Scenario(
        total(100),
        total(100),
        "fields: [{path: invoice..total}]",
        0.0,
        "fail",
        [],
        ["invoice..total (invalid path)"],
        code=3,  # the only path of the evaluator is in no document
    ),
    "missing-optional-field-is-not-counted": Scenario(
        number("INV-001"),
        {"invoice": {"number": "INV-001", "notes": "Rush order"}},
        OPTIONAL,
        1.0,
        "pass",
        ["invoice.number"],
        [],
    ),
    "missing-required-field-is-counted": Scenario(
        {"invoice": {"notes": "Rush order"}},
        {"invoice": {"number": "INV-001", "notes": "Rush order"}},
        OPTIONAL,
        0.5,
        "partial",
        ["invoice.notes"],
        ["invoice.number (required, missing)"],
    ),
}


def eval_file(folder, scenario):
    case = {"id": "a", "expected": scenario.expected, "candidate": scenario.candidate}
    path = folder / "scenario.eval.yaml"
    path.write_text(
        f"cases: [{json.dumps(case)}]\n"
        f"evaluators:\n  - type: field_accuracy\n    {scenario.evaluator}\n",
        "utf-8",
    )
    return path


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_scenario(folder, command, scenario):
    done = command("eval", eval_file(folder, scenario), "--out", "run")
    assert done.code == scenario.code, done.err
    [row] = map(json.loads, (folder / "run" / "results.jsonl").read_text("utf-8").splitlines())
    [result] = row["evaluator_results"]
    for actual in (row, result):
        assert actual["score"] == pytest.approx(scenario.score, abs=1e-12)
        assert actual["verdict"] == scenario.verdict
        assert actual["hits"] == scenario.hits
        assert actual["misses"] == scenario.misses
        assert actual["status"] == "ok"
    assert scenario.reasoning in result["reasoning"]


@pytest.mark.parametrize(
    ("evaluator", "message"),
    [
        pytest.param(
            "fields: [{path: a, match: invalid_type}]",
            "Invalid match type: invalid_type; valid types: exact,",
            id="invalid-match-type",
        ),
        pytest.param(
            'fields: [{path: a, match: numeric_tolerance, tolerance: "not a number"}]',
            "tolerance: expected a number, got 'not a number'",
            id="tolerance-not-a-number",
        ),
        pytest.param("fields: []", "field", id="no-fields"),
    ],
)
def test_invalid_configuration_is_rejected_before_the_run(folder, command, evaluator, message):
    path = eval_file(folder, SCENARIOS["all-fields-match"]._replace(evaluator=evaluator))
    done = command("eval", path, "--out", "run")
    assert done.code == 2
    assert message in done.err
    assert f"{path}:4:" in done.err
    assert not (folder / "run").exists()


def test_malformed_path_is_a_warning(folder, command):
    done = command("eval", eval_file(folder, SCENARIOS["malformed-path-is-a-miss"]), "--no-save")
    assert "invoice..total" in done.out
    assert "warning" in done.out
