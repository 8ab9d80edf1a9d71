"""Read the rules of fields: a list of settings, or a mapping of paths to settings or words.

A mapping has paths as its keys, or the shape of a document, for example
`{"total": {"match": "numeric_tolerance"}, "vendor": {"city": "EXACT"}}`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

from fieldmark import registry
from fieldmark.compare.any_of import AnyOf
from fieldmark.compare.exact import Exact
from fieldmark.config.context import Context
from fieldmark.config.keys import ConfigKey, KeyTable
from fieldmark.config.located import Located, describe
from fieldmark.config.option_types import read_option, ref
from fieldmark.config.strategies import (
    STRATEGIES,
    STRATEGY_KEYS,
    StrategyChoice,
    build_aligner,
    build_comparator,
    choose,
    read_provider,
    strategies_with,
    strategy_from_word,
)
from fieldmark.errors import Location
from fieldmark.model.alignment import Aligner
from fieldmark.model.comparison import Comparator, Provider
from fieldmark.model.json import JsonObject
from fieldmark.model.rule import Rule
from fieldmark.registry import Plugin
from fieldmark.values.paths import PathError, append_path, parse_path, path_key
from fieldmark.values.text import did_you_mean

__all__ = [
    "FIELD_KEYS",
    "NO_DEFAULTS",
    "PROVIDER",
    "STRICT",
    "FieldDefaults",
    "is_settings",
    "read_by_path",
    "read_defaults",
    "read_fields",
    "strategy_words",
    "uses_strategies",
    "weight_key",
]


def weight_key(description: str) -> ConfigKey[float]:
    """Return the key for the weight of a field or an evaluator."""
    schema: JsonObject = {"type": "number", "minimum": 0}
    return ConfigKey(
        "weight", default=1, description=description, schema=schema, reader=_read_weight
    )


def _read_weight(given: Located, context: Context) -> float | None:
    value = read_option(given, "weight", float, context)
    if not isinstance(value, int | float):
        return None
    if value < 0:
        context.add(f"weight: must not be negative, but is {value}.", given.location)
    return float(value)


_WEIGHT: Final = weight_key("How much it counts.")
_REQUIRED: Final = ConfigKey("required", bool, "Whether leaving it out is a miss.", default=True)
_ANY_OF: Final = ConfigKey(
    "any_of", bool, "Whether the expected value is a list of acceptable answers.", default=False
)
FIELD_KEYS: Final = KeyTable(
    ConfigKey(
        "path", str, 'Where the field is: dots, [n], ["quoted.key"]; [*] and ** in patterns.'
    ),
    ConfigKey("match", description="How the values compare.", schema=ref("match")),
    ConfigKey("align", description="How the items of a list are paired.", schema=ref("align")),
    _WEIGHT,
    _REQUIRED,
    _ANY_OF,
)
STRICT: Final = ConfigKey("strict", bool, "Whether a malformed path is refused.", default=False)
PROVIDER: Final[ConfigKey[Provider | None]] = ConfigKey(
    "provider", schema=ref("provider"), reader=read_provider
)
"""Keys that rules files and evaluators share."""
_NOT_BESIDE_ALIGN: Final = {
    "match": "match compares a list as one value; align pairs its items. Use one of them.",
    "any_of": "any_of takes a list as acceptable answers; align pairs its items.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDefaults:
    """What applies to fields without settings of their own."""

    match: StrategyChoice | None = None
    comparator: Comparator | None = None
    aligner: Aligner | None = None


NO_DEFAULTS: Final = FieldDefaults()


# --- one field ------------------------------------------------------------------------------------


def read_fields(
    fields: Iterable[Located], context: Context, defaults: FieldDefaults = NO_DEFAULTS
) -> tuple[Rule, ...]:
    """Read the rules of a list of fields, each of which names its path."""
    rules: list[Rule | None] = []
    for located in fields:
        if not isinstance(located.value, dict):
            message = f"Not the settings of a field: {describe(located.value)}."
            context.add(message, located.location, "Write {path: total, match: exact}.")
            continue
        given = located.get("path")
        if given is None:
            context.add("A field without a path.", located.location)
            given = Located(value=None, location=located.location)
        elif not isinstance(given.value, str):
            read_option(given, "path", str, context)
        rules.append(_rule(given.value, given.location, located, context, defaults))
    return _without_duplicates(rules, context)


def _rule(
    path: object, location: Location, settings: Located, context: Context, defaults: FieldDefaults
) -> Rule | None:
    """Build the rule for a path; nothing if the path is not text."""
    comparator: Comparator | None = None
    aligner: Aligner | None = None
    options = [key for key in settings.entries if key not in FIELD_KEYS.names]
    any_of = _ANY_OF.read(settings, context)
    if "align" in settings.entries:
        for key, reason in _NOT_BESIDE_ALIGN.items():
            if key in settings.entries:
                message = f"{key} and align on the same path."
                context.add(message, settings.key_location(key), reason)
        choice = choose(Plugin.ALIGNERS, settings.entries["align"], context)
        aligner = build_aligner(_with_options(choice, settings, options, context), context)
    else:
        choice, default = None, defaults.match
        if "match" in settings.entries:
            choice = choose(Plugin.COMPARATORS, settings.entries["match"], context)
            if choice and default and default.name == choice.name and not choice.options:
                choice = default
        elif default is None:
            for option in options:
                _refuse_option_without_strategy(option, settings, context)
        elif options:
            choice = default
        comparator = build_comparator(_with_options(choice, settings, options, context), context)
        if any_of:
            comparator = AnyOf(inner=comparator or defaults.comparator or Exact())
    weight = _WEIGHT.read(settings, context)
    required = _REQUIRED.read(settings, context)
    if not isinstance(path, str):
        return None
    _check_path(path, location, context)
    return Rule(
        path=path,
        comparator=comparator,
        aligner=aligner,
        weight=float(weight),
        required=required,
        location=location,
    )


def _check_path(path: str, location: Location, context: Context) -> None:
    """Warn of a malformed path; under `strict` it is a problem."""
    try:
        parse_path(path)
    except PathError as error:
        record = context.add if context.strict else context.warn
        record(f"Malformed path: {error.message}.", location, "It finds nothing.")


def _without_duplicates(rules: Iterable[Rule | None], context: Context) -> tuple[Rule, ...]:
    """Return the rules that could be read; a path that has a rule already is a problem."""
    first: dict[Hashable, Rule] = {}
    kept = tuple(rule for rule in rules if rule is not None)
    for rule in kept:
        earlier = first.setdefault(path_key(rule.path), rule)
        if earlier is not rule:
            line = earlier.location.line
            hint = f"It has a rule on line {line} already." if line else ""
            context.add(f"Duplicate path: {rule.path}.", rule.location, hint)
    return kept


def _with_options(
    choice: StrategyChoice | None, settings: Located, options: list[str], context: Context
) -> StrategyChoice | None:
    """Add the options beside a strategy; keys that are no option of any strategy are refused."""
    if choice is None:
        return None
    known = registry.options(choice.strategy)
    taken: list[str] = []
    for option in options:
        if option in known or strategies_with(option, *STRATEGY_KEYS.values()):
            taken.append(option)
        else:
            hint = did_you_mean(option, [*FIELD_KEYS.names, *known])
            context.add(f"Unknown key: {option}.", settings.key_location(option), hint)
    return choice.with_options(settings, taken)


def _refuse_option_without_strategy(option: str, settings: Located, context: Context) -> None:
    location = settings.key_location(option)
    known: dict[str, object] = {}
    for kind in STRATEGY_KEYS.values():
        owners = strategies_with(option, kind)
        if owners:
            hint = f"It belongs to {', '.join(owners)}."
            context.add(f"{option}: needs the {kind.noun} it is for.", location, hint)
            return
        for name in registry.names(kind):
            known.update(registry.options(registry.load(kind, name)))
    hint = did_you_mean(option, [*FIELD_KEYS.names, *known])
    context.add(f"Unknown key: {option}.", location, hint)


# --- defaults -------------------------------------------------------------------------------------


def read_defaults(located: Located | None, context: Context) -> FieldDefaults:
    """Read the default comparator and aligner, with the options beside their names."""
    if located is None:
        return NO_DEFAULTS
    if not isinstance(located.value, dict):
        message = f"defaults must be an object, not {describe(located.value)}."
        context.add(message, located.location, "Write {match: exact}.")
        return NO_DEFAULTS
    choices = {
        key: choice
        for key, kind in STRATEGY_KEYS.items()
        if key in located.entries
        and (choice := choose(kind, located.entries[key], context)) is not None
    }
    for option in [key for key in located.entries if key not in STRATEGY_KEYS]:
        location = located.key_location(option)
        known = {key: registry.options(choice.strategy) for key, choice in choices.items()}
        taking = [key for key, options in known.items() if option in options]
        if len(taking) == 1:
            choices[taking[0]] = choices[taking[0]].with_options(located, [option])
        elif taking:
            hint = f"Write match: {{type: …, {option}: …}} or align: {{type: …, {option}: …}}."
            context.add(f"{option} fits both match and align.", location, hint)
        elif owners := strategies_with(option, *STRATEGY_KEYS.values()):
            hint = f"It belongs to {', '.join(owners)}."
            context.add(f"No default takes the option {option}.", location, hint)
        else:
            hint = did_you_mean(option, [*STRATEGY_KEYS, *chain(*known.values())])
            context.add(f"Unknown key: {option}.", location, hint)
    return FieldDefaults(
        match=choices.get("match"),
        comparator=build_comparator(choices.get("match"), context),
        aligner=build_aligner(choices.get("align"), context),
    )


# --- rules by path --------------------------------------------------------------------------------


def read_by_path(
    located: Located, context: Context, defaults: FieldDefaults = NO_DEFAULTS
) -> tuple[Rule, ...]:
    """Read the rules of a mapping from paths to settings or words."""
    rules: list[Rule | None] = []
    for path, location, leaf in _leaves(located, ""):
        word = leaf.value
        if isinstance(word, dict) and leaf.entries:
            if "path" in leaf.entries:
                context.add("A path inside the settings of a path.", leaf.key_location("path"))
            rules.append(_rule(path, location, leaf, context, defaults))
            continue
        if not isinstance(word, str):
            hint = f"Valid strategies: {', '.join(STRATEGIES)}."
            context.add(f"Not a strategy: {describe(word)}.", leaf.location, hint)
            continue
        comparator = strategy_from_word(word, context.provider)
        if comparator is None:
            if registry.canonical(Plugin.COMPARATORS, word) is None:
                guess = did_you_mean(word, [name.lower() for name in STRATEGIES])
                if word.isupper():
                    guess = guess.upper().replace("DID YOU MEAN", "Did you mean")
                hint = f"Valid types: {', '.join(STRATEGIES)}. {guess}".rstrip()
                context.add(f"Invalid strategy: {word}.", leaf.location, hint)
                continue
            comparator = build_comparator(choose(Plugin.COMPARATORS, leaf, context), context)
        _check_path(path, location, context)
        rules.append(Rule(path=path, comparator=comparator, location=location))
    return _without_duplicates(rules, context)


def is_settings(located: Located) -> bool:
    """Whether an object contains the settings of a field rather than the fields of an object."""
    settings = located.entries
    if any(
        key in settings and isinstance(settings[key].value, str | dict) for key in STRATEGY_KEYS
    ):
        return True
    return bool(settings) and all(
        key in FIELD_KEYS.names and not isinstance(inner.value, str | dict | list)
        for key, inner in settings.items()
    )


def strategy_words(located: Located) -> Iterator[str]:
    """Yield the texts that stand for strategies in a mapping."""
    for inner in located.entries.values():
        if isinstance(inner.value, str):
            yield inner.value
        elif not is_settings(inner):
            yield from strategy_words(inner)
    for item in located.items:
        yield from strategy_words(item)


def uses_strategies(located: Located) -> bool:
    """Whether a mapping uses the words of field strategy files."""
    return any(word.strip().upper() in STRATEGIES for word in strategy_words(located))


def _leaves(located: Located, path: str) -> Iterator[tuple[str, Location, Located]]:
    """Yield the path, its location and its word or settings for each leaf of a mapping."""
    for key, below in located.entries.items():
        joined = append_path(path, key)
        inner = below
        while len(inner.items) == 1:
            inner, joined = inner.items[0], f"{joined}[*]"
        if isinstance(inner.value, dict) and inner.entries and not is_settings(inner):
            yield from _leaves(inner, joined)
        else:
            yield joined, located.key_location(key), inner
