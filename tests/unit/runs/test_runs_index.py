"""The list of runs and its cache, and notes and deletion of runs."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor

import orjson
import pytest

import fieldmark as fm
from fieldmark.analyses.runs import annotate
from fieldmark.errors import ConfigError, DataError, RunLockedError
from fieldmark.runs import run_directory as writer_module
from fieldmark.runs import run_index as index_module
from fieldmark.runs.lock import RunLock
from fieldmark.runs.manifest import run_title
from fieldmark.runs.run_index import (
    INDEX,
    NOTES,
    RunNotes,
    delete_run,
    find_run,
    list_runs,
    read_notes,
    title_of,
    titles_of,
    write_notes,
)
from fieldmark.runs.stored_run import is_older, open_run

PAIRS = [({"total": 1, "vendor": "Acme"}, {"total": 1, "vendor": "Acne"})]


@pytest.fixture
def root(tmp_path):
    """A directory with two runs."""
    for name in ("first", "second"):
        fm.score(PAIRS, out=tmp_path / name)
    return tmp_path


def rewrite(path, content):
    """Write a file a second later than all others, because clocks of file systems are coarse."""
    path.write_bytes(content)
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns + 10**9
    os.utime(path, ns=times)


def statuses(root):
    return {entry.id: entry.status for entry in list_runs(root)}


def test_run_is_listed_with_its_metrics(root):
    first, second = list_runs(root)
    assert (first.id, first.status, first.cases, first.convention) == (
        "first", "complete", 1, "confusion",
    )  # fmt: skip
    assert first.metrics == {
        "mean_score": 0.5, "macro_f1_by_attribute": 0.5, "macro_f1_by_case": 0.5, "micro_f1": 0.5,
        "completeness": 1.0, "hallucination": 0.0, "accuracy": 0.5, "safety": None, "rqs": None,
    }  # fmt: skip
    assert (first.verdict, first.title, first.archived) == ("none", "first", False)
    assert first.comparable == second.comparable
    assert first.started_at <= first.finished_at


def test_four_phase_run_is_listed_with_its_rqs_and_the_verdict_of_its_gates(root):
    fm.score(PAIRS, out=root / "third", convention="four_phase", min={"rqs": 0.9})
    *_, third = list_runs(root)
    assert third.verdict == "fail"
    assert third.metrics["rqs"] == third.metrics["mean_score"] < 0.9
    assert third.metrics["safety"] is None


def test_runs_of_another_convention_cannot_be_compared(root):
    fm.score(PAIRS, out=root / "third", options={"wrong_value": "fp"})
    first, _, third = list_runs(root)
    assert first.comparable != third.comparable


def test_run_with_many_attributes_is_listed(tmp_path):
    wide = {f"field {number}": number for number in range(2000)}
    fm.score([(wide, wide)], out=tmp_path / "wide")
    [entry] = list_runs(tmp_path)
    assert (entry.status, entry.cases) == ("complete", 1)
    assert entry.finished_at >= entry.started_at > ""


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("name", ["manifest.json", "summary.json"])
def test_run_of_another_format_is_corrupt(root, name, number):
    path = root / "first" / name
    content = path.read_bytes()
    assert b'"format": 2' in content
    rewrite(path, content.replace(b'"format": 2', b'"format": %d' % number, 1))
    entry = next(run for run in list_runs(root) if run.id == "first")
    assert entry.status == "corrupt"
    assert entry.problem.startswith(
        f"{name}: has format {number}, but this version of fieldmark reads format 2"
    )


def test_other_directories_are_not_listed(root):
    (root / "notes").mkdir()
    (root / "file.txt").write_text("x")
    (root / ".hidden").mkdir()
    assert set(statuses(root)) == {"first", "second"}


def test_missing_directory_has_no_runs(tmp_path):
    assert list_runs(tmp_path / "missing") == []


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"format": 99}', b"\xff\xfe", b"null", "truncated", "missing"]
)
@pytest.mark.parametrize("name", ["manifest.json", "summary.json", "results.jsonl", NOTES])
def test_corrupt_run_does_not_affect_others(root, name, content):
    write_notes(root / "first", RunNotes(tags=("saved",)))
    list_runs(root)
    path = root / "first" / name
    if content == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-20] if content == "truncated" else content)
    harmless = {(NOTES, b'{"format": 99}'), (NOTES, "missing"), ("results.jsonl", b"")}
    expected = "complete" if (name, content) in harmless else "corrupt"
    assert statuses(root) == {"first": expected, "second": "complete"}
    entry = next(entry for entry in list_runs(root) if entry.id == "first")
    assert (name in entry.problem) is (expected == "corrupt")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"nonsense", id="no-json"),
        pytest.param(b"[]", id="no-object"),
        pytest.param(b'{"format": 3, "runs": {}}', id="of-an-earlier-version"),
        pytest.param(b'{"format": 4}', id="without-runs"),
        pytest.param(b'{"format": 4, "runs": []}', id="list-of-runs"),
        pytest.param(b'{"format": 4, "runs": {"first": 3}}', id="run-that-is-a-number"),
        pytest.param(b'{"format": 4, "runs": {"first": [[], ["x"]]}}', id="run-that-is-short"),
    ],
)
def test_invalid_index_is_rebuilt(root, content):
    before = list_runs(root)
    (root / INDEX).write_bytes(content)
    assert list_runs(root) == before
    assert orjson.loads((root / INDEX).read_bytes())["runs"].keys() == {"first", "second"}


def test_cached_entries_are_not_read_again(root, monkeypatch):
    before = list_runs(root)
    monkeypatch.setattr(index_module, "_read_entry", None)
    assert [tuple(entry)[:6] for entry in list_runs(root)] == [tuple(e)[:6] for e in before]


def test_changes_of_notes_are_noticed(root):
    path = root / "first" / NOTES

    def noted():
        return next(entry.note for entry in list_runs(root) if entry.id == "first")

    assert noted() == ""
    path.symlink_to("nowhere")
    assert noted() == ""
    path.unlink()
    path.write_bytes(b'{"note": "one"}')
    assert noted() == "one"
    path.write_bytes(b'{"note": "three"}')
    assert noted() == "three"
    path.unlink()
    assert noted() == ""


def test_files_with_times_before_1970_exist(root):
    for name in ("manifest.json", "summary.json", "results.jsonl", NOTES):
        path = root / "first" / name
        if name == NOTES:
            path.write_bytes(b'{"note": "old"}')
        os.utime(path, ns=(-1, -1))
    entry = next(run for run in list_runs(root) if run.id == "first")
    assert (entry.status, entry.cases, entry.note) == ("complete", 1, "old")


def test_copies_with_the_same_number_are_sorted_by_start_and_name(root):
    for name in ("b", "c", "a"):
        shutil.copytree(root / "second", root / name)
    dates = {"c": b"2001-01-01", "first": b"2002-01-01"}
    for entry in list_runs(root):
        path = root / entry.id / "manifest.json"
        date = dates.get(entry.id, b"2003-01-01")
        path.write_bytes(path.read_bytes().replace(entry.started_at.encode(), date))
    for _ in range(2):
        assert [entry.id for entry in list_runs(root)] == ["first", "c", "a", "b", "second"]


def test_clock_does_not_change_the_order_of_runs(root, monkeypatch):
    monkeypatch.setattr(writer_module, "_now", lambda: "2001-01-01T00:00:00.000+00:00")
    fm.score(PAIRS, out=root / "a-third")
    monkeypatch.setattr(writer_module, "_now", lambda: "1999-01-01T00:00:00.000+00:00")
    fm.score(PAIRS, out=root / "b-fourth")
    entries = list_runs(root)
    assert [entry.id for entry in entries] == ["first", "second", "a-third", "b-fourth"]
    assert [entry.sequence for entry in entries] == [1, 2, 3, 4]
    assert find_run("latest", root).name == "b-fourth"
    assert find_run("latest~1", root).name == "a-third"
    old, new = open_run(root / "a-third"), open_run(root / "b-fourth")
    assert is_older(old, new)
    assert not is_older(new, old)
    assert fm.diff(new, old).notes == ("b-fourth is newer than a-third",)
    assert fm.diff(old, new).notes == ()


def test_number_follows_the_highest_one(root):
    delete_run(root / "first")
    fm.score(PAIRS, out=root / "third")
    delete_run(root / "second")
    fm.score(PAIRS, out=root / "fourth")
    assert [(entry.id, entry.sequence) for entry in list_runs(root)] == [
        ("third", 3),
        ("fourth", 4),
    ]


def test_runs_of_different_directories_are_ordered_by_the_clock(tmp_path, monkeypatch):
    fm.score(PAIRS, out=tmp_path / "one" / "a")
    monkeypatch.setattr(writer_module, "_now", lambda: "2001-01-01T00:00:00.000+00:00")
    for name in ("a", "b"):
        fm.score(PAIRS, out=tmp_path / "two" / name)
    early, late = open_run(tmp_path / "two" / "b"), open_run(tmp_path / "one" / "a")
    assert (early.manifest.sequence, late.manifest.sequence) == (2, 1)
    assert is_older(early, late)
    assert not is_older(late, early)


def test_rescored_run_has_a_number_of_its_own(root):
    fm.rescore(root / "first", options={"wrong_value": "fp"}, out=root / "again")
    assert [entry.id for entry in list_runs(root)] == ["first", "second", "again"]


def test_concurrent_writers_get_different_numbers(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: fm.score(PAIRS, out=tmp_path / f"run-{number}"), range(24)))
    assert [entry.sequence for entry in list_runs(tmp_path)] == list(range(1, 25))


def test_list_without_an_index_prints_nothing(root, capsys):
    (root / INDEX).mkdir()  # so that it can neither be read nor written
    assert set(statuses(root)) == {"first", "second"}
    assert not list(root.glob("*.part")) + list(root.glob(".*.part"))
    assert capsys.readouterr() == ("", "")


def test_list_reads_only_manifests(root, monkeypatch):
    before = list_runs(root)
    (root / INDEX).unlink()
    for reader in ("summary_from_json", "_check_complete_rows"):
        monkeypatch.setattr(index_module, reader, None)
    assert list_runs(root) == before


def test_files_newer_than_the_manifest_are_read(root):
    path = root / "first" / "summary.json"
    rewrite(path, path.read_bytes().replace(b'"total": 1,', b'"total": 7,', 1))
    assert [entry.cases for entry in list_runs(root)] == [7, 1]


def test_files_with_another_size_than_in_the_manifest_are_read(root):
    for name in ("summary.json", "results.jsonl"):
        path = root / "first" / name
        times = path.stat().st_atime_ns, path.stat().st_mtime_ns
        path.write_bytes(path.read_bytes()[:-20])
        os.utime(path, ns=times)
        assert statuses(root)["first"] == "corrupt", name


@pytest.mark.parametrize("headline", [None, {"verdict": ""}], ids=["none", "of-an-earlier-version"])
def test_runs_without_a_headline_are_listed_with_their_metrics(root, headline):
    before = list_runs(root)
    path = root / "first" / "manifest.json"
    manifest = orjson.loads(path.read_bytes())
    manifest["headline"] = headline and {**manifest["headline"], **headline, "metrics": {}}
    path.write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2))
    assert [run.to_dict() for run in list_runs(root)] == [run.to_dict() for run in before]


def running(root):
    path = root / "first" / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"complete"', b'"running"'))


def test_run_without_a_writer_is_interrupted(root):
    running(root)
    assert statuses(root)["first"] == "interrupted"


def test_run_that_is_being_written_is_running(root):
    running(root)
    with RunLock(root / "first"):
        assert statuses(root)["first"] == "running"


def test_notes_are_saved_with_a_run(root):
    assert read_notes(root / "first") == RunNotes()
    notes = RunNotes(tags=("a", "b")).changed(add=["c", "a"], remove=["b"], note="why")
    assert notes == RunNotes(tags=("a", "c"), note="why")
    write_notes(root / "first", notes)
    assert read_notes(root / "first") == notes
    assert notes.changed() == notes


def test_notes_need_a_run(tmp_path):
    with pytest.raises(ConfigError, match="not a run directory"):
        write_notes(tmp_path, RunNotes(note="x"))


def test_length_of_notes_is_limited(root):
    with pytest.raises(ConfigError, match="exceeds the limit of 10,000 characters"):
        write_notes(root / "first", RunNotes(note="x" * 20_000))


def test_invalid_notes_are_an_error(root):
    (root / "first" / NOTES).write_bytes(b"[]")
    with pytest.raises(DataError, match=NOTES):
        read_notes(root / "first")


def test_run_is_deleted_with_all_its_files(root):
    write_notes(root / "first", RunNotes(note="x"))
    delete_run(root / "first")
    assert not (root / "first").exists()
    assert set(statuses(root)) == {"second"}
    assert orjson.loads((root / INDEX).read_bytes())["runs"].keys() == {"second"}


@pytest.mark.parametrize("other", ["thesis.docx", "directory/"])
def test_directory_with_other_files_is_not_deleted(root, other):
    path = root / "first" / other.rstrip("/")
    path.mkdir() if other.endswith("/") else path.write_text("x")
    with pytest.raises(ConfigError, match="contains other files"):
        delete_run(root / "first")
    assert (root / "first" / "results.jsonl").exists()


def test_directory_without_a_run_is_not_deleted(tmp_path):
    (tmp_path / "summary.json").write_text("{}")
    with pytest.raises(ConfigError, match="not a run directory"):
        delete_run(tmp_path)
    assert (tmp_path / "summary.json").exists()


def test_link_to_a_run_is_not_deleted(root):
    (root / "link").symlink_to(root / "first")
    with pytest.raises(ConfigError, match="not a run directory"):
        delete_run(root / "link")
    assert (root / "first" / "results.jsonl").exists()


def test_run_that_is_being_written_is_not_deleted(root):
    with RunLock(root / "first"), pytest.raises(RunLockedError):
        delete_run(root / "first")
    assert (root / "first" / "results.jsonl").exists()


# --- titles ---------------------------------------------------------------------------------------

GENERATED = "20250131T120000000000-0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("name", "evaluation", "inputs", "run", "title"),
    [
        pytest.param("best", "invoices", ["t.json"], "baseline", "best", id="its-own-name"),
        pytest.param("", "invoices", ["t.json"], "baseline", "invoices", id="evaluation"),
        pytest.param("", "", ["t.json", "p.json"], "baseline", "baseline", id="chosen-directory"),
        pytest.param("", "", ["t.json", "p.json"], GENERATED, "t.json · p.json", id="inputs"),
        pytest.param("", "", ["(memory)"], GENERATED, GENERATED, id="id"),
    ],
)
def test_title_of_a_run(name, evaluation, inputs, run, title):
    assert run_title(name, evaluation, inputs, run) == title


def test_titles_of_runs_with_the_same_name_have_their_ids(tmp_path):
    documents = [{"id": "a", "x": 1}]
    for name in ("first", "second", "third", GENERATED):
        fm.score(documents, documents, out=tmp_path / name)
    runs = [open_run(tmp_path / name) for name in ("first", "second", "third", GENERATED)]
    assert titles_of(runs) == ["first", "second", "third", GENERATED]
    for run in ("second", GENERATED):
        annotate(tmp_path / run, name="first")
    assert title_of(runs[1]) == "first"
    assert titles_of(runs) == ["first", "first (second)", "third", "first (20250131T120000000000)"]
