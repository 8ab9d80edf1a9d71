"""Reads rules from files and from Python: the native form, plain mappings and strategy files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from fieldmark import registry
from fieldmark.config.context import Context
from fieldmark.config.field_rules import (
    Defaults,
    is_settings,
    read_by_path,
    read_defaults,
    read_fields,
    uses_strategies,
    words,
)
from fieldmark.config.files import load_file
from fieldmark.config.located import Located, locate
from fieldmark.config.option_types import checked, describe
from fieldmark.config.strategies import STRATEGIES, build_comparator, choose, read_provider
from fieldmark.errors import Problem
from fieldmark.model.comparison import Comparator, Provider
from fieldmark.model.rule import Depth, Rule, Rules, Scope
from fieldmark.registry import Plugin
from fieldmark.values.text import did_you_mean

__all__ = ["AUTO", "LoadedRules", "load_rules", "loaded_rules", "read_rules", "rules_of"]

AUTO: Final = "auto"


def load_rules(path: Path | str, *, provider: Provider | None = None) -> LoadedRules:
    """The rules in a YAML or JSON file; every problem in it at once."""
    context = Context(folder=Path(path).parent, provider=provider)
    return loaded_rules(load_file(path), context)


def read_rules(value: object, *, file: str = "", provider: Provider | None = None) -> LoadedRules:
    """Rules given in Python: a mapping, a list of fields, or the word `auto`.

    >>> read_rules({"total": {"match": "date"}}).rules.fields[0].comparator
    DateMatch(formats=None)
    """
    context = Context(provider=provider)
    located = locate(value, context.problems, file=file)
    context.problems.raise_any()
    return loaded_rules(located, context)


def rules_of(located: Located, context: Context) -> Rules:
    """The rules that a value describes, in whichever form; problems go to the context."""
    return _rules(located, _judged(located, context))


def _rules(located: Located, context: Context) -> Rules:
    if located.value == AUTO:
        return Rules(default=_auto(context))
    if isinstance(located.value, list):
        return _with_fields(located, context)
    if not isinstance(located.value, dict):
        hint = "Rules are an object with the key fields, or a list of fields."
        context.problems.add(f"Not rules: {describe(located.value)}.", located.location, hint)
        return Rules()
    if _is_by_path(located):
        return _by_path(located, context)
    return _native(located, context)


def loaded_rules(located: Located, context: Context) -> LoadedRules:
    """The rules that the value of a whole file describes; every problem of it at once."""
    context = _judged(located, context)
    rules = _rules(located, context)
    context.problems.raise_any()
    return LoadedRules(rules=rules, provider=context.provider, warnings=context.problems.warnings)


def _judged(located: Located, context: Context) -> Context:
    """The context with the provider that rules in the native form name."""
    given = located.entries.get("provider")
    if given is None or _is_by_path(located):
        return context
    return replace(context, provider=read_provider(given, context))


_NATIVE_SHAPES: Final[Mapping[str, Callable[[Located], bool]]] = {
    "scope": lambda located: located.value in set(Scope),
    "depth": lambda located: located.value in set(Depth),
    "defaults": is_settings,
    "fields": lambda located: (
        isinstance(located.value, list)
        or any(is_settings(inner) for inner in located.entries.values())
    ),
    "empty_tokens": lambda located: isinstance(located.value, list),
    "empty_containers": lambda located: isinstance(located.value, bool),
    "empty_blanks": lambda located: isinstance(located.value, bool),
    "strict": lambda located: isinstance(located.value, bool),
    "provider": lambda located: (
        "type" in located.entries or located.value in registry.names(Plugin.PROVIDERS)
    ),
    "rules": lambda located: located.value == AUTO,
}
"""The keys of the native form, and how a value tells that it is meant so."""


def _is_by_path(located: Located) -> bool:
    entries = located.entries
    if any(shape(entries[key]) for key, shape in _NATIVE_SHAPES.items() if key in entries):
        return False
    if any(is_settings(inner) for inner in entries.values()):
        return True
    known = [*(word.lower() for word in STRATEGIES), *registry.names(Plugin.COMPARATORS)]
    return any(word in known or did_you_mean(word, known) for word in words(located))


def _by_path(located: Located, context: Context) -> Rules:
    fields = read_by_path(located, context, Defaults())
    return Rules(fields=fields, default=_auto(context) if uses_strategies(located) else None)


def _with_fields(located: Located, context: Context) -> Rules:
    if not located.items:
        context.problems.add("The list of fields is empty.", located.location)
    return Rules(fields=read_fields(located.items, context))


def _native(located: Located, context: Context) -> Rules:
    entries = located.entries
    for key in entries:
        if key not in _NATIVE_SHAPES:
            hint = did_you_mean(key, _NATIVE_SHAPES)
            context.problems.add(f"Unknown key: {key}.", located.key_location(key), hint)
    strict = _value(located, "strict", bool, context) is True
    context = replace(context, strict=strict or context.strict)
    defaults = read_defaults(entries.get("defaults"), context)
    fields = _fields(located, context, defaults)
    scope = _value(located, "scope", Scope, context)
    if scope is Scope.CONFIGURED and "fields" not in entries:
        place = entries["scope"].location
        context.problems.add("The scope is configured, but no fields are.", place)
    depth = _value(located, "depth", Depth, context)
    tokens = _value(located, "empty_tokens", frozenset[str], context)
    return Rules(
        fields=fields,
        scope=scope if isinstance(scope, Scope) else None,
        depth=depth if isinstance(depth, Depth) else None,
        default=defaults.comparator or _default(located, context),
        aligner=defaults.aligner,
        empty_tokens=tokens if isinstance(tokens, frozenset) else frozenset(),
        empty_containers=_value(located, "empty_containers", bool, context) is True,
        empty_blanks=_value(located, "empty_blanks", bool, context) is not False,
        strict=context.strict,
    )


def _value(located: Located, key: str, kind: object, context: Context) -> object | None:
    given = located.entries.get(key)
    return None if given is None else checked(given, key, kind, context)


def _fields(located: Located, context: Context, defaults: Defaults) -> tuple[Rule, ...]:
    given = located.entries.get("fields")
    if given is None:
        return ()
    if isinstance(given.value, dict) and given.entries:
        return read_by_path(given, context, defaults)
    if not isinstance(given.value, list):
        shown = describe(given.value)
        context.problems.add(f"fields must be a list, not {shown}.", given.location)
    elif not given.items:
        context.problems.add("The list of fields is empty.", given.location)
    return read_fields(given.items, context, defaults)


def _default(located: Located, context: Context) -> Comparator | None:
    """Auto-detection, where it is asked for or where strategy words are used."""
    asked = located.entries.get("rules")
    if asked is not None and asked.value != AUTO:
        hint = "The only word for it is auto."
        context.problems.add(f"Not rules: {describe(asked.value)}.", asked.location, hint)
    fields = located.entries.get("fields")
    words_used = fields is not None and isinstance(fields.value, dict) and uses_strategies(fields)
    return _auto(context) if asked is not None or words_used else None


def _auto(context: Context) -> Comparator | None:
    choice = choose(Plugin.COMPARATORS, Located(value=AUTO), context)
    return None if choice is None else build_comparator(choice, context)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedRules:
    """Rules that can be used, who judges meaning under them, and what is odd about them."""

    rules: Rules
    provider: Provider | None = None
    warnings: tuple[Problem, ...] = ()
