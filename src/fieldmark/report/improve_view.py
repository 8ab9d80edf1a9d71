"""What to fix first: in a terminal, as Markdown and as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypedDict, cast

import orjson
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.tables import DASH, number
from fieldmark.report.terminal import one_line
from fieldmark.report.text_tables import csv_text
from fieldmark.values.escape import for_markdown, visible

__all__ = ["improve_csv", "improve_markdown", "improve_view"]

_LONGEST_VALUE: Final = 60
_MOST_CLUSTERS: Final = 10
_MOST_NAMES: Final = 4


class _Gain(TypedDict):
    attribute: str
    f1: float | None
    mistakes: int
    dominant: str
    cases: int
    gain: dict[str, float]
    patterns: list[dict[str, str | int]]
    hint: str


class _Cluster(TypedDict):
    pattern: str
    title: str
    hint: str
    mistakes: int
    attributes: dict[str, int]
    examples: list[JsonObject]


def improve_view(step: JsonObject, *, top: int | None = None) -> Group:
    """Attributes by the gain of fixing them, then clusters of mistakes that look alike."""
    rows, clusters = _attributes(step), _clusters(step)
    parts: list[RenderableType] = [one_line(f"· {note}", "dim") for note in _notes(step)]
    if not rows:
        return Group(*parts, one_line("Nothing to fix: no mistake was found.", "green"))
    parts.append(_table(rows[:top]))
    if top is not None and len(rows) > top:
        parts.append(one_line(f"… and {len(rows) - top} more attributes: --top 0 shows all", "dim"))
    for cluster in clusters[:_MOST_CLUSTERS]:
        parts += [Text(), *_cluster_lines(cluster)]
    if (more := len(clusters) - _MOST_CLUSTERS) > 0:
        rest = f"… and {more} smaller clusters: --format json has them all"
        parts += [Text(), one_line(rest, "dim")]
    return Group(*parts)


def improve_markdown(step: JsonObject, *, top: int | None = None) -> str:
    """The same for a pull request or a ticket."""
    lines = [
        "| Attribute | F1 | Mistakes | Mostly | Would return | Looks like |",
        "|---|--:|--:|---|--:|---|",
    ]
    lines += [
        f"| {for_markdown(row['attribute'])} | {number(row['f1'])} | {row['mistakes']} | "
        f"{_words(row['dominant'])} | {_gain(row)} | {for_markdown(_patterns(row))} |"
        for row in _attributes(step)[:top]
    ]
    for cluster in _clusters(step)[:_MOST_CLUSTERS]:
        lines += ["", f"**{cluster['title']}** ({cluster['mistakes']}): {cluster['hint']}", ""]
        lines += [f"- {for_markdown(_example(each))}" for each in cluster["examples"]]
    lines += [f"\n> {for_markdown(note)}" for note in _notes(step)]
    return "\n".join(lines) + "\n"


def improve_csv(step: JsonObject) -> str:
    """Every attribute with full precision."""
    columns = (
        "attribute", "f1", "mistakes", "dominant", "cases", "gain_mean_score",
        "gain_macro_f1_by_attribute", "gain_micro_f1", "pattern", "hint",
    )  # fmt: skip
    rows: list[list[JsonValue]] = [
        [
            row["attribute"],
            row["f1"],
            row["mistakes"],
            row["dominant"],
            row["cases"],
            *row["gain"].values(),
            row["patterns"][0]["pattern"] if row["patterns"] else "",
            row["hint"],
        ]
        for row in _attributes(step)
    ]
    return csv_text(columns, rows)


def _attributes(step: JsonObject) -> list[_Gain]:
    return cast("list[_Gain]", step["attributes"])


def _clusters(step: JsonObject) -> list[_Cluster]:
    return cast("list[_Cluster]", step["clusters"])


def _notes(step: JsonObject) -> list[str]:
    return cast("list[str]", step["notes"])


def _table(rows: list[_Gain]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True)
    table.add_column("Fix first", overflow="fold")
    for title in ("F1", "Mistakes", "Cases", "Would return"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("Mostly", no_wrap=True)
    table.add_column("Looks like", overflow="fold")
    for row in rows:
        table.add_row(
            Text(visible(row["attribute"])),
            number(row["f1"]),
            str(row["mistakes"]),
            str(row["cases"]),
            Text(_gain(row), style="green"),
            _words(row["dominant"]),
            Text(_patterns(row), style="dim"),
        )
    return table


def _gain(row: _Gain) -> str:
    return f"+{row['gain']['mean_score']:.3f}"


def _patterns(row: _Gain) -> str:
    return ", ".join(
        f"{_words(str(each['pattern']))} {each['mistakes']}" for each in row["patterns"]
    )


def _words(name: str) -> str:
    return name.replace("_", " ")


def _cluster_lines(cluster: _Cluster) -> Iterator[Text]:
    names = [f"{visible(path)} {times}" for path, times in cluster["attributes"].items()]
    more = f", and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    title = f"{cluster['title']}: {cluster['mistakes']} ({', '.join(names[:_MOST_NAMES])}{more})"
    yield Text(title, style="bold")
    for example in cluster["examples"]:
        yield one_line(f"    {_example(example)}", "dim")
    yield Text(f"  → {cluster['hint']}")


def _example(example: JsonObject) -> str:
    source = f" (that of {example['other_field']})" if "other_field" in example else ""
    expected, candidate = (
        _short_value(example[side]) if side in example else DASH
        for side in ("expected", "candidate")
    )
    return f"{example['case_id']}  {example['path']}: {expected} → {candidate}{source}"


def _short_value(value: JsonValue) -> str:
    """A value on one line, cut where it is long."""
    try:
        text = orjson.dumps(value).decode()
    except TypeError:
        text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
