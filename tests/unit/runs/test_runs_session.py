"""The segment size of a run, which depends on the size of its first cases."""

from __future__ import annotations

import json
import shutil

import pytest

import fieldmark as fm
from fieldmark.values.json_text import read_json
from interrupted_runs import interrupted_at_segment


def files(directory, *, cases, size, first=None):
    """Write cases of about this size in bytes; the first ones may have another size."""
    directory.mkdir(exist_ok=True)
    paths = directory / "truth.jsonl", directory / "found.jsonl"
    for path in paths:
        lines = []
        for number in range(cases):
            text = "x" * (size if first is None or number >= 16 else first)
            lines.append(json.dumps({"id": f"{number:04}", "n": number, "text": text}) + "\n")
        path.write_text("".join(lines))
    return paths


def segments(run):
    """Return the number and the rows of each segment."""
    rows = [json.loads(line) for line in (run / "results.jsonl").read_bytes().splitlines()]
    return [row["segment"] for row in rows if "segment" in row]


def first_segment(run):
    return read_json((run / "manifest.json").read_bytes())["segment_size"]


@pytest.mark.parametrize(
    ("cases", "size", "sizes"),
    [
        pytest.param(600, 10, [512, 88], id="small-cases"),
        pytest.param(90, 12_500, [41, 41, 8], id="large-cases"),
        pytest.param(3, 3_000_000, [1, 1, 1], id="huge-cases"),
    ],
)
def test_segments_of_large_cases_are_smaller(tmp_path, cases, size, sizes):
    paths = files(tmp_path, cases=cases, size=size)
    assert fm.score(*paths, out=tmp_path / "run").summary.cases.total == cases
    assert segments(tmp_path / "run") == [[index, rows] for index, rows in enumerate(sizes)]
    assert first_segment(tmp_path / "run") == sizes[0]


def test_several_processes_write_the_same_segments(tmp_path):
    paths = files(tmp_path, cases=200, size=12_500)
    for workers in (1, 2):
        fm.score(*paths, out=tmp_path / f"run{workers}", workers=workers)
    first, second = (tmp_path / f"run{workers}" / "results.jsonl" for workers in (1, 2))
    assert segments(first.parent) == [[0, 41], [1, 41], [2, 41], [3, 41], [4, 36]]
    assert first.read_bytes() == second.read_bytes()


@pytest.fixture
def interrupted(tmp_path):
    """A run that was interrupted after its first segment, and its input files."""
    paths = files(tmp_path, cases=90, size=12_500)
    with interrupted_at_segment(2):
        fm.score(*paths, out=tmp_path / "run")
    assert segments(tmp_path / "run") == [[0, 41]]
    return tmp_path / "run", paths


def test_resumed_run_keeps_its_segment_size(interrupted, tmp_path):
    run, paths = interrupted
    whole = tmp_path / "whole"
    fm.score(*paths, out=whole)
    fm.score(*paths, out=run, resume=True)
    assert (run / "results.jsonl").read_bytes() == (whole / "results.jsonl").read_bytes()


def test_resumed_run_keeps_its_segment_size_for_changed_input(interrupted, tmp_path):
    run, paths = interrupted
    for path, other in zip(paths, files(tmp_path / "other", cases=90, size=12_500, first=9), strict=True):  # fmt: skip
        shutil.copy(other, path)
    result = fm.score(*paths, out=run, resume=True, accept_changes=True)
    assert segments(run) == [[0, 41], [1, 41], [2, 8]]
    assert result.summary.cases.total == 90


def test_size_of_rows_that_are_not_json_is_estimated(tmp_path):
    number = 10**30
    truth = [{"id": str(index), "n": number, "text": "x" * 400_000} for index in range(12)]
    fm.score(truth, truth, out=tmp_path / "run")
    assert first_segment(tmp_path / "run") < 12
    assert sum(rows for _, rows in segments(tmp_path / "run")) == 12
