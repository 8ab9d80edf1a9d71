"""A run counted again from the command line."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import fieldmark as fm
from fieldmark.store.run_reader import open_run

TRUTH = [
    {"id": "a", "expected": {"total": 1, "vendor": "Acme", "lines": [{"x": 1}, {"x": 2}]}},
    {"id": "b", "expected": {"total": 2, "vendor": "Bolt", "lines": []}},
    {"id": "c", "expected": {"total": 3}},
]
FOUND = [
    {"id": "a", "candidate": {"total": 9, "vendor": "Acme", "lines": [{"x": 2}]}},
    {"id": "b", "candidate": "no JSON here"},
    {"id": "d", "candidate": {"total": 3}},
]


@pytest.fixture
def run(folder):
    """A run with a case of each kind, and the folder it is in."""
    for name, rows in (("truth", TRUTH), ("candidate", FOUND)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    fm.score("truth.jsonl", "candidate.jsonl", out="runs/run")
    return folder / "runs" / "run"


def without_id(summary):
    return {key: value for key, value in summary.items() if key != "convention"}


def test_another_counting_gives_other_figures(run, command):
    before = fm.score("truth.jsonl", "candidate.jsonl").to_dict()
    done = command("rescore", "run", "--set", "wrong_value=fp", "--format", "json")
    assert done.code == 0
    after = done.summary
    assert after["micro"]["fn"] == before["micro"]["fn"] - 1
    assert after["cases"] == before["cases"]
    assert after["warnings"] == before["warnings"]
    assert after["convention"]["options"]["wrong_value"] == "fp"
    assert after["convention"]["comparison_sha256"] == before["convention"]["comparison_sha256"]


def test_it_is_the_run_that_was_counted_like_that_from_the_start(run, command):
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
    assert fm.diff("runs/again", "runs/start").word == "no difference"


def test_a_convention_that_compares_otherwise_needs_the_inputs(run, command):
    done = command("rescore", "run", "--convention", "taxonomy")
    assert (done.code, done.out) == (2, "")
    assert "compares otherwise: comparator normalized_text, not exact, aligner index" in done.err


def test_a_convention_that_compares_alike_does_not(folder, run, command):
    fm.score("truth.jsonl", "candidate.jsonl", convention="taxonomy", out="runs/taxonomy")
    done = command("rescore", "taxonomy", "--convention", "taxonomy_code", "--format", "json")
    start = fm.score("truth.jsonl", "candidate.jsonl", convention="taxonomy_code")
    assert done.summary == start.to_dict()


def test_what_rules_settled_they_settle_there_too(run, command):
    given = {"match": "normalized_text", "align": "index"}
    fm.score("truth.jsonl", "candidate.jsonl", out="runs/settled", **given)
    done = command("rescore", "settled", "--convention", "taxonomy", "--format", "json")
    start = fm.score("truth.jsonl", "candidate.jsonl", convention="taxonomy", **given)
    assert done.summary == start.to_dict()


def test_weights_of_rules_stay(run, folder):
    rules = {"fields": [{"path": "total", "weight": 4}], "scope": "union"}
    kept = fm.score("truth.jsonl", "candidate.jsonl", rules=rules, convention="field_accuracy",
                    out="runs/heavy")  # fmt: skip
    again = fm.rescore(kept, options={"aggregation": "all_or_nothing"})
    start = fm.score("truth.jsonl", "candidate.jsonl", rules=rules, convention="field_accuracy",
                     options={"aggregation": "all_or_nothing"})  # fmt: skip
    assert without_id(again.to_dict()) == without_id(start.to_dict())
    same = fm.rescore(kept)
    # Intervals are drawn for runs that are kept.
    assert same.summary == replace(kept.summary, intervals=None)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param(["--min", "micro_f1=0.1"], 0, id="a-gate-that-holds"),
        pytest.param(["--min", "micro_f1=0.99"], 1, id="a-gate-that-does-not"),
        pytest.param(["--set", "wrong_valu=fp"], 2, id="an-option-misspelt"),
        pytest.param(["--set", "wrong_value=tp"], 2, id="a-value-that-it-cannot-have"),
        pytest.param(["--convention", "confusin"], 2, id="a-convention-misspelt"),
        pytest.param(["--out", "runs/run"], 2, id="a-folder-that-is-taken"),
        pytest.param(["--min", "macro=1"], 2, id="an-unknown-figure"),
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


def test_an_evaluation_keeps_what_its_evaluators_said(folder):
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
    assert again.summary.evaluators["boxes"].figures["images"] == 1
    assert again.mean_score == run.mean_score
    assert again.micro.fn == 0


def test_a_run_that_says_nothing_of_its_counting(run):
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["convention"]
    (run / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(fm.DataError, match=r"manifest\.json: convention is missing"):
        fm.rescore(run)
