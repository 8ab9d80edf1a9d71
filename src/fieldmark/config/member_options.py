"""Reads the options of evaluators and targets that are more than plain values.

Rules, comparators, evaluators inside evaluators, files, and objects with options of their own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, cast, get_args

from fieldmark import registry
from fieldmark.config.annotations import element_of, is_json_object, is_union, plain
from fieldmark.config.by_path import read_by_path
from fieldmark.config.choice import Reader, build_comparator, choose
from fieldmark.config.context import Context
from fieldmark.config.field_rules import Defaults, read_fields
from fieldmark.config.inside import contents_of, place_of
from fieldmark.config.keys import is_object, refuse_unknown
from fieldmark.config.marked import Marked
from fieldmark.config.option_values import checked, describe
from fieldmark.config.rule_defaults import read_defaults
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.model.comparison import Comparator
from fieldmark.model.json import MISSING
from fieldmark.model.rule import Rule
from fieldmark.registry import Plugin

__all__ = ["DEFAULT_KEYS", "compares", "read_usual", "readers_of"]

DEFAULT_KEYS: Final = ("default", "match", "defaults")
"""Three ways to say how the fields compare that say nothing themselves."""
_NOTHING_USUAL: Final = Defaults()
_ARGV: Final = ("script", "command")
"""Options that are a program and its arguments."""


def compares(strategy: type) -> bool:
    """Whether an evaluator takes rules or a comparator, and so the keys that rules have."""
    kinds = [option.type for option in registry.options(strategy).values()]
    return any(element_of(kind) is Rule or plain(kind) is Comparator for kind in kinds)


def readers_of(
    strategy: type,
    context: Context,
    *,
    usual: Defaults = _NOTHING_USUAL,
    members: Callable[[Marked], object] | None = None,
) -> Mapping[str, Reader]:
    """A reader for each option of a strategy that `option_values` alone cannot read."""
    found: dict[str, Reader] = {}
    for name, option in registry.options(strategy).items():
        reader = _reader(name, option.type, context, usual)
        if element_of(option.type) is ConfiguredEvaluator and members is not None:
            reader = members
        if reader is not None:
            found[name] = reader
    return found


def read_usual(marked: Marked, context: Context) -> Defaults:
    """What holds for the fields of an evaluator that say nothing themselves."""
    given = [key for key in DEFAULT_KEYS if key in marked.entries]
    for key in given[1:]:
        said = f"{given[0]} and {key} say the same thing."
        context.problems.add(said, marked.key_location(key), "Keep one of them.")
    if not given:
        return Defaults()
    settings = marked.entries[given[0]]
    if given[0] == "defaults":
        usual = read_defaults(settings, context)
        if usual.aligner is not None:
            place = settings.key_location("align")
            hint = "Write align beside the path of a list."
            context.problems.add("An evaluator has no default for align.", place, hint)
        return usual
    if settings.value is None:
        return Defaults()
    choice = choose(Plugin.COMPARATORS, settings, context)
    comparator = None if choice is None else build_comparator(choice, context)
    return Defaults(match=choice, comparator=comparator)


def _reader(name: str, annotation: object, context: Context, usual: Defaults) -> Reader | None:
    kind = plain(annotation)
    if kind is Comparator:
        return lambda _: usual.comparator
    if element_of(kind) is Rule:
        return lambda marked: _rules(marked, name, context, usual)
    if kind is Path:
        return lambda marked: _path(marked, name, context)
    if element_of(kind) is str and name in _ARGV:
        return lambda marked: _argv(marked, name, context)
    if is_json_object(kind):
        return lambda marked: _json(marked, name, annotation, context)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return lambda marked: _settings(marked, name, cast("type", kind), context)
    part = _part_of(element_of(kind))
    return None if part is None else lambda marked: _each(marked, name, part, context)


def _part_of(annotation: object | None) -> type | None:
    """The class of the parts of a list that have options of their own."""
    arms = get_args(annotation) if is_union(annotation) else (annotation,)
    return next(
        (arm for arm in arms if isinstance(arm, type) and dataclasses.is_dataclass(arm)), None
    )


def _rules(marked: Marked, name: str, context: Context, usual: Defaults) -> tuple[Rule, ...]:
    if isinstance(marked.value, dict):
        return read_by_path(marked, context, usual)
    if not isinstance(marked.value, list):
        shown = describe(marked.value)
        hint = "Write [{path: total, match: exact}]."
        context.problems.add(f"{name}: must be a list, not {shown}.", marked.location, hint)
    return read_fields(marked.items, context, usual)


def _path(marked: Marked, name: str, context: Context) -> Path | None:
    return None if marked.value is None else place_of(marked, name, context)


def _argv(marked: Marked, name: str, context: Context) -> object | None:
    if isinstance(marked.value, str):
        words = ", ".join(marked.value.split())
        hint = f"No shell takes it apart. Write {name}: [{words}]."
        context.problems.add(f"{name}: must be a list, not text.", marked.location, hint)
        return None
    return checked(marked, name, tuple[str, ...], context)


def _json(marked: Marked, name: str, annotation: object, context: Context) -> object | None:
    """An object as it is written, or the one in the file that a text names."""
    if not isinstance(marked.value, str):
        return checked(marked, name, annotation, context)
    contents = contents_of(marked, name, context)
    return None if contents is None else checked(contents, name, annotation, context)


def _each(marked: Marked, name: str, part: type, context: Context) -> tuple[object, ...]:
    """A list of such objects; where one option alone is needed, a text may stand for it."""
    options = registry.options(part).items()
    needed = [key for key, option in options if option.default is MISSING]
    items = [marked] if isinstance(marked.value, str) else marked.items
    if not isinstance(marked.value, str | list):
        shown = describe(marked.value)
        context.problems.add(f"{name}: must be a list, not {shown}.", marked.location)
    made: list[object] = []
    for item in items:
        short = isinstance(item.value, str) and len(needed) == 1
        whole = _object_of(item, needed[0]) if short else item
        found = _settings(whole, name, part, context)
        made += [] if found is None else [found]
    return tuple(made)


def _object_of(item: Marked, key: str) -> Marked:
    return Marked(value={key: item.value}, location=item.location, entries={key: item})


def _settings(marked: Marked, name: str, kind: type, context: Context) -> object | None:
    """An object whose keys are the fields of a dataclass."""
    if not is_object(marked, f"the settings of {name}", context):
        return None
    options = registry.options(kind)
    before = len(context.problems)
    refuse_unknown(marked, options, context)
    values = {
        key: checked(given, f"{name}.{key}", options[key].type, context)
        for key, given in marked.entries.items()
        if key in options
    }
    for key, option in options.items():
        if key not in values and option.default is MISSING:
            context.problems.add(f"{name} needs {key}.", marked.location)
    if len(context.problems) > before:
        return None
    try:
        return registry.made(kind, values)
    except OptionError as error:
        key = error.option.rpartition(".")[2]
        place = marked.entries.get(key, marked).location
        context.problems.add(f"{name}.{key}: {error.message}.", place)
        return None
