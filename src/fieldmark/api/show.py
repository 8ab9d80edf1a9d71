"""Cases of a stored run: the worst of them, or one by its id."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Final

from fieldmark.api.recount import RunLike, stored_run
from fieldmark.errors import DataError, Location
from fieldmark.model.json import JsonObject
from fieldmark.report.html.cases import CaseLine, worst_cases
from fieldmark.values.text import did_you_mean
from fieldmark.wire.case_result import CaseResult

__all__ = ["CaseFilter", "CaseList", "show_case", "show_cases"]

_MOST_SUGGESTIONS: Final = 10_000
"""Ids among which the nearest is searched when one is not found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFilter:
    """Which cases to list; `None` selects all."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseList:
    """The lines of a list in its order, and how many cases were selected."""

    total: int
    lines: list[CaseLine]

    def to_dict(self) -> JsonObject:
        """The list as JSON."""
        return {
            "total": self.total,
            "cases": [
                {
                    "case_id": line.id,
                    "score": line.score,
                    "verdict": line.verdict,
                    "status": line.status,
                    "input": line.input,
                    "tags": list(line.tags),
                    "errors_by_type": dict(line.mistakes._asdict()),
                }
                for line in self.lines
            ],
        }


def show_cases(
    run: RunLike, *, wanted: CaseFilter | None = None, top: int | None = None
) -> CaseList:
    """The worst cases of a run: by score, then by mistakes.

    >>> import fieldmark as fm
    >>> truth = [{"id": "a", "total": 1}, {"id": "b", "total": 2}]
    >>> run = fm.score(truth, [{"id": "a", "total": 1}, {"id": "b", "total": 3}], out="run")
    >>> [line[0] for line in show_cases(run).lines]
    ['b', 'a']
    """
    stored = stored_run(run)
    selects = (wanted or CaseFilter()).selects
    found = worst_cases(filter(selects, stored.cases()), top or sys.maxsize)
    return CaseList(total=found.total, lines=found.lines)


def show_case(run: RunLike, case_id: str, *, values: bool = True) -> CaseResult:
    """The case with this id; an unknown id is an error that suggests the nearest."""
    stored = stored_run(run)
    ids: list[str] = []
    for case in stored.cases():
        if case.id == case_id:
            return case if values else case.without_values()
        if len(ids) < _MOST_SUGGESTIONS:
            ids.append(case.id)
    message = f"no case {case_id!r}. {did_you_mean(case_id, ids)}".rstrip(". ")
    raise DataError(message if ids else "holds no cases", Location(str(stored.path)))
