"""Division of files into partitions of a fixed number of lines."""

from __future__ import annotations

import json
import os
from contextlib import closing
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.data import file_blocks
from fieldmark.data.file_blocks import (
    IrregularLinesError,
    nth_line_offsets,
    nth_lines,
)
from fieldmark.data.json_rows import JsonlSource
from fieldmark.data.pairing import open_pairs
from fieldmark.data.partitions import (
    JoinedLine,
    PartitionReader,
    joined_partitions,
    partition,
    partition_opener,
)
from fieldmark.errors import DataError

LINES = [b'{"id":"%d"}\n' % (number * 10**number) for number in range(12)]


@pytest.fixture(params=[1 << 18, 7, 1], ids=["whole", "in-small-pieces", "byte-by-byte"])
def _pieces(request, monkeypatch):
    monkeypatch.setattr(file_blocks, "_SCAN_BYTES", request.param)


@pytest.mark.usefixtures("_pieces")
@pytest.mark.parametrize(
    ("content", "every", "found"),
    [
        pytest.param(b"", 2, [0], id="empty-file-has-none"),
        pytest.param(b"{}\n{}\n{}\n{}\n", 2, [0, 6, 12], id="as-many-lines-as-fit"),
        pytest.param(b"{}\n{}\n{}\n", 2, [0, 6, 9], id="fewer-lines-at-the-end"),
        pytest.param(b"{}\n{}\n{}", 2, [0, 6, 8], id="last-line-that-is-not-ended"),
        pytest.param(b"{}", 2, [0, 2], id="single-line-that-is-not-ended"),
        pytest.param(b"{}\n{}\n{}\n", 1, [0, 3, 6, 9], id="one-by-one"),
        pytest.param(b"{}\n{}\n", 9, [0, 6], id="all-in-one"),
    ],
)
def test_offsets_of_lines(content, every, found, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    assert list(nth_line_offsets(path, every, limit=1 << 20)) == found


@pytest.mark.usefixtures("_pieces")
@pytest.mark.parametrize("limit", [10, 12, 15, 20])
def test_line_beyond_the_limit_is_irregular(limit, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(LINES))
    within = sum(len(line) - 1 <= limit for line in LINES)
    found = nth_line_offsets(path, 1, limit)
    offsets = [next(found) for _ in range(within + 1)]
    assert offsets[-1] == sum(map(len, LINES[:within]))
    with pytest.raises(IrregularLinesError):
        next(found)


@pytest.mark.parametrize("counted", [1 << 14, 3], ids=["counted-at-once", "counted-in-parts"])
@given(
    piece=st.lists(st.sampled_from([b"\n", b"a", b"\n\n", b"bc\r\n"]), max_size=30).map(b"".join),
    wanted=st.integers(1, 6),
    every=st.integers(1, 6),
)
def test_every_nth_line_is_found(counted, piece, wanted, every):
    ends = [place + 1 for place, byte in enumerate(piece) if byte == ord("\n")]
    with patch.object(file_blocks, "_COUNT_BYTES", counted):
        found, following = nth_lines(piece, wanted, every)
    assert found == ends[wanted - 1 :: every]
    assert following == wanted + every * len(found) - len(ends)


def rows(name, numbers):
    return [json.dumps({"id": str(number), name: {"n": number}}) for number in numbers]


def line_counts(directory, truth, candidate, *, careful=False, size=2):
    paths = directory / "truth.jsonl", directory / "candidate.jsonl"
    for path, lines in zip(paths, (truth, candidate), strict=True):
        path.write_text("".join(line + "\n" for line in lines))
    stream = open_pairs(*paths)
    stream.close()
    found = partition(stream, size, careful=careful)
    if found is None:
        return None
    lines = []
    for part in found:
        sides = zip(paths, (part.truth, part.candidate), strict=True)
        lines.append([path.read_bytes()[s.start : s.end].count(b"\n") for path, s in sides])
    return lines, found.whole


@pytest.mark.parametrize(
    ("candidates", "lines"),
    [
        pytest.param(range(5), [[2, 2], [2, 2], [1, 1]], id="as-many"),
        pytest.param(range(3), [[2, 2], [2, 1], [1, 0]], id="fewer"),
        pytest.param(range(9), [[2, 2], [2, 2], [1, 5]], id="more-come-with-the-last"),
    ],
)
def test_both_sides_are_assumed_to_be_in_the_same_order(candidates, lines, tmp_path):
    truth, candidate = rows("expected", range(5)), rows("candidate", candidates)
    assert line_counts(tmp_path, truth, candidate) == (lines, True)


@pytest.mark.parametrize(
    ("candidates", "lines"),
    [
        pytest.param([0, 1, 2, 3, 4], [[2, 2], [2, 2], [1, 1]], id="all"),
        pytest.param([1, 2, 4], [[2, 1], [2, 1], [1, 1]], id="some-are-missing"),
        pytest.param([1, 0, 2], None, id="in-another-order"),
        pytest.param([0, 1, 7], None, id="one-without-truth"),
    ],
)
def test_careful_partitions_contain_matching_candidates(candidates, lines, tmp_path):
    truth, candidate = rows("expected", range(5)), rows("candidate", candidates)
    whole = None if lines is None else (lines, True)
    assert line_counts(tmp_path, truth, candidate, careful=True) == whole


def test_all_but_the_last_partition_have_a_number_of_cases(tmp_path):
    path = tmp_path / "rows.jsonl"
    lines = [json.dumps({"id": str(n), "expected": {"n": n}, "candidate": {}}) for n in range(5)]
    path.write_text("\n".join(lines))
    stream = open_pairs(path)
    stream.close()
    found = partition(stream, 2)
    assert [part.cases for part in found] == [2, 2, 0]


def joined(stream, size):
    """Return partitions of lines that were joined by id, and are in the same order on both sides."""
    sides = []
    for side in stream.sides:
        lines = Path(side.source.name).read_bytes().splitlines(keepends=True)
        sides.append(pairwise([0, *accumulate(map(len, lines))]))
    pairs = enumerate(zip(*sides, strict=True), 1)
    lines = [JoinedLine(number, *own, number, *other) for number, (own, other) in pairs]
    return joined_partitions(lines, size)


DIVISIONS = [
    pytest.param(partition, id="ranges-of-bytes"),
    pytest.param(partial(partition, search_map=map), id="ranges-of-blocks"),
    pytest.param(joined, id="single-lines"),
]
CHANGED = r"found\.jsonl: the file has changed while it was read"


@pytest.fixture
def pair(tmp_path):
    """Two files with the same ids, which were opened and closed again."""
    paths = tmp_path / "truth.jsonl", tmp_path / "found.jsonl"
    for path, name in zip(paths, ("expected", "candidate"), strict=True):
        path.write_text("".join(f"{row}\n" for row in rows(name, range(6))))
    stream = open_pairs(*paths)
    stream.close()
    return stream


def read(stream, parts):
    """Return the ids of the cases of partitions."""
    with closing(PartitionReader(partition_opener(stream))) as reader:
        return [
            case.id for part in parts for batch in reader.open(part).batches() for case in batch
        ]


@pytest.mark.parametrize("divide", DIVISIONS)
@pytest.mark.parametrize("size", [2, 6])
def test_partitions_contain_all_cases(pair, divide, size):
    assert read(pair, list(divide(pair, size))) == [*"012345"]


@pytest.mark.parametrize("divide", DIVISIONS)
@pytest.mark.parametrize("more", [b"{}\n", None], ids=["longer", "shorter"])
def test_file_of_another_size_has_changed(tmp_path, pair, divide, more):
    parts = list(divide(pair, 2))
    path = tmp_path / "found.jsonl"
    content = path.read_bytes()
    path.write_bytes(content + more if more else content[:-1])
    with pytest.raises(DataError, match=CHANGED):
        read(pair, parts[:1])


@pytest.mark.parametrize("divide", DIVISIONS)
@pytest.mark.parametrize(
    "removed", [1, 1.5, 6], ids=["last-line", "last-line-and-a-half", "everything"]
)
def test_file_that_is_truncated_after_it_was_opened_has_changed(
    tmp_path, pair, divide, removed, monkeypatch
):
    parts = list(divide(pair, 6))
    path, opened = tmp_path / "found.jsonl", JsonlSource.open_unchanged

    def opened_and_truncated(source):
        file = opened(source)
        if source.name == str(path):
            size = path.stat().st_size
            os.truncate(path, size - int(size * removed / 6))
        return file

    monkeypatch.setattr(JsonlSource, "open_unchanged", opened_and_truncated)
    with pytest.raises(DataError, match=CHANGED):
        read(pair, parts)


def test_files_of_another_machine_must_have_the_same_size(tmp_path, pair):
    opener = partition_opener(pair)
    opener.check_readable()
    path = tmp_path / "found.jsonl"
    size = path.stat().st_size
    os.truncate(path, size - 1)
    with pytest.raises(DataError, match=f"the file has {size - 1} bytes, expected {size}"):
        opener.check_readable()
