"""`resamples` and `seed` of a run: from every place where options are set to its intervals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fieldmark as fm
from fieldmark.mcp import serving
from fieldmark.mcp.tools import Toolbox
from fieldmark.metrics.summary import Resampling
from fieldmark.runs.run_options import complete_options, options_of_run
from interrupted_runs import interrupted_at_segment
from row_files import write_rows
from unit.web.live_server import live

TRUTH = [{"id": f"{n}", "total": n, "vendor": f"v{n % 7}"} for n in range(60)]
FOUND = [{"id": f"{n}", "total": n + (n % 4 == 0), "vendor": f"v{n % 5}"} for n in range(60)]
CHOSEN = Resampling(resamples=150, seed=7)


@pytest.fixture
def files(folder):
    for name, rows in (("t.jsonl", TRUTH), ("c.jsonl", FOUND)):
        write_rows(folder / name, rows)
    return "t.jsonl", "c.jsonl"


@pytest.fixture(scope="module")
def chosen():
    return fm.score(TRUTH, FOUND, intervals=True, **CHOSEN._asdict()).summary.intervals


def intervals_of(run):
    return fm.open_run(run).summary.intervals


def test_python(chosen):
    usual = fm.score(TRUTH, FOUND, intervals=True).summary.intervals
    same = fm.score(TRUTH, FOUND, intervals=True, resamples=1_000, seed=0).summary.intervals
    assert usual == same != chosen
    assert (usual.resampling, chosen.resampling) == (Resampling(1_000, 0), CHOSEN)
    other = fm.score(TRUTH, FOUND, intervals=True, resamples=150, seed=8).summary.intervals
    assert other.deviations != chosen.deviations


def test_seed_of_several_models_is_that_of_their_runs_and_of_the_ranking():
    models = {"a": TRUTH, "b": FOUND}
    first, second = (
        fm.score_many(TRUTH, models, resamples=150, seed=seed).ranking.runs for seed in (7, 8)
    )
    assert first[1].interval != second[1].interval


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resamples": 0}, "resamples must be an integer from 1 to 100000, got 0"),
        ({"resamples": 100_001}, "resamples must be an integer from 1 to 100000, got 100001"),
        ({"seed": -1}, "seed must be an integer from 0 to 4294967295, got -1"),
    ],
    ids=["none", "too-many", "negative-seed"],
)
def test_limits(options, message):
    with pytest.raises(fm.ConfigError, match=f"^{message}$"):
        fm.score(TRUTH, FOUND, **options)


def test_command_line_and_manifest(files, command, chosen):
    words = ("score", *files, "--resamples", 150, "--seed", 7, "--out", "run", "--quiet")
    assert command(*words).code == 0
    assert intervals_of("run") == chosen
    stored = options_of_run("run", "score")
    assert (stored["resamples"], stored["seed"]) == CHOSEN
    summary = json.loads(Path("run/summary.json").read_text("utf-8"))
    assert summary["resampling"] == CHOSEN._asdict()
    refused = command("score", *files, "--resamples", 0)
    assert "expected an integer from 1 to 100000, got '0'" in refused.err


def test_a_rescored_run_is_resampled_like_the_run(files, chosen):
    fm.score(*files, out="run", **CHOSEN._asdict())
    fm.rescore("run", out="counted")
    fm.rescore("run", rules={}, out="compared")
    fm.rescore("counted", by=["vendor"], out="again")
    for name in ("counted", "compared", "again"):
        assert intervals_of(name) == chosen
    part = [(case.case.expected, case.case.candidate) for case in fm.open_run("run").cases]
    alone = fm.score(
        [each for each in part if each[0]["vendor"] == "v1"], intervals=True, **CHOSEN._asdict()
    )
    slices = fm.open_run("again").summary.slices
    assert slices["vendor=v1"].intervals.resampling == alone.summary.intervals.resampling == CHOSEN


def test_a_resumed_run_is_resampled_as_it_was_started(files, command, chosen):
    with interrupted_at_segment(1):
        fm.score(*files, out="run", **CHOSEN._asdict())
    refused = command("score", "--resume", "run", "--seed", 8)
    assert "remove --seed" in refused.err
    assert command("score", "--resume", "run", "--quiet").code == 0
    assert intervals_of("run") == chosen


def test_eval_file_and_command(files, command, folder, chosen):
    (folder / "e.eval.yaml").write_text(
        "{cases: t.jsonl, candidates: c.jsonl, resamples: 150, seed: 7}", "utf-8"
    )
    assert fm.evaluate("e.eval.yaml", intervals=True).summary.intervals == chosen
    assert command("eval", "e.eval.yaml", "--out", "one", "--quiet").code == 0
    assert intervals_of("one") == chosen
    command("eval", "e.eval.yaml", "--seed", 8, "--out", "two", "--quiet")
    assert intervals_of("two").resampling == Resampling(150, 8)
    (folder / "e.eval.yaml").write_text("{cases: t.jsonl, candidates: c.jsonl, resamples: 0}")
    wrong = command("validate", "e.eval.yaml")
    assert "1:50: resamples: must be an integer from 1 to 100000, got 0" in wrong.err


def test_http(tmp_path, chosen):
    with live(tmp_path) as server:
        run = server.run(TRUTH, FOUND, **CHOSEN._asdict())
        found = server.client.get(f"/api/runs/{run}").json()["summary"]
        assert found["deviations"] == chosen.deviations
        body = {"truth": {"rows": TRUTH}, "candidate": {"rows": FOUND}, "resamples": 0}
        assert server.client.post("/api/batch", json=body).status_code == 422


def test_mcp(files, folder, chosen):
    arguments = {"truth": files[0], "predictions": files[1], "save": True, **CHOSEN._asdict()}
    result = serving._call(Toolbox([folder], write=True), "score", arguments)
    assert not result.is_error, result
    assert intervals_of(folder / "runs" / result.structured_content["run"]) == chosen
    refused = serving._call(
        Toolbox([folder]), "score", {**arguments, "resamples": 0, "save": False}
    )
    assert refused.is_error


def test_plan(files, command, chosen):
    words = (
        "parts",
        "plan",
        *files,
        "--partitions",
        1,
        "--out",
        "plan",
        "--resamples",
        150,
        "--seed",
        7,
    )
    assert command(*words).code == 0
    assert command("parts", "work", "plan", "--partition", 0).code == 0
    assert command("parts", "merge", "plan", "--out", "merged", "--quiet").code == 0
    assert intervals_of("merged") == chosen


def test_defaults_are_not_stored(files):
    fm.score(*files, out="run")
    stored = options_of_run("run", "score")
    assert not {"resamples", "seed"} & stored.keys()
    assert complete_options(**stored)["resamples"] == 1_000
