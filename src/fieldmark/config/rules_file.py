"""Read rules from files and from Python: the native form, mappings by path, strategy files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from fieldmark import registry
from fieldmark.config.context import Context
from fieldmark.config.field_rules import (
    NO_DEFAULTS,
    PROVIDER,
    STRICT,
    FieldDefaults,
    is_settings,
    read_by_path,
    read_defaults,
    read_fields,
    strategy_words,
    uses_strategies,
)
from fieldmark.config.files import load_file
from fieldmark.config.keys import ConfigKey, KeyTable
from fieldmark.config.located import Located, describe, locate
from fieldmark.config.option_types import any_of, ref, summary_of
from fieldmark.config.strategies import STRATEGIES, build_comparator, choose
from fieldmark.errors import Problem
from fieldmark.model.comparison import Comparator, Provider
from fieldmark.model.json import JsonObject
from fieldmark.model.rule import Depth, Rule, Rules, Scope
from fieldmark.registry import Plugin
from fieldmark.values.text import did_you_mean

__all__ = [
    "AUTO",
    "RULES_KEYS",
    "LoadedRules",
    "load_rules",
    "loaded_rules",
    "read_rules",
    "rules_of",
    "rules_schema",
]

AUTO: Final = "auto"

_SCOPE: Final[ConfigKey[Scope | None]] = ConfigKey("scope", Scope, summary_of(Scope))
_DEPTH: Final[ConfigKey[Depth | None]] = ConfigKey("depth", Depth, summary_of(Depth))
_EMPTY_TOKENS: Final[ConfigKey[frozenset[str]]] = ConfigKey(
    "empty_tokens", frozenset[str], "Texts that mean nothing is there.", default=frozenset()
)
_EMPTY_CONTAINERS: Final[ConfigKey[bool | None]] = ConfigKey(
    "empty_containers", bool, "Whether [] and {} mean that nothing is there."
)
_EMPTY_BLANKS: Final[ConfigKey[bool | None]] = ConfigKey(
    "empty_blanks", bool, "Whether a text of blanks means that nothing is there."
)
# Like STRICT, but the schema of rules shows no default.
_STRICT: Final[ConfigKey[bool | None]] = ConfigKey("strict", bool, STRICT.description)
_NATIVE_FORM: Final[Mapping[ConfigKey[Any], Callable[[Located], bool]]] = {
    _SCOPE: lambda given: given.value in set(Scope),
    _DEPTH: lambda given: given.value in set(Depth),
    ConfigKey("defaults", schema=ref("defaults")): is_settings,
    ConfigKey("fields", schema=ref("fields")): lambda given: (
        isinstance(given.value, list) or any(map(is_settings, given.entries.values()))
    ),
    _EMPTY_TOKENS: lambda given: isinstance(given.value, list),
    _EMPTY_CONTAINERS: lambda given: isinstance(given.value, bool),
    _EMPTY_BLANKS: lambda given: isinstance(given.value, bool),
    _STRICT: lambda given: isinstance(given.value, bool),
    PROVIDER: lambda given: (
        "type" in given.entries or given.value in registry.names(Plugin.PROVIDERS)
    ),
    ConfigKey(
        "rules", description="Compare by what the truth looks like.", schema={"const": AUTO}
    ): lambda given: given.value == AUTO,
}
"""The keys of the native form, and whether a value shows that its key belongs to this form."""
RULES_KEYS: Final = KeyTable(*_NATIVE_FORM)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedRules:
    """Rules that can be used, the provider that they name, and warnings about them."""

    rules: Rules
    provider: Provider | None = None
    warnings: tuple[Problem, ...] = ()


def load_rules(path: Path | str, *, provider: Provider | None = None) -> LoadedRules:
    """Load the rules in a YAML or JSON file; the error lists every problem in it."""
    context = Context(folder=Path(path).parent, provider=provider)
    return loaded_rules(load_file(path), context)


def read_rules(value: object, *, file: str = "", provider: Provider | None = None) -> LoadedRules:
    """Read rules given in Python: a mapping, a list of fields, or the word `auto`.

    >>> read_rules({"total": {"match": "date"}}).rules.fields[0].comparator
    DateMatch(formats=None)
    """
    context = Context(provider=provider)
    located = locate(value, context.problems, file=file)
    context.problems.raise_any()
    return loaded_rules(located, context)


def loaded_rules(located: Located, context: Context) -> LoadedRules:
    """Read the rules of a whole file; the error lists every problem in it."""
    context = _with_provider(located, context)
    rules = _rules(located, context)
    context.problems.raise_any()
    return LoadedRules(rules=rules, provider=context.provider, warnings=context.problems.warnings)


def rules_of(located: Located, context: Context) -> Rules:
    """Read rules in any of their forms; problems go to the context."""
    return _rules(located, _with_provider(located, context))


def _with_provider(located: Located, context: Context) -> Context:
    """Return the context with the provider that rules in the native form name."""
    if "provider" not in located.entries or _is_by_path(located):
        return context
    return replace(context, provider=PROVIDER.read(located, context))


def _rules(located: Located, context: Context) -> Rules:
    if located.value == AUTO:
        return Rules(default=_auto(context))
    if isinstance(located.value, list):
        return Rules(fields=_read_list(located, context))
    if not isinstance(located.value, dict):
        hint = "Rules are an object with the key fields, or a list of fields."
        context.add(f"Not rules: {describe(located.value)}.", located.location, hint)
        return Rules()
    if _is_by_path(located):
        by_path = read_by_path(located, context)
        return Rules(fields=by_path, default=_auto(context) if uses_strategies(located) else None)
    RULES_KEYS.refuse_unknown(located, context)
    context = replace(context, strict=_STRICT.read(located, context) or context.strict)
    defaults = read_defaults(located.get("defaults"), context)
    fields: tuple[Rule, ...] = ()
    if given := located.get("fields"):
        if given.entries:
            fields = read_by_path(given, context, defaults)
        elif isinstance(given.value, list):
            fields = _read_list(given, context, defaults)
        else:
            context.add(f"fields must be a list, not {describe(given.value)}.", given.location)
    scope = _SCOPE.read(located, context)
    if scope is Scope.CONFIGURED and "fields" not in located.entries:
        message = "The scope is configured, but no fields are."
        context.add(message, located.entries["scope"].location)
    return Rules(
        fields=fields,
        scope=scope,
        depth=_DEPTH.read(located, context),
        empty_tokens=_EMPTY_TOKENS.read(located, context),
        default=defaults.comparator or _default(located, context),
        aligner=defaults.aligner,
        empty_containers=_EMPTY_CONTAINERS.read(located, context) is True,
        empty_blanks=_EMPTY_BLANKS.read(located, context) is not False,
        strict=context.strict,
    )


def _is_by_path(located: Located) -> bool:
    entries = located.entries
    if any(key.name in entries and fits(entries[key.name]) for key, fits in _NATIVE_FORM.items()):
        return False
    if any(map(is_settings, entries.values())):
        return True
    known = [*(word.lower() for word in STRATEGIES), *registry.names(Plugin.COMPARATORS)]
    return any(word in known or did_you_mean(word, known) for word in strategy_words(located))


def _read_list(
    fields: Located, context: Context, defaults: FieldDefaults = NO_DEFAULTS
) -> tuple[Rule, ...]:
    if not fields.items:
        context.add("The list of fields is empty.", fields.location)
    return read_fields(fields.items, context, defaults)


def _default(located: Located, context: Context) -> Comparator | None:
    """Return auto-detection where it is requested or where strategy words are used."""
    requested = located.get("rules")
    if requested is not None and requested.value != AUTO:
        hint = "The only word for it is auto."
        context.add(f"Not rules: {describe(requested.value)}.", requested.location, hint)
    fields = located.get("fields")
    uses_words = fields is not None and bool(fields.entries) and uses_strategies(fields)
    return _auto(context) if requested is not None or uses_words else None


def _auto(context: Context) -> Comparator | None:
    return build_comparator(choose(Plugin.COMPARATORS, Located(value=AUTO), context), context)


def rules_schema() -> JsonObject:
    """Describe rules in each of their forms as JSON Schema."""
    native: JsonObject = {**RULES_KEYS.to_schema(), "minProperties": 1}
    fields: JsonObject = {"type": "array", "items": ref("field"), "minItems": 1}
    return any_of([native, fields, ref("by_path"), {"const": AUTO}])
