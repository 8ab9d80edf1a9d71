"""The figures of object detection as a person reads them in a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from rich.columns import Columns
from rich.table import Table

from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.tables import number

__all__ = ["detection_tables"]


def detection_tables(detection: JsonObject) -> Columns:
    """Average precision, average recall and PASCAL's figures beside each other."""
    pascal = cast("Mapping[str, JsonValue]", detection.get("pascal") or {})
    precision = {name: value for name, value in detection.items() if name.startswith("AP")}
    recall = {name: value for name, value in detection.items() if name.startswith("AR")}
    ways = {name: pascal.get(name) for name in ("every_point", "eleven_point")}
    threshold = pascal.get("iou_threshold")
    tables = (
        _table("Average precision", precision),
        _table("Average recall", recall),
        _table(f"PASCAL at {threshold}", ways),
    )
    return Columns(tables, padding=(0, 4))


def _table(title: str, figures: Mapping[str, JsonValue]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(title, no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    for name, value in figures.items():
        table.add_row(name.replace("_", " "), number(cast("float | None", value)))
    return table
