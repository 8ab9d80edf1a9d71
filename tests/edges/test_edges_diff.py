"""Two runs compared from the command line: what is told, what is refused, and the exit codes."""

from __future__ import annotations

import csv
import io
import json

import pytest

import fieldmark as fm
from fieldmark.errors import ConfigError, DataError
from fieldmark.metrics.difference import DiffVerdict

CASES = 60


def rows(right):
    """Candidates of which the first so many are right."""
    return [{"id": str(n), "total": n if n < right else -1, "vendor": "Acme"} for n in range(CASES)]


TRUTH = rows(CASES)


def write(path, content):
    path.write_text("".join(json.dumps(row) + "\n" for row in content), "utf-8")
    return path


@pytest.fixture
def runs(folder, command):
    """Three runs in `runs`: bad, good, and good again."""
    truth = write(folder / "all.jsonl", TRUTH)
    for name, right in (("bad", 30), ("good", 55), ("again", 55)):
        found = write(folder / f"{name}.jsonl", rows(right))
        assert command("score", truth, found, "--out", f"runs/{name}", "-q").code == 0
    return folder / "runs"


def test_a_run_that_got_better(runs, command):
    done = command("diff", "runs/bad", "runs/good", "--format", "json")
    said = done.summary
    assert done.code == 0
    assert said["conclusion"]["word"] == "better"
    assert said["verdicts"]["fixed"] == 25
    assert said["verdicts"]["broken"] == 0
    assert said["attributes"]["total"]["word"] == "better"
    assert said["attributes"]["vendor"]["word"] == "no difference"
    assert said["errors_by_type"]["wrong_value"] == {"before": 30, "after": 5}
    assert said["shifts"] == [{"before": "wrong_value", "after": "match", "fields": 25}]
    assert [case["case_id"] for case in said["fixed"]][:2] == ["30", "31"]
    low, high = said["attributes"]["total"]["interval"]
    assert low < said["attributes"]["total"]["delta"] < high


@pytest.mark.parametrize("other", ["good", "again"])
def test_equal_runs_are_no_difference(runs, command, other):
    done = command("diff", "runs/good", f"runs/{other}")
    assert done.code == 0
    assert done.out.startswith("No difference: mean score 0.958 → 0.958")


def test_all_forms_say_the_same(runs, command):
    table = command("diff", "bad", "good").out
    assert "Better: mean score 0.750 → 0.958" in table
    assert "broken" not in table.replace("0 broken", "")
    markdown = command("diff", "bad", "good", "--format", "markdown").out
    assert "| total | 0.500 | 0.917 | **+0.417** |" in markdown
    listed = list(
        csv.DictReader(io.StringIO(command("diff", "bad", "good", "--format", "csv").out))
    )
    assert {row["name"] for row in listed} >= {"mean_score", "total", "vendor"}
    assert command("diff", "bad", "good", "--quiet").out == ""


def test_top_bounds_the_table(runs, command):
    done = command("diff", "bad", "good", "--top", "1")
    assert "… and 1 more attributes" in done.out


@pytest.mark.parametrize(
    ("order", "limit", "code"),
    [
        pytest.param(("bad", "good"), "0.01", 0, id="a-gain"),
        pytest.param(("good", "bad"), "0.01", 1, id="a-drop-beyond-the-limit"),
        pytest.param(("good", "bad"), "0.5", 0, id="a-drop-within-it"),
        pytest.param(("good", "bad"), "attributes.vendor.f1=0", 0, id="of-another-attribute"),
        pytest.param(("good", "bad"), "attributes.total.f1=0.1", 1, id="of-this-attribute"),
        pytest.param(("bad", "good"), "errors_by_type.wrong_value=0", 0, id="fewer-mistakes"),
        pytest.param(("good", "bad"), "errors_by_type.wrong_value=0", 1, id="more-mistakes"),
        pytest.param(("bad", "good"), "mean_scor=0.1", 2, id="an-unknown-figure"),
        pytest.param(("bad", "good"), "much", 2, id="no-number"),
        pytest.param(("bad", "good"), "nan", 2, id="not-a-number"),
    ],
)
@pytest.mark.parametrize("form", ["table", "json"])
def test_drops_decide_the_exit_code(runs, command, order, limit, code, form):
    done = command("diff", *order, "--max-drop", limit, "--format", form)
    assert done.code == code
    if code == 1:
        assert "FAIL" in (done.out if form == "table" else done.err)


def test_a_figure_has_one_limit(runs, command):
    done = command("diff", "bad", "good", "--max-drop", "0.1", "--max-drop", "mean_score=0.2")
    assert done.code == 2
    assert "has a limit already" in done.err


def test_other_data_is_refused_unless_forced(folder, runs, command):
    other = write(folder / "other.jsonl", TRUTH[:50])
    command("score", other, folder / "good.jsonl", "--out", "runs/other", "-q")
    done = command("diff", "good", "other")
    assert (done.code, done.out) == (2, "")
    assert "different truths" in done.err
    forced = command("diff", "good", "other", "--force")
    assert forced.code == 0
    assert "forced: The runs were scored against different truths." in forced.out
    assert "10 case(s) are only in good" in forced.out


def test_the_same_truth_in_pairs_is_found_by_looking_at_it(folder, command):
    def paired(name, truth, right):
        both = zip(truth, rows(right), strict=True)
        content = [{"id": t["id"], "expected": t, "candidate": c} for t, c in both]
        write(folder / f"{name}.jsonl", content)
        command("score", f"{name}.jsonl", "--out", f"runs/{name}", "-q")

    paired("one", TRUTH, 30)
    paired("two", TRUTH, 40)
    paired("three", [{**row, "vendor": "Bolt"} for row in TRUTH], 40)
    assert command("diff", "one", "two").code == 0
    done = command("diff", "one", "three")
    assert done.code == 2
    assert "60 case(s) have another truth" in done.err
    assert command("diff", "one", "three", "--force").code == 0


def test_another_order_of_cases_is_the_same_data(folder):
    both = zip(TRUTH, rows(40), strict=True)
    named = [{"id": t["id"], "expected": t, "candidate": c} for t, c in both]
    fm.score(named, out="runs/one")
    fm.score(named[::-1], out="runs/two")
    fm.score(named[:50], out="runs/fewer")
    assert fm.diff("runs/one", "runs/two").pairs.cases == CASES
    assert fm.diff("runs/one", "runs/two").word is DiffVerdict.SAME
    with pytest.raises(
        ConfigError, match=r"10 case\(s\) are only in the first run, 0 in the second"
    ):
        fm.diff("runs/one", "runs/fewer")


def test_another_counting_is_refused_unless_rescored(folder, runs, command):
    command("score", "all.jsonl", "good.jsonl", "--set", "wrong_value=fp", "--out", "runs/fp", "-q")
    done = command("diff", "bad", "fp")
    assert done.code == 2
    assert "counted by different conventions: wrong_value fp_and_fn and fp" in done.err
    rescored = command("diff", "bad", "fp", "--rescore", "--format", "json")
    assert rescored.code == 0
    plain = command("diff", "bad", "good", "--format", "json")
    for key in ("figures", "attributes", "conclusion", "errors_by_type"):
        assert rescored.summary[key] == plain.summary[key]
    assert rescored.summary["notes"] == ["fp was counted as bad was"]


def test_other_rules_are_refused_even_if_rescored(folder, runs, command):
    command("score", "all.jsonl", "good.jsonl", "--match", "fuzzy", "--out", "runs/fuzzy", "-q")
    for options in ([], ["--rescore"]):
        done = command("diff", "bad", "fuzzy", *options)
        assert done.code == 2
        assert "different rules: comparator exact and fuzzy" in done.err
    assert command("diff", "bad", "fuzzy", "--force").code == 0


def test_weights_are_part_of_the_counting(folder, command):
    for name, weight in (("light", 1), ("heavy", 5)):
        rules = {"fields": [{"path": "total", "weight": weight}]}
        options = {"convention": "field_accuracy", "scope": "truth"}
        fm.score(TRUTH, rows(30), rules=rules, out=f"runs/{name}", **options)
    with pytest.raises(ConfigError, match="counted by different conventions"):
        fm.diff("runs/light", "runs/heavy")
    found = fm.diff("runs/light", "runs/heavy", rescore=True)
    assert found.word is DiffVerdict.SAME
    assert found.figures.headline["mean_score"].delta == 0


def test_a_run_that_did_not_end_is_refused(runs, command):
    manifest = runs / "good" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"complete"', '"interrupted"'))
    done = command("diff", "bad", "good")
    assert done.code == 2
    assert "is not complete but interrupted" in done.err
    assert command("diff", "bad", "good", "--force").code == 0


def test_all_obstacles_are_told_at_once(folder, runs, command):
    other = write(folder / "other.jsonl", TRUTH[:50])
    command("score", other, "good.jsonl", "--match", "fuzzy", "--set", "wrong_value=fp", "--out",
            "runs/other", "-q")  # fmt: skip
    said = command("diff", "good", "other").err
    assert len(said.splitlines()) == 3
    assert all(word in said for word in ("rules", "conventions", "truths"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("missing", "There is no run missing", id="no-such-run"),
        pytest.param(".", "holds no run", id="a-folder-without-a-run"),
        pytest.param("goood", "Did you mean good?", id="a-name-misspelt"),
    ],
)
def test_a_run_that_cannot_be_found(runs, command, name, words):
    done = command("diff", "bad", name)
    assert done.code == 2
    assert words in done.err
    assert "Traceback" not in done.err


def test_a_run_of_a_newer_version_is_refused(runs):
    manifest = runs / "good" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"format": 2', '"format": 3'))
    with pytest.raises(DataError, match="update fieldmark"):
        fm.diff(runs / "bad", runs / "good")


def test_a_row_that_is_broken_is_named(runs, command):
    results = runs / "good" / "results.jsonl"
    lines = results.read_text().splitlines(keepends=True)
    results.write_text("".join([*lines[:4], "{}\n", *lines[5:]]))
    done = command("diff", "bad", "good")
    assert done.code == 2
    assert "results.jsonl:5" in done.err


def test_a_run_that_was_not_kept_cannot_be_compared():
    run = fm.score(TRUTH, rows(30))
    with pytest.raises(ConfigError, match="was not kept"):
        fm.diff(run, run)


def test_names_of_runs(runs, command):
    for words in (("latest~2", "latest"), ("ba", "ag"), ("runs/bad", "latest")):
        assert command("diff", *words, "--format", "json").summary["verdicts"]["fixed"] == 25
    command("runs", "bad", "--add-tag", "baseline")
    assert command("diff", "baseline", "good", "-q").code == 0
    assert command("diff", "latest~9", "good").code == 2


def test_a_name_that_may_be_several_runs(runs, command):
    for name in ("go", "good-2"):
        fm.score(TRUTH, rows(10), out=runs / name)
    assert "any of 3 runs" in command("diff", "bad", "g").err
    assert command("diff", "bad", "go", "-q", "--force").code == 0


def test_text_from_runs_cannot_command_the_terminal(folder, command):
    pairs = [({"\x1b[31mx": n}, {"\x1b[31mx": n}) for n in range(3)]
    rows_of = [
        {"id": f"\x1b]0;{n}", "expected": e, "candidate": c} for n, (e, c) in enumerate(pairs)
    ]
    wrong = [{**row, "candidate": {"\x1b[31mx": -1}} for row in rows_of]
    fm.score(rows_of, out="runs/one")
    fm.score(wrong, out="runs/two")
    for form in ("table", "markdown"):
        done = command("diff", "one", "two", "--format", form)
        assert done.code == 0
        assert "\x1b" not in done.out


def test_names_of_runs_cannot_either(folder, command):
    for name in ("plain", "\x1b[31mred"):
        fm.score(TRUTH, rows(30), out=f"runs/{name}")
    done = command("diff", "plain", "\x1b[31mred", "--rescore")
    assert done.code == 0
    assert "was counted as plain was" in done.out
    assert "\x1b" not in done.out


def test_a_baseline_for_gates_of_a_run(runs):
    limits = {"max_drop": {"mean_score": 0.05}}
    [gate] = fm.score(TRUTH, rows(30), baseline=runs / "good", **limits).summary.gates
    assert not gate.passed
    assert gate.value == pytest.approx(25 / 120)
    [gate] = fm.score(TRUTH, rows(55), baseline=runs / "bad", **limits).summary.gates
    assert gate.passed
    with pytest.raises(ConfigError, match="compared or counted otherwise"):
        fm.score(TRUTH, rows(55), options={"wrong_value": "fp"}, baseline=runs / "good", **limits)


def test_evaluations_are_compared_by_what_their_evaluators_said(folder):
    spec = {
        "evaluators": [{"name": "header", "type": "field_accuracy", "fields": [{"path": "total"}]}]
    }
    for name, right in (("one", 30), ("two", 55)):
        both = zip(TRUTH, rows(right), strict=True)
        cases = [{"id": t["id"], "expected": t, "candidate": c} for t, c in both]
        fm.evaluate({**spec, "cases": cases}, out=f"runs/{name}")
    found = fm.diff("runs/one", "runs/two", max_drop={"evaluators.header.mean_score": 0.0})
    assert found.word is DiffVerdict.BETTER
    assert found.passed
    assert found.figures.headline["mean_score"].delta == pytest.approx(25 / 60)
