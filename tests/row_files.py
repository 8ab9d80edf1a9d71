"""The text of JSONL files, the rows of files, and the cases that are read from files."""

from __future__ import annotations

import json

__all__ = ["cases_of", "lines", "read_rows", "write_rows"]


def lines(rows):
    """Return rows as the text of a JSONL file."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def write_rows(path, rows):
    """Write rows as a JSONL file, and return its path."""
    path.write_text(lines(rows), "utf-8")
    return path


def read_rows(path):
    """Return the rows of a JSONL file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def cases_of(stream):
    """Return all cases of a stream of pairs."""
    return [case for batch in stream.batches() for case in batch]
