"""Reads the settings that hold wherever a field says nothing."""

from __future__ import annotations

from typing import Final

from fieldmark import registry
from fieldmark.config.choice import Choice, build_aligner, build_comparator, choose, takers
from fieldmark.config.context import Context
from fieldmark.config.field_rules import Defaults
from fieldmark.config.marked import Marked
from fieldmark.config.option_values import describe
from fieldmark.config.problems import did_you_mean
from fieldmark.registry import Plugin

__all__ = ["read_defaults"]

_KINDS: Final = {"match": Plugin.COMPARATORS, "align": Plugin.ALIGNERS}


def read_defaults(marked: Marked | None, context: Context) -> Defaults:
    """The default comparator and alignment, with the options beside their names."""
    if marked is None:
        return Defaults()
    if not isinstance(marked.value, dict):
        hint = "Write {match: exact}."
        shown = describe(marked.value)
        context.problems.add(f"defaults must be an object, not {shown}.", marked.location, hint)
        return Defaults()
    choices = {
        key: choice
        for key, kind in _KINDS.items()
        if key in marked.entries
        and (choice := choose(kind, marked.entries[key], context)) is not None
    }
    for option in marked.entries:
        if option not in _KINDS:
            _give(option, choices, marked, context)
    match, align = choices.get("match"), choices.get("align")
    return Defaults(
        match=match,
        comparator=None if match is None else build_comparator(match, context),
        aligner=None if align is None else build_aligner(align, context),
    )


def _give(option: str, choices: dict[str, Choice], marked: Marked, context: Context) -> None:
    """Hand an option to the one strategy that takes it."""
    place = marked.key_location(option)
    taking = [key for key, choice in choices.items() if option in registry.options(choice.strategy)]
    if len(taking) > 1:
        hint = f"Write match: {{type: …, {option}: …}} or align: {{type: …, {option}: …}}."
        context.problems.add(f"{option} fits both match and align.", place, hint)
    elif taking:
        choices[taking[0]] = choices[taking[0]].with_options(marked, [option])
    elif any(takers(kind, option) for kind in _KINDS.values()):
        owners = [name for kind in _KINDS.values() for name in takers(kind, option)]
        hint = f"It belongs to {', '.join(owners)}."
        context.problems.add(f"No default takes the option {option}.", place, hint)
    else:
        own = [name for choice in choices.values() for name in registry.options(choice.strategy)]
        hint = did_you_mean(option, [*_KINDS, *own])
        context.problems.add(f"Unknown key: {option}.", place, hint)
