"""The result of a run: its summary, its cases, and where it is saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fieldmark.errors import ConfigError
from fieldmark.metrics.summary import Micro, QualitySummary, Summary, summary_to_json
from fieldmark.model.json import JsonObject
from fieldmark.report.document import Document
from fieldmark.report.render import ShownRecord
from fieldmark.report.run_document import run_document
from fieldmark.runs.kept_cases import NOT_KEPT, SAVE_HINT
from fieldmark.runs.run_directory import RunDirectory
from fieldmark.runs.run_options import PARQUET, RunOptions
from fieldmark.runs.session import Observer, PreparedRun, Progress, run_session
from fieldmark.runs.stored_run import StoredRun, open_run

if TYPE_CHECKING:
    from fieldmark.report.frames import AttributeFrame, CaseFrame, CaseSource, FieldFrame

_OUTCOMES: Final = "outcomes"
"""The directory of the Parquet files of a run."""
_SHOWN: Final = 8
"""The number of attributes in the view of a run."""
_SHOW_ALL: Final = "run.attributes shows all"


@dataclass(frozen=True, repr=False)
class RunResult(ShownRecord):
    """The result of a run over many cases.

    Attributes:
        summary: All metrics.
        notes: Remarks on the inputs.
        path: The directory of a saved run.
        case_source: The source of the cases of a run that is not saved at `path`.
        url: The address of a run in an object store; it has a local copy at `path`.

    >>> import fieldmark as fm
    >>> run = fm.score([({"total": 10}, {"total": 10}), ({"total": 10}, {"total": 11})])
    >>> run.micro.f1, run.attributes["total"].recall
    (0.5, 0.5)
    >>> run.fields.to_pandas()[["case_id", "path", "outcome", "expected", "candidate"]]
      case_id   path      outcome expected candidate
    0       1  total        match       10        10
    1       2  total  wrong_value       10        11
    """

    summary: Summary
    notes: tuple[str, ...] = ()
    path: Path | None = field(default=None)
    case_source: CaseSource | None = field(default=None, kw_only=True, compare=False)
    url: str = field(default="", kw_only=True)

    @property
    def cases(self) -> CaseFrame:
        """The cases: one row per case, and each case by its id.

        They are read from the directory of the run. If it was not saved, they are in memory or in a
        temporary file. If the files are too large for this, they are read again, and must not have
        changed.
        """
        from fieldmark.report.frames import CaseFrame  # only when tables are read

        return CaseFrame(self._case_source(), self.summary)

    @property
    def fields(self) -> FieldFrame:
        """The fields of all cases: one row per field, read like `cases`."""
        from fieldmark.report.frames import FieldFrame  # only when tables are read

        return FieldFrame(self._case_source(), self.summary)

    @property
    def attributes(self) -> AttributeFrame:
        """The metrics per attribute."""
        from fieldmark.report.frames import AttributeFrame  # only when tables are read

        return AttributeFrame(self.summary)

    def _case_source(self) -> CaseSource:
        if self.case_source is not None:
            return self.case_source
        if self.path is None:
            raise ConfigError.of(NOT_KEPT, hint=SAVE_HINT)

        return open_run(self.path)

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

    def document(self, *, top: int | None = _SHOWN) -> Document:
        """Return all parts of the run."""
        return run_document(self.summary, self.notes, top=top, hint=_SHOW_ALL)

    def _repr_html_(self) -> str:
        from fieldmark.report.notebook import run_html

        return run_html(self.summary, top=_SHOWN, hint=_SHOW_ALL)


@dataclass(frozen=True, repr=False)
class EvalResult(RunResult):
    """The result of an eval file: metrics, evaluators and gates.

    Attributes:
        name: The name of the evaluation.
        unmet: A message for each selected tag or id pattern without a case.
    """

    name: str = ""
    unmet: tuple[str, ...] = ()


def run_result(
    prepared: PreparedRun,
    options: RunOptions,
    *,
    progress: Progress | None = None,
    observers: Sequence[Observer] = (),
    keep_cases: bool = False,
) -> RunResult:
    """Run a session and return its result.

    With `keep_cases`, the result contains all cases even if they are not written.
    """
    finished = run_session(
        prepared,
        options,
        progress=progress,
        observers=observers,
        keep_cases=keep_cases,
        before_end=partial(_write_outcomes, options),
    )
    return RunResult(
        finished.summary,
        finished.notes,
        finished.path,
        case_source=finished.kept,
        url=finished.url,
    )


def _write_outcomes(options: RunOptions, directory: RunDirectory, summary: Summary) -> None:
    """Write the results as Parquet files too, if the options say so."""
    if options["results"] != PARQUET:
        return
    from fieldmark.report.exports.parquet import write_parquet_shards
    from fieldmark.report.shown_run import ShownRun

    run = StoredRun(directory.path, directory.manifest)
    shown = ShownRun(
        name=directory.path.name,
        manifest=run.manifest,
        summary=summary,
        cases=run.cases,
        attributes=run.compared_attributes,
    )
    shown = shown if options["values"] else shown.without_values()
    write_parquet_shards(shown, directory.path / _OUTCOMES)
