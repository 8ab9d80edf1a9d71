"""The whole text of an export, of any kind."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from contextlib import closing

import pyarrow.parquet as pq


def exported_text(path):
    """Return the text of a file, unpacked if needed; its content says what it is."""
    start = path.read_bytes()[:16]
    if start.startswith(b"PK"):
        with zipfile.ZipFile(path) as book:
            return "".join(book.read(name).decode() for name in book.namelist())
    if start.startswith(b"PAR1"):
        return json.dumps(pq.read_table(path).to_pylist())
    if start.startswith(b"SQLite format 3"):
        with closing(sqlite3.connect(path)) as database:
            return "\n".join(database.iterdump())
    return path.read_text("utf-8")
