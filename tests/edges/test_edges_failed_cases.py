"""An outage is never a good result: every fault, and every place that shows metrics of its run.

Twelve cases with two fields each are evaluated, while something fails for six of them.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

import fieldmark as fm
from edges.llm_server import Exchange, isolate, serving, status
from fieldmark.analyses.runs import TrendOptions
from fieldmark.analyses.saved_run import stored_run
from fieldmark.report.html.metrics import metrics_view
from fieldmark.report.html.view import view_of
from fieldmark.report.shown_run import ShownRun
from row_files import write_rows
from unit.web.live_server import live

CASES = 12
FAILED = 6
NOTE = "6 of 12 cases failed"
VENDORS = {"type": "object", "properties": {"n": {"type": "integer"}, "vendor": {"type": "string"}}}


@pytest.fixture(autouse=True)
def _isolated(monkeypatch, tmp_path):
    isolate(monkeypatch, tmp_path / "cache")


def document(number: int) -> dict:
    return {"n": number, "vendor": f"Vendor {number}"}


def prediction(number: int) -> dict:
    """One scored case has a mistake, so that no metric is perfect."""
    return document(number) if number else {**document(number), "vendor": "other"}


def number_in(exchange: Exchange) -> int:
    return int(exchange.prompt.split()[-1])


def late(exchange: Exchange) -> None:
    exchange.handler.server.late.wait(5)


TARGET_FAULTS = {
    "429": status(429),
    "500": status(500),
    "401": status(401),
    "quota": status(429, {"error": {"message": "exceeded", "code": "insufficient_quota"}}),
    "cut-connection": Exchange.cut,
    "cut-answer": lambda exchange: exchange.respond('{"n": 1, "ven', finish="length"),
}
UNREADABLE = {
    "refusal": lambda exchange: exchange.respond(None, refusal="I cannot help with that"),
    "filtered-answer": lambda exchange: exchange.respond("", finish="content_filter"),
    "filtered-request": status(400, {"error": {"message": "blocked", "code": "content_filter"}}),
    "prose": lambda exchange: exchange.respond("I am sorry, there is nothing to see here."),
    "truncated-json": lambda exchange: exchange.respond('{"n": 1, "vendor": "Ven'),
    "empty": lambda exchange: exchange.respond(""),
}


def eval_file(folder, **parts) -> str:
    cases = [
        {"id": f"c{number:02}", "input": {"text": str(number)}, "expected": document(number)}
        for number in range(CASES)
    ]
    spec = {"name": "t", "cases": cases, **parts}
    (folder / "t.eval.json").write_text(json.dumps(spec), "utf-8")
    return "t.eval.json"


def answering(fault):
    """Answer with the prediction, but fail for the second half of the cases."""

    def script(exchange: Exchange) -> None:
        number = number_in(exchange)
        if number >= FAILED:
            fault(exchange)
        else:
            exchange.respond(json.dumps(prediction(number)))

    return script


def target_eval(folder, url, **chat) -> str:
    chat = {"model": "m", "base_url": url, "prompt": "Read {{input.text}}", "retries": 0, **chat}
    return eval_file(folder, target={"chat": chat})


# --- the faults: each is a function that prepares a run and returns the words of its command -------


def failing_target(fault):
    def prepare(folder, url, server):
        server.script = answering(TARGET_FAULTS[fault])
        return ["eval", target_eval(folder, url, concurrency=1)]

    return prepare


def used_up_budget(folder, url, server):
    """The first half of the cases is answered, the other half is not."""
    server.script = lambda exchange: exchange.respond(json.dumps(prediction(number_in(exchange))))
    return ["eval", target_eval(folder, url, max_calls=CASES - FAILED, concurrency=1)]


def judged_rows(folder, **rules):
    """Predictions of which a model judges one field."""
    truth = [{"id": f"c{n:02}", **document(n)} for n in range(CASES)]
    found = [{"id": f"c{n:02}", **prediction(n)} for n in range(CASES)]
    write_rows(folder / "t.jsonl", truth)
    write_rows(folder / "p.jsonl", found)
    (folder / "rules.json").write_text(json.dumps(rules), "utf-8")
    return ["score", "t.jsonl", "p.jsonl", "--rules", "rules.json"]


def safety_down(folder, url, server):
    def grade(exchange):
        if exchange.data["answer"]["n"] >= FAILED:
            exchange.json({"error": {"message": "down"}}, 500)
        else:
            exchange.succeed(1.0)

    server.script = grade
    safety = {"type": "llm", "model": "m", "base_url": url, "retries": 0, "concurrency": 1}
    return judged_rows(folder, safety=safety)


JUDGE_FAULTS = {
    "killed": "os.kill(os.getpid(), 9)",
    "nan": "print('{\"score\": NaN}')",
    "out-of-range": "print('{\"score\": 1.7}')",
    "cut-json": "print('{\"score\": 0.')",
    "exit-code": "sys.exit(4)",
    "time-out": "time.sleep(60)",
}


def code_judge(fault):
    def prepare(folder, url, server):
        body = (
            "import json, os, sys, time\n"
            "request = json.load(sys.stdin)\n"
            f"if request['expected']['n'] >= {FAILED}:\n"
            f"    {JUDGE_FAULTS[fault]}\n"
            "else:\n"
            "    right = request['expected'] == request['candidate']\n"
            "    print(json.dumps({'score': 1.0 if right else 0.5}))\n"
        )
        (folder / "judge.py").write_text(body, "utf-8")
        judge = {"name": "judge", "type": "code_judge", "script": [sys.executable, "judge.py"]}
        judge |= {"timeout": 1.0} if fault == "time-out" else {}
        cases = [
            {"id": f"c{n:02}", "expected": document(n), "candidate": prediction(n)}
            for n in range(CASES)
        ]
        spec = {"name": "t", "cases": cases, "evaluators": [judge]}
        (folder / "t.eval.json").write_text(json.dumps(spec), "utf-8")
        return ["eval", "t.eval.json"]

    return prepare


FAULTS = {
    **{f"target-{fault}": failing_target(fault) for fault in TARGET_FAULTS},
    "target-budget": used_up_budget,
    "safety-500": safety_down,
    **{f"judge-{fault}": code_judge(fault) for fault in JUDGE_FAULTS},
}


@pytest.fixture
def server():
    with serving() as running:
        yield running


def metrics_of(folder, run="run"):
    return json.loads((folder / run / "summary.json").read_text("utf-8"))


@pytest.mark.parametrize("fault", FAULTS)
def test_failed_cases_are_in_no_metric_and_every_output_says_so(fault, folder, command, server):
    words = FAULTS[fault](folder, server.url, server)
    done = command(*words, "--out", "run")
    assert done.code == 3, done
    assert NOTE in done.out + done.err
    metrics = metrics_of(folder)
    assert metrics["cases"]["errors"] == FAILED
    assert metrics["cases"]["scored"] == CASES - FAILED
    bounds = metrics["bounds"]
    assert (bounds["failed"], bounds["of"]) == (FAILED, CASES)
    scored = [case for case in fm.open_run("run").cases if case.score is not None]
    assert len(scored) == CASES - FAILED
    expected = fm.score(
        [document(case.expected["n"]) for case in scored],
        [prediction(case.expected["n"]) for case in scored],
    )
    micro = {name: metrics["micro"][name] for name in ("tp", "fp", "fn")}
    assert micro == {name: getattr(expected.micro, name) for name in micro}
    assert metrics["mean_score"] == pytest.approx(sum(case.score for case in scored) / len(scored))
    low, high = bounds["low"], bounds["high"]
    assert low["mean_score"] <= high["mean_score"]
    assert low["micro"]["f1"] <= high["micro"]["f1"]
    # eval-results.json counts the same cases.
    assert command("report", "run", "--as", "eval-results", "--out", "e.json").code == 0
    aggregate = json.loads((folder / "e.json").read_text("utf-8"))["aggregate"]
    assert aggregate["eval_count"] == CASES - FAILED
    assert [aggregate[f"total_{name}"] for name in (
        "true_positives", "false_positives", "false_negatives")] == [*micro.values()]  # fmt: skip
    # Each output has the note, and the bounds beside the metrics.
    for name in ("markdown", "json"):
        assert command("report", "run", "--as", name, "--out", f"r.{name}").code == 0
    assert NOTE in (folder / "r.markdown").read_text("utf-8")
    assert "with failed cases" in (folder / "r.markdown").read_text("utf-8")
    assert json.loads((folder / "r.json").read_text("utf-8"))["summary"]["bounds"] == bounds
    assert command("report", "run", "--out", "r.html").code == 0
    assert NOTE in (folder / "r.html").read_text("utf-8")
    view = metrics_view(fm.open_run("run").summary)
    assert NOTE in view["failed"]
    assert view["verdict"] == "error"
    tile = next(tile for tile in view["tiles"] if tile["label"] == "Mean score")
    assert "with failed cases" in tile["note"]
    assert tile["is_result"] is False
    assert command("report", "run", "--as", "csv", "--out", "a.csv").code == 0
    header = (folder / "a.csv").read_text("utf-8").splitlines()[0]
    assert '"f1_low","f1_high"' in header


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("allowed", [pytest.param((), id="no-errors"), pytest.param(("--max-errors", 99), id="max-errors")])  # fmt: skip
def test_gate_is_checked_at_the_less_favorable_bound(fault, allowed, folder, command, server):
    words = FAULTS[fault](folder, server.url, server)
    limit = {"safety-500": "safety=0.9"}.get(fault, "mean_score=0.8")
    done = command(*words, "--no-save", *allowed, "--min", limit)
    assert done.code == (1 if allowed else 3), done
    name, _, bound = limit.partition("=")
    assert f"gate failed: {name} is between 0." in done.out
    assert f"({NOTE}), must be at least {bound}" in done.out
    shutil.rmtree(folder / "cache", ignore_errors=True)
    reachable = command(*words, "--no-save", *allowed, "--min", f"{name}=0.2")
    assert reachable.code == (0 if allowed else 3), reachable


def test_prediction_that_could_not_be_produced_may_have_extra_fields(folder, command, server):
    words = FAULTS["target-500"](folder, server.url, server)
    done = command(*words, "--out", "run", "--max-errors", 99, "--max", "hallucination=0.2")
    assert done.code == 1
    assert "hallucination is between 0.0000 and 0." in done.out
    bounds = metrics_of(folder)["bounds"]
    # Each of the six predictions may have as many extra fields as there are expected ones.
    assert bounds["high"]["quality"]["hallucination"] == pytest.approx(1 / 3)
    assert bounds["low"]["quality"]["hallucination"] == 0.0


@pytest.mark.parametrize("fault", UNREADABLE)
def test_model_that_answers_without_a_prediction_is_scored(fault, folder, command, server):
    server.script = answering(UNREADABLE[fault])
    done = command("eval", target_eval(folder, server.url, concurrency=1), "--out", "run")
    assert done.code == 0, done
    metrics = metrics_of(folder)
    assert "bounds" not in metrics
    cases = metrics["cases"]
    assert (cases["errors"], cases["scored"], cases["unparseable"]) == (0, CASES, FAILED)
    assert metrics["errors_by_type"]["omission"] == 2 * FAILED
    assert metrics["micro"]["recall"] == pytest.approx((2 * FAILED - 1) / (2 * CASES))


def test_invalid_number_of_a_prediction_costs_its_field_only(folder, command, server):
    server.script = answering(lambda exchange: exchange.respond('{"n": NaN, "vendor": "Vendor 1"}'))
    done = command("eval", target_eval(folder, server.url, concurrency=1), "--out", "run")
    assert done.code == 0, done
    assert metrics_of(folder)["cases"]["errors"] == 0
    assert metrics_of(folder)["errors_by_type"]["omission"] == 0


def test_run_without_a_scored_case_ends_with_3(folder, command, server):
    server.script = status(500)
    words = ["eval", target_eval(folder, server.url, concurrency=1), "--out", "run"]
    done = command(*words, "--max-errors", 99, "--min", "mean_score=0.1")
    assert done.code == 3, done
    metrics = metrics_of(folder)
    assert metrics["failures"] == ["nothing_scored", "gate_failed"]
    assert metrics["passed"] is False
    shown = [metrics["mean_score"], metrics["macro_f1_by_attribute"], metrics["macro_f1_by_case"]]
    shown += [metrics["quality"][name] for name in ("completeness", "accuracy", "rqs")]
    assert shown == [None] * 6
    assert metrics["cases"]["perfect"] == 0


def test_gate_on_a_metric_without_bounds_fails(folder, command, server):
    words = safety_down(folder, server.url, server)
    rows = [
        {"id": f"c{n:02}", **{name: {"value": value, "confidence": 0.9} for name, value in prediction(n).items()}}
        for n in range(CASES)
    ]  # fmt: skip
    write_rows(folder / "p.jsonl", rows)
    words += ["--confidence", "--no-save", "--max-errors", 99]
    done = command(*words, "--max", "confidence.ece=1")
    assert done.code == 1, done
    assert f"without known bounds ({NOTE}), must be at most 1" in done.out


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        pytest.param("cases.errors=6", 0, id="number-of-errors"),
        pytest.param("evaluators.judge.errors=6", 0, id="errors-of-an-evaluator"),
        pytest.param("evaluators.judge.errors=5", 1, id="too-many-errors-of-an-evaluator"),
    ],
)
def test_numbers_of_errors_are_known(gate, code, folder, command, server):
    words = code_judge("exit-code")(folder, server.url, server)
    done = command(*words, "--no-save", "--max-errors", 99, "--max", gate)
    assert done.code == code, done


def test_mean_score_of_an_evaluator_has_bounds(folder, command, server):
    words = code_judge("exit-code")(folder, server.url, server)
    done = command(
        *words, "--out", "run", "--max-errors", 99, "--min", "evaluators.judge.mean_score=0.9"
    )
    assert done.code == 1, done
    evaluator = metrics_of(folder)["evaluators"]["judge"]
    assert evaluator["mean_score"] == pytest.approx(5.5 / 6)
    assert evaluator["bounds"] == pytest.approx([5.5 / 12, 11.5 / 12])
    assert "evaluators.judge.mean_score is between 0.4583 and 0.9583" in done.out


def test_failed_evaluator_without_weight_fails_only_its_own_metrics(folder, command, server):
    words = code_judge("exit-code")(folder, server.url, server)
    spec = json.loads((folder / "t.eval.json").read_text("utf-8"))
    spec["evaluators"] = [{**spec["evaluators"][0], "weight": 0}]
    (folder / "t.eval.json").write_text(json.dumps(spec), "utf-8")
    gates = ["--min", "mean_score=0.9", "--min", "evaluators.judge.mean_score=0.9"]
    done = command(*words, "--out", "run", *gates)
    assert done.code == 1, done
    metrics = metrics_of(folder)
    assert (metrics["cases"]["errors"], metrics["cases"]["scored"]) == (0, CASES)
    assert "bounds" not in metrics
    assert [gate["passed"] for gate in metrics["gates"]] == [True, False]


def test_zero_scores_of_failed_evaluations_are_counted_as_errors(folder, command, server):
    words = code_judge("exit-code")(folder, server.url, server)
    spec = json.loads((folder / "t.eval.json").read_text("utf-8"))
    spec["evaluators"] = [{**spec["evaluators"][0], "on_error": "zero"}]
    (folder / "t.eval.json").write_text(json.dumps(spec), "utf-8")
    done = command(*words, "--out", "run")
    assert done.code == 3, done
    metrics = metrics_of(folder)
    assert (metrics["cases"]["errors"], metrics["cases"]["scored"]) == (FAILED, CASES)
    assert metrics["mean_score"] == pytest.approx(5.5 / 12)
    assert metrics["evaluators"]["judge"]["errors"] == FAILED


@pytest.mark.parametrize(
    ("limit", "code"),
    [pytest.param("0.6", 0, id="also-at-the-bound"), pytest.param("0.3", 1, id="only-the-scored")],
)
def test_drop_is_checked_at_the_less_favorable_bound(limit, code, folder, command, server):
    server.script = lambda exchange: exchange.respond(json.dumps(prediction(number_in(exchange))))
    file = target_eval(folder, server.url, concurrency=1)
    assert command("eval", file, "--out", "before").code == 0
    server.script = answering(status(500))
    shutil.rmtree(folder / "cache")
    done = command("eval", file, "--no-save", "--max-errors", 99, "--baseline", "before",
                   "--max-drop", f"mean_score={limit}")  # fmt: skip
    assert done.code == code, done
    assert f"drop of mean_score is between 0.0000 and 0.5000 ({NOTE})" in done.out


def test_case_of_a_run_without_safety_has_neither_rqs_nor_its_bar(folder, command, server):
    words = safety_down(folder, server.url, server)
    assert command(*words, "--out", "run").code == 3
    failed = next(case for case in fm.open_run("run").cases if case.score is None)
    quality = failed.to_dict()["quality"]
    assert (quality["safety"], quality["rqs"], quality["accuracy"]) == (None, None, 1.0)
    assert failed.bounds.rqs == pytest.approx((0.70, 0.85))
    assert failed.bounds.safety == (0.0, 1.0)
    assert failed.error


def test_pages_show_the_number_of_failed_cases(folder, command, server, tmp_path):
    words = FAULTS["target-500"](folder, server.url, server)
    assert command(*words, "--out", tmp_path / "runs" / "run").code == 3
    with live(tmp_path) as served:
        [listed] = served.get("/api/runs")["runs"]
        summary = served.get("/api/runs/run")["summary"]
    assert (listed["errors"], listed["cases"], listed["verdict"]) == (FAILED, CASES, "error")
    assert summary["bounds"]["failed"] == FAILED


# --- several runs ---------------------------------------------------------------------------------


def vendor(expected, candidate):
    if candidate == "down":
        raise ConnectionError("not reachable")
    return expected == candidate


@pytest.fixture
def two_runs(folder):
    """A complete run with mistakes, and a run with an outage whose scored cases are perfect."""
    rules = {"vendor": {"match": vendor}}
    truth = [{"id": f"c{n:02}", **document(n)} for n in range(CASES)]
    some = [{**row, "n": -1} if n == 0 else row for n, row in enumerate(truth)]
    outage = [{**row, "vendor": "down"} if n >= FAILED - 1 else row for n, row in enumerate(truth)]
    complete = fm.score(truth, some, rules=rules, out="runs/complete")
    assert complete.mean_score < fm.score(truth, outage, rules=rules, out="runs/outage").mean_score
    return "runs/complete", "runs/outage"


def test_run_with_failed_cases_is_not_the_best_of_a_trend_and_reaches_no_target(two_runs, command):
    listed = fm.runs()
    assert [entry.errors for entry in listed.entries] == [0, CASES - FAILED + 1]
    trend = listed.trend("mean_score", TrendOptions(target=1.0))
    assert trend.best == "complete"
    assert trend.conclusion == "continue"
    assert [step.errors for step in trend.steps] == [0, CASES - FAILED + 1]
    assert f"{CASES - FAILED + 1} cases with errors" in command("runs", "--trend").out
    assert f"{CASES - FAILED + 1} of {CASES} cases with errors" in command("runs").out


def test_ranking_compares_the_cases_that_all_runs_scored(two_runs, command):
    ranking = fm.rank(list(two_runs))
    assert ranking.cases == FAILED - 1
    assert [(run.name, run.best, run.errors) for run in ranking.runs] == [
        ("complete", True, 0),
        ("outage", False, CASES - FAILED + 1),
    ]
    text = command("rank", *two_runs).out
    assert "Best: complete" in text
    assert f"outage lacks {CASES - FAILED + 1} ({CASES - FAILED + 1} failed)" in text


def test_comparison_leaves_failed_cases_out_and_says_how_many(two_runs, command):
    done = command("diff", *two_runs)
    assert f"left out {CASES - FAILED + 1} cases that failed in one of the runs" in done.out
    gated = command("diff", *two_runs, "--max-drop", "mean_score=0.01")
    assert gated.code == 1, gated
    assert "drop of mean_score is between -0." in gated.out
    allowed = command("diff", *two_runs, "--max-drop", "mean_score=0.5")
    assert allowed.code == 0, allowed


def test_detection_metrics_leave_failed_cases_out(folder, command, server):
    code_judge("exit-code")(folder, server.url, server)
    spec = json.loads((folder / "t.eval.json").read_text("utf-8"))
    box, other = [0, 0, 10, 10], [50, 50, 60, 60]
    spec["cases"] = [
        {
            "id": f"c{n:02}",
            "expected": {"n": n, "regions": [{"box": box}]},
            "candidate": {"n": n, "regions": [{"box": box if n < FAILED else other}]},
        }
        for n in range(CASES)
    ]
    detection = {"name": "boxes", "type": "detection_ap", "boxes": "regions[].box"}
    spec["evaluators"] = [detection, *spec["evaluators"]]
    (folder / "t.eval.json").write_text(json.dumps(spec), "utf-8")
    done = command("eval", "t.eval.json", "--out", "run", "--max-errors", 99,
                   "--min", "evaluators.boxes.metrics.AP50=0.5")  # fmt: skip
    assert done.code == 1, done
    assert metrics_of(folder)["evaluators"]["boxes"]["metrics"]["AP50"] == 1.0
    assert "evaluators.boxes.metrics.AP50 is 1.0000, without known bounds" in done.out


# --- places that show metrics of a run, or use them -----------------------------------------------


def test_database_has_the_bounds_and_the_number_of_failed_cases(two_runs, command, folder):
    for run, columns in (("complete", 2), ("outage", 4)):
        assert command("report", f"runs/{run}", "--as", "sqlite", "--out", f"{run}.db").code == 0
        with closing(sqlite3.connect(folder / f"{run}.db")) as database:
            rows = {row[0]: row[1:] for row in database.execute("SELECT * FROM metrics")}
        assert {len(row) for row in rows.values()} == {columns - 1}
    number = CASES - FAILED + 1
    assert rows["failed_cases"] == (number, number, number)
    value, low, high = rows["mean_score"]
    assert value == 1.0
    assert low < high <= 1.0


def test_recommendations_leave_failed_cases_out_and_say_so(folder, command):
    rules = {"vendor": {"match": vendor}}
    truth = [{"id": f"c{n:02}", **document(n)} for n in range(CASES)]
    found = [
        {**row, "n": -1} | ({"vendor": "down"} if n >= FAILED else {})
        for n, row in enumerate(truth)
    ]
    fm.score(truth, found, rules=rules, out="runs/outage")
    advice = fm.improve("runs/outage")
    assert f"left out {CASES - FAILED} cases that failed" in advice.notes
    assert sum(cluster.number for cluster in advice.clusters) == FAILED
    stored = stored_run("runs/outage")
    cases = list(stored.cases())
    summary = stored.complete_summary
    run = ShownRun(name="outage", manifest=stored.manifest, summary=summary, cases=lambda: cases)
    view = view_of(run).run
    assert sum(line["mistakes"] for line in view["advice"]) == FAILED
    groups = {(line["attribute"], line["outcome"]): line["mistakes"] for line in view["mistakes"]}
    assert groups == {("n", "wrong_value"): FAILED, ("vendor", "error"): CASES - FAILED}
    assert view["quality"]["rqs_failed"].startswith("with failed cases 0.")
    notes = {line["attribute"]: line["f1_note"] for line in view["attributes"]}
    assert notes == {"n": "with failed cases 0.000", "vendor": "with failed cases 0.500 to 1.000"}


def test_run_without_scored_cases_has_no_good_news(folder, command):
    rules = {"vendor": {"match": vendor}}
    truth = [{"id": f"c{n:02}", **document(n)} for n in range(CASES)]
    fm.score(truth, truth, rules=rules, out="runs/complete")
    fm.score(truth, [{**row, "vendor": "down"} for row in truth], rules=rules, out="runs/outage")
    done = command("improve", "runs/outage")
    assert "no case was scored" in done.out
    assert "no mistakes" not in done.out
    for name, both in (("rank", "no case was scored in all runs; cases failed in outage"),
                       ("diff", f"no case was scored in both runs; {CASES} cases failed")):  # fmt: skip
        compared = command(name, "runs/complete", "runs/outage")
        assert compared.code == 2, compared
        assert both in compared.err


def test_candidates_that_failed_are_named_beside_their_ranking():
    rules = {"vendor": {"match": vendor}}
    found = [{"n": 1, "vendor": "down"}, {"n": 1, "vendor": "b"}]
    ranked = fm.compare_many({"n": 1, "vendor": "a"}, found, rules=rules)
    assert ranked.ranking.ranks == (2, 1)
    assert ranked.warnings[0].startswith("1 of 2 candidates failed and have no score")
    assert ranked.to_dict()["warnings"] == list(ranked.warnings)
    assert fm.compare_many({"n": 1, "vendor": "a"}, found[1:], rules=rules).warnings == ()


@pytest.mark.parametrize(
    ("number", "head"),
    [
        pytest.param(1, "1 of 2 fields could not be compared, score –", id="only-failed"),
        pytest.param(
            2, "1 of 2 fields could not be compared, 1 is wrong, score –", id="also-wrong"
        ),
    ],
)
def test_failed_field_is_not_called_wrong(number, head):
    rules = {"vendor": {"match": vendor}}
    with pytest.raises(AssertionError, match="could not be evaluated") as raised:
        fm.assert_extraction({"n": 1, "vendor": "a"}, {"n": number, "vendor": "down"}, rules=rules)
    assert head in str(raised.value)


def test_notebook_shows_the_status_of_a_failed_case():
    rules = {"vendor": {"match": vendor}}
    case = fm.compare({"n": 1, "vendor": "a"}, {"n": 1, "vendor": "down"}, rules=rules)
    assert "<p>error, score – (between 0.500 and 1.000" in case._repr_html_()


def test_tests_of_an_eval_file_fail_for_failed_cases_and_never_accept_them(folder, command, server):
    code_judge("exit-code")(folder, server.url, server)
    for option in ((), ("--fieldmark-update",)):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "t.eval.json", *option],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 1, done.stdout
        assert done.stdout.count(" - error: could not be evaluated") == FAILED
        assert "too many evaluation errors" in done.stdout


def test_junit_report_counts_failed_cases_as_errors(folder, command, server):
    assert command(*code_judge("exit-code")(folder, server.url, server), "--out", "run").code == 3
    text = command("report", "run", "--as", "junit", "--out", "-").out
    assert f'tests="{CASES}" failures="1" errors="{FAILED}"' in text


@pytest.mark.parametrize("limit", [pytest.param("0.5", id="at-the-bound"), pytest.param("0.8", id="only-the-scored")])  # fmt: skip
def test_gate_on_a_slice_is_checked_at_its_less_favorable_bound(limit, folder, command, server):
    code_judge("exit-code")(folder, server.url, server)
    spec = json.loads((folder / "t.eval.json").read_text("utf-8"))
    for number, case in enumerate(spec["cases"]):
        case["tags"] = ["odd" if number % 2 else "even"]
    (folder / "t.eval.json").write_text(json.dumps(spec), "utf-8")
    gate = f'slices["tag=odd"].mean_score={limit}'
    done = command("eval", "t.eval.json", "--no-save", "--by", "tag", "--max-errors", 99,
                   "--min", gate)  # fmt: skip
    assert done.code == (0 if limit == "0.5" else 1), done
    assert "mean_score is between 0.5000 and 1.0000 (3 of 6 cases failed)" in done.out


def test_thresholds_on_confidences_say_how_many_cases_failed(folder, command):
    rules = {"vendor": {"match": vendor}}
    truth = [{"id": f"c{n:02}", "n": n, "vendor": "Acme"} for n in range(60)]
    found = [
        {"id": row["id"], "n": {"value": row["n"], "confidence": 0.9},
         "vendor": {"value": "Acme" if row["n"] < 40 else "down", "confidence": 0.8}}
        for row in truth
    ]  # fmt: skip
    fm.score(truth, found, rules=rules, confidence=True, out="run")
    chosen = fm.thresholds("run", 0.9)
    assert chosen.attributes == {"n": 0.8, "vendor": 0.8}
    assert chosen.failed_cases == 20
    done = command("confidence", "thresholds", "run", "--precision", "0.9")
    assert "reach a precision of 0.9 in the scored cases; 20 cases failed" in done.err
    assert json.loads(done.out)["failed_cases"] == 20
    complete = fm.thresholds(fm.score(truth[:40], found[:40], rules=rules, confidence=True), 0.9)
    assert "failed_cases" not in complete.to_dict()
