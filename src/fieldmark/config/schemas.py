"""Whole JSON Schemas, by the name of what they describe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from fieldmark.config.eval_schema import eval_definitions, eval_schema
from fieldmark.config.rules_schema import rule_definitions, rules_schema
from fieldmark.evaluators.base import Status
from fieldmark.metrics.quality import QualityCounts
from fieldmark.model.case import CaseInput, Verdict
from fieldmark.model.counts import Counts
from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["SCHEMAS", "file_name", "result_schema", "schema_of"]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def schema_of(name: str) -> JsonObject:
    """The schema of eval files, of rules files or of result rows.

    >>> schema_of("result")["title"]
    'A row of the results of a fieldmark run'
    """
    return {"$schema": _DIALECT, **SCHEMAS[name]()}


def file_name(name: str) -> str:
    """The file that holds a schema.

    >>> file_name("eval")
    'eval.schema.json'
    """
    return f"{name}.schema.json"


def _evaluation() -> JsonObject:
    return {
        "title": "A fieldmark eval file",
        **eval_schema(rules_schema()),
        "$defs": {**rule_definitions(), **eval_definitions()},
    }


def _rules() -> JsonObject:
    return {"title": "A fieldmark rules file", **rules_schema(), "$defs": rule_definitions()}


def _result() -> JsonObject:
    return {"title": "A row of the results of a fieldmark run", **result_schema()}


SCHEMAS: Final[Mapping[str, Callable[[], JsonObject]]] = {
    "eval": _evaluation,
    "rules": _rules,
    "result": _result,
}


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
