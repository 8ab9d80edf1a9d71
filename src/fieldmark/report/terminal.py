"""The figures of a run as a person reads them in a terminal."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Final

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from fieldmark.metrics.gate import GateKind, GateResult
from fieldmark.metrics.summary import Summary
from fieldmark.report.escape import visible
from fieldmark.report.tables import AttributeRow, attribute_rows, number

__all__ = ["as_text", "attribute_table", "run_view"]

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
    parts.append(_coverage(summary))
    parts += [_gate(gate) for gate in summary.gates]
    parts += [_line(f"warning: {visible(text)}", "yellow") for text in summary.warnings]
    return Group(*parts)


def attribute_table(summary: Summary, *, top: int | None = None) -> RenderableType:
    """One line an attribute, worst first; with `top`, only so many of them."""
    rows = attribute_rows(summary)
    table = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True)
    # Columns that may wrap give way first; their texts are cut instead, so that numbers stay whole.
    table.add_column("Attribute")
    for name in ("TP", "TN", "FP", "FN"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("Precision", "Recall", "F1"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, min_width=_BAR)
    table.add_column("Mistakes")
    for row in rows[:top]:
        table.add_row(*_cells(row))
    if top is None or len(rows) <= top:
        return table
    rest = f"… and {len(rows) - top} more attributes: --top 0 shows them all"
    return Group(table, Text(rest, style="dim"))


def _cells(row: AttributeRow) -> list[Text]:
    style = _style(row.f1, wrong=bool(row.fp or row.fn or row.errors))
    counts = [
        Text(str(count) if count else "·", style="" if count else "dim")
        for count in (row.tp, row.tn, row.fp, row.fn)
    ]
    rates = [Text(number(rate)) for rate in (row.precision, row.recall)]
    return [
        Text(visible(row.attribute), no_wrap=True, overflow="ellipsis"),
        *counts,
        *rates,
        Text(number(row.f1), style=style),
        Text(_bar(row.f1), style=style),
        Text(_mistakes(row), "dim", no_wrap=True, overflow="ellipsis"),
    ]


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


def _rates(summary: Summary) -> Table:
    macro, micro = summary.macro, summary.micro
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Scores", no_wrap=True)
    for name in ("Precision", "Recall", "F1"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, rates in (
        ("micro (all fields pooled)", (micro.precision, micro.recall, micro.f1)),
        ("macro by attribute", macro.by_attribute[:3]),
        ("macro by case", macro.by_case[:3]),
    ):
        table.add_row(name, *map(number, rates))
    table.add_row(f"mean score ({summary.convention.name})", "", "", number(summary.mean_score))
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
    sign = "≥" if gate.kind is GateKind.MIN else "≤"
    value = "undefined" if gate.value is None else number(gate.value, 4)
    word, style = ("pass", "green") if gate.passed else ("FAIL", "bold red")
    return _line(
        f"gate {word}: {visible(gate.name)} = {value}, wanted {sign} {gate.limit:g}", style
    )


def _line(text: str, style: str = "") -> Text:
    """One line that stays one, however long: it is looked for, copied and cut by other tools."""
    return Text(text, style, no_wrap=True, overflow="ignore")
