"""`fieldmark show`: lists of cases and single cases in all formats."""

from __future__ import annotations

import csv
import io
import json

import pytest

from row_files import write_rows

TRUTH = [
    {"id": "a", "expected": {"total": 1, "vendor": "Acme"}, "tags": ["scan"]},
    {"id": "b", "expected": {"total": 2, "vendor": "Bolt & Co"}},
    {"id": "c", "expected": {"total": 3, "vendor": "Crane"}},
]
CANDIDATE = [
    {"id": "a", "candidate": {"total": 1, "vendor": "Acme"}},
    {"id": "b", "candidate": {"total": 3, "vendor": "Bolt & Co"}},
]


@pytest.fixture
def run(folder, command):
    write_rows(folder / "truth.jsonl", TRUTH)
    write_rows(folder / "candidate.jsonl", CANDIDATE)
    assert command("score", "truth.jsonl", "candidate.jsonl", "--out", "runs/one").code == 0
    return "runs/one"


def ids(done):
    return [line.split()[0] for line in done.out.splitlines()[1:]]


def test_the_worst_case_comes_first(run, command):
    assert ids(command("show", run)) == ["c", "b", "a"]


def test_a_run_can_be_named_latest(run, command):
    assert command("show", "latest").out == command("show", run).out
    done = command("show", "nowhere")
    assert (done.code, done.out) == (2, "")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param(["--verdict", "fail"], ["c"], id="by-verdict"),
        pytest.param(["--mistake", "wrong_value"], ["b"], id="by-mistake"),
        pytest.param(["--tag", "scan"], ["a"], id="by-tag"),
        pytest.param(["--verdict", "pass", "--tag", "other"], [], id="combined"),
    ],
)
def test_filters_select_cases(run, command, options, expected):
    assert ids(command("show", run, *options)) == expected


def test_top_limits_the_list_and_counts_the_rest(run, command):
    done = command("show", run, "--top", "1")
    assert done.out.splitlines()[-1] == "… and 2 more cases; --top 0 shows all"
    assert len(ids(command("show", run, "--top", "0"))) == 3


def test_a_case_is_shown_with_both_documents(run, command):
    done = command("show", run, "b")
    assert done.code == 0
    assert "x  total     2            3            wrong value; different" in done.out
    assert '=  vendor    "Bolt & Co"  "Bolt & Co"' in done.out


def test_an_unknown_case_suggests_the_most_similar_id(run, command):
    done = command("show", run, "bb")
    assert (done.code, done.out) == (2, "")
    assert done.err.strip() == "fieldmark: runs/one: case 'bb' not found; did you mean 'b'?"


def test_the_list_in_all_formats(run, command):
    found = json.loads(command("show", run, "--format", "json").out)
    assert [case["case_id"] for case in found["cases"]] == ["c", "b", "a"]
    assert found["cases"][0]["errors_by_type"]["omission"] == 2
    rows = list(csv.DictReader(io.StringIO(command("show", run, "--format", "csv").out)))
    assert [row["case_id"] for row in rows] == ["c", "b", "a"]
    table = command("show", run, "--format", "markdown").out
    assert "| Case | Score | Verdict | Mistakes | Tags |" in table
    assert "| c | 0.000 | fail | no prediction, 2 missing |  |" in table


def test_a_case_in_all_formats(run, command):
    found = json.loads(command("show", run, "b", "--format", "json").out)
    assert found["outcomes"][0]["candidate"] == 3
    rows = list(csv.DictReader(io.StringIO(command("show", run, "b", "--format", "csv").out)))
    assert [row["outcome"] for row in rows] == ["wrong_value", "match"]
    table = command("show", run, "b", "--format", "markdown", "--only-mistakes").out
    assert "| Field | Expected | Predicted | Outcome |" in table
    assert "| total | 2 | 3 | wrong value |" in table
    assert "vendor" not in table


@pytest.mark.parametrize("output_format", ["table", "json", "csv", "markdown"])
def test_without_values_no_format_quotes_a_document(run, command, output_format):
    done = command("show", run, "b", "--no-values", "--format", output_format)
    assert done.code == 0
    assert "vendor" in done.out
    assert "Bolt" not in done.out


def test_an_unfinished_run_is_shown(run, command, folder):
    (folder / run / "summary.json").unlink()
    assert ids(command("show", run)) == ["c", "b", "a"]


def test_a_directory_without_a_run_is_a_one_line_error(folder, command):
    (folder / "empty").mkdir()
    done = command("show", "empty")
    assert (done.code, done.err.count("\n")) == (2, 1)


def test_lone_surrogates_are_escaped(command, folder):
    write_rows(folder / "truth.jsonl", [{"id": "\ud800", "expected": {"x": "\udfff"}}])
    write_rows(folder / "candidate.jsonl", [{"id": "\ud800", "candidate": {"x": "y"}}])
    assert command("score", "truth.jsonl", "candidate.jsonl", "--out", "runs/odd").code == 0
    done = command("show", "runs/odd")
    assert (done.code, ids(done)) == (0, [r"\ud800"])
