"""Read evaluators: a type, a name, a weight, and the options of the type beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Final, cast

from fieldmark import registry
from fieldmark.config.context import Context
from fieldmark.config.field_rules import (
    PROVIDER,
    STRICT,
    FieldDefaults,
    read_defaults,
    weight_key,
)
from fieldmark.config.keys import ConfigKey, KeyTable, expect_object, option_keys, refuse_unknown
from fieldmark.config.located import Located, describe
from fieldmark.config.option_readers import option_readers
from fieldmark.config.option_types import element_of, plain, ref
from fieldmark.config.strategies import (
    StrategyChoice,
    build,
    build_comparator,
    choose,
    with_working_folder,
)
from fieldmark.errors import ConfigError
from fieldmark.evaluators.base import Combiner, ConfiguredEvaluator, Evaluator, Judge
from fieldmark.model.comparison import Comparator
from fieldmark.model.json import JsonValue
from fieldmark.model.rule import Rule
from fieldmark.registry import Plugin
from fieldmark.values.presence import is_blank
from fieldmark.values.text import is_typo

__all__ = [
    "ENTRY_KEYS",
    "MAX_NESTING",
    "SAFETY",
    "evaluator_keys",
    "read_evaluator",
    "read_evaluators",
]

MAX_NESTING: Final = 8
SAFETY: Final = "safety"
"""The key that names a judge of safety."""
_DEFAULT: Final = "default"
_COMPARE_BY_MEANING: Final = {"response_quality": "auto"}
"""Evaluators whose usual comparator compares by meaning, and so needs the provider."""


def _read_name(given: Located, context: Context) -> str | None:
    if isinstance(given.value, str) and not is_blank(given.value):
        return given.value
    context.add(f"name: must be text, not {describe(given.value)}.", given.location)
    return None


_NAME: Final[ConfigKey[str | None]] = ConfigKey(
    "name",
    description="Once in a list.",
    schema={"type": "string", "minLength": 1},
    reader=_read_name,
)
_WEIGHT: Final = weight_key("How much its score counts for the score of the case.")
ENTRY_KEYS: Final = KeyTable(_NAME, ConfigKey("type", schema={}), _WEIGHT)
"""The keys that every evaluator has."""
_DEFAULT_KEYS: Final = KeyTable(
    ConfigKey(_DEFAULT, schema=ref("match")),
    ConfigKey("match", schema=ref("match")),
    ConfigKey("defaults", schema=ref("defaults")),
)
"""Three ways to say how fields compare that have no settings of their own."""


@cache
def evaluator_keys(strategy: type) -> KeyTable:
    """Return every key that an evaluator of this class may have.

    One that compares fields takes some keys of rules files, unless they are options of its own.
    """
    own = [*ENTRY_KEYS, *option_keys(strategy)]
    if registry.with_safety(str(getattr(strategy, "name", ""))) is not None:
        own.append(ConfigKey(SAFETY, schema=ref(SAFETY)))
    names = {key.name for key in own}
    shared = (*_DEFAULT_KEYS, STRICT, PROVIDER) if _compares(strategy) else ()
    return KeyTable(*own, *(key for key in shared if key.name not in names))


def _compares(strategy: type) -> bool:
    """Whether an evaluator takes rules or a comparator."""
    kinds = [option.type for option in registry.options(strategy).values()]
    return any(element_of(kind) is Rule or plain(kind) is Comparator for kind in kinds)


# --- lists ----------------------------------------------------------------------------------------


def read_evaluators(
    located: Located, context: Context, depth: int = 1
) -> tuple[ConfiguredEvaluator, ...]:
    """Read a list of evaluators, each of which gets a name of its own."""
    if located.value is None:
        return ()
    if not isinstance(located.value, list):
        hint = "Write a list: - {name: header, type: field_accuracy, fields: [...]}."
        message = f"evaluators must be a list, not {describe(located.value)}."
        context.add(message, located.location, hint)
        return ()
    if depth > MAX_NESTING:
        message = f"Evaluators inside evaluators more than {MAX_NESTING} deep."
        context.add(message, located.location)
        return ()
    read = [(item, read_evaluator(item, context, depth)) for item in located.items]
    first: dict[JsonValue, Located] = {}
    for item in located.items:
        name = item.get("name")
        if name is None or not isinstance(name.value, str):
            continue
        earlier = first.setdefault(name.value, name)
        if earlier is not name:
            line = earlier.location.line
            hint = f"Line {line} has it already." if line else ""
            context.add(f"Two evaluators called {name.value}.", name.location, hint)
    taken = {each.name for item, each in read if each is not None and "name" in item.entries}
    named: list[ConfiguredEvaluator] = []
    for item, each in read:
        if each is None:
            continue
        unique, number = each.name, 1
        while unique in taken and "name" not in item.entries:
            number += 1
            unique = f"{each.name}_{number}"
        taken.add(unique)
        named.append(replace(each, name=unique))
    return tuple(named)


# --- one evaluator --------------------------------------------------------------------------------


def read_evaluator(
    located: Located, context: Context, depth: int = 1
) -> ConfiguredEvaluator | None:
    """Read one evaluator, named after its type if it has no name; nothing if it has problems."""
    if not expect_object(located, "an evaluator", context, "Write {name: header, type: …}."):
        return None
    if "type" not in located.entries:
        valid = f"Valid types: {', '.join(registry.names(Plugin.EVALUATORS))}."
        typo = next((key for key in located.entries if is_typo(key, "type")), None)
        hint = valid if typo is None else f"{typo}: did you mean type? {valid}"
        context.add("An evaluator without a type.", located.location, hint)
        return None
    typed = located.with_entries({"type": located.entries["type"]})
    choice = choose(Plugin.EVALUATORS, typed, context)
    if choice is None:
        return None
    before = len(context.problems)
    name = _NAME.read(located, context) or choice.name
    weight = _WEIGHT.read(located, context)
    evaluator = _build_evaluator(located, choice, context, depth)
    combined = registry.with_safety(choice.name)
    if SAFETY in located.entries and combined is not None:
        judge = build(choose(Plugin.SAFETY, located.entries[SAFETY], context), context)
        if evaluator is not None and judge is not None:
            evaluator = registry.made(combined, {"quality": evaluator, "safety": judge})
    if len(context.problems) > before:
        return None
    built = cast("Evaluator | Judge | Combiner", evaluator)
    return ConfiguredEvaluator(name=name, type=choice.name, evaluator=built, weight=float(weight))


def _build_evaluator(
    located: Located, choice: StrategyChoice, context: Context, depth: int
) -> object | None:
    options = registry.options(choice.strategy)
    collecting = getattr(choice.strategy, "collects_unknown", None)
    known = evaluator_keys(choice.strategy).names
    if isinstance(collecting, str):
        located = _collect_unknown(located, collecting, known, context)
    else:
        refuse_unknown(located, known, context, lambda key: _owners(key, choice, known))
    defaults = FieldDefaults()
    if _compares(choice.strategy):
        if "strict" in located.entries and "strict" not in options:
            context = replace(context, strict=STRICT.read(located, context) or context.strict)
        if "provider" in located.entries and "provider" not in options:
            context = replace(context, provider=PROVIDER.read(located, context))
        defaults = _read_field_defaults(located, choice, context)
    own = choice.with_options(located, [key for key in located.entries if key in options])
    own = with_working_folder(own, context)
    if defaults.comparator is not None and _DEFAULT in options:
        placeholder = Located(value=None, location=choice.location)
        own = replace(own, options={_DEFAULT: placeholder, **own.options})
    readers = option_readers(
        choice.strategy,
        context,
        defaults=defaults,
        read_evaluators=lambda inner: read_evaluators(inner, context, depth + 1),
    )
    return build(own, context, readers)


def _read_field_defaults(
    located: Located, choice: StrategyChoice, context: Context
) -> FieldDefaults:
    """Read what applies to the fields of an evaluator without settings of their own."""
    given = [key for key in _DEFAULT_KEYS.names if key in located.entries]
    for key in given[1:]:
        message = f"{given[0]} and {key} say the same thing."
        context.add(message, located.key_location(key), "Keep one of them.")
    defaults = FieldDefaults()
    if given and given[0] == "defaults":
        settings = located.entries["defaults"]
        defaults = read_defaults(settings, context)
        if defaults.aligner is not None:
            hint = "Write align beside the path of a list."
            location = settings.key_location("align")
            context.add("An evaluator has no default for align.", location, hint)
    elif given and located.entries[given[0]].value is not None:
        match = choose(Plugin.COMPARATORS, located.entries[given[0]], context)
        defaults = FieldDefaults(match=match, comparator=build_comparator(match, context))
    word = _COMPARE_BY_MEANING.get(choice.name)
    if defaults.comparator is not None or word is None or context.provider is None:
        return defaults
    usual = choose(Plugin.COMPARATORS, Located(value=word, location=choice.location), context)
    return replace(defaults, comparator=build_comparator(usual, context))


def _collect_unknown(
    located: Located, option: str, known: Sequence[str], context: Context
) -> Located:
    """Move every unknown key into one option, unchanged."""
    inner = located.get(option)
    unknown = [key for key in located.entries if key not in known]
    if inner is not None and not isinstance(inner.value, dict):
        if unknown and isinstance(inner.value, str):
            message = f"{option}: must be an object beside keys that belong into it."
            context.add(message, inner.location)
        return located
    for key in unknown:
        location = located.key_location(key)
        meant = next((word for word in known if is_typo(key, word)), None)
        if meant is not None:
            hint = f"Did you mean {meant}?"
            context.warn(f"{key} is handed on as the user's own key.", location, hint)
        if inner is not None and key in inner.entries:
            context.add(f"{key} stands both beside {option} and inside it.", location)
    if not unknown:
        return located
    values = {} if inner is None else dict(inner.entries)
    values.update({key: located.entries[key] for key in unknown})
    kept = {key: value for key, value in located.entries.items() if key in known}
    return located._replace(entries={**kept, option: located.with_entries(values)})


def _owners(key: str, choice: StrategyChoice, known: Sequence[str]) -> str:
    """Say which evaluators have a key that this one does not."""
    found: list[str] = []
    for name in registry.names(Plugin.EVALUATORS):
        try:
            if key in registry.options(registry.load(Plugin.EVALUATORS, name)):
                found.append(name)
        except ConfigError:
            continue
    if found:
        return f"It belongs to {', '.join(found)}."
    return f"{choice.name} takes {', '.join(key for key in known if key not in ENTRY_KEYS.names)}."
