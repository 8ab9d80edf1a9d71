"""Find the worst cases of a saved run, or one case by its id."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final

from fieldmark.analyses.recount import RunLike, stored_run
from fieldmark.errors import DataError, Location, with_hint
from fieldmark.model.json import JsonObject
from fieldmark.report.case_view import case_view
from fieldmark.report.difference_text import repeated_error_text
from fieldmark.report.document import Cell, Column, Data, Document, Format, Line, Row, Table, Tone
from fieldmark.report.exports.common import (
    CASE_LIST_COLUMNS,
    field_columns,
    field_row,
    is_mistake,
    json_text,
    row_cells,
)
from fieldmark.report.exports.json import case_document
from fieldmark.report.html.cases import CaseLine, repeated_errors, worst_cases
from fieldmark.report.render import ShownRecord
from fieldmark.report.tables import input_text, mistake_counts, outcome_text, score_text
from fieldmark.runs.case_result import CaseResult
from fieldmark.values.records import Key, to_json
from fieldmark.values.text import did_you_mean

if TYPE_CHECKING:
    from rich.console import RenderableType


_LIST: Final = (
    Column("Case", "case_id", folds=True),
    Column("Score", "score", Format.NUMBER),
    Column("Verdict", "verdict"),
    Column("Mistakes", "mistakes", folds=True),
    Column("Tags", "tags", folds=True),
)
_SIDES: Final = (
    Column("Expected", "expected", folds=True),
    Column("Predicted", "candidate", folds=True),
)
_TONES: Final = {"pass": Tone.GOOD, "partial": Tone.WARNING}
_MAX_IDS: Final = 10_000
"""The number of ids that are searched for a suggestion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFilter:
    """The cases to list; `None` selects all."""

    verdict: str | None = None
    mistake: str | None = None
    tag: str | None = None

    def selects(self, case: CaseResult) -> bool:
        """Whether a case is selected."""
        return (
            (self.verdict is None or (case.verdict or case.status) == self.verdict)
            and (self.mistake is None or case.errors_by_type.get(self.mistake, 0) > 0)
            and (self.tag is None or self.tag in case.tags)
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class CaseList(ShownRecord):
    """The worst cases of a run; `total` is the number of all selected cases."""

    total: int
    lines: Annotated[Sequence[CaseLine], Key("cases")]

    @classmethod
    def of(cls, cases: Iterable[CaseResult], top: int | None = None) -> CaseList:
        """Return the worst cases by score and number of mistakes, at most `top`."""
        worst = worst_cases(cases, top or sys.maxsize)
        return cls(total=worst.total, lines=worst.lines)

    def to_dict(self) -> JsonObject:
        """Return the list as JSON."""
        return to_json(self)

    def document(self, *, top: int | None = None) -> Document:
        """Return one line per case, and how many are not shown."""
        rows = [_list_row(line) for line in self.lines]
        table = Table(
            name="cases", columns=_LIST, rows=rows, top=top, total=self.total, noun="case"
        )
        return Document(table, data=Data(tuple(CASE_LIST_COLUMNS), rows))


@dataclass(frozen=True, kw_only=True, repr=False)
class CaseDetails(ShownRecord):
    """One case with its fields; a terminal shows both documents as one tree."""

    case: CaseResult
    values: bool = True
    only_mistakes: bool = False

    def to_dict(self) -> JsonObject:
        """Return the case as JSON."""
        return case_document(self.case, values=self.values, only_mistakes=self.only_mistakes)

    def terminal(self, *, top: int | None = None, styled: bool = True) -> RenderableType:  # noqa: ARG002 - no table
        """Return the case for a terminal; without styles, brackets mark what differs."""
        return case_view(self.case, only_mistakes=self.only_mistakes, styled=styled)

    def document(self, *, top: int | None = None) -> Document:
        """Return the verdict, errors that several values have in common, and the fields."""
        case = self.case
        score = score_text(case.score, vacuous=case.vacuous)
        verdict = case.verdict or case.status
        keys = field_columns(values=self.values, confidence=case.confidences is not None)
        rows: list[Row] = []
        for field in case.iter_fields():
            if self.only_mistakes and not is_mistake(field):
                continue
            cells = dict(zip(keys, row_cells(field_row(case, field), keys), strict=True))
            rows.append(
                {
                    **cells,
                    "expected": Cell(cells.get("expected"), json_text(field.expected)),
                    "candidate": Cell(cells.get("candidate"), json_text(field.candidate)),
                    "outcome": Cell(field.outcome, outcome_text(field.outcome)),
                }
            )
        columns = [
            Column("Field", "path", folds=True),
            *_SIDES * self.values,
            Column("Outcome", "outcome"),
        ]
        return Document(
            Line(f"{case.id}: {verdict}, score {score} ({case.convention.name})"),
            *(
                Line(f"Repeated error: {repeated_error_text(error)}")
                for error in (repeated_errors(case) if self.values else ())
            ),
            Table(name="fields", columns=columns, rows=rows, top=top, noun="field"),
            data=Data(tuple(keys), rows),
        )


def show_cases(
    run: RunLike, *, wanted: CaseFilter | None = None, top: int | None = None
) -> CaseList:
    """Return the worst cases of a run, by score and number of mistakes.

    >>> import fieldmark as fm
    >>> truth = [{"id": "a", "total": 1}, {"id": "b", "total": 2}]
    >>> run = fm.score(truth, [{"id": "a", "total": 1}, {"id": "b", "total": 3}], out="run")
    >>> [line[0] for line in show_cases(run).lines]
    ['b', 'a']
    """
    stored = stored_run(run)
    selects = (wanted or CaseFilter()).selects
    return CaseList.of(filter(selects, stored.cases()), top)


def show_case(run: RunLike, case_id: str, *, values: bool = True) -> CaseResult:
    """Return the case with this id; the error for an unknown id suggests the most similar one."""
    stored = stored_run(run)
    case = stored.find(case_id)
    if case is not None:
        return case if values else case.without_values()
    ids = [each.id for each in islice(stored.cases(), _MAX_IDS)]
    message = with_hint(f"case {case_id!r} not found", did_you_mean(case_id, ids))
    raise DataError(message if ids else "no cases found", Location(str(stored.path)))


def _list_row(line: CaseLine) -> Row:
    """Return a case with its mistakes as text, and by type for CSV."""
    problem = "" if line.input == "ok" else input_text(line.input)
    verdict = line.verdict or line.status
    return {
        "case_id": line.id,
        "score": Cell(line.score, score_text(line.score, vacuous=line.vacuous)),
        "verdict": Cell(line.verdict, verdict, _TONES.get(verdict, Tone.BAD)),
        "status": line.status,
        "input": line.input,
        "mistakes": ", ".join(filter(None, (problem, mistake_counts(line.mistakes)))),
        "tags": ", ".join(line.tags),
        **line.mistakes._asdict(),
        "vacuous": line.vacuous,
    }
