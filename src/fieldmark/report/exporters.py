"""The kinds of files that a run can be exported to, as plug-ins can add them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from fieldmark.report.exports.csv import write_cases_csv, write_csv, write_outcomes_csv
from fieldmark.report.exports.eval_results import write_eval_results
from fieldmark.report.exports.json import write_json
from fieldmark.report.exports.junit import write_junit
from fieldmark.report.exports.markdown import write_markdown, write_markdown_short
from fieldmark.report.exports.parquet import write_parquet
from fieldmark.report.exports.sqlite import write_sqlite
from fieldmark.report.exports.xlsx import write_xlsx
from fieldmark.report.shown_run import ShownRun

__all__ = ["Exporter"]


class Exporter(Protocol):
    """Writes a run to a file for another tool; a frozen dataclass.

    `file` is the default name of the file in the directory of the run.
    """

    name: ClassVar[str]
    file: ClassVar[str]

    def write(self, run: ShownRun, out: Path) -> None:
        """Write the run to a file; without values, `run` contains none."""
        ...


@dataclass(frozen=True, slots=True)
class Markdown:
    """Metrics, and the worst attributes and cases, for pull requests."""

    name: ClassVar[str] = "markdown"
    file: ClassVar[str] = "report.md"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write the file."""
        write_markdown(run, out)


@dataclass(frozen=True, slots=True)
class MarkdownShort:
    """Gates, headline metrics and the worst attributes."""

    name: ClassVar[str] = "markdown-short"
    file: ClassVar[str] = "summary.md"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write the file."""
        write_markdown_short(run, out)


@dataclass(frozen=True, slots=True)
class Junit:
    """One test per case and per gate, for CI servers."""

    name: ClassVar[str] = "junit"
    file: ClassVar[str] = "junit.xml"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write the file."""
        write_junit(run, out)


@dataclass(frozen=True, slots=True)
class AttributesCsv:
    """One row per attribute."""

    name: ClassVar[str] = "csv"
    file: ClassVar[str] = "attributes.csv"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write the file."""
        write_csv(run, out)


@dataclass(frozen=True, slots=True)
class CasesCsv:
    """One row per case."""

    name: ClassVar[str] = "csv-cases"
    file: ClassVar[str] = "cases.csv"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write the file."""
        write_cases_csv(run, out)


@dataclass(frozen=True, slots=True)
class OutcomesCsv:
    """One row per field of each case."""

    name: ClassVar[str] = "csv-outcomes"
    file: ClassVar[str] = "outcomes.csv"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write the file."""
        write_outcomes_csv(run, out)


@dataclass(frozen=True, slots=True)
class Xlsx:
    """A workbook with sheets of metrics, attributes, cases and fields."""

    name: ClassVar[str] = "xlsx"
    file: ClassVar[str] = "report.xlsx"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write the file."""
        write_xlsx(run, out)


@dataclass(frozen=True, slots=True)
class Parquet:
    """One row per field of each case, for data frames."""

    name: ClassVar[str] = "parquet"
    file: ClassVar[str] = "outcomes.parquet"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write the file."""
        write_parquet(run, out)


@dataclass(frozen=True, slots=True)
class Sqlite:
    """A database with tables of metrics, attributes, cases and fields."""

    name: ClassVar[str] = "sqlite"
    file: ClassVar[str] = "report.db"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write the file."""
        write_sqlite(run, out)


@dataclass(frozen=True, slots=True)
class EvalResults:
    """Results by case as JSON."""

    name: ClassVar[str] = "eval-results"
    file: ClassVar[str] = "eval-results.json"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write the file."""
        write_eval_results(run, out)


@dataclass(frozen=True, slots=True)
class Json:
    """Everything as one JSON document."""

    name: ClassVar[str] = "json"
    file: ClassVar[str] = "report.json"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write the file."""
        write_json(run, out)
