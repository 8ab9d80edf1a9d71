"""One case as the page shows it: in the list as a line, and opened as documents and judgements."""

from __future__ import annotations

import json
from typing import Final

import orjson

from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.html.embedding import embedded
from fieldmark.report.html.regions import drawn_regions
from fieldmark.report.html.shown import figure, listed
from fieldmark.report.html.slots import cut_text
from fieldmark.report.html.tree import case_tree
from fieldmark.wire.case_result import CaseResult

__all__ = ["ERROR_TYPES", "LARGEST_CASE", "case_line", "opened_case"]

ERROR_TYPES: Final = ErrorCounts._fields
LARGEST_CASE: Final = 1 << 20
"""Bytes of one case on the page; a larger one shows its mistakes only, or is left out."""

_LONGEST_NAME: Final = 500
_LONGEST_DETAILS: Final = 20_000
_MOST_LINES: Final = 200
_MATCH: Final = 0
_MARK, _MEMBERS = 1, 5


def case_line(case: CaseResult) -> list[JsonValue]:
    """A line of the list: id, score, verdict, status, input, tags, mistakes by type."""
    return [
        cut_text(case.id, _LONGEST_NAME),
        figure(case.score),
        case.verdict,
        case.status,
        case.input,
        list[JsonValue](cut_text(tag, _LONGEST_NAME) for tag in case.tags[:20]),
        list(case.stats.errors),
    ]


def opened_case(case: CaseResult) -> bytes | None:
    """The view of a case as JSON to embed; none where even its mistakes are too many."""
    nodes, regions = case_tree(case)
    view: JsonObject = {"tree": nodes, **_told(case)}
    if (drawn := drawn_regions(regions)) is not None:
        view["regions"] = drawn
    text = embedded(view)
    if len(text) > LARGEST_CASE:
        text = embedded({**view, "tree": _mistakes(nodes), "cut": True})
    return text if len(text) <= LARGEST_CASE else None


def _told(case: CaseResult) -> JsonObject:
    """What was said of a case in words; only what there is."""
    told: JsonObject = {
        "note": cut_text(case.note),
        "reasoning": cut_text(case.evaluation),
        "parsed_from": case.case.parsed_from,
        "fallback": case.outcomes.fallback,
        "evaluators": [_evaluator(each.to_dict()) for each in case.evaluator_results[:_MOST_LINES]],
    }
    return {key: value for key, value in told.items() if value}


def _evaluator(result: JsonObject) -> JsonObject:
    details = result.get("details")
    said: JsonObject = {
        "name": str(result.get("name", "")),
        "type": str(result.get("type", "")),
        "score": figure(result.get("score")),
        "weight": figure(result.get("weight")),
        "verdict": _text(result.get("verdict")),
        "status": _text(result.get("status")),
        "reasoning": cut_text(str(result.get("reasoning") or "")),
        "hits": _lines(result.get("hits")),
        "misses": _lines(result.get("misses")),
        "skipped": _lines(result.get("skipped")),
        "details": _pretty(details) if details else "",
    }
    return {key: value for key, value in said.items() if value not in (None, "", [])}


def _lines(value: JsonValue) -> list[JsonValue]:
    lines = listed(value)
    more = len(lines) - _MOST_LINES
    told = [cut_text(each if isinstance(each, str) else _pretty(each)) for each in lines]
    return [*told[:_MOST_LINES], *([f"… and {more:,} more"] if more > 0 else [])]


def _pretty(value: JsonValue) -> str:
    try:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except TypeError:
        text = json.dumps(value, indent=2)
    return cut_text(text, _LONGEST_DETAILS)


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _mistakes(nodes: list[JsonValue]) -> list[JsonValue]:
    """The tree without what matches."""
    kept: list[JsonValue] = []
    for node in nodes:
        if not isinstance(node, list):
            continue
        members = node[_MEMBERS] if len(node) > _MEMBERS else None
        if isinstance(members, list):
            if below := _mistakes(members):
                kept.append([*node[:_MEMBERS], below])
        elif node[_MARK] != _MATCH:
            kept.append(node)
    return kept
