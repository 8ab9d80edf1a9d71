"""Any stream as lines that can be read out of order: copied to a nameless temporary file."""

from __future__ import annotations

import json

import orjson

from fieldmark.data.cases import is_finite
from fieldmark.data.exact import Grammar
from fieldmark.data.files import Opened, spill
from fieldmark.data.inputs import Role
from fieldmark.data.jsonl import JsonlSource
from fieldmark.data.parsing import Unreadable
from fieldmark.data.rows import RowSource
from fieldmark.model.json import JsonValue

__all__ = ["as_lines"]


def as_lines(source: RowSource) -> JsonlSource:
    """The rows of a source as JSON lines in a file that can be sought."""
    if isinstance(source, JsonlSource):
        return source.seekable()
    copy = source.spilled = spill()
    for block in source.blocks():
        for row in block.rows:
            # a row that cannot be read has no id, so a line that cannot be read may stand for it
            copy.write(b"!" if isinstance(row, Unreadable) else _line(row))
            copy.write(b"\n")
    opened = Opened(source.name, copy, copy, copy.tell(), seekable=True)
    return JsonlSource.over(opened, Grammar(role=Role.CANDIDATE))


def _line(row: JsonValue) -> bytes:
    """The row as JSON that is read back as it is, NaN and long integers included."""
    try:
        line = orjson.dumps(row)
    except TypeError:
        return json.dumps(row).encode("ascii")
    return line if b"null" not in line or is_finite(row) else json.dumps(row).encode("ascii")
