"""Where the rows of a JSONL file begin and what they are called, without reading what they hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import orjson

from fieldmark.data.files import Opened, open_file
from fieldmark.data.jsonl import lines_of
from fieldmark.data.line_ends import nth_lines
from fieldmark.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["IrregularError", "Ruler", "marks", "measured"]

_PIECE: Final = 1 << 18


class IrregularError(Exception):
    """A file whose lines must be looked at one by one."""


def marks(path: Path, every: int, limit: int) -> Iterator[int]:
    """Where every so many lines a new one begins, from the first on, and last the end of the file.

    The file is read only as far as is asked. Where a line is longer than the limit, or cannot be
    read, `IrregularError` is raised instead of the mark behind it.
    """
    wanted, offset, held = every, 0, 0
    opened = open_file(path)
    try:
        yield 0
        while piece := _read(opened, min(_PIECE, limit)):
            end = piece.find(b"\n")
            # Other lines than the first are within a piece, and no piece is beyond the limit.
            if held + (len(piece) if end < 0 else end) > limit:
                raise IrregularError
            ends, wanted = nth_lines(piece, wanted, every)
            yield from [offset + end for end in ends]
            offset += len(piece)
            held = len(piece) - piece.rfind(b"\n") - 1 + (0 if end >= 0 else held)
    finally:
        opened.close()
    if held or wanted < every:
        yield offset


def _read(opened: Opened, size: int) -> bytes:
    try:
        return opened.stream.read(size)
    except OSError as error:
        raise IrregularError from error


@dataclass(frozen=True, slots=True)
class Ruler:
    """The offsets at which rows begin, with the end of the file, and the hash of each id."""

    starts: NDArray[np.int64]
    ids: NDArray[np.int64] | None

    def __len__(self) -> int:
        return len(self.starts) - 1


def measured(path: Path, id_key: str | None, limit: int) -> Ruler | None:
    """The rows of a file; nothing if they do not all look alike from outside.

    A row is an object on a line, and begins with its id where there are ids. Blank lines, and
    lines beyond the limit, are for a reader who looks at each of them.
    """
    import numpy as np

    named = None if id_key is None else _beginning(id_key).match
    starts: list[NDArray[np.int64]] = []
    ids: list[int] = []
    end = 0
    opened = open_file(path)
    try:
        for block in lines_of(opened.stream, limit, str(path)):
            raw = block.raw
            signs = np.frombuffer(raw, dtype=np.uint8)
            begins = np.append(0, np.flatnonzero(signs[:-1] == ord("\n")) + 1)
            if (signs[begins] != ord("{")).any():
                return None
            starts.append(begins.astype(np.int64) + block.offset)
            if named is not None:
                found = [named(raw, begin) for begin in begins.tolist()]
                if None in found:
                    return None
                ids += [hash(each[1].strip(b'"')) for each in found if each is not None]
            end = block.offset + len(raw)
    except DataError:
        return None
    finally:
        opened.close()
    hashes = None if named is None else np.array(ids, dtype=np.int64)
    return Ruler(np.concatenate([*starts, [end]]).astype(np.int64), hashes)


def _beginning(id_key: str) -> re.Pattern[bytes]:
    """A line that begins with an id: a text, or a whole number, which is the same id."""
    key = re.escape(orjson.dumps(id_key))
    return re.compile(rb"\{\s*+" + key + rb'\s*+:\s*+("[^"\\\n]*+"|-?+\d++)(?=\s*+[,}])')
