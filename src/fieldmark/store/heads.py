"""The beginnings of a run's files: all that a list of runs needs, however wide the run is."""

from __future__ import annotations

import os
import re
from typing import Final, TypeAlias

from fieldmark.metrics.headline import HEADLINE_FIGURES
from fieldmark.model.json import JsonObject
from fieldmark.values.json_text import read_json

__all__ = [
    "ABSENT",
    "Mark",
    "Unreadable",
    "headline",
    "manifest_head",
    "mark_of",
    "notes_of",
    "refuse_torn",
    "summary_head",
]

Mark: TypeAlias = tuple[int, int]
"""When a file was last changed, and how long it is."""

ABSENT: Final[Mark] = (-1, -1)
"""The mark of a file that is not there."""

_FORMAT: Final = 1
_HEAD: Final = 16 << 10
_TAIL: Final = 256
_ROWS: Final = b"{\n"
_READING: Final = os.O_RDONLY | os.O_CLOEXEC
_WIDE: Final = b',\n  "attributes": '
_END: Final = (b"}", b"}\n")
_FINISHED: Final = re.compile(rb'"finished_at": "([0-9T:.+\-Z]+)"')


class Unreadable(Exception):
    """A file of a run that cannot be used, and why."""


def manifest_head(path: str) -> tuple[JsonObject, Mark]:
    """What a manifest says before it describes attributes, and when the run was finished."""
    content, tail, mark = _ends(path)
    head = _parsed(content, path)
    if "status" not in head:
        # Written in another order than usual: then all of it is read.
        head = _parsed(_ends(path, whole=True)[0], path)
    finished = _FINISHED.search(tail, max(0, len(tail) - _TAIL))
    if finished is not None:
        head["finished_at"] = finished[1].decode()
    _refuse_newer(head, path)
    if not isinstance(head.get("status"), str):
        raise Unreadable(f"{_name(path)} has no status")
    return head, mark


def summary_head(path: str) -> JsonObject:
    """What a summary says before it comes to attributes."""
    head = _parsed(_ends(path)[0], path)
    _refuse_newer(head, path)
    if not isinstance(head.get("cases"), dict):
        raise Unreadable(f"{_name(path)} has no cases")
    return head


def headline(summary: JsonObject) -> JsonObject:
    """What a list has of a summary: the number of cases, and the figures that every run has."""
    cases, micro = summary.get("cases"), summary.get("micro")
    found = {name: summary.get(name) for name in HEADLINE_FIGURES}
    found["micro_f1"] = micro.get("f1") if isinstance(micro, dict) else None
    return {"cases": cases.get("total") if isinstance(cases, dict) else None, **found}


def refuse_torn(path: str) -> None:
    """Refuse results that do not begin and end with a row, which is all that a list looks at."""
    try:
        file = os.open(path, _READING)
        try:
            size = os.fstat(file).st_size
            ends = os.pread(file, 1, 0) + os.pread(file, 1, size - 1) if size else _ROWS
        finally:
            os.close(file)
    except FileNotFoundError:
        raise Unreadable(f"{_name(path)} is missing") from None
    except OSError as error:
        raise Unreadable(f"{_name(path)} cannot be read: {error.strerror}") from error
    if ends != _ROWS:
        raise Unreadable(f"{_name(path)} does not hold whole rows")


def mark_of(path: str) -> Mark:
    """The mark of a file."""
    try:
        found = os.stat(path)  # noqa: PTH116 - ten thousand runs have forty thousand files
    except OSError:
        return ABSENT
    return found.st_mtime_ns, found.st_size


def notes_of(path: str) -> tuple[tuple[str, ...], str]:
    """The tags and the note of a run."""
    said = _parsed(_ends(path)[0], path)
    tags, note = said.get("tags", []), said.get("note", "")
    if not isinstance(tags, list) or not isinstance(note, str):
        raise Unreadable(f"{_name(path)} holds no notes")
    return tuple(map(str, tags)), note


def _ends(path: str, *, whole: bool = False) -> tuple[bytes, bytes, Mark]:
    """The beginning of a file up to its attributes, or all of it, and its last bytes."""
    try:
        file = os.open(path, _READING)
        try:
            found = os.fstat(file)
            mark = found.st_mtime_ns, found.st_size
            # Room for the rest of a long file would cost more than reading a short one.
            content = tail = os.read(file, min(_HEAD, mark[1] + 1))
            wide = -1 if whole else content.find(_WIDE)
            if len(content) == _HEAD:
                if wide < 0:
                    content += _rest(file, mark[1] - _HEAD)
                    wide = -1 if whole else content.find(_WIDE)
                tail = os.pread(file, _TAIL, max(0, mark[1] - _TAIL))
        finally:
            os.close(file)
    except FileNotFoundError:
        raise Unreadable(f"{_name(path)} is missing") from None
    except OSError as error:
        raise Unreadable(f"{_name(path)} cannot be read: {error.strerror}") from error
    if wide >= 0 and tail.endswith(_END):
        content = content[:wide] + b"}"
    return content, tail, mark


def _rest(file: int, size: int) -> bytes:
    parts: list[bytes] = []
    while size > 0 and (part := os.read(file, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _parsed(content: bytes, path: str) -> JsonObject:
    try:
        value = read_json(content)
    except ValueError as error:
        raise Unreadable(f"{_name(path)} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise Unreadable(f"{_name(path)} is not an object")
    return value


def _refuse_newer(head: JsonObject, path: str) -> None:
    found = head.get("format")
    if not isinstance(found, int) or found > _FORMAT:
        raise Unreadable(f"{_name(path)} is of format {found}, newer than this version reads")


def _name(path: str) -> str:
    return path.rpartition("/")[2]
