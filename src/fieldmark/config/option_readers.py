"""Read the options of evaluators and targets that are more than plain values.

Rules, comparators, evaluators inside evaluators, files, and objects with options of their own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast, get_args

from fieldmark import registry
from fieldmark.config.context import Context
from fieldmark.config.field_rules import NO_DEFAULTS, FieldDefaults, read_by_path, read_fields
from fieldmark.config.files import load_named, load_table, named_path
from fieldmark.config.keys import expect_object, refuse_unknown
from fieldmark.config.located import Located, describe
from fieldmark.config.option_types import (
    element_of,
    is_argv,
    is_json_object,
    is_union,
    plain,
    read_option,
)
from fieldmark.config.strategies import OptionReader
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.model.comparison import Comparator
from fieldmark.model.json import MISSING
from fieldmark.model.rule import Rule

__all__ = ["option_readers"]


def option_readers(
    strategy: type,
    context: Context,
    *,
    defaults: FieldDefaults = NO_DEFAULTS,
    read_evaluators: Callable[[Located], object] | None = None,
) -> Mapping[str, OptionReader]:
    """Return a reader for each option of a strategy that `read_option` alone cannot read."""
    found = {
        name: _reader(name, option.type, context, defaults, read_evaluators)
        for name, option in registry.options(strategy).items()
    }
    return {name: reader for name, reader in found.items() if reader is not None}


def _reader(
    name: str,
    annotation: object,
    context: Context,
    defaults: FieldDefaults,
    read_evaluators: Callable[[Located], object] | None,
) -> OptionReader | None:
    kind, element = plain(annotation), element_of(annotation)
    if kind is Comparator:
        return lambda _: defaults.comparator
    if element is ConfiguredEvaluator and read_evaluators is not None:
        return read_evaluators
    if element is Rule:
        return lambda given: _read_rules(given, name, context, defaults)
    if kind is Path:
        return lambda given: None if given.value is None else named_path(given, name, context)
    if is_argv(name, kind):
        return lambda given: _read_argv(given, name, context)
    if is_json_object(kind):
        return lambda given: _read_json(given, name, annotation, context)
    if _is_dataclass(kind):
        return lambda given: _read_object(given, name, cast("type", kind), context)
    parts = filter(_is_dataclass, get_args(element) if is_union(element) else (element,))
    part = cast("type | None", next(parts, None))
    return None if part is None else lambda given: _read_objects(given, name, part, context)


def _is_dataclass(annotation: object) -> bool:
    return isinstance(annotation, type) and dataclasses.is_dataclass(annotation)


def _read_rules(
    given: Located, name: str, context: Context, defaults: FieldDefaults
) -> tuple[Rule, ...]:
    if isinstance(given.value, dict):
        return read_by_path(given, context, defaults)
    if not isinstance(given.value, list):
        message = f"{name}: must be a list, not {describe(given.value)}."
        context.add(message, given.location, "Write [{path: total, match: exact}].")
    return read_fields(given.items, context, defaults)


def _read_argv(given: Located, name: str, context: Context) -> object | None:
    if isinstance(given.value, str):
        words = ", ".join(given.value.split())
        hint = f"No shell takes it apart. Write {name}: [{words}]."
        context.add(f"{name}: must be a list, not text.", given.location, hint)
        return None
    return read_option(given, name, tuple[str, ...], context)


def _read_json(given: Located, name: str, annotation: object, context: Context) -> object | None:
    """Read an object as it is written, or the one in the file that a text names."""
    contents: Located | None = given
    if isinstance(given.value, str):
        contents = load_named(given, name, context, load_table)
    return None if contents is None else read_option(contents, name, annotation, context)


def _read_objects(given: Located, name: str, part: type, context: Context) -> tuple[object, ...]:
    """Read a list of objects; a text stands for the only option that an object needs."""
    options = registry.options(part).items()
    needed = [key for key, option in options if option.default is MISSING]
    items = [given] if isinstance(given.value, str) else given.items
    if not isinstance(given.value, str | list):
        context.add(f"{name}: must be a list, not {describe(given.value)}.", given.location)
    made: list[object] = []
    for item in items:
        is_short = isinstance(item.value, str) and len(needed) == 1
        whole = item.with_entries({needed[0]: item}) if is_short else item
        found = _read_object(whole, name, part, context)
        made += [] if found is None else [found]
    return tuple(made)


def _read_object(given: Located, name: str, kind: type, context: Context) -> object | None:
    """Read an object whose keys are the fields of a dataclass."""
    if not expect_object(given, f"the settings of {name}", context):
        return None
    options = registry.options(kind)
    before = len(context.problems)
    refuse_unknown(given, options, context)
    values = {
        key: read_option(inner, f"{name}.{key}", options[key].type, context)
        for key, inner in given.entries.items()
        if key in options
    }
    for key, option in options.items():
        if key not in values and option.default is MISSING:
            context.add(f"{name} needs {key}.", given.location)
    if len(context.problems) > before:
        return None
    try:
        return registry.made(kind, values)
    except OptionError as error:
        key = error.option.rpartition(".")[2]
        location = given.entries.get(key, given).location
        context.add(f"{name}.{key}: {error.message}.", location)
        return None
