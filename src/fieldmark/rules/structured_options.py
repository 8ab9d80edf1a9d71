"""Read structured options of evaluators and targets.

These are rules, comparators, nested evaluators, files, and objects with their own options.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import cast

from fieldmark import registry
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.model.comparison import Comparator
from fieldmark.model.json import MISSING
from fieldmark.model.rule import Rule
from fieldmark.rules.context import Context
from fieldmark.rules.files import load_named, load_table, named_path
from fieldmark.rules.located import Located
from fieldmark.rules.option_types import expect_object, read_option, refuse_unknown
from fieldmark.rules.rules_file import NO_DEFAULTS, FieldDefaults, read_by_path, read_fields
from fieldmark.values.annotations import arms_of, is_command_line, problem_of, without_metadata
from fieldmark.values.value_types import describe, element_of, is_json_object, plain


def read_structured_option(
    given: Located,
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
    value = _read(given, name, annotation, context, defaults, read_evaluators)
    if len(context.problems) > before or value is None:
        return None
    if problem := problem_of(annotation, value):
        context.add(f"{name}: {problem}", given.location)
        return None
    return value


def _read(
    given: Located,
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
        return read_evaluators(given)
    if element is Rule:
        if isinstance(given.value, dict):
            return read_by_path(given, context, defaults)
        if not isinstance(given.value, list):
            message = f"{name}: expected a list, got {describe(given.value)}"
            context.add(message, given.location, "for example [{path: total, match: exact}]")
        return read_fields(given.items, context, defaults)
    if kind is Path:
        return None if given.value is None else named_path(given, name, context)
    if is_command_line(annotation) and isinstance(given.value, str):
        words = ", ".join(given.value.split())
        hint = f"commands run without a shell; write {name}: [{words}]"
        context.add(f"{name}: expected a list, got a string", given.location, hint)
        return None
    if is_json_object(kind) and isinstance(given.value, str):
        contents = load_named(given, name, context, load_table)
        return None if contents is None else read_option(contents, name, annotation, context)
    if _is_dataclass(kind):
        return _read_object(given, name, cast("type", kind), context)
    for part in map(without_metadata, arms_of(element)):
        if _is_dataclass(part):
            return _read_objects(given, name, cast("type", part), context)
    return read_option(given, name, annotation, context)


def _is_dataclass(annotation: object) -> bool:
    return isinstance(annotation, type) and dataclasses.is_dataclass(annotation)


def _read_objects(given: Located, name: str, part: type, context: Context) -> tuple[object, ...]:
    """Read a list of objects; a string is the value of the only required option of an object."""
    options = registry.options(part).items()
    needed = [key for key, option in options if option.default is MISSING]
    items = [given] if isinstance(given.value, str) else given.items
    if not isinstance(given.value, str | list):
        context.add(f"{name}: expected a list, got {describe(given.value)}", given.location)
    made: list[object] = []
    for item in items:
        is_short = isinstance(item.value, str) and len(needed) == 1
        whole = item.with_entries({needed[0]: item}) if is_short else item
        found = _read_object(whole, name, part, context)
        made += [] if found is None else [found]
    return tuple(made)


def _read_object(given: Located, name: str, kind: type, context: Context) -> object | None:
    """Read an object whose keys are the fields of a dataclass."""
    if not expect_object(given, name, context):
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
            context.add(f"'{name}.{key}' is required", given.location)
    if len(context.problems) > before:
        return None
    try:
        return registry.create(kind, values)
    except OptionError as error:
        key = error.option.rpartition(".")[2]
        location = given.entries.get(key, given).location
        context.add(f"{name}.{key}: {error.message}", location)
        return None
