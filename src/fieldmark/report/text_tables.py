"""Tables of a run as CSV and as Markdown."""

from __future__ import annotations

from fieldmark.metrics.headline import (
    MAIN_METRIC,
    METRIC_TITLES,
    QUALITY_METRICS,
    flag_text,
)
from fieldmark.metrics.summary import Summary
from fieldmark.report.csv_text import csv_text
from fieldmark.report.document import Document
from fieldmark.report.render import document_markdown
from fieldmark.report.run_document import slice_blocks
from fieldmark.report.tables import (
    ATTRIBUTE_COLUMNS,
    AttributeRow,
    attribute_cells,
    attribute_rows,
    evaluator_errors,
    gate_text,
    number,
    split_warnings,
)
from fieldmark.values.escape import for_markdown
from fieldmark.values.text import plural


def csv_table(summary: Summary) -> str:
    """Return all attributes with full precision, and the convention in every row."""
    name = summary.convention.name
    rows = ((*cells, name) for cells in attribute_cells(summary))
    return csv_text((*ATTRIBUTE_COLUMNS, "convention"), rows)


def markdown_summary(summary: Summary, *, top: int | None = None) -> str:
    """Return a summary for a pull request: headline metrics, gates and the worst attributes."""
    rows = attribute_rows(summary)
    structural, others = split_warnings(summary)
    lines = [f"> warning: {for_markdown(text)}\n" for text in structural]
    lines += [headline(summary), ""]
    for gate in summary.gates:
        result = "passed" if gate.passed else "**failed**"
        lines.append(f"- gate {result}: {gate_text(gate, name=f'`{gate.name}`')}")
    lines += [f"- error: {for_markdown(text)}" for text in evaluator_errors(summary)]
    if lines[-1]:
        lines.append("")
    lines += [
        "| Attribute | TP | TN | FP | FN | Precision | Recall | F1 |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [f"| {for_markdown(row.attribute)} | {counts_and_rates(row)} |" for row in rows[:top]]
    if top is not None and len(rows) > top:
        lines.append(f"\n… and {plural(len(rows) - top, 'more attribute')}")
    slices = document_markdown(Document(*slice_blocks(summary, top=top))).rstrip("\n")
    lines += ["", slices] if slices else []
    lines += [f"\n> warning: {for_markdown(text)}" for text in others]
    return "\n".join(lines) + "\n"


def headline(summary: Summary) -> str:
    """Return the headline metrics in one line, the primary metric first, and the convention."""
    cases, metrics = summary.cases, summary.metrics
    rqs_leads = next(iter(metrics)) == "rqs"
    shown = [
        name for name in metrics if (name in QUALITY_METRICS) == rqs_leads or name == MAIN_METRIC
    ]
    parts: list[str] = []
    for name in shown:
        maximum = f" of {number(summary.quality.rqs_max, 2)}" if name == "rqs" else ""
        note = flag_text(summary.flags.get(name, ()))
        value = f"{METRIC_TITLES[name]} {number(metrics[name])}{maximum}"
        parts.append(f"{value} ({note})" if note else value)
    counts = f"{cases.scored:,} of {plural(cases.total, 'case')} scored, {cases.perfect:,} perfect"
    return "; ".join(
        [
            f"**{parts[0]}**, {', '.join(parts[1:])}",
            f"{counts}, **{cases.errors:,} with errors**" if cases.errors else counts,
            f"convention `{summary.convention.name}`",
            *([summary.rqs_formula] if rqs_leads else []),
        ]
    )


def counts_and_rates(row: AttributeRow) -> str:
    """Return the counts and rates of an attribute as cells of a Markdown table."""
    rates = map(number, (row.precision, row.recall, row.f1))
    return " | ".join([*map(str, (row.tp, row.tn, row.fp, row.fn)), *rates])
