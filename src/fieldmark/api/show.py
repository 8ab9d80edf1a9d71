"""Find the worst cases of a saved run, or one case by its id."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import islice
from typing import Final

from fieldmark.api.recount import RunLike, stored_run
from fieldmark.errors import DataError, Location, with_hint
from fieldmark.report.html.cases import WorstCases, worst_cases
from fieldmark.values.text import did_you_mean
from fieldmark.wire.case_result import CaseResult

__all__ = ["CaseFilter", "show_case", "show_cases"]

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


def show_cases(
    run: RunLike, *, wanted: CaseFilter | None = None, top: int | None = None
) -> WorstCases:
    """Return the worst cases of a run, by score and number of mistakes.

    >>> import fieldmark as fm
    >>> truth = [{"id": "a", "total": 1}, {"id": "b", "total": 2}]
    >>> run = fm.score(truth, [{"id": "a", "total": 1}, {"id": "b", "total": 3}], out="run")
    >>> [line[0] for line in show_cases(run).lines]
    ['b', 'a']
    """
    stored = stored_run(run)
    selects = (wanted or CaseFilter()).selects
    return worst_cases(filter(selects, stored.cases()), top or sys.maxsize)


def show_case(run: RunLike, case_id: str, *, values: bool = True) -> CaseResult:
    """Return the case with this id; the error for an unknown id suggests the most similar one."""
    stored = stored_run(run)
    case = stored.find(case_id)
    if case is not None:
        return case if values else case.without_values()
    ids = [each.id for each in islice(stored.cases(), _MAX_IDS)]
    message = with_hint(f"case {case_id!r} not found", did_you_mean(case_id, ids))
    raise DataError(message if ids else "no cases found", Location(str(stored.path)))
