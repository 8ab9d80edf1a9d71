"""A list of runs: read from the runs, remembered, and never broken by one of them."""

from __future__ import annotations

import os
import shutil

import orjson
import pytest

import fieldmark as fm
from fieldmark.errors import ConfigError, DataError, RunLockedError, StorageError
from fieldmark.store import run_index as index_module
from fieldmark.store.lock import RunLock
from fieldmark.store.notes import NOTES, RunNotes, delete_run, read_notes, write_notes
from fieldmark.store.run_index import INDEX, list_runs

PAIRS = [({"total": 1, "vendor": "Acme"}, {"total": 1, "vendor": "Acne"})]


@pytest.fixture
def root(tmp_path):
    """A folder with two runs."""
    for name in ("first", "second"):
        fm.score(PAIRS, out=tmp_path / name)
    return tmp_path


def statuses(root):
    return {entry.id: entry.status for entry in list_runs(root)}


def test_a_run_is_listed_with_its_figures(root):
    first, second = list_runs(root)
    assert (first.id, first.status, first.cases, first.convention) == (
        "first", "complete", 1, "confusion",
    )  # fmt: skip
    assert first.figures == {
        "mean_score": 0.5, "macro_f1_by_attribute": 0.5, "macro_f1_by_case": 0.5, "micro_f1": 0.5,
    }  # fmt: skip
    assert first.comparable == second.comparable
    assert first.started_at <= first.finished_at


def test_runs_of_another_convention_cannot_be_compared(root):
    fm.score(PAIRS, out=root / "third", options={"wrong_value": "fp"})
    first, _, third = list_runs(root)
    assert first.comparable != third.comparable


def test_a_wide_run_is_listed_by_the_heads_of_its_files(tmp_path):
    wide = {f"field {number}": number for number in range(2000)}
    fm.score([(wide, wide)], out=tmp_path / "wide")
    [entry] = list_runs(tmp_path)
    assert (entry.status, entry.cases) == ("complete", 1)
    assert entry.finished_at >= entry.started_at > ""


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("name", ["manifest.json", "summary.json"])
def test_a_run_of_another_format_is_not_guessed_at(root, name, number):
    path = root / "first" / name
    content = path.read_bytes()
    assert b'"format": 2' in content
    path.write_bytes(content.replace(b'"format": 2', b'"format": %d' % number, 1))
    entry = next(each for each in list_runs(root) if each.id == "first")
    assert entry.status == "corrupt"
    assert entry.problem.startswith(f"{name}: has format {number}, and this version reads format 2")


def test_what_is_no_run_is_not_listed(root):
    (root / "notes").mkdir()
    (root / "file.txt").write_text("x")
    (root / ".hidden").mkdir()
    assert set(statuses(root)) == {"first", "second"}


def test_a_folder_that_is_not_there_has_no_runs(tmp_path):
    assert list_runs(tmp_path / "missing") == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format": 99}', b"\xff\xfe", b"null"])
@pytest.mark.parametrize("name", ["manifest.json", "summary.json", "results.jsonl", NOTES])
def test_one_corrupt_run_never_breaks_a_list(root, name, content):
    write_notes(root / "first", RunNotes(tags=("kept",)))
    list_runs(root)
    (root / "first" / name).write_bytes(content)
    harmless = {(NOTES, b'{"format": 99}'), ("results.jsonl", b"")}
    wanted = "complete" if (name, content) in harmless else "corrupt"
    assert statuses(root) == {"first": wanted, "second": "complete"}
    entry = list_runs(root)[0] if wanted == "complete" else next(
        each for each in list_runs(root) if each.id == "first"
    )  # fmt: skip
    assert (name in entry.problem) is (wanted == "corrupt")


@pytest.mark.parametrize("name", ["manifest.json", "summary.json", "results.jsonl"])
def test_a_file_that_is_missing_makes_a_run_corrupt(root, name):
    (root / "first" / name).unlink()
    assert statuses(root) == {"first": "corrupt", "second": "complete"}


def test_a_file_that_is_cut_off_makes_a_run_corrupt(root):
    for name in ("manifest.json", "summary.json", "results.jsonl"):
        whole = (root / "first" / name).read_bytes()
        (root / "first" / name).write_bytes(whole[:-20])
        assert statuses(root)["first"] == "corrupt", name
        (root / "first" / name).write_bytes(whole)
    assert statuses(root)["first"] == "complete"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"nonsense", id="no-json"),
        pytest.param(b"[]", id="no-object"),
        pytest.param(b'{"format": 2, "runs": {}}', id="of-an-earlier-version"),
        pytest.param(b'{"format": 3}', id="without-runs"),
        pytest.param(b'{"format": 3, "runs": []}', id="a-list-of-runs"),
        pytest.param(b'{"format": 3, "runs": {"first": 3}}', id="a-run-that-is-a-number"),
        pytest.param(b'{"format": 3, "runs": {"first": [[], ["x"]]}}', id="a-run-that-is-short"),
    ],
)
def test_an_index_that_cannot_be_used_is_made_anew(root, content):
    before = list_runs(root)
    (root / INDEX).write_bytes(content)
    assert list_runs(root) == before
    assert orjson.loads((root / INDEX).read_bytes())["runs"].keys() == {"first", "second"}


def test_what_is_remembered_is_not_read_again(root, monkeypatch):
    before = list_runs(root)
    monkeypatch.setattr(index_module, "_read", None)
    assert [tuple(entry)[:6] for entry in list_runs(root)] == [tuple(e)[:6] for e in before]


@pytest.mark.parametrize("marks", [[], [[1, 2]], None, "marks"], ids=repr)
def test_marks_that_are_none_are_not_believed(root, marks):
    before = [entry.to_dict() for entry in list_runs(root)]
    said = orjson.loads((root / INDEX).read_bytes())
    said["runs"]["first"] = [marks, [*said["runs"]["first"][1][:1], "failed", *[""] * 10]]
    (root / INDEX).write_bytes(orjson.dumps(said))
    assert [entry.to_dict() for entry in list_runs(root)] == before


def test_a_run_that_is_remembered_in_part_is_read_again(root):
    before = [entry.to_dict() for entry in list_runs(root)]
    said = orjson.loads((root / INDEX).read_bytes())
    said["runs"]["first"][1].pop()
    (root / INDEX).write_bytes(orjson.dumps(said))
    assert [entry.to_dict() for entry in list_runs(root)] == before


def test_notes_that_come_change_and_go_are_noticed(root):
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


def test_files_from_before_the_clock_began_are_there(root):
    for name in ("manifest.json", "summary.json", "results.jsonl", NOTES):
        path = root / "first" / name
        if name == NOTES:
            path.write_bytes(b'{"note": "old"}')
        os.utime(path, ns=(-1, -1))
    entry = next(each for each in list_runs(root) if each.id == "first")
    assert (entry.status, entry.cases, entry.note) == ("complete", 1, "old")


def test_runs_are_in_the_order_in_which_they_began_and_then_of_their_names(root):
    for name in ("b", "c", "a"):
        shutil.copytree(root / "second", root / name)
    path = root / "c" / "manifest.json"
    begun = next(entry.started_at for entry in list_runs(root) if entry.id == "c")
    path.write_bytes(path.read_bytes().replace(begun.encode(), b"2001-01-01"))
    for _ in range(2):
        assert [entry.id for entry in list_runs(root)] == ["c", "first", "a", "b", "second"]


def test_what_was_changed_is_read_again(root):
    list_runs(root)
    write_notes(root / "first", RunNotes(tags=("baseline",), note="before"))
    entry = list_runs(root)[0]
    assert (list(entry.tags), entry.note) == (["baseline"], "before")


def test_a_run_that_is_gone_is_gone(root):
    list_runs(root)
    shutil.rmtree(root / "first")
    assert set(statuses(root)) == {"second"}
    assert orjson.loads((root / INDEX).read_bytes())["runs"].keys() == {"second"}


def test_a_folder_that_cannot_be_written_is_listed_all_the_same(root, monkeypatch):
    def refuse(*_):
        raise StorageError("read-only")

    monkeypatch.setattr(index_module, "write_atomic", refuse)
    assert set(statuses(root)) == {"first", "second"}
    assert not (root / INDEX).exists()


def test_a_list_without_an_index_complains_of_nothing(root, capsys):
    (root / INDEX).mkdir()  # so that it can neither be read nor written
    assert set(statuses(root)) == {"first", "second"}
    assert not list(root.glob("*.part")) + list(root.glob(".*.part"))
    assert capsys.readouterr() == ("", "")


def test_the_manifest_alone_tells_what_a_list_shows(root, monkeypatch):
    before = list_runs(root)
    (root / INDEX).unlink()
    for reader in ("summary_from_json", "_check_whole_rows"):
        monkeypatch.setattr(index_module, reader, None)
    assert list_runs(root) == before


def test_files_that_are_newer_than_the_manifest_are_read(root):
    path = root / "first" / "summary.json"
    path.write_bytes(path.read_bytes().replace(b'"total": 1,', b'"total": 7,', 1))
    assert [entry.cases for entry in list_runs(root)] == [7, 1]


def test_files_of_another_size_than_the_manifest_tells_are_read(root):
    for name in ("summary.json", "results.jsonl"):
        path = root / "first" / name
        times = path.stat().st_atime_ns, path.stat().st_mtime_ns
        path.write_bytes(path.read_bytes()[:-20])
        os.utime(path, ns=times)
        assert statuses(root)["first"] == "corrupt", name


def test_runs_whose_manifest_tells_no_figures_are_listed_with_them(root):
    before = list_runs(root)
    path = root / "first" / "manifest.json"
    manifest = orjson.loads(path.read_bytes())
    del manifest["headline"]
    path.write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2))
    assert [each.to_dict() for each in list_runs(root)] == [each.to_dict() for each in before]


def running(root):
    path = root / "first" / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"complete"', b'"running"'))


def test_a_run_that_nobody_writes_any_more_was_broken_off(root):
    running(root)
    assert statuses(root)["first"] == "interrupted"


def test_a_run_that_is_being_written_is_running(root):
    running(root)
    with RunLock(root / "first"):
        assert statuses(root)["first"] == "running"


def test_notes_are_kept_beside_a_run(root):
    assert read_notes(root / "first") == RunNotes()
    notes = RunNotes(tags=("a", "b")).changed(add=["c", "a"], remove=["b"], note="why")
    assert notes == RunNotes(tags=("a", "c"), note="why")
    write_notes(root / "first", notes)
    assert read_notes(root / "first") == notes
    assert notes.changed() == notes


def test_notes_belong_to_a_run(tmp_path):
    with pytest.raises(ConfigError, match="holds no run"):
        write_notes(tmp_path, RunNotes(note="x"))


def test_notes_have_an_end(root):
    with pytest.raises(ConfigError, match="at most"):
        write_notes(root / "first", RunNotes(note="x" * 20_000))


def test_notes_that_cannot_be_read_are_told(root):
    (root / "first" / NOTES).write_bytes(b"[]")
    with pytest.raises(DataError, match=NOTES):
        read_notes(root / "first")


def test_a_run_is_removed_with_all_that_is_its_own(root):
    write_notes(root / "first", RunNotes(note="x"))
    delete_run(root / "first")
    assert not (root / "first").exists()
    assert set(statuses(root)) == {"second"}


@pytest.mark.parametrize("other", ["thesis.docx", "folder/"])
def test_a_folder_with_other_things_is_left_alone(root, other):
    path = root / "first" / other.rstrip("/")
    path.mkdir() if other.endswith("/") else path.write_text("x")
    with pytest.raises(ConfigError, match="other things"):
        delete_run(root / "first")
    assert (root / "first" / "results.jsonl").exists()


def test_a_folder_without_a_run_is_left_alone(tmp_path):
    (tmp_path / "summary.json").write_text("{}")
    with pytest.raises(ConfigError, match="holds no run"):
        delete_run(tmp_path)
    assert (tmp_path / "summary.json").exists()


def test_a_link_to_a_run_is_not_followed(root):
    (root / "link").symlink_to(root / "first")
    with pytest.raises(ConfigError, match="holds no run"):
        delete_run(root / "link")
    assert (root / "first" / "results.jsonl").exists()


def test_a_run_that_is_being_written_is_not_removed(root):
    with RunLock(root / "first"), pytest.raises(RunLockedError):
        delete_run(root / "first")
    assert (root / "first" / "results.jsonl").exists()
