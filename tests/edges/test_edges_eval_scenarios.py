"""The scenarios of the specification of structured data evaluators, from YAML to result row.

Each rule has its table in `tests/unit`; here every option of a field is used in a file.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from row_files import read_rows


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


NUMBERS = """fields:
      - {path: invoice.total, match: numeric_tolerance, tolerance: 0.05}
      - {path: invoice.tax, match: numeric_tolerance, tolerance: 0.02, relative: true}
      - {path: invoice.net, match: numeric_tolerance, tolerance: 1.0}"""
NAMES = """fields:
      - {path: vendor.name, match: fuzzy, algorithm: levenshtein, threshold: 0.80}
      - {path: vendor.group, match: fuzzy, algorithm: jaro_winkler, threshold: 0.85}
      - {path: vendor.city, match: fuzzy}"""
THREE = "fields: [{path: a, weight: 1.0}, {path: b, weight: 0.5}, {path: c, weight: 0.8}]"
PLACES = """fields:
      - {path: invoice.vendor.address.city, match: exact}
      - {path: "invoice.line_items[0].amount"}
      - {path: invoice.number}
      - {path: invoice.date}
      - {path: invoice.total}
      - {path: invoice.notes, required: false}"""

SCENARIOS = {
    "absolute-and-relative-tolerances": Scenario(
        {"invoice": {"total": 100.02, "tax": 101.00, "net": 105.00}},
        {"invoice": {"total": 100.00, "tax": 100.00, "net": 100.00}},
        NUMBERS,
        2 / 3,
        "partial",
        ["invoice.total", "invoice.tax"],
        ["invoice.net"],
    ),
    "similarity-by-an-algorithm-above-a-threshold": Scenario(
        {"vendor": {"name": "XYZ Inc", "group": "Microsoft Corp", "city": "Acme Corpp"}},
        {"vendor": {"name": "Acme Corp", "group": "Microsoft Corporation", "city": "Acme Corp"}},
        NAMES,
        (0.9333333333333333 + 0.9) / 3,
        "partial",
        ["vendor.group", "vendor.city"],
        ["vendor.name"],
    ),
    "weighted-average": Scenario(
        {"a": 1, "b": 9, "c": 3},
        {"a": 1, "b": 2, "c": 3},
        f"{THREE}\n    aggregation: weighted_average",
        1.8 / 2.3,
        "partial",
        ["a", "c"],
        ["b"],
        "2/3 fields matched",
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
        "3/3 fields matched",
    ),
    "reasons-of-misses": Scenario(
        {"invoice": {"vendor": {"address": {"city": "Seattle"}},
                     "line_items": [{"amount": 50.00}, {"amount": 75.00}], "date": None, "total": "100"}},
        {"invoice": {"vendor": {"address": {"city": "Seattle"}}, "number": "INV-001", "notes": "Rush order",
                     "line_items": [{"amount": 50.00}, {"amount": 99.00}], "date": "x", "total": 100}},
        PLACES,
        0.4,
        "partial",
        ["invoice.vendor.address.city", "invoice.line_items[0].amount"],
        ["invoice.number (required, missing)", "invoice.date (null value)", "invoice.total (type mismatch)"],
    ),
    "malformed-path-is-a-miss": Scenario(
        {"invoice": {"total": 100}},
        {"invoice": {"total": 100}},
        "fields: [{path: invoice..total}]",
        0.0,
        "fail",
        [],
        ["invoice..total (invalid path)"],
        code=3,  # the only path of the evaluator is in no document
    ),
}  # fmt: skip


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
    [row] = read_rows(folder / "run" / "results.jsonl")
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
    path = eval_file(folder, SCENARIOS["weighted-average"]._replace(evaluator=evaluator))
    done = command("eval", path, "--out", "run")
    assert done.code == 2
    assert message in done.err
    assert f"{path}:4:" in done.err
    assert not (folder / "run").exists()


def test_malformed_path_is_a_warning(folder, command):
    done = command("eval", eval_file(folder, SCENARIOS["malformed-path-is-a-miss"]), "--no-save")
    assert "invoice..total" in done.out
    assert "warning" in done.out
