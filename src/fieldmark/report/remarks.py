"""Lines below the tables of a run: figures of whole data sets, and what asking models took."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fieldmark.metrics.summary import Summary
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.tables import DASH, number

__all__ = ["figure_lines", "usage_lines"]

_A_LINE: Final = 6
_NOT_TOLD: Final = frozenset({"classes", "iou_threshold"})


def figure_lines(summary: Summary) -> list[str]:
    """The figures that evaluators have for all cases together, a few on each line."""
    lines: list[str] = []
    for name, each in summary.evaluators.items():
        told = list(_told(each.figures))
        starts = range(0, len(told), _A_LINE)
        lines += [f"{name}: {', '.join(told[start : start + _A_LINE])}" for start in starts]
    return lines


def usage_lines(summary: Summary) -> list[str]:
    """One line for each model that was asked: calls, tokens, cost."""
    asked = summary.usage.get("asked")
    rows = asked if isinstance(asked, list) else []
    return [_usage(row) for row in rows if isinstance(row, dict)]


def _told(figures: JsonObject, prefix: str = "") -> Iterator[str]:
    """Every share by its name; counts, classes and settings are in the summary."""
    for name, value in figures.items():
        if name in _NOT_TOLD:
            continue
        if value is None or isinstance(value, float):
            yield f"{prefix}{name} {number(value)}"
        elif isinstance(value, dict):
            yield from _told(value, f"{prefix}{name}.")


def _usage(row: JsonObject) -> str:
    cost = row.get("cost")
    price = f", cost {cost:.4f}" if isinstance(cost, int | float) else ""
    return (
        f"{row.get('name')} {row.get('model')}: {_number(row.get('calls'))} calls, "
        f"{_number(row.get('input_tokens'))} + {_number(row.get('output_tokens'))} tokens{price}"
    )


def _number(value: JsonValue) -> str:
    return f"{value:,}" if isinstance(value, int) else DASH
