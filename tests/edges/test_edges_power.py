"""How many cases a gate needs, on the command line and in Python."""

from __future__ import annotations

import pytest

import fieldmark as fm


@pytest.fixture
def run(folder, command):
    truth = [{"id": str(n), "total": n, "vendor": "Acme"} for n in range(120)]
    found = [{**row, "total": row["total"] if n % 8 else -1} for n, row in enumerate(truth)]
    fm.score(truth, found, out="run")
    return command


def test_conclusion_gate_and_detectable_drop(run):
    lines = run("power", "run", "--drop", "0.02", "--metric", "micro_f1").out.splitlines()
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
    assert str(found.cases_needed) in run("power", "run", "--drop", "0.05", "--format", form).out


@pytest.mark.parametrize(
    "metric", ["micro.f1", "attributes.total.recall", "hallucination", "completeness"]
)
def test_metric_has_a_size(run, metric):
    assert fm.power("run", 0.02, metric=metric).cases_needed > 1


def test_metric_that_never_varies_says_so(run):
    out = run("power", "run", "--drop", "0.02", "--metric", "attributes.vendor.f1").out
    assert "does not vary between the cases" in out


def test_increase_of_a_metric_for_which_less_is_better(run):
    out = run("power", "run", "--drop", "0.02", "--metric", "hallucination").out
    assert "an increase of hallucination by 0.02" in out
    assert "--max 'hallucination=" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(["--drop", "0"], "drop must be between 0 and 1, got 0", id="no-drop"),
        pytest.param(["--drop", "0.99"], "drop 0.99 is larger than possible", id="too-large"),
        pytest.param(["--drop", "0.1", "--alpha", "0.7"], "alpha must be", id="alpha"),
        pytest.param(["--drop", "0.1", "--power", "1"], "power must be", id="power"),
        pytest.param(["--drop", "0.1", "--metric", "mico.f1"], "unknown metric", id="unknown"),
        pytest.param(
            ["--drop", "0.1", "--metric", "cases.total"],
            "cases.total cannot be planned: it has no standard deviation over cases",
            id="a-count",
        ),
    ],
)
def test_invalid_requests_are_rejected(run, options, message):
    done = run("power", "run", *options)
    assert done.code == 2
    assert message in done.err
