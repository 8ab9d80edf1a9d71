"""Pairs of JSONL files, divided into partitions that can be read independently."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fieldmark.data.files import is_compressed, open_file
from fieldmark.data.inputs import Inputs, Role
from fieldmark.data.json_lines import JsonlSource
from fieldmark.data.layout import Layout
from fieldmark.data.line_offsets import (
    IrregularLinesError,
    LineBlock,
    LineOffsets,
    id_pattern,
    nth_line_offsets,
    read_line_blocks,
    read_line_offsets,
)
from fieldmark.data.pairing import PairStream
from fieldmark.data.rows import RowBlock, changed_error
from fieldmark.data.sides import InputSide, OpenedInputs, make_dialect
from fieldmark.errors import DataError, Location

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "IdLine",
    "JoinedLine",
    "LineRange",
    "Partition",
    "PartitionOpener",
    "Partitions",
    "joined_partitions",
    "partition",
    "partition_opener",
    "read_ids",
    "why_indivisible",
]


class LineRange(NamedTuple):
    """Some lines of a file: their start and end offsets, and the number of the first line."""

    start: int
    end: int
    first: int

    @property
    def size(self) -> int:
        """The size of the lines in bytes."""
        return self.end - self.start


class LineList(NamedTuple):
    """Single lines of a file in any order: the start, end and number of each."""

    lines: tuple[tuple[int, int, int], ...]

    @property
    def size(self) -> int:
        """The size of the lines in bytes."""
        return sum(end - start for start, end, _ in self.lines)


class IdLine(NamedTuple):
    """The id, number, start and end of a line; the number is -1 if it must be read otherwise."""

    id: str
    number: int
    start: int
    end: int


class JoinedLine(NamedTuple):
    """The number, start and end of a line of the truth, and those of its candidate if it has one.

    A candidate without truth has the number -1 on the side of the truth.
    """

    number: int
    start: int | None
    end: int | None
    candidate: int | None
    candidate_start: int | None
    candidate_end: int | None


class Partition(NamedTuple):
    """Some cases: the lines of the truth, and of the candidate if it is a separate file.

    Unless there are blank lines, the partition has at least `cases` cases.
    """

    truth: LineRange
    candidate: LineRange | LineList | None = None
    cases: int = 0

    @property
    def size(self) -> int:
        """The size of both sides in bytes."""
        return sum(each.size for each in (self.truth, self.candidate) if each)


@dataclass(slots=True)
class _PartitionSource(JsonlSource):
    """The rows of some lines of a file."""

    part: LineRange | LineList = field(default=LineRange(0, 0, 1))

    def line_blocks(self) -> Iterator[LineBlock]:
        """Yield the lines in blocks of the same size as for a whole file, or one by one."""
        if isinstance(self.part, LineList):
            yield from self._single_lines(self.part)
            return
        start, end, first = self.part
        if start == end:
            return
        opened = self.open_unchanged()
        try:
            opened.stream.seek(start)
            raw = opened.stream.read(end - start)
        finally:
            opened.close()
        if opened.size != self.bytes_total or len(raw) < end - start:
            raise changed_error(self.name)
        self.bytes_read = end - start
        for block in read_line_blocks(BytesIO(raw), self.dialect.limits.line_bytes, self.name):
            yield LineBlock(block.raw, first + block.first - 1, start + block.offset)

    def _single_lines(self, part: LineList) -> Iterator[LineBlock]:
        opened = self.open_unchanged()
        try:
            for start, end, number in part.lines:
                opened.stream.seek(start)
                raw = opened.stream.read(end - start)
                if opened.size != self.bytes_total or len(raw) < end - start:
                    raise changed_error(self.name)
                self.bytes_read += len(raw)
                yield LineBlock(raw, number, start)
        finally:
            opened.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _SideOpener:
    name: str
    path: str
    version: str
    size: int
    layout: Layout
    role: Role

    def open(self, part: LineRange | LineList, options: Inputs) -> InputSide:
        dialect = make_dialect(self.role, options)
        source = _PartitionSource(self.name, dialect, part=part, path=self.path)
        source.version, source.bytes_total = self.version, self.size
        return InputSide(source, dialect, source.blocks(), RowBlock([], []), self.layout)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionOpener:
    """Opens partitions of a pair of files, in any process."""

    truth: _SideOpener
    candidate: _SideOpener | None
    by_id: bool
    options: Inputs
    quotes: bool

    def open(self, part: Partition) -> PairStream:
        """Open the cases of a partition."""
        truth = self.truth.open(part.truth, self.options)
        candidate = None
        if self.candidate is not None and part.candidate is not None:
            candidate = self.candidate.open(part.candidate, self.options)
        opened = OpenedInputs(truth, candidate, by_id=self.by_id)
        before = part.truth.first - 1
        return PairStream(opened, self.options, quotes=self.quotes, before=before)

    def check_readable(self) -> None:
        """Raise an error if this machine does not have the files that were opened elsewhere."""
        for side in (self.truth, self.candidate):
            if side is None:
                continue
            opened = open_file(side.path)
            opened.close()
            if opened.version != side.version:
                raise changed_error(side.name)
            if opened.size != side.size:
                message = f"the file has {opened.size:,} bytes, expected {side.size:,}"
                raise DataError(message, Location(opened.name))


class Partitions:
    """The partitions of a stream, which are found during iteration, and their `opener`.

    After the iteration, `whole` is true if the partitions cover the stream. They end early at lines
    that must be read one by one.
    """

    def __init__(self, opener: PartitionOpener, parts: Iterator[Partition]) -> None:
        self.opener = opener
        self.whole = False
        self._parts = parts

    def __iter__(self) -> Iterator[Partition]:
        try:
            yield from self._parts
        except IrregularLinesError:
            return
        self.whole = True


def why_indivisible(stream: PairStream) -> str:
    """Return why a stream cannot be divided into partitions; empty if it can.

    Both sides must be uncompressed JSONL files.
    """
    for source in (side.source for side in stream.sides):
        if not isinstance(source, JsonlSource) or not source.from_path:
            return f"{source.name or 'the input'} is not a JSONL file"
        if is_compressed(Path(source.name)):
            return f"{source.name} is compressed"
    return ""


def partition_opener(stream: PairStream) -> PartitionOpener:
    """Return what opens partitions of a stream of JSONL files."""
    openers = [
        _SideOpener(
            name=side.source.name,
            path=side.source.path or str(Path(side.source.name).absolute()),
            version=side.source.version,
            size=side.source.bytes_total,
            layout=side.layout,
            role=side.dialect.role,
        )
        for side in stream.sides
    ]
    return PartitionOpener(
        truth=openers[0],
        candidate=openers[1] if len(openers) > 1 else None,
        by_id=stream.by_id,
        options=stream.options,
        quotes=stream.quotes,
    )


def partition(stream: PairStream, size: int, *, careful: bool = False) -> Partitions | None:
    """Divide a stream into partitions of `size` cases; return `None` if this is not possible.

    Unless `careful` is true, both sides are assumed to be in the same order, which is verified when
    the partitions are read. With `careful`, the ids are read: the candidates must be in the order
    of the truth, but some may be missing.
    """
    if why_indivisible(stream):
        return None
    opener = partition_opener(stream)
    if not careful:
        return Partitions(opener, _parts_in_step(stream, size))
    id_keys = [side.layout.id_key if stream.by_id else None for side in stream.sides]
    if stream.by_id and None in id_keys:
        return None
    limit = stream.options.limits.line_bytes
    offsets = [
        read_line_offsets(side.source.path or side.source.name, id_key, limit)
        for side, id_key in zip(stream.sides, id_keys, strict=True)
    ]
    truth, candidate = offsets[0], offsets[-1]
    if truth is None or candidate is None:
        return None
    places = _candidate_places(truth, candidate)
    if places is None:
        return None
    parts = _parts_by_place(truth, candidate if len(offsets) > 1 else None, places, size)
    return Partitions(opener, parts)


def _parts_in_step(stream: PairStream, size: int) -> Iterator[Partition]:
    """Yield partitions with the same number of lines of both sides; the last has the rest."""
    limit = stream.options.limits.line_bytes
    paths = [side.source.path or side.source.name for side in stream.sides]
    own, *other = (pairwise(nth_line_offsets(path, size, limit)) for path in paths)
    theirs = other[0] if other else None
    upcoming, first, end = next(own, None), 1, 0
    while upcoming is not None:
        mine, upcoming = upcoming, next(own, None)
        truth, candidate = LineRange(*mine, first), None
        if theirs is not None:
            begin, end = next(theirs, (end, end))
            if upcoming is None:
                end = max((further for _, further in theirs), default=end)
            candidate = LineRange(begin, end, first)
        yield Partition(truth, candidate, 0 if upcoming is None else size)
        first += size


def read_ids(path: str, part: LineRange, id_key: str) -> list[IdLine]:
    """Return the ids of some lines of a file; each line must start with its id."""
    match_id = id_pattern(id_key).match
    opened = open_file(path)
    try:
        opened.stream.seek(part.start)
        raw = opened.stream.read(part.size)
    finally:
        opened.close()
    lines: list[IdLine] = []
    start = 0
    pieces = raw.split(b"\n")
    if not pieces[-1]:
        pieces.pop()
    for number, line in enumerate(pieces, part.first):
        found, end = match_id(line), min(start + len(line) + 1, part.size)
        if found is None:
            return [IdLine("", -1, part.start, part.start)]
        text = found[1].strip(b'"').decode("latin-1")  # the same text for the same bytes
        lines.append(IdLine(text, number, part.start + start, part.start + end))
        start = end
    return lines


def joined_partitions(lines: Iterable[JoinedLine], size: int) -> Iterator[Partition]:
    """Yield partitions of `size` cases from lines in the order of the truth.

    `IrregularLinesError` is raised at the first line that has no truth or several candidates.
    """
    held: list[JoinedLine] = []
    for number, line in enumerate(lines, 1):
        if line.number != number:
            raise IrregularLinesError
        held.append(line)
        if len(held) == size:
            yield _joined_partition(held)
            held = []
    if held:
        yield _joined_partition(held)


def _joined_partition(lines: list[JoinedLine]) -> Partition:
    truth = LineRange(int(lines[0].start or 0), int(lines[-1].end or 0), lines[0].number)
    candidates = [
        (each.candidate_start, each.candidate_end, each.candidate)
        for each in lines
        if each.candidate_start is not None
        and each.candidate_end is not None
        and each.candidate is not None
    ]
    return Partition(truth, LineList(tuple(candidates)))


def _candidate_places(truth: LineOffsets, candidate: LineOffsets) -> NDArray[np.int64] | None:
    """Return the row of the truth for each candidate, or `None` if the order differs."""
    import numpy as np

    if truth.ids is None or candidate.ids is None:
        return np.arange(len(candidate)) if len(candidate) <= len(truth) else None
    order = np.argsort(truth.ids, kind="stable")
    ordered = truth.ids[order]
    if len(ordered) > 1 and (np.diff(ordered) == 0).any():
        return None
    found = np.minimum(np.searchsorted(ordered, candidate.ids), len(ordered) - 1)
    places: NDArray[np.int64] = order[found]
    in_order = bool((np.diff(places) > 0).all())
    return places if in_order and bool((ordered[found] == candidate.ids).all()) else None


def _parts_by_place(
    truth: LineOffsets, candidate: LineOffsets | None, places: NDArray[np.int64], size: int
) -> Iterator[Partition]:
    import numpy as np

    edges = np.append(np.arange(0, len(truth), size), len(truth))
    their_edges = np.searchsorted(places, edges)
    for own, their in zip(pairwise(edges.tolist()), pairwise(their_edges.tolist()), strict=True):
        theirs = None if candidate is None else _line_range(candidate, *their)
        yield Partition(_line_range(truth, *own), theirs)


def _line_range(offsets: LineOffsets, first: int, end: int) -> LineRange:
    return LineRange(int(offsets.starts[first]), int(offsets.starts[end]), first + 1)
