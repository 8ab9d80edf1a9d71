"""What is registered, for the terminal, as CSV and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from fieldmark.report.csv_text import csv_text
from fieldmark.report.exports.markdown import in_code
from fieldmark.values.escape import visible
from fieldmark.values.text import plural
from fieldmark.wire.plugins import RegisteredPlugin

__all__ = ["plugins_csv", "plugins_markdown", "plugins_view"]

_COLUMNS = ("Kind", "Name", "From", "Summary")


def _cells(each: RegisteredPlugin) -> tuple[str, ...]:
    source = f"{each.package} {each.version}".strip() or each.target
    return each.kind, each.name, source, f"error: {each.error}" if each.error else each.summary


def plugins_view(found: Sequence[RegisteredPlugin]) -> Group:
    """Show one row per name."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in _COLUMNS:
        table.add_column(name, overflow="fold")
    for each in found:
        style = "red" if each.error else ""
        table.add_row(*(Text(visible(cell), style) for cell in _cells(each)))
    return Group(table, Text(_headline(found), "bold"))


def _headline(found: Sequence[RegisteredPlugin]) -> str:
    failed = sum(bool(each.error) for each in found)
    own = sum(each.package == "fieldmark" for each in found)
    parts = [f"{own} built-in", plural(len(found) - own, "plug-in")]
    return ", ".join([*parts, *([f"{failed} cannot be used"] if failed else [])])


def plugins_markdown(found: Sequence[RegisteredPlugin]) -> str:
    """Return a table with one row per name."""
    lines = [f"| {' | '.join(_COLUMNS)} |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(map(in_code, _cells(each)))} |" for each in found]
    return "\n".join([*lines, "", _headline(found)]) + "\n"


def plugins_csv(found: Sequence[RegisteredPlugin]) -> str:
    """Return one row per name."""
    rows = [list(each.to_dict().values()) for each in found]
    return csv_text(RegisteredPlugin.__dataclass_fields__, rows)
