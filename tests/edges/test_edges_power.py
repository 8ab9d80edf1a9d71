"""How many cases a gate needs, on the command line and in Python."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from fieldmark.errors import ConfigError


@pytest.fixture
def run(folder, command):
    truth = [{"id": str(n), "total": n, "vendor": "Acme"} for n in range(120)]
    found = [{**row, "total": row["total"] if n % 8 else -1} for n, row in enumerate(truth)]
    fm.score(truth, found, out="run")
    return command


def test_conclusion_gate_and_detectable_drop(run):
    lines = run("diff", "run", "--power", "--drop", "0.02", "--metric", "micro_f1").out.splitlines()
    found = fm.power("run", 0.02, metric="micro_f1")
    assert lines[0] == (
        f"{found.cases_needed} cases needed to detect a drop of micro_f1 by 0.02 (now 0.938) with a "
        "probability of 80%"
    )
    assert lines[1].startswith(f"gate for {found.cases_needed} cases: --min 'micro_f1=0.9")
    assert lines[2].startswith("the 120 cases of run can detect a drop by 0.0")
    assert found.limit < found.value


@pytest.mark.parametrize("form", ["json", "csv", "markdown"])
def test_other_formats(run, form):
    found = fm.power("run", 0.05)
    assert (
        str(found.cases_needed)
        in run("diff", "run", "--power", "--drop", "0.05", "--format", form).out
    )


@pytest.mark.parametrize(
    "metric", ["micro.f1", "attributes.total.recall", "hallucination", "completeness"]
)
def test_metric_has_a_size(run, metric):
    assert fm.power("run", 0.02, metric=metric).cases_needed > 1


def test_metric_that_never_varies_says_so(run):
    out = run("diff", "run", "--power", "--drop", "0.02", "--metric", "attributes.vendor.f1").out
    assert "does not vary between the cases" in out


def test_increase_of_a_metric_for_which_less_is_better(run):
    out = run("diff", "run", "--power", "--drop", "0.02", "--metric", "hallucination").out
    assert "an increase of hallucination by 0.02" in out
    assert "--max 'hallucination=" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(["--drop", "0"], "drop must be between 0 and 1, got 0", id="no-drop"),
        pytest.param(["--drop", "0.99"], "drop 0.99 is larger than possible", id="too-large"),
        pytest.param(["--drop", "0.1", "--alpha", "0.7"], "alpha must be", id="alpha"),
        pytest.param(["--drop", "0.1", "--probability", "1"], "power must be", id="power"),
        pytest.param(["--drop", "0.1", "--metric", "mico.f1"], "unknown metric", id="unknown"),
        pytest.param(
            ["--drop", "0.1", "--metric", "cases.total"],
            "cases.total cannot be planned: it has no standard deviation over cases",
            id="a-count",
        ),
    ],
)
def test_invalid_requests_are_rejected(run, options, message):
    done = run("diff", "run", "--power", *options)
    assert done.code == 2
    assert message in done.err


def test_drop_is_that_of_a_second_run(run):
    truth = [{"id": str(n), "total": n, "vendor": "Acme"} for n in range(120)]
    worse = [{**row, "total": row["total"] if n % 6 else -1} for n, row in enumerate(truth)]
    fm.score(truth, worse, out="worse")
    found = fm.power("run", after="worse")
    drop = fm.open_run("run").mean_score - fm.open_run("worse").mean_score
    assert found.drop == pytest.approx(drop)
    assert found.cases_needed == fm.power("run", drop).cases_needed
    done = run("diff", "run", "worse", "--power", "--format", "json")
    assert json.loads(done.out) == found.to_dict()
    done = run("diff", "worse", "run", "--power")
    assert (done.code, "mean_score is not worse in run than in worse" in done.err) == (2, True)


def test_drop_is_given_once(run):
    with pytest.raises(ConfigError, match="either drop or after is required"):
        fm.power("run")
    with pytest.raises(ConfigError, match="either drop or after is required"):
        fm.power("run", 0.1, after="run")


def test_runs_with_different_rules_have_no_drop(run):
    fm.score([({"total": 1}, {"total": 2})], match="fuzzy", out="other")
    with pytest.raises(
        ConfigError, match="the runs cannot be compared: the runs have different rules"
    ):
        fm.power("run", after="other")
