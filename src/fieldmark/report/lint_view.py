"""Likely faults in ground truth, for the terminal, as CSV and as Markdown."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fieldmark.model.json import JsonValue
from fieldmark.plan.lint import Finding, LintReport
from fieldmark.report.csv_text import csv_text
from fieldmark.report.exports.markdown import in_code
from fieldmark.report.tables import more_text
from fieldmark.values.escape import visible
from fieldmark.values.text import plural

__all__ = ["lint_csv", "lint_markdown", "lint_view"]

_COLUMNS = ("Check", "Attribute", "Finding")


def lint_view(report: LintReport, *, top: int | None = None) -> Group:
    """Show one finding per row, with examples."""
    parts: list[RenderableType] = [_line(note, "yellow") for note in report.notes]
    shown = report.findings[:top]
    if shown:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in _COLUMNS:
            table.add_column(name, overflow="fold")
        for finding in shown:
            text = _line(finding.message)
            for example in finding.examples:
                text.append(f"\n{visible(example.case)}: {visible(example.text)}", style="dim")
            table.add_row(finding.check, visible(finding.attribute), text)
        parts.append(table)
        if report.total > len(shown):
            parts.append(_line(more_text(report.total - len(shown), "finding")))
    parts.append(_line(_headline(report), "bold"))
    return Group(*parts)


def _line(text: str, style: str = "") -> Text:
    return Text(visible(text), style=style)


def _headline(report: LintReport) -> str:
    found = plural(report.total, "finding") if report.total else "no findings"
    return f"{found} in {plural(report.documents, 'document')}"


def lint_markdown(report: LintReport, *, top: int | None = None) -> str:
    """Return a table of the findings."""
    lines = [f"**{_headline(report)}**", ""]
    shown = report.findings[:top]
    if shown:
        lines += [f"| {' | '.join(_COLUMNS)} | Examples |", "|---|---|---|---|"]
        lines += [
            f"| {finding.check} | {_code(finding.attribute)} | {_code(finding.message)} "
            f"| {_code(_examples(finding))} |"
            for finding in shown
        ]
    if report.total > len(shown):
        lines += ["", more_text(report.total - len(shown), "finding")]
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    return in_code(text) if text else ""


def lint_csv(report: LintReport) -> str:
    """Return all findings."""
    rows: list[list[JsonValue]] = [
        [
            finding.check.value,
            finding.attribute,
            finding.count,
            finding.message,
            _examples(finding),
        ]
        for finding in report.findings
    ]
    return csv_text(("check", "attribute", "count", "message", "examples"), rows)


def _examples(finding: Finding) -> str:
    return "; ".join(f"{example.case}: {example.text}" for example in finding.examples)
