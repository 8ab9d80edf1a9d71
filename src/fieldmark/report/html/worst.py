"""Which cases a report holds: the worst first, as many as fit."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter

from fieldmark.metrics.worst_first import case_sort_key
from fieldmark.model.json import JsonValue
from fieldmark.report.html.case_view import case_line
from fieldmark.wire.case_result import CaseResult

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


def choose(cases: Iterable[CaseResult], limits: Limits) -> Chosen:
    """The worst cases by score, then by mistakes, then in the order of the run."""
    total = 0

    def ranked() -> Iterator[tuple[tuple[float, int, int], list[JsonValue]]]:
        nonlocal total
        for case in cases:
            line = case_line(case)
            counts = line[-1] if isinstance(line[-1], list) else []
            mistakes = sum(count for count in counts if isinstance(count, int))
            yield case_sort_key(case.score, mistakes, total), line
            total += 1

    worst = heapq.nsmallest(limits.listed, ranked(), key=itemgetter(0))
    return Chosen(
        total=total,
        lines=[line for _, line in worst],
        rank={position: rank for rank, ((_, _, position), _) in enumerate(worst)},
    )
