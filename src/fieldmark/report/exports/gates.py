"""The gates of a stored summary in words, failed ones first."""

from __future__ import annotations

from typing import NamedTuple

from fieldmark.metrics.gates import GateKind, GateResult
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.html.figures import gate_lines
from fieldmark.report.html.shown import figure, listed
from fieldmark.report.tables import gate_text

__all__ = ["GateText", "gate_texts"]


class GateText(NamedTuple):
    """What a gate found and what it wanted, and whether it was passed."""

    text: str
    passed: bool


def gate_texts(summary: JsonObject) -> list[GateText]:
    """One line a gate."""
    return [_told(listed(line)) for line in gate_lines(summary)]


def _told(line: list[JsonValue]) -> GateText:
    name, kind, limit, value, passed, note = line
    gate = GateResult(
        name=str(name),
        kind=GateKind.MAX if kind == GateKind.MAX else GateKind.MIN,
        limit=float(figure(limit) or 0),
        value=figure(value),
        passed=passed is True,
        note=str(note),
    )
    return GateText(gate_text(gate), gate.passed)
