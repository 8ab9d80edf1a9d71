"""Read evaluators: type, name, weight and the options of the type.

Options can be structured: rules, comparators, nested evaluators, files, and objects with their own
options. The options of targets are read in the same way.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Final, cast

from fieldmark import registry
from fieldmark.errors import OptionError, with_hint
from fieldmark.evaluators.base import Combiner, ConfiguredEvaluator, Evaluator, Judge
from fieldmark.model.comparison import Comparator
from fieldmark.model.json import MISSING
from fieldmark.model.rule import Rule
from fieldmark.registry import Plugin
from fieldmark.rules.config_files import load_named, load_table, named_path
from fieldmark.rules.config_values import Context, Located
from fieldmark.rules.option_types import (
    ConfigKey,
    KeyTable,
    expect_object,
    option_keys,
    read_option,
    ref,
    refuse_unknown,
)
from fieldmark.rules.rules_file import (
    CALIBRATION_KEY,
    NO_DEFAULTS,
    PROVIDER,
    SAFETY,
    STRICT,
    WEIGHT,
    FieldDefaults,
    read_by_path,
    read_defaults,
    read_fields,
)
from fieldmark.rules.strategy_builder import (
    StrategyChoice,
    build,
    build_comparator,
    choose,
    read_comparator,
    strategies_with,
    take_options,
)
from fieldmark.values.annotations import arms_of, is_command_line, problem_of, without_metadata
from fieldmark.values.presence import is_blank
from fieldmark.values.text import is_typo
from fieldmark.values.value_types import describe, element_of, is_json_object, plain

MAX_NESTING: Final = 8
_DEFAULT: Final = "default"
_COMPARE_BY_MEANING: Final = {"response_quality": "auto"}
"""Evaluators whose default comparator compares by meaning and uses the provider."""


def _read_name(located: Located, context: Context) -> str | None:
    if isinstance(located.value, str) and not is_blank(located.value):
        return located.value
    context.add(f"name: expected a string, got {describe(located.value)}", located.location)
    return None


_NAME: Final[ConfigKey[str | None]] = ConfigKey(
    "name",
    description="The name of the evaluator, unique in its list.",
    schema={"type": "string", "minLength": 1},
    reader=_read_name,
)
_WEIGHT: Final = replace(WEIGHT, description="The weight of its score in the score of the case.")
ENTRY_KEYS: Final = KeyTable(_NAME, ConfigKey("type", schema={}), _WEIGHT)
"""The keys that every evaluator has."""
_DEFAULT_KEYS: Final = KeyTable(
    ConfigKey(_DEFAULT, schema=ref("match")),
    ConfigKey("match", schema=ref("match")),
    ConfigKey("defaults", schema=ref("defaults")),
)
"""Three ways to set how fields without their own settings are compared."""


@cache
def evaluator_keys(strategy: type) -> KeyTable:
    """Return the keys of an evaluator of this class.

    Evaluators that compare fields support some keys of rules files, in addition to their options.
    """
    own = [*ENTRY_KEYS, *option_keys(strategy)]
    if registry.with_safety(str(getattr(strategy, "name", ""))) is not None:
        own.append(SAFETY)
    if "pass_threshold" in registry.options(strategy) and not hasattr(strategy, "collects_unknown"):
        own.append(CALIBRATION_KEY)
    names = {key.name for key in own}
    shared = (*_DEFAULT_KEYS, STRICT, PROVIDER) if _compares(strategy) else ()
    return KeyTable(*own, *(key for key in shared if key.name not in names))


def _compares(strategy: type) -> bool:
    """Whether an evaluator has rules or a comparator as an option."""
    annotations = [option.type for option in registry.options(strategy).values()]
    return any(
        element_of(annotation) is Rule or plain(annotation) is Comparator
        for annotation in annotations
    )


# --- lists ----------------------------------------------------------------------------------------


def read_evaluators(
    located: Located, context: Context, depth: int = 1
) -> tuple[ConfiguredEvaluator, ...]:
    """Read a list of evaluators and give each a unique name."""
    if located.value is None:
        return ()
    if not isinstance(located.value, list):
        hint = "for example [{name: header, type: field_accuracy, fields: […]}]"
        message = f"evaluators: expected a list, got {describe(located.value)}"
        context.add(message, located.location, hint)
        return ()
    if depth > MAX_NESTING:
        message = f"evaluators: nesting exceeds the limit of {MAX_NESTING} levels"
        context.add(message, located.location)
        return ()
    read = [(item, read_evaluator(item, context, depth)) for item in located.items]
    names = [item.entries["name"] for item in located.items if "name" in item.entries]
    context.problems.add_duplicates(
        ((name.value, name.location) for name in names if isinstance(name.value, str)),
        "evaluator name",
    )
    taken = {
        evaluator.name
        for item, evaluator in read
        if evaluator is not None and "name" in item.entries
    }
    named: list[ConfiguredEvaluator] = []
    for item, evaluator in read:
        if evaluator is None:
            continue
        unique, number = evaluator.name, 1
        while unique in taken and "name" not in item.entries:
            number += 1
            unique = f"{evaluator.name}_{number}"
        taken.add(unique)
        named.append(replace(evaluator, name=unique))
    return tuple(named)


# --- evaluators -----------------------------------------------------------------------------------


def read_evaluator(
    located: Located, context: Context, depth: int = 1
) -> ConfiguredEvaluator | None:
    """Read an evaluator; its default name is its type. Return `None` if it has problems."""
    if not expect_object(located, "evaluator", context, "for example {name: header, type: …}"):
        return None
    if "type" not in located.entries:
        hint = f"valid types: {', '.join(registry.names(Plugin.EVALUATORS))}"
        typo = next((key for key in located.entries if is_typo(key, "type")), None)
        if typo is not None:
            hint = with_hint(hint, f"did you mean 'type' instead of {typo!r}?")
        context.add("evaluator: 'type' is required", located.location, hint)
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
    if SAFETY.name in located.entries and combined is not None:
        judge = SAFETY.read(located, context)
        if evaluator is not None and judge is not None:
            evaluator = registry.create(combined, {"quality": evaluator, "safety": judge})
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
        own_keys = ", ".join(key for key in known if key not in ENTRY_KEYS.names)

        def name_owners(key: str) -> str:
            owners = ", ".join(strategies_with(key, Plugin.EVALUATORS))
            if owners:
                return f"it is an option of: {owners}"
            return f"supported options of {choice.name}: {own_keys}"

        refuse_unknown(located, known, context, name_owners)
    defaults = FieldDefaults()
    if _compares(choice.strategy):
        if "strict" in located.entries and "strict" not in options:
            context = replace(context, strict=STRICT.read(located, context) or context.strict)
        if "provider" in located.entries and "provider" not in options:
            context = replace(context, provider=PROVIDER.read(located, context))
        defaults = _read_field_defaults(located, choice, context)
    own = take_options(choice, located, context)
    if defaults.comparator is not None and _DEFAULT in options:
        placeholder = Located(value=None, location=choice.location)
        own = replace(own, options={_DEFAULT: placeholder, **own.options})
    read = partial(
        read_structured_option,
        defaults=defaults,
        read_evaluators=lambda inner: read_evaluators(inner, context, depth + 1),
    )
    return build(own, context, read)


def _read_field_defaults(
    located: Located, choice: StrategyChoice, context: Context
) -> FieldDefaults:
    """Read the defaults for fields of an evaluator without their own settings."""
    keys = [key for key in _DEFAULT_KEYS.names if key in located.entries]
    for key in keys[1:]:
        message = f"{keys[0]} and {key} cannot be combined"
        context.add(message, located.key_location(key), "remove one of them")
    defaults = FieldDefaults()
    if keys and keys[0] == "defaults":
        settings = located.entries["defaults"]
        defaults = read_defaults(settings, context)
        if defaults.aligner is not None:
            hint = "set align next to the path of a list"
            location = settings.key_location("align")
            context.add("align is not supported in the defaults of an evaluator", location, hint)
    elif keys and located.entries[keys[0]].value is not None:
        match = choose(Plugin.COMPARATORS, located.entries[keys[0]], context)
        defaults = FieldDefaults(match=match, comparator=build_comparator(match, context))
    word = _COMPARE_BY_MEANING.get(choice.name)
    if (
        defaults.comparator is not None
        or word is None
        or not (context.provider or context.thresholds)
    ):
        return defaults
    usual = read_comparator(Located(value=word, location=choice.location), context)
    return replace(defaults, comparator=usual)


def _collect_unknown(
    located: Located, option: str, known: Sequence[str], context: Context
) -> Located:
    """Move all unknown keys into one option, without changes."""
    inner = located.get(option)
    unknown = {key: value for key, value in located.entries.items() if key not in known}
    if not unknown:
        return located
    if inner is not None and not isinstance(inner.value, dict):
        if isinstance(inner.value, str):
            message = f"{option}: must be an object if unknown keys are passed next to it"
            context.add(message, inner.location)
        return located
    inside = {} if inner is None else inner.entries
    for key in unknown:
        location = located.key_location(key)
        meant = next((word for word in known if is_typo(key, word)), None)
        if meant is not None:
            hint = f"did you mean {meant!r}?"
            context.warn(f"unknown key {key!r} is passed on in {option}", location, hint)
        if key in inside:
            context.add(f"duplicate key {key!r}, next to {option} and in it", location)
    known_entries = {key: value for key, value in located.entries.items() if key in known}
    collected = located.with_entries({**inside, **unknown})
    return located._replace(entries={**known_entries, option: collected})


# --- structured options of evaluators and targets -------------------------------------------------


def read_structured_option(
    located: Located,
    name: str,
    annotation: object,
    context: Context,
    *,
    defaults: FieldDefaults = NO_DEFAULTS,
    read_evaluators: Callable[[Located], object] | None = None,
) -> object | None:
    """Read the value of an option; a value that does not fit is a problem and gives `None`.

    `defaults` apply to the rules of fields and provide the comparator.
    """
    before = len(context.problems)
    value = _read_by_type(located, name, annotation, context, defaults, read_evaluators)
    if len(context.problems) > before or value is None:
        return None
    if problem := problem_of(annotation, value):
        context.add(f"{name}: {problem}", located.location)
        return None
    return value


def _read_by_type(
    located: Located,
    name: str,
    annotation: object,
    context: Context,
    defaults: FieldDefaults,
    read_evaluators: Callable[[Located], object] | None,
) -> object | None:
    kind, element = plain(annotation), element_of(annotation)
    if kind is Comparator:
        return defaults.comparator
    if element is ConfiguredEvaluator and read_evaluators is not None:
        return read_evaluators(located)
    if element is Rule:
        if isinstance(located.value, dict):
            return read_by_path(located, context, defaults)
        if not isinstance(located.value, list):
            message = f"{name}: expected a list, got {describe(located.value)}"
            context.add(message, located.location, "for example [{path: total, match: exact}]")
        return read_fields(located.items, context, defaults)
    if kind is Path:
        return None if located.value is None else named_path(located, name, context)
    if is_command_line(annotation) and isinstance(located.value, str):
        words = ", ".join(located.value.split())
        hint = f"commands run without a shell; write {name}: [{words}]"
        context.add(f"{name}: expected a list, got a string", located.location, hint)
        return None
    if is_json_object(kind) and isinstance(located.value, str):
        contents = load_named(located, name, context, load_table)
        return None if contents is None else read_option(contents, name, annotation, context)
    if _is_dataclass(kind):
        return _read_object(located, name, cast("type", kind), context)
    for part in map(without_metadata, arms_of(element)):
        if _is_dataclass(part):
            return _read_objects(located, name, cast("type", part), context)
    return read_option(located, name, annotation, context)


def _is_dataclass(annotation: object) -> bool:
    return isinstance(annotation, type) and dataclasses.is_dataclass(annotation)


def _read_objects(located: Located, name: str, part: type, context: Context) -> tuple[object, ...]:
    """Read a list of objects; a string is the value of the only required option of an object."""
    options = registry.options(part).items()
    needed = [key for key, option in options if option.default is MISSING]
    items = [located] if isinstance(located.value, str) else located.items
    if not isinstance(located.value, str | list):
        context.add(f"{name}: expected a list, got {describe(located.value)}", located.location)
    objects: list[object] = []
    for item in items:
        is_short = isinstance(item.value, str) and len(needed) == 1
        whole = item.with_entries({needed[0]: item}) if is_short else item
        built = _read_object(whole, name, part, context)
        objects += [] if built is None else [built]
    return tuple(objects)


def _read_object(located: Located, name: str, kind: type, context: Context) -> object | None:
    """Read an object whose keys are the fields of a dataclass."""
    if not expect_object(located, name, context):
        return None
    options = registry.options(kind)
    before = len(context.problems)
    refuse_unknown(located, options, context)
    values = {
        key: read_option(inner, f"{name}.{key}", options[key].type, context)
        for key, inner in located.entries.items()
        if key in options
    }
    for key, option in options.items():
        if key not in values and option.default is MISSING:
            context.add(f"'{name}.{key}' is required", located.location)
    if len(context.problems) > before:
        return None
    try:
        return registry.create(kind, values)
    except OptionError as error:
        key = error.option.rpartition(".")[2]
        location = located.entries.get(key, located).location
        context.add(f"{name}.{key}: {error.message}", location)
        return None
