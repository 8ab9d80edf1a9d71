"""Pairs of JSONL and Parquet files, divided into partitions that can be read independently."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from io import BufferedReader, BytesIO
from itertools import count, islice, pairwise, repeat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from fieldmark.data.arrow_tables import ParquetSource, RowGroupSource
from fieldmark.data.document_forms import DocumentForms
from fieldmark.data.file_blocks import (
    BlockRange,
    FileBlock,
    IrregularLinesError,
    LineBlock,
    LineOffsets,
    SearchMap,
    block_ranges,
    check_divisible,
    file_blocks,
    id_pattern,
    nth_line_offsets,
    read_block,
    read_line_blocks,
    read_line_offsets,
    too_long_error,
)
from fieldmark.data.input_files import InputFile, is_compressed, open_file
from fieldmark.data.inputs import Inputs
from fieldmark.data.json_parser import Role
from fieldmark.data.json_rows import JsonlSource
from fieldmark.data.pairing import PairStream
from fieldmark.data.row_layout import Layout
from fieldmark.data.rows import DerivedSource, RowBlock, RowSource, changed_error
from fieldmark.data.sides import InputSide, OpenedInputs, make_dialect
from fieldmark.errors import DataError, Location
from fieldmark.values.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    """The number, start and end of a line of the truth, and of its candidate if there is one.

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

    truth: LineRange | BlockRange
    candidate: LineRange | BlockRange | LineList | None = None
    cases: int = 0

    @property
    def size(self) -> int:
        """The size of both sides in bytes."""
        return sum(side.size for side in (self.truth, self.candidate) if side)


class _LineReader:
    """Reads lines of a file from the start of a block, and keeps it open for the following ones."""

    def __init__(self) -> None:
        self._opened: InputFile | None = None
        self._held = b""
        self._next = 0

    def take(self, part: BlockRange, source: _PartitionSource) -> bytes:
        """Return the lines of a part; the last line of the file may have no end."""
        if self._opened is None or part.first != self._next:
            self.close()
            self._opened, self._held = source.open_unchanged(), b""
            if self._opened.size != source.bytes_total:
                raise changed_error(source.name)
            self._opened.file.seek(part.start)
            self._next = part.first - part.skip
            for _ in self._pieces(part.skip, source):
                pass
        return b"".join(self._pieces(part.lines, source))

    def _pieces(self, lines: int, source: _PartitionSource) -> Iterator[bytes]:
        assert self._opened is not None  # noqa: S101 - only called by `take`
        limit, end, unended = source.dialect.limits.line_bytes, self._next + lines, 0
        while self._next < end:
            piece = self._held or read_block(self._opened.stream, source.name)
            if not piece:
                if not unended or self._next + 1 < end:
                    raise changed_error(source.name)
                self._next = end
                return
            split = piece.split(b"\n", end - self._next)
            self._held = split[-1] if len(split) > end - self._next else b""
            self._next += len(split) - 1
            yield piece[: len(piece) - len(self._held)]
            unended = len(split[-1]) + (unended if len(split) == 1 else 0)
            if not self._held and unended > limit:
                raise too_long_error(source.name, self._next, limit)

    def close(self) -> None:
        """Close the file."""
        if self._opened is not None:
            self._opened.close()


@dataclass(slots=True)
class _PartitionSource(JsonlSource):
    """The rows of some lines of a file."""

    part: LineRange | BlockRange | LineList = field(default=LineRange(0, 0, 1))
    reader: _LineReader = field(default_factory=_LineReader)

    def line_blocks(self) -> Iterator[LineBlock]:
        """Yield the lines in blocks of the same size as for a whole file, or one by one."""
        if isinstance(self.part, LineList):
            yield from self._single_lines(self.part)
            return
        if isinstance(self.part, BlockRange):
            # Only the first line of a file can start with a byte order mark.
            start, first = self.part.first - 1, self.part.first
            raw = self.reader.take(self.part, self)
        else:
            start, _, first = self.part
            raw = self._read_range(self.part)
        self.bytes_read = self.part.size
        limit = self.dialect.limits.line_bytes
        yield from read_line_blocks(BytesIO(raw), limit, self.name, first, start)

    def _read_range(self, part: LineRange) -> bytes:
        if not part.size:
            return b""
        opened = self.open_unchanged()
        try:
            opened.stream.seek(part.start)
            # A single request: `read` would send another one for the last part of a buffer.
            raw = cast("BufferedReader", opened.stream).read1(part.size)
            if len(raw) < part.size:
                raw += opened.stream.read(part.size - len(raw))
        finally:
            opened.close()
        if opened.size != self.bytes_total or len(raw) < part.size:
            raise changed_error(self.name)
        return raw

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
    is_table: bool


class _SideReader:
    """Opens partitions of one file, one after another."""

    def __init__(self, opener: _SideOpener, options: Inputs) -> None:
        self._opener = opener
        self._options = options
        self._lines = _LineReader()
        self._table: RowGroupSource | None = None

    def open(self, part: LineRange | BlockRange | LineList) -> InputSide:
        """Open a partition; the previous one must have been read."""
        opener, dialect = self._opener, make_dialect(self._opener.role, self._options)
        source: RowSource
        if opener.is_table:
            table = self._table or RowGroupSource(opener.name, dialect, path=opener.path)
            if (table.version, table.bytes_total) != (opener.version, opener.size):
                raise changed_error(table.name)
            table.dialect, table.part = dialect, cast("BlockRange", part)
            source = self._table = table
        else:
            source = _PartitionSource(
                opener.name, dialect, part=part, reader=self._lines, path=opener.path
            )
            source.version, source.bytes_total = opener.version, opener.size
        return InputSide(source, dialect, source.blocks(), RowBlock([], []), opener.layout)

    def close(self) -> None:
        """Close the file."""
        self._lines.close()
        if self._table is not None:
            self._table.end()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionOpener:
    """Everything that another process needs to open partitions of a pair of files."""

    truth: _SideOpener
    candidate: _SideOpener | None
    by_id: bool
    options: Inputs
    forms: DocumentForms
    quotes: bool

    def check_readable(self) -> None:
        """Raise an error if this machine does not have the files that another machine opened."""
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


class PartitionReader:
    """Opens partitions of a pair of files, one after another.

    The files stay open, so that consecutive partitions are not decompressed again.
    """

    def __init__(self, opener: PartitionOpener) -> None:
        self._opener = opener
        self._truth = _SideReader(opener.truth, opener.options)
        self._candidate: _SideReader | None = None
        if opener.candidate is not None:
            self._candidate = _SideReader(opener.candidate, opener.options)

    def open(self, part: Partition) -> PairStream:
        """Open the cases of a partition."""
        opener = self._opener
        truth, candidate = self._truth.open(part.truth), None
        if self._candidate is not None and part.candidate is not None:
            candidate = self._candidate.open(part.candidate)
        opened = OpenedInputs(truth, candidate, by_id=opener.by_id, is_part=True)
        before = part.truth.first - 1
        return PairStream(
            opened, opener.options, quotes=opener.quotes, before=before, forms=opener.forms
        )

    def close(self) -> None:
        """Close the files."""
        for side in (self._truth, self._candidate):
            if side is not None:
                side.close()


class Partitions:
    """The partitions of a stream, which are found during iteration, and their `opener`.

    After the iteration, `whole` is true if the partitions cover the stream. They end early at lines
    that must be read one by one, and at what cannot be divided; `reason` says why.
    """

    def __init__(self, opener: PartitionOpener, parts: Iterator[Partition]) -> None:
        self.opener = opener
        self.whole = False
        self.reason = ""
        self._parts = parts

    def __iter__(self) -> Iterator[Partition]:
        try:
            yield from self._parts
        except IrregularLinesError as error:
            self.reason = str(error)
            return
        self.whole = True


def why_indivisible(stream: PairStream) -> str:
    """Return why a stream cannot be divided into partitions; empty if it can.

    Both sides must be JSONL or Parquet files. Whether compressed files can be divided is found out
    when they are read.
    """
    for source in (side.source for side in stream.sides):
        is_lines = isinstance(source, JsonlSource) and source.from_path
        if isinstance(source, DerivedSource):
            return f"the rows of {source.name} are grouped, or have nested or composite keys"
        if not (is_lines or isinstance(source, ParquetSource)):
            return f"{source.name or 'the input'} is not a JSONL or Parquet file"
    return ""


def single_row_group(stream: PairStream) -> str:
    """Return why a stream cannot be divided if it contains a Parquet file of one row group."""
    for source in (side.source for side in stream.sides):
        if isinstance(source, ParquetSource):
            try:
                check_divisible(source.name, len(source.groups))
            except IrregularLinesError as error:
                return str(error)
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
            is_table=isinstance(side.source, ParquetSource),
        )
        for side in stream.sides
    ]
    return PartitionOpener(
        truth=openers[0],
        candidate=openers[1] if len(openers) > 1 else None,
        by_id=stream.by_id,
        options=replace(stream.options, cell_rules=()),
        forms=stream.forms,
        quotes=stream.quotes,
    )


def partition(
    stream: PairStream, size: int, *, careful: bool = False, search_map: SearchMap | None = None
) -> Partitions | None:
    """Divide a stream into partitions of `size` cases; return `None` if this is not possible.

    Unless `careful` is true, both sides are assumed to be in the same order, which is verified when
    the partitions are read. With `careful`, the ids are read: the candidates must be in the order
    of the truth, but some may be missing. `search_map` replaces `map` to count lines, for example
    in several processes.
    """
    if why_indivisible(stream):
        return None
    opener = partition_opener(stream)
    if not careful:
        return Partitions(opener, _parts_in_step(stream, size, search_map))
    id_keys = [side.layout.id_key if stream.by_id else None for side in stream.sides]
    tables = any(isinstance(side.source, ParquetSource) for side in stream.sides)
    if tables or (stream.by_id and None in id_keys):
        return None
    limit = stream.options.limits.line_bytes
    offsets = [
        read_line_offsets(side.source.path or side.source.name, id_key, limit)
        for side, id_key in zip(stream.sides, id_keys, strict=True)
    ]
    known = [lines for lines in offsets if lines is not None]
    if len(known) < len(offsets):
        return None
    truth_rows = _candidate_rows(known[0], known[-1])
    if truth_rows is None:
        return None
    edges = [*range(0, len(known[0]), size), len(known[0])]
    return Partitions(opener, _parts_by_row(stream.sides, known, edges, truth_rows))


def _parts_in_step(
    stream: PairStream, size: int, search_map: SearchMap | None
) -> Iterator[Partition]:
    """Yield partitions with the same number of lines of both sides; the last has the rest."""
    limit = stream.options.limits.line_bytes
    truth_ranges, *candidate_ranges = (
        _ranges(side.source, size, limit, search_map) for side in stream.sides
    )
    candidates = candidate_ranges[0] if candidate_ranges else None
    upcoming, candidate = next(truth_ranges, None), None
    while upcoming is not None:
        truth, upcoming = upcoming, next(truth_ranges, None)
        if candidates is not None:
            candidate = next(candidates, None) or _nothing_after(candidate, truth.first)
            for further in candidates if upcoming is None else ():
                candidate = _through(candidate, further)
        yield Partition(truth, candidate, 0 if upcoming is None else size)


_Range: TypeAlias = LineRange | BlockRange


def _ranges(
    source: RowSource, size: int, limit: int, search_map: SearchMap | None
) -> Iterator[_Range]:
    """Yield the lines of a file, `size` at a time."""
    compressed = is_compressed(Path(source.name))
    if search_map is not None or compressed or isinstance(source, ParquetSource):
        return block_ranges(_blocks(source, search_map), count(0, size))
    edges = pairwise(nth_line_offsets(source.path or source.name, size, limit))
    return (LineRange(*edge, 1 + size * number) for number, edge in enumerate(edges))


def _blocks(source: RowSource, search_map: SearchMap | None = None) -> Iterator[FileBlock]:
    if isinstance(source, ParquetSource):
        check_divisible(source.name, len(source.groups))
        yield from source.groups
        return
    path = source.path or str(Path(source.name).absolute())
    yield from file_blocks(path, source.name, source.bytes_total, search_map or map)


def _nothing_after(last: _Range | None, first: int) -> _Range:
    """Return no lines, after the last ones of a file that ended."""
    if isinstance(last, BlockRange):
        return BlockRange(last.start, 0, 0, first, 0)
    end = 0 if last is None else last.end
    return LineRange(end, end, first)


def _through(first: _Range, last: _Range) -> _Range:
    """Return the lines from one range to another that follows."""
    if isinstance(first, LineRange):
        return first._replace(end=cast("LineRange", last).end)
    following = cast("BlockRange", last)
    return first._replace(lines=first.lines + following.lines, size=first.size + following.size)


class IdRange(NamedTuple):
    """A range of bytes of a JSONL file, whose lines start with their ids.

    `first` is the number of the first line that starts in it. Unless it is `aligned`, the range
    starts inside the line before. Lines beyond the `limit` are irregular.
    """

    path: str
    id_key: str
    start: int
    end: int
    first: int
    aligned: bool
    limit: int


def id_ranges(
    source: RowSource, id_key: str, limit: int, blocks: int, search_map: SearchMap = map
) -> Iterator[IdRange]:
    """Yield the ranges of an uncompressed file; a range has several blocks."""
    path = source.path or str(Path(source.name).absolute())
    blocks_of_file = file_blocks(path, source.name, source.bytes_total, search_map)
    before, aligned = 0, True
    while joined := list(islice(blocks_of_file, blocks)):
        first, end = before + 1 + (not aligned), joined[-1].start + joined[-1].size
        yield IdRange(path, id_key, joined[0].start, end, first, aligned, limit)
        before, aligned = before + sum(block.lines for block in joined), bool(joined[-1].ends_line)


def read_ids(part: IdRange) -> list[IdLine]:
    """Return the ids of the lines that start in a range."""
    match_id, size = id_pattern(part.id_key).match, part.end - part.start
    opened = open_file(part.path)
    try:
        opened.stream.seek(part.start)
        raw = opened.stream.read(size)
        if not raw.endswith(b"\n"):
            raw += opened.stream.readline(part.limit + 1)
    finally:
        opened.close()
    lines: list[IdLine] = []
    start = 0 if part.aligned else (raw.find(b"\n") + 1 or len(raw))
    pieces = raw[start:].split(b"\n")
    if not pieces[-1]:
        pieces.pop()
    for number, line in enumerate(pieces, part.first):
        matched, end = match_id(line), min(start + len(line) + 1, len(raw))
        if matched is None or len(line) > part.limit:
            return [IdLine("", -1, part.start, part.start)]
        text = matched[1].strip(b'"').decode("latin-1")  # the same text for the same bytes
        lines.append(IdLine(text, number, part.start + start, part.start + end))
        start = end
    return lines


def joined_partitions(lines: Iterable[JoinedLine], size: int) -> Iterator[Partition]:
    """Yield partitions of `size` cases from lines in the order of the truth.

    `IrregularLinesError` is raised at the first line that has no truth or several candidates.
    """
    reason = "ids are duplicate, predictions have no ground truth, or rows do not start with an id"
    held: list[JoinedLine] = []
    for number, line in enumerate(lines, 1):
        if line.number != number:
            raise IrregularLinesError(reason)
        held.append(line)
        if len(held) == size:
            yield _joined_partition(held)
            held = []
    if held:
        yield _joined_partition(held)


def _joined_partition(lines: list[JoinedLine]) -> Partition:
    truth = LineRange(int(lines[0].start or 0), int(lines[-1].end or 0), lines[0].number)
    candidates = [
        (line.candidate_start, line.candidate_end, line.candidate)
        for line in lines
        if line.candidate_start is not None
        and line.candidate_end is not None
        and line.candidate is not None
    ]
    return Partition(truth, LineList(tuple(candidates)))


def _candidate_rows(truth: LineOffsets, candidate: LineOffsets) -> NDArray[np.int64] | None:
    """Return the row of the truth for each candidate, or `None` if the order differs."""
    if truth.ids is None or candidate.ids is None:
        return np.arange(len(candidate)) if len(candidate) <= len(truth) else None
    order = np.argsort(truth.ids, kind="stable")
    ordered = truth.ids[order]
    if len(ordered) > 1 and (np.diff(ordered) == 0).any():
        return None
    nearest = np.minimum(np.searchsorted(ordered, candidate.ids), len(ordered) - 1)
    truth_rows: NDArray[np.int64] = order[nearest]
    in_order = bool((np.diff(truth_rows) > 0).all())
    return truth_rows if in_order and bool((ordered[nearest] == candidate.ids).all()) else None


def _parts_by_row(
    sides: Sequence[InputSide],
    offsets: Sequence[LineOffsets],
    edges: Sequence[int],
    truth_rows: NDArray[np.int64],
) -> Iterator[Partition]:
    """Yield the rows of the truth between the edges, with the candidates of these rows."""
    truth_ranges = _ranges_between(sides[0].source, offsets[0], edges)
    candidate_ranges: Iterator[_Range | None] = repeat(None)
    if len(sides) > 1:
        candidate_edges = np.searchsorted(truth_rows, edges).tolist()
        candidate_ranges = _ranges_between(sides[1].source, offsets[1], candidate_edges)
    yield from map(Partition, truth_ranges, candidate_ranges)


def _ranges_between(
    source: RowSource, offsets: LineOffsets, edges: Sequence[int]
) -> Iterator[_Range]:
    """Yield the lines of a file between the numbers of lines."""
    if is_compressed(Path(source.name)):
        return block_ranges(_blocks(source), edges)
    starts = offsets.starts
    return (LineRange(int(starts[a]), int(starts[b]), a + 1) for a, b in pairwise(edges))
