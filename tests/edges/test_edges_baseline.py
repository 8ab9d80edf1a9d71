"""Gates against a baseline run, and invalid baselines."""

from __future__ import annotations

import json

import pytest

WORSE = '{"id": "a", "candidate": {"total": 9, "vendor": "Acme"}}\n{"id": "b", "candidate": {}}\n'


@pytest.fixture
def against(folder, command):
    """Score worse predictions with the first run as a baseline."""
    assert command("score", "truth.jsonl", "candidate.jsonl", "--out", "before").code == 0
    (folder / "worse.jsonl").write_text(WORSE)

    def run(*options):
        return command("score", "truth.jsonl", "worse.jsonl", "--out", "after", *options)

    return run


@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param(["--max-drop", "0.9"], 0, id="drop-within-limit"),
        pytest.param(["--max-drop", "0.1"], 1, id="drop-above-limit"),
        pytest.param(["--max-drop", "micro.f1=0.1"], 1, id="another-metric"),
        pytest.param(["--max-drop", "mico.f1=0.1"], 2, id="unknown-metric"),
        pytest.param(["--max-drop", "x"], 2, id="limit-not-a-number"),
    ],
)
def test_drop_below_the_baseline(against, options, code):
    assert against("--baseline", "before", *options).code == code


def test_summary_contains_the_gate(folder, against):
    against("--baseline", "before", "--max-drop", "0.1")
    [gate] = json.loads((folder / "after" / "summary.json").read_text())["gates"]
    assert (gate["name"], gate["passed"]) == ("drop of mean_score", False)


def test_baseline_with_other_ground_truth_is_rejected(folder, command, against):
    (folder / "truth.jsonl").write_text('{"id": "a", "expected": {"total": 3}}\n')
    for saved in ([], ["--no-save"]):
        done = command("score", "truth.jsonl", "worse.jsonl", "--baseline", "before",
                       "--max-drop", "0.1", *saved)  # fmt: skip
        assert done.code == 2
        assert done.err == (
            "fieldmark: baseline before has different ground truth; "
            "score the baseline again with the same ground truth\n"
        )
    assert not (folder / "runs").exists()


EVAL = """
evaluators:
  - type: field_accuracy
    fields: [{{path: {path}}}]
cases:
  - {{id: x, expected: {{a: 1, b: 1}}, candidate: {{a: {a}, b: {b}}}}}
"""
NO_DROP = ["--baseline", "latest", "--max-drop", "0", "-q"]


@pytest.fixture
def two_files(folder, command):
    """Return a function that writes two eval files with these scores, and runs both."""

    def run(a, b, *options):
        (folder / "a.yaml").write_text(EVAL.format(path="a", a=a, b=b))
        (folder / "b.yaml").write_text(EVAL.format(path="b", a=a, b=b))
        return command("eval", "a.yaml", "b.yaml", *options)

    return run


def runs_by_eval(folder):
    manifests = [json.loads(each.read_text()) for each in folder.glob("runs/*/manifest.json")]
    return {each["eval"]: each for each in sorted(manifests, key=lambda each: each["sequence"])}


@pytest.mark.parametrize(
    ("second", "code"),
    [
        pytest.param((1, 1), 0, id="both-as-before"),
        pytest.param((0, 1), 1, id="first-file-is-worse"),
        pytest.param((1, 0), 1, id="second-file-is-worse"),
    ],
)
def test_latest_baseline_of_each_file_is_its_own_run_before_the_command(
    folder, two_files, second, code
):
    two_files(1, 1, "-q")
    first = runs_by_eval(folder)
    ids = {
        name: next(
            path.parent.name
            for path in folder.glob("runs/*/manifest.json")
            if json.loads(path.read_text())["sequence"] == each["sequence"]
        )
        for name, each in first.items()
    }
    done = two_files(*second, *NO_DROP)
    assert done.code == code
    for name, each in runs_by_eval(folder).items():
        assert each["sequence"] > first[name]["sequence"]
        assert each["options"]["baseline"].endswith(ids[name])


def test_latest_baseline_is_required_for_every_file_before_anything_is_run(
    folder, two_files, command
):
    done = two_files(1, 1, *NO_DROP)
    assert done.code == 2
    assert done.err == "".join(
        f"fieldmark: baseline 'latest' not found: no such complete run of {name!r}; "
        "run it without a baseline first\n"
        for name in ("a", "b")
    )
    assert not (folder / "runs").exists()
    assert command("eval", "a.yaml", "-q").code == 0
    done = two_files(1, 1, *NO_DROP)
    assert (done.code, "of 'b'" in done.err, "of 'a'" in done.err) == (2, True, False)
    assert set(runs_by_eval(folder)) == {"a"}


def test_tag_is_that_of_a_run_of_the_same_file(two_files, command):
    two_files(1, 1, "-q")
    for name in ("latest", "latest~1"):
        command("runs", name, "--add-tag", "main")
    two_files(0, 0, "-q")
    assert two_files(1, 1, "--baseline", "main", "--max-drop", "0", "-q").code == 0


def test_baseline_of_another_evaluation_is_rejected_before_anything_is_run(folder, two_files):
    two_files(1, 1, "--out", "runs", "-q")
    done = two_files(1, 1, "--out", "again", "--baseline", "runs/a", "--max-drop", "0", "-q")
    assert done.code == 2
    assert "baseline runs/a has different rules or a different convention" in done.err
    assert not (folder / "again").exists()


def test_baseline_with_other_evaluators_is_rejected(folder, command):
    plain = EVAL.format(path="a", a=1, b=1)
    (folder / "a.yaml").write_text(plain)
    assert command("eval", "a.yaml", "-q").code == 0
    further = "evaluators:\n  - {type: json_schema, schema: true}"
    (folder / "a.yaml").write_text(plain.replace("evaluators:", further))
    done = command("eval", "a.yaml", *NO_DROP)
    assert done.code == 2
    assert "has different evaluators; compare with a run of the same evaluation" in done.err


SELECTED = """evaluators:
  - {type: field_accuracy, fields: [{path: a}]}
cases:
  - {id: x-1, tags: [smoke], expected: {a: 1}, candidate: {a: 1}}
  - {id: x-2, tags: [smoke, slow], expected: {a: 1}, candidate: {a: 1}}
  - {id: y-1, tags: [slow], expected: {a: 1}, candidate: {a: 2}}
"""


@pytest.mark.parametrize(
    ("before", "after", "differs"),
    [
        pytest.param([], [], "", id="all-cases"),
        pytest.param(["--only", "smoke"], ["--only", "smoke"], "", id="same-tag"),
        pytest.param(
            ["--case", "x-1", "--case", "x-2"],
            ["--case", "x-2", "--case", "x-1"],
            "",
            id="order-does-not-matter",
        ),
        pytest.param(["--only", "smoke"], [], "--only smoke vs. all", id="baseline-by-tag"),
        pytest.param([], ["--only", "smoke"], "all vs. --only smoke", id="run-by-tag"),
        pytest.param(["--case", "x-*"], [], "--case x-* vs. all", id="baseline-by-id"),
        pytest.param(
            ["--only", "smoke"],
            ["--only", "slow", "--case", "x-*"],
            "--only smoke vs. --only slow --case x-*",
            id="other-tag",
        ),
    ],
)
@pytest.mark.parametrize("saved", [[], ["--no-save"]])
def test_baseline_with_another_selection_of_cases_is_rejected(
    folder, command, before, after, differs, saved
):
    (folder / "a.yaml").write_text(SELECTED)
    assert command("eval", "a.yaml", *before, "-q").code == 0
    done = command("eval", "a.yaml", *after, *saved, *NO_DROP)
    assert done.code == (2 if differs else 0)
    if differs:
        [line] = done.err.splitlines()
        assert f"has a different selection of cases ({differs}); " in line
