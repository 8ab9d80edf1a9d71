"""F1 has one value in every output: 0 if nothing matched, undefined if there is nothing to count."""

from __future__ import annotations

import csv
import io
import json

import pytest

import fieldmark as fm
from fieldmark.report.html.view import view_of
from row_files import write_rows
from unit.report.exported import shown

# `total` never matches, `note` is empty on both sides, `vendor` always matches.
TRUTH = [{"id": str(n), "total": n, "note": None, "vendor": "Acme"} for n in range(3)]
PREDICTED = [{"id": str(n), "total": n + 1, "note": "", "vendor": "Acme"} for n in range(3)]
ORDER = ["total", "vendor", "note"]


@pytest.fixture
def run(folder, command):
    """Score into `runs/RUN` with further arguments, and return the printed summary."""
    for name, rows in (("t.jsonl", TRUTH), ("p.jsonl", PREDICTED)):
        write_rows(folder / name, rows)

    def score(name="run", *more, output="json"):
        return command(
            "score", "t.jsonl", "p.jsonl", "--out", f"runs/{name}", "--format", output, *more
        )

    return score


def test_json_and_csv(run):
    attributes = run().summary["attributes"]
    assert {path: each["f1"] for path, each in attributes.items()} == {
        "total": 0.0, "vendor": 1.0, "note": None,
    }  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(run("again", output="csv").out)))
    assert [(row["attribute"], row["f1"]) for row in rows] == [
        ("total", "0.0"), ("vendor", "1.0"), ("note", ""),
    ]  # fmt: skip


def test_table_and_markdown_have_the_worst_attribute_first(run):
    lines = run(output="table").out.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("Attribute"))
    table = lines[start + 1 : start + 4]
    assert [line.split()[0] for line in table] == ORDER
    assert "0.000  0.000 0.000 ▏ " in table[0]
    assert table[2].split()[-3:] == ["–", "–", "–"]
    markdown = [
        line for line in run("again", output="markdown").out.splitlines() if "| 3 |" in line
    ]
    assert [line.split("|")[1].strip() for line in markdown] == ORDER
    assert [line.split("|")[-2].strip() for line in markdown] == ["0.000", "1.000", "–"]


def test_report(run, folder):
    run()
    view = view_of(shown(folder / "runs/run")).run
    assert [(row["attribute"], row["f1"]) for row in view["attributes"]] == [
        ("total", 0.0), ("vendor", 1.0), ("note", None),
    ]  # fmt: skip
    assert view["heat"]["attributes"] == ["total"]


def test_gates_compare_zero_and_fail_on_undefined(run):
    assert "attributes.total.f1 is 0.0000" in run("one", "--min", "attributes.total.f1=0.5").err
    assert "attributes.note.f1 is undefined" in run("two", "--min", "attributes.note.f1=0.5").err
    assert run("three", "--min", "attributes.total.f1=0").code == 0


def test_comparison_with_another_run(run, command):
    run("one")
    run("two")
    found = command("diff", "runs/one", "runs/two", "--format", "json").summary["attributes"]
    assert (found["total"]["before"], found["total"]["after"]) == (0.0, 0.0)
    assert found["note"]["before"] is found["note"]["after"] is None


def test_intervals_and_improvements(run, command, folder):
    run()
    stored = json.loads((folder / "runs/run/summary.json").read_text("utf-8"))["attributes"]
    assert stored["total"]["interval"]["f1"][0] == 0.0
    assert stored["note"]["interval"]["f1"] is None
    [first, *_] = command("improve", "runs/run", "--format", "json").summary["attributes"]
    assert (first["attribute"], first["f1"]) == ("total", 0.0)


def test_resamples_without_a_match_are_part_of_the_interval(tmp_path):
    pairs = [({"total": n}, {"total": 0}) for n in range(8)]
    run = fm.score(pairs, out=tmp_path / "run")
    assert run.attributes["total"].f1 == 0.125
    assert run.summary.intervals.attributes["total"].interval.f1[0] == 0.0


# --- reported as undefined on request ---------------------------------------------------------------

OPTION = {"f1_when_no_match": "undefined"}


HIDDEN = {"f1", "interval", "deviation"}


def hide_f1(summary):
    """Return a summary without what the option may change."""
    attributes = {
        path: {name: value for name, value in each.items() if name not in HIDDEN}
        for path, each in summary["attributes"].items()
    }
    return {**summary, "attributes": attributes, "convention": None}


def test_option_changes_nothing_but_f1_without_a_match(run, command):
    zero = run("zero").summary
    undefined = run("undefined", "--set", "f1_when_no_match=undefined").summary
    assert zero["attributes"]["total"]["f1"] == 0.0
    assert undefined["attributes"]["total"]["f1"] is None
    assert undefined["attributes"]["vendor"] == zero["attributes"]["vendor"]
    assert hide_f1(undefined) == hide_f1(zero)
    rescored = command(
        "rescore", "runs/zero", "--set", "f1_when_no_match=undefined", "--format", "json"
    ).summary
    assert rescored["attributes"]["total"]["f1"] is None


def test_option_in_comparisons(run, command):
    for name in ("one", "two"):
        run(name, "--set", "f1_when_no_match=undefined")
    found = command("diff", "runs/one", "runs/two", "--format", "json").summary["attributes"]
    assert found["total"]["before"] is found["total"]["after"] is None


def test_option_in_python():
    wrong = {"total": 1}, {"total": 2}
    assert fm.compare(*wrong).f1 == fm.compare(*wrong).score == 0.0
    result = fm.compare(*wrong, options=OPTION)
    assert (result.f1, result.score, result.stats.vacuous) == (None, 0.0, False)
    run = fm.score([wrong], options=OPTION)
    assert (run.micro.f1, run.mean_score, run.summary.macro_f1_by_case) == (None, 0.0, 0.0)
