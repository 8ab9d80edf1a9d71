"""Blocks of files: where reading can start, and which lines follow."""

from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compressed_files import COMPRESSIONS, in_members
from fieldmark.data import file_blocks
from fieldmark.data.file_blocks import (
    FileBlock,
    IndivisibleError,
    IrregularLinesError,
    block_ranges,
)
from fieldmark.data.pairing import open_pairs
from fieldmark.data.partitions import PartitionReader, partition

LINES = b"".join(b'{"id":"%d"}\n' % number for number in range(40))


@pytest.fixture
def _small_parts(monkeypatch):
    monkeypatch.setattr(file_blocks, "_SEARCH_BYTES", 64)
    monkeypatch.setattr(file_blocks, "_BLOCK_BYTES", 16)


def blocks_of(path):
    return list(file_blocks.file_blocks(str(path), path.name, path.stat().st_size))


@pytest.mark.parametrize(
    ("blocks", "numbers", "found"),
    [
        pytest.param(
            [(0, 20, 2, True), (20, 30, 3, True)],
            [0, 2, 4],
            [(0, 0, 2, 1), (20, 0, 2, 3), (20, 2, 1, 5)],
            id="lines-that-end-with-their-block",
        ),
        pytest.param(
            [(0, 20, 2, False), (20, 30, 3, True)],
            [0, 2, 4],
            [(0, 0, 2, 1), (0, 2, 2, 3), (20, 2, 1, 5)],
            id="line-that-starts-in-the-previous-block",
        ),
        pytest.param(
            [(0, 20, 2, False), (20, 5, 0, False), (25, 5, 0, None), (30, 30, 3, False)],
            [0, 3, 5],
            [(0, 0, 3, 1), (30, 1, 2, 4), (30, 3, 1, 6)],
            id="line-over-several-blocks-and-one-without-an-end",
        ),
        pytest.param(
            [(0, 20, 2, True)],
            [0, 1, 1, 2, 2],
            [(0, 0, 1, 1), (0, 1, 0, 2), (0, 1, 1, 2), (0, 0, 0, 3)],
            id="no-lines-between-equal-numbers",
        ),
        pytest.param([(0, 20, 2, True)], [0, 7], [(0, 0, 2, 1)], id="numbers-beyond-the-end"),
        pytest.param([(0, 20, 0, None)], [0], [], id="no-lines"),
    ],
)
def test_ranges_start_in_the_last_block_before_their_first_line(blocks, numbers, found):
    ranges = list(block_ranges([FileBlock(*each) for each in blocks], numbers))
    assert [(each.start, each.skip, each.lines, each.first) for each in ranges] == found
    assert sum(each.size for each in ranges) == (sum(each[1] for each in blocks) if found else 0)


@pytest.mark.usefixtures("_small_parts")
@pytest.mark.parametrize("compression", ["plain", *COMPRESSIONS])
@given(
    cuts=st.lists(st.integers(0, 600), min_size=1, max_size=12),
    sizes=st.lists(st.integers(0, 30), max_size=30),
    ended=st.booleans(),
    size=st.integers(1, 9),
)
def test_lines_of_all_ranges_are_those_of_the_file(
    compression, cuts, sizes, ended, size, tmp_path_factory
):
    rows = [
        {"id": str(number), "expected": {"n": "é" * length}, "candidate": {}}
        for number, length in enumerate([1, *sizes])
    ]
    content = "\n".join(map(json.dumps, rows)) + ("\n" if ended else "")
    raw, suffix = content.encode(), compression.partition("-")[0]
    path = tmp_path_factory.mktemp("blocks") / (
        "rows.jsonl" if compression == "plain" else f"rows.jsonl.{suffix}"
    )
    path.write_bytes(raw if compression == "plain" else in_members(raw, cuts, compression))
    stream = open_pairs(path)
    found = partition(stream, size, search_map=map)
    parts = list(found)
    assert found.whole
    assert [part.truth.lines for part in parts[:-1]] == [size] * (len(parts) - 1)
    assert sum(part.size for part in parts) == path.stat().st_size
    for reader in (PartitionReader(found.opener), None):
        read = []
        for part in parts:
            own = reader or PartitionReader(found.opener)
            read += [case for batch in own.open(part).batches() for case in batch]
            if reader is None:
                own.close()
        if reader is not None:
            reader.close()
        assert [case.expected for case in read] == [row["expected"] for row in rows]
    stream.close()


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.jsonl.gz", gzip.compress(LINES), "a.jsonl.gz is a single gzip member"),
        ("a.jsonl.zst", pa.compress(LINES, "zstd", asbytes=True), "is a single zstd frame"),
    ],
)
def test_file_with_a_single_member_is_indivisible(name, content, reason, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(IndivisibleError, match=reason):
        blocks_of(path)


@pytest.mark.parametrize(("compression", "unit"), [("gz", "gzip member"), ("zst", "zstd frame")])
def test_member_beyond_the_limit_ends_the_blocks(compression, unit, tmp_path, monkeypatch):
    monkeypatch.setattr(file_blocks, "_MAX_CONTENT", 3 << 20)
    monkeypatch.setattr(file_blocks, "_BLOCK_BYTES", 16)
    path = tmp_path / f"a.jsonl.{compression}"
    path.write_bytes(in_members(LINES + b" " * (4 << 20), [20, 40], compression))
    found = []
    with pytest.raises(IndivisibleError, match=rf"{path.name} has a {unit} of more than 3 MB"):
        found.extend(file_blocks.file_blocks(str(path), path.name, path.stat().st_size))
    assert len(found) == 2


@pytest.mark.usefixtures("_small_parts")
@pytest.mark.parametrize("compression", ["gz", "zst"])
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda raw: raw[:-3], id="truncated"),
        pytest.param(lambda raw: raw + b"garbage", id="garbage-at-the-end"),
        pytest.param(lambda raw: raw[:90] + b"\xff" * 40 + raw[130:], id="overwritten"),
    ],
)
def test_damaged_file_ends_the_blocks_without_a_reason(compression, damage, tmp_path):
    path = tmp_path / f"a.jsonl.{compression}"
    path.write_bytes(damage(in_members(LINES * 4, [*range(0, 1500, 100)], compression)))
    with pytest.raises(IrregularLinesError, match=r"\A\Z"):
        blocks_of(path)


@pytest.mark.usefixtures("_small_parts")
def test_bytes_that_only_look_like_a_member_are_no_start(tmp_path):
    inner = gzip.compress(b"no line\n" * 3)
    # Stored without compression, so that a whole gzip member is part of the content.
    members = [gzip.compress(LINES[:50] + inner, compresslevel=0) for _ in range(6)]
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(b"".join(members))
    starts = [sum(map(len, members[:number])) for number in range(6)]
    assert [each.start for each in blocks_of(path)] == starts


def test_small_members_are_one_block(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(in_members(LINES, [100, 200, 300], "gz"))
    size = path.stat().st_size
    assert blocks_of(path) == [FileBlock(0, size, 40, ends_line=True, members=4)]
