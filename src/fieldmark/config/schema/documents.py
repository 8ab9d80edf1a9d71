"""Whole JSON Schemas, by the name of what they describe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from fieldmark.config.schema.evaluation import eval_definitions, eval_schema
from fieldmark.config.schema.result import result_schema
from fieldmark.config.schema.rules import rule_definitions, rules_schema
from fieldmark.model.json import JsonObject

__all__ = ["SCHEMAS", "file_name", "schema_of"]

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
