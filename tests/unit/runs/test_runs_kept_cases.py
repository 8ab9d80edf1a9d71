"""The cases of runs that are not saved: the same as those of saved runs, and few in memory."""

from __future__ import annotations

import errno
import json
import math
import pickle
import shutil
import tempfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import ClassVar

import pytest

import fieldmark as fm
from fieldmark.analyses.score import score_with
from fieldmark.compare.semantic import Semantic
from fieldmark.data.pairing import PairStream
from fieldmark.judges.similarity_providers import PythonProvider
from fieldmark.model.comparison import MATCHED, Comparison
from fieldmark.model.rule import Rules
from fieldmark.runs import kept_cases, session
from fieldmark.runs.kept_cases import KeptCases, SpooledRows
from fieldmark.runs.run_options import complete_options
from interrupted_runs import interrupted_at_segment

FLAT = [{"id": f"c{n}", "total": n, "name": f"vendor {n}", "ok": True} for n in range(600)]
FOUND = [
    {**row, "total": row["total"] + (n % 3 == 0), "name": None if n % 7 == 0 else f"Vendor {n}"}
    for n, row in enumerate(FLAT)
]
LISTS = [
    {"id": row["id"], "lines": [{"sku": "a", "n": row["total"]}, {"sku": "b", "n": 1}]}
    for row in FLAT[:600]
]
FOUND_LISTS = [{**row, "lines": row["lines"][::-1][: 1 + n % 2]} for n, row in enumerate(LISTS)]
NAN = [{"id": "a", "total": math.inf, "same": "NaN", "part": [1, math.inf]}]
INVALID = [{"id": "a", "expected": {"x": math.inf}}]
FINITE = [{"id": "a", "total": 1, "same": "NaN", "part": [1, 2]}]
OTHERS = [{"id": "b", "total": 1}, {"id": "c", "total": 2}]
"""The first has no ground truth in `FINITE` and the last of these."""


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def files(tmp_path):
    return write(tmp_path / "truth.jsonl", FLAT), write(tmp_path / "found.jsonl", FOUND)


@pytest.fixture
def small(monkeypatch):
    """Keep only a few results as they are, as of a large run."""
    monkeypatch.setattr(kept_cases, "_BUFFERED_BYTES", 1_000)


def tables(run: fm.RunResult) -> tuple[object, ...]:
    return run.cases.to_dict(), run.fields.to_dict(), run.attributes.to_dict()


GIVEN = [
    pytest.param(lambda truth, candidate: (truth, candidate), id="files"),
    pytest.param(lambda *_: (FLAT, FOUND), id="lists"),
    pytest.param(lambda *_: (iter(FLAT), iter(FOUND)), id="iterators"),
    pytest.param(lambda truth, _: (truth, FOUND), id="file-and-list"),
    pytest.param(lambda *_: (LISTS, FOUND_LISTS), id="documents-with-lists"),
    pytest.param(lambda *_: (FINITE, NAN), id="numbers-that-are-not-finite"),
    pytest.param(lambda *_: (INVALID, [{"id": "a", "candidate": {}}]), id="no-cases"),
    pytest.param(lambda *_: ([*FINITE, OTHERS[1]], OTHERS), id="no-prediction"),
    pytest.param(lambda *_: (FINITE, [{"id": "a", "candidate": "none"}]), id="unparseable"),
]


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("buffer", [1_000, None], ids=["large-run", "small-run"])
@pytest.mark.parametrize("give", GIVEN)
def test_unsaved_cases_are_those_of_the_saved_run(
    files, give, buffer, values, tmp_path, monkeypatch
):
    saved = fm.score(*give(*files), out=tmp_path / "run", values=values, intervals=False)
    if buffer is not None:
        monkeypatch.setattr(kept_cases, "_BUFFERED_BYTES", buffer)
    assert tables(fm.score(*give(*files), values=values)) == tables(saved)


@pytest.mark.usefixtures("small")
def test_an_open_file_is_not_read_again(files, tmp_path):
    with files[0].open() as truth, files[1].open() as candidates:
        run = fm.score(truth, candidates)
    assert tables(run) == tables(fm.score(*files, out=tmp_path / "run", intervals=False))


def test_workers_return_no_results_and_the_files_are_read_again(files, tmp_path, monkeypatch):
    monkeypatch.setattr(session, "PARALLEL_BYTES", 1)
    parallel = fm.score(*files, workers=2)
    assert parallel.case_source._dropped
    monkeypatch.undo()
    assert tables(parallel) == tables(fm.score(*files, out=tmp_path / "run", intervals=False))


@pytest.mark.usefixtures("small")
def test_results_in_memory_are_few(files, monkeypatch):
    """A run over objects encodes its results, and a run over files keeps none."""
    most = [0]
    add = KeptCases.add

    def watched(self, results, **options):
        add(self, results, **options)
        most[0] = max(most[0], sum(len(item) for item, _ in self._buffer))

    monkeypatch.setattr(KeptCases, "add", watched)
    run = fm.score(FLAT, FOUND)
    assert run.case_source._rows is not None
    assert run.case_source._buffer == []
    run = fm.score(*files)
    assert run.case_source._rows is None
    assert run.case_source._dropped
    assert most == [0]


def test_rows_of_large_runs_are_in_a_file(monkeypatch, small):
    monkeypatch.setattr(kept_cases, "_MAX_IN_MEMORY", 1_000)
    run = fm.score(FLAT, FOUND)
    assert run.case_source._rows._file._rolled
    assert len(run.fields) == len(list(run.fields)) == sum(len(case.fields) for case in run.cases)


def test_results_of_small_runs_are_not_encoded_until_they_are_needed(files):
    run = fm.score(*files)
    assert run.case_source._rows is None
    assert not run.case_source._dropped
    shutil.rmtree(files[0].parent)
    assert len(list(run.cases)) == len(FLAT)
    assert run.case_source._buffer == []


def test_size_is_that_of_the_largest_sampled_case():
    """The buffer of a run whose documents get larger is not larger."""
    rows = [{"id": str(n), "text": "x" * (10 if n < 512 else 5_000)} for n in range(2_000)]
    run = fm.score(rows, rows)
    assert run.case_source._rows is not None


@pytest.mark.parametrize("change", ["append", "replace", "remove"])
@pytest.mark.usefixtures("small")
def test_changed_files_are_not_read_again(files, change):
    run = fm.score(*files)
    if change == "append":
        with files[1].open("a") as file:
            file.write("\n")
    elif change == "replace":
        write(files[1].with_name("new"), FOUND).replace(files[1])
    else:
        files[1].unlink()
    message = r"found\.jsonl: the file has changed since it was scored.*; save runs with out="
    with pytest.raises(fm.DataError, match=message):
        run.cases.to_dict()


@pytest.mark.usefixtures("small")
def test_files_that_change_while_they_are_read_again_are_an_error(files, monkeypatch):
    run = fm.score(*files)
    batches = PairStream.batches

    def changing(self):
        yield from batches(self)
        with files[0].open("a") as file:
            file.write("\n")

    monkeypatch.setattr(PairStream, "batches", changing)
    with pytest.raises(fm.DataError, match="has changed"):
        list(run.cases)


@dataclass(frozen=True)
class PlugIn:
    """A comparator of a plug-in."""

    name: ClassVar[str] = "plug_in"
    reflexive: ClassVar[bool] = False
    calls: list[object]

    def compare(self, expected, candidate):
        self.calls.append(expected)
        return MATCHED if expected == candidate else Comparison.differs()


def asking(calls):
    def similar(pairs):
        calls.extend(pairs)
        return [float(expected == candidate) for expected, candidate in pairs]

    return Semantic(provider=PythonProvider(function=similar))


@pytest.mark.parametrize(
    "comparator", [pytest.param(PlugIn, id="plug-in"), pytest.param(asking, id="function")]
)
@pytest.mark.usefixtures("small")
def test_what_is_not_built_in_is_not_called_again(files, comparator):
    calls: list[object] = []
    rules = Rules(default=comparator(calls))
    run = fm.score(*files, rules=rules)
    first = len(calls)
    assert first
    assert len(list(run.cases)) == len(FLAT)
    assert len(calls) == first


def test_workers_are_not_used_if_cases_must_be_kept(files, monkeypatch):
    monkeypatch.setattr(session, "PARALLEL_BYTES", 1)
    run = fm.score(*files, rules=Rules(default=PlugIn([])), workers=2)
    assert [case.id for case in run.cases] == [row["id"] for row in FLAT]


def test_a_full_disk_does_not_fail_the_run(monkeypatch, small):
    class Full(tempfile.SpooledTemporaryFile):
        def write(self, *_):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "SpooledTemporaryFile", Full)
    run = fm.score(FLAT, FOUND)
    assert run.summary.cases.total == len(FLAT)
    message = "the cases of the run were not kept: .*No space left.*; save runs with out="
    with pytest.raises(fm.StorageError, match=message):
        list(run.cases)


def test_an_interrupted_encoding_starts_again(monkeypatch):
    run, append, times = fm.score(FLAT, FOUND), SpooledRows.append, []

    def interrupted(self, *rows):
        times.append(1)
        if len(times) == 2:
            raise KeyboardInterrupt
        append(self, *rows)

    monkeypatch.setattr(SpooledRows, "append", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(run.cases)
    assert [case.id for case in run.cases] == [row["id"] for row in FLAT]
    assert len(run.fields.to_arrow()) == len(run.fields)


def test_two_iterations_do_not_disturb_each_other(monkeypatch, small):
    monkeypatch.setattr(kept_cases, "_MAX_IN_MEMORY", 1_000)
    run = fm.score(FLAT, FOUND)
    pairs = list(zip(run.cases, run.cases, strict=True))
    assert all(first.id == second.id for first, second in pairs)
    assert run.cases["c599"].id == "c599"
    assert [case.id for case in islice(run.cases, 2)] == ["c0", "c1"]


def pickled(run):
    return pickle.loads(pickle.dumps(run))  # noqa: S301 - it was just written


def test_cases_can_be_pickled_unless_they_are_large(files, monkeypatch):
    run = fm.score(FLAT, FOUND)
    again = pickled(run)
    assert again == run
    assert tables(pickled(again)) == tables(run)
    monkeypatch.setattr(kept_cases, "_MAX_IN_MEMORY", 1_000)
    large = pickled(run)
    monkeypatch.setattr(kept_cases, "_BUFFERED_BYTES", 1_000)
    dropped = pickled(fm.score(*files))
    for copied in (large, dropped):
        assert copied.summary.cases.total == len(FLAT)
        with pytest.raises(fm.ConfigError, match="the cases of the run were not kept; save runs"):
            copied.cases  # noqa: B018


def test_the_command_line_keeps_no_cases(files):
    run = score_with(complete_options(truth=files[0], candidate=files[1]))
    assert run.case_source is None
    with pytest.raises(fm.ConfigError, match="the cases of the run were not kept"):
        run.fields  # noqa: B018


def test_rows_are_closed_with_the_result(monkeypatch, small):
    closed = []
    monkeypatch.setattr(kept_cases, "_MAX_IN_MEMORY", 1_000)
    close = tempfile.SpooledTemporaryFile.close
    monkeypatch.setattr(
        tempfile.SpooledTemporaryFile, "close", lambda self: (closed.append(1), close(self))
    )
    rows = SpooledRows(fm.compare({}, {}).convention)
    rows.append([b"{}\n" * 1_000])
    del rows
    assert closed == [1]


def test_a_resumed_run_has_all_cases(files, tmp_path):
    with interrupted_at_segment(2):
        fm.score(*files, out=tmp_path / "run")
    resumed = fm.score(*files, out=tmp_path / "run", resume=True, intervals=False)
    assert tables(resumed) == tables(fm.score(*files))


def test_evaluations_keep_their_cases(tmp_path, small):
    spec = {
        "cases": [
            {"id": row["id"], "expected": row, "candidate": candidate, "tags": ["even"]}
            for row, candidate in zip(FLAT[:600], FOUND[:600], strict=True)
        ],
        "evaluators": [
            {"name": "total", "type": "field_accuracy", "fields": [{"path": "total"}]},
            {"name": "quality", "type": "response_quality"},
        ],
    }
    run = fm.evaluate(spec)
    assert tables(run) == tables(fm.evaluate(spec, out=tmp_path / "run", intervals=False))
    scores = run.cases.to_polars()
    assert scores["evaluators.total"].to_list()[:4] == [0.0, 1.0, 1.0, 0.0]
    assert run.cases["c1"].evaluator_results[0].name == "total"
    assert scores["tags"].unique().to_list() == ["even"]
