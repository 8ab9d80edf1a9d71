"""The comparators for people who choose one: grouped, described, with their options.

Descriptions come from docstrings, so that pages and references say the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final, cast

from fieldmark import registry
from fieldmark.config.option_types import option_schemas, summary_of
from fieldmark.config.strategies import STRATEGIES, strategy_types
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.registry import Plugin

__all__ = ["comparator_catalog"]

_GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Any value": ("exact", "auto", "ignore"),
    "Text": (
        "exact_text", "normalized_text", "fuzzy", "semantic", "contains", "regex", "identifier",
    ),
    "Numbers, money and truth values": ("numeric_tolerance", "money", "boolean"),
    "Dates": ("date",),
    "Names and contacts": ("name", "address", "email", "phone", "url"),
    "Lists": ("set",),
    "Places on a page": ("iou", "distance"),
}  # fmt: skip
"""What comparators compare."""
_PLUG_INS: Final = "Plug-ins"
_WORDS: Final = "Words of strategy files"
_MEANINGS: Final = {"FUZZY": "fuzzy"}
"""What a word stands for if it depends on the provider: here without a model."""


@cache
def comparator_catalog() -> tuple[JsonObject, ...]:
    """Return the groups in order, each with its comparators: name, description and options.

    The last group are the words of strategy files, each with the comparator that it stands for.
    """
    types = dict(strategy_types(Plugin.COMPARATORS))
    grouped = {name for names in _GROUPS.values() for name in names}
    others = [name for name in types if name not in grouped and name not in STRATEGIES]
    groups = {**_GROUPS, **({_PLUG_INS: others} if others else {}), _WORDS: tuple(STRATEGIES)}
    return tuple(
        {"group": group, "comparators": [_comparator(name, types[name]) for name in names]}
        for group, names in groups.items()
    )


def _comparator(name: str, strategy: type) -> JsonObject:
    meant = STRATEGIES.get(name)
    word = _MEANINGS.get(name) or meant
    found: JsonObject = {"name": name, "summary": summary_of(strategy)}
    if isinstance(word, str):
        found["means"] = word
        strategy = registry.load(Plugin.COMPARATORS, word) if meant == word else strategy
    return {**found, "options": [*_options(strategy)]}


def _options(strategy: type) -> Iterator[JsonObject]:
    """Yield the options that can be set in a form; providers are configured elsewhere."""
    for name, schema in option_schemas(strategy).items():
        if any("$ref" in arm for arm in _arms(schema)):
            continue
        kind, choices = _kind(schema)
        yield {
            "name": name,
            "kind": kind,
            "description": schema.get("description", ""),
            **({"choices": [*choices]} if choices else {}),
            **({"default": schema["default"]} if "default" in schema else {}),
        }


def _kind(schema: JsonObject) -> tuple[str, list[JsonValue]]:
    """Return what a form shows for an option, with its choices; a nested value is `json`."""
    arms = _arms(schema)
    types = {str(arm.get("type", "enum" if "enum" in arm else "")) for arm in arms}
    if "object" in types:
        return "json", []
    if lists := [arm for arm in arms if arm.get("type") == "array"]:
        items = cast("JsonObject", lists[0].get("items", {}))
        kind = "list" if items.get("type") == "string" or "enum" in items else "json"
        return kind, _words(items)
    for kind, own in (("choice", "enum"), ("number", "number"), ("number", "integer")):
        if own in types:
            return kind, [word for arm in arms for word in _words(arm)]
    return ("boolean" if "boolean" in types else "text" if "string" in types else "json"), []


def _arms(schema: JsonObject) -> list[JsonObject]:
    arms = cast("list[JsonObject]", schema.get("anyOf", [schema]))
    return [each for arm in arms for each in (_arms(arm) if "anyOf" in arm else [arm])]


def _words(schema: JsonObject) -> list[JsonValue]:
    """Return the words of an enumeration, each in one spelling."""
    words = cast("list[str]", schema.get("enum", []))
    return [word for word in words if "-" not in word]
