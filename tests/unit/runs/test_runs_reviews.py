"""The review file: appended to line by line, also by several processes and on a failing disk."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

import fieldmark as fm
from faults.broken_disk import BrokenDisk, Killed
from fieldmark.analyses.runs import remove_run
from fieldmark.errors import ConfigError, DataError, StorageError
from fieldmark.runs.reviews import (
    REVIEWS,
    Decision,
    Review,
    append_review,
    current_reviews,
    read_reviews,
    review_from_json,
    values_hash,
)


def review(name="1", **changes) -> Review:
    fields = {"case_id": "a", "path": "total", "candidate_path": "total", "expected": 5}
    other = {"candidate": fm.MISSING, "decision": Decision.ACCEPT_TRUTH, "by": "me", "at": "now"}
    return Review(id=name, **{**fields, **other, **changes})


@pytest.fixture
def run(tmp_path):
    fm.score([{"id": "a", "total": 5}], [{"id": "a"}], out=tmp_path / "run")
    return tmp_path / "run"


def names(run) -> list[str]:
    return [read_review.id for read_review in read_reviews(run)]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="missing-candidate"),
        pytest.param({"candidate": None}, id="null-is-not-missing"),
        pytest.param({"candidate_path": "totals"}, id="other-path"),
        pytest.param({"decision": Decision.CORRECTION, "values": (None,)}, id="null-correction"),
        pytest.param({"decision": Decision.AMBIGUOUS, "values": (1, "1", 1.5)}, id="values"),
        pytest.param({"expected": 10**30, "comment": "\u2028\n<b>\udcff"}, id="unusual-values"),
        pytest.param({"decision": Decision.UNDO, "undoes": "0"}, id="undo"),
    ],
)
def test_review_survives_its_json_form(run, changes):
    made = review(**changes)
    append_review(run, lambda _: made)
    (read_review,) = read_reviews(run)
    assert read_review == made
    assert read_review.field == made.field
    assert review_from_json(json.loads(json.dumps(made.to_dict()))) == made


def test_values_are_told_apart_by_their_hash():
    sides = [fm.MISSING, None, "", 0, False, "0", [], {}]
    hashes = {values_hash(expected, candidate) for expected in sides for candidate in sides}
    assert len(hashes) == len(sides) ** 2


def test_incomplete_last_line_is_ignored_and_replaced(run):
    append_review(run, lambda _: review("1"))
    whole = (run / REVIEWS).read_bytes()
    for length in range(1, len(whole)):
        (run / REVIEWS).write_bytes(whole + whole[:length].rstrip(b"\n"))
        assert names(run) == ["1"]
    append_review(run, lambda earlier: review(str(len(earlier) + 1)))
    assert names(run) == ["1", "2"]
    assert (run / REVIEWS).read_bytes().count(b"\n") == 2


@pytest.mark.parametrize("earlier", [(), ("1",)], ids=["new-file", "existing-file"])
def test_disk_that_fails_leaves_only_whole_reviews(run, monkeypatch, earlier):
    for name in earlier:
        append_review(run, lambda _, name=name: review(name))
    whole = (run / REVIEWS).read_bytes() if earlier else b""
    with monkeypatch.context() as patched:
        disk = BrokenDisk(patched, run)
        append_review(run, lambda _: review("2"))
        operations = disk.count
    assert operations >= 4  # opened, written, synchronized and closed
    for how, error in (("fail", StorageError), ("die", Killed)):
        for at in range(operations):
            (run / REVIEWS).write_bytes(whole)
            with monkeypatch.context() as patched:
                BrokenDisk(patched, run, at=at, how=how)
                try:
                    append_review(run, lambda _: review("2"))
                except error:
                    known = {earlier} if how == "fail" else {earlier, (*earlier, "2")}
                    assert tuple(names(run)) in known, (how, at)
            append_review(run, lambda _: review("3"))
            assert names(run)[-1] == "3"


def test_reviews_of_several_tabs_are_all_kept(run):
    def append(number):
        append_review(run, lambda earlier: review(f"{number}", comment=str(len(earlier))))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(append, range(40)))
    stored = read_reviews(run)
    assert sorted(int(item.id) for item in stored) == list(range(40))
    # Each of them saw all that were written before it.
    assert [int(item.comment) for item in stored] == list(range(40))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param("[1]", "expected a JSON object", id="list"),
        pytest.param("{", "invalid JSON", id="json"),
        pytest.param('{"id": "1", "case_id": "1"}', "path is missing", id="missing-key"),
        pytest.param(json.dumps({**review().to_dict(), "decision": "maybe"}), "must be one of", id="decision"),
    ],
)  # fmt: skip
def test_invalid_line_is_an_error_that_names_it(run, line, message):
    append_review(run, lambda _: review("1"))
    with (run / REVIEWS).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    with pytest.raises(DataError, match=message) as error:
        read_reviews(run)
    assert f"{REVIEWS}:2" in str(error.value)
    with pytest.raises(DataError):
        append_review(run, lambda _: review("2"))


def test_value_that_could_not_be_read_again_is_not_saved(run):
    deep: list = []
    for _ in range(150):
        deep = [deep]
    with pytest.raises(ConfigError, match="cannot be saved: nested more than"):
        append_review(run, lambda _: review("1", values=(deep,)))
    assert names(run) == []


def test_reviews_are_deleted_with_their_run_and_need_one(run, tmp_path):
    append_review(run, lambda _: review("1"))
    remove_run(run)
    assert not run.exists()
    with pytest.raises(ConfigError, match="not a run directory"):
        append_review(tmp_path, lambda _: review("1"))


def test_current_review_is_the_last_that_was_not_withdrawn():
    first, second = review("1"), review("2", decision=Decision.CORRECTION, values=(6,))
    undo = review("3", decision=Decision.UNDO, undoes="2")
    comment = review("4", decision=Decision.COMMENT, comment="why")
    other = review("5", path="vendor", candidate_path="vendor")
    assert current_reviews([first, second])[first.field] == second
    assert current_reviews([first, second, undo]) == {first.field: first}
    commented = current_reviews([first, comment, other])
    assert commented[first.field].decision is Decision.ACCEPT_TRUTH
    assert commented[first.field].comment == "why"
    assert len(commented) == 2
