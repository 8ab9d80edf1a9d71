"""The weak slices of a run for the terminal, as Markdown and as CSV."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group

from fieldmark.metrics.slices import slice_text
from fieldmark.report.csv_text import csv_text
from fieldmark.report.terminal import one_line
from fieldmark.values.escape import for_markdown
from fieldmark.values.text import plural
from fieldmark.wire.slice_search import SliceSearch, weak_slice_text

__all__ = ["slices_csv", "slices_lines", "slices_markdown", "slices_view"]


def slices_lines(found: SliceSearch, *, top: int | None = None) -> Iterator[str]:
    """Yield a heading and a line for each weak slice."""
    searched = f"{plural(found.tested, 'slice')} of {plural(found.cases, 'case')} tested"
    if not found.tested:
        yield f"no slices to test in {plural(found.cases, 'case')}"
    elif not found.slices:
        yield f"no slice is significantly weaker than the other cases ({searched})"
    else:
        yield f"Weak slices (micro F1, Holm-adjusted p; {searched})"
    for each in found.slices[:top]:
        p = "<0.001" if each.adjusted < 0.001 else f"= {each.adjusted:.3f}"  # noqa: PLR2004
        yield f"{weak_slice_text(each)} (p {p})"
    if top is not None and len(found.slices) > top:
        yield f"… and {plural(len(found.slices) - top, 'more slice')}; --top 0 shows all"
    yield from (f"· {note}" for note in found.notes)


def slices_view(found: SliceSearch, *, top: int | None = None) -> Group:
    """Show the weak slices, the weakest first."""
    return Group(*map(one_line, slices_lines(found, top=top)))


def slices_markdown(found: SliceSearch, *, top: int | None = None) -> str:
    """Return the same content as a list."""
    head, *lines = slices_lines(found, top=top)
    return (
        "\n".join([for_markdown(head), "", *(f"- {for_markdown(each)}" for each in lines)]) + "\n"
    )


def slices_csv(found: SliceSearch) -> str:
    """Return all weak slices with full precision."""
    columns = ("slice", "cases", "f1", "others_f1", "p", "p_adjusted")
    rows = [
        (
            " and ".join(slice_text(*condition) for condition in each.conditions),
            *each[1:4],
            each.p,
            each.adjusted,
        )
        for each in found.slices
    ]
    return csv_text(columns, rows)
