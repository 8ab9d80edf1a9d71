"""The per-attribute table as CSV and as Markdown."""

from __future__ import annotations

import csv
import io
from dataclasses import fields

from fieldmark.metrics.summary import Summary
from fieldmark.report.tables import AttributeRow, attribute_rows, gate_text, number
from fieldmark.values.escape import for_csv, for_markdown

__all__ = ["csv_table", "markdown_summary"]

_COLUMNS = tuple(column.name for column in fields(AttributeRow))


def csv_table(summary: Summary) -> str:
    """Every attribute with full precision; cells cannot be taken for formulas."""
    target = io.StringIO()
    writer = csv.writer(target, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for row in attribute_rows(summary):
        values = row.to_dict()
        cells = ["" if values[name] is None else str(values[name]) for name in _COLUMNS]
        writer.writerow([for_csv(cell) for cell in cells])
    return target.getvalue()


def markdown_summary(summary: Summary, *, top: int | None = None) -> str:
    """A short account for a pull request: headline figures, gates, and the worst attributes."""
    rows = attribute_rows(summary)
    headline = (
        f"**macro F1 {number(summary.macro_f1_by_attribute)}** by attribute, "
        f"{number(summary.macro_f1_by_case)} by case; micro F1 {number(summary.micro.f1)}; "
        f"{summary.cases.scored} of {summary.cases.total} cases scored, "
        f"{summary.cases.perfect} perfect."
    )
    lines = [headline, ""]
    for gate in summary.gates:
        word = "passed" if gate.passed else "**failed**"
        lines.append(f"- gate {word}: {gate_text(gate, name=f'`{gate.name}`')}")
    if summary.gates:
        lines.append("")
    lines += [
        "| Attribute | TP | TN | FP | FN | Precision | Recall | F1 |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [_line(row) for row in rows[:top]]
    if top is not None and len(rows) > top:
        lines.append(f"\n… and {len(rows) - top} more attributes.")
    lines += [f"\n> warning: {for_markdown(text)}" for text in summary.warnings]
    return "\n".join(lines) + "\n"


def _line(row: AttributeRow) -> str:
    rates = " | ".join(number(rate) for rate in (row.precision, row.recall, row.f1))
    name = for_markdown(row.attribute)
    return f"| {name} | {row.tp} | {row.tn} | {row.fp} | {row.fn} | {rates} |"
