"""`fieldmark score TRUTH A B …` and `fm.score_many`: one run for each model, and their ranking."""

from __future__ import annotations

import pytest

import fieldmark as fm
from fieldmark.errors import ConfigError
from row_files import write_rows

TRUTH = [{"id": str(n), "total": n} for n in range(12)]


def write(path, rows):
    path.parent.mkdir(exist_ok=True)
    write_rows(path, rows)
    return path


@pytest.fixture
def files(folder):
    """Ground truth, and the predictions of two models in files of different directories."""
    write(folder / "all.jsonl", TRUTH)
    write(folder / "gpt.jsonl", [{**row, "total": 0} for row in TRUTH])
    write(folder / "b" / "claude.v2.jsonl", TRUTH)
    return folder


MODELS = ("all.jsonl", "gpt.jsonl", "b/claude.v2.jsonl")


def test_every_model_gets_a_run_named_after_its_file(files, command):
    done = command("score", *MODELS, "--out", "runs", "--format", "json")
    assert done.code == 0
    assert [run["name"] for run in done.summary["runs"]] == ["claude.v2", "gpt"]
    assert sorted(path.name for path in (files / "runs").iterdir()) == ["claude.v2", "gpt"]
    assert done.err == "saved run of gpt to runs/gpt\nsaved run of claude.v2 to runs/claude.v2\n"
    alone = fm.score("all.jsonl", "gpt.jsonl", out="alone")
    for name in ("results.jsonl", "summary.json"):
        assert (files / "runs" / "gpt" / name).read_bytes() == (alone.path / name).read_bytes()
    again = command("rank", "runs/gpt", "runs/claude.v2", "--format", "json")
    assert again.summary == done.summary


def test_runs_have_ids_without_a_directory(files, command):
    assert command("score", *MODELS, "-q").code == 0
    assert len(list((files / "runs").iterdir())) == 2
    ranked = command("rank", "latest", "latest~1", "--format", "json").summary
    assert [run["name"] for run in ranked["runs"]] == ["claude.v2", "gpt"]


def test_nothing_is_written_without_saving(files, command):
    done = command("score", *MODELS, "--no-save")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Best: claude.v2\n")
    assert not (files / "runs").exists()


def test_gates_apply_to_every_run(files, command):
    done = command("score", *MODELS, "--no-save", "--min", "micro.f1=0.5", "--quiet")
    assert done.code == 1
    assert done.err == "fieldmark: gpt: gate failed: micro.f1 is 0.0833, must be at least 0.5\n"


def test_a_baseline_is_none_of_the_runs(files, command):
    fm.score(TRUTH, TRUTH, out="runs/earlier")
    fm.score("all.jsonl", "b/claude.v2.jsonl", out="runs/base")
    # The second is worse than the baseline, but better than the run before it.
    write(
        files / "half.jsonl",
        [{**row, "total": row["total"] * (n % 2)} for n, row in enumerate(TRUTH)],
    )
    options = ("--baseline", "latest", "--max-drop", "0.1", "-q")
    done = command("score", "all.jsonl", "gpt.jsonl", "half.jsonl", "--out", "runs/new", *options)
    assert done.code == 1
    gpt, half = done.err.splitlines()
    assert gpt.startswith("fieldmark: gpt: gate failed: drop of mean_score is 0.9")
    assert half.startswith("fieldmark: half: gate failed: drop of mean_score is 0.4")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(("all.jsonl", "gpt.jsonl", "x.jsonl", "y.jsonl"),
                     "x.jsonl: file not found\nfieldmark: y.jsonl: file not found", id="missing"),
        pytest.param(("all.jsonl", "gpt.jsonl", "-"), "standard input can be read only once", id="stdin"),
        pytest.param(("-", "gpt.jsonl", "all.jsonl"), "standard input can be read only once", id="stdin-truth"),
        pytest.param(("--resume", "runs/a", "all.jsonl", "gpt.jsonl", "all.jsonl"), "remove the inputs", id="resume"),
    ],
)  # fmt: skip
def test_inputs_are_checked_before_the_first_run(files, command, words, message):
    done = command("score", *words)
    assert done.code == 2
    assert message in done.err
    assert not (files / "runs").exists()


def test_files_of_the_same_name_are_numbered(files):
    write(files / "b" / "gpt.jsonl", TRUTH)
    scored = fm.score_many("all.jsonl", ["gpt.jsonl", "b/gpt.jsonl"], out="runs")
    assert [run.name for run in scored.ranking.runs] == ["gpt-2", "gpt"]
    assert {path.name for path in (files / "runs").iterdir()} == {"gpt", "gpt-2"}


def test_runs_of_the_library_have_metrics_without_being_saved():
    wrong = [{**row, "total": 0} for row in TRUTH]
    scored = fm.score_many(TRUTH, {"good": TRUTH, "bad": wrong}, min={"micro.f1": 0.5})
    assert scored.runs["bad"].micro.tp == 1
    assert not scored.passed
    assert [run.path for run in scored.ranking.runs] == ["", ""]
    assert scored.to_dict()["best"] == ["good"]
    assert repr(scored).startswith("Best: good\n")
    with pytest.raises(ConfigError):
        list(scored.runs["bad"].cases)


@pytest.mark.parametrize(
    ("candidates", "error", "message"),
    [
        pytest.param({"one": TRUTH}, ConfigError, "at least two models, got 1", id="one"),
        pytest.param([TRUTH, TRUTH], TypeError, "files, or a mapping from names, got list", id="unnamed"),
        pytest.param("gpt.jsonl", TypeError, "must be a list or a mapping, got str", id="text"),
    ],
)  # fmt: skip
def test_several_named_models_are_required(candidates, error, message):
    with pytest.raises(error, match=message):
        fm.score_many(TRUTH, candidates)


def test_truth_that_can_be_read_once_is_rejected():
    with pytest.raises(ConfigError, match="truth is read once for each model"):
        fm.score_many(iter(TRUTH), {"one": TRUTH, "two": TRUTH})
