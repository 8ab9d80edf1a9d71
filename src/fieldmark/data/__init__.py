"""Data in: rows of truth and candidate, read strictly, paired, and streamed as cases."""

from __future__ import annotations

from fieldmark.data.candidate_text import Found, read_candidate
from fieldmark.data.inputs import (
    LIMITS,
    Coverage,
    Duplicates,
    Inputs,
    Limits,
    Parse,
    Role,
    RowsAre,
)
from fieldmark.data.pairs import PairStream, open_pairs, open_truth
from fieldmark.data.parsing import parse_json
from fieldmark.data.rows import located
from fieldmark.data.values import checked_json

__all__ = [
    "LIMITS",
    "Coverage",
    "Duplicates",
    "Found",
    "Inputs",
    "Limits",
    "PairStream",
    "Parse",
    "Role",
    "RowsAre",
    "checked_json",
    "located",
    "open_pairs",
    "open_truth",
    "parse_json",
    "read_candidate",
]
