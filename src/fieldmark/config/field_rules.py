"""Reads the rule of one field: how its values compare, or how its list is aligned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from fieldmark import registry
from fieldmark.compare.any_of import AnyOf
from fieldmark.compare.exact import Exact
from fieldmark.config.context import Context
from fieldmark.config.located import Located
from fieldmark.config.option_types import checked, describe
from fieldmark.config.strategies import (
    STRATEGIES,
    STRATEGY_KINDS,
    StrategyChoice,
    build_aligner,
    build_comparator,
    choose,
    strategy,
    takers,
)
from fieldmark.errors import Location
from fieldmark.model.alignment import Aligner
from fieldmark.model.comparison import Comparator
from fieldmark.model.rule import Rule
from fieldmark.registry import Plugin
from fieldmark.values.paths import PathError, parse_path
from fieldmark.values.text import did_you_mean

__all__ = [
    "FIELD_KEYS",
    "Defaults",
    "is_settings",
    "known_options",
    "read_by_path",
    "read_defaults",
    "read_field",
    "read_fields",
    "read_weight",
    "uses_strategies",
    "words",
]

FIELD_KEYS: Final = ("path", "match", "align", "weight", "required", "any_of")


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What holds where a field says nothing."""

    match: StrategyChoice | None = None
    comparator: Comparator | None = None
    aligner: Aligner | None = None


def read_fields(
    fields: Iterable[Located], context: Context, defaults: Defaults | None = None
) -> tuple[Rule, ...]:
    """The rules of a list of fields, each of which names its path."""
    rules = [read_field(located, context, defaults or Defaults()) for located in fields]
    kept = [rule for rule in rules if rule is not None]
    refuse_repeated_paths(kept, context)
    return tuple(kept)


def read_field(
    located: Located,
    context: Context,
    defaults: Defaults,
    *,
    path: str | None = None,
    location: Location | None = None,
) -> Rule | None:
    """The rule that one object of settings describes, for a given path or for its own."""
    if not isinstance(located.value, dict):
        shown = describe(located.value)
        hint = "Write {path: total, match: exact}."
        context.problems.add(f"Not the settings of a field: {shown}.", located.location, hint)
        return None
    if path is None:
        name, place = _path(located, context)
    else:
        name, place = path, location or located.location
    comparator, aligner = _strategies(located, context, defaults)
    weight = read_weight(located, context)
    required = _flag(located, "required", context, default=True)
    if name is None:
        return None
    check_path(name, place, context)
    return Rule(
        path=name,
        comparator=comparator,
        aligner=aligner,
        weight=weight,
        required=required,
        location=place,
    )


def check_path(path: str, place: Location, context: Context) -> None:
    """Warn of a path that does not follow the grammar; under `strict` it is a problem."""
    try:
        parse_path(path)
    except PathError as error:
        note = context.problems.add if context.strict else context.problems.warn
        note(f"Malformed path: {error.message}.", place, "It finds nothing.")


def refuse_repeated_paths(rules: Iterable[Rule], context: Context) -> None:
    """Note each path that has a rule already, however it is spelled."""
    first: dict[object, Rule] = {}
    for rule in rules:
        earlier = first.setdefault(_identity(rule.path), rule)
        if earlier is not rule:
            line = earlier.location.line
            hint = f"It has a rule on line {line} already." if line else ""
            context.problems.add(f"Duplicate path: {rule.path}.", rule.location, hint)


def known_options() -> list[str]:
    """Every key that some field can have, besides those that all fields have."""
    found: dict[str, None] = {}
    for kind in STRATEGY_KINDS:
        for name in registry.names(kind):
            found.update(dict.fromkeys(registry.options(registry.load(kind, name))))
    return list(found)


def _identity(path: str) -> object:
    try:
        return parse_path(path).segments
    except PathError:
        return path


def _path(located: Located, context: Context) -> tuple[str | None, Location]:
    given = located.entries.get("path")
    if given is None:
        context.problems.add("A field without a path.", located.location)
        return None, located.location
    if not isinstance(given.value, str):
        shown = describe(given.value)
        context.problems.add(f"path: must be text, not {shown}.", given.location)
        return None, given.location
    return given.value, given.location


def _strategies(
    located: Located, context: Context, defaults: Defaults
) -> tuple[Comparator | None, Aligner | None]:
    options = [key for key in located.entries if key not in FIELD_KEYS]
    any_of = _flag(located, "any_of", context, default=False)
    if "align" in located.entries:
        _refuse_beside_align(located, context)
        choice = choose(Plugin.ALIGNERS, located.entries["align"], context)
        if choice is None:
            return None, None
        return None, build_aligner(_taking(choice, located, options, context), context)
    chosen = _match(located, options, context, defaults)
    comparator = None if chosen is None else build_comparator(chosen, context)
    return (_one_of(comparator or defaults.comparator) if any_of else comparator), None


def _match(
    located: Located, options: list[str], context: Context, defaults: Defaults
) -> StrategyChoice | None:
    if "match" in located.entries:
        choice = choose(Plugin.COMPARATORS, located.entries["match"], context)
        if choice is None:
            return None
        usual = defaults.match
        if usual is not None and usual.name == choice.name and not choice.options:
            choice = usual
        return _taking(choice, located, options, context)
    if not options:
        return None
    if defaults.match is not None:
        return _taking(defaults.match, located, options, context)
    for option in options:
        _unowned(option, located, context)
    return None


def _taking(
    choice: StrategyChoice, located: Located, options: list[str], context: Context
) -> StrategyChoice:
    """The choice with the options beside it; a misspelt key of the field itself is told apart."""
    known = registry.options(choice.strategy)
    taken: list[str] = []
    for option in options:
        if option in known or any(takers(kind, option) for kind in STRATEGY_KINDS):
            taken.append(option)
        else:
            hint = did_you_mean(option, [*FIELD_KEYS, *known])
            context.problems.add(f"Unknown key: {option}.", located.key_location(option), hint)
    return choice.with_options(located, taken)


def _unowned(option: str, located: Located, context: Context) -> None:
    place = located.key_location(option)
    for kind in STRATEGY_KINDS:
        owners = takers(kind, option)
        if owners:
            hint = f"It belongs to {', '.join(owners)}."
            context.problems.add(f"{option}: needs the {kind.noun} it is for.", place, hint)
            return
    hint = did_you_mean(option, [*FIELD_KEYS, *known_options()])
    context.problems.add(f"Unknown key: {option}.", place, hint)


def _refuse_beside_align(located: Located, context: Context) -> None:
    reasons = {
        "match": "match compares a list as one value; align pairs its items. Use one of them.",
        "any_of": "any_of takes a list as acceptable answers; align pairs its items.",
    }
    for key, reason in reasons.items():
        if key in located.entries:
            place = located.key_location(key)
            context.problems.add(f"{key} and align on the same path.", place, reason)


def _one_of(inner: Comparator | None) -> Comparator:
    return AnyOf(inner=inner or Exact())


def _flag(located: Located, key: str, context: Context, *, default: bool) -> bool:
    given = located.entries.get(key)
    value = None if given is None else checked(given, key, bool, context)
    return value if isinstance(value, bool) else default


def read_weight(located: Located, context: Context) -> float:
    """The weight that an object of settings names: 1 if it names none, never less than 0."""
    given = located.entries.get("weight")
    value = None if given is None else checked(given, "weight", float, context)
    if given is None or not isinstance(value, int | float):
        return 1.0
    if value < 0:
        context.problems.add(f"weight: must not be negative, but is {value}.", given.location)
    return float(value)


_KINDS: Final = {"match": Plugin.COMPARATORS, "align": Plugin.ALIGNERS}


def read_defaults(located: Located | None, context: Context) -> Defaults:
    """The default comparator and alignment, with the options beside their names."""
    if located is None:
        return Defaults()
    if not isinstance(located.value, dict):
        hint = "Write {match: exact}."
        shown = describe(located.value)
        context.problems.add(f"defaults must be an object, not {shown}.", located.location, hint)
        return Defaults()
    choices = {
        key: choice
        for key, kind in _KINDS.items()
        if key in located.entries
        and (choice := choose(kind, located.entries[key], context)) is not None
    }
    for option in located.entries:
        if option not in _KINDS:
            _give(option, choices, located, context)
    match, align = choices.get("match"), choices.get("align")
    return Defaults(
        match=match,
        comparator=None if match is None else build_comparator(match, context),
        aligner=None if align is None else build_aligner(align, context),
    )


def _give(
    option: str, choices: dict[str, StrategyChoice], located: Located, context: Context
) -> None:
    """Hand an option to the one strategy that takes it."""
    place = located.key_location(option)
    taking = [key for key, choice in choices.items() if option in registry.options(choice.strategy)]
    if len(taking) > 1:
        hint = f"Write match: {{type: …, {option}: …}} or align: {{type: …, {option}: …}}."
        context.problems.add(f"{option} fits both match and align.", place, hint)
    elif taking:
        choices[taking[0]] = choices[taking[0]].with_options(located, [option])
    elif any(takers(kind, option) for kind in _KINDS.values()):
        owners = [name for kind in _KINDS.values() for name in takers(kind, option)]
        hint = f"It belongs to {', '.join(owners)}."
        context.problems.add(f"No default takes the option {option}.", place, hint)
    else:
        own = [name for choice in choices.values() for name in registry.options(choice.strategy)]
        hint = did_you_mean(option, [*_KINDS, *own])
        context.problems.add(f"Unknown key: {option}.", place, hint)


_TELLING: Final = ("match", "align")


class _Place(NamedTuple):
    path: str
    location: Location
    located: Located


def read_by_path(located: Located, context: Context, defaults: Defaults) -> tuple[Rule, ...]:
    """The rules of a mapping, in its order."""
    rules = [_rule(place, context, defaults) for place in _places(located, "", context)]
    kept = [rule for rule in rules if rule is not None]
    refuse_repeated_paths(kept, context)
    return tuple(kept)


def is_settings(located: Located) -> bool:
    """Whether an object holds the settings of a field rather than the fields of an object."""
    settings = located.entries
    if any(isinstance(settings[key].value, str | dict) for key in _TELLING if key in settings):
        return True
    return bool(settings) and all(
        key in FIELD_KEYS and not isinstance(inner.value, str | dict | list)
        for key, inner in settings.items()
    )


def words(located: Located) -> Iterator[str]:
    """The texts that stand for strategies inside a mapping."""
    for inner in located.entries.values():
        if isinstance(inner.value, str):
            yield inner.value
        elif not is_settings(inner):
            yield from words(inner)
    for item in located.items:
        yield from words(item)


def uses_strategies(located: Located) -> bool:
    """Whether a mapping uses the words of field strategy files."""
    return any(word.strip().upper() in STRATEGIES for word in words(located))


def _places(located: Located, path: str, context: Context) -> Iterator[_Place]:
    for key, inner in located.entries.items():
        yield from _below(inner, _joined(path, key), located.key_location(key), context)


def _below(inner: Located, path: str, location: Location, context: Context) -> Iterator[_Place]:
    if len(inner.items) == 1:
        yield from _below(inner.items[0], f"{path}[*]", location, context)
    elif isinstance(inner.value, dict) and inner.entries and not is_settings(inner):
        yield from _places(inner, path, context)
    else:
        yield _Place(path, location, inner)


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path and not key.startswith("[") else f"{path}{key}"


def _rule(place: _Place, context: Context, defaults: Defaults) -> Rule | None:
    path, location, located = place
    if isinstance(located.value, dict) and located.entries:
        if "path" in located.entries:
            where = located.key_location("path")
            context.problems.add("A path inside the settings of a path.", where)
        return read_field(located, context, defaults, path=path, location=location)
    if not isinstance(located.value, str):
        hint = f"Valid strategies: {', '.join(STRATEGIES)}."
        shown = describe(located.value)
        context.problems.add(f"Not a strategy: {shown}.", located.location, hint)
        return None
    comparator = strategy(located.value, context.provider)
    if comparator is None:
        if registry.canonical(Plugin.COMPARATORS, located.value) is None:
            _unknown_word(located, context)
            return None
        choice = choose(Plugin.COMPARATORS, located, context)
        comparator = None if choice is None else build_comparator(choice, context)
    check_path(path, location, context)
    return Rule(path=path, comparator=comparator, location=location)


def _unknown_word(located: Located, context: Context) -> None:
    word = str(located.value)
    valid = ", ".join(STRATEGIES)
    guess = did_you_mean(word, [name.lower() for name in STRATEGIES])
    guess = guess.upper().replace("DID YOU MEAN", "Did you mean") if word.isupper() else guess
    hint = f"Valid types: {valid}. {guess}".rstrip()
    context.problems.add(f"Invalid strategy: {word}.", located.location, hint)
