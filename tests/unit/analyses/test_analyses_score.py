"""`fm.score` and `fm.infer`: sources, metrics, gates, tables and files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import fieldmark as fm
from fieldmark.runs.stored_run import open_run

TRUTH = [{"id": "a", "total": 1, "name": "x"}, {"id": "b", "total": 2, "name": "y"}]
PREDICTIONS = [{"id": "b", "total": 2}, {"id": "a", "total": 3, "name": "x"}]


@pytest.fixture
def files(tmp_path):
    for name, rows in (("truth.jsonl", TRUTH), ("predictions.jsonl", PREDICTIONS)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "truth.jsonl", tmp_path / "predictions.jsonl"


@pytest.mark.parametrize(
    "give",
    [
        pytest.param(lambda truth, predictions: (truth, predictions), id="paths"),
        pytest.param(lambda truth, predictions: (str(truth), str(predictions)), id="strings"),
        pytest.param(lambda *_: (TRUTH, PREDICTIONS), id="lists"),
        pytest.param(lambda *_: (iter(TRUTH), iter(PREDICTIONS)), id="iterators"),
        pytest.param(lambda truth, _: (truth, PREDICTIONS), id="file-and-a-list"),
    ],
)
def test_every_source_gives_the_same_metrics(files, give):
    run = fm.score(*give(*files))
    assert (run.micro.tp, run.micro.fp, run.micro.fn) == (2, 1, 2)


def test_metrics_of_a_run():
    run = fm.score(TRUTH, PREDICTIONS)
    assert run.attributes["total"].f1 == 0.5
    assert run.attributes["name"].recall == 0.5
    assert run.macro_f1_by_attribute == pytest.approx((0.5 + 2 / 3) / 2)
    assert run.macro_f1_by_case == pytest.approx((0.5 + 2 / 3) / 2)
    assert run.mean_score == pytest.approx((0.5 + 0.5) / 2)
    assert run.quality.completeness == 0.75
    assert run.path is None
    assert "rows paired by id" in run.notes


def test_attributes_as_rows_and_dict():
    frame = fm.score(TRUTH, PREDICTIONS).attributes
    assert list(frame) == ["name", "total"]
    assert [row.attribute for row in frame.rows()] == ["total", "name"]
    assert frame.to_dict()["name"]["errors_by_type"]["omission"] == 1
    assert "total" in repr(frame)


def test_run_is_saved_to_out(tmp_path):
    run = fm.score(TRUTH, PREDICTIONS, out=tmp_path / "run")
    assert run.path == tmp_path / "run"
    assert json.loads((run.path / "summary.json").read_text()) == run.to_dict()
    manifest = json.loads((run.path / "manifest.json").read_text())
    assert manifest["inputs"] == [{"name": "(in memory)"}] * 2
    assert [attribute.path for attribute in open_run(run.path).compared_attributes] == [
        "name",
        "total",
    ]


def test_invalid_input_creates_no_run_directory(tmp_path):
    with pytest.raises(fm.DataError):
        fm.score(tmp_path / "missing.jsonl", PREDICTIONS, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_progress_callback_is_called():
    calls = []
    fm.score(TRUTH, PREDICTIONS, progress=lambda *numbers: calls.append(numbers))
    assert calls[-1][0] == 2


@pytest.mark.parametrize(
    ("settings", "counts"),
    [
        pytest.param({}, (2, 2, 1), id="defaults"),
        pytest.param({"match": "exact_text"}, (3, 1, 0), id="match"),
        pytest.param({"align": "whole"}, (0, 3, 2), id="align"),
        pytest.param({"scope": "truth"}, (2, 1, 1), id="scope"),
        pytest.param({"depth": "top"}, (0, 3, 2), id="depth"),
    ],
)
def test_defaults_for_fields_without_a_rule(settings, counts):
    truth, predictions = {"a": 1, "b": ["x", "y"]}, {"a": "1", "b": ["y", "x"], "c": 3}
    run = fm.score([(truth, predictions)], **settings)
    assert (run.micro.tp, run.micro.fp, run.micro.fn) == counts


JUDGED = {
    "provider": {
        "type": "recorded",
        "scores": [{"expected": "x", "candidate": "z", "similarity": 0.9}],
    },
    "fields": [{"path": "total", "match": "exact"}],
}


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"match": "semantic"}, id="match-semantic"),
        pytest.param({"match": "auto"}, id="match-auto"),
        pytest.param({"convention": "four_phase"}, id="convention"),
        pytest.param({"rules": {**JUDGED, "defaults": {"match": "semantic"}}}, id="rules-defaults"),
    ],
)
def test_provider_of_the_rules_is_used_by_every_semantic_comparator(settings):
    run = fm.score([({"name": "x"}, {"name": "z"})], **{"rules": JUDGED, **settings})
    assert run.micro.tp == 1
    assert not [warning for warning in run.summary.warnings if "lexical" in warning]


def test_rules_inferred_from_truth_only(files):
    assert "- {path: total, match: numeric_tolerance" in fm.infer(files[0])
    assert fm.infer(files[0]) == fm.infer(TRUTH) == fm.infer(iter(TRUTH))


@pytest.mark.parametrize("name", ["candidate.jsonl", "candidate-claude.jsonl"])
def test_inferred_rules_improve_the_metrics_of_the_sample(tmp_path, name):
    sample = Path(fm.__file__).parent / "sample"
    sides = sample / "truth.jsonl", sample / name
    rules = tmp_path / "rules.yaml"
    rules.write_text(fm.infer(*sides), "utf-8")
    plain, proposed = fm.score(*sides), fm.score(*sides, rules=rules)
    assert proposed.micro.f1 > plain.micro.f1
    assert proposed.macro_f1_by_attribute > plain.macro_f1_by_attribute
    assert proposed.summary.errors_by_type.format_error == 0


@pytest.mark.parametrize("first", ["fieldmark.compare.exact", "fieldmark.analyses.score"])
def test_subpackages_do_not_replace_public_functions(first):
    script = f"import {first}, fieldmark; print(fieldmark.compare(1, 1).score)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"1.0\n"


def test_every_public_name_can_be_imported():
    for name in fm.__all__:
        assert getattr(fm, name) is not None
    assert dir(fm) == sorted(fm.__all__)
    with pytest.raises(AttributeError, match="no attribute 'unknown'"):
        _ = fm.unknown


@pytest.mark.parametrize(
    ("truth", "options", "failures"),
    [
        pytest.param([{"id": "a", "x": 1}], {}, (), id="passed"),
        pytest.param([{"id": "a", "x": 1}], {"min": {"attributes.y.f1": 0}}, ("unknown_metric",), id="unknown-metric"),
        pytest.param([{"id": "a", "x": 1}, {"id": "b", "x": float("inf")}], {}, ("invalid_truth",), id="infinite-number-in-ground-truth"),
        pytest.param([{"id": "a", "x": 2}], {"min": {"micro.f1": 1}}, ("gate_failed",), id="gate-failed"),
    ],
)  # fmt: skip
def test_passed_is_false_whenever_the_command_would_fail(truth, options, failures):
    run = fm.score(truth, [{"id": "a", "x": 1}], **options)
    assert run.summary.failures == failures
    assert run.passed == (not failures)
