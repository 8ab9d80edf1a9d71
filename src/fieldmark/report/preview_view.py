"""What other rules would change in a run, for the terminal, as Markdown and as CSV."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group

from fieldmark.metrics.headline import METRIC_TITLES
from fieldmark.report.csv_text import csv_text
from fieldmark.report.tables import outcome_text
from fieldmark.report.terminal import one_line
from fieldmark.values.escape import DASH, for_markdown
from fieldmark.values.text import plural
from fieldmark.wire.rules_preview import FieldChange, RulesPreview

__all__ = ["preview_csv", "preview_lines", "preview_markdown", "preview_view"]

_NOT_COMPARED = "not compared"


def preview_lines(found: RulesPreview, *, top: int | None = None) -> Iterator[str]:
    """Yield a heading, the metrics before and after, the attributes and some changed fields."""
    compared = plural(found.compared, "case")
    sample = f", a random sample of {plural(found.cases, 'case')}" if found.is_sample else ""
    if found.changed_fields or found.changed_cases:
        fields = plural(found.changed_fields, "field")
        yield f"{fields} in {found.changed_cases:,} of {compared} would change{sample}"
    else:
        yield f"nothing would change in {compared}{sample}"
    for name, (before, after) in found.metrics.items():
        yield f"{METRIC_TITLES[name]}: {_rate(before)} → {_rate(after)}"
    for each in found.attributes[:top]:
        f1 = f"F1 {_rate(each.before)} → {_rate(each.after)}"
        yield f"{each.attribute}: {plural(each.fields, 'field')}, {f1}"
    if top is not None and len(found.attributes) > top:
        yield f"… and {plural(len(found.attributes) - top, 'more attribute')}; --top 0 shows all"
    for change in found.examples[:top]:
        outcomes = " → ".join(_outcomes(change))
        yield f"· {change.field.case_id} {change.field.path}: {outcomes}"
    if found.errors:
        yield f"{plural(found.errors, 'field')} could not be compared"
    yield from (f"warning: {each}" for each in found.warnings)


def _outcomes(change: FieldChange) -> tuple[str, str]:
    before, after = (
        _NOT_COMPARED if each is None else outcome_text(each.outcome)
        for each in (change.before, change.after)
    )
    return before, after


def _rate(value: float | None) -> str:
    return DASH if value is None else f"{value:.3f}"


def preview_view(found: RulesPreview, *, top: int | None = None) -> Group:
    """Show what would change."""
    return Group(*map(one_line, preview_lines(found, top=top)))


def preview_markdown(found: RulesPreview, *, top: int | None = None) -> str:
    """Return the same content as a list."""
    head, *lines = preview_lines(found, top=top)
    listed = (f"- {for_markdown(each)}" for each in lines)
    return "\n".join([for_markdown(head), "", *listed]) + "\n"


def preview_csv(found: RulesPreview) -> str:
    """Return the changed fields that are known, one per row."""
    columns = ("case_id", "path", "attribute", "before", "after")
    rows = [
        (each.field.case_id, each.field.path, each.field.attribute, *_outcomes(each))
        for each in found.examples
    ]
    return csv_text(columns, rows)
