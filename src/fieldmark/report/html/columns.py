"""Tables whose column names are written once, for the many rows of a report.

`rowsOf` in `rows.js` returns their rows as objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from fieldmark.model.json import JsonObject, JsonValue

MEMBERS: Final = "members"
"""The column whose values are rows of the same table."""


def columnar(columns: Sequence[JsonValue], rows: Iterable[Sequence[JsonValue]]) -> JsonObject:
    """Return a table; values that are missing at the end of a row are undefined.

    >>> columnar(["path", "mark"], [("total", 1)])
    {'columns': ['path', 'mark'], 'rows': [['total', 1]]}
    """
    return {"columns": list(columns), "rows": [list(row) for row in rows]}


def nested(name: str, columns: Sequence[str]) -> JsonObject:
    """Return a column whose values are lists with columns of their own."""
    return {"name": name, "columns": list[JsonValue](columns)}
