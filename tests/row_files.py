"""The text of JSONL files, and the cases that are read from files."""

from __future__ import annotations

import json

__all__ = ["cases_of", "lines"]


def lines(rows):
    """Return rows as the text of a JSONL file."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def cases_of(stream):
    """Return all cases of a stream of pairs."""
    return [case for batch in stream.batches() for case in batch]
