"""Blocks of a file at which reading can start, and the number of lines in each.

A block is a range of bytes, some members of a gzip file, some frames of a zstd file, or a row group
of a Parquet file. Different processes can search parts of a file for its blocks.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import IO, Final, NamedTuple, Protocol, TypeVar

from fieldmark.data.files import open_file
from fieldmark.data.line_offsets import IrregularLinesError

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
_Found = TypeVar("_Found")


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
        self, function: Callable[[Search], _Found], searches: Iterable[Search], /
    ) -> Iterator[_Found]:
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
        found = searched
        if not found.blocks or found.blocks[0].start != position:
            # The last member of an earlier part ends in this one, or the first start is none.
            found = _find_blocks(search._replace(start=position, aligned=True))
        for block in found.blocks:
            if suffix and block.members == 1 and block.size == size:
                raise IndivisibleError(f"{name} is a single {_UNITS[suffix]}")
            yield block
            position = block.start + block.size
        if found.problem is not None:
            raise IndivisibleError(f"{name} {found.problem}" if found.problem else "")


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
        read_member = _READERS[search.suffix]
        position: int | None = search.start
        if not search.aligned:
            position = _first_member(file, search, read_member)
        return _FoundBlocks([]) if position is None else _members(file, search, position)
    except (OSError, EOFError, zlib.error, ValueError):
        # The process that reads the file alone raises an error that names the place.
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


def _first_member(file: IO[bytes], search: Search, read_member: _ReadMember) -> int | None:
    """Return where the first member starts; bytes that look like a start are tried."""
    file.seek(search.start)
    raw = file.read(search.end - search.start + _START_BYTES - 1)
    for found in _STARTS[search.suffix].finditer(raw):
        position = search.start + found.start()
        try:
            read_member(file, position)
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
    rest, end = inflate.unused_data, file.tell()
    while rest and not rest.strip(b"\0"):
        rest = file.read(_READ_BYTES)
        end = file.tell()
    return _Member(end - len(rest.lstrip(b"\0")), content, lines, last)


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
    """Yield the lines between these ascending numbers, which start with 0, and those after them.

    Blocks are read only as far as ranges are consumed. Numbers beyond the end are ignored.

    >>> blocks = [FileBlock(0, 20, lines=2), FileBlock(20, 30, lines=3)]
    >>> [(part.start, part.skip, part.lines) for part in block_ranges(blocks, [0, 1, 4])]
    [(0, 0, 1), (0, 1, 3), (20, 2, 1)]
    """
    for place, following in pairwise(_places(blocks, numbers)):
        lines, size = following.number - place.number, following.offset - place.offset
        yield BlockRange(place.start, place.skip, lines, place.number + 1, size)


class _Place(NamedTuple):
    """Where a line starts: its number from 0, its block, and the line ends of it that come before.

    `offset` is about how many bytes of the file come before the line.
    """

    number: int
    start: int
    skip: int
    offset: int


def _places(blocks: Iterable[FileBlock], numbers: Iterable[int]) -> Iterator[_Place]:
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
            place = offset + min(block.size, int(block.size * share)) if number else 0
            yield _Place(number, block.start, number - before, place)
            last, number = number, next(wanted, None)
        before, whole, offset = after, ends_line, offset + block.size
    total = before + (not whole)
    while number == total or last < total:
        yield _Place(total, 0, 0, offset)
        last, number = total, next(wanted, None) if number == total else number
