"""Lists of runs, one run and trends, for the terminal, as Markdown and as CSV.

Rich is imported inside functions, because a plain list of runs does not need it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Final

from fieldmark.metrics.headline import (
    HEADLINE_METRICS,
    QUALITY_METRICS,
    SHORT_TITLES,
    flag_text,
)
from fieldmark.report.tables import DASH, number
from fieldmark.values.text import plural

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, Group, RenderResult

    from fieldmark.metrics.summary import Summary
    from fieldmark.metrics.trend import Trend, TrendStep
    from fieldmark.model.json import JsonValue
    from fieldmark.wire.manifest import RunEntry
    from fieldmark.wire.run_details import RunDetails

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

_MIN_WIDTH: Final = 8
_FOLDED: Final = (-1, 0)
"""The columns that are folded in a narrow terminal: first the notes, then the name."""
_STATUS: Final = 2
_OTHER_STATUS: Final = "yellow"
_STYLES: Final = {"complete": "green", "running": "cyan", "corrupt": "bold red"}
_VERDICTS: Final = {"pass": "passed", "fail": "failed"}
"""What a list says about the gates of a run; a run can also fail without gates."""
_METRICS: Final = {name: SHORT_TITLES[name] for name in HEADLINE_METRICS}
"""The metrics of a run, and their column titles."""
_NO_METRICS: Final[Mapping[str, float | None]] = {}
_MINUTES: Final = len("2025-01-31T12:00")
_ADVICE: Final = {
    "continue": "continue: target {target:g} not reached",
    "target_reached": "target {target:g} reached",
    "plateau": "plateau: recent gains are below the minimum; stop or change the approach",
}
_BAR: Final = 20


def runs_view(runs: Sequence[RunEntry]) -> Group:
    """Show one line per run, oldest first."""
    from rich.console import Group
    from rich.text import Text

    return Group(run_lines(runs) if runs else Text("no runs found"))


def run_lines(runs: Sequence[RunEntry]) -> RunLines:
    """Return one line per run, in the given order."""
    metrics = [run.metrics or _NO_METRICS for run in runs]
    columns = [
        _visible([run.id for run in runs]),
        _visible([_start_time(run) for run in runs]),
        _visible([run.status for run in runs]),
        _visible([run.convention for run in runs]),
        [DASH if run.cases is None else str(run.cases) for run in runs],
        *([number(found.get(name)) for found in metrics] for name in _METRICS),
        _visible([_remark(run) for run in runs]),
    ]
    titles = (
        "Run",
        "Started",
        "Status",
        "Convention",
        "Cases",
        *_METRICS.values(),
        "Notes",
    )
    rows = list(zip(*columns, strict=True))
    return RunLines(titles, rows, styles=_STYLES, right=range(4, 5 + len(_METRICS)))


def runs_markdown(runs: Sequence[RunEntry]) -> str:
    """Return the list as a Markdown table."""
    from fieldmark.values.escape import for_markdown

    titles = ("Run", "Started", "Status", "Convention", "Cases", *_METRICS.values())
    lines = [
        f"| {' | '.join(titles)} | Notes |",
        "|---|---|---|---|--:|--:|--:|--:|--:|---|",
    ]
    for run in runs:
        metrics = [number((run.metrics or _NO_METRICS).get(name)) for name in _METRICS]
        texts = map(for_markdown, (run.id, _start_time(run), run.status, run.convention))
        cases = DASH if run.cases is None else str(run.cases)
        cells = [*texts, cases, *metrics, for_markdown(_remark(run))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def runs_csv(runs: Sequence[RunEntry]) -> str:
    """Return the list with full precision."""
    from fieldmark.report.csv_text import csv_text

    columns = ("id", "status", "started_at", "finished_at", "convention", "cases")
    rows = (
        [
            *(getattr(run, column) for column in columns),
            *((run.metrics or _NO_METRICS).get(name) for name in _METRICS),
            *((run.metrics or _NO_METRICS).get(name) for name in QUALITY_METRICS),
            run.verdict,
            " ".join(run.vacuous),
            run.name,
            " ".join(run.tags),
            run.note,
            run.problem,
        ]
        for run in runs
    )
    last = ("verdict", "vacuous", "name", "tags", "note", "problem")
    return csv_text((*columns, *_METRICS, *QUALITY_METRICS, *last), rows)


def _start_time(run: RunEntry) -> str:
    """Return the start time of a run, to the minute; CSV and JSON contain all digits."""
    return run.started_at[:_MINUTES].replace("T", " ")


def _remark(run: RunEntry) -> str:
    """Return the problem of a run, or its verdict, name, tags and note."""
    if run.problem:
        return run.problem
    first = [_VERDICTS[run.verdict]] if run.verdict in _VERDICTS else []
    first += ["archived"] if run.archived else []
    first += ["vacuous scores"] if run.vacuous else []
    tags = (f"[{tag}]" for tag in run.tags)
    return " ".join([*first, *run.name.split(), *tags, *run.note.split()])


def run_details(run: RunDetails) -> Group:
    """Show one run: inputs, settings, and metrics with confidence intervals."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from fieldmark.values.escape import visible

    manifest = run.manifest
    lines = [
        ("run", run.path),
        ("status", manifest.status),
        ("started", manifest.started_at or DASH),
        ("finished", manifest.finished_at or DASH),
        ("convention", manifest.convention.name),
        ("inputs", ", ".join(each.name for each in manifest.inputs)),
        *([] if manifest.target is None else [("target", str(manifest.target.get("name")))]),
        ("name", run.name),
        ("tags", " ".join(run.tags)),
        ("note", run.note),
    ]
    details = Table.grid(padding=(0, 2))
    for name, value in lines:
        if value:
            details.add_row(Text(name, style="bold"), Text(visible(value)))
    if run.summary is None:
        return Group(details)
    metrics = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True)
    metrics.add_column("Metric")
    metrics.add_column("", justify="right")
    metrics.add_column("95% CI", justify="right", style="dim")
    metrics.add_column("")
    flags = run.summary.flags
    for name, metric, low, high in _metric_rows(run):
        metrics.add_row(name, number(metric), _range(low, high), _note(flags, name))
    return Group(details, Text(), metrics, Text(), Text(run.summary.rqs_formula))


def run_markdown(run: RunDetails) -> str:
    """Return the metrics of one run as a Markdown table."""
    from fieldmark.values.escape import for_markdown

    convention = for_markdown(run.manifest.convention.name)
    lines = [f"**{for_markdown(run.id)}**, convention {convention}", ""]
    lines += ["| Metric | | 95% CI | |", "|---|--:|--:|---|"]
    flags = {} if run.summary is None else run.summary.flags
    lines += [
        f"| {name} | {number(value)} | {_range(low, high)} | {_note(flags, name)} |"
        for name, value, low, high in _metric_rows(run)
    ]
    return "\n".join(lines) + "\n"


def run_csv(run: RunDetails) -> str:
    """Return the metrics of one run with full precision."""
    from fieldmark.report.csv_text import csv_text

    flags = {} if run.summary is None else run.summary.flags
    rows = ((*row, _note(flags, row[0]), run.manifest.convention.name) for row in _metric_rows(run))
    return csv_text(("metric", "value", "low", "high", "note", "convention"), rows)


def _metric_rows(
    run: RunDetails,
) -> list[tuple[str, float | None, float | None, float | None]]:
    """Return the headline metrics and those with an interval: name, value, low, high.

    The primary metric comes first.
    """
    summary, intervals = run.summary, run.intervals.metrics
    if summary is None:
        return []
    shown = {*HEADLINE_METRICS, *intervals}
    ordered = [name for name in dict.fromkeys((*summary.metrics, *intervals)) if name in shown]
    return [(name, _metric(summary, name), *intervals.get(name, (None, None))) for name in ordered]


def _note(flags: Mapping[str, tuple[str, ...]], name: str) -> str:
    """Return why a metric says less than it seems to; that of RQS includes safety."""
    safety = flag_text(flags, "safety") if name == "rqs" else ""
    return ", ".join(filter(None, (flag_text(flags, name), f"safety {safety}" if safety else "")))


def _range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.3f} to {high:.3f}"


def _metric(summary: Summary, name: str) -> float | None:
    """Return a metric of a summary by its short name."""
    verdicts, cases = summary.verdicts, summary.cases
    if name == "passed":
        return verdicts.passed / sum(verdicts) if any(verdicts) else None
    if name == "perfect":
        return cases.perfect / cases.scored if cases.scored else None
    for record in (summary.quality, summary):
        if hasattr(record, name):
            found: float | None = getattr(record, name)
            return found
    micro: float | None = getattr(summary.micro, name.removeprefix("micro_"), None)
    return micro


def trend_view(found: Trend, metric: str, convention: str, excluded: int) -> Group:
    """Show one line per run, with its gain over the best earlier run."""
    from rich.console import Group
    from rich.text import Text

    from fieldmark.report.terminal import plain_table
    from fieldmark.values.escape import visible

    if not found.steps:
        return Group(Text("no complete runs to compare"))
    table = plain_table("Run", (metric, "Gain", "Best so far"), collapse=True)
    table.add_column("", no_wrap=True)
    largest = max(1.0, *(step.value or 0.0 for step in found.steps))
    for step in found.steps:
        best = step.name == found.best
        table.add_row(
            Text(visible(step.name), style="bold" if best else ""),
            number(step.value),
            Text(_gain(step), style="green" if step.progress else "dim"),
            number(step.best),
            Text("█" * round(_BAR * (step.value or 0.0) / largest) + (" best" if best else "")),
        )
    return Group(table, Text(), Text(_conclusion(found, convention, excluded)))


def trend_markdown(found: Trend, metric: str, convention: str, excluded: int) -> str:
    """Return the trend as a Markdown table."""
    from fieldmark.values.escape import for_markdown

    lines = [f"| Run | {metric} | Gain | Best so far |", "|---|--:|--:|--:|"]
    for step in found.steps:
        name = for_markdown(step.name)
        shown = f"**{name}**" if step.name == found.best else name
        lines.append(f"| {shown} | {number(step.value)} | {_gain(step)} | {number(step.best)} |")
    return "\n".join([*lines, "", for_markdown(_conclusion(found, convention, excluded))]) + "\n"


def trend_csv(found: Trend) -> str:
    """Return the trend with full precision."""
    from fieldmark.report.csv_text import csv_text

    rows: list[list[JsonValue]] = [
        [step.name, step.value, step.gain, step.best, str(step.progress)] for step in found.steps
    ]
    return csv_text(("run", "value", "gain", "best", "progress"), rows)


def _conclusion(found: Trend, convention: str, excluded: int) -> str:
    runs = plural(excluded, "run")
    rest = (
        f"; {runs} excluded: incomplete, or different data, rules or convention"
        " (fieldmark runs RUN --trend follows another run)"
        if excluded
        else ""
    )
    advice = _ADVICE[found.conclusion].format(target=found.target)
    return f"best: {found.best or DASH}; {advice}; convention {convention}{rest}"


def _gain(step: TrendStep) -> str:
    return DASH if step.gain is None else f"{step.gain:+.3f}"


class RunLines:
    """A table that is fast for directories with many thousands of runs; `text` does not load rich.

    The second column is dim, and the third has the color of its status.
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
        known = {status: Style.parse(style) for status, style in self._styles.items()}
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
        """Return all lines without styles, at most `width` wide if possible."""
        lines = map(str.rstrip, map(" ".join, (line for _, line in self._lines(width))))
        return "\n".join(chain(lines, [""]))

    def _lines(self, width: int) -> Iterator[tuple[int, Sequence[str]]]:
        """Yield the row index and padded cells of every line; a folded row has several lines."""
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
    """Escape control characters; a printable column is detected as a whole."""
    if "".join(column).isprintable():
        return column
    from fieldmark.values.escape import visible

    return list(map(visible, column))


def _cell_widths(column: Sequence[str]) -> list[int]:
    """Return the display width of each cell."""
    if "".join(column).replace(DASH, "").isascii():
        return list(map(len, column))
    from rich.cells import cell_len

    return [len(cell) if cell.isascii() else cell_len(cell) for cell in column]


def _fit_widths(widest: Sequence[int], width: int) -> list[int]:
    """Return the column widths: the widest cell of each, reduced until all fit."""
    widths = list(widest)
    for place in _FOLDED:
        over = sum(widths) + len(widths) - 1 - width
        if over > 0:
            widths[place] = max(min(_MIN_WIDTH, widths[place]), widths[place] - over)
    return widths
