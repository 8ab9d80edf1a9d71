"""Tables of a run for the terminal."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, cast

from rich.columns import Columns
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.table import Table
from rich.text import Text

from fieldmark.metrics.summary import Summary
from fieldmark.metrics.worst_first import sortable
from fieldmark.model.json import JsonObject
from fieldmark.report.run_text import (
    ATTRIBUTE_COLUMNS,
    TABLE_GAP,
    ScoreTable,
    confidence_tables,
    coverage_line,
    score_style,
    score_tables,
    seconds_per_call,
    slice_tables,
    styled_count,
    target_usage,
    usage_lines,
)
from fieldmark.report.tables import (
    DASH,
    TOP_HINT,
    AttributeRow,
    attribute_rows,
    evaluator_errors,
    gate_line,
    more_text,
    number,
    score_text,
    split_warnings,
)
from fieldmark.values.escape import visible

__all__ = ["as_text", "attribute_table", "one_line", "plain_table", "run_view"]

_METRICS_PER_LINE: Final = 6
_HIDDEN_METRICS: Final = frozenset({"classes", "iou_threshold"})


def as_text(renderable: RenderableType, *, width: int = 120) -> str:
    """Render without colors, as a terminal of this width would show it."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    with console.capture() as capture:
        console.print(renderable, crop=False)
    return capture.get().rstrip("\n")


def one_line(text: str, style: str = "") -> Text:
    """Return text that is never wrapped, so that other tools can search and copy the line."""
    return Text(visible(text), style, no_wrap=True, overflow="ignore")


def plain_table(title: str, columns: Iterable[str] = (), *, collapse: bool = False) -> Table:
    """Return a table without borders: a column of names that may wrap, then numeric columns."""
    table = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=collapse)
    table.add_column(title, overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def run_view(
    summary: Summary, notes: Sequence[str] = (), *, top: int | None = None, hint: str = TOP_HINT
) -> Group:
    """Show a run: attributes, scores, mistakes, evaluators, coverage, gates and warnings.

    Warnings about the structure of the documents come before the numbers. `hint` says how to see
    more than `top` attributes.
    """
    structural, others = split_warnings(summary)
    parts: list[RenderableType] = [one_line(f"warning: {text}", "bold red") for text in structural]
    parts += [one_line(f"· {note}", "dim") for note in notes]
    parts += [attribute_table(summary, top=top, hint=hint), Text(), _scores(summary), Text()]
    if summary.evaluators:
        parts += [*_evaluators(summary), Text()]
    if summary.detection:
        parts += [_detection(summary.detection), Text()]
    for slices, below in slice_tables(summary, top=top):
        parts += [_score_table(slices), *(one_line(line, "dim") for line in below.splitlines())]
        parts.append(Text())
    if summary.confidence is not None:
        tables, remarks = confidence_tables(summary.confidence, top=top)
        for table in tables:
            parts += [_score_table(table), Text()]
        parts += [*map(one_line, remarks), Text()]
    parts.append(one_line(coverage_line(summary)))
    parts += map(one_line, usage_lines(summary.spent, summary.usage))
    for gate in summary.gates:
        parts.append(one_line(gate_line(gate), "green" if gate.passed else "bold red"))
    parts += [one_line(f"warning: {text}", "yellow") for text in others]
    return Group(*parts)


def attribute_table(
    summary: Summary, *, top: int | None = None, hint: str = TOP_HINT
) -> RenderableType:
    """Show one line per attribute, worst first, and at most `top` lines."""
    rows = attribute_rows(summary)
    table = _AttributeTable(rows[:top])
    if top is None or len(rows) <= top:
        return table
    return Group(table, Text(more_text(len(rows) - top, "attribute", hint), style="dim"))


@dataclass(frozen=True, slots=True)
class _AttributeTable:
    """A table with as many columns as fit beside the names."""

    rows: Sequence[AttributeRow]

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> list[Table]:
        width = options.max_width
        shown = [column for column in ATTRIBUTE_COLUMNS if width >= column.min_terminal_width]
        table = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True)
        # Columns that may wrap shrink first, so that numbers are never cut.
        table.add_column("Attribute", overflow="fold")
        for column in shown:
            table.add_column(
                column.title,
                justify=column.justify,
                no_wrap=not column.shrinks,
                min_width=column.min_width,
            )
        for row in self.rows:
            cells = [Text(*column.cell(row)) for column in shown]
            for column, cell in zip(shown, cells, strict=True):
                if column.shrinks:
                    cell.no_wrap, cell.overflow = True, "ellipsis"
            table.add_row(Text(visible(row.attribute)), *cells)
        return [table]


def _scores(summary: Summary) -> Group:
    """Show three small tables, side by side if they fit."""
    tables, formula = score_tables(summary)
    columns = Columns(map(_score_table, tables), padding=(0, TABLE_GAP))
    return Group(columns, Text(), one_line(formula)) if formula else Group(columns)


def _score_table(shown: ScoreTable) -> Table:
    numbers = shown.titles[1 : len(shown.titles) - shown.has_notes]
    table = plain_table(shown.titles[0], numbers)
    if shown.has_notes:
        table.add_column("", no_wrap=True)
    for row in shown.rows:
        table.add_row(*row)
    return table


def _evaluators(summary: Summary) -> list[RenderableType]:
    """Show one line per evaluator, then its metrics over all cases."""
    table = plain_table("Evaluator", ("Mean score", "Pass", "Partial", "Fail", "Errors"))
    lines: list[Text] = []
    for name, each in summary.evaluators.items():
        shown = score_text(each.mean_score, vacuous=each.is_vacuous)
        mean = Text(shown, style=score_style(None if each.is_vacuous else each.mean_score))
        counts = [Text(*styled_count(count)) for count in (*each.verdicts, each.errors)]
        table.add_row(Text(visible(name)), mean, *counts)
        metrics = list(_flat_metrics(each.metrics))
        for start in range(0, len(metrics), _METRICS_PER_LINE):
            shown = ", ".join(metrics[start : start + _METRICS_PER_LINE])
            lines.append(one_line(f"{name}: {shown}"))
    errors = (Text(visible(f"error: {text}"), style="red") for text in evaluator_errors(summary))
    return [table, *lines, *errors]


def _flat_metrics(metrics: JsonObject, prefix: str = "") -> Iterator[str]:
    """Yield every ratio with its name; counts, classes and settings are in the summary."""
    for name, value in metrics.items():
        if name in _HIDDEN_METRICS:
            continue
        if value is None or isinstance(value, float):
            yield f"{prefix}{name} {number(value)}"
        elif isinstance(value, dict):
            yield from _flat_metrics(value, f"{prefix}{name}.")


def _detection(detection: JsonObject) -> Columns:
    """Show average precision, average recall and PASCAL AP side by side."""
    pascal = cast("JsonObject", detection.get("pascal") or {})

    def table(title: str, metrics: JsonObject) -> Table:
        rows = metrics.items()
        pairs = [(k.replace("_", " "), number(cast("float | None", v))) for k, v in rows]
        return _score_table(ScoreTable((title, ""), pairs))

    tables = (
        table("Average precision", {k: v for k, v in detection.items() if k.startswith("AP")}),
        table("Average recall", {k: v for k, v in detection.items() if k.startswith("AR")}),
        table(
            f"PASCAL AP at IoU {pascal.get('iou_threshold')}",
            {"all points": pascal.get("every_point"), "11 points": pascal.get("eleven_point")},
        ),
    )
    return Columns(tables, padding=(0, TABLE_GAP))


def targets_view(summaries: Mapping[str, Summary], runs: Mapping[str, str]) -> Table:
    """Show the runs of several targets, the best mean score first.

    The cost is what the responses cost originally, so that a cached run is not cheaper.
    """
    table = plain_table("Target", ("Mean score", "Cases", "Errors", "Cost", "Seconds per call"))
    table.add_column("Run", overflow="fold")

    def worst_last(name: str) -> float:
        score = summaries[name].mean_score
        return inf if score is None else -sortable(score)

    for name in sorted(summaries, key=worst_last):
        summary = summaries[name]
        usage = target_usage(summary.usage)
        cost = usage.get("cost")
        table.add_row(
            Text(visible(name)),
            number(summary.mean_score),
            f"{summary.cases.total:,}",
            f"{summary.cases.errors:,}",
            number(cost, 4) if isinstance(cost, int | float) else DASH,
            number(seconds_per_call(usage), 2),
            Text(visible(runs.get(name, ""))),
        )
    return table
