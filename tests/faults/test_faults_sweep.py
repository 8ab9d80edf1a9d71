"""A run broken at every operation: nothing acknowledged is lost, and it goes on to the same bytes."""

from __future__ import annotations

import json
import os
import random

import pytest
from broken_disk import BrokenDisk, Killed

import fieldmark as fm
from fieldmark.errors import StorageError
from fieldmark.run.partition_worker import SEGMENT
from fieldmark.store.run_reader import open_run

CASES = 3 * SEGMENT + 40
EVERY = os.environ.get("FIELDMARK_PROVE") == "1"
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
    folder = tmp_path_factory.mktemp("inputs")
    pairs = list(documents())
    paths = folder / "truth.jsonl", folder / "found.jsonl"
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
    folder = tmp_path_factory.mktemp("count") / "run"
    with pytest.MonkeyPatch.context() as patch:
        disk = BrokenDisk(patch, folder)
        fm.score(*inputs, out=folder)
    return disk.count


def sample(number):
    """Every operation to prove it, a seeded handful each time."""
    return range(number) if EVERY else sorted(random.Random(SEED).sample(range(number), 12))


def broken_at(operation, how, inputs, folder):
    """The exception that came out when an operation broke."""
    with pytest.MonkeyPatch.context() as patch:
        BrokenDisk(patch, folder, at=operation, how=how)
        try:
            fm.score(*inputs, out=folder)
        except (StorageError, Killed) as error:
            return error
    return None


@pytest.mark.parametrize("how", ["fail", "die", "lose"])
def test_a_run_broken_anywhere_goes_on_to_the_same_bytes(
    how, inputs, reference, operations, tmp_path
):
    assert operations > 20
    for operation in sample(operations):
        folder = tmp_path / f"{how}-{operation}"
        ended = broken_at(operation, how, inputs, folder)
        before = (
            (folder / "results.jsonl").read_bytes() if (folder / "results.jsonl").exists() else b""
        )
        begun = (folder / "manifest.json").exists()
        if begun:
            status = open_run(folder).status
            assert status != "complete" or content(folder) == reference
            if how == "fail":
                assert status in {"failed", "complete"}
        if ended is None or (begun and open_run(folder).status == "complete"):
            assert content(folder) == reference, operation
            continue
        fm.score(*inputs, out=folder, resume=begun)
        assert content(folder) == reference, operation
        assert open_run(folder).status == "complete"
        torn = b"".join(sorted(path.read_bytes() for path in folder.glob("results.torn-*")))
        kept = len(before) - len(torn)
        assert before[:kept] == reference[0][:kept]
        assert before[kept:] == torn


def test_a_finished_run_is_not_begun_again(inputs, tmp_path):
    fm.score(*inputs, out=tmp_path / "run")
    with pytest.raises(fm.ConfigError, match="is complete"):
        fm.score(*inputs, out=tmp_path / "run", resume=True)


def test_changed_inputs_are_refused_unless_accepted(inputs, tmp_path):
    truth, found = (tmp_path / path.name for path in inputs)
    truth.write_bytes(inputs[0].read_bytes())
    found.write_bytes(inputs[1].read_bytes())
    folder = tmp_path / "run"
    assert broken_at(12, "die", (truth, found), folder) is not None
    with found.open("a") as file:
        file.write('{"id": "more", "candidate": {}}\n')
    with pytest.raises(fm.ConfigError, match=r"begun with something else: .*found\.jsonl"):
        fm.score(truth, found, out=folder, resume=True)
    fm.score(truth, found, out=folder, resume=True, accept_changes=True)
    assert json.loads((folder / "manifest.json").read_text())["accepted_changes"] == ["inputs"]


def test_a_damaged_row_is_refused_with_its_line(inputs, tmp_path):
    folder = tmp_path / "run"
    broken_at(20, "die", inputs, folder)
    results = folder / "results.jsonl"
    lines = results.read_bytes().splitlines(keepends=True)
    assert len(lines) > SEGMENT
    lines[4] = b"{\n"
    results.write_bytes(b"".join(lines))
    with pytest.raises(fm.DataError, match=r"results\.jsonl:5: is damaged; nothing was changed"):
        fm.score(*inputs, out=folder, resume=True)
    assert results.read_bytes() == b"".join(lines)
