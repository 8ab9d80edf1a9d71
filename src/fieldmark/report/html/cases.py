"""Cases as the page shows them: the list of the worst, and the documents of one case."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, NamedTuple

import orjson

from fieldmark.evaluators.base import EvaluatorResult
from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.metrics.worst_first import case_sort_key
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.html.embedding import embedded
from fieldmark.report.html.regions import drawn_regions
from fieldmark.report.html.tree import case_tree
from fieldmark.report.html.value_encoding import truncate
from fieldmark.wire.case_result import CaseResult

__all__ = [
    "LARGEST_CASE",
    "CaseLine",
    "ReportLimits",
    "WorstCases",
    "case_documents",
    "worst_cases",
]

LARGEST_CASE: Final = 1 << 20
"""Bytes of one case on the page; a larger one shows its mistakes only, or is left out."""

_LONGEST_NAME: Final = 500
_LONGEST_DETAILS: Final = 20_000
_MOST_LINES: Final = 200
_MATCH: Final = 0
_MARK, _MEMBERS = 1, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportLimits:
    """The size of a report: cases in its list, cases with documents, and bytes of documents."""

    listed: int = 10_000
    opened: int = 1_000
    opened_bytes: int = 6 << 20


class CaseLine(NamedTuple):
    """A case in a list; long names are cut."""

    id: str
    score: float | None
    verdict: str | None
    status: str
    input: str
    tags: tuple[str, ...]
    mistakes: ErrorCounts

    @classmethod
    def of(cls, case: CaseResult) -> CaseLine:
        """The line of a case."""
        return cls(
            truncate(case.id, _LONGEST_NAME),
            case.score,
            case.verdict,
            case.status,
            case.input,
            tuple(truncate(tag, _LONGEST_NAME) for tag in case.tags[:20]),
            case.stats.errors,
        )

    def to_json(self) -> list[JsonValue]:
        """The line as the page reads it."""
        *facts, tags, mistakes = self
        return [*facts, list(tags), list(mistakes)]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCases:
    """The lines of the list in its order, and the rank of each of its cases by position."""

    total: int
    lines: list[CaseLine]
    rank: dict[int, int]


def worst_cases(cases: Iterable[CaseResult], most: int) -> WorstCases:
    """The worst cases by score, then by mistakes, then in the order of the run."""
    total = 0

    def ranked() -> Iterator[tuple[tuple[float, int, int], CaseLine]]:
        nonlocal total
        for case in cases:
            yield case_sort_key(case.score, case.stats.errors.total, total), CaseLine.of(case)
            total += 1

    worst = heapq.nsmallest(most, ranked(), key=itemgetter(0))
    return WorstCases(
        total=total,
        lines=[line for _, line in worst],
        rank={position: rank for rank, ((_, _, position), _) in enumerate(worst)},
    )


def case_documents(case: CaseResult) -> bytes | None:
    """Both documents and all judgements as JSON to embed; `None` if that is too large."""
    nodes, regions = case_tree(case)
    texts: JsonObject = {
        "note": truncate(case.note),
        "reasoning": truncate(case.evaluation),
        "parsed_from": case.case.parsed_from,
        "fallback": case.outcomes.fallback,
        "evaluators": [_evaluator(each) for each in case.evaluator_results[:_MOST_LINES]],
    }
    view: JsonObject = {"tree": nodes, **{key: value for key, value in texts.items() if value}}
    if (drawn := drawn_regions(regions)) is not None:
        view["regions"] = drawn
    text = embedded(view)
    if len(text) > LARGEST_CASE:
        text = embedded({**view, "tree": _mistakes_only(nodes), "cut": True})
    return text if len(text) <= LARGEST_CASE else None


def _evaluator(result: EvaluatorResult) -> JsonObject:
    score = result.score
    view: JsonObject = {
        "name": result.name,
        "type": result.type,
        "score": score.score,
        "weight": result.weight,
        "verdict": score.verdict,
        "status": score.status,
        "reasoning": truncate(score.reasoning),
        "hits": _lines(score.hits),
        "misses": _lines(score.misses),
        "skipped": _lines(score.skipped),
        "details": _pretty(score.details) if score.details else "",
    }
    return {key: value for key, value in view.items() if value not in (None, "", [])}


def _lines(texts: Sequence[str]) -> list[JsonValue]:
    more = len(texts) - _MOST_LINES
    shown = [truncate(each) for each in texts[:_MOST_LINES]]
    return [*shown, *([f"… and {more:,} more"] if more > 0 else [])]


def _pretty(value: JsonValue) -> str:
    try:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except TypeError:
        text = json.dumps(value, indent=2)
    return truncate(text, _LONGEST_DETAILS)


def _mistakes_only(nodes: list[JsonValue]) -> list[JsonValue]:
    """The tree without what matches."""
    kept: list[JsonValue] = []
    for node in nodes:
        if not isinstance(node, list):
            continue
        members = node[_MEMBERS] if len(node) > _MEMBERS else None
        if isinstance(members, list):
            if below := _mistakes_only(members):
                kept.append([*node[:_MEMBERS], below])
        elif node[_MARK] != _MATCH:
            kept.append(node)
    return kept
