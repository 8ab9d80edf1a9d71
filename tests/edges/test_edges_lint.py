"""`fieldmark lint` and `fm.lint`: output formats and exit codes."""

from __future__ import annotations

import csv
import io
import json

import pytest

import fieldmark as fm
from row_files import write_rows

ROWS = [
    {"id": "a", "total": 5, "note": "\x1b[31mred"},
    {"id": "b", "total": "6", "note": "=SUM(A1)"},
    {"id": "b", "total": 7, "note": "c"},
]


@pytest.fixture
def faulty(folder):
    write_rows(folder / "faulty.jsonl", ROWS)
    return "faulty.jsonl"


def test_findings_exit_with_1(command, faulty):
    done = command("lint", faulty)
    assert done.code == 1
    assert "1 id is used again" in done.out
    assert "values of several types: number (2), string (1)" in done.out
    assert done.out.startswith("2 findings in 3 documents\n")
    assert "\x1b" not in done.out


def test_no_findings_exit_with_0(command):
    done = command("lint", "truth.jsonl")
    assert (done.code, done.out) == (0, "no findings in 2 documents\n")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("missing.jsonl", None, "missing.jsonl", id="no-file"),
        pytest.param("empty.jsonl", "", "the file is empty", id="empty-file"),
        pytest.param("none.json", "[]", "no rows", id="no-documents"),
        pytest.param("bad.jsonl", '{"a": \n', "cannot read any ground truth", id="unreadable-file"),
    ],
)
def test_bad_input_exits_with_2(command, folder, name, content, message):
    if content is not None:
        (folder / name).write_text(content, "utf-8")
    done = command("lint", name)
    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize(
    ("names", "code", "lines"),
    [
        pytest.param(["truth.jsonl"], 0, ["no findings in 2 documents"], id="one"),
        pytest.param(
            ["truth.jsonl", "faulty.jsonl"],
            1,
            ["truth.jsonl", "no findings in 2 documents", "faulty.jsonl"],
            id="findings-in-the-second",
        ),
        pytest.param(
            ["missing.jsonl", "faulty.jsonl"], 2, ["missing.jsonl", "faulty.jsonl"], id="unreadable"
        ),
    ],
)
def test_several_files_are_checked_one_by_one(command, faulty, names, code, lines):
    done = command("lint", *names)
    assert done.code == code
    assert done.out.splitlines()[: len(lines)] == lines
    assert ("2 findings in 3 documents" in done.out) == (faulty in names)
    assert ("fieldmark: missing.jsonl" in done.err) == ("missing.jsonl" in names)


def test_several_files_in_other_formats(command, faulty):
    done = command("lint", "truth.jsonl", faulty, "--format", "markdown")
    assert "### truth.jsonl\n\n**no findings" in done.out
    assert "### faulty.jsonl\n\n**2 findings" in done.out
    done = command("lint", "truth.jsonl", faulty, "--format", "json")
    assert (done.code, done.err) == (2, "fieldmark: --format json accepts only one file\n")
    done = command("lint", "truth.jsonl", faulty, "--quiet")
    assert (done.code, done.out) == (1, "")


def test_an_unreadable_row_is_a_finding(command, folder):
    (folder / "rows.jsonl").write_text('{"id": 1, "a": 1}\n{"id": 2, "a": \n', "utf-8")
    done = command("lint", "rows.jsonl", "--format", "json")
    assert done.code == 1
    assert json.loads(done.out)["findings"][0]["message"] == "1 document cannot be read"


def test_json_csv_and_markdown(command, faulty):
    report = json.loads(command("lint", faulty, "--format", "json").out)
    assert report == fm.lint(faulty).to_dict()
    assert (report["documents"], report["total"]) == (3, 2)
    rows = list(csv.DictReader(io.StringIO(command("lint", faulty, "--format", "csv").out)))
    assert [row["check"] for row in rows] == ["duplicate_id", "types"]
    assert "| types | total |" in command("lint", faulty, "--format", "markdown").out


def test_quiet_and_top(command, faulty):
    quiet = command("lint", faulty, "--quiet")
    assert (quiet.code, quiet.out) == (1, "")
    assert "… and 1 more finding; --top 0 shows all" in command("lint", faulty, "--top", "1").out


def test_the_result_prints_as_a_table(faulty):
    assert "2 findings in 3 documents" in repr(fm.lint(faulty))
