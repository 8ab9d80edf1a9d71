"""A run interrupted at any operation loses no acknowledged rows and resumes to the same bytes."""

from __future__ import annotations

import errno
import json
import os
import random

import pytest
from broken_disk import BrokenDisk, Killed

import fieldmark as fm
from fieldmark.errors import StorageError
from fieldmark.runs.case_processor import SEGMENT
from fieldmark.runs.disk import DISK
from fieldmark.runs.stored_run import open_run
from proving import PROVING

CASES = 3 * SEGMENT + 40
SEED = int(os.environ.get("FIELDMARK_SEED", "7"))


def documents():
    for number in range(CASES):
        expected = {"n": number, "text": f"row {number}"}
        if number == SEGMENT + 3:
            expected["seldom"] = 1
        if number > 2 * SEGMENT and number % 7 == 0:
            expected[f"late{number % 3}"] = number
        found = dict(expected)
        if number % 5 == 0:
            found["text"] = "another"
        if number % 11 == 0:
            found.pop("n")
        yield {"id": str(number), "expected": expected}, {"id": str(number), "candidate": found}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("inputs")
    pairs = list(documents())
    paths = directory / "truth.jsonl", directory / "found.jsonl"
    for path, side in zip(paths, zip(*pairs, strict=True), strict=True):
        path.write_text("".join(json.dumps(row) + "\n" for row in side))
    with paths[0].open("a") as file:
        file.write('{"id": "broken", "expec\n')
    return paths


def content(run):
    return [(run / name).read_bytes() for name in ("results.jsonl", "summary.json")]


@pytest.fixture(scope="module")
def reference(inputs, tmp_path_factory):
    run = tmp_path_factory.mktemp("reference") / "run"
    fm.score(*inputs, out=run)
    return content(run)


@pytest.fixture(scope="module")
def operations(inputs, tmp_path_factory):
    directory = tmp_path_factory.mktemp("count") / "run"
    with pytest.MonkeyPatch.context() as patch:
        disk = BrokenDisk(patch, directory)
        fm.score(*inputs, out=directory)
    return disk.count


def sample(number):
    """Return all operations with FIELDMARK_PROVE, else a seeded sample."""
    return range(number) if PROVING else sorted(random.Random(SEED).sample(range(number), 12))


def fail_at(operation, how, inputs, directory):
    """Score with a failing operation; return the exception."""
    with pytest.MonkeyPatch.context() as patch:
        BrokenDisk(patch, directory, at=operation, how=how)
        try:
            fm.score(*inputs, out=directory)
        except (StorageError, Killed) as error:
            return error
    return None


@pytest.mark.parametrize("how", ["fail", "die", "lose"])
def test_interrupted_run_resumes_to_the_same_bytes(how, inputs, reference, operations, tmp_path):
    assert operations > 20
    for operation in sample(operations):
        directory = tmp_path / f"{how}-{operation}"
        ended = fail_at(operation, how, inputs, directory)
        before = (
            (directory / "results.jsonl").read_bytes()
            if (directory / "results.jsonl").exists()
            else b""
        )
        started = (directory / "manifest.json").exists()
        if started:
            status = open_run(directory).status
            assert status != "complete" or content(directory) == reference
            if how == "fail":
                assert status in {"failed", "complete"}
        if ended is None or (started and open_run(directory).status == "complete"):
            assert content(directory) == reference, operation
            continue
        fm.score(*inputs, out=directory, resume=started)
        assert content(directory) == reference, operation
        assert open_run(directory).status == "complete"
        torn = b"".join(sorted(path.read_bytes() for path in directory.glob("results.torn-*")))
        length = len(before) - len(torn)
        assert before[:length] == reference[0][:length]
        assert before[length:] == torn


@pytest.mark.parametrize("full_at", ["write", "sync", "open_new"])
def test_full_disk_makes_the_run_failed(full_at, inputs, reference, tmp_path):
    """No operation that needs space works again after the first one that fails."""
    directory = tmp_path / "runs" / "run"
    count = 0

    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        operation = getattr(DISK, full_at)

        def fill(*args):
            nonlocal count
            count += 1
            if count <= (1 if full_at == "open_new" else 4):
                return operation(*args)
            for name in ("write", "sync", "open_new", "open_append", "make_directory"):
                patch.setattr(DISK, name, fail)
            return fail()

        patch.setattr(DISK, full_at, fill)
        with pytest.raises(StorageError, match="No space left on device"):
            fm.score(*inputs, out=directory)
    assert open_run(directory).status == "failed"
    [entry] = fm.runs(tmp_path / "runs").entries
    assert (entry.status, entry.problem) == ("failed", "")
    fm.score(*inputs, out=directory, resume=True)
    assert content(directory) == reference


def test_complete_run_cannot_be_resumed(inputs, tmp_path):
    fm.score(*inputs, out=tmp_path / "run")
    with pytest.raises(fm.ConfigError, match="is already complete"):
        fm.score(*inputs, out=tmp_path / "run", resume=True)


def test_changed_inputs_are_rejected_unless_accepted(inputs, tmp_path):
    truth, found = (tmp_path / path.name for path in inputs)
    truth.write_bytes(inputs[0].read_bytes())
    found.write_bytes(inputs[1].read_bytes())
    directory = tmp_path / "run"
    assert fail_at(12, "die", (truth, found), directory) is not None
    with found.open("a") as file:
        file.write('{"id": "more", "candidate": {}}\n')
    with pytest.raises(
        fm.ConfigError, match=r"started with different settings or files: .*found\.jsonl"
    ):
        fm.score(truth, found, out=directory, resume=True)
    fm.score(truth, found, out=directory, resume=True, accept_changes=True)
    assert json.loads((directory / "manifest.json").read_text())["accepted_changes"] == ["inputs"]


def test_corrupt_row_is_rejected_with_its_line(inputs, tmp_path):
    directory = tmp_path / "run"
    fail_at(20, "die", inputs, directory)
    results = directory / "results.jsonl"
    lines = results.read_bytes().splitlines(keepends=True)
    assert len(lines) > SEGMENT
    lines[4] = b"{\n"
    results.write_bytes(b"".join(lines))
    with pytest.raises(fm.DataError, match=r"results\.jsonl:5: corrupt row; nothing was changed"):
        fm.score(*inputs, out=directory, resume=True)
    assert results.read_bytes() == b"".join(lines)
