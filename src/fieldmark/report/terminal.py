"""The figures of a run in a terminal."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast

from rich.columns import Columns
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.table import Table
from rich.text import Text

from fieldmark.metrics.summary import Summary
from fieldmark.model.json import JsonObject
from fieldmark.report.tables import DASH, AttributeRow, attribute_rows, gate_text, number
from fieldmark.values.escape import visible

__all__ = ["as_text", "attribute_table", "one_line", "plain_table", "run_view"]

_BAR: Final = 10
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_GOOD: Final = 0.9
_FAIR: Final = 0.6
_FIGURES_A_LINE: Final = 6
_HIDDEN_FIGURES: Final = frozenset({"classes", "iou_threshold"})
_MISTAKES: Final = (
    ("wrong_value", "wrong"),
    ("format_error", "format"),
    ("omission", "missing"),
    ("hallucination", "invented"),
    ("errors", "error"),
)


def as_text(renderable: RenderableType, *, width: int = 120) -> str:
    """The text that a terminal of some width would show, without colour."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    with console.capture() as capture:
        console.print(renderable, crop=False)
    return capture.get().rstrip("\n")


def one_line(text: str, style: str = "") -> Text:
    """Text on one line, however long: other tools search, copy and cut it."""
    return Text(visible(text), style, no_wrap=True, overflow="ignore")


def plain_table(title: str, columns: Iterable[str] = (), *, collapse: bool = False) -> Table:
    """A table without borders: a column of names that may wrap, then columns of numbers."""
    table = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=collapse)
    table.add_column(title, overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def run_view(summary: Summary, notes: Sequence[str] = (), *, top: int | None = None) -> Group:
    """The whole run: attributes, mistakes, scores, coverage, gates and warnings."""
    parts: list[RenderableType] = [one_line(f"· {note}", "dim") for note in notes]
    parts += [attribute_table(summary, top=top), Text(), _scores(summary), Text()]
    if summary.evaluators:
        parts += [_evaluators(summary), *map(one_line, _figure_lines(summary)), Text()]
    if summary.detection:
        parts += [_detection(summary.detection), Text()]
    parts.append(_coverage(summary))
    parts += map(one_line, _usage_lines(summary))
    for gate in summary.gates:
        word, style = ("pass", "green") if gate.passed else ("FAIL", "bold red")
        parts.append(one_line(f"gate {word}: {gate_text(gate)}", style))
    parts += [one_line(f"warning: {text}", "yellow") for text in summary.warnings]
    return Group(*parts)


def attribute_table(summary: Summary, *, top: int | None = None) -> RenderableType:
    """One line for each attribute, worst first; with `top`, only so many of them."""
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


def _f1_style(row: AttributeRow) -> str:
    wrong = row.f1 is None and (row.fp or row.fn or row.errors)
    return "red" if wrong else _style(row.f1)


def _style(value: float | None) -> str:
    if value is None:
        return "dim"
    return "green" if value >= _GOOD else "yellow" if value >= _FAIR else "red"


def _bar(value: float | None) -> str:
    """A bar in eighths of a character."""
    full, part = divmod(round((value or 0) * _BAR * 8), 8)
    return "█" * full + (_EIGHTHS[part] if part else "")


def _mistakes(row: AttributeRow) -> Text:
    counts = ((getattr(row, name), word) for name, word in _MISTAKES)
    text = ", ".join(f"{count} {word}" for count, word in counts if count)
    return Text(text, "dim", no_wrap=True, overflow="ellipsis")


_COLUMNS: Final = (
    _Column(title="TP", cell=lambda row: _count(row.tp)),
    _Column(title="TN", cell=lambda row: _count(row.tn), from_width=60),
    _Column(title="FP", cell=lambda row: _count(row.fp)),
    _Column(title="FN", cell=lambda row: _count(row.fn)),
    _Column(title="Precision", cell=lambda row: Text(number(row.precision)), from_width=50),
    _Column(title="Recall", cell=lambda row: Text(number(row.recall)), from_width=50),
    _Column(title="F1", cell=lambda row: Text(number(row.f1), style=_f1_style(row))),
    _Column(
        title="",
        cell=lambda row: Text(_bar(row.f1), style=_f1_style(row)),
        from_width=90,
        justify="left",
        min_width=_BAR,
    ),
    _Column(title="Mistakes", cell=_mistakes, from_width=70, justify="left", gives_way=True),
)


def _scores(summary: Summary) -> Columns:
    """Three small tables, beside each other as far as the terminal is wide."""
    quality, macro, micro = summary.quality, summary.macro, summary.micro
    # Where evaluators score cases, the convention only counts their fields.
    scorer = "evaluators" if summary.evaluators else summary.convention.name
    rates = plain_table("Scores", ("Precision", "Recall", "F1"))
    for name, values in (
        ("micro (all fields pooled)", (micro.precision, micro.recall, micro.f1)),
        ("macro by attribute", macro.by_attribute[:3]),
        ("macro by case", macro.by_case[:3]),
    ):
        rates.add_row(name, *map(number, values))
    rates.add_row(f"mean score ({scorer})", "", "", number(summary.mean_score))
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
    tables = [rates, _pairs("Mistakes", mistakes), _pairs("Quality", figures)]
    return Columns(tables, padding=(0, 4))


def _pairs(title: str, rows: Iterable[tuple[str, str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(title, no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def _evaluators(summary: Summary) -> Table:
    """One line for each evaluator: its mean score, and how many cases got which verdict."""
    table = plain_table("Evaluator", ("Mean score", "Pass", "Partial", "Fail", "Errors"))
    for name, each in summary.evaluators.items():
        mean = Text(number(each.mean_score), style=_style(each.mean_score))
        table.add_row(Text(visible(name)), mean, *map(_count, (*each.verdicts, each.errors)))
    return table


def _figure_lines(summary: Summary) -> Iterator[str]:
    """The figures that evaluators have for all cases together, a few on each line."""
    for name, each in summary.evaluators.items():
        figures = list(_flat_figures(each.figures))
        for start in range(0, len(figures), _FIGURES_A_LINE):
            yield f"{name}: {', '.join(figures[start : start + _FIGURES_A_LINE])}"


def _flat_figures(figures: JsonObject, prefix: str = "") -> Iterator[str]:
    """Every share with its name; counts, classes and settings are in the summary."""
    for name, value in figures.items():
        if name in _HIDDEN_FIGURES:
            continue
        if value is None or isinstance(value, float):
            yield f"{prefix}{name} {number(value)}"
        elif isinstance(value, dict):
            yield from _flat_figures(value, f"{prefix}{name}.")


def _detection(detection: JsonObject) -> Columns:
    """Average precision, average recall and the PASCAL figures beside each other."""
    pascal = cast("JsonObject", detection.get("pascal") or {})

    def table(title: str, figures: JsonObject) -> Table:
        rows = figures.items()
        return _pairs(
            title, [(k.replace("_", " "), number(cast("float | None", v))) for k, v in rows]
        )

    tables = (
        table("Average precision", {k: v for k, v in detection.items() if k.startswith("AP")}),
        table("Average recall", {k: v for k, v in detection.items() if k.startswith("AR")}),
        table(
            f"PASCAL at {pascal.get('iou_threshold')}",
            {name: pascal.get(name) for name in ("every_point", "eleven_point")},
        ),
    )
    return Columns(tables, padding=(0, 4))


def _coverage(summary: Summary) -> Text:
    cases, verdicts = summary.cases, summary.verdicts
    noun = "case" if cases.total == 1 else "cases"
    parts = [f"{cases.total} {noun}", f"{cases.scored} scored", f"{cases.perfect} perfect"]
    problems = (
        (cases.missing, "without candidate"),
        (cases.unparseable, "unparseable"),
        (cases.invalid_truth, "with unreadable truth"),
        (cases.unexpected, "candidates without truth"),
        (cases.errors, "with errors"),
    )
    parts += [f"{count} {word}" for count, word in problems if count]
    marks = f"{verdicts.passed} pass, {verdicts.partial} partial, {verdicts.failed} fail"
    return one_line(f"{', '.join(parts)}; verdicts: {marks}")


def _usage_lines(summary: Summary) -> Iterator[str]:
    """One line for each model that was called: calls, tokens, cost."""
    models = summary.usage.get("asked")
    for model in models if isinstance(models, list) else []:
        if isinstance(model, dict):
            cost = model.get("cost")
            price = f", cost {cost:.4f}" if isinstance(cost, int | float) else ""
            counts = (model.get(key) for key in ("calls", "input_tokens", "output_tokens"))
            calls, read, written = (
                f"{count:,}" if isinstance(count, int) else DASH for count in counts
            )
            name = f"{model.get('name')} {model.get('model')}"
            yield f"{name}: {calls} calls, {read} + {written} tokens{price}"
