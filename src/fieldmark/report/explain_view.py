"""Why a field has its outcome, for the terminal, as Markdown and as CSV."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from fieldmark.report.csv_text import csv_text
from fieldmark.values.escape import for_markdown, visible
from fieldmark.wire.explanation import Explanation

__all__ = ["explain_csv", "explain_markdown", "explain_view"]


def explain_view(found: Explanation) -> Table:
    """Show everything as labels and texts."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in found.facts():
        table.add_row(Text(visible(label)), Text(visible(text)))
    return table


def explain_markdown(found: Explanation) -> str:
    """Return the same content as a list."""
    return "".join(
        f"- {for_markdown(label)}: {for_markdown(text)}\n" for label, text in found.facts()
    )


def explain_csv(found: Explanation) -> str:
    """Return the same content as rows of a label and a text."""
    return csv_text(("fact", "value"), [list(fact) for fact in found.facts()])
