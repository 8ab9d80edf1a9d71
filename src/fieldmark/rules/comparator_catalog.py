"""The comparators for people who choose one: grouped, described, with their options.

Descriptions come from docstrings, so that pages and references say the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Final, cast

from fieldmark import registry
from fieldmark.errors import ConfigError
from fieldmark.model.comparison import ComparatorGroup
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.registry import Plugin
from fieldmark.rules.option_types import option_schemas, summary_of
from fieldmark.rules.strategies import STRATEGIES, strategy_types

_WORDS: Final = "Words of strategy files"
_MEANINGS: Final = {"FUZZY": "fuzzy"}
"""What a word stands for if it depends on the provider: here without a model."""


@cache
def comparator_catalog() -> tuple[JsonObject, ...]:
    """Return the groups in order, each with its comparators: name, description and options.

    The last group are the words of strategy files, each with the comparator that it stands for.
    """
    groups: dict[str, list[JsonValue]] = {group.value: [] for group in ComparatorGroup}
    groups[_WORDS] = []
    for name, strategy in strategy_types(Plugin.COMPARATORS):
        group = getattr(strategy, "group", "")
        if name in STRATEGIES or group not in groups:
            group = _WORDS if name in STRATEGIES else ComparatorGroup.OTHER
        groups[group].append(_comparator(name, strategy))
    return tuple(
        {"group": group, "comparators": comparators}
        for group, comparators in groups.items()
        if comparators
    )


def normalization(name: str, options: JsonObject | None) -> str:
    """Return what a comparator does with values before it compares them; "" if it does not say.

    >>> normalization("fuzzy", {"ignore": ["accents"]})
    'case, whitespace and Unicode form are ignored; also ignored: accents'
    """
    text = ""
    if registry.canonical(Plugin.COMPARATORS, name) is not None:
        with suppress(ConfigError):  # a plug-in that cannot be loaded
            text = str(getattr(registry.comparator(name), "normalization", ""))
    if options and options.get("case_sensitive") is True:
        text = "none; the case counts"
    ignored = (options or {}).get("ignore")
    if isinstance(ignored, list) and ignored:
        text += f"; also ignored: {', '.join(map(str, ignored))}"
    return text


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
