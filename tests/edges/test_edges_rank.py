"""`fieldmark rank`: rankings, rejected runs, left-out cases and exit codes."""

from __future__ import annotations

import csv
import io
import json
import shutil

import pytest

import fieldmark as fm
from fieldmark.errors import ConfigError
from row_files import write_rows

CASES = 60


def rows(right, vendor="Acme"):
    """Return predictions of which the first `right` totals are correct."""
    return [{"id": str(n), "total": n if n < right else -1, "vendor": vendor} for n in range(CASES)]


def score(truth, predictions, **options):
    """Score and save without confidence intervals, which a ranking computes itself."""
    return fm.score(truth, predictions, intervals=False, **options)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Runs in `runs`: bad, good, another with the value of good, and one without vendors."""
    folder = tmp_path_factory.mktemp("rank")
    truth = write_rows(folder / "all.jsonl", rows(CASES))
    for name, right, vendor in (
        ("bad", 20, "Acme"),
        ("good", 50, "Acme"),
        ("again", 50, "Acme"),
        ("close", 48, "Acme"),
        ("vendorless", 52, None),
    ):
        score(truth, rows(right, vendor), out=folder / "runs" / name)
    return folder


@pytest.fixture
def runs(folder, made):
    """A copy of the runs in the current directory."""
    shutil.copytree(made, folder, dirs_exist_ok=True)
    return folder / "runs"


def test_the_best_run_comes_first(runs, command):
    done = command("rank", "bad", "good", "close", "vendorless", "--format", "json")
    found = done.summary
    assert done.code == 0
    assert [run["name"] for run in found["runs"]] == ["good", "close", "bad", "vendorless"]
    assert [run["rank"] for run in found["runs"]] == [1, 2, 3, 4]
    assert found["metric"] == "macro_f1_by_attribute"
    assert found["best"] == ["good", "close"]
    assert [run["best"] for run in found["runs"]] == [True, True, False, False]
    for run in found["runs"]:
        low, high = run["interval"]
        assert low <= run["value"] <= high
        assert run["value"] == run["metrics"]["macro_f1_by_attribute"]
    assert len(found["pairs"]) == 6
    pair = found["pairs"][0]
    assert (pair["first"], pair["second"], pair["better"], pair["worse"]) == ("good", "close", 2, 0)
    assert pair["word"] == "too few cases to tell"
    assert pair["delta"] == pytest.approx(found["runs"][0]["value"] - found["runs"][1]["value"])


def test_wins_and_ties_by_attribute(runs, command):
    found = command("rank", "bad", "good", "close", "vendorless", "--format", "json").summary
    by_name = {run["name"]: (run["wins"], run["ties"]) for run in found["runs"]}
    # The vendor is equal in three runs; only one has the highest F1 of the total.
    assert by_name == {"vendorless": (1, 0), "good": (0, 1), "close": (0, 1), "bad": (0, 1)}
    vendor = next(each for each in found["attributes"] if each["attribute"] == "vendor")
    assert sorted(vendor["best"]) == ["bad", "close", "good"]
    assert vendor["f1"] == [1.0, 1.0, 1.0, 0.0]


def test_runs_with_the_same_value_have_the_same_rank(runs, command):
    done = command("rank", "bad", "again", "good")
    found = command("rank", "bad", "again", "good", "--format", "json").summary
    assert [(run["rank"], run["name"]) for run in found["runs"]] == [
        (1, "again"), (1, "good"), (3, "bad"),
    ]  # fmt: skip
    assert "Best: again; too few cases to tell: good" in done.out
    assert "same value: again, good" in done.out


@pytest.mark.parametrize("order", [("bad", "good", "close"), ("close", "bad", "good")])
def test_the_order_of_the_runs_does_not_matter(runs, command, order):
    found = command("rank", *order, "--format", "json").summary
    want = command("rank", "good", "close", "bad", "--format", "json").summary
    assert found == want


def test_a_pair_has_the_p_value_of_diff(runs):
    ranking = fm.rank([runs / name for name in ("bad", "good", "close")])
    for (first, second), found in ranking.pairs.items():
        alone = fm.diff(ranking.runs[second].path, ranking.runs[first].path).main
        assert (found.p, found.delta) == (alone.p, alone.delta)
    # More tests, wider intervals.
    assert found.interval[0] <= alone.interval[0] < alone.interval[1] <= found.interval[1]


@pytest.mark.parametrize(
    ("metric", "best", "worst"),
    [
        pytest.param("mean_score", "good", "vendorless", id="mean-score"),
        pytest.param("micro_f1", "good", "vendorless", id="micro-f1"),
        pytest.param("hallucination", "bad", "bad", id="equal-values"),
        pytest.param("completeness", "bad", "vendorless", id="quality"),
        pytest.param("predicted_mean_score", "good", "vendorless", id="of-predictions"),
    ],
)
def test_runs_can_be_ranked_by_other_metrics(runs, command, metric, best, worst):
    names = ("bad", "good", "close", "vendorless")
    found = command("rank", *names, "--metric", metric, "--format", "json").summary
    assert found["metric"] == metric
    assert found["less_is_better"] is (metric == "hallucination")
    values = {run["name"]: run["value"] for run in found["runs"]}
    ordered = [run["value"] for run in found["runs"]]
    assert ordered == sorted(ordered, reverse=metric != "hallucination")
    assert values[best] == ordered[0]
    assert values[worst] == ordered[-1] or metric == "hallucination"


def test_an_unknown_metric_is_rejected_with_a_suggestion(runs, command):
    done = command("rank", "bad", "good", "--metric", "micro_f2")
    assert (done.code, done.err) == (
        2,
        "fieldmark: unknown metric 'micro_f2'; did you mean 'micro_f1'?\n",
    )
    done = command("rank", "bad", "good", "--metric", "x")
    assert "must be one of: macro_f1_by_attribute, mean_score" in done.err


def test_predictions_that_are_missing_are_counted(folder, runs, command):
    score(folder / "all.jsonl", rows(60)[:40], out=runs / "partial")
    found = command("rank", "good", "partial", "--format", "json").summary
    partial = next(run for run in found["runs"] if run["name"] == "partial")
    assert partial["cases"]["missing"] == 20
    assert found["runs"][0]["name"] == "good"
    predicted = command(
        "rank", "good", "partial", "--metric", "predicted_mean_score", "--format", "json"
    ).summary
    assert (predicted["runs"][0]["name"], predicted["runs"][0]["value"]) == ("partial", 1.0)
    assert "No prediction" in command("rank", "good", "partial").out


def test_cases_that_a_run_does_not_have_are_left_out_and_said(folder, command):
    pairs = [{"id": str(n), "expected": {"a": n}, "candidate": {"a": n % 9}} for n in range(30)]
    fm.score(pairs, out="whole")
    fm.score(pairs[:20], out="part")
    done = command("rank", "whole", "part", "--format", "json")
    assert done.summary["cases"] == 20
    assert done.summary["warnings"] == ["ranked by the 20 cases that every run has: part lacks 10"]
    assert {run["name"]: run["cases"]["left_out"] for run in done.summary["runs"]} == {
        "whole": 10, "part": 0,
    }  # fmt: skip
    assert "warning: ranked by the 20 cases" in command("rank", "whole", "part").out
    assert "warning: ranked by the 20 cases" in command("rank", "whole", "part", "-q").err


def test_runs_of_different_ground_truth_are_rejected_unless_forced(folder, runs, command):
    other = write_rows(folder / "other.jsonl", rows(30))
    score(other, rows(40), out=runs / "other")
    done = command("rank", "good", "other")
    assert done.code == 2
    assert "good and other: the runs have different ground truth" in done.err
    assert "or only the shared cases with --force" in done.err
    forced = command("rank", "good", "other", "--force", "--format", "json").summary
    assert forced["notes"] == ["compared anyway: the runs have different ground truth"]
    assert forced["warnings"] == ["compared anyway: different ground truth in 30 cases"]


def test_ground_truth_in_pairs_is_compared_by_value(folder, command):
    for name, offset in (("one", 0), ("two", 1)):
        fm.score([({"a": n + offset}, {"a": n}) for n in range(10)], out=name)
    done = command("rank", "one", "two")
    assert done.code == 2
    assert "different ground truth in 10 cases" in done.err


def test_different_rules_are_never_ranked(folder, runs, command):
    score(folder / "all.jsonl", rows(50), match="normalized_text", out=runs / "lenient")
    for options in ((), ("--force",), ("--rescore",)):
        done = command("rank", "good", "lenient", *options)
        assert done.code == 2
        assert "good and lenient: the runs have different rules" in done.err


def test_different_conventions_are_ranked_only_if_rescored(folder, runs, command):
    score(folder / "all.jsonl", rows(40), options={"wrong_value": "fp"}, out=runs / "fp")
    done = command("rank", "good", "fp", "--force")
    assert done.code == 2
    assert "different conventions" in done.err
    assert "with --rescore" in done.err
    done = command("rank", "good", "fp", "--rescore", "--format", "json")
    assert done.summary["notes"] == ["all runs counted with the convention of good"]
    plain = score(folder / "all.jsonl", rows(40), out=runs / "plain")
    assert done.summary["runs"][1]["value"] == plain.macro_f1_by_attribute


def test_all_reasons_are_reported_at_once(folder, runs, command):
    score(folder / "all.jsonl", rows(50), match="normalized_text", out=runs / "lenient")
    score(folder / "all.jsonl", rows(40), options={"wrong_value": "fp"}, out=runs / "fp")
    done = command("rank", "good", "lenient", "fp")
    assert "different rules" in done.err
    assert "different conventions" in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param((), "a ranking needs at least two runs, got 0", id="none"),
        pytest.param(("good",), "a ranking needs at least two runs, got 1", id="one"),
        pytest.param(("good", "good"), "good is given twice; name every run once", id="twice"),
        pytest.param(("good", "nowhere"), "run 'nowhere' not found", id="unknown"),
    ],
)
def test_runs_that_cannot_be_ranked(runs, command, words, message):
    done = command("rank", *words)
    assert done.code == 2
    assert message in done.err


def test_an_incomplete_run_is_rejected_unless_forced(runs, command):
    manifest = runs / "good" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"complete"', '"interrupted"'))
    done = command("rank", "bad", "good")
    assert done.code == 2
    assert "is not complete (status: interrupted)" in done.err
    assert command("rank", "bad", "good", "--force").code == 0


@pytest.mark.parametrize(
    ("name", "code"), [("good", 0), ("close", 0), ("bad", 1)], ids=["best", "similar", "worse"]
)
def test_a_run_can_be_required_to_be_among_the_best(runs, command, name, code):
    done = command("rank", "bad", "good", "close", "--among-best", name, "-q")
    assert done.code == code
    want = "fieldmark: gate failed: bad is significantly worse than good\n"
    assert done.err == (want if code else "")


def test_an_unknown_run_in_a_gate_is_an_error(runs, command):
    done = command("rank", "bad", "good", "--among-best", "goood")
    assert done.code == 2
    assert done.err == "fieldmark: --among-best: unknown run 'goood'; runs: good, bad\n"


def test_all_formats_have_the_same_results(runs, command):
    names = ("bad", "good", "close", "vendorless")
    found = command("rank", *names, "--format", "json").summary
    table = list(csv.DictReader(io.StringIO(command("rank", *names, "--format", "csv").out)))
    assert [row["name"] for row in table] == [run["name"] for run in found["runs"]]
    assert [float(row["value"]) for row in table] == [run["value"] for run in found["runs"]]
    assert table[1]["p_adjusted"] == str(found["pairs"][0]["p_adjusted"])
    markdown = command("rank", *names, "--format", "markdown").out
    text = command("rank", *names).out
    for run in found["runs"]:
        assert f"{run['name']}" in markdown
        assert f" | {run['value']:.3f}" in markdown
        assert f"{run['name']} " in text
    assert "| p adjusted | 1 | 2 | 3 | 4 |" in markdown
    assert repr(fm.rank([runs / name for name in names])).splitlines()[0] == text.splitlines()[0]


def test_names_of_runs(folder, runs):
    generated = "20261116T101500123456-" + "0" * 32
    truth = folder / "all.jsonl"
    first = score(truth, write_rows(folder / "gpt-4.1.jsonl", rows(30)), out=runs / generated)
    second = score(
        truth, write_rows(folder / "b.jsonl", rows(20)), out=folder / "elsewhere" / "good"
    )
    names = [run.name for run in fm.rank([first, runs / "good", second]).runs]
    assert names == [str(runs / "good"), "gpt-4.1", str(folder / "elsewhere" / "good")]
    named = fm.rank({"old": first, "new": second})
    assert [run.name for run in named.runs] == ["old", "new"]


def test_a_run_that_was_not_saved_cannot_be_ranked():
    run = fm.score([({"a": 1}, {"a": 1})])
    with pytest.raises(ConfigError, match="the run was not saved"):
        fm.rank([run, run])


def test_a_metric_that_rests_on_nothing_is_marked(folder, command):
    for name in ("one", "two"):
        fm.score([({}, {}), ({}, {})], out=name)
    done = command("rank", "one", "two", "--format", "json")
    assert [run["note"] for run in done.summary["runs"]] == ["vacuous", "vacuous"]
    assert "1.000 (vacuous)" in command("rank", "one", "two").out


def test_evaluations_are_ranked_by_evaluators(folder):
    paths = []
    for name, right in (("low", 4), ("high", 9)):
        cases = [
            {"id": str(n), "expected": {"a": 1, "b": 1}, "candidate": {"a": int(n < right), "b": 1}}
            for n in range(12)
        ]
        evaluators = [
            {"name": each, "type": "field_accuracy", "fields": [{"path": each}]} for each in "ab"
        ]
        paths.append(fm.evaluate({"cases": cases, "evaluators": evaluators}, out=name))
    ranking = fm.rank(paths, metric="evaluators.a.mean_score")
    assert [(run.name, run.value) for run in ranking.runs] == [("high", 9 / 12), ("low", 4 / 12)]
    assert fm.rank(paths).metric == "mean_score"


def test_cost_and_frontier_of_rows_with_usage(folder, command):
    truth = rows(CASES)
    for name, right, cost in (("dear", 55, 0.02), ("cheap", 40, 0.001), ("waste", 39, 0.01)):
        score(truth, rows(right), out=name)
        results = folder / name / "results.jsonl"
        usage = {"model": "m", "input_tokens": 1, "output_tokens": 1, "cost": cost, "seconds": 2.0}
        lines = results.read_text().splitlines()
        results.write_text(
            "".join(json.dumps({**json.loads(line), "usage": usage}) + "\n" for line in lines)
        )
    done = command("rank", "dear", "cheap", "waste", "--format", "json")
    runs = {run["name"]: run for run in done.summary["runs"]}
    assert done.summary["frontier"] == ["cheap", "dear"]
    assert {name: run["frontier"] for name, run in runs.items()} == {
        "dear": True, "cheap": True, "waste": False,
    }  # fmt: skip
    usage = runs["dear"]["usage"]
    assert usage["cost"] == pytest.approx(1.2)
    assert usage["cost_per_case"] == pytest.approx(0.02)
    assert usage["cost_per_correct"] == pytest.approx(1.2 / 55)
    assert (usage["seconds"], usage["seconds_p95"]) == (2.0, 2.0)
    text = command("rank", "dear", "cheap", "waste").out
    assert "cost-quality frontier, cheapest first: cheap, dear" in text
    assert "Per correct" in text
    score(truth, rows(30), out="unknown")
    mixed = fm.rank(["dear", "unknown"])
    assert mixed.frontier is None
    assert [run.frontier for run in mixed.runs] == [None, None]
