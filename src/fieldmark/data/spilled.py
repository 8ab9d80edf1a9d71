"""Any stream as lines that can be read out of order: copied to a nameless temporary file."""

from __future__ import annotations

import orjson

from fieldmark.data.exact import Grammar
from fieldmark.data.files import Opened, spill
from fieldmark.data.jsonl import JsonlSource
from fieldmark.data.parsing import Unreadable
from fieldmark.data.rows import RowSource

__all__ = ["as_lines"]


def as_lines(source: RowSource) -> JsonlSource:
    """The rows of a source as JSON lines in a file that can be sought."""
    if isinstance(source, JsonlSource):
        return source.seekable()
    copy = source.spilled = spill()
    for block in source.blocks():
        for row in block.rows:
            # a row that cannot be read has no id, so a line that cannot be read may stand for it
            copy.write(b"!" if isinstance(row, Unreadable) else orjson.dumps(row))
            copy.write(b"\n")
    opened = Opened(source.name, copy, copy, copy.tell(), seekable=True)
    return JsonlSource.over(opened, Grammar())
