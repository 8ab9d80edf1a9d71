"""Cases for the page: the list of the worst cases, and the documents of one case."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Annotated, Final, NamedTuple

import orjson

from fieldmark.evaluators.base import EvaluatorResult
from fieldmark.metrics.counts import ErrorCounts
from fieldmark.metrics.mistakes import MistakeReader
from fieldmark.metrics.repeated_errors import RepeatedError, repeated_in_case
from fieldmark.metrics.summary import case_sort_key
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import Outcome
from fieldmark.report.difference_text import repeated_error_text
from fieldmark.report.html.metric_tabs import case_metrics
from fieldmark.report.html.tree import TREE_COLUMNS, TreeNode, case_tree, drawn_regions
from fieldmark.report.html.value_encoding import columnar, embedded, nested, truncate
from fieldmark.runs.case_result import CaseResult
from fieldmark.values.records import Key

MAX_CASE_BYTES: Final = 1 << 20
"""The maximum size of a case in bytes; a larger case shows only its mistakes or is omitted."""

_MAX_NAME_LENGTH: Final = 500
_MAX_DETAILS_LENGTH: Final = 20_000
_MAX_LINES: Final = 200
_MAX_KEYS: Final = 500
_MATCH: Final = int(Outcome.MATCH)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportLimits:
    """Size limits of a report: listed cases, cases with documents, and bytes of documents."""

    listed: int = 10_000
    opened: int = 1_000
    opened_bytes: int = 6 << 20


class CaseLine(NamedTuple):
    """A case in a list; long names are truncated."""

    id: Annotated[str, Key("case_id")]
    score: float | None
    verdict: str | None
    status: str
    input: str
    tags: tuple[str, ...]
    mistakes: Annotated[ErrorCounts, Key("errors_by_type")]
    vacuous: bool = False

    @classmethod
    def of(cls, case: CaseResult) -> CaseLine:
        """Return the line of a case."""
        return cls(
            truncate(case.id, _MAX_NAME_LENGTH),
            case.score,
            case.verdict,
            case.status,
            case.input,
            tuple(truncate(tag, _MAX_NAME_LENGTH) for tag in case.tags[:20]),
            case.stats.errors,
            case.vacuous,
        )

    def to_row(self) -> list[JsonValue]:
        """Return the line as a row with the columns `LINE_COLUMNS`."""
        *facts, tags, mistakes, vacuous = self
        return [*facts, list(tags), list(mistakes), vacuous]


LINE_COLUMNS: Final[Sequence[JsonValue]] = (
    "id",
    "score",
    "verdict",
    "status",
    "input",
    "tags",
    nested("errors_by_type", ErrorCounts._fields),
    "vacuous",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCases:
    """The lines of the list in order, and the rank of each listed case by its position."""

    total: int
    lines: list[CaseLine]
    rank: dict[int, int]

    def to_table(self) -> JsonObject:
        """Return the list for the page."""
        return columnar(LINE_COLUMNS, [line.to_row() for line in self.lines])


def worst_cases(cases: Iterable[CaseResult], limit: int) -> WorstCases:
    """Return the worst cases by score, then by mistakes, then in the order of the run."""
    total = 0

    def ranked() -> Iterator[tuple[tuple[float, int, int], CaseLine]]:
        nonlocal total
        for case in cases:
            yield case_sort_key(case.score, case.stats.errors.total, total), CaseLine.of(case)
            total += 1

    worst = heapq.nsmallest(limit, ranked(), key=itemgetter(0))
    return WorstCases(
        total=total,
        lines=[line for _, line in worst],
        rank={position: rank for rank, ((_, _, position), _) in enumerate(worst)},
    )


def case_documents(case: CaseResult, *, metrics: bool = True) -> bytes | None:
    """Return both documents and all evaluator results as embedded JSON, or `None` if too large.

    With `metrics`, they include the metrics of the case for its tabs.
    """
    nodes, regions = case_tree(case)
    texts: JsonObject = {
        "note": truncate(case.note),
        "reasoning": truncate(case.evaluation),
        "parsed_from": case.case.parsed_from,
        "fallback": case.outcomes.fallback,
        "repeated": [{"text": repeated_error_text(error)} for error in repeated_errors(case)],
        "evaluators": [_evaluator(result) for result in case.evaluator_results[:_MAX_LINES]],
    }
    view: JsonObject = {
        "tree": _tree(nodes),
        **{key: value for key, value in texts.items() if value},
    }
    if metrics:
        view["metrics"] = case_metrics(case, limit=_MAX_KEYS)
    if (drawn := drawn_regions(regions, case.metadata)) is not None:
        view["regions"] = drawn
    text = embedded(view)
    if len(text) > MAX_CASE_BYTES:
        text = embedded({**view, "tree": _tree(_mistakes_only(nodes)), "cut": True})
    return text if len(text) <= MAX_CASE_BYTES else None


def repeated_errors(case: CaseResult) -> tuple[RepeatedError, ...]:
    """Return the errors that values of a case have in common, if it was saved with values."""
    if not case.has_values:
        return ()
    return repeated_in_case(MistakeReader().read(case.outcomes, case.attributes, case.case))


def _evaluator(result: EvaluatorResult) -> JsonObject:
    score = result.score
    details = ""
    if score.details:
        try:
            details = orjson.dumps(score.details, option=orjson.OPT_INDENT_2).decode()
        except TypeError:
            details = json.dumps(score.details, indent=2)
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
        "details": truncate(details, _MAX_DETAILS_LENGTH),
    }
    return {key: value for key, value in view.items() if value not in (None, "", [])}


def _lines(texts: Sequence[str]) -> list[JsonValue]:
    more = len(texts) - _MAX_LINES
    shown = [truncate(text) for text in texts[:_MAX_LINES]]
    return [*shown, *([f"… and {more:,} more"] if more > 0 else [])]


def _tree(nodes: Sequence[TreeNode]) -> JsonObject:
    return columnar(TREE_COLUMNS, [node.to_row() for node in nodes])


def _mistakes_only(nodes: Sequence[TreeNode]) -> list[TreeNode]:
    """Return the tree without matches."""
    mistakes: list[TreeNode] = []
    for node in nodes:
        if not node.members and node.mark != _MATCH:
            mistakes.append(node)
        elif below := _mistakes_only(node.members):
            mistakes.append(node._replace(members=below))
    return mistakes
