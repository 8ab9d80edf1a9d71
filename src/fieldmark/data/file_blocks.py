"""Lines of files: blocks of whole lines, offsets of rows, and blocks at which reading can start.

A `FileBlock` is a range of bytes, some members of a gzip file, some frames of a zstd file, or a row
group of a Parquet file, with the number of its lines. Different processes can search parts of a
file for its blocks.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

import orjson

from fieldmark.data.input_files import open_file, read_error
from fieldmark.errors import DataError, LimitError, Location
from fieldmark.model.kernel import COMPILED, kernel
from fieldmark.values.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


_LINE_BLOCK_BYTES: Final = 1 << 15
_SCAN_BYTES: Final = 1 << 18
_COUNT_BYTES: Final = 1 << 14
"""Only in a part of this size with a line that is searched for, lines are split."""


class LineBlock(NamedTuple):
    """Some whole lines, the number of the first line, and the offset in the file."""

    raw: bytes
    first: int
    offset: int


def read_line_blocks(
    stream: IO[bytes], limit: int, name: str, first: int = 1, offset: int = 0
) -> Iterator[LineBlock]:
    """Read a stream in blocks of whole lines; raise an error for a line beyond the limit.

    `first` is the number of the first line, and `offset` its position.
    """
    parts: list[bytes] = []
    held = 0
    while piece := read_block(stream, name):
        cut = piece.rfind(b"\n") + 1
        if not cut:
            parts.append(piece)
            held += len(piece)
            if held > limit:
                raise too_long_error(name, first, limit)
            continue
        block = b"".join([*parts, piece[:cut]])
        if parts and block.index(b"\n") > limit:
            raise too_long_error(name, first, limit)
        yield LineBlock(block, first, offset)
        first += _count_lines(block)
        offset += len(block)
        parts = [piece[cut:]] if cut < len(piece) else []
        held = len(piece) - cut
    if parts:
        yield LineBlock(b"".join(parts), first, offset)


def _count_lines(raw: bytes) -> int:
    return kernel.count_lines(raw) if COMPILED else raw.count(b"\n")


def read_block(stream: IO[bytes], name: str) -> bytes:
    """Read the next bytes of a stream."""
    try:
        return stream.read(_LINE_BLOCK_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise read_error(name, error) from None


def too_long_error(name: str, line: int, limit: int) -> LimitError:
    """Return the error for a line beyond the limit."""
    message = f"line exceeds the limit of {limit:,} bytes"
    return LimitError("line_bytes", message, Location(name, line))


class IrregularLinesError(Exception):
    """The lines of a file must be read one by one."""


def nth_line_offsets(path: str | Path, every: int, limit: int) -> Iterator[int]:
    """Yield the offset of every n-th line, starting with the first, and the end of the file.

    The file is read only as far as offsets are consumed. `IrregularLinesError` is raised at a line
    that exceeds the limit or cannot be read.
    """
    wanted, offset, held = every, 0, 0
    opened = open_file(path)
    try:
        yield 0
        while True:
            try:
                piece = opened.stream.read(min(_SCAN_BYTES, limit))
            except OSError as error:
                raise IrregularLinesError from error
            if not piece:
                break
            end = piece.find(b"\n")
            # All lines but the first are within a piece, and no piece exceeds the limit.
            if held + (len(piece) if end < 0 else end) > limit:
                raise IrregularLinesError
            ends, wanted = nth_lines(piece, wanted, every)
            yield from [offset + end for end in ends]
            offset += len(piece)
            held = len(piece) - piece.rfind(b"\n") - 1 + (0 if end >= 0 else held)
    finally:
        opened.close()
    if held or wanted < every:
        yield offset


class LineOffsets(NamedTuple):
    """The start offsets of rows, the end of the file, and the hash of each id."""

    starts: NDArray[np.int64]
    ids: NDArray[np.int64] | None

    def __len__(self) -> int:
        return len(self.starts) - 1


def read_line_offsets(path: str | Path, id_key: str | None, limit: int) -> LineOffsets | None:
    """Return the offsets and ids of the rows of a file, or `None` if its lines are not uniform.

    Each line must be an object, and must start with its id if there is an `id_key`. Files with
    blank lines or lines beyond the limit must be read line by line.
    """
    match_id = None if id_key is None else id_pattern(id_key).match
    starts: list[NDArray[np.int64]] = []
    ids: list[int] = []
    end = 0
    opened = open_file(path)
    try:
        for block in read_line_blocks(opened.stream, limit, str(path)):
            raw = block.raw
            characters = np.frombuffer(raw, dtype=np.uint8)
            begins = np.append(0, np.flatnonzero(characters[:-1] == ord("\n")) + 1)
            if (characters[begins] != ord("{")).any():
                return None
            starts.append(begins.astype(np.int64) + block.offset)
            if match_id is not None:
                for begin in begins.tolist():
                    matched = match_id(raw, begin)
                    if matched is None:
                        return None
                    ids.append(hash(matched[1].strip(b'"')))
            end = block.offset + len(raw)
    except DataError:
        return None
    finally:
        opened.close()
    hashes = None if match_id is None else np.array(ids, dtype=np.int64)
    return LineOffsets(np.concatenate([*starts, [end]]).astype(np.int64), hashes)


def id_pattern(id_key: str) -> re.Pattern[bytes]:
    """Return a pattern for a line that starts with its id, a string or an integer."""
    key = re.escape(orjson.dumps(id_key))
    return re.compile(rb"\{\s*+" + key + rb'\s*+:\s*+("[^"\\\n]*+"|-?+\d++)(?=\s*+[,}])')


def nth_lines(piece: bytes, wanted: int, every: int) -> tuple[list[int], int]:
    r"""Return where line number `wanted` of a piece ends, and every n-th line after it.

    Lines are counted from 1. The second value is `wanted` for the next piece.

    >>> nth_lines(b"a\nb\nc\nd\n", 1, 2)
    ([2, 6], 1)
    """
    ends: list[int] = []
    for start in range(0, len(piece), _COUNT_BYTES):
        part = piece[start : start + _COUNT_BYTES]
        number, end = _count_lines(part), start + len(part)
        while number >= wanted:
            # Splitting is much faster than searching.
            part = part.split(b"\n", wanted)[-1]
            ends.append(end - len(part))
            number -= wanted
            wanted = every
        wanted -= number
    return ends, wanted


# --- blocks ---------------------------------------------------------------------------------------

_SEARCH_BYTES: Final = 16 << 20
"""The size in bytes of the parts of a file that are searched separately."""
_BLOCK_BYTES: Final = 1 << 20
"""The content in bytes at which a block is complete; members of gzip files can be smaller."""
_MAX_CONTENT: Final = 512 << 20
"""The largest content of a block in bytes: each task that starts in it reads it from its start."""
_READ_BYTES: Final = 1 << 18
_UNITS: Final = {".gz": "gzip member", ".zst": "zstd frame"}
_GZIP_START: Final = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]", re.DOTALL)
_GZIP_FORMAT: Final = 16 + zlib.MAX_WBITS
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_ZSTD_START: Final = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18", re.DOTALL)
_START_BYTES: Final = 4
_RLE: Final = 1
_Result = TypeVar("_Result")


class IndivisibleError(IrregularLinesError):
    """A file cannot be divided into blocks; the message says why."""


class FileBlock(NamedTuple):
    """A part of a file: its position and size, and how many line ends or rows it contains.

    `ends_line` is whether it ends with a line end; it is `None` if there is no content. `members`
    is the number of gzip members or zstd frames with content. The position of a row group is its
    number.
    """

    start: int
    size: int
    lines: int
    ends_line: bool | None = True
    members: int = 1

    def joined(self, following: FileBlock) -> FileBlock:
        """Return this block and the following one together."""
        ends_line = self.ends_line if following.ends_line is None else following.ends_line
        return FileBlock(
            self.start,
            following.start + following.size - self.start,
            self.lines + following.lines,
            ends_line,
            self.members + following.members,
        )


class BlockRange(NamedTuple):
    """Some lines of a file that is read from the start of a block, or rows of a row group.

    `start` is the position of the block, `skip` how many of its line ends come before, and `first`
    the number of the first line. `size` is about the size of the lines in the file.
    """

    start: int
    skip: int
    lines: int
    first: int
    size: int


class Search(NamedTuple):
    """A part of a file to search for blocks that start in it; `suffix` is its compression.

    If `aligned` is true, the first block starts where the part does.
    """

    path: str
    suffix: str
    start: int
    end: int
    aligned: bool


class _FoundBlocks(NamedTuple):
    """Blocks in order, and why there are no more of them, unless the search is complete."""

    blocks: list[FileBlock]
    problem: str | None = None


class SearchMap(Protocol):
    """Applies a function to each search like `map`, possibly in other processes."""

    def __call__(
        self, function: Callable[[Search], _Result], searches: Iterable[Search], /
    ) -> Iterator[_Result]:
        """Yield the results in order."""


def file_blocks(
    path: str, name: str, size: int, search_map: SearchMap = map
) -> Iterator[FileBlock]:
    """Yield the blocks of a JSONL file, which is compressed if its name says so.

    `IndivisibleError` is raised if the file has only one member, and at a member that is too large;
    `IrregularLinesError` at anything that must be read by one process.
    """
    suffix = Path(name).suffix.lower()
    suffix = suffix if suffix in _UNITS else ""

    def searches() -> Iterator[Search]:
        for start in range(0, size, _SEARCH_BYTES):
            end = min(start + _SEARCH_BYTES, size)
            yield Search(path, suffix, start, end, aligned=not (suffix and start))

    position = 0
    for search, searched in zip(searches(), search_map(_find_blocks, searches()), strict=True):
        if position >= search.end:
            continue  # the last member of an earlier part ends after this one
        found_blocks = searched
        if not found_blocks.blocks or found_blocks.blocks[0].start != position:
            # The last member of an earlier part ends in this one, or the first start is none.
            found_blocks = _find_blocks(search._replace(start=position, aligned=True))
        for block in found_blocks.blocks:
            if suffix and block.members == 1 and block.size == size:
                raise IndivisibleError(f"{name} is a single {_UNITS[suffix]}")
            yield block
            position = block.start + block.size
        if found_blocks.problem is not None:
            raise IndivisibleError(f"{name} {found_blocks.problem}" if found_blocks.problem else "")


def check_divisible(name: str, groups: int) -> None:
    """Raise an error for a Parquet file that has only one row group."""
    if groups == 1:
        raise IndivisibleError(f"{name} has a single row group")


def _find_blocks(search: Search) -> _FoundBlocks:
    """Return the blocks that start in a part of a file."""
    opened = open_file(search.path)
    file = opened.file
    try:
        if not search.suffix:
            return _FoundBlocks(list(_byte_ranges(file, search)))
        position = search.start if search.aligned else _first_member(file, search)
        return _FoundBlocks([]) if position is None else _members(file, search, position)
    except (OSError, EOFError, zlib.error, ValueError):
        # The process that reads the file alone raises an error that says where.
        return _FoundBlocks([], "")
    finally:
        opened.close()


def _byte_ranges(file: IO[bytes], search: Search) -> Iterator[FileBlock]:
    file.seek(search.start)
    raw = _exactly(file, search.end - search.start)
    for start in range(0, len(raw), _BLOCK_BYTES):
        end = min(start + _BLOCK_BYTES, len(raw))
        ends_line = raw[end - 1] == ord("\n")
        yield FileBlock(search.start + start, end - start, raw.count(b"\n", start, end), ends_line)


class _Member(NamedTuple):
    """Where a member ends, and its content: the size, the number of line ends, and the end."""

    end: int
    content: int = 0
    lines: int = 0
    last: bytes = b""


class _TooLargeError(Exception):
    """A member is too large."""


_ReadMember = Callable[[IO[bytes], int], _Member]


def _members(file: IO[bytes], search: Search, position: int) -> _FoundBlocks:
    """Return the members from a position to the end of the part, small ones together."""
    blocks: list[FileBlock] = []
    held = 0
    while position < search.end:
        try:
            member = _READERS[search.suffix](file, position)
        except _TooLargeError:
            unit, limit = _UNITS[search.suffix], _MAX_CONTENT >> 20
            return _FoundBlocks(blocks, f"has a {unit} of more than {limit} MB")
        except (OSError, EOFError, zlib.error, ValueError):
            return _FoundBlocks(blocks, "")
        ends_line = member.last == b"\n" if member.content else None
        size, members = member.end - position, int(member.content > 0)
        block = FileBlock(position, size, member.lines, ends_line, members)
        if blocks and (held < _BLOCK_BYTES or not members):
            blocks[-1] = blocks[-1].joined(block)
        else:
            blocks.append(block)
            held = 0
        held += member.content
        position = member.end
    return _FoundBlocks(blocks)


def _first_member(file: IO[bytes], search: Search) -> int | None:
    """Return where the first member starts; bytes that look like a start are tried."""
    file.seek(search.start)
    raw = file.read(search.end - search.start + _START_BYTES - 1)
    for match in _STARTS[search.suffix].finditer(raw):
        position = search.start + match.start()
        try:
            _READERS[search.suffix](file, position)
        except _TooLargeError:
            return None
        except (OSError, EOFError, zlib.error, ValueError):
            continue
        return position
    return None


def _gzip_member(file: IO[bytes], position: int) -> _Member:
    """Read a member and the zeros that may follow it; its checksum is verified."""
    file.seek(position)
    inflate = zlib.decompressobj(_GZIP_FORMAT)
    content, lines, last = 0, 0, b""
    while not inflate.eof:
        raw = inflate.unconsumed_tail or file.read(_READ_BYTES)
        if not raw:
            raise EOFError
        piece = inflate.decompress(raw, _BLOCK_BYTES)
        content, lines, last = content + len(piece), lines + piece.count(b"\n"), piece[-1:] or last
        if content > _MAX_CONTENT:
            raise _TooLargeError
    unused, end = inflate.unused_data, file.tell()
    while unused and not unused.strip(b"\0"):
        unused = file.read(_READ_BYTES)
        end = file.tell()
    return _Member(end - len(unused.lstrip(b"\0")), content, lines, last)


def _zstd_member(file: IO[bytes], position: int) -> _Member:
    """Read a frame; its end is found without decompression."""
    file.seek(position)
    magic = file.read(_START_BYTES)
    if magic != _ZSTD_MAGIC:
        if not _ZSTD_START.fullmatch(magic):
            raise ValueError("no frame")
        end = position + 2 * _START_BYTES + int.from_bytes(_exactly(file, 4), "little")
        file.seek(end)
        following = file.read(_START_BYTES)
        if following and not _ZSTD_START.fullmatch(following):
            raise ValueError("no frame follows")
        return _Member(end)
    end = _zstd_end(file)
    if end - position > _MAX_CONTENT:
        raise _TooLargeError
    import pyarrow as pa  # type: ignore[import-untyped]

    file.seek(position)
    raw = _exactly(file, end - position)
    content, lines, last = 0, 0, b""
    with pa.CompressedInputStream(io.BytesIO(raw), "zstd") as stream:
        while piece := stream.read(_BLOCK_BYTES):
            content, lines, last = content + len(piece), lines + piece.count(b"\n"), piece[-1:]
            if content > _MAX_CONTENT:
                raise _TooLargeError
    return _Member(end, content, lines, last)


def _zstd_end(file: IO[bytes]) -> int:
    """Return where the frame ends whose header follows: blocks have their sizes (RFC 8878)."""
    descriptor = _exactly(file, 1)[0]
    single, checksum = bool(descriptor & 0x20), bool(descriptor & 0x04)
    size_bytes = (int(single), 2, 4, 8)[descriptor >> 6]
    dictionary_bytes = (0, 1, 2, 4)[descriptor & 0x03]
    position = file.tell() + (not single) + dictionary_bytes + size_bytes
    last, begin = False, position
    while not last:
        file.seek(position)
        header = int.from_bytes(_exactly(file, 3), "little")
        last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
        position += 3 + (1 if kind == _RLE else size)
        if position - begin > _MAX_CONTENT:
            raise _TooLargeError
    return position + 4 * checksum


def _exactly(file: IO[bytes], size: int) -> bytes:
    raw = file.read(size)
    if len(raw) < size:
        raise EOFError
    return raw


_READERS: Final[Mapping[str, _ReadMember]] = {".gz": _gzip_member, ".zst": _zstd_member}
_STARTS: Final = {".gz": _GZIP_START, ".zst": _ZSTD_START}


def block_ranges(blocks: Iterable[FileBlock], numbers: Iterable[int]) -> Iterator[BlockRange]:
    """Yield the lines between these ascending numbers, which start with 0, and after the last.

    Blocks are read only as far as ranges are consumed. Numbers beyond the end are ignored.

    >>> blocks = [FileBlock(0, 20, lines=2), FileBlock(20, 30, lines=3)]
    >>> [(part.start, part.skip, part.lines) for part in block_ranges(blocks, [0, 1, 4])]
    [(0, 0, 1), (0, 1, 3), (20, 2, 1)]
    """
    for line, following in pairwise(_line_starts(blocks, numbers)):
        lines, size = following.number - line.number, following.offset - line.offset
        yield BlockRange(line.start, line.skip, lines, line.number + 1, size)


class _LineStart(NamedTuple):
    """Where a line starts: its number from 0, its block, and the line ends of it that come before.

    `offset` is about how many bytes of the file come before the line.
    """

    number: int
    start: int
    skip: int
    offset: int


def _line_starts(blocks: Iterable[FileBlock], numbers: Iterable[int]) -> Iterator[_LineStart]:
    """Yield where the lines with these numbers start, and at last the end of the file."""
    wanted = iter(numbers)
    number, last = next(wanted, None), -1
    before, offset, whole = 0, 0, True
    for block in blocks:
        ends_line = whole if block.ends_line is None else block.ends_line
        after = before + block.lines
        # A line that starts after the last line end belongs to the next block.
        while number is not None and (number < after or (number == after and not ends_line)):
            share = (number - before) / max(1, block.lines)
            approximate_offset = offset + min(block.size, int(block.size * share)) if number else 0
            yield _LineStart(number, block.start, number - before, approximate_offset)
            last, number = number, next(wanted, None)
        before, whole, offset = after, ends_line, offset + block.size
    total = before + (not whole)
    while number == total or last < total:
        yield _LineStart(total, 0, 0, offset)
        last, number = total, next(wanted, None) if number == total else number
