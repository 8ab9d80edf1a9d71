"""What to fix first, as a person reads it, and as Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Final, TypedDict, cast

import orjson
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.tables import number
from fieldmark.values.escape import for_csv, for_markdown, visible

__all__ = ["improve_csv", "improve_markdown", "improve_view"]

_WIDEST: Final = 60
_CLUSTERS: Final = 10
_NAMES: Final = 4


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
    """Attributes by what they would return, then mistakes that look alike."""
    rows, clusters = _attributes(step), _clusters(step)
    notes = cast("list[str]", step["notes"])
    parts: list[RenderableType] = [_line(f"· {note}", "dim") for note in notes]
    if not rows:
        return Group(*parts, _line("Nothing to fix: no mistake was found.", "green"))
    parts.append(_table(rows[:top]))
    if top is not None and len(rows) > top:
        parts.append(_line(f"… and {len(rows) - top} more attributes: --top 0 shows all", "dim"))
    for cluster in clusters[:_CLUSTERS]:
        parts += [Text(), *_cluster_lines(cluster)]
    if len(clusters) > _CLUSTERS:
        rest = f"… and {len(clusters) - _CLUSTERS} smaller clusters: --format json has them all"
        parts += [Text(), _line(rest, "dim")]
    return Group(*parts)


def improve_markdown(step: JsonObject, *, top: int | None = None) -> str:
    """The same for a pull request or a ticket."""
    rows, clusters = _attributes(step), _clusters(step)
    lines = [
        "| Attribute | F1 | Mistakes | Mostly | Would return | Looks like |",
        "|---|--:|--:|---|--:|---|",
    ]
    lines += [
        f"| {for_markdown(row['attribute'])} | {number(row['f1'])} | {row['mistakes']} | "
        f"{_words(row['dominant'])} | {_gain(row)} | {for_markdown(_looks(row))} |"
        for row in rows[:top]
    ]
    for cluster in clusters[:_CLUSTERS]:
        lines += ["", f"**{cluster['title']}** ({cluster['mistakes']}): {cluster['hint']}", ""]
        lines += [f"- {for_markdown(_example(each))}" for each in cluster["examples"]]
    lines += [f"\n> {for_markdown(note)}" for note in cast("list[str]", step["notes"])]
    return "\n".join(lines) + "\n"


def improve_csv(step: JsonObject) -> str:
    """Every attribute with full precision; cells cannot be taken for formulas."""
    target = io.StringIO()
    writer = csv.writer(target, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(
        ("attribute", "f1", "mistakes", "dominant", "cases", "gain_mean_score",
         "gain_macro_f1_by_attribute", "gain_micro_f1", "pattern", "hint")
    )  # fmt: skip
    for row in _attributes(step):
        first = row["patterns"][0]["pattern"] if row["patterns"] else ""
        cells = (
            row["attribute"],
            "" if row["f1"] is None else row["f1"],
            row["mistakes"],
            row["dominant"],
            row["cases"],
            *row["gain"].values(),
            first,
            row["hint"],
        )
        writer.writerow([for_csv(str(cell)) for cell in cells])
    return target.getvalue()


def _attributes(step: JsonObject) -> list[_Gain]:
    return cast("list[_Gain]", step["attributes"])


def _clusters(step: JsonObject) -> list[_Cluster]:
    return cast("list[_Cluster]", step["clusters"])


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
            Text(_looks(row), style="dim"),
        )
    return table


def _gain(row: _Gain) -> str:
    return f"+{row['gain']['mean_score']:.3f}"


def _looks(row: _Gain) -> str:
    return ", ".join(
        f"{_words(str(each['pattern']))} {each['mistakes']}" for each in row["patterns"]
    )


def _words(name: str) -> str:
    return name.replace("_", " ")


def _cluster_lines(cluster: _Cluster) -> Iterator[Text]:
    names = [f"{visible(path)} {times}" for path, times in cluster["attributes"].items()]
    more = f", and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    title = f"{cluster['title']}: {cluster['mistakes']} ({', '.join(names[:_NAMES])}{more})"
    yield Text(title, style="bold")
    for example in cluster["examples"]:
        yield _line(f"    {_example(example)}", "dim")
    yield Text(f"  → {cluster['hint']}")


def _example(example: JsonObject) -> str:
    source = f" (that of {example['other_field']})" if "other_field" in example else ""
    sides = (_shown(example.get(side, _NONE)) for side in ("expected", "candidate"))
    return f"{example['case_id']}  {example['path']}: {' → '.join(sides)}{source}"


_NONE: Final = "\0"


def _shown(value: JsonValue) -> str:
    """A value in one line, cut where it is long; nothing is a dash."""
    if value == _NONE:
        return number(None)
    try:
        text = orjson.dumps(value).decode()
    except TypeError:
        text = repr(value)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _line(text: str, style: str = "") -> Text:
    """One line that stays one, however long."""
    return Text(visible(text), style, no_wrap=True, overflow="ignore")
