"""Reads rules from files and from Python: the native form, plain mappings and strategy files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from fieldmark import registry
from fieldmark.config.by_path import is_settings, read_by_path, uses_strategies, words
from fieldmark.config.choice import build_comparator, choose, read_provider
from fieldmark.config.context import Context
from fieldmark.config.field_rules import Defaults, read_fields
from fieldmark.config.files import load_file
from fieldmark.config.loaded import LoadedRules
from fieldmark.config.marked import Marked, mark
from fieldmark.config.option_values import checked, describe
from fieldmark.config.problems import did_you_mean
from fieldmark.config.rule_defaults import read_defaults
from fieldmark.config.strategies import STRATEGIES
from fieldmark.model.comparison import Comparator, Provider
from fieldmark.model.rule import Depth, Rule, Rules, Scope
from fieldmark.registry import Plugin

__all__ = ["AUTO", "load_rules", "loaded_rules", "read_rules", "rules_of"]

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
    marked = mark(value, context.problems, file=file)
    context.problems.raise_any()
    return loaded_rules(marked, context)


def rules_of(marked: Marked, context: Context) -> Rules:
    """The rules that a value describes, in whichever form; problems go to the context."""
    return _rules(marked, _judged(marked, context))


def _rules(marked: Marked, context: Context) -> Rules:
    if marked.value == AUTO:
        return Rules(default=_auto(context))
    if isinstance(marked.value, list):
        return _with_fields(marked, context)
    if not isinstance(marked.value, dict):
        hint = "Rules are an object with the key fields, or a list of fields."
        context.problems.add(f"Not rules: {describe(marked.value)}.", marked.location, hint)
        return Rules()
    if _is_by_path(marked):
        return _by_path(marked, context)
    return _native(marked, context)


def loaded_rules(marked: Marked, context: Context) -> LoadedRules:
    """The rules that the value of a whole file describes; every problem of it at once."""
    context = _judged(marked, context)
    rules = _rules(marked, context)
    context.problems.raise_any()
    return LoadedRules(rules=rules, provider=context.provider, warnings=context.problems.warnings)


def _judged(marked: Marked, context: Context) -> Context:
    """The context with the provider that rules in the native form name."""
    given = marked.entries.get("provider")
    if given is None or _is_by_path(marked):
        return context
    return replace(context, provider=read_provider(given, context))


_NATIVE_SHAPES: Final[Mapping[str, Callable[[Marked], bool]]] = {
    "scope": lambda marked: marked.value in set(Scope),
    "depth": lambda marked: marked.value in set(Depth),
    "defaults": is_settings,
    "fields": lambda marked: (
        isinstance(marked.value, list)
        or any(is_settings(inner) for inner in marked.entries.values())
    ),
    "empty_tokens": lambda marked: isinstance(marked.value, list),
    "empty_containers": lambda marked: isinstance(marked.value, bool),
    "empty_blanks": lambda marked: isinstance(marked.value, bool),
    "strict": lambda marked: isinstance(marked.value, bool),
    "provider": lambda marked: (
        "type" in marked.entries or marked.value in registry.names(Plugin.PROVIDERS)
    ),
    "rules": lambda marked: marked.value == AUTO,
}
"""The keys of the native form, and how a value tells that it is meant so."""


def _is_by_path(marked: Marked) -> bool:
    entries = marked.entries
    if any(shape(entries[key]) for key, shape in _NATIVE_SHAPES.items() if key in entries):
        return False
    if any(is_settings(inner) for inner in entries.values()):
        return True
    known = [*(word.lower() for word in STRATEGIES), *registry.names(Plugin.COMPARATORS)]
    return any(word in known or did_you_mean(word, known) for word in words(marked))


def _by_path(marked: Marked, context: Context) -> Rules:
    fields = read_by_path(marked, context, Defaults())
    return Rules(fields=fields, default=_auto(context) if uses_strategies(marked) else None)


def _with_fields(marked: Marked, context: Context) -> Rules:
    if not marked.items:
        context.problems.add("The list of fields is empty.", marked.location)
    return Rules(fields=read_fields(marked.items, context))


def _native(marked: Marked, context: Context) -> Rules:
    entries = marked.entries
    for key in entries:
        if key not in _NATIVE_SHAPES:
            hint = did_you_mean(key, _NATIVE_SHAPES)
            context.problems.add(f"Unknown key: {key}.", marked.key_location(key), hint)
    strict = _value(marked, "strict", bool, context) is True
    context = replace(context, strict=strict or context.strict)
    defaults = read_defaults(entries.get("defaults"), context)
    fields = _fields(marked, context, defaults)
    scope = _value(marked, "scope", Scope, context)
    if scope is Scope.CONFIGURED and "fields" not in entries:
        place = entries["scope"].location
        context.problems.add("The scope is configured, but no fields are.", place)
    depth = _value(marked, "depth", Depth, context)
    tokens = _value(marked, "empty_tokens", frozenset[str], context)
    return Rules(
        fields=fields,
        scope=scope if isinstance(scope, Scope) else None,
        depth=depth if isinstance(depth, Depth) else None,
        default=defaults.comparator or _default(marked, context),
        aligner=defaults.aligner,
        empty_tokens=tokens if isinstance(tokens, frozenset) else frozenset(),
        empty_containers=_value(marked, "empty_containers", bool, context) is True,
        empty_blanks=_value(marked, "empty_blanks", bool, context) is not False,
        strict=context.strict,
    )


def _value(marked: Marked, key: str, kind: object, context: Context) -> object | None:
    given = marked.entries.get(key)
    return None if given is None else checked(given, key, kind, context)


def _fields(marked: Marked, context: Context, defaults: Defaults) -> tuple[Rule, ...]:
    given = marked.entries.get("fields")
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


def _default(marked: Marked, context: Context) -> Comparator | None:
    """Auto-detection, where it is asked for or where strategy words are used."""
    asked = marked.entries.get("rules")
    if asked is not None and asked.value != AUTO:
        hint = "The only word for it is auto."
        context.problems.add(f"Not rules: {describe(asked.value)}.", asked.location, hint)
    fields = marked.entries.get("fields")
    words_used = fields is not None and isinstance(fields.value, dict) and uses_strategies(fields)
    return _auto(context) if asked is not None or words_used else None


def _auto(context: Context) -> Comparator | None:
    choice = choose(Plugin.COMPARATORS, Marked(value=AUTO), context)
    return None if choice is None else build_comparator(choice, context)
