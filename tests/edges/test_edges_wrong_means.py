"""Results that looked right and were wrong, through every interface that shows them."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from fieldmark.analyses.judge import as_judge
from fieldmark.analyses.report import html_report
from row_files import lines
from unit.web.live_server import read_only_server  # noqa: F401

# --- vacuous cases in means -----------------------------------------------------------------------

ITEM = {"description": "Bolts"}
LISTS = [
    *({"id": str(n), "expected": {"line_items": []}, "candidate": {"line_items": []}} for n in range(9)),
    {"id": "9", "expected": {"line_items": [ITEM]}, "candidate": {"line_items": []}},
]  # fmt: skip
OMITTED = [{"id": str(n), "expected": {"note": "x"}, "candidate": {"total": 1}} for n in range(3)]
OPTIONAL = {"type": "field_accuracy", "fields": [{"path": "note", "required": False}]}
METRICS = {"type": "extraction_metrics"}


def eval_of(evaluator, cases, **limits):
    """Return an eval file with one evaluator as data."""
    return {"evaluators": [evaluator], "cases": cases, **({"gates": limits} if limits else {})}


def empty_and_wrong(empty, *, wrong=1):
    """Return rows without any value, and rows whose only value is wrong."""
    return [
        *({"id": f"e{n}", "expected": {}, "candidate": {}} for n in range(empty)),
        *({"id": f"w{n}", "expected": {"a": 1}, "candidate": {"a": 2}} for n in range(wrong)),
    ]


def scored(rows, **options):
    """Score rows with both documents."""
    return fm.score([(row["expected"], row["candidate"]) for row in rows], **options)


def test_vacuous_lists_do_not_raise_the_mean_score(folder, command):
    file = eval_of({"type": "line_items"}, LISTS, min={"mean_score": 0.9})
    run = fm.evaluate(file)
    assert (run.mean_score, run.passed) == (0.0, False)
    assert run.summary.evaluators["line_items"].mean_score == 0.0
    assert run.summary.cases.vacuous == 9
    (folder / "lists.eval.yaml").write_text(json.dumps(file), "utf-8")
    done = command("eval", "lists.eval.yaml", "--no-save", "--quiet")
    assert done.code == 1
    assert "gate failed: mean_score is 0.0000" in done.err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        pytest.param([], "mean score (evaluators)                       0.000  9 vacuous cases", id="table"),
        pytest.param([], "line_items  0.000 (9 vacuous cases)", id="evaluators"),
        pytest.param(["--format", "markdown"], "mean score 0.000 (9 vacuous cases)", id="markdown"),
    ],
)  # fmt: skip
def test_number_of_vacuous_cases_stands_beside_means(folder, command, words, text):
    (folder / "lists.eval.yaml").write_text(json.dumps(eval_of({"type": "line_items"}, LISTS)))
    assert text in command("eval", "lists.eval.yaml", "--no-save", *words).out


def test_number_of_vacuous_cases_is_in_the_report_and_the_runs_of_a_diff(tmp_path):
    first, second = (
        scored([*empty_and_wrong(2), {"expected": {"a": 1}, "candidate": {"a": value}}], out=tmp_path / name)
        for name, value in (("first", 1), ("second", 2))
    )  # fmt: skip
    page = html_report(first.path).decode("utf-8")
    assert page.count("2 vacuous cases") >= 2
    compared = fm.diff(first, second)
    change = compared.metrics.headline["mean_score"]
    assert (change.before, change.after) == (0.5, 0.0)
    assert compared.note("mean_score") == "vacuous cases: 2 before, 2 after"
    assert fm.rank([first, second]).runs[0].value == 0.5


@pytest.mark.parametrize(
    ("convention", "mean", "by_case"),
    [
        pytest.param("confusion", 0.0, 0.0, id="confusion"),
        pytest.param("field_accuracy", 0.0, 0.0, id="field-accuracy"),
        pytest.param("taxonomy", 0.0, 0.0, id="taxonomy"),
        pytest.param("taxonomy_code", 0.0, 0.0, id="taxonomy-code"),
    ],
)
def test_only_taxonomy_counts_vacuous_cases_as_0(convention, mean, by_case):
    run = scored(empty_and_wrong(9), convention=convention)
    assert (run.mean_score, run.summary.macro_f1_by_case) == (mean, by_case)
    right = scored([*empty_and_wrong(1, wrong=0), {"expected": {"a": 1}, "candidate": {"a": 1}}], convention=convention)  # fmt: skip
    assert right.mean_score == (0.5 if convention.startswith("taxonomy") else 1.0)
    assert right.summary.macro_f1_by_case == right.mean_score


def test_slices_groups_and_intervals_leave_vacuous_cases_out():
    rows = [
        {"id": f"{fold}{n}", "tags": [fold], "expected": document, "candidate": candidate}
        for fold in "ab"
        for n, (document, candidate) in enumerate([({}, {})] * 8 + [({"x": 1}, {"x": 2})] * 2)
    ]
    run = fm.score(rows, by="tag", intervals=True)
    assert run.summary.slices["tag=a"].mean_score == 0.0
    assert run.summary.group_means()["tag"].mean["mean_score"] == 0.0
    four = scored(empty_and_wrong(0, wrong=4), intervals=True).summary.intervals.metrics[
        "mean_score"
    ]
    # The resamples differ; as cases, the vacuous ones would make the interval much narrower.
    assert run.summary.intervals.metrics["mean_score"] == pytest.approx(four, rel=0.01)


def test_rescored_run_leaves_vacuous_cases_out(tmp_path):
    run = scored(empty_and_wrong(9), out=tmp_path / "run")
    assert fm.rescore(run, options={"wrong_value": "fp"}).mean_score == 0.0


def test_quality_of_an_evaluator_leaves_vacuous_cases_out():
    run = fm.evaluate(eval_of({"type": "response_quality"}, empty_and_wrong(9)))
    assert run.summary.quality.accuracy == 0.0
    assert run.summary.evaluators["response_quality"].mean_score == run.summary.quality.rqs
    assert run.summary.vacuous_cases["rqs"] == 9


def test_mean_without_a_case_that_is_not_vacuous_passes_no_gate():
    run = fm.evaluate(eval_of(OPTIONAL, OMITTED, min={"mean_score": 0.9}))
    assert (run.mean_score, run.passed) == (1.0, False)
    assert [gate.note for gate in run.summary.gates] == ["nothing was scored"]


# --- misspelled paths -----------------------------------------------------------------------------

PAIR = {"id": "a", "expected": {"invoice": {"total": 1, "no": 7}}, "candidate": {"invoice": {"total": 2, "no": 7}}}  # fmt: skip
RULES = "gates: {min: {mean_score: 0}}\nfields: [{path: invoice.totl}, {path: invoice.no}]\n"
MISSING = "no document has 'invoice.totl'; did you mean 'invoice.total'?"


@pytest.fixture
def misspelled(folder):
    """The current directory with a row, a rules file and an eval file whose path is misspelled."""
    (folder / "rows.jsonl").write_text(lines([PAIR]), "utf-8")
    (folder / "rules.yaml").write_text(RULES, "utf-8")
    fields = [{"path": "invoice.totl"}, {"path": "invoice.no"}]
    file = eval_of(
        {"type": "field_accuracy", "fields": fields}, "rows.jsonl", min={"mean_score": 0}
    )
    (folder / "own.eval.yaml").write_text(json.dumps(file), "utf-8")
    return folder


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["score", "rows.jsonl", "--rules", "rules.yaml"], id="score"),
        pytest.param(["eval", "own.eval.yaml"], id="eval"),
    ],
)
def test_misspelled_path_fails_every_gate_and_is_not_silenced(misspelled, command, words):
    done = command(*words, "--no-save", "--quiet")
    assert done.code == 1
    assert done.err.count(MISSING) == 2
    assert f"gate failed: mean_score is {done.err.split(' is ')[1][:6]}" in done.err


def test_misspelled_path_is_a_failed_gate_in_the_result(misspelled):
    pair = (PAIR["expected"], PAIR["candidate"])
    run = fm.score([pair], rules="rules.yaml", out="run")
    assert not run.passed
    assert [(gate.passed, gate.note) for gate in run.summary.gates] == [(False, MISSING)]
    assert run.to_dict()["missing_paths"] == [{"path": "invoice.totl", "nearest": "invoice.total"}]
    assert any(MISSING in text for text in run.summary.structural_warnings)
    assert not fm.rescore("run", min={"micro_f1": 0}).passed
    dropped = fm.score([pair], rules="rules.yaml", baseline="run", max_drop={"mean_score": 0.5})
    assert [gate.passed for gate in dropped.summary.gates] == [False, False]


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param("fields: [{path: invoice.totl}, {path: invoice.no}]", id="without-gates"),
        pytest.param(RULES.replace("totl}", "totl, required: false}"), id="optional"),
        pytest.param(RULES.replace("totl}", "totl, match: ignore}"), id="ignored"),
    ],
)
def test_missing_path_is_only_a_warning(misspelled, command, rules):
    (misspelled / "rules.yaml").write_text(rules, "utf-8")
    done = command("score", "rows.jsonl", "--rules", "rules.yaml", "--no-save", "--format", "json")
    assert done.code == 0
    assert any(MISSING in text for text in json.loads(done.out)["warnings"])


@pytest.mark.parametrize("optional", [False, True])
def test_strict_makes_a_missing_path_an_error_if_it_is_required(misspelled, command, optional):
    rules = RULES.replace("totl}", "totl, required: false}") if optional else RULES
    (misspelled / "rules.yaml").write_text(f"strict: true\n{rules}", "utf-8")
    done = command("score", "rows.jsonl", "--rules", "rules.yaml", "--no-save")
    assert done.code == (0 if optional else 2)
    assert (f"rules.yaml:3:17: {MISSING}" in done.err) is not optional


def test_evaluator_without_any_existing_path_fails_the_run_and_has_no_hits():
    evaluator = {"type": "field_confusion", "fields": [{"path": "invoice.totl"}]}
    run = fm.evaluate(eval_of(evaluator, [PAIR]))
    assert run.summary.evaluators["field_confusion"].error
    assert not run.passed
    (case,) = run.cases
    assert (case.hits, case.vacuous) == ((), True)


@pytest.mark.parametrize(
    ("name", "options", "path"),
    [
        pytest.param("field_accuracy", {"fields": [{"path": "totl"}, {"path": "no"}]}, "totl", id="field-accuracy"),
        pytest.param("field_confusion", {"fields": [{"path": "totl"}, {"path": "no"}]}, "totl", id="field-confusion"),
        pytest.param("line_items", {"path": "itms"}, "itms", id="line-items"),
        pytest.param("iou_score", {"path": "bx"}, "bx", id="iou-score"),
    ],
)  # fmt: skip
def test_judge_answers_a_path_of_neither_document_with_an_error(name, options, path):
    document = {"total": 1, "no": 7, "items": [], "box": [0, 0, 1, 1]}
    request = json.dumps({"expected": document, "candidate": document}).encode()
    response = as_judge(name, request, options)
    assert (response["status"], response["score"]) == ("error", None)
    assert response["reasoning"].startswith(f"no document has {path!r}")


@pytest.mark.parametrize(
    ("document", "field"),
    [
        pytest.param({"a": 1}, {"path": "b", "required": False}, id="optional"),
        pytest.param({"a": 1, "b": None}, {"path": "b.c"}, id="below-null"),
        pytest.param({"a": 1, "b": []}, {"path": "b[*].c"}, id="in-an-empty-list"),
    ],
)
def test_judge_and_assertion_accept_a_path_that_other_documents_may_have(document, field):
    request = json.dumps({"expected": document, "candidate": document}).encode()
    response = as_judge("field_accuracy", request, {"fields": [{"path": "a"}, field]})
    assert (response["status"], response["hits"][0]) == ("ok", "a")
    fm.assert_extraction(document, document, rules={"fields": [field]})


def test_assertion_fails_for_a_path_of_neither_document():
    with pytest.raises(AssertionError, match="no document has 'totl'; did you mean 'total'"):
        fm.assert_extraction({"total": 1}, {"total": 1}, rules={"totl": "exact"})


def test_pair_sent_to_the_server_has_a_warning(read_only_server):  # noqa: F811
    body = {"expected": {"total": 1}, "candidate": {"total": 1}, "rules": {"totl": "exact"}}
    response = read_only_server.client.post("/api/evaluate", json=body).json()
    assert "no document has 'totl'; did you mean 'total'?" in response["warnings"]


def test_batch_of_the_server_fails_for_a_misspelled_path(read_only_server):  # noqa: F811
    rules = {"fields": [{"path": "invoice.totl"}, {"path": "invoice.no"}]}
    job = read_only_server.batch({"rows": [PAIR]}, rules=rules, gates={"min": {"mean_score": 0}})
    run = read_only_server.get(f"/api/runs/{job['result']['run']}")
    assert run["summary"]["passed"] is False
    assert [gate["note"] for gate in run["summary"]["gates"]] == [MISSING]


def test_validate_says_that_paths_are_not_checked(misspelled, command):
    out = command("validate", "rules.yaml").out
    assert out.endswith("2 rules; paths not checked against documents\n")
