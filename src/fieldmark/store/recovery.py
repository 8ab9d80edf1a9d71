"""Results that were cut off, brought back to the last segment that is whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final, NamedTuple

from fieldmark.errors import DataError, Location, StorageError
from fieldmark.model.json import JsonObject
from fieldmark.store.disk import DISK, Disk
from fieldmark.store.durable import write_whole
from fieldmark.values.json_text import read_json

__all__ = ["Whole", "cut_torn_tail", "whole_part"]

_TORN: Final = "results.torn-"
_LONGEST: Final = 256 << 20


class Whole(NamedTuple):
    """The part of a results file that is whole: its bytes, and the segment that comes next."""

    size: int = 0
    next_segment: int = 0


class _Line(NamedTuple):
    number: int
    end: int
    row: JsonObject | None


def whole_part(path: Path) -> Whole:
    """How far a results file can be trusted: up to its last segment that is complete.

    What follows was being written when the run ended. A broken row with whole segments after it
    is no such thing: the file was damaged, and is refused.
    """
    whole, left, segment = Whole(), 0, 0
    broken: int | None = None
    try:
        with path.open("rb") as file:
            for line in _lines(file):
                begun = None if line.row is None else _begun(line.row)
                if broken is not None and begun is not None:
                    raise DataError("is damaged; nothing was changed", Location(str(path), broken))
                if line.row is None or (begun is None) == (left == 0):
                    broken = broken or line.number
                    continue
                if begun is not None:
                    segment, left = begun
                left -= 1
                if left == 0 and broken is None:
                    whole = Whole(line.end, segment + 1)
    except FileNotFoundError:
        return Whole()
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from error
    return whole


def cut_torn_tail(path: Path, disk: Disk = DISK) -> Whole:
    """Cut what is not whole off the results, and keep it beside them under a name of its own."""
    whole = whole_part(path)
    try:
        if not path.exists() or path.stat().st_size == whole.size:
            return whole
        with path.open("rb") as file:
            file.seek(whole.size)
            write_whole(_free_name(path.parent), file.read(), disk)
        opened = disk.open_append(path)
        try:
            disk.truncate(opened, whole.size)
            disk.sync(opened)
        finally:
            disk.close(opened)
    except OSError as error:
        raise StorageError(f"cannot mend {path}: {error.strerror}") from error
    return whole


def _free_name(folder: Path) -> Path:
    number = 1
    while (folder / f"{_TORN}{number}").exists():
        number += 1
    return folder / f"{_TORN}{number}"


def _lines(file: IO[bytes]) -> Iterator[_Line]:
    number = end = 0
    while line := file.readline(_LONGEST):
        number += 1
        end += len(line)
        yield _Line(number, end, _row(line))


def _row(line: bytes) -> JsonObject | None:
    if not line.endswith(b"\n"):
        return None
    try:
        row = read_json(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def _begun(row: JsonObject) -> tuple[int, int] | None:
    """The number of the segment that begins with a row, and how many rows it has."""
    match row.get("segment"):
        case [int(number), int(rows)] if number >= 0 and rows > 0:
            return number, rows
        case _:
            return None
