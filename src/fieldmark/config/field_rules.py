"""Reads the rule of one field: how its values compare, or how its list is aligned."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from fieldmark import registry
from fieldmark.compare.any_of import AnyOf
from fieldmark.compare.exact import Exact
from fieldmark.config.choice import (
    STRATEGY_KINDS,
    Choice,
    build_aligner,
    build_comparator,
    choose,
    takers,
)
from fieldmark.config.context import Context
from fieldmark.config.marked import Marked
from fieldmark.config.option_values import checked, describe
from fieldmark.config.problems import did_you_mean
from fieldmark.errors import Location
from fieldmark.model.alignment import Aligner
from fieldmark.model.comparison import Comparator
from fieldmark.model.rule import Rule
from fieldmark.registry import Plugin
from fieldmark.values.paths import PathError, parse_path

__all__ = ["FIELD_KEYS", "Defaults", "known_options", "read_field", "read_fields", "read_weight"]

FIELD_KEYS: Final = ("path", "match", "align", "weight", "required", "any_of")


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What holds where a field says nothing."""

    match: Choice | None = None
    comparator: Comparator | None = None
    aligner: Aligner | None = None


def read_fields(
    fields: Iterable[Marked], context: Context, defaults: Defaults | None = None
) -> tuple[Rule, ...]:
    """The rules of a list of fields, each of which names its path."""
    rules = [read_field(marked, context, defaults or Defaults()) for marked in fields]
    kept = [rule for rule in rules if rule is not None]
    refuse_repeated_paths(kept, context)
    return tuple(kept)


def read_field(
    marked: Marked,
    context: Context,
    defaults: Defaults,
    *,
    path: str | None = None,
    location: Location | None = None,
) -> Rule | None:
    """The rule that one object of settings describes, for a given path or for its own."""
    if not isinstance(marked.value, dict):
        shown = describe(marked.value)
        hint = "Write {path: total, match: exact}."
        context.problems.add(f"Not the settings of a field: {shown}.", marked.location, hint)
        return None
    if path is None:
        name, place = _path(marked, context)
    else:
        name, place = path, location or marked.location
    comparator, aligner = _strategies(marked, context, defaults)
    weight = read_weight(marked, context)
    required = _flag(marked, "required", context, default=True)
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


def _path(marked: Marked, context: Context) -> tuple[str | None, Location]:
    given = marked.entries.get("path")
    if given is None:
        context.problems.add("A field without a path.", marked.location)
        return None, marked.location
    if not isinstance(given.value, str):
        shown = describe(given.value)
        context.problems.add(f"path: must be text, not {shown}.", given.location)
        return None, given.location
    return given.value, given.location


def _strategies(
    marked: Marked, context: Context, defaults: Defaults
) -> tuple[Comparator | None, Aligner | None]:
    options = [key for key in marked.entries if key not in FIELD_KEYS]
    any_of = _flag(marked, "any_of", context, default=False)
    if "align" in marked.entries:
        _refuse_beside_align(marked, context)
        choice = choose(Plugin.ALIGNERS, marked.entries["align"], context)
        if choice is None:
            return None, None
        return None, build_aligner(_taking(choice, marked, options, context), context)
    chosen = _match(marked, options, context, defaults)
    comparator = None if chosen is None else build_comparator(chosen, context)
    return (_one_of(comparator or defaults.comparator) if any_of else comparator), None


def _match(
    marked: Marked, options: list[str], context: Context, defaults: Defaults
) -> Choice | None:
    if "match" in marked.entries:
        choice = choose(Plugin.COMPARATORS, marked.entries["match"], context)
        if choice is None:
            return None
        usual = defaults.match
        if usual is not None and usual.name == choice.name and not choice.options:
            choice = usual
        return _taking(choice, marked, options, context)
    if not options:
        return None
    if defaults.match is not None:
        return _taking(defaults.match, marked, options, context)
    for option in options:
        _unowned(option, marked, context)
    return None


def _taking(choice: Choice, marked: Marked, options: list[str], context: Context) -> Choice:
    """The choice with the options beside it; a misspelt key of the field itself is told apart."""
    known = registry.options(choice.strategy)
    taken: list[str] = []
    for option in options:
        if option in known or any(takers(kind, option) for kind in STRATEGY_KINDS):
            taken.append(option)
        else:
            hint = did_you_mean(option, [*FIELD_KEYS, *known])
            context.problems.add(f"Unknown key: {option}.", marked.key_location(option), hint)
    return choice.with_options(marked, taken)


def _unowned(option: str, marked: Marked, context: Context) -> None:
    place = marked.key_location(option)
    for kind in STRATEGY_KINDS:
        owners = takers(kind, option)
        if owners:
            hint = f"It belongs to {', '.join(owners)}."
            context.problems.add(f"{option}: needs the {kind.noun} it is for.", place, hint)
            return
    hint = did_you_mean(option, [*FIELD_KEYS, *known_options()])
    context.problems.add(f"Unknown key: {option}.", place, hint)


def _refuse_beside_align(marked: Marked, context: Context) -> None:
    reasons = {
        "match": "match compares a list as one value; align pairs its items. Use one of them.",
        "any_of": "any_of takes a list as acceptable answers; align pairs its items.",
    }
    for key, reason in reasons.items():
        if key in marked.entries:
            place = marked.key_location(key)
            context.problems.add(f"{key} and align on the same path.", place, reason)


def _one_of(inner: Comparator | None) -> Comparator:
    return AnyOf(inner=inner or Exact())


def _flag(marked: Marked, key: str, context: Context, *, default: bool) -> bool:
    given = marked.entries.get(key)
    value = None if given is None else checked(given, key, bool, context)
    return value if isinstance(value, bool) else default


def read_weight(marked: Marked, context: Context) -> float:
    """The weight that an object of settings names: 1 if it names none, never less than 0."""
    given = marked.entries.get("weight")
    value = None if given is None else checked(given, "weight", float, context)
    if given is None or not isinstance(value, int | float):
        return 1.0
    if value < 0:
        context.problems.add(f"weight: must not be negative, but is {value}.", given.location)
    return float(value)
