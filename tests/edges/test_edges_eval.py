"""`fieldmark eval`: cases, evaluators, gates, verdicts and exit codes."""

from __future__ import annotations

import json
import sys
from xml.etree.ElementTree import parse

import pytest

HEADER = "{name: header, type: field_accuracy, fields: [{path: total}, {path: vendor}]}"
FILES = f"""
name: invoices
cases: truth.jsonl
candidates: candidate.jsonl
evaluators:
  - {HEADER}
  - {{name: quality, type: response_quality, weight: 0}}
"""
INLINE = """
cases:
  - {id: a, tags: [smoke], expected: {total: 1}, candidate: {total: 1}}
  - {id: b, tags: [slow], expected: {total: 1}, candidate: '```json\\n{"total": 2}\\n```'}
  - {id: c, expected: {total: 1}, candidate: "I could not read it."}
  - {id: d, expected: {total: 1}}
evaluators: [{name: total, type: field_accuracy, fields: [{path: total}]}]
"""


@pytest.fixture
def evaluated(folder, command):
    """Run an eval file and return its output and result rows."""

    def run(text, *options):
        (folder / "a.eval.yaml").write_text(text, "utf-8")
        done = command("eval", "a.eval.yaml", "--out", "run", *options)
        results = folder / "run" / "results.jsonl"
        lines = results.read_text("utf-8").splitlines() if results.exists() else []
        return done, [json.loads(line) for line in lines]

    return run


def test_cases_and_candidates_from_files(folder, evaluated):
    done, rows = evaluated(FILES)
    assert done.code == 0
    assert [(row["case_id"], row["score"], row["verdict"]) for row in rows] == [
        ("a", 1.0, "pass"),
        ("b", 0.0, "fail"),
    ]
    assert [[each["name"] for each in row["evaluator_results"]] for row in rows] == [
        ["header", "quality"]
    ] * 2
    summary = json.loads((folder / "run" / "summary.json").read_text("utf-8"))
    assert summary["mean_score"] == 0.5
    assert summary["evaluators"]["header"] == {
        "mean_score": 0.5,
        "scored": 2,
        "errors": 0,
        "vacuous": 0,
        "verdicts": {"pass": 1, "partial": 0, "fail": 1},
    }
    manifest = json.loads((folder / "run" / "manifest.json").read_text("utf-8"))
    assert manifest["eval"] == "invoices"
    assert [each["name"] for each in manifest["inputs"]] == [
        "a.eval.yaml",
        "truth.jsonl",
        "candidate.jsonl",
    ]


def test_inline_cases_with_model_output(evaluated):
    done, rows = evaluated(INLINE)
    assert done.code == 0
    assert [(row["case_id"], row["score"], row.get("input", "ok")) for row in rows] == [
        ("a", 1.0, "ok"),
        ("b", 0.0, "ok"),
        ("c", 0.0, "parse_error"),
        ("d", 0.0, "missing"),
    ]


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        pytest.param(["--only", "smoke"], ["a"], id="by-tag"),
        pytest.param(["--only", "smoke", "--only", "slow"], ["a", "b"], id="one-of-two-tags"),
        pytest.param(["--case", "b"], ["b"], id="by-id"),
        pytest.param(["--case", "?"], ["a", "b", "c", "d"], id="by-pattern"),
        pytest.param(["--case", "*", "--only", "slow"], ["b"], id="by-both"),
    ],
)
def test_only_selected_cases_are_run(evaluated, options, ids):
    done, rows = evaluated(INLINE, *options)
    assert done.code == 0
    assert [row["case_id"] for row in rows] == ids


def test_unknown_tag_is_rejected(evaluated):
    done, _ = evaluated(INLINE, "--only", "smok")
    assert done.code == 2
    assert "no case has the tag 'smok'; did you mean 'smoke'?" in done.err


NO_TRUTH = """
cases:
  - {id: a, candidate: {net: 1, total: 3}}
  - {id: b, candidate: {net: 1, total: 9}}
evaluators:
  - {name: sums, type: constraints, rules: [net + 2 == total]}
"""
FILE = """
cases: predictions.jsonl
evaluators:
  - {name: sums, type: constraints, rules: [net + 2 == total]}
  - {name: shape, type: json_schema, schema: {required: [net]}}
"""
PREDICTIONS = [
    {"id": "a", "candidate": {"net": 1, "total": 3}, "tags": ["smoke"]},
    {"id": "b", "candidate": 'So: {"net": 1, "total": 9}'},
]


def write_predictions(folder, rows=PREDICTIONS):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "predictions.jsonl").write_text(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(
            ["--case", "q*"],
            "no case selected from 2: case q*; check the selected tags and ids",
            id="no-match",
        ),
        pytest.param(
            ["--case", "q*", "--case", "a"], "no case id matches 'q*'", id="one-of-two-ids"
        ),
        pytest.param(
            ["--only", "smok", "--only", "smoke"],
            "no case has the tag 'smok'",
            id="one-of-two-tags",
        ),
    ],
)
def test_selection_without_cases_is_reported(folder, evaluated, options, message):
    write_predictions(folder, [{**row, "expected": {}} for row in PREDICTIONS])
    done, _ = evaluated(FILE, *options, "--quiet")
    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize("text", [NO_TRUTH, FILE], ids=["inline", "file"])
def test_evaluators_of_predictions_need_no_truth(folder, evaluated, text):
    write_predictions(folder)
    done, rows = evaluated(text)
    assert done.code == 0, done.err
    sums = [row["evaluator_results"][0]["score"] for row in rows]
    assert sums == [1.0, 0.0]
    assert json.loads((folder / "run" / "summary.json").read_bytes())["attributes"] == {}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param("{name: x, type: field_accuracy, fields: [{path: net}]}", id="fields"),
        pytest.param("{name: x, type: constraints, rules: [$expected.net == net]}", id="rule"),
    ],
)
def test_evaluator_with_truth_requires_it_in_every_case(evaluated, other):
    done, _ = evaluated(f"{NO_TRUTH}  - {other}\n")
    assert done.code == 2
    assert done.err.count("case: 'expected' is required") == 2


def test_cases_with_nothing_to_score_are_reported(evaluated):
    text = NO_TRUTH.replace("net + 2 == total", "gross + 2 == taxes")
    done, _ = evaluated(text)
    assert "2 cases had nothing to score and passed by default" in done.out


OWN = """
cases:
  - {id: a, expected: {total: 1, vendor: x}, candidate: {total: 1, vendor: x}}
  - id: b
    expected: {total: 1, vendor: x}
    candidate: {total: 1, vendor: y}
    evaluators: [{name: own, type: field_accuracy, fields: [{path: vendor}]}]
evaluators: [{name: header, type: field_accuracy, fields: [{path: total}]}]
"""


@pytest.mark.parametrize(
    ("gate", "code", "message"),
    [
        pytest.param(
            "evaluators.own.mean_score=0.5", 1, "evaluators.own.mean_score is 0", id="failed"
        ),
        pytest.param("evaluators.own.mean_score=0", 0, "", id="passed"),
        pytest.param("evaluators.on.mean_score=0", 2, "evaluators.own.mean_score", id="misspelled"),
        pytest.param(
            "attributes.vendor.recall=0.9", 1, "attributes.vendor.recall is 0.0000", id="attribute"
        ),
    ],
)
def test_gates_on_evaluators_of_single_cases(evaluated, gate, code, message):
    done, _ = evaluated(OWN, "--min", gate, "--quiet")
    assert done.code == code, done.err
    assert message in done.err


@pytest.mark.parametrize(
    ("options", "code", "word"),
    [
        pytest.param([], 0, "a: no gates", id="no-gate"),
        pytest.param(["--min", "mean_score=0.2"], 0, "passed", id="gate-passed"),
        pytest.param(["--min", "mean_score=0.9"], 1, "failed: a gate failed", id="gate-failed"),
        pytest.param(
            ["--min", "evaluators.total.mean_score=0.9"], 1, "gate", id="gate-on-an-evaluator"
        ),
    ],
)
def test_verdict_agrees_with_the_exit_code(evaluated, options, code, word):
    done, _ = evaluated(INLINE, *options)
    assert done.code == code
    assert word in done.err.splitlines()[-1]


def test_gate_of_the_eval_file_is_checked(evaluated):
    done, _ = evaluated(f"{FILES}gates: {{min: {{mean_score: 0.9}}}}\n")
    assert done.code == 1
    assert "gate failed: mean_score" in done.out


def test_misspelled_gate_is_rejected_before_the_run(folder, evaluated):
    done, rows = evaluated(f"{FILES}gates: {{min: {{evaluators.heder.mean_score: 0.9}}}}\n")
    assert (done.code, rows) == (2, [])
    assert "heder" in done.err


MISSPELLED = """
cases: [{id: a, expected: {total: 1}, candidate: {total: 1}}]
evaluators: [{name: header, type: field_accuracy, fields: [{path: totla}, {path: tottal}]}]
"""
NO_PATH = (
    "no document has any of its paths: "
    "'totla' (did you mean 'total'?), 'tottal' (did you mean 'total'?)"
)


@pytest.mark.parametrize(
    ("options", "stream", "text"),
    [
        pytest.param([], "out", f"error: header: {NO_PATH}", id="table"),
        pytest.param(["--quiet"], "err", f"fieldmark: error: header: {NO_PATH}\n", id="quiet"),
        pytest.param(
            ["--format", "markdown"], "out", "- error: header: no document", id="markdown"
        ),
        pytest.param(["--format", "json"], "err", f"error: header: {NO_PATH}", id="json"),
        pytest.param(["--format", "csv"], "err", f"error: header: {NO_PATH}", id="csv"),
    ],
)
def test_evaluator_that_finds_none_of_its_paths_fails_the_run(
    folder, evaluated, options, stream, text
):
    done, [row] = evaluated(MISSPELLED, "--junit", "junit.xml", *options)
    assert done.code == 3
    assert text in getattr(done, stream)
    summary = json.loads((folder / "run" / "summary.json").read_text("utf-8"))
    assert (summary["passed"], summary["failures"]) == (False, ["failed_evaluator"])
    assert summary["evaluators"]["header"]["error"] == NO_PATH
    assert row["vacuous"] is row["evaluator_results"][0]["vacuous"] is True
    suite = parse(folder / "junit.xml").getroot()  # noqa: S314 - our own file
    assert (suite.attrib["tests"], suite.attrib["errors"]) == ("2", "1")


def test_failed_evaluator_is_an_annotation(evaluated, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    done, _ = evaluated(MISSPELLED, "--quiet")
    [line] = [line for line in done.err.splitlines() if line.startswith("::")]
    assert line == f"::error file=a.eval.yaml,title=evaluator failed::header: {NO_PATH}"


def test_junit_contains_cases_and_gates(folder, evaluated):
    evaluated(INLINE, "--junit", "junit.xml", "--min", "mean_score=0.9")
    suite = parse(folder / "junit.xml").getroot()  # noqa: S314 - our own file
    assert dict(suite.attrib) == {"name": "a", "tests": "5", "failures": "4", "errors": "0"}


def test_junit_failures_contain_the_misses_of_judges(folder, evaluated):
    response = json.dumps({"score": 0, "misses": ["too short"]})
    judge = {"type": "code_judge", "script": [sys.executable, "-c", f"print({response!r})"]}
    case = {"id": "a", "expected": {"total": 1}, "candidate": {"total": 1}}
    evaluated(json.dumps({"cases": [case], "evaluators": [judge]}), "--junit", "junit.xml")
    suite = parse(folder / "junit.xml").getroot()  # noqa: S314 - our own file
    assert [failure.text for failure in suite.iter("failure")] == ["too short"]


def test_github_annotations_in_github_workflows(evaluated, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    done, _ = evaluated(INLINE, "--min", "mean_score=0.9", "--quiet")
    lines = [line for line in done.err.splitlines() if line.startswith("::")]
    assert lines[0].startswith("::error file=a.eval.yaml,title=gate failed::mean_score")
    assert lines[1] == "::warning file=a.eval.yaml,title=case b%3A fail::total"


def test_eval_file_without_candidates_is_rejected(evaluated):
    done, _ = evaluated(
        "cases: [{id: a, expected: {a: 1}}]\nevaluators: [{type: constraints, rules: [a > 0]}]"
    )
    assert done.code == 2
    assert "no predictions; add candidates: FILE, target:, or candidate: in each case" in done.err


def test_case_with_its_own_evaluators(evaluated):
    text = """
cases:
  - {id: a, expected: {t: 1}, candidate: {t: 1}}
  - {id: b, expected: {t: 1}, candidate: {t: 1},
     evaluators: [{name: extra, type: constraints, rules: ["t > 5"]}]}
  - {id: c, expected: {t: 1}, candidate: {t: 1}, only_own: true,
     evaluators: [{name: alone, type: constraints, rules: ["t > 0"]}]}
evaluators: [{name: t, type: field_accuracy, fields: [{path: t}]}]
"""
    done, rows = evaluated(text)
    assert done.code == 0, done.err
    names = [[each["name"] for each in row["evaluator_results"]] for row in rows]
    assert names == [["t"], ["t", "extra"], ["alone"]]
    assert [row["score"] for row in rows] == [1.0, 0.5, 1.0]


def test_several_files_have_separate_runs(folder, command):
    for name in ("one", "two"):
        (folder / f"{name}.eval.yaml").write_text(FILES.replace("name: invoices", f"name: {name}"))
    done = command("eval", "one.eval.yaml", "two.eval.yaml", "--out", "runs")
    assert done.code == 0
    assert sorted(path.name for path in (folder / "runs").iterdir()) == ["one", "two"]


def judge(folder, name, code):
    text = f"import json, sys; json.load(sys.stdin); {code}"
    (folder / f"{name}.py").write_text(text, "utf-8")
    return f"{{name: house, type: code_judge, script: [python, {name}.py]}}"


def test_judge_of_a_case_with_the_name_of_a_judge_of_the_file(folder, evaluated):
    usual = judge(folder, "usual", "print('{\"score\": 1.0}')")
    own = judge(folder, "own", "print('{\"score\": 0.5}')")
    done, rows = evaluated(f"""
cases:
  - {{id: a, expected: {{t: 1}}, candidate: {{t: 1}}}}
  - {{id: b, expected: {{t: 1}}, candidate: {{t: 1}}, evaluators: [{own}]}}
evaluators: [{usual}]
""")
    assert done.code == 0, done.err
    assert [row["score"] for row in rows] == [1.0, 0.5]


def test_reason_of_a_judge_error_is_printed(folder, evaluated):
    done, _ = evaluated(f"{FILES}  - {judge(folder, 'bad', 'sys.exit(4)')}\n")
    assert done.code == 3
    assert "exited with code 4" in done.out


def test_json_output_contains_nothing_else(evaluated, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    done, _ = evaluated(INLINE, "--format", "json")
    assert json.loads(done.out)["cases"]["total"] == 4


def test_junit_contains_cases_with_unreadable_truth(folder, evaluated):
    (folder / "truth.jsonl").write_text('{"id": "a", "expected": {"total": 1}}\n{"id": "b"}\n')
    done, _ = evaluated(FILES, "--junit", "junit.xml")
    assert done.code == 2
    suite = parse(folder / "junit.xml").getroot()  # noqa: S314 - our own file
    assert (suite.get("tests"), suite.get("errors")) == ("2", "1")


def test_files_with_the_same_name_have_separate_directories(folder, command):
    for name in ("x", "y"):
        (folder / name).mkdir()
        (folder / name / "g.eval.yaml").write_text(INLINE, "utf-8")
    done = command("eval", "x/g.eval.yaml", "y/g.eval.yaml", "--out", "runs")
    assert done.code == 0, done.err
    assert sorted(path.name for path in (folder / "runs").iterdir()) == ["g", "g-2"]


def test_nothing_runs_if_one_file_is_invalid(folder, command):
    (folder / "good.eval.yaml").write_text(FILES, "utf-8")
    (folder / "bad.eval.yaml").write_text(
        FILES + "  - {name: j, type: code_judge, script: [no-such-program]}\n", "utf-8"
    )
    done = command("eval", "good.eval.yaml", "bad.eval.yaml", "--out", "runs")
    assert done.code == 2
    assert not (folder / "runs").exists()


def test_unwritable_junit_file_is_reported_before_the_run(folder, evaluated):
    done, rows = evaluated(INLINE, "--junit", "nowhere/junit.xml")
    assert (done.code, rows) == (74, [])


@pytest.mark.parametrize(
    "options",
    [["--min", "mean_score=0.9"], ["--only", "x"], ["--out", "y"], ["--no-values"], ["--no-save"]],
)
def test_resume_rejects_options_stored_with_the_run(command, evaluated, options):
    evaluated(INLINE)
    done = command("eval", "--resume", "run", *options)
    assert done.code == 2
    assert done.err == (
        "fieldmark: --resume uses the inputs and options that are stored with the run; "
        f"remove {options[0]}\n"
    )
