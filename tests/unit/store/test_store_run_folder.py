"""A run on disk: whole files, and a status that is true."""

from __future__ import annotations

import json
import math

import pytest

from fieldmark.errors import ConfigError, StorageError
from fieldmark.store.disk import write_atomic
from fieldmark.store.run_folder import RunFolder, new_run_id
from fieldmark.store.run_reader import open_run
from fieldmark.values.json_text import pretty_json, strict_json
from published.command_line import strict
from stored_runs import SUMMARY, manifest


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
    write_atomic(place, b"old")
    write_atomic(place, b"new")
    assert place.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [place]


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    (tmp_path / "file").mkdir()
    (tmp_path / "file" / "inside").write_text("x")
    with pytest.raises(StorageError, match="cannot write"):
        write_atomic(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def status(path):
    return json.loads((path / "manifest.json").read_text("utf-8"))["status"]


def test_a_run_is_running_and_then_complete(tmp_path):
    with RunFolder(tmp_path / "run", manifest()) as folder:
        assert status(folder.path) == "running"
        folder.append([b"{}\n", b"{}\n"])
        folder.finish(SUMMARY, lists={})
    assert status(folder.path) == "complete"
    assert (folder.path / "results.jsonl").read_bytes() == b"{}\n{}\n"
    assert open_run(folder.path).summary == SUMMARY
    assert sorted(path.name for path in folder.path.iterdir()) == [
        "attributes.jsonl", "lock", "manifest.json", "results.jsonl", "summary.json",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "word"), [(ValueError, "failed"), (KeyboardInterrupt, "interrupted")]
)
def test_a_run_that_ends_badly_says_so_and_keeps_its_rows(tmp_path, error, word):
    def end_badly():
        with RunFolder(tmp_path / "run", manifest()) as folder:
            folder.append([b"{}\n"])
            raise error

    with pytest.raises(error):
        end_badly()
    assert status(tmp_path / "run") == word
    assert (tmp_path / "run" / "results.jsonl").read_bytes() == b"{}\n"
    assert not (tmp_path / "run" / "summary.json").exists()


def test_a_folder_with_something_in_it_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match="is not empty"), RunFolder(tmp_path, manifest()):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_empty_folder_may_be_used(tmp_path):
    with RunFolder(tmp_path, manifest()) as folder:
        folder.finish(SUMMARY, lists={})
    assert status(tmp_path) == "complete"


def test_a_run_that_is_not_open_takes_no_rows(tmp_path):
    with pytest.raises(StorageError, match="not open"):
        RunFolder(tmp_path / "run", manifest()).append([b"{}\n"])


def test_names_of_runs_sort_by_time_and_do_not_collide():
    names = [new_run_id() for _ in range(1000)]
    assert len(set(names)) == 1000
    stamps = [name.split("-")[0] for name in names]
    assert stamps == sorted(stamps)
