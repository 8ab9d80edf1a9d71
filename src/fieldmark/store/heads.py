"""The beginnings of a run's files: all that a list of runs needs, however wide the run is."""

from __future__ import annotations

import os
import re
from typing import Final

from fieldmark.model.json import JsonObject
from fieldmark.store.json_text import read_json

__all__ = ["Unreadable", "manifest_head", "notes_of", "summary_head"]

_FORMAT: Final = 1
_HEAD: Final = 16 << 10
_TAIL: Final = 256
_WIDE: Final = re.compile(rb',\n  "attributes": ')
_FINISHED: Final = re.compile(rb'"finished_at": "([0-9T:.+\-Z]+)"')


class Unreadable(Exception):
    """A file of a run that cannot be used, and why."""


def manifest_head(path: str) -> JsonObject:
    """What a manifest says before it describes attributes, and when the run was finished."""
    content, tail = _ends(path)
    head = _parsed(content, path)
    if "status" not in head:
        # Written in another order than usual: then all of it is read.
        head = _parsed(_ends(path, whole=True)[0], path)
    finished = _FINISHED.search(tail)
    if finished is not None:
        head["finished_at"] = finished[1].decode()
    _refuse_newer(head, path)
    if not isinstance(head.get("status"), str):
        raise Unreadable(f"{_name(path)} has no status")
    return head


def summary_head(path: str) -> JsonObject:
    """What a summary says before it comes to attributes."""
    head = _parsed(_ends(path)[0], path)
    _refuse_newer(head, path)
    if not isinstance(head.get("cases"), dict):
        raise Unreadable(f"{_name(path)} has no cases")
    return head


def notes_of(path: str) -> tuple[tuple[str, ...], str]:
    """The tags and the note of a run."""
    said = _parsed(_ends(path)[0], path)
    tags, note = said.get("tags", []), said.get("note", "")
    if not isinstance(tags, list) or not isinstance(note, str):
        raise Unreadable(f"{_name(path)} holds no notes")
    return tuple(map(str, tags)), note


def _ends(path: str, *, whole: bool = False) -> tuple[bytes, bytes]:
    """The beginning of a file up to its attributes, or all of it, and its last bytes."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            content = tail = os.read(file, _HEAD)
            wide = None if whole else _WIDE.search(content)
            if len(content) == _HEAD:
                size = os.fstat(file).st_size
                if wide is None:
                    content += _rest(file, size - _HEAD)
                    wide = None if whole else _WIDE.search(content)
                tail = os.pread(file, _TAIL, max(0, size - _TAIL))
        finally:
            os.close(file)
    except FileNotFoundError:
        raise Unreadable(f"{_name(path)} is missing") from None
    except OSError as error:
        raise Unreadable(f"{_name(path)} cannot be read: {error.strerror}") from error
    if wide is not None and tail.rstrip().endswith(b"}"):
        content = content[: wide.start()] + b"}"
    return content, tail


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
