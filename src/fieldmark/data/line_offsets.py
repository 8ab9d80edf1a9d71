"""Lines in files: blocks of whole lines, and the offsets of rows."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, NamedTuple

import numpy as np
import orjson

from fieldmark.data.files import open_file, read_error
from fieldmark.errors import DataError, LimitError, Location
from fieldmark.model.kernel import COMPILED, kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_BLOCK_BYTES: Final = 1 << 15
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
        return stream.read(_BLOCK_BYTES)
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
                found = [match_id(raw, begin) for begin in begins.tolist()]
                if None in found:
                    return None
                ids += [hash(each[1].strip(b'"')) for each in found if each is not None]
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
