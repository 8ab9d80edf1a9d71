"""One line of `results.jsonl`: all that is known of a case, as strict JSON.

Outcomes are stored as they are held: cells, with what the comparators said beside them.
"""

from __future__ import annotations

from typing import Final

import orjson

from fieldmark.compare.prompt_injection import INJECTION_NOTE
from fieldmark.metrics.case_score import CaseStats
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.comparison import Comparison
from fieldmark.model.json import MISSING, JsonValue
from fieldmark.model.outcomes import Outcomes
from fieldmark.values.json_text import finite_json, strict_json

__all__ = ["FLAGS", "RowEncoder"]

FLAGS: Final = ("coerced", "ambiguous", "approximate")
"""What a comparison may be flagged with."""

_REMEMBERED: Final = 2048
_SHORT: Final = 1024
"""Bytes of a record that may serve again; longer ones belong to cases of their own."""


class RowEncoder:
    """Turns cases into lines, one after the other.

    Cases with the same outcomes share their record, so its text is made once and kept. Set
    `non_finite` once candidates may hold NaN or infinite numbers: they are then written as text.
    """

    __slots__ = ("_records", "_values", "non_finite")

    def __init__(self, *, values: bool = True) -> None:
        self._values = values
        self.non_finite = False
        self._records: dict[int, tuple[CaseStats, list[int], bytes]] = {}

    def encode(self, case: Case, block: Outcomes, stats: CaseStats) -> bytes:
        """The line of one case, with its newline."""
        parts = [b'{"case_id":', strict_json(case.id), self._record(block, stats)]
        if case.input is not CaseInput.OK or case.parsed_from or case.tags:
            parts.append(_reading(case, notes=self._values))
        if block.comparisons:
            said = [
                _said(position, c, notes=self._values) for position, c in block.comparisons.items()
            ]
            parts += [b',"comparisons":', strict_json(said)]
        if block.items:
            parts += [b',"items":', strict_json(block.items)]
        if block.fallback:
            parts.append(b',"fallback":true')
        if self._values:
            parts += [b',"expected":', strict_json(case.expected)]
            if case.candidate is not MISSING:
                parts += [b',"candidate":', self._candidate(case.candidate)]
        parts.append(b"}\n")
        return b"".join(parts)

    def _candidate(self, value: JsonValue) -> bytes:
        text = strict_json(value)
        # Where numbers that JSON lacks were read, one of them may have been written as null.
        return finite_json(value) if self.non_finite and b"null" in text else text

    def _record(self, block: Outcomes, stats: CaseStats) -> bytes:
        known = self._records.get(id(stats))
        if known is not None and known[1] == block.cells:
            return known[2]
        record = {
            "score": stats.score,
            "verdict": stats.verdict,
            "status": "error" if stats.errors_count else "ok",
            "counts": stats.counts._asdict(),
            "errors_by_type": stats.errors._asdict(),
            "quality": stats.quality._asdict(),
            "cells": block.cells,
        }
        text = b"," + orjson.dumps(record)[1:-1]
        if len(text) <= _SHORT:
            if len(self._records) >= _REMEMBERED:
                self._records.clear()
            self._records[id(stats)] = stats, block.cells, text
        return text


def _reading(case: Case, *, notes: bool) -> bytes:
    """How the candidate was read, where there is something to say; a note may quote it."""
    said: dict[str, str | list[str]] = {}
    if case.input is not CaseInput.OK:
        said["input"] = case.input.value
        if notes:
            said["note"] = case.note
    if case.parsed_from:
        said["parsed_from"] = case.parsed_from
    if case.tags:
        said["tags"] = list(case.tags)
    return b"," + strict_json(said)[1:-1]


def _said(position: int, comparison: Comparison, *, notes: bool) -> list[object]:
    """[position, similarity, score, reason, flags, note]; a note may quote a value."""
    flags = [name for name in FLAGS if getattr(comparison, name)]
    said: list[object] = [
        position,
        comparison.similarity,
        comparison.score,
        comparison.reason,
        flags,
    ]
    note = comparison.note if notes or comparison.note == INJECTION_NOTE else ""
    return [*said, note] if note else said
