"""Reads the target of an eval file: what produces candidates, and how patiently it is asked."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from fieldmark import registry
from fieldmark.config.context import Context
from fieldmark.config.eval_spec import Target
from fieldmark.config.evaluators import readers_of
from fieldmark.config.files import place_of
from fieldmark.config.located import Located
from fieldmark.config.option_types import checked, is_object, refuse_unknown
from fieldmark.config.strategies import StrategyChoice, build, choose, with_working_folder
from fieldmark.errors import OptionError
from fieldmark.registry import Plugin

__all__ = ["PATIENCE", "TARGET_WORDS", "read_target", "target_keys"]

TYPE: Final = "type"
TARGET_WORDS: Final = {
    "command": ("command", "command"),
    "python": ("python", "function"),
    "url": ("http", "url"),
}
"""Keys that name a target by themselves: its type, and the option that they stand for."""
PATIENCE: Final = tuple(
    field.name for field in fields(Target) if field.name not in {"type", "source"}
)
"""The options that every target has."""
_KINDS: Final = {"timeout": float, "retries": int, "concurrency": int}


def target_keys(name: str) -> tuple[str, ...]:
    """Every key that a target of this type may have."""
    words = [word for word, (kind, _) in TARGET_WORDS.items() if kind == name]
    own = registry.options(registry.load(Plugin.TARGETS, name))
    return tuple(dict.fromkeys((TYPE, *words, *own, *PATIENCE)))


def read_target(located: Located, context: Context) -> Target | None:
    """The target, ready to be asked; nothing if there are problems."""
    hint = "Write {command: [python, extract.py]}, {python: module:function} or {url: https://…}."
    if not is_object(located, "a target", context, hint):
        return None
    choice = _choice(located, context, hint)
    if choice is None:
        return None
    before = len(context.problems)
    known = target_keys(choice.name)
    refuse_unknown(located, known, context)
    options = registry.options(choice.strategy)
    settings = _spelled_out(located, choice.name)
    own = [key for key in settings.entries if key in options]
    choice = with_working_folder(choice.with_options(settings, own), context)
    source = build(choice, context, readers_of(choice.strategy, context))
    patience = {key: _patience(located, key, context) for key in PATIENCE if key in located.entries}
    if len(context.problems) > before:
        return None
    try:
        return Target(type=choice.name, source=source, **patience)  # type: ignore[arg-type]
    except OptionError as error:
        place = located.entries[error.option].location
        context.problems.add(f"{error.option}: {error.message}.", place)
        return None


def _choice(located: Located, context: Context, hint: str) -> StrategyChoice | None:
    words = [word for word in TARGET_WORDS if word in located.entries]
    named = located.entries.get(TYPE)
    if named is None and words:
        place = located.key_location(words[0])
        named = Located(value=TARGET_WORDS[words[0]][0], location=place)
    if named is None:
        known = [TYPE, *TARGET_WORDS, *PATIENCE]
        refuse_unknown(located, known, context)
        context.problems.add("A target without a type.", located.location, hint)
        return None
    for word in words[1:]:
        said = f"A target is one of {', '.join(TARGET_WORDS)}, not several."
        context.problems.add(said, located.key_location(word))
    return choose(Plugin.TARGETS, Located(value={}, entries={TYPE: named}), context)


def _spelled_out(located: Located, name: str) -> Located:
    """The settings with the options that short words stand for under their own names."""
    short = {word: option for word, (kind, option) in TARGET_WORDS.items() if kind == name}
    entries = {short.get(key, key): value for key, value in located.entries.items()}
    keys = {short.get(key, key): place for key, place in located.keys.items()}
    return located._replace(entries=entries, keys=keys)


def _patience(located: Located, key: str, context: Context) -> object | None:
    given = located.entries[key]
    if key in _KINDS:
        return checked(given, key, _KINDS[key], context)
    return None if given.value in (None, False) else place_of(given, key, context)
