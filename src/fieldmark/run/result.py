"""The result of a run: its summary, and where it is saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fieldmark.errors import MissingExtra
from fieldmark.metrics.summary import AttributeSummary, Micro, QualitySummary, Summary
from fieldmark.model.json import JsonObject
from fieldmark.values.escape import html_table
from fieldmark.wire.summary import attribute_to_json, summary_to_json

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from rich.console import RenderableType

    from fieldmark.report.tables import AttributeRow

__all__ = ["AttributeFrame", "EvalResult", "RunResult"]


class AttributeFrame(Mapping[str, AttributeSummary]):
    """The metrics per attribute: a mapping by path that converts to tables and data frames."""

    __slots__ = ("_summary",)

    def __init__(self, summary: Summary) -> None:
        self._summary = summary

    def __getitem__(self, path: str) -> AttributeSummary:
        return self._summary.attributes[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._summary.attributes)

    def __len__(self) -> int:
        return len(self._summary.attributes)

    def rows(self) -> list[AttributeRow]:
        """Return one flat row per attribute, worst first."""
        from fieldmark.report.tables import attribute_rows

        return attribute_rows(self._summary)

    def to_dict(self) -> JsonObject:
        """Return all metrics as JSON, by path."""
        return {path: attribute_to_json(each) for path, each in self.items()}

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas data frame with one row per attribute, worst first."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtra("to_pandas", "tables") from error
        return pd.DataFrame.from_records([row.to_dict() for row in self.rows()])

    def to_polars(self) -> pl.DataFrame:
        """Return a polars data frame with one row per attribute, worst first."""
        try:
            import polars as pl
        except ImportError as error:
            raise MissingExtra("to_polars", "tables") from error
        return pl.DataFrame([row.to_dict() for row in self.rows()], infer_schema_length=None)

    def __repr__(self) -> str:
        from fieldmark.report.terminal import as_text

        return as_text(self.__rich__())

    def __rich__(self) -> RenderableType:
        from fieldmark.report.terminal import attribute_table

        return attribute_table(self._summary)

    def _repr_html_(self) -> str:
        return html_table([row.to_dict() for row in self.rows()])


@dataclass(frozen=True, repr=False)
class RunResult:
    """The result of a run over many cases.

    >>> import fieldmark as fm
    >>> run = fm.score([({"total": 10}, {"total": 10}), ({"total": 10}, {"total": 11})])
    >>> run.micro.f1, run.attributes["total"].recall
    (0.5, 0.5)
    """

    summary: Summary
    notes: tuple[str, ...] = ()
    path: Path | None = field(default=None)

    @property
    def attributes(self) -> AttributeFrame:
        """The metrics per attribute."""
        return AttributeFrame(self.summary)

    @property
    def micro(self) -> Micro:
        """The counts of all fields together, and the rates computed from them."""
        return self.summary.micro

    @property
    def macro_f1_by_attribute(self) -> float | None:
        """The mean F1 over attributes."""
        return self.summary.macro_f1_by_attribute

    @property
    def macro_f1_by_case(self) -> float | None:
        """The mean F1 over cases."""
        return self.summary.macro_f1_by_case

    @property
    def mean_score(self) -> float | None:
        """The mean score of the cases."""
        return self.summary.mean_score

    @property
    def quality(self) -> QualitySummary:
        """Completeness, hallucination, accuracy and the response quality score."""
        return self.summary.quality

    @property
    def passed(self) -> bool:
        """Whether the run passed: the command would exit with code 0.

        `summary.failures` says why a run did not pass: a gate failed or names an unknown metric,
        ground truth could not be read, too many cases had errors, or no case was selected by a tag
        or an id.
        """
        return self.summary.passed

    def to_dict(self) -> JsonObject:
        """Return the summary as JSON."""
        return summary_to_json(self.summary)

    def __repr__(self) -> str:
        from fieldmark.report.terminal import as_text

        return as_text(self.__rich__())

    def __rich__(self) -> RenderableType:
        from fieldmark.report.terminal import run_view

        return run_view(self.summary, self.notes)

    def _repr_html_(self) -> str:
        return self.attributes._repr_html_()


@dataclass(frozen=True, repr=False)
class EvalResult(RunResult):
    """The result of an eval file: metrics, evaluators and gates.

    `unmet` contains a message for each selected tag or id pattern without a case.
    """

    name: str = ""
    unmet: tuple[str, ...] = ()
