"""The figures of a run as a person reads them in a terminal."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rich.columns import Columns
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.table import Table
from rich.text import Text

from fieldmark.metrics.gates import GateResult
from fieldmark.metrics.summary import Summary
from fieldmark.report.detection import detection_tables
from fieldmark.report.remarks import figure_lines, usage_lines
from fieldmark.report.tables import AttributeRow, attribute_rows, gate_text, number
from fieldmark.values.escape import visible

__all__ = ["as_text", "attribute_table", "evaluator_table", "run_view"]

_BAR: Final = 10
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_GOOD: Final = 0.9
_FAIR: Final = 0.6
_MISTAKES: Final = (
    ("wrong_value", "wrong"),
    ("format_error", "format"),
    ("omission", "missing"),
    ("hallucination", "invented"),
    ("errors", "error"),
)


def as_text(renderable: RenderableType, *, width: int = 120) -> str:
    """What would be shown on a terminal of some width, without colour."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    with console.capture() as capture:
        console.print(renderable, crop=False)
    return capture.get().rstrip("\n")


def run_view(summary: Summary, notes: Sequence[str] = (), *, top: int | None = None) -> Group:
    """The whole run: attributes, mistakes, scores, coverage, gates and warnings."""
    parts: list[RenderableType] = [_line(f"· {visible(note)}", "dim") for note in notes]
    parts += [attribute_table(summary, top=top), Text(), _scores(summary), Text()]
    if summary.evaluators:
        figures = [_line(visible(text)) for text in figure_lines(summary)]
        parts += [evaluator_table(summary), *figures, Text()]
    if summary.detection:
        parts += [detection_tables(summary.detection), Text()]
    parts.append(_coverage(summary))
    parts += [_line(visible(text)) for text in usage_lines(summary)]
    parts += [_gate(gate) for gate in summary.gates]
    parts += [_line(f"warning: {visible(text)}", "yellow") for text in summary.warnings]
    return Group(*parts)


def attribute_table(summary: Summary, *, top: int | None = None) -> RenderableType:
    """One line an attribute, worst first; with `top`, only so many of them."""
    rows = attribute_rows(summary)
    table = _AttributeTable(rows[:top])
    if top is None or len(rows) <= top:
        return table
    rest = f"… and {len(rows) - top} more attributes: --top 0 shows them all"
    return Group(table, Text(rest, style="dim"))


@dataclass(frozen=True, slots=True)
class _AttributeTable:
    """A table with as many columns as the terminal has room for beside the names."""

    rows: Sequence[AttributeRow]

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> list[Table]:
        shown = [column for column in _COLUMNS if options.max_width >= column.from_width]
        table = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True)
        # Columns that may wrap give way first, so that numbers stay whole.
        table.add_column("Attribute", overflow="fold")
        for column in shown:
            table.add_column(
                column.title,
                justify=column.justify,
                no_wrap=not column.gives_way,
                min_width=column.min_width,
            )
        for row in self.rows:
            table.add_row(Text(visible(row.attribute)), *(column.cell(row) for column in shown))
        return [table]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """A column beside the names, and the width of terminal from which on it is shown."""

    title: str
    cell: Callable[[AttributeRow], Text]
    from_width: int = 0
    justify: Literal["left", "right"] = "right"
    min_width: int | None = None
    gives_way: bool = False


def _count(value: int) -> Text:
    return Text(str(value)) if value else Text("·", style="dim")


def _style_of(row: AttributeRow) -> str:
    return _style(row.f1, wrong=bool(row.fp or row.fn or row.errors))


def _mistakes_cell(row: AttributeRow) -> Text:
    return Text(_mistakes(row), "dim", no_wrap=True, overflow="ellipsis")


_COLUMNS: Final = (
    _Column(title="TP", cell=lambda row: _count(row.tp)),
    _Column(title="TN", cell=lambda row: _count(row.tn), from_width=60),
    _Column(title="FP", cell=lambda row: _count(row.fp)),
    _Column(title="FN", cell=lambda row: _count(row.fn)),
    _Column(title="Precision", cell=lambda row: Text(number(row.precision)), from_width=50),
    _Column(title="Recall", cell=lambda row: Text(number(row.recall)), from_width=50),
    _Column(title="F1", cell=lambda row: Text(number(row.f1), style=_style_of(row))),
    _Column(
        title="",
        cell=lambda row: Text(_bar(row.f1), style=_style_of(row)),
        from_width=90,
        justify="left",
        min_width=_BAR,
    ),
    _Column(title="Mistakes", cell=_mistakes_cell, from_width=70, justify="left", gives_way=True),
)


def _mistakes(row: AttributeRow) -> str:
    counts = ((getattr(row, name), word) for name, word in _MISTAKES)
    return ", ".join(f"{count} {word}" for count, word in counts if count)


def _style(value: float | None, *, wrong: bool = False) -> str:
    if value is None:
        return "red" if wrong else "dim"
    return "green" if value >= _GOOD else "yellow" if value >= _FAIR else "red"


def _bar(value: float | None) -> str:
    """A bar in eighths of a character."""
    if value is None:
        return ""
    eighths = round(value * _BAR * 8)
    full, part = divmod(eighths, 8)
    return "█" * full + (_EIGHTHS[part] if part else "")


def _scores(summary: Summary) -> Columns:
    """Three small tables, beside each other as far as the terminal is wide."""
    quality = summary.quality
    mistakes = [
        (kind.replace("_", " "), str(count))
        for kind, count in summary.errors_by_type._asdict().items()
    ]
    figures = [
        ("completeness", number(quality.completeness)),
        ("hallucination", number(quality.hallucination)),
        ("accuracy", number(quality.accuracy)),
        ("RQS", f"{number(quality.rqs)} of {number(quality.rqs_max, 2)}"),
    ]
    tables = [_rates(summary), _pairs("Mistakes", mistakes), _pairs("Quality", figures)]
    return Columns(tables, padding=(0, 4))


def evaluator_table(summary: Summary) -> Table:
    """One line an evaluator: its mean score, and how many cases got which verdict."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Evaluator", overflow="fold")
    for name in ("Mean score", "Pass", "Partial", "Fail", "Errors"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, each in summary.evaluators.items():
        mean = Text(number(each.mean_score), style=_style(each.mean_score))
        counts = (*each.verdicts, each.errors)
        table.add_row(Text(visible(name)), mean, *map(_count, counts))
    return table


def _rates(summary: Summary) -> Table:
    macro, micro = summary.macro, summary.micro
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Scores")
    for name in ("Precision", "Recall", "F1"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, rates in (
        ("micro (all fields pooled)", (micro.precision, micro.recall, micro.f1)),
        ("macro by attribute", macro.by_attribute[:3]),
        ("macro by case", macro.by_case[:3]),
    ):
        table.add_row(name, *map(number, rates))
    # Where evaluators score cases, the convention only counts their fields.
    whose = "evaluators" if summary.evaluators else summary.convention.name
    table.add_row(f"mean score ({whose})", "", "", number(summary.mean_score))
    return table


def _pairs(title: str, rows: Sequence[tuple[str, str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(title, no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def _coverage(summary: Summary) -> Text:
    cases, verdicts = summary.cases, summary.verdicts
    noun = "case" if cases.total == 1 else "cases"
    parts = [f"{cases.total} {noun}", f"{cases.scored} scored", f"{cases.perfect} perfect"]
    oddities = (
        (cases.missing, "without candidate"),
        (cases.unparseable, "unparseable"),
        (cases.invalid_truth, "with unreadable truth"),
        (cases.unexpected, "candidates without truth"),
        (cases.errors, "with errors"),
    )
    parts += [f"{count} {word}" for count, word in oddities if count]
    marks = f"{verdicts.passed} pass, {verdicts.partial} partial, {verdicts.failed} fail"
    return _line(f"{', '.join(parts)}; verdicts: {marks}")


def _gate(gate: GateResult) -> Text:
    word, style = ("pass", "green") if gate.passed else ("FAIL", "bold red")
    return _line(f"gate {word}: {visible(gate_text(gate))}", style)


def _line(text: str, style: str = "") -> Text:
    """One line that stays one, however long: it is looked for, copied and cut by other tools."""
    return Text(text, style, no_wrap=True, overflow="ignore")
