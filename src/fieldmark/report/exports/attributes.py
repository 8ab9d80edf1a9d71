"""The attributes of a stored summary as the flat rows that every table of them shows."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.model.json import JsonObject
from fieldmark.report.html.shown import figure, mapping, whole
from fieldmark.report.tables import AttributeRow, worst_first

__all__ = ["ATTRIBUTE_COLUMNS", "ERROR_TYPES", "stored_attributes"]

ATTRIBUTE_COLUMNS: Final = tuple(column.name for column in fields(AttributeRow))
ERROR_TYPES: Final = ErrorCounts._fields


def stored_attributes(summary: JsonObject) -> list[AttributeRow]:
    """One row an attribute, the worst first."""
    figures = mapping(summary.get("attributes"))
    return worst_first(_row(path, mapping(each)) for path, each in figures.items())


def _row(path: str, figures: JsonObject) -> AttributeRow:
    mistakes = mapping(figures.get("errors_by_type"))
    return AttributeRow(
        attribute=path,
        tp=whole(figures.get("tp")),
        tn=whole(figures.get("tn")),
        fp=whole(figures.get("fp")),
        fn=whole(figures.get("fn")),
        precision=figure(figures.get("precision")),
        recall=figure(figures.get("recall")),
        f1=figure(figures.get("f1")),
        accuracy=figure(figures.get("accuracy")),
        errors=whole(figures.get("errors")),
        omission=whole(mistakes.get("omission")),
        hallucination=whole(mistakes.get("hallucination")),
        format_error=whole(mistakes.get("format_error")),
        wrong_value=whole(mistakes.get("wrong_value")),
    )
