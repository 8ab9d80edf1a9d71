"""The compact view of a run in a notebook."""

from __future__ import annotations

from typing import Final

from fieldmark.metrics.summary import Summary, worst_attributes
from fieldmark.report.html.metrics import tiles
from fieldmark.report.html.value_encoding import truncate
from fieldmark.report.metric_titles import failed_note, range_text
from fieldmark.report.shown_run import gates_failed_first
from fieldmark.report.tables import (
    error_counts,
    evaluator_errors,
    gate_line,
    mistake_counts,
    more_text,
    number,
    split_warnings,
)
from fieldmark.values.escape import for_html, html_table
from fieldmark.values.text import plural

_MAX_LENGTH: Final = 200
"""The number of characters of a path that are shown."""


def run_html(summary: Summary, *, top: int, hint: str) -> str:
    """Return the primary metric, cases, gates, warnings and the worst attributes.

    There are no colors, so that it is readable on any background. `hint` says how to see all
    attributes.
    """
    attributes = worst_attributes(summary.attributes)
    rows = [
        {
            "Attribute": truncate(path, _MAX_LENGTH),
            **{name.upper(): getattr(metrics, name) for name in ("tp", "tn", "fp", "fn")},
            "Precision": metrics.precision,
            "Recall": metrics.recall,
            "F1": metrics.f1,
            **({} if summary.bounds is None else {"F1 bounds": _f1_bounds(summary, path)}),
            "Mistakes": mistake_counts(metrics.errors_by_type),
        }
        for path, metrics in attributes[:top]
    ]
    structural, others = split_warnings(summary)
    parts = [f"<p><b>warning:</b> {for_html(text)}</p>" for text in structural]
    parts.append(f"<p>{_headline(summary)}</p>")
    if left_out := failed_note(summary):
        parts.append(f"<p><b>{for_html(left_out)}</b></p>")
    parts += [f"<p><b>error:</b> {for_html(text)}</p>" for text in evaluator_errors(summary)]
    failed = [gate for gate in gates_failed_first(summary) if not gate.passed]
    parts += [f"<p><b>{for_html(gate_line(gate))}</b></p>" for gate in failed]
    notes = []
    if passed := len(summary.gates) - len(failed):
        notes.append(f"{plural(passed, 'gate')} passed")
    if others:
        notes.append(plural(len(others), "warning"))
    if notes:
        parts.append(f"<p>{', '.join(notes)}</p>")
    if rows:
        parts.append(html_table(rows))
    if len(attributes) > top:
        parts.append(f"<p>{more_text(len(attributes) - top, 'attribute', hint)}</p>")
    return "".join(parts)


def _f1_bounds(summary: Summary, path: str) -> str:
    return range_text(None if summary.bounds is None else summary.bounds.of_attribute(path, "f1"))


def _headline(summary: Summary) -> str:
    primary, cases = tiles(summary)[0], summary.cases
    value = number(primary.value)
    if primary.maximum is not None:
        value += f" of {number(primary.maximum, 2)}"
    if primary.interval is not None:
        value += f" (95% CI {' to '.join(map(number, primary.interval))})"
    parts = [
        f"<b>{for_html(f'{primary.label} {value}')}</b>",
        *([primary.note] if primary.note else []),
        f"{cases.scored:,} of {plural(cases.total, 'case')} scored",
        f"{cases.perfect:,} perfect",
        *(f"<b>{text}</b>" for text in error_counts(summary)),
        f"convention {for_html(summary.convention.name)}",
    ]
    return ", ".join(parts)
