"""The attributes of a stored summary as the flat rows that every table of them shows."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.model.json import JsonObject
from fieldmark.report.html.figures import attribute_lines
from fieldmark.report.html.shown import figure, listed, whole
from fieldmark.report.tables import AttributeRow

__all__ = ["ATTRIBUTE_COLUMNS", "stored_attributes"]

ATTRIBUTE_COLUMNS: Final = tuple(column.name for column in fields(AttributeRow))


def stored_attributes(summary: JsonObject) -> list[AttributeRow]:
    """One row an attribute, the worst first."""
    return [_row(listed(line)) for line in attribute_lines(summary, {})]


def _row(line: list[object]) -> AttributeRow:
    path, counts, rates, _, mistakes, errors, *_ = line
    tp, tn, fp, fn = counts
