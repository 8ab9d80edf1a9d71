"""A run on disk: whole files, strict lines that explain themselves, and a status that is true."""

from __future__ import annotations

import json
import math

import pytest

from fieldmark.errors import ConfigError, StorageError
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.conventions import find_convention
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.comparison import Comparison
from fieldmark.model.json import MISSING
from fieldmark.model.outcome import FACTS, Outcome, Reason
from fieldmark.model.rule import Rules
from fieldmark.plan import compile_plan
from fieldmark.store.durable import write_whole
from fieldmark.store.rows import RowEncoder
from fieldmark.store.rundir import RunFolder, new_run_id
from fieldmark.values.json_text import pretty_json, strict_json
from published.command_line import strict

CONFUSION = find_convention("confusion")


class Written:
    """Encodes cases one after the other and reads the lines back as a strict reader does."""

    def __init__(self, *, values=True):
        self.plan = compile_plan(CONFUSION.rules_for(Rules()))
        self.counter = CaseCounter(CONFUSION, self.plan.table)
        self.encoder = RowEncoder(values=values)

    def row(self, case):
        block = self.plan.compare(case.expected, case.candidate)
        line = self.encoder.encode(case, block, self.counter.stats(block))
        assert line.endswith(b"}\n")
        assert line.count(b"\n") == 1
        return strict(line.decode("utf-8"))


def test_a_row_holds_all_that_is_known_of_a_case():
    row = Written().row(Case("7", {"a": 1, "b": "x"}, {"a": 2}))
    assert row == {
        "case_id": "7",
        "score": 0.0,
        "verdict": "fail",
        "status": "ok",
        "counts": {"tp": 0, "tn": 0, "fp": 1, "fn": 2},
        "errors_by_type": {"omission": 1, "hallucination": 0, "format_error": 0, "wrong_value": 1},
        "quality": row["quality"],
        "cells": row["cells"],
        "comparisons": [[0, None, 0.0, "different", []]],
        "expected": {"a": 1, "b": "x"},
        "candidate": {"a": 2},
    }


def test_a_cell_is_a_number_of_an_attribute_and_a_fact():
    row = Written().row(Case("7", {"a": 1, "b": "x"}, {"a": 2}))
    decoded = [(cell >> 7, FACTS[cell & 0x7F].outcome) for cell in row["cells"]]
    assert decoded == [(0, Outcome.WRONG_VALUE), (1, Outcome.OMISSION)]


def test_cases_with_the_same_outcomes_keep_their_own_ids_and_values():
    written = Written()
    rows = [written.row(Case(name, {"a": name}, {"a": name})) for name in "xyz"]
    assert [(row["case_id"], row["expected"]["a"]) for row in rows] == [
        ("x", "x"), ("y", "y"), ("z", "z"),
    ]  # fmt: skip


def test_without_values_a_row_holds_neither_side():
    row = Written(values=False).row(Case("7", {"a": "secret"}, {"a": "guess"}))
    assert "secret" not in json.dumps(row)
    assert "guess" not in json.dumps(row)
    assert row["cells"]


@pytest.mark.parametrize("values", [True, False])
def test_why_a_candidate_could_not_be_read_goes_with_the_values(values):
    case = Case("1", {"a": 1}, MISSING, CaseInput.PARSE_ERROR, "the key 'secret' occurs twice")
    row = Written(values=values).row(case)
    assert row["input"] == "parse_error"
    assert ("note" in row) is values


@pytest.mark.parametrize(("values", "length"), [(True, 6), (False, 5)])
def test_a_note_may_quote_a_value_and_goes_with_the_values(values, length):
    written = Written(values=values)
    block = written.plan.compare({"a": 1}, {"a": 2})
    crash = Comparison.error(Reason.CRASHED, note="ValueError: 'secret'")
    block.comparisons[0] = crash
    line = written.encoder.encode(Case("1", {}, {}), block, written.counter.stats(block))
    assert len(json.loads(line)["comparisons"][0]) == length
    assert (b"secret" in line) is values


@pytest.mark.parametrize(
    ("case", "said"),
    [
        pytest.param(
            Case("1", {"a": 1}, MISSING, CaseInput.MISSING), {"input": "missing", "note": ""},
            id="no-candidate",
        ),
        pytest.param(
            Case("1", {"a": 1}, MISSING, CaseInput.PARSE_ERROR, "two values"),
            {"input": "parse_error", "note": "two values"}, id="an-unreadable-candidate",
        ),
        pytest.param(
            Case("1", {"a": 1}, {"a": 1}, CaseInput.OK, "", "fence"), {"parsed_from": "fence"},
            id="found-in-model-text",
        ),
        pytest.param(
            Case("1", {"a": 1}, {"a": 1}, CaseInput.OK, "", "", ("x",)), {"tags": ["x"]}, id="tags"
        ),
    ],
)  # fmt: skip
def test_how_a_candidate_was_read_is_kept(case, said):
    row = Written().row(case)
    assert {key: row.get(key) for key in said} == said
    assert ("candidate" in row) is (case.candidate is not MISSING)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("\ud800", id="half-a-character"),
        pytest.param(10**30, id="a-long-integer"),
        pytest.param("a\u2028\x00b", id="line-breaks-of-unicode"),
        pytest.param({"\ud800": ["x", 10**40]}, id="in-a-key"),
    ],
)
def test_any_value_survives_as_strict_json(value):
    for text in (strict_json(value), pretty_json(value)):
        assert strict(text.decode("utf-8")) == value
    assert b"\n" not in strict_json(value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_lacks_is_never_written_bare(value):
    for text in (strict_json(["\ud800", value]), strict_json([value]), pretty_json([value])):
        strict(text.decode("utf-8"))


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    place = tmp_path / "file"
    write_whole(place, b"old")
    write_whole(place, b"new")
    assert place.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [place]


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    (tmp_path / "file").mkdir()
    (tmp_path / "file" / "inside").write_text("x")
    with pytest.raises(StorageError, match="cannot write"):
        write_whole(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def status(path):
    return json.loads((path / "manifest.json").read_text("utf-8"))["status"]


def test_a_run_is_running_and_then_complete(tmp_path):
    with RunFolder(tmp_path / "run", {"inputs": []}) as folder:
        assert status(folder.path) == "running"
        folder.append([b"{}\n", b"{}\n"])
        folder.finish({"format": 1}, {"attributes": []})
    assert status(folder.path) == "complete"
    assert (folder.path / "results.jsonl").read_bytes() == b"{}\n{}\n"
    assert json.loads((folder.path / "summary.json").read_text()) == {"format": 1}
    assert sorted(path.name for path in folder.path.iterdir()) == [
        "lock", "manifest.json", "results.jsonl", "summary.json",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "word"), [(ValueError, "failed"), (KeyboardInterrupt, "interrupted")]
)
def test_a_run_that_ends_badly_says_so_and_keeps_its_rows(tmp_path, error, word):
    def end_badly():
        with RunFolder(tmp_path / "run", {}) as folder:
            folder.append([b"{}\n"])
            raise error

    with pytest.raises(error):
        end_badly()
    assert status(tmp_path / "run") == word
    assert (tmp_path / "run" / "results.jsonl").read_bytes() == b"{}\n"
    assert not (tmp_path / "run" / "summary.json").exists()


def test_a_folder_with_something_in_it_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match="is not empty"), RunFolder(tmp_path, {}):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_empty_folder_may_be_used(tmp_path):
    with RunFolder(tmp_path, {}) as folder:
        folder.finish({}, {})
    assert status(tmp_path) == "complete"


def test_a_run_that_is_not_open_takes_no_rows(tmp_path):
    with pytest.raises(StorageError, match="not open"):
        RunFolder(tmp_path / "run", {}).append([b"{}\n"])


def test_names_of_runs_sort_by_time_and_do_not_collide():
    names = [new_run_id() for _ in range(1000)]
    assert len(set(names)) == 1000
    stamps = [name.split("-")[0] for name in names]
    assert stamps == sorted(stamps)
