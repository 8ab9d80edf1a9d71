"""`fieldmark rescore`: another convention for a saved run."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import fieldmark as fm
from fieldmark.runs.stored_run import open_run
from row_files import write_rows

TRUTH = [
    {"id": "a", "expected": {"total": 1, "vendor": "Acme", "lines": [{"x": 1}, {"x": 2}]}},
    {"id": "b", "expected": {"total": 2, "vendor": "Bolt", "lines": []}},
    {"id": "c", "expected": {"total": 3}},
]
CANDIDATES = [
    {"id": "a", "candidate": {"total": 9, "vendor": "Acme", "lines": [{"x": 2}]}},
    {"id": "b", "candidate": "no JSON here"},
    {"id": "d", "candidate": {"total": 3}},
]


@pytest.fixture
def run(folder):
    """A run with matches, mistakes, an unparseable prediction and an unexpected one."""
    for name, rows in (("truth", TRUTH), ("candidate", CANDIDATES)):
        write_rows(folder / f"{name}.jsonl", rows)
    fm.score("truth.jsonl", "candidate.jsonl", out="runs/run")
    return folder / "runs" / "run"


def without_convention(summary):
    return {key: value for key, value in summary.items() if key != "convention"}


def test_other_counting_options_change_the_metrics(run, command):
    before = fm.score("truth.jsonl", "candidate.jsonl").to_dict()
    done = command("rescore", "run", "--set", "wrong_value=fp", "--format", "json")
    assert done.code == 0
    after = done.summary
    assert after["micro"]["fn"] == before["micro"]["fn"] - 1
    assert after["cases"] == before["cases"]
    assert after["warnings"] == before["warnings"]
    assert after["convention"]["options"]["wrong_value"] == "fp"
    assert after["convention"]["comparison_sha256"] == before["convention"]["comparison_sha256"]


def test_a_rescored_run_equals_a_run_with_the_same_options(run, command):
    done = command("rescore", "run", "--set", "zero=zero", "--set", "both_empty=not_counted",
                   "--out", "runs/again", "--format", "json")  # fmt: skip
    options = {"zero": "zero", "both_empty": "not_counted"}
    start = fm.score("truth.jsonl", "candidate.jsonl", options=options, out="runs/start")
    assert done.summary == start.to_dict()
    again, native = open_run("runs/again"), open_run("runs/start")
    for name in ("results.jsonl", "attributes.jsonl"):
        assert (again.path / name).read_bytes() == (native.path / name).read_bytes()
    assert again.summary == native.summary
    assert [(each.id, each.status) for each in fm.runs().entries][-2:] == [
        ("again", "complete"),
        ("start", "complete"),
    ]
    assert again.manifest.rescored_from["run"] == "run"
    assert again.manifest.lists == native.manifest.lists
    assert fm.diff("runs/again", "runs/start").word == "too few cases to tell"


def test_a_convention_with_other_comparison_options_is_rejected(run, command):
    done = command("rescore", "run", "--convention", "taxonomy")
    assert (done.code, done.out) == (2, "")
    assert (
        "compares differently: comparator normalized_text instead of exact, aligner index"
        in done.err
    )


def test_a_convention_with_the_same_comparison_options_is_applied(folder, run, command):
    fm.score("truth.jsonl", "candidate.jsonl", convention="taxonomy", out="runs/taxonomy")
    done = command("rescore", "taxonomy", "--convention", "taxonomy_code", "--format", "json")
    start = fm.score("truth.jsonl", "candidate.jsonl", convention="taxonomy_code")
    assert done.summary == start.to_dict()


def test_options_of_the_run_override_those_of_the_convention(run, command):
    given = {"match": "normalized_text", "align": "index"}
    fm.score("truth.jsonl", "candidate.jsonl", out="runs/given", **given)
    done = command("rescore", "given", "--convention", "taxonomy", "--format", "json")
    start = fm.score("truth.jsonl", "candidate.jsonl", convention="taxonomy", **given)
    assert done.summary == start.to_dict()


def test_weights_of_rules_are_preserved(run, folder):
    rules = {"fields": [{"path": "total", "weight": 4}], "scope": "union"}
    saved = fm.score("truth.jsonl", "candidate.jsonl", rules=rules, convention="field_accuracy",
                    out="runs/heavy")  # fmt: skip
    again = fm.rescore(saved, options={"aggregation": "all_or_nothing"})
    start = fm.score("truth.jsonl", "candidate.jsonl", rules=rules, convention="field_accuracy",
                     options={"aggregation": "all_or_nothing"})  # fmt: skip
    assert without_convention(again.to_dict()) == without_convention(start.to_dict())
    same = fm.rescore(saved)
    # Intervals are computed only for saved runs.
    assert same.summary == replace(saved.summary, intervals=None)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param(["--min", "micro_f1=0.1"], 0, id="passed-gate"),
        pytest.param(["--min", "micro_f1=0.99"], 1, id="failed-gate"),
        pytest.param(["--set", "wrong_valu=fp"], 2, id="unknown-option"),
        pytest.param(["--set", "wrong_value=tp"], 2, id="invalid-value"),
        pytest.param(["--convention", "confusin"], 2, id="unknown-convention"),
        pytest.param(["--out", "runs/run"], 2, id="existing-directory"),
        pytest.param(["--min", "macro=1"], 2, id="unknown-metric"),
    ],
)
def test_exit_codes(run, command, options, code):
    done = command("rescore", "run", *options)
    assert done.code == code
    assert "Traceback" not in done.err


def test_without_out_nothing_is_written(run, command):
    before = sorted(path.name for path in run.parent.iterdir() if not path.name.startswith("."))
    command("rescore", "run", "--set", "wrong_value=fp")
    after = sorted(path.name for path in run.parent.iterdir() if not path.name.startswith("."))
    assert before == after


def test_evaluator_results_are_preserved(folder):
    cases = [{"id": "a", "expected": {"total": 1}, "candidate": {"total": 2}}]
    spec = {
        "cases": cases,
        "evaluators": [
            {"name": "e", "type": "field_accuracy", "fields": [{"path": "total"}]},
            {"name": "boxes", "type": "detection_ap"},
        ],
    }
    run = fm.evaluate(spec, out="runs/eval")
    again = fm.rescore(run, options={"wrong_value": "fp"})
    assert again.summary.evaluators == run.summary.evaluators
    assert again.summary.evaluators["boxes"].metrics["images"] == 1
    assert again.mean_score == run.mean_score
    assert again.micro.fn == 0


def test_a_manifest_without_a_convention_is_rejected(run):
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["convention"]
    (run / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(fm.DataError, match=r"manifest\.json: convention is missing"):
        fm.rescore(run)


@pytest.mark.parametrize(
    "given", [{"options": {"wrong_value": "fp"}}, {"rules": {"total": "exact"}}]
)
def test_gates_of_the_run_are_checked_again(run, given):
    gated = fm.score("truth.jsonl", "candidate.jsonl", min={"micro_f1": 0.9},
                     max={"cases.unparseable": 3}, out="runs/gated")  # fmt: skip
    again = fm.rescore(gated, out="runs/again", **given)
    limits = [(gate.name, gate.kind, gate.limit) for gate in open_run("runs/again").summary.gates]
    assert limits == [("micro_f1", "min", 0.9), ("cases.unparseable", "max", 3)]
    assert not again.passed
    assert again.summary.gates[0].value == again.micro.f1
    assert [gate.name for gate in fm.rescore("runs/again", **given).summary.gates] == [
        gate.name for gate in again.summary.gates
    ]


def test_given_gates_replace_those_of_the_run(run, command):
    fm.score("truth.jsonl", "candidate.jsonl", min={"micro_f1": 0.9}, out="runs/gated")
    assert command("rescore", "gated", "--quiet").code == 1
    assert command("rescore", "gated", "--min", "mean_score=0.1", "--quiet").code == 0
    rules = {"gates": {"min": {"micro_f1": 0.2, "mean_score": 0.1}}}
    gates = fm.rescore("runs/gated", rules=rules).summary.gates
    assert [(gate.name, gate.limit) for gate in gates] == [("micro_f1", 0.2), ("mean_score", 0.1)]


def test_a_gate_of_the_run_on_a_metric_that_the_rescored_run_does_not_have_fails(run):
    fm.score("truth.jsonl", "candidate.jsonl", min={'slices["id=a"].micro.f1': 0.1},
             by=["id"], out="runs/gated")  # fmt: skip
    [gate] = fm.rescore("runs/gated", rules={}, by=[]).summary.gates
    assert (gate.known, gate.passed) == (False, False)


@pytest.mark.parametrize("given", [{}, {"rules": {"total": "exact"}}])
def test_gates_against_a_baseline_are_named_in_a_warning(run, given):
    fm.score(
        "truth.jsonl",
        "candidate.jsonl",
        baseline=run,
        max_drop={"mean_score": 0.01},
        out="runs/gated",
    )
    again = fm.rescore("runs/gated", **given).summary
    assert again.gates == ()
    assert "gates against a baseline are not checked again: drop of mean_score at most 0.01" in (
        again.warnings
    )
