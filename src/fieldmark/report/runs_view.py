"""Runs: a list, one run, and a trend; in a terminal, as Markdown and as CSV.

Rich is imported where it is used, because a plain list of runs does not need it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Final, cast

from fieldmark.metrics.headline import HEADLINE_FIGURES
from fieldmark.report.tables import DASH, number

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, Group, RenderResult

    from fieldmark.metrics.trend import Trend, TrendStep
    from fieldmark.model.json import JsonObject, JsonValue
    from fieldmark.wire.run_entry import RunEntry

__all__ = [
    "RunLines",
    "run_csv",
    "run_details",
    "run_lines",
    "run_markdown",
    "runs_csv",
    "runs_markdown",
    "runs_view",
    "trend_csv",
    "trend_markdown",
    "trend_view",
]

_NARROWEST: Final = 8
_FOLDED: Final = (-1, 0)
"""The columns that are folded where the terminal is narrow: first the notes, then the name."""
_STATUS: Final = 2
_OTHER_STATUS: Final = "yellow"
_STYLES: Final = {"complete": "green", "running": "cyan", "corrupt": "bold red"}
_FIGURES: Final = dict(
    zip(HEADLINE_FIGURES, ("Score", "F1 attr", "F1 case", "F1 micro"), strict=True)
)
"""The figures of a run, and their column titles."""
_NO_FIGURES: Final[Mapping[str, float | None]] = {}
_SECONDS: Final = len("2025-01-31T12:00:00")
_ADVICE: Final = {
    "go on": "go on: the last gains still count",
    "target reached": "target reached",
    "plateau": "plateau: stop, or change the approach",
}
_BAR: Final = 20


def runs_view(runs: Sequence[RunEntry]) -> Group:
    """One line for each run, oldest first."""
    from rich.console import Group
    from rich.text import Text

    return Group(run_lines(runs) if runs else Text("No runs here."))


def run_lines(runs: Sequence[RunEntry]) -> RunLines:
    """One line for each run, in the order in which they are given."""
    figures = [run.figures or _NO_FIGURES for run in runs]
    columns = [
        _visible([run.id for run in runs]),
        _visible([_start_time(run) for run in runs]),
        _visible([run.status for run in runs]),
        [DASH if run.cases is None else str(run.cases) for run in runs],
        *([number(found.get(name)) for found in figures] for name in _FIGURES),
        _visible([_remark(run) for run in runs]),
    ]
    titles = ("Run", "Began", "Status", "Cases", *_FIGURES.values(), "Tags and note")
    rows = list(zip(*columns, strict=True))
    return RunLines(titles, rows, styles=_STYLES, right=range(3, 4 + len(_FIGURES)))


def runs_markdown(runs: Sequence[RunEntry]) -> str:
    """The list as a Markdown table."""
    from fieldmark.values.escape import for_markdown

    lines = [
        f"| Run | Began | Status | Cases | {' | '.join(_FIGURES.values())} | Tags and note |",
        "|---|---|---|--:|--:|--:|--:|--:|---|",
    ]
    for run in runs:
        figures = [number((run.figures or _NO_FIGURES).get(name)) for name in _FIGURES]
        words = [for_markdown(word) for word in (run.id, _start_time(run), run.status)]
        cases = DASH if run.cases is None else str(run.cases)
        cells = [*words, cases, *figures, for_markdown(_remark(run))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def runs_csv(runs: Sequence[RunEntry]) -> str:
    """The list with full precision."""
    from fieldmark.report.text_tables import csv_text

    columns = ("id", "status", "started_at", "finished_at", "convention", "cases")
    rows = (
        [
            *(getattr(run, column) for column in columns),
            *((run.figures or _NO_FIGURES).get(name) for name in _FIGURES),
            " ".join(run.tags),
            run.note,
            run.problem,
        ]
        for run in runs
    )
    return csv_text((*columns, *_FIGURES, "tags", "note", "problem"), rows)


def _start_time(run: RunEntry) -> str:
    """The start of a run, to the second."""
    return run.started_at[:_SECONDS].replace("T", " ")


def _remark(run: RunEntry) -> str:
    """The problem of a run or, if there is none, its tags and note."""
    if run.problem or not (run.tags or run.note):
        return run.problem
    return " ".join([*(f"[{tag}]" for tag in run.tags), " ".join(run.note.split())]).strip()


def run_details(run: JsonObject) -> Group:
    """One run: its inputs and settings, and its figures with their intervals."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from fieldmark.values.escape import visible

    manifest = cast("JsonObject", run["manifest"])
    inputs = cast("list[JsonObject]", manifest["inputs"])
    lines = [
        ("run", run["path"]),
        ("status", manifest["status"]),
        ("began", manifest.get("started_at", DASH)),
        ("finished", manifest.get("finished_at", DASH)),
        ("convention", cast("JsonObject", manifest["convention"])["name"]),
        ("inputs", ", ".join(str(each["name"]) for each in inputs)),
        ("tags", " ".join(cast("list[str]", run["tags"]))),
        ("note", run["note"]),
    ]
    details = Table.grid(padding=(0, 2))
    for name, value in lines:
        if value:
            details.add_row(Text(name, style="bold"), Text(visible(str(value))))
    if not run["summary"]:
        return Group(details)
    figures = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True)
    figures.add_column("Figure")
    figures.add_column("", justify="right")
    figures.add_column("95 %", justify="right", style="dim")
    for name, figure, low, high in _figure_rows(run):
        figures.add_row(name, number(figure), f"{low:.3f} to {high:.3f}")
    return Group(details, Text(), figures)


def run_markdown(run: JsonObject) -> str:
    """The figures of one run as a Markdown table."""
    from fieldmark.values.escape import for_markdown

    lines = [f"**{for_markdown(str(run['id']))}**", "", "| Figure | | 95 % |", "|---|--:|--:|"]
    lines += [
        f"| {name} | {number(value)} | {low:.3f} to {high:.3f} |"
        for name, value, low, high in _figure_rows(run)
    ]
    return "\n".join(lines) + "\n"


def run_csv(run: JsonObject) -> str:
    """The figures of one run with full precision."""
    from fieldmark.report.text_tables import csv_text

    return csv_text(("figure", "value", "low", "high"), _figure_rows(run))


def _figure_rows(run: JsonObject) -> list[tuple[str, float | None, float, float]]:
    """The figures that have an interval: name, value, low, high."""
    summary = cast("JsonObject", run["summary"])
    intervals = cast("dict[str, tuple[float, float]]", run["intervals"])
    return [(name, _figure(summary, name), low, high) for name, (low, high) in intervals.items()]


def _figure(summary: JsonObject, name: str) -> float | None:
    """A figure of a summary by its short name."""
    quality, micro, cases, verdicts = (
        cast("dict[str, float]", summary[part])
        for part in ("quality", "micro", "cases", "verdicts")
    )
    if name in quality:
        return float(quality[name])
    if name == "passed":
        total = sum(verdicts.values())
        return verdicts["pass"] / total if total else None
    if name == "perfect":
        return cases["perfect"] / cases["scored"] if cases["scored"] else None
    found = micro.get(name.removeprefix("micro_")) if name.startswith("micro_") else summary[name]
    return None if found is None else float(cast("float", found))


def trend_view(found: Trend, figure: str, left_out: int) -> Group:
    """One line for each run, with its gain over the best before it."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from fieldmark.values.escape import visible

    if not found.steps:
        return Group(Text("No complete runs to compare."))
    table = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True)
    table.add_column("Run", overflow="fold")
    for title in (figure, "Gain", "Best so far"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for step in found.steps:
        best = step.name == found.best
        table.add_row(
            Text(visible(step.name), style="bold" if best else ""),
            number(step.value),
            Text(_gain(step), style="green" if step.counts else "dim"),
            number(step.best),
            Text("█" * round(_BAR * (step.value or 0.0)) + (" best" if best else "")),
        )
    return Group(table, Text(), Text(_conclusion(found, left_out)))


def trend_markdown(found: Trend, figure: str, left_out: int) -> str:
    """The trend as a Markdown table."""
    from fieldmark.values.escape import for_markdown

    lines = [f"| Run | {figure} | Gain | Best so far |", "|---|--:|--:|--:|"]
    for step in found.steps:
        name = for_markdown(step.name)
        shown = f"**{name}**" if step.name == found.best else name
        lines.append(f"| {shown} | {number(step.value)} | {_gain(step)} | {number(step.best)} |")
    return "\n".join([*lines, "", for_markdown(_conclusion(found, left_out))]) + "\n"


def trend_csv(found: Trend) -> str:
    """The trend with full precision."""
    from fieldmark.report.text_tables import csv_text

    rows: list[list[JsonValue]] = [
        [step.name, step.value, step.gain, step.best, str(step.counts)] for step in found.steps
    ]
    return csv_text(("run", "value", "gain", "best", "counts"), rows)


def _conclusion(found: Trend, left_out: int) -> str:
    rest = f"; {left_out} run(s) left out: other data, rules or counting" if left_out else ""
    return f"best: {found.best or DASH}; {_ADVICE[found.stop]}{rest}"


def _gain(step: TrendStep) -> str:
    return DASH if step.gain is None else f"{step.gain:+.3f}"


class RunLines:
    """A table drawn quickly, as a folder may hold ten thousand runs; `text` does not load rich.

    The second column is dim, and the third has the colour of its word.
    """

    __slots__ = ("_columns", "_right", "_styles")

    def __init__(
        self,
        titles: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        styles: Mapping[str, str],
        right: Sequence[int],
    ) -> None:
        self._columns: Sequence[Sequence[str]] = list(zip(titles, *rows, strict=True))
        self._styles = styles
        self._right = right

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.segment import Segment
        from rich.style import Style

        if console.color_system is None:
            yield Segment(self.text(options.max_width))
            return
        dim, plain = Style(dim=True), Style()
        known = {word: Style.parse(style) for word, style in self._styles.items()}
        other = Style.parse(_OTHER_STATUS)
        for index, line in self._lines(options.max_width):
            if index == 0:
                yield Segment(" ".join(line).rstrip() + "\n", Style(bold=True))
                continue
            yield Segment(line[0] + " ", plain)
            yield Segment(line[1] + " ", dim)
            yield Segment(line[2] + " ", known.get(self._columns[_STATUS][index], other))
            yield Segment(" ".join(line[3:]).rstrip() + "\n", plain)

    def text(self, width: int) -> str:
        """All lines without styles, at most `width` wide as far as that is possible."""
        lines = map(str.rstrip, map(" ".join, (line for _, line in self._lines(width))))
        return "\n".join(chain(lines, [""]))

    def _lines(self, width: int) -> Iterator[tuple[int, Sequence[str]]]:
        """The index of a row and its padded cells; a folded row has several lines."""
        sizes = list(map(_cell_widths, self._columns))
        widest = list(map(max, sizes))
        widths = _fit_widths(widest, width)
        folded = {
            index
            for place in _FOLDED
            if widths[place] < widest[place]
            for index, size in enumerate(sizes[place])
            if size > widths[place]
        }
        padded = map(self._padded, range(len(widths)), self._columns, sizes, widths)
        lines = enumerate(zip(*padded, strict=True))
        if not folded:
            yield from lines
            return
        for index, cells in lines:
            if index in folded:
                row = [column[index] for column in self._columns]
                yield from ((index, line) for line in self._folded(row, widths))
            else:
                yield index, cells

    def _folded(self, row: Sequence[str], widths: Sequence[int]) -> Iterator[list[str]]:
        from rich.cells import chop_cells

        parts = [chop_cells(cell, width) for cell, width in zip(row, widths, strict=True)]
        for line in zip_longest(*parts, fillvalue=""):
            cells = enumerate(zip(line, widths, strict=True))
            yield [
                self._padded(at, [cell], _cell_widths([cell]), width)[0]
                for at, (cell, width) in cells
            ]

    def _padded(
        self, place: int, cells: Sequence[str], sizes: Sequence[int], width: int
    ) -> Sequence[str]:
        to_width = str.rjust if place in self._right else str.ljust
        if sizes == list(map(len, cells)):
            return [to_width(cell, width) for cell in cells]
        pairs = zip(cells, sizes, strict=True)
        return [to_width(cell, width + len(cell) - size) for cell, size in pairs]


def _visible(column: Sequence[str]) -> Sequence[str]:
    """The cells without control characters; a printable column is recognised as a whole."""
    if "".join(column).isprintable():
        return column
    from fieldmark.values.escape import visible

    return list(map(visible, column))


def _cell_widths(column: Sequence[str]) -> list[int]:
    """The width of each cell on a screen."""
    if "".join(column).replace(DASH, "").isascii():
        return list(map(len, column))
    from rich.cells import cell_len

    return [len(cell) if cell.isascii() else cell_len(cell) for cell in column]


def _fit_widths(widest: Sequence[int], width: int) -> list[int]:
    """The widths of columns: that of the widest cell, as far as all fit."""
    widths = list(widest)
    for place in _FOLDED:
        over = sum(widths) + len(widths) - 1 - width
        if over > 0:
            widths[place] = max(min(_NARROWEST, widths[place]), widths[place] - over)
    return widths
