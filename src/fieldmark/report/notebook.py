"""Small HTML tables for notebooks."""

from __future__ import annotations

from collections.abc import Sequence

from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.escape import for_html
from fieldmark.report.tables import DASH, number

__all__ = ["case_html", "rows_html"]


def rows_html(rows: Sequence[JsonObject]) -> str:
    """Rows with the same keys as a table."""
    if not rows:
        return "<p>nothing to show</p>"
    head = "".join(f"<th>{for_html(name)}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row.values()) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def case_html(case: JsonObject) -> str:
    """One case: its score, and what happened to every field."""
    outcomes = case.get("outcomes")
    fields = [
        {
            "path": field.get("path"),
            "outcome": field.get("outcome"),
            "expected": field.get("expected", DASH),
            "candidate": field.get("candidate", DASH),
            "score": field.get("score"),
        }
        for field in (outcomes if isinstance(outcomes, list) else [])
        if isinstance(field, dict)
    ]
    title = f"{case.get('verdict')}, score {_cell(case.get('score'))}, {case.get('reasoning')}"
    return f"<p>{for_html(title)}</p>{rows_html(fields)}"


def _cell(value: JsonValue) -> str:
    if value is None or isinstance(value, float):
        return number(value)
    return for_html(str(value))
