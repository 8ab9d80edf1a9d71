"""Which cases a report holds: the worst first, as many as fit."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from fieldmark.model.json import JsonValue
from fieldmark.report.html.case_view import case_line
from fieldmark.report.html.shown import ShownCase

__all__ = ["Chosen", "Limits", "choose"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a report holds: cases in its list, cases that can be opened, and their bytes."""

    listed: int = 10_000
    opened: int = 1_000
    opened_bytes: int = 6 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The lines of the list in its order, and the rank of each of its cases by position."""

    total: int
    lines: list[list[JsonValue]]
    rank: dict[int, int]


_TRIVIAL: Final = -1.0
"""Before every score: what could not be scored comes first."""


def choose(cases: Iterable[ShownCase], limits: Limits) -> Chosen:
    """The worst cases by score, then by mistakes, then in the order of the run."""
    worst: list[tuple[float, int, int, list[JsonValue]]] = []
    total = 0
    for total, case in enumerate(cases, 1):
        entry = _badness(case, total - 1)
        if len(worst) < limits.listed:
            heapq.heappush(worst, entry)
        elif entry[:3] > worst[0][:3]:
            heapq.heapreplace(worst, entry)
    worst.sort(reverse=True)
    return Chosen(
        total=total,
        lines=[line for *_, line in worst],
        rank={-position: rank for rank, (_, _, position, _) in enumerate(worst)},
    )


def _badness(case: ShownCase, position: int) -> tuple[float, int, int, list[JsonValue]]:
    """What a case is ordered by: no two cases are as bad as each other."""
    line = case_line(case)
    mistakes = line[-1]
    times = sum(n for n in mistakes if isinstance(n, int)) if isinstance(mistakes, list) else 0
    score = _TRIVIAL if case.score is None else case.score
    return -score, times, -position, line
