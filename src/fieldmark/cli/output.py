"""Writes to the two standard streams, and prints results in the chosen format.

`fieldmark score … | head` closes the pipe early. The rest of the output is then dropped silently,
and the exit code stays that of the run: 1 would look like a failed gate. A full disk is an error.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TextIO

from fieldmark.errors import ConfigError, StorageError
from fieldmark.model.json import JsonObject

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fieldmark.run.run_result import RunResult

__all__ = [
    "OutputFormat",
    "OutputOptions",
    "OutputViews",
    "check_overwrite",
    "has_color",
    "output_error",
    "print_message",
    "print_run",
    "write_file",
    "write_stdout",
]

_ASCII: Final = str.maketrans(
    {
        "≥": ">=",
        "≤": "<=",
        "\N{EN DASH}": "-",
        "·": ".",
        "…": "...",
        **dict.fromkeys("▏▎▍▌▋▊▉█", "#"),
    }
)


def write_stdout(text: str | bytes) -> None:
    """Write to standard output and flush it."""
    try:
        _write(text, sys.stdout)
    except OSError as error:
        raise output_error(error) from error


def output_error(error: OSError) -> StorageError:
    """Return the error for output that could not be written; the rest of it is dropped."""
    _discard(sys.stdout)
    return StorageError(f"cannot write the output: {error.strerror or error}")


def print_message(message: object, *, prefix: str = "") -> None:
    """Write each line of a message to standard error, with control characters escaped.

    So text from files cannot command the terminal.
    """
    from fieldmark.values.escape import visible

    try:
        for line in str(message).split("\n"):
            _write(f"{prefix}{visible(line)}\n", sys.stderr)
    except OSError:
        # The exit code still reports the result.
        _discard(sys.stderr)


def _write(text: str | bytes, stream: TextIO | None) -> None:
    if stream is None:
        return  # the caller has closed it
    try:
        if isinstance(text, bytes):
            stream.buffer.write(text)
        else:
            encoding = stream.encoding or "utf-8"
            try:
                text.encode(encoding, "surrogatepass")
            except UnicodeError:
                text = text.translate(_ASCII).encode(encoding, "backslashreplace").decode(encoding)
            stream.write(text)
        stream.flush()
    except BrokenPipeError:
        _discard(stream)


def _discard(stream: TextIO) -> None:
    """Redirect a stream to the null device, so that flushing it at exit cannot fail."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def check_overwrite(file: Path | None, *, force: bool) -> None:
    """Refuse to replace a file unless that is forced."""
    if file is not None and file.is_file() and not force:
        message = f"{file} exists already. Name a new file, or write over it with --force."
        raise ConfigError.of(message)


def write_file(file: Path, content: str | bytes) -> None:
    """Write a file, or raise an error that names it."""
    try:
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise StorageError(f"cannot write {file}: {error.strerror or error}") from error


class OutputFormat(StrEnum):
    """What a command can print."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """The options of commands that print a table; no `top` means all rows."""

    format: OutputFormat = OutputFormat.TABLE
    quiet: bool = False
    color: bool = True
    top: int | None = None

    @property
    def shows_table(self) -> bool:
        """Whether a table is printed."""
        return self.format is OutputFormat.TABLE and not self.quiet

    @property
    def hides_failures(self) -> bool:
        """Whether the output does not show failures, which then go to standard error."""
        machine = self.format in {OutputFormat.JSON, OutputFormat.CSV}
        return machine or (self.quiet and self.format is OutputFormat.TABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputViews:
    """One result in every format, each rendered only when it is printed."""

    json: Callable[[], JsonObject]
    table: Callable[[], RenderableType]
    markdown: Callable[[], str]
    csv: Callable[[], str]

    def print(self, output: OutputOptions) -> None:
        """Print the chosen format; quiet means no table."""
        if output.format is OutputFormat.JSON:
            from fieldmark.values.json_text import pretty_json

            write_stdout(pretty_json(self.json()))
        elif output.format is OutputFormat.CSV:
            write_stdout(self.csv().encode("utf-8", "backslashreplace"))
        elif output.format is OutputFormat.MARKDOWN:
            write_stdout(self.markdown().encode("utf-8", "backslashreplace"))
        elif not output.quiet:
            from rich.console import Console

            # Without a colour system nothing is styled at all, neither bold nor dim.
            system: Literal["auto"] | None = "auto" if has_color(wanted=output.color) else None
            console = Console(color_system=system, highlight=False, markup=False, emoji=False)
            if not console.is_terminal and "COLUMNS" not in os.environ:
                console.width = 120
            # The console only renders, for the terminal's size and colours.
            console.file = text = io.StringIO()
            console.print(self.table(), crop=False)
            write_stdout(text.getvalue())


def has_color(*, wanted: bool) -> bool:
    """Whether output may be styled; the variable NO_COLOR forbids it."""
    return wanted and not os.environ.get("NO_COLOR")


def print_run(run: RunResult, output: OutputOptions) -> None:
    """Print a run on standard output, and where it is saved on standard error.

    The table and Markdown show failures themselves; other formats leave them to standard error.
    """
    from fieldmark.report import tables, text_tables

    def table() -> RenderableType:
        from fieldmark.report.terminal import run_view

        return run_view(run.summary, run.notes, top=output.top)

    for gate in run.summary.gates:
        if not gate.known:
            print_message(f"fieldmark: --{gate.kind}: {gate.note}")
    if output.hides_failures:
        cases = run.summary.cases
        if cases.invalid_truth or cases.errors:
            for warning in run.summary.warnings:
                print_message(warning, prefix="fieldmark: ")
        for gate in run.summary.gates:
            if gate.known and not gate.passed:
                print_message(f"fieldmark: gate failed: {tables.gate_text(gate)}")
    OutputViews(
        json=run.to_dict,
        table=table,
        markdown=lambda: text_tables.markdown_summary(run.summary, top=output.top),
        csv=lambda: text_tables.csv_table(run.summary),
    ).print(output)
    if run.path is not None and not output.quiet:
        print_message(f"run saved in {run.path}")
