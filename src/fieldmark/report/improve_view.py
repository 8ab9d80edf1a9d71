"""What to fix first, for the terminal, as Markdown and as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import orjson
from rich.console import Group, RenderableType
from rich.text import Text

from fieldmark.metrics.clusters import MistakeCluster, MistakeExample
from fieldmark.metrics.patterns import BY_NAME
from fieldmark.model.json import JsonValue, Missing
from fieldmark.report.csv_text import csv_text
from fieldmark.report.tables import DASH, more_text, number, outcome_text
from fieldmark.report.terminal import one_line, plain_table
from fieldmark.values.escape import for_markdown, visible
from fieldmark.values.text import plural
from fieldmark.wire.improvement import AttributeGain, Improvement

__all__ = ["improve_csv", "improve_markdown", "improve_view"]

_MAX_VALUE_LENGTH: Final = 60
_MAX_CLUSTERS: Final = 10
_MAX_NAMES: Final = 4


def improve_view(step: Improvement, *, top: int | None = None) -> Group:
    """Show attributes by the gain of fixing them, then mistakes grouped by pattern."""
    rows, clusters = step.attributes, step.clusters
    parts: list[RenderableType] = [one_line(f"· {note}", "dim") for note in step.notes]
    if not rows:
        return Group(*parts, one_line("no mistakes found", "green"))
    numbers = ("F1", "Mistakes", "Cases", "Gain")
    table = plain_table("Fix first", numbers, collapse=True)
    table.add_column("Mostly", no_wrap=True)
    table.add_column("Patterns", overflow="fold")
    for row in rows[:top]:
        table.add_row(
            Text(visible(row.attribute)),
            number(row.f1),
            str(row.mistakes.total),
            str(row.cases),
            Text(_gain(row), style="green"),
            outcome_text(row.dominant),
            Text(_patterns(row), style="dim"),
        )
    parts.append(table)
    if top is not None and len(rows) > top:
        parts.append(one_line(more_text(len(rows) - top, "attribute"), "dim"))
    if step.repeated:
        parts += [Text(), Text("Repeated errors", style="bold")]
        parts += [one_line(f"  {visible(each.text)}") for each in step.repeated[:_MAX_CLUSTERS]]
    for cluster in clusters[:_MAX_CLUSTERS]:
        parts += [Text(), *_cluster_lines(cluster)]
    if (more := len(clusters) - _MAX_CLUSTERS) > 0:
        rest = f"… and {plural(more, 'more pattern')}; --format json lists all"
        parts += [Text(), one_line(rest, "dim")]
    return Group(*parts)


def improve_markdown(step: Improvement, *, top: int | None = None) -> str:
    """Return the same content for a pull request or an issue."""
    lines = [
        *(f"> {for_markdown(note)}\n" for note in step.notes),
        "| Attribute | F1 | Mistakes | Mostly | Gain | Patterns |",
        "|---|--:|--:|---|--:|---|",
    ]
    lines += [
        f"| {for_markdown(row.attribute)} | {number(row.f1)} | {row.mistakes.total} | "
        f"{outcome_text(row.dominant)} | {_gain(row)} | {for_markdown(_patterns(row))} |"
        for row in step.attributes[:top]
    ]
    if step.repeated:
        lines += ["", "**Repeated errors**", ""]
        lines += [f"- {for_markdown(each.text)}" for each in step.repeated[:_MAX_CLUSTERS]]
    for cluster in step.clusters[:_MAX_CLUSTERS]:
        pattern = cluster.pattern
        lines += [
            "",
            f"**{pattern.title}** ({plural(cluster.number, 'mistake')}): {pattern.hint}",
            "",
        ]
        lines += [f"- {for_markdown(_example(each))}" for each in cluster.examples]
    return "\n".join(lines) + "\n"


def improve_csv(step: Improvement) -> str:
    """Return all attributes with full precision."""
    columns = (
        "attribute", "f1", "mistakes", "dominant", "cases", "gain_mean_score",
        "gain_macro_f1_by_attribute", "gain_micro_f1", "pattern", "hint",
    )  # fmt: skip
    rows: list[list[JsonValue]] = [
        [
            row.attribute,
            row.f1,
            row.mistakes.total,
            row.dominant,
            row.cases,
            row.mean_score,
            row.macro_f1,
            row.micro_f1,
            row.patterns[0][0] if row.patterns else "",
            row.hint,
        ]
        for row in step.attributes
    ]
    return csv_text(columns, rows)


def _gain(row: AttributeGain) -> str:
    return f"+{row.mean_score:.3f}"


def _patterns(row: AttributeGain) -> str:
    return ", ".join(f"{BY_NAME[name].title} ({times})" for name, times in row.patterns)


def _cluster_lines(cluster: MistakeCluster) -> Iterator[Text]:
    names = [f"{visible(path)} {times}" for path, times in cluster.attributes.most_common()]
    more = f", and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    shown = f"{', '.join(names[:_MAX_NAMES])}{more}"
    mistakes = plural(cluster.number, "mistake")
    yield Text(f"{cluster.pattern.title}: {mistakes} ({shown})", style="bold")
    for example in cluster.examples:
        yield one_line(f"    {_example(example)}", "dim")
    yield Text(f"  → {cluster.pattern.hint}")


def _example(example: MistakeExample) -> str:
    source = f" (value of {example.note})" if example.note else ""
    sides = f"{_short_value(example.expected)} → {_short_value(example.candidate)}"
    return f"{example.case_id}  {example.path}: {sides}{source}"


def _short_value(value: JsonValue | Missing) -> str:
    """Return a value on one line, truncated if it is long."""
    if isinstance(value, Missing):
        return DASH
    try:
        text = orjson.dumps(value).decode()
    except TypeError:
        text = repr(value)
    return text if len(text) <= _MAX_VALUE_LENGTH else f"{text[: _MAX_VALUE_LENGTH - 1]}…"
