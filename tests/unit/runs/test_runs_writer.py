"""Writing runs: atomic files and a correct status."""

from __future__ import annotations

import json
import math

import pytest

from fieldmark.errors import ConfigError, StorageError
from fieldmark.runs.disk import write_atomic
from fieldmark.runs.run_directory import RunDirectory, new_run_id
from fieldmark.runs.stored_run import open_run
from fieldmark.values.json_text import pretty_json, strict_json
from published.command_line import strict
from stored_runs import SUMMARY, manifest


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("\ud800", id="half-a-character"),
        pytest.param(10**30, id="long-integer"),
        pytest.param("a\u2028\x00b", id="line-breaks-of-unicode"),
        pytest.param({"\ud800": ["x", 10**40]}, id="in-a-key"),
    ],
)
def test_any_value_is_written_as_strict_json(value):
    for text in (strict_json(value), pretty_json(value)):
        assert strict(text.decode("utf-8")) == value
    assert b"\n" not in strict_json(value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_non_finite_numbers_are_written_as_strings(value):
    for text in (strict_json(["\ud800", value]), strict_json([value]), pretty_json([value])):
        strict(text.decode("utf-8"))


def test_files_are_written_atomically(tmp_path):
    path = tmp_path / "file"
    write_atomic(path, b"old")
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_failed_write_leaves_no_file(tmp_path):
    (tmp_path / "file").mkdir()
    (tmp_path / "file" / "inside").write_text("x")
    with pytest.raises(StorageError, match="cannot write"):
        write_atomic(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def status(path):
    return json.loads((path / "manifest.json").read_text("utf-8"))["status"]


def test_run_is_running_and_then_complete(tmp_path):
    with RunDirectory(tmp_path / "run", manifest()) as directory:
        assert status(directory.path) == "running"
        directory.append([b"{}\n", b"{}\n"])
        directory.finish(SUMMARY, lists={})
    assert status(directory.path) == "complete"
    assert (directory.path / "results.jsonl").read_bytes() == b"{}\n{}\n"
    assert open_run(directory.path).summary == SUMMARY
    assert sorted(path.name for path in directory.path.iterdir()) == [
        "attributes.jsonl", "lock", "manifest.json", "results.jsonl", "summary.json",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "word"), [(ValueError, "failed"), (KeyboardInterrupt, "interrupted")]
)
def test_failed_run_keeps_its_rows_and_has_a_status(tmp_path, error, word):
    def end_badly():
        with RunDirectory(tmp_path / "run", manifest()) as directory:
            directory.append([b"{}\n"])
            raise error

    with pytest.raises(error):
        end_badly()
    assert status(tmp_path / "run") == word
    assert (tmp_path / "run" / "results.jsonl").read_bytes() == b"{}\n"
    assert not (tmp_path / "run" / "summary.json").exists()


def test_directory_that_is_not_empty_is_rejected(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match="is not empty"), RunDirectory(tmp_path, manifest()):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_empty_directory_may_be_used(tmp_path):
    with RunDirectory(tmp_path, manifest()) as directory:
        directory.finish(SUMMARY, lists={})
    assert status(tmp_path) == "complete"


def test_closed_run_accepts_no_rows(tmp_path):
    with pytest.raises(StorageError, match="not open"):
        RunDirectory(tmp_path / "run", manifest()).append([b"{}\n"])


def test_names_of_runs_sort_by_time_and_do_not_collide():
    names = [new_run_id() for _ in range(1000)]
    assert len(set(names)) == 1000
    stamps = [name.split("-")[0] for name in names]
    assert stamps == sorted(stamps)
    assert {len(bytes.fromhex(name.split("-")[1])) for name in names} == {16}
