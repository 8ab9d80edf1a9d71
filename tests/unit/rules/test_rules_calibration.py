"""Thresholds from calibrations in rules and evaluators."""

from __future__ import annotations

import json
import pickle

import pytest

import fieldmark as fm
from fieldmark.errors import ConfigError
from fieldmark.rules.rules_file import load_rules
from fieldmark.runs.eval_file import check_file
from fieldmark.runs.settings import resolve_settings

ROWS = [{"expected": "Acme", "candidate": c, "verdict": v} for c, v in [
    ("acme", True), ("Acme.", True), ("Acmee", True), ("Bolt", False), ("Zinc", False),
]]  # fmt: skip
RULE = "{path: name, match: fuzzy, threshold: calibrated, calibration: name.json}"


@pytest.fixture
def folder(tmp_path):
    fm.calibrate(ROWS, match="fuzzy").save(tmp_path / "name.json")
    return tmp_path


def rules(folder, text, name="rules.yaml"):
    (folder / name).write_text(text, "utf-8")
    return folder / name


def threshold_of(path):
    return load_rules(path).rules.fields[0].comparator.threshold


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"fields: [{RULE}]", id="field"),
        pytest.param("fields: [{path: name, match: {type: fuzzy, threshold: calibrated, calibration: name.json}}]", id="options-of-the-comparator"),
        pytest.param("name: {match: fuzzy, threshold: calibrated, calibration: name.json}", id="by-path"),
        pytest.param("name: {match: FUZZY, threshold: calibrated, calibration: name.json}", id="strategy-word"),
        pytest.param("defaults: {match: fuzzy, threshold: calibrated, calibration: name.json}\nfields: [{path: name, match: fuzzy}]", id="defaults"),
    ],
)  # fmt: skip
def test_rule_has_the_threshold_of_its_calibration(folder, text):
    file = rules(folder, text)
    assert check_file(file).problems == ()
    assert threshold_of(file) == 0.4
    assert fm.compare({"name": "Acme"}, {"name": "Acmee"}, rules=file).score == 1.0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("fields: [{path: name, match: fuzzy, threshold: calibrated}]", "threshold: calibrated requires calibration, the name of a file", id="no-file"),
        pytest.param("fields: [{path: name, match: fuzzy, calibration: name.json}]", "calibration requires threshold: calibrated", id="no-threshold"),
        pytest.param("fields: [{path: name, calibration: name.json}]", "calibration requires match and threshold: calibrated", id="no-comparator"),
        pytest.param(f"fields: [{RULE.replace('name.json', 'other.json')}]", "other.json: file not found", id="missing-file"),
        pytest.param(f"fields: [{RULE.replace('name.json', '../name.json')}]", "is outside the directory of the configuration file", id="outside"),
        pytest.param(f"fields: [{RULE.replace('name.json', 'rules.json')}]", "rules.json: not the result of a calibration", id="another-file"),
        pytest.param(f"fields: [{RULE.replace('name.json', 'empty.json')}]", "empty.json: the calibration has no threshold", id="no-threshold-in-the-file"),
        pytest.param(f"fields: [{RULE.replace('fuzzy', 'semantic')}]", "name.json was measured for fuzzy, not for semantic", id="another-comparator"),
        pytest.param(f"fields: [{RULE.replace('fuzzy', 'fuzzy, algorithm: jaro_winkler, ignore: [accents]')}]", "name.json was measured with other options of fuzzy: algorithm, ignore", id="other-options"),
        pytest.param(f"fields: [{RULE.replace('fuzzy', 'exact')}]", "option 'threshold' is not supported by exact", id="comparator-without-a-threshold"),
    ],
)  # fmt: skip
def test_validate_names_the_problem(folder, text, problem):
    (folder / "rules.json").write_text("{}")
    (folder / "empty.json").write_text(
        json.dumps({"format": 1, "judge": "fuzzy", "threshold": None})
    )
    found = [str(each) for each in check_file(rules(folder, text)).problems]
    assert any(problem in each for each in found), found


def test_another_calibration_is_another_rule(folder):
    file = rules(folder, f"fields: [{RULE}]")
    first = resolve_settings(rules=file).applied
    assert resolve_settings(rules=file).applied == first
    fm.calibrate([*ROWS, ROWS[0]], match="fuzzy").save(folder / "name.json")
    again = resolve_settings(rules=file).applied
    assert threshold_of(file) == resolve_settings(rules=file).rules.fields[0].comparator.threshold
    assert again.comparison_sha256 != first.comparison_sha256
    assert not again.is_comparable(first)


def test_calibrated_rules_work_in_saved_runs_and_other_processes(folder):
    file = rules(folder, f"fields: [{RULE}]")
    settings = pickle.loads(pickle.dumps(resolve_settings(rules=file)))  # noqa: S301 - own data
    assert settings.applied == resolve_settings(rules=file).applied
    rows = [{"id": "a", "expected": {"name": "Acme"}, "candidate": {"name": "Acmee"}}]
    run = fm.score(rows, rules=file, out=folder / "run")
    assert fm.open_run(run.path).cases["a"].score == 1.0


def test_evaluator_has_the_pass_threshold_of_its_calibration(folder):
    cases = [{"id": "a", "expected": {"name": "Acme"}, "candidate": {"name": "Acmee"}}]
    evaluator = {"name": "names", "type": "field_accuracy", "fields": [{"path": "name", "match": "fuzzy", "threshold": 0.1}]}  # fmt: skip
    (folder / "a.eval.json").write_text(json.dumps({"cases": cases, "evaluators": [evaluator]}))
    labels = [{"expected": {"name": r["expected"]}, "candidate": {"name": r["candidate"]}, "verdict": r["verdict"]} for r in ROWS]  # fmt: skip
    result = fm.calibrate(labels, evaluation=folder / "a.eval.json", evaluator="names")
    assert result.auc == 1.0
    result.save(folder / "names.json")
    calibrated = {**evaluator, "pass_threshold": "calibrated", "calibration": "names.json"}
    (folder / "b.eval.json").write_text(json.dumps({"cases": cases, "evaluators": [calibrated]}))
    assert check_file(folder / "b.eval.json").problems == ()
    run = fm.evaluate(folder / "b.eval.json", out=folder / "run")
    assert run.summary.verdicts.passed == 1
    calibrated["fields"] = [{"path": "name"}]
    (folder / "b.eval.json").write_text(json.dumps({"cases": cases, "evaluators": [calibrated]}))
    with pytest.raises(ConfigError, match="measured with other options of field_accuracy: fields"):
        fm.evaluate(folder / "b.eval.json")
