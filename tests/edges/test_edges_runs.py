"""`fieldmark runs`: lists, filters, details, trends, annotations and deletion."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime

import pytest

import fieldmark as fm
from fieldmark.runs.lock import RunLock
from row_files import write_rows

TRUTH = [{"id": str(n), "total": n} for n in range(20)]


def predictions(right):
    return [{"id": str(n), "total": n if n < right else -1} for n in range(20)]


@pytest.fixture
def runs(folder):
    """Four iterations with different numbers of correct cases."""
    truth = folder / "all.jsonl"
    write_rows(truth, TRUTH)
    for name, right in (("it-1", 10), ("it-2", 15), ("it-3", 15), ("it-4", 14)):
        candidate = folder / f"{name}.jsonl"
        write_rows(candidate, predictions(right))
        fm.score(truth, candidate, out=folder / "runs" / name)
    return folder / "runs"


def listed(command, *options):
    return [run["id"] for run in command("runs", "--format", "json", *options).summary["runs"]]


def test_runs_are_listed_oldest_first(runs, command):
    done = command("runs")
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()[1:]] == [
        "it-1",
        "it-2",
        "it-3",
        "it-4",
    ]
    assert "0.750" in done.out


def test_a_directory_without_runs(folder, command):
    assert command("runs").out.strip() == "no runs found"
    assert command("runs", "--trend").out.strip() == "no complete runs to compare"


def test_filters_select_runs(runs, command):
    command("runs", "it-2", "--add-tag", "prompt-2", "--add-tag", "saved")
    manifest = runs / "it-3" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"complete"', '"failed"'))
    assert listed(command, "--tag", "prompt-2") == ["it-2"]
    assert listed(command, "--tag", "prompt-2", "--tag", "other") == []
    assert listed(command, "--status", "failed") == ["it-3"]
    assert listed(command, "--since", "1h") == ["it-1", "it-2", "it-3", "it-4"]
    assert listed(command, "--since", "2999-01-01") == []
    assert listed(command, "--since", datetime.now(UTC).isoformat()) == []


@pytest.mark.parametrize("since", ["yesterday", "12", "d", "2025-13-01"])
def test_an_invalid_time_is_rejected(runs, command, since):
    done = command("runs", "--since", since)
    assert done.code == 2
    assert "since: expected a time, got" in done.err


def test_a_corrupt_run_is_listed_with_the_others(runs, command):
    for file in ("manifest.json", "summary.json", "results.jsonl"):
        path = runs / "it-2" / file
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        done = command("runs")
        assert done.code == 0
        [line] = [line for line in done.out.splitlines() if line.startswith("it-2")]
        assert "corrupt" in line
        assert len(done.out.splitlines()) >= 5
        assert command("runs", "--trend").code == 10
        path.write_bytes(whole)


def test_one_run_is_shown_with_intervals(runs, command):
    result = command("runs", "it-2", "--format", "json").summary
    low, high = result["intervals"]["mean_score"]
    assert low < result["summary"]["mean_score"] == 0.75 < high
    assert result["manifest"]["status"] == "complete"
    done = command("runs", "it-2")
    assert "Metric" in done.out
    assert "95% CI" in done.out
    assert "macro_f1_by_case" in done.out
    rows = list(csv.DictReader(io.StringIO(command("runs", "it-2", "--format", "csv").out)))
    assert {row["metric"]: row["value"] for row in rows}["passed"] == "0.75"
    assert "| mean_score | 0.750 |" in command("runs", "it-2", "--format", "markdown").out


def test_an_incomplete_run_is_shown_without_metrics(runs, command):
    (runs / "it-2" / "summary.json").unlink()
    manifest = runs / "it-2" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"complete"', '"interrupted"'))
    done = command("runs", "it-2")
    assert done.code == 0
    assert "interrupted" in done.out
    assert command("runs", "it-2", "--format", "json").summary["intervals"] == {}


def test_tags_and_notes_can_be_changed(runs, command):
    command("runs", "it-1", "--add-tag", "baseline", "--note", "the first prompt")
    assert "[baseline] the first prompt" in command("runs").out
    command("runs", "it-1", "--remove-tag", "baseline", "--note", "")
    assert "[baseline]" not in command("runs").out
    assert command("runs", "it-1", "--format", "json").summary["note"] == ""
    assert fm.diff(runs / "it-1", runs / "it-2")


@pytest.mark.parametrize("tag", ["", " x", "x "])
def test_an_invalid_tag_is_rejected(runs, command, tag):
    assert command("runs", "it-1", "--add-tag", tag).code == 2


def test_changes_require_a_run(runs, command):
    for options in (["--add-tag", "x"], ["--note", "x"], ["--delete", "--yes"]):
        done = command("runs", *options)
        assert done.code == 2
        assert "RUN is required to change or delete a run" in done.err


def test_a_trend_has_a_best_run_and_a_conclusion(runs, command):
    result = command("runs", "--trend", "--patience", "2", "--format", "json").summary
    assert [step["run"] for step in result["steps"]] == ["it-1", "it-2", "it-3", "it-4"]
    assert result["best"] == "it-2"
    assert result["conclusion"] == "plateau"
    assert command("runs", "--trend", "--format", "json").summary["conclusion"] == "continue"
    reached = command("runs", "--trend", "--target", "0.7", "--format", "json").summary
    assert reached["conclusion"] == "target_reached"
    for options, code in ((["--target", "0.7"], 0), ([], 10), (["--patience", "2"], 11)):
        for output in (["--quiet"], ["--format", "json"]):
            assert command("runs", "--trend", *options, *output).code == code
    for code in ("0  ", "10 ", "11 "):
        assert f"\n  {code}" in command("runs", "--help").out
    assert (
        "best: it-2; plateau: recent gains are below the minimum; stop or change"
        in command("runs", "--trend", "--patience", "2").out
    )
    assert "| **it" in command("runs", "--trend", "--format", "markdown").out
    assert command("runs", "--trend", "--format", "csv").out.count("\n") == 5


def test_a_trend_excludes_runs_that_are_not_comparable(runs, folder, command):
    fm.score("all.jsonl", "it-1.jsonl", out=runs / "other", options={"wrong_value": "fp"})
    result = command("runs", "--trend", "--format", "json").summary
    assert [step["run"] for step in result["steps"]] == ["other"]
    assert result["excluded"] == 4
    done = command("runs", "--trend", "--format", "markdown").out
    assert "4 runs excluded: incomplete, or different data, rules or convention" in done


@pytest.mark.parametrize("name", ["it-1", "it-3", "runs/it-2", "first-prompt"])
def test_a_trend_follows_the_series_of_a_run(runs, folder, command, name):
    command("runs", "it-1", "--add-tag", "first-prompt")
    fm.score("all.jsonl", "it-1.jsonl", out=runs / "stray", options={"wrong_value": "fp"})
    done = command("runs", name, "--trend", "--format", "json")
    assert [step["run"] for step in done.summary["steps"]] == ["it-1", "it-2", "it-3", "it-4"]
    assert done.summary["excluded"] == 1
    assert done.summary["metric"] == "mean_score"
    assert done.summary["convention"] == "confusion"
    assert [step.name for step in fm.runs(runs).trend(run=name).steps] == [
        step["run"] for step in done.summary["steps"]
    ]
    assert "; convention confusion" in command("runs", name, "--trend").out.replace("\n", "")


@pytest.mark.parametrize(
    ("metric", "values", "best"),
    [
        pytest.param("rqs", [0.625, 0.7375, 0.7375, 0.715], "it-2", id="short-name"),
        pytest.param("attributes.total.f1", [0.5, 0.75, 0.75, 0.7], "it-2", id="attribute"),
        pytest.param("micro.precision", [0.5, 0.75, 0.75, 0.7], "it-2", id="dotted"),
        pytest.param("errors_by_type.wrong_value", [10, 5, 5, 6], "it-2", id="lower-is-better"),
    ],
)
def test_any_metric_can_be_followed(runs, command, metric, values, best):
    found = command("runs", "--trend", "--metric", metric, "--format", "json").summary
    assert [step["value"] for step in found["steps"]] == pytest.approx(values)
    assert found["best"] == best
    assert fm.runs(runs).trend(metric).best == best
    assert command("runs", "--trend", "--metric", metric).code in {10, 11}


@pytest.mark.parametrize("output_format", ["table", "markdown", "csv"])
def test_rqs_of_a_run_says_that_safety_was_not_evaluated(folder, command, output_format):
    fm.score([({"total": n}, {"total": n % 3}) for n in range(9)], out="runs/unjudged")
    lines = command("runs", "unjudged", "--format", output_format).out.splitlines()
    assert ["safety not evaluated" in line for line in lines if "rqs" in line] == [True]
    assert sum("not evaluated" in line for line in lines) == 1


def test_a_run_with_nothing_to_score_shows_vacuous_metrics_without_intervals(folder, command):
    fm.score([({"total": None}, {"total": None})], out="runs/vacuous")
    rows = [line.split() for line in command("runs", "vacuous").out.splitlines()]
    assert ["mean_score", "1.000", "vacuous"] in rows
    assert ["micro_f1", "–"] in rows
    assert not [row for row in rows if row[:1] in (["perfect"], ["passed"])]


@pytest.mark.parametrize("metric", ["mean_score", "macro_f1_by_attribute", "accuracy", "safety"])
def test_a_metric_with_nothing_behind_it_reaches_no_target(folder, command, metric):
    fm.score([({"total": None}, {"total": None})], out="runs/vacuous")
    done = command("runs", "--trend", "--metric", metric, "--target", "0.5")
    assert done.code == 10
    assert "best: –; continue: target 0.5 not reached" in done.out
    (step,) = fm.runs("runs").trend(metric).steps
    assert step.value is None


def test_an_unknown_metric_of_a_trend_has_a_suggestion(runs, command):
    done = command("runs", "--trend", "--metric", "attributes.totl.f1")
    assert done.code == 2
    assert "unknown metric 'attributes.totl.f1'; did you mean 'attributes.total.f1'?" in done.err


@pytest.mark.parametrize(
    "options",
    [["--target", "1.5"], ["--patience", "0"], ["--min-gain", "-1"], ["--metric", "macro"]],
)
def test_invalid_trend_options_are_rejected(runs, command, options):
    assert command("runs", "--trend", *options).code == 2


def test_deleting_a_run_requires_confirmation(runs, command):
    done = command("runs", "--delete", "it-1")
    assert done.code == 2
    assert "add --yes to confirm" in done.err
    assert (runs / "it-1").is_dir()
    assert command("runs", "--delete", "it", "--yes").code == 2
    done = command("runs", "--delete", "it-1", "--yes")
    assert (done.code, done.err) == (0, "deleted runs/it-1\n")
    assert listed(command) == ["it-2", "it-3", "it-4"]


def test_a_run_that_is_being_written_is_not_deleted(runs, command):
    with RunLock(runs / "it-1"):
        done = command("runs", "--delete", "runs/it-1", "--yes")
    assert done.code == 75
    assert "is being written by process" in done.err
    assert (runs / "it-1").is_dir()


def test_root_selects_another_directory(runs, command):
    runs.rename(runs.with_name("other"))
    assert listed(command) == []
    assert listed(command, "--root", "other") == ["it-1", "it-2", "it-3", "it-4"]


def test_the_list_in_all_formats(runs, command):
    rows = list(csv.DictReader(io.StringIO(command("runs", "--format", "csv").out)))
    assert [row["mean_score"] for row in rows] == ["0.5", "0.75", "0.75", "0.7"]
    assert "| it-1 |" in command("runs", "--format", "markdown").out
    assert command("runs", "--quiet").out == ""


def test_control_characters_of_notes_are_escaped(runs, command):
    command("runs", "it-1", "--note", "\x1b[31mred")
    for output_format in ("table", "markdown"):
        assert "\x1b" not in command("runs", "--format", output_format).out
    assert "\x1b" not in command("runs", "it-1").out


def test_runs_in_python(runs):
    found = fm.runs(runs)
    assert len(found) == 4
    assert found.trend().best == "it-2"
    assert "it-4" in repr(found)


def test_run_is_named_and_archived(folder, command):
    command("score", "truth.jsonl", "candidate.jsonl", "--out", "runs/a", "--min", "micro_f1=0.1")
    command("score", "truth.jsonl", "candidate.jsonl", "--out", "runs/b", "--min", "micro_f1=1.1")
    assert command("runs", "a", "--name", " prompt 1 ", "--quiet").code == 0
    listed = command("runs").out
    assert "passed prompt 1" in listed
    assert "failed" in listed
    assert command("runs", "a", "--archive", "--quiet").code == 0
    assert "prompt 1" not in command("runs").out
    assert "passed archived prompt 1" in command("runs", "--archived").out
    assert command("runs", "a", "--unarchive", "--name", "", "--quiet").code == 0
    stored = {
        each["id"]: each for each in json.loads(command("runs", "--format", "json").out)["runs"]
    }
    assert (stored["a"]["name"], stored["a"]["archived"], stored["a"]["verdict"]) == (
        "",
        False,
        "pass",
    )
    assert stored["a"]["metrics"]["completeness"] is not None
    refused = command("runs", "--archive")
    assert (refused.code, "RUN is required" in refused.err) == (2, True)
