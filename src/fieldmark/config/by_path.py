"""Reads rules written as a mapping: a path, or the shape of a document, to what holds there.

For example `{"total": {"match": "numeric_tolerance"}, "vendor": {"city": "EXACT"}}`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from fieldmark import registry
from fieldmark.config.choice import build_comparator, choose
from fieldmark.config.context import Context
from fieldmark.config.field_rules import (
    FIELD_KEYS,
    Defaults,
    check_path,
    read_field,
    refuse_repeated_paths,
)
from fieldmark.config.marked import Marked
from fieldmark.config.option_values import describe
from fieldmark.config.problems import did_you_mean
from fieldmark.config.strategies import STRATEGIES, strategy
from fieldmark.errors import Location
from fieldmark.model.rule import Rule
from fieldmark.registry import Plugin

__all__ = ["is_settings", "read_by_path", "uses_strategies", "words"]

_TELLING: Final = ("match", "align")


class _Place(NamedTuple):
    path: str
    location: Location
    marked: Marked


def read_by_path(marked: Marked, context: Context, defaults: Defaults) -> tuple[Rule, ...]:
    """The rules of a mapping, in its order."""
    rules = [_rule(place, context, defaults) for place in _places(marked, "", context)]
    kept = [rule for rule in rules if rule is not None]
    refuse_repeated_paths(kept, context)
    return tuple(kept)


def is_settings(marked: Marked) -> bool:
    """Whether an object holds the settings of a field rather than the fields of an object."""
    settings = marked.entries
    if any(isinstance(settings[key].value, str | dict) for key in _TELLING if key in settings):
        return True
    return bool(settings) and all(
        key in FIELD_KEYS and not isinstance(inner.value, str | dict | list)
        for key, inner in settings.items()
    )


def words(marked: Marked) -> Iterator[str]:
    """The texts that stand for strategies inside a mapping."""
    for inner in marked.entries.values():
        if isinstance(inner.value, str):
            yield inner.value
        elif not is_settings(inner):
            yield from words(inner)
    for item in marked.items:
        yield from words(item)


def uses_strategies(marked: Marked) -> bool:
    """Whether a mapping uses the words of field strategy files."""
    return any(word.strip().upper() in STRATEGIES for word in words(marked))


def _places(marked: Marked, path: str, context: Context) -> Iterator[_Place]:
    for key, inner in marked.entries.items():
        yield from _below(inner, _joined(path, key), marked.key_location(key), context)


def _below(inner: Marked, path: str, location: Location, context: Context) -> Iterator[_Place]:
    if len(inner.items) == 1:
        yield from _below(inner.items[0], f"{path}[*]", location, context)
    elif isinstance(inner.value, dict) and inner.entries and not is_settings(inner):
        yield from _places(inner, path, context)
    else:
        yield _Place(path, location, inner)


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path and not key.startswith("[") else f"{path}{key}"


def _rule(place: _Place, context: Context, defaults: Defaults) -> Rule | None:
    path, location, marked = place
    if isinstance(marked.value, dict) and marked.entries:
        if "path" in marked.entries:
            where = marked.key_location("path")
            context.problems.add("A path inside the settings of a path.", where)
        return read_field(marked, context, defaults, path=path, location=location)
    if not isinstance(marked.value, str):
        hint = f"Valid strategies: {', '.join(STRATEGIES)}."
        shown = describe(marked.value)
        context.problems.add(f"Not a strategy: {shown}.", marked.location, hint)
        return None
    comparator = strategy(marked.value, context.provider)
    if comparator is None:
        if registry.canonical(Plugin.COMPARATORS, marked.value) is None:
            _unknown_word(marked, context)
            return None
        choice = choose(Plugin.COMPARATORS, marked, context)
        comparator = None if choice is None else build_comparator(choice, context)
    check_path(path, location, context)
    return Rule(path=path, comparator=comparator, location=location)


def _unknown_word(marked: Marked, context: Context) -> None:
    word = str(marked.value)
    valid = ", ".join(STRATEGIES)
    guess = did_you_mean(word, [name.lower() for name in STRATEGIES])
    guess = guess.upper().replace("DID YOU MEAN", "Did you mean") if word.isupper() else guess
    hint = f"Valid types: {valid}. {guess}".rstrip()
    context.problems.add(f"Invalid strategy: {word}.", marked.location, hint)
