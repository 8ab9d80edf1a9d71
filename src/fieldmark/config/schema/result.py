"""The JSON Schema of a row of `results.jsonl`."""

from __future__ import annotations

from typing import Final

from fieldmark.evaluators.base import Status
from fieldmark.metrics.quality import QualityCounts
from fieldmark.model.case import CaseInput, Verdict
from fieldmark.model.counts import Counts
from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["result_schema"]

_TEXTS: Final[JsonObject] = {"type": "array", "items": {"type": "string"}}
_LISTS: Final[JsonObject] = {"type": "array", "items": {"type": "array"}}
_SHARE: Final[JsonObject] = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
_KINDS_OF_ERROR: Final = ("omission", "hallucination", "format_error", "wrong_value")


def result_schema() -> JsonObject:
    """All that a run says of one case; later versions may say more."""
    return {
        "type": "object",
        "required": ["case_id", "score", "verdict", "status"],
        "properties": {
            "case_id": _told({"type": "string"}, "Which case it is."),
            **_said(),
            "hits": _told(_TEXTS, "What is right."),
            "misses": _told(_TEXTS, "What is wrong, and why."),
            "reasoning": {"type": "string"},
            "evaluator_results": {"type": "array", "items": _evaluator_result()},
            "counts": _told(_numbers(Counts._fields), "Fields, counted by the convention."),
            "errors_by_type": _numbers(_KINDS_OF_ERROR),
            "quality": _told(_numbers(QualityCounts._fields), "The sizes of the buckets."),
            "cells": _told(
                {"type": "array", "items": {"type": "integer"}},
                "One integer a field: attribute, outcome and both presences.",
            ),
            "comparisons": _told(
                _LISTS, "[position, similarity, score, reason, flags, note] where there is more."
            ),
            "items": _told(
                _LISTS, "[position, list, expected index, candidate index, similarity] of items."
            ),
            "attributes": _told(
                {"type": "array"}, "[first number, attributes]: those that this row uses first."
            ),
            "segment": _told(
                {"type": "array", "items": {"type": "integer"}},
                "[number, rows]: how many rows from here on were written together.",
            ),
            "input": _told(_words(CaseInput), "What could be read of the case, if not all."),
            "note": {"type": "string"},
            "parsed_from": _told({"enum": ["fence", "text"]}, "Where in a text the JSON stood."),
            "tags": _TEXTS,
            "fallback": _told({"const": True}, "A list was too long for the method asked for."),
            "expected": _told({}, "The truth."),
            "candidate": _told({}, "What was extracted."),
        },
    }


def _evaluator_result() -> JsonObject:
    return {
        "type": "object",
        "required": ["name", "type", "score", "weight", "verdict", "status"],
        "properties": {
            "name": {"type": "string"},
            "type": {"type": "string"},
            "weight": {"type": "number", "minimum": 0},
            **_said(),
            "vacuous": _told({"type": "boolean"}, "Whether there was nothing to score."),
            "hits": _TEXTS,
            "misses": _TEXTS,
            "skipped": _told(_TEXTS, "What counts neither way."),
            "reasoning": {"type": "string"},
            "details": _told({"type": "object"}, "Whatever the evaluator adds, untouched."),
        },
    }


def _said() -> JsonObject:
    verdicts: list[JsonValue] = [*(verdict.value for verdict in Verdict), None]
    return {
        "score": _told(_SHARE, "Null if it could not be given."),
        "verdict": {"enum": verdicts},
        "status": _words(Status),
    }


def _words(words: type[Status | CaseInput]) -> JsonObject:
    return {"enum": [word.value for word in words]}


def _numbers(names: tuple[str, ...]) -> JsonObject:
    return {"type": "object", "properties": {name: {"type": "integer"} for name in names}}


def _told(schema: JsonObject, description: str) -> JsonObject:
    return {**schema, "description": description}
