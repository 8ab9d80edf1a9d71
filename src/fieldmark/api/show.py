"""Cases of a stored run for people to look at: the worst of them, or one by its id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fieldmark.api.recount import RunLike, stored_run
from fieldmark.errors import DataError, Location
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.exports.attributes import ERROR_TYPES
from fieldmark.report.html.worst import Limits, choose
from fieldmark.values.text import did_you_mean
from fieldmark.wire.case_result import CaseResult

__all__ = ["CaseFilter", "CaseList", "show_case", "show_cases"]

_REMEMBERED: Final = 10_000
"""Ids among which the nearest is looked for when one is not found."""

_ALL: Final = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFilter:
    """Which cases are wanted; what is not said keeps nothing out."""

    verdict: str | None = None
    mistake: str | None = None
    tag: str | None = None

    def takes(self, case: CaseResult) -> bool:
        """Whether a case is one of them."""
        return (
            (self.verdict is None or (case.verdict or case.status) == self.verdict)
            and (self.mistake is None or case.errors_by_type.get(self.mistake, 0) > 0)
            and (self.tag is None or self.tag in case.tags)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseList:
    """The lines of a list in its order, and how many cases there are of that kind."""

    total: int
    lines: list[list[JsonValue]]

    def to_dict(self) -> JsonObject:
        """The list as JSON."""
        return {"total": self.total, "cases": [_line(line) for line in self.lines]}


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
    takes = (wanted or CaseFilter()).takes
    chosen = choose(filter(takes, stored.cases()), Limits(listed=top or _ALL))
    return CaseList(total=chosen.total, lines=chosen.lines)


def show_case(run: RunLike, case_id: str, *, values: bool = True) -> CaseResult:
    """The case of this id; where there is none, the nearest id is named."""
    stored = stored_run(run)
    ids: list[str] = []
    for case in stored.cases():
        if case.id == case_id:
            return case if values else case.without_values()
        if len(ids) < _REMEMBERED:
            ids.append(case.id)
    raise DataError(_unknown(case_id, ids), Location(str(stored.path)))


def _unknown(case_id: str, ids: list[str]) -> str:
    if not ids:
        return "holds no cases"
    return f"no case {case_id!r}. {did_you_mean(case_id, ids)}".rstrip(". ")


def _line(line: list[JsonValue]) -> JsonObject:
    name, score, verdict, status, read, tags, mistakes = line
    counts = mistakes if isinstance(mistakes, list) else []
    return {
        "case_id": name,
        "score": score,
        "verdict": verdict,
        "status": status,
        "input": read,
        "tags": tags,
        "errors_by_type": dict(zip(ERROR_TYPES, counts, strict=True)),
    }
