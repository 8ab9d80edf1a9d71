"""Runs as a person reads them: a list, one run, a trend; and as Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Final, TypedDict, cast

from rich.console import Group
from rich.table import Table
from rich.text import Text

from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.run_lines import FIGURES, ListedRun, began, lines_of, noted
from fieldmark.report.tables import DASH, number
from fieldmark.values.escape import for_csv, for_markdown, visible

__all__ = [
    "run_csv",
    "run_details",
    "run_markdown",
    "runs_csv",
    "runs_markdown",
    "runs_view",
    "trend_csv",
    "trend_markdown",
    "trend_view",
]

_WORDS: Final = {
    "go on": "go on: the last gains still count",
    "target reached": "target reached",
    "plateau": "plateau: stop, or change the approach",
}
_BAR: Final = 20


class _Entry(TypedDict):
    id: str
    status: str
    started_at: str
    finished_at: str
    convention: str
    inputs: list[str]
    cases: int | None
    figures: dict[str, float | None] | None
    tags: list[str]
    note: str
    problem: str


class _Step(TypedDict):
    run: str
    value: float | None
    gain: float | None
    best: float | None
    counts: bool


def runs_view(runs: Sequence[ListedRun]) -> Group:
    """One line a run, oldest first."""
    return Group(lines_of(runs) if runs else Text("No runs here."))


def runs_markdown(listed: JsonObject) -> str:
    """The list as a Markdown table."""
    lines = [
        f"| Run | Began | Status | Cases | {' | '.join(FIGURES.values())} | Tags and note |",
        "|---|---|---|--:|--:|--:|--:|--:|---|",
    ]
    for entry in cast("list[_Entry]", listed["runs"]):
        figures = " | ".join(number((entry["figures"] or {}).get(name)) for name in FIGURES)
        cases = DASH if entry["cases"] is None else str(entry["cases"])
        words = (entry["id"], began(entry["started_at"]), entry["status"])
        shown = " | ".join(for_markdown(word) for word in words)
        said = for_markdown(noted(entry["tags"], entry["note"], entry["problem"]))
        lines.append(f"| {shown} | {cases} | {figures} | {said} |")
    return "\n".join(lines) + "\n"


def runs_csv(listed: JsonObject) -> str:
    """The list with full precision."""
    columns = ("id", "status", "started_at", "finished_at", "convention", "cases")
    head = (*columns, *FIGURES, "tags", "note", "problem")
    rows = [
        [
            *(cast("JsonValue", entry[column]) for column in columns),  # type: ignore[literal-required]
            *((entry["figures"] or {}).get(name) for name in FIGURES),
            " ".join(entry["tags"]),
            entry["note"],
            entry["problem"],
        ]
        for entry in cast("list[_Entry]", listed["runs"])
    ]
    return _csv(head, rows)


def run_details(run: JsonObject) -> Group:
    """One run: what it was made from, and its figures with their intervals."""
    manifest = cast("JsonObject", run["manifest"])
    stamp = manifest.get("convention")
    lines = [
        ("run", str(run["path"])),
        ("status", str(manifest.get("status"))),
        ("began", str(manifest.get("started_at", DASH))),
        ("finished", str(manifest.get("finished_at", DASH))),
        ("convention", str(stamp.get("name")) if isinstance(stamp, dict) else DASH),
        ("inputs", ", ".join(_inputs(manifest.get("inputs")))),
        ("tags", " ".join(map(str, cast("list[str]", run["tags"])))),
        ("note", str(run["note"])),
    ]
    table = Table.grid(padding=(0, 2))
    for name, value in lines:
        if value:
            table.add_row(Text(name, style="bold"), Text(visible(value)))
    return Group(table, Text(), _figures(run)) if run["summary"] else Group(table)


def run_markdown(run: JsonObject) -> str:
    """The figures of one run as a Markdown table."""
    lines = [f"**{for_markdown(str(run['id']))}**", "", "| Figure | | 95 % |", "|---|--:|--:|"]
    lines += [
        f"| {name} | {number(value)} | {low:.3f} to {high:.3f} |"
        for name, value, low, high in _rows(run)
    ]
    return "\n".join(lines) + "\n"


def run_csv(run: JsonObject) -> str:
    """The figures of one run with full precision."""
    return _csv(("figure", "value", "low", "high"), _rows(run))


def _rows(run: JsonObject) -> list[tuple[str, float | None, float, float]]:
    summary = cast("JsonObject", run["summary"])
    intervals = cast("dict[str, tuple[float, float]]", run["intervals"])
    return [(name, _figure(summary, name), low, high) for name, (low, high) in intervals.items()]


def _figures(run: JsonObject) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True)
    table.add_column("Figure")
    table.add_column("", justify="right")
    table.add_column("95 %", justify="right", style="dim")
    for name, value, low, high in _rows(run):
        table.add_row(name, number(value), f"{low:.3f} to {high:.3f}")
    return table


def _figure(summary: JsonObject, name: str) -> float | None:
    """A headline figure of a summary by its short name."""
    found: JsonValue = summary.get(name)
    quality, micro = summary.get("quality"), summary.get("micro")
    cases, verdicts = summary.get("cases"), summary.get("verdicts")
    if isinstance(quality, dict) and name in quality:
        found = quality[name]
    elif isinstance(micro, dict) and name.startswith("micro_"):
        found = micro.get(name.removeprefix("micro_"))
    elif name == "passed" and isinstance(verdicts, dict):
        found = _share(verdicts.get("pass"), sum(map(_whole, verdicts.values())))
    elif name == "perfect" and isinstance(cases, dict):
        found = _share(cases.get("perfect"), _whole(cases.get("scored")))
    return float(found) if isinstance(found, int | float) else None


def _share(part: JsonValue, whole: int) -> float | None:
    return _whole(part) / whole if whole else None


def _whole(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0


def trend_view(found: JsonObject) -> Group:
    """One line an iteration, with the gain over the best before it."""
    steps = cast("list[_Step]", found["steps"])
    if not steps:
        return Group(Text("No complete runs to compare."))
    table = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True)
    table.add_column("Run", overflow="fold")
    for title in (str(found["figure"]), "Gain", "Best so far"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for step in steps:
        best = step["run"] == found["best"]
        table.add_row(
            Text(visible(step["run"]), style="bold" if best else ""),
            number(step["value"]),
            Text(_gain(step), style="green" if step["counts"] else "dim"),
            number(step["best"]),
            Text("█" * round(_BAR * (step["value"] or 0.0)) + (" best" if best else "")),
        )
    return Group(table, Text(), Text(_conclusion(found)))


def trend_markdown(found: JsonObject) -> str:
    """The trend as a Markdown table."""
    lines = [f"| Run | {found['figure']} | Gain | Best so far |", "|---|--:|--:|--:|"]
    for step in cast("list[_Step]", found["steps"]):
        name = for_markdown(step["run"])
        shown = f"**{name}**" if step["run"] == found["best"] else name
        lines.append(
            f"| {shown} | {number(step['value'])} | {_gain(step)} | {number(step['best'])} |"
        )
    return "\n".join([*lines, "", for_markdown(_conclusion(found))]) + "\n"


def trend_csv(found: JsonObject) -> str:
    """The trend with full precision."""
    columns = ("run", "value", "gain", "best", "counts")
    steps = cast("list[JsonObject]", found["steps"])
    return _csv(columns, [[step[column] for column in columns] for step in steps])


def _conclusion(found: JsonObject) -> str:
    left_out = cast("int", found["left_out"])
    rest = f"; {left_out} run(s) left out: other data, rules or counting" if left_out else ""
    return f"best: {found['best'] or DASH}; {_WORDS[str(found['stop'])]}{rest}"


def _gain(step: _Step) -> str:
    return DASH if step["gain"] is None else f"{step['gain']:+.3f}"


def _inputs(inputs: JsonValue) -> list[str]:
    listed = inputs if isinstance(inputs, list) else []
    return [str(each.get("name")) for each in listed if isinstance(each, dict)]


def _csv(head: Sequence[str], rows: Sequence[Sequence[JsonValue]]) -> str:
    target = io.StringIO()
    writer = csv.writer(target, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(head)
    for row in rows:
        writer.writerow([for_csv("" if cell is None else str(cell)) for cell in row])
    return target.getvalue()
