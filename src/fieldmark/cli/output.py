"""Prints results in the chosen format, shows progress, and writes files."""

from __future__ import annotations

import builtins
import io
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple

from fieldmark.cli.streams import print_message, write_stdout
from fieldmark.errors import ConfigError, DataError, OptionPhrase, OptionText, StorageError
from fieldmark.model.json import JsonObject
from fieldmark.report.document import Document, Line
from fieldmark.report.render import (
    WIDTH,
    RichDocument,
    ShownRecord,
    csv_table,
    document_csv,
    document_markdown,
    markdown_summary,
)
from fieldmark.report.run_document import run_document
from fieldmark.runs.session import Progress
from fieldmark.values.annotations import Choices, Range
from fieldmark.values.declared_options import Opt
from fieldmark.values.escape import visible
from fieldmark.values.json_text import pretty_json
from fieldmark.values.option_groups import OptionGroup
from fieldmark.values.text import plural

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

    from fieldmark.analyses.improve import FindSlicesResult
    from fieldmark.analyses.run_result import RunResult
    from fieldmark.metrics.summary import Summary


_PHRASES: Final[Mapping[OptionPhrase, str]] = {
    OptionPhrase.SET_KEY: "use --{option}",
    OptionPhrase.SET_KEY_TO: "use --{option} {value!r}",
    OptionPhrase.SET_BOTH_KEYS: "name their keys with --expected and --candidate",
    OptionPhrase.WITH_VALUE: "--{option} {value}",
    OptionPhrase.WITH_FLAG: "--{option}",
}
"""How messages name options of the command line."""
_STYLING: Final = ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE")
"""Environment variables that change the width or colors of tables in a file or a pipe."""
_BAR_AFTER_SECONDS: Final = 1.0
_LINE_EVERY_SECONDS: Final = 10.0


def in_github_workflow() -> bool:
    """Whether the command runs in a GitHub workflow."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def print_annotations(lines: Iterable[str]) -> None:
    """Print annotations of GitHub, which reads both streams; standard output has the result."""
    for line in lines:
        print_message(line)


def check_overwrite(file: Path | None, *, force: bool) -> None:
    """Raise an error if a file exists, unless `force` is set."""
    if file is not None and file.is_file() and not force:
        raise ConfigError.of(f"{file} already exists", hint="use --force to overwrite it")


def write_file(file: Path, content: str | bytes) -> None:
    """Write a file, or raise an error that names it."""
    try:
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise StorageError(f"cannot write {file}: {error.strerror or error}") from error


def write_file_or_stdout(text: str, file: Path | None, contents: str) -> None:
    """Write text to a file and report it, or to standard output."""
    if file is None:
        write_stdout(text.encode())
    else:
        write_file(file, text)
        print_message(f"wrote {contents} to {file}")


class OutputFormat(StrEnum):
    """Output formats."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


class OutputOptions(NamedTuple):
    """The options of commands that print a table; `top=None` shows all rows."""

    format: Annotated[
        OutputFormat,
        Opt(
            "Output format: {names}.", group=OptionGroup.OUTPUT, metavar="FORMAT", with_resume=True
        ),
        Choices(OutputFormat),
    ] = OutputFormat.TABLE
    quiet: Annotated[
        bool,
        Opt("Print no table, notes or progress.", group=OptionGroup.OUTPUT, with_resume=True),
    ] = False
    color: Annotated[
        bool,
        Opt(
            "Use colors.",
            off_help="Disable colors, like NO_COLOR=1.",
            group=OptionGroup.OUTPUT,
            with_resume=True,
        ),
    ] = True
    top: Annotated[
        int | None,
        Opt(
            "Attributes to show; 0 shows all.",
            group=OptionGroup.OUTPUT,
            metavar="N",
            cli_default=25,
            with_resume=True,
        ),
        Range(ge=0, noun="an integer"),
    ] = None

    @property
    def shows_table(self) -> bool:
        """Whether a table is printed."""
        return self.format is OutputFormat.TABLE and not self.quiet

    @property
    def allows_color(self) -> bool:
        """Whether output may be styled; the environment variable NO_COLOR disables it."""
        return self.color and not os.environ.get("NO_COLOR")

    @property
    def is_styled(self) -> bool:
        """Whether a table on standard output has styles."""
        return self.allows_color and sys.stdout is not None and sys.stdout.isatty()

    @property
    def hides_failures(self) -> bool:
        """Whether failures must be printed to standard error, because the output has none."""
        machine = self.format in {OutputFormat.JSON, OutputFormat.CSV}
        return machine or (self.quiet and self.format is OutputFormat.TABLE)


class WithWeakSlices(ShownRecord):
    """The record of an analysis, and the weak slices of the same run below it."""

    def __init__(self, record: ShownRecord, weak: FindSlicesResult) -> None:
        self._record = record
        self._weak = weak

    def to_dict(self) -> JsonObject:
        """Return the record as JSON, with the key `weak_slices`."""
        return {**self._record.to_dict(), "weak_slices": self._weak.to_dict()}

    def document(self, *, top: int | None = None) -> Document:
        """Return the strongest finding, the blocks of the record and all weak slices."""
        shown = self._record.document(top=top)
        slices = self._weak.document(top=top).blocks if self._weak.tested else ()
        finding = [Line(f"Strongest finding: {self._weak.finding}")] if self._weak.finding else []
        return Document(*finding, *shown.blocks, *slices, data=shown.data)


def print_document(record: ShownRecord, output: OutputOptions) -> None:
    """Print the record of an analysis in the selected format; with `quiet`, no table."""
    if output.format is OutputFormat.JSON:
        write_stdout(pretty_json(record.to_dict()))
    elif output.format is OutputFormat.CSV:
        write_stdout(_encoded(document_csv(record.document())))
    elif output.format is OutputFormat.MARKDOWN:
        write_stdout(_encoded(document_markdown(record.document(top=output.top))))
    elif output.quiet:
        return
    else:
        _print_view(record.terminal(top=output.top, styled=output.is_styled), output)


def print_warnings(warnings: Iterable[str], output: OutputOptions) -> None:
    """Print the warnings of an analysis to standard error, unless its output contains them."""
    if output.hides_failures and output.format is not OutputFormat.JSON:
        for text in warnings:
            print_message(text, prefix="fieldmark: warning: ")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _print_view(view: RenderableType, output: OutputOptions) -> None:
    """Print text for a terminal, with its size and colors."""
    if isinstance(view, RichDocument) and _is_plain():
        write_stdout(view.text(WIDTH))
        return
    from rich.console import Console

    # Without a color system, text is not bold or dim either.
    system: Literal["auto"] | None = "auto" if output.allows_color else None
    console = Console(color_system=system, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDTH
    if sys.platform == "win32" and output.is_styled:
        import colorama  # type: ignore[import-untyped] # click requires it on Windows

        colorama.just_fix_windows_console()
    # The console only renders.
    console.file = text = io.StringIO()
    console.print(view, crop=False)
    write_stdout(text.getvalue())


def _is_plain() -> bool:
    """Whether standard output is not a terminal and not configured to look like one."""
    if any(name in os.environ for name in _STYLING) or hasattr(builtins, "get_ipython"):
        return False
    return sys.stdout is None or not sys.stdout.isatty()


def with_options(message: str) -> str:
    """Return a message with the options of the command line."""
    return message.named(_PHRASES) if isinstance(message, OptionText) else message


@contextmanager
def rethrow_with_options() -> Iterator[None]:
    """Let the hints of errors name the options of the command line."""
    try:
        yield
    except DataError as error:
        error.args = tuple(map(with_options, error.args))
        raise
    except ConfigError as error:
        problems = [problem._replace(hint=with_options(problem.hint)) for problem in error.problems]
        raise ConfigError(problems) from error


def print_failures(run: RunResult, name: str = "") -> None:
    """Print why a run failed, and warnings about the structure of its documents."""
    from fieldmark.report import tables

    prefix = f"fieldmark: {visible(name)}: " if name else "fieldmark: "
    _print_unknown_metrics(run)
    summary = _with_own_options(run)
    failed = summary.cases.invalid_truth or summary.cases.errors
    for warning in summary.warnings if failed else summary.structural_warnings:
        print_message(warning, prefix=prefix)
    for text in tables.evaluator_errors(summary):
        print_message(f"{prefix}error: {text}")
    for gate in run.summary.gates:
        if gate.known and not gate.passed:
            print_message(f"{prefix}gate failed: {tables.gate_text(gate)}")


def _print_unknown_metrics(run: RunResult) -> None:
    for gate in run.summary.gates:
        if not gate.known:
            print_message(f"fieldmark: --{gate.kind}: {gate.note}")


def _with_own_options(run: RunResult) -> Summary:
    """Return the summary of a run, with warnings that name the options of the command line."""
    from fieldmark.analyses.run_result import EvalResult

    summary = run.summary
    if isinstance(run, EvalResult):
        return summary
    return replace(
        summary,
        warnings=tuple(map(with_options, summary.warnings)),
        structural_warnings=tuple(map(with_options, summary.structural_warnings)),
    )


def print_run(run: RunResult, output: OutputOptions, weak: FindSlicesResult | None = None) -> None:
    """Print a run and its weak slices to standard output, and its directory to standard error.

    Tables and Markdown include failures; with other formats, they go to standard error.
    """
    from fieldmark.analyses.run_result import EvalResult

    summary = _with_own_options(run)
    if output.hides_failures:
        print_failures(run)
    else:
        _print_unknown_metrics(run)
    slices = None if weak is None else weak.document(top=output.top)
    if output.format is OutputFormat.JSON:
        weak_slices: JsonObject = {} if weak is None else {"weak_slices": weak.to_dict()}
        write_stdout(pretty_json({**run.to_dict(), **weak_slices}))
    elif output.format is OutputFormat.CSV:
        write_stdout(_encoded(csv_table(run.summary)))
    elif output.format is OutputFormat.MARKDOWN:
        text = markdown_summary(summary, top=output.top)
        below = "" if slices is None else f"\n{document_markdown(slices)}"
        write_stdout(_encoded(f"{text}{below}"))
    elif not output.quiet:
        notes = run.notes if isinstance(run, EvalResult) else [*map(with_options, run.notes)]
        shown = run_document(summary, notes, top=output.top)
        blocks = () if slices is None else slices.blocks
        _print_view(RichDocument(Document(*shown.blocks, *blocks)), output)
    if run.path is not None and not output.quiet:
        print_message(f"saved run to {run.url or run.path}")


# --- progress -------------------------------------------------------------------------------------


@contextmanager
def show_progress(output: OutputOptions) -> Iterator[Progress | None]:
    """Yield a callback that shows progress on standard error, or None if the command is quiet.

    On a terminal it is a bar, otherwise a line every few seconds.
    """
    if output.quiet:
        yield None
    elif sys.stderr is not None and sys.stderr.isatty() and output.allows_color:
        with _bar() as progress:
            yield progress
    else:
        last = time.monotonic()

        def print_line(done: int, read: int, total: int | None) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= _LINE_EVERY_SECONDS:
                last = now
                share = f", {read / total:.0%} read" if total else ""
                print_message(f"{plural(done, 'case')}{share}")

        yield print_line


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    started = time.monotonic()
    console = Console(stderr=True)
    bar = Bar(
        TextColumn("{task.completed:>3.0f}%"),
        BarColumn(),
        TextColumn("{task.fields[cases]:,} cases, {task.fields[rate]:,.0f}/s"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    task = bar.add_task("", total=100, cases=0, rate=0.0)

    def update(done: int, read: int, total: int | None) -> None:
        elapsed = time.monotonic() - started
        if elapsed < _BAR_AFTER_SECONDS:
            return
        bar.start()
        share = 100 * read / total if total else None
        bar.update(task, completed=share or 0, cases=done, rate=done / elapsed)

    try:
        yield update
    finally:
        bar.stop()
