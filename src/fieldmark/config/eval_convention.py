"""Reads the convention of an eval file: its name, or its name with options beside it."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from fieldmark.config.context import Context
from fieldmark.config.marked import Marked
from fieldmark.config.option_values import describe
from fieldmark.errors import OptionError
from fieldmark.metrics.conventions import (
    CONVENTIONS,
    DEFAULT_CONVENTION,
    ComparisonOptions,
    Convention,
    find_convention,
)
from fieldmark.values.text import did_you_mean

__all__ = ["NAME", "read_convention"]

NAME: Final = "name"
_OF_RULES: Final = {
    **{field.name: field.name for field in fields(ComparisonOptions)},
    "comparator": "defaults",
    "aligner": "defaults",
}


def read_convention(marked: Marked, context: Context) -> Convention:
    """The convention, the usual one where it cannot be read."""
    named = marked.entries.get(NAME) if isinstance(marked.value, dict) else marked
    if named is None:
        hint = "Write convention: confusion, or {name: confusion, …}."
        context.problems.add("A convention without a name.", marked.location, hint)
        return DEFAULT_CONVENTION
    convention = _named(named, context)
    for option, given in marked.entries.items():
        if option != NAME:
            convention = _with_option(convention, option, given, marked, context)
    return convention


def _named(marked: Marked, context: Context) -> Convention:
    valid = f"Valid conventions: {', '.join(CONVENTIONS)}."
    if not isinstance(marked.value, str):
        said = f"Not a convention: {describe(marked.value)}."
        context.problems.add(said, marked.location, valid)
        return DEFAULT_CONVENTION
    try:
        return find_convention(marked.value)
    except OptionError:
        hint = f"{valid} {did_you_mean(marked.value, CONVENTIONS)}".rstrip()
        context.problems.add(f"Invalid convention: {marked.value}.", marked.location, hint)
        return DEFAULT_CONVENTION


def _with_option(
    convention: Convention, option: str, given: Marked, marked: Marked, context: Context
) -> Convention:
    known = [NAME, *(field.name for field in fields(convention.counting))]
    if option not in known:
        belongs = f"It belongs to the {_OF_RULES[option]} of rules." if option in _OF_RULES else ""
        hint = belongs or did_you_mean(option, known)
        context.problems.add(f"Unknown key: {option}.", marked.key_location(option), hint)
        return convention
    try:
        return convention.with_options({option: given.value})
    except OptionError as error:
        said = f"{error.option}: {error.message}"
        inner = given.entries.get(error.option.rpartition(".")[2], given)
        context.problems.add(said if said.endswith("?") else f"{said}.", inner.location)
        return convention
