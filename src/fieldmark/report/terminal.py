"""Tables of a run for the terminal."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast

from rich.columns import Columns
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.table import Table
from rich.text import Text

from fieldmark.metrics.headline import QUALITY_METRICS, flag_text
from fieldmark.metrics.summary import BY_CASE_EVALUATOR, QUALITY_EVALUATOR, Summary
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.tables import (
    DASH,
    TOP_HINT,
    AttributeRow,
    attribute_rows,
    evaluator_errors,
    gate_line,
    more_text,
    number,
    outcome_text,
    score_text,
    split_warnings,
)
from fieldmark.values.escape import visible
from fieldmark.values.text import plural

__all__ = ["as_text", "attribute_table", "one_line", "plain_table", "run_view", "usage_lines"]

_BAR: Final = 10
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_GOOD: Final = 0.9
_FAIR: Final = 0.6
_METRICS_PER_LINE: Final = 6
_HIDDEN_METRICS: Final = frozenset({"classes", "iou_threshold"})
_MISTAKES: Final = ("wrong_value", "format_error", "omission", "hallucination")


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
    parts.append(_coverage(summary))
    parts += map(one_line, usage_lines(summary.spent))
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
        shown = [column for column in _COLUMNS if options.max_width >= column.min_terminal_width]
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
            table.add_row(Text(visible(row.attribute)), *(column.cell(row) for column in shown))
        return [table]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """A column beside the names, shown in terminals of at least `min_terminal_width`."""

    title: str
    cell: Callable[[AttributeRow], Text]
    min_terminal_width: int = 0
    justify: Literal["left", "right"] = "right"
    min_width: int | None = None
    shrinks: bool = False


def _count(value: int) -> Text:
    return Text(str(value)) if value else Text("·", style="dim")


def _f1_style(row: AttributeRow) -> str:
    wrong = row.f1 is None and (row.fp or row.fn or row.errors)
    return "red" if wrong else _style(row.f1)


def _style(value: float | None) -> str:
    if value is None:
        return "dim"
    return "green" if value >= _GOOD else "yellow" if value >= _FAIR else "red"


def _bar(row: AttributeRow) -> Text:
    """Draw F1 as a bar, in eighths of a character: 0 has the shortest bar, undefined has none."""
    if row.f1 is None:
        return Text()
    full, part = divmod(max(1, round(row.f1 * _BAR * 8)), 8)
    return Text("█" * full + (_EIGHTHS[part] if part else ""), style=_style(row.f1))


def _mistakes(row: AttributeRow) -> Text:
    counts = ((getattr(row, name), outcome_text(name)) for name in _MISTAKES)
    parts = [f"{count} {text}" for count, text in counts if count]
    parts += [plural(row.errors, "error")] if row.errors else []
    if row.f1 is not None and not (row.tp or row.fp or row.fn):
        parts.append("vacuous")
    text = ", ".join(parts)
    return Text(text, "dim", no_wrap=True, overflow="ellipsis")


_COLUMNS: Final = (
    _Column(title="TP", cell=lambda row: _count(row.tp)),
    _Column(title="TN", cell=lambda row: _count(row.tn), min_terminal_width=60),
    _Column(title="FP", cell=lambda row: _count(row.fp)),
    _Column(title="FN", cell=lambda row: _count(row.fn)),
    _Column(title="Precision", cell=lambda row: Text(number(row.precision)), min_terminal_width=50),
    _Column(title="Recall", cell=lambda row: Text(number(row.recall)), min_terminal_width=50),
    _Column(title="F1", cell=lambda row: Text(number(row.f1), style=_f1_style(row))),
    _Column(title="", cell=_bar, min_terminal_width=90, justify="left", min_width=_BAR),
    _Column(title="Mistakes", cell=_mistakes, min_terminal_width=70, justify="left", shrinks=True),
)


def _scores(summary: Summary) -> Group:
    """Show three small tables, side by side if they fit; the primary metric comes first."""
    macro, micro, quality = summary.macro, summary.micro, summary.quality
    rqs_leads = next(iter(summary.metrics)) == "rqs"
    # With evaluators, the convention only counts fields; the evaluators score the cases.
    scorer = " (evaluators)" if summary.evaluators else ""
    by_case, rater = (
        " (evaluators)" if option in summary.convention.options else ""
        for option in (BY_CASE_EVALUATOR, QUALITY_EVALUATOR)
    )
    scores = {
        "mean_score": (f"mean score{scorer}", "", "", number(summary.mean_score)),
        "macro_f1_by_attribute": ("macro by attribute", *map(number, macro.by_attribute[:3])),
        "macro_f1_by_case": (f"macro by case{by_case}", *map(number, macro.by_case[:3])),
        "micro_f1": (
            "micro (all fields pooled)",
            *map(number, (micro.precision, micro.recall, micro.f1)),
        ),
    }
    qualities = {name: (name, number(getattr(quality, name))) for name in QUALITY_METRICS[:-1]}
    has_rqs = rqs_leads or "safety" not in summary.flags
    if has_rqs:
        maximum = number(quality.rqs_max, 2)
        qualities["rqs"] = ("RQS", f"{number(quality.rqs)} of {maximum}")
    else:
        del qualities["safety"]  # nothing was judged
    counts = summary.errors_by_type._asdict().items()
    mistakes = ((outcome_text(name), str(count)) for name, count in counts)
    title = f"Scores ({summary.convention.name})"
    tables = [
        _noted_table(summary, (title, "Precision", "Recall", "F1"), scores),
        _pairs("Mistakes", mistakes),
        _noted_table(summary, (f"Quality{rater}", ""), qualities),
    ]
    columns = Columns(tables[::-1] if rqs_leads else tables, padding=(0, 4))
    return Group(columns, Text(), one_line(summary.rqs_formula)) if has_rqs else Group(columns)


def _noted_table(
    summary: Summary, titles: Sequence[str], rows: Mapping[str, tuple[str, ...]]
) -> Table:
    """Return rows by metric in the order of the run, each with a note such as "vacuous"."""
    table = plain_table(titles[0], titles[1:])
    notes = {name: flag_text(summary.flags, name) for name in rows}
    if any(notes.values()):
        table.add_column("", no_wrap=True)
    for name in sorted(rows, key=[*summary.metrics, *rows].index):
        table.add_row(*rows[name], *([notes[name]] if any(notes.values()) else []))
    return table


def _pairs(title: str, rows: Iterable[tuple[str, str]]) -> Table:
    table = plain_table(title, ("",))
    for row in rows:
        table.add_row(*row)
    return table


def _evaluators(summary: Summary) -> list[RenderableType]:
    """Show one line per evaluator, then its metrics over all cases."""
    table = plain_table("Evaluator", ("Mean score", "Pass", "Partial", "Fail", "Errors"))
    lines: list[Text] = []
    for name, each in summary.evaluators.items():
        shown = score_text(each.mean_score, vacuous=each.is_vacuous)
        mean = Text(shown, style=_style(None if each.is_vacuous else each.mean_score))
        table.add_row(Text(visible(name)), mean, *map(_count, (*each.verdicts, each.errors)))
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
        return _pairs(
            title, [(k.replace("_", " "), number(cast("float | None", v))) for k, v in rows]
        )

    tables = (
        table("Average precision", {k: v for k, v in detection.items() if k.startswith("AP")}),
        table("Average recall", {k: v for k, v in detection.items() if k.startswith("AR")}),
        table(
            f"PASCAL AP at IoU {pascal.get('iou_threshold')}",
            {"all points": pascal.get("every_point"), "11 points": pascal.get("eleven_point")},
        ),
    )
    return Columns(tables, padding=(0, 4))


def _coverage(summary: Summary) -> Text:
    cases, verdicts = summary.cases, summary.verdicts
    parts = [plural(cases.total, "case"), f"{cases.scored:,} scored", f"{cases.perfect:,} perfect"]
    problems = (
        (cases.missing, "without prediction"),
        (cases.unparseable, "unparseable"),
        (cases.invalid_truth, "with invalid ground truth"),
        (cases.errors, "with errors"),
    )
    parts += [f"{count:,} {text}" for count, text in problems if count]
    if cases.unexpected:
        parts.append(f"{plural(cases.unexpected, 'prediction')} without ground truth")
    counts = f"{verdicts.passed:,} pass, {verdicts.partial:,} partial, {verdicts.failed:,} fail"
    return one_line(f"{', '.join(parts)}; verdicts: {counts}")


def usage_lines(spent: JsonObject) -> Iterator[str]:
    """Yield one line per model: the calls that were paid for, and those from the cache."""
    models = spent.get("asked")
    for model in models if isinstance(models, list) else []:
        if isinstance(model, dict):
            counts = (model.get(key) for key in ("requests", "input_tokens", "output_tokens"))
            calls, tokens_in, tokens_out = (
                f"{count:,}" if isinstance(count, int) else DASH for count in counts
            )
            price = _cost(", cost", model.get("cost"))
            line = f"{model.get('name')} {model.get('model')}: "
            line += f"{calls} calls, {tokens_in} + {tokens_out} tokens{price}"
            replayed = model.get("replayed_calls")
            if isinstance(replayed, int) and replayed:
                price = _cost(", which cost", model.get("replayed_cost"))
                line += f"; cached responses of {plural(replayed, 'call')}{price}"
            yield line


def _cost(label: str, cost: JsonValue) -> str:
    return f"{label} {cost:.4f}" if isinstance(cost, int | float) else ""
