"""Large cases make small segments, as many cases each from the beginning of a run to its end."""

from __future__ import annotations

import json
import shutil

import pytest

import fieldmark as fm
from fieldmark.store.run_folder import RunFolder
from fieldmark.values.json_text import read_json


def files(folder, *, cases, size, first=None):
    """A truth of so many cases of about so many bytes; the first ones may be of another size."""
    folder.mkdir(exist_ok=True)
    paths = folder / "truth.jsonl", folder / "found.jsonl"
    for path in paths:
        lines = []
        for number in range(cases):
            text = "x" * (size if first is None or number >= 16 else first)
            lines.append(json.dumps({"id": f"{number:04}", "n": number, "text": text}) + "\n")
        path.write_text("".join(lines))
    return paths


def segments(run):
    """The number and the rows of each segment."""
    rows = [json.loads(line) for line in (run / "results.jsonl").read_bytes().splitlines()]
    return [row["segment"] for row in rows if "segment" in row]


def told(run):
    return read_json((run / "manifest.json").read_bytes())["segment_size"]


@pytest.mark.parametrize(
    ("cases", "size", "found"),
    [
        pytest.param(600, 10, [512, 88], id="small-cases-by-the-most-there-may-be"),
        pytest.param(90, 50_000, [41, 41, 8], id="larger-ones-by-the-room-they-take"),
        pytest.param(3, 3_000_000, [1, 1, 1], id="huge-ones-one-by-one"),
    ],
)
def test_segments_are_smaller_the_larger_cases_are(tmp_path, cases, size, found):
    paths = files(tmp_path, cases=cases, size=size)
    assert fm.score(*paths, out=tmp_path / "run").summary.cases.total == cases
    assert segments(tmp_path / "run") == [[place, rows] for place, rows in enumerate(found)]
    assert told(tmp_path / "run") == found[0]


def test_several_processes_write_the_same_segments(tmp_path):
    paths = files(tmp_path, cases=120, size=50_000)
    for workers in (1, 2):
        fm.score(*paths, out=tmp_path / f"run{workers}", workers=workers)
    one, two = (tmp_path / f"run{workers}" / "results.jsonl" for workers in (1, 2))
    assert segments(one.parent) == [[0, 41], [1, 41], [2, 38]]
    assert one.read_bytes() == two.read_bytes()


@pytest.fixture
def broken_off(tmp_path, monkeypatch):
    """A run that was broken off behind its first segment, and the files it was made from."""
    paths = files(tmp_path, cases=90, size=50_000)
    append, times = RunFolder.append, []

    def interrupted(self, rows, attributes):
        append(self, rows, attributes)
        times.append(1)
        if len(times) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(RunFolder, "append", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fm.score(*paths, out=tmp_path / "run")
    assert segments(tmp_path / "run") == [[0, 41]]
    return tmp_path / "run", paths


def test_a_run_goes_on_with_the_segments_it_was_begun_with(broken_off, tmp_path):
    run, paths = broken_off
    whole = tmp_path / "whole"
    fm.score(*paths, out=whole)
    fm.score(*paths, out=run, resume=True)
    assert (run / "results.jsonl").read_bytes() == (whole / "results.jsonl").read_bytes()


def test_a_run_goes_on_so_even_if_the_input_begins_with_other_rows_now(broken_off, tmp_path):
    run, paths = broken_off
    for path, other in zip(paths, files(tmp_path / "other", cases=90, size=50_000, first=9), strict=True):  # fmt: skip
        shutil.copy(other, path)
    result = fm.score(*paths, out=run, resume=True, accept_changes=True)
    assert segments(run) == [[0, 41], [1, 41], [2, 8]]
    assert result.summary.cases.total == 90


def test_rows_that_are_no_json_have_a_size_too(tmp_path):
    number = 10**30
    truth = [{"id": str(place), "n": number, "text": "x" * 400_000} for place in range(12)]
    fm.score(truth, truth, out=tmp_path / "run")
    assert told(tmp_path / "run") < 12
    assert sum(rows for _, rows in segments(tmp_path / "run")) == 12
