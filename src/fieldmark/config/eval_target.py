"""Reads the target of an eval file: what produces candidates, and how patiently it is asked."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from fieldmark import registry
from fieldmark.config.choice import Choice, build, choose
from fieldmark.config.context import Context
from fieldmark.config.eval_spec import Target
from fieldmark.config.inside import place_of
from fieldmark.config.keys import is_object, refuse_unknown
from fieldmark.config.marked import Marked
from fieldmark.config.member_options import readers_of
from fieldmark.config.option_values import checked
from fieldmark.config.working_folder import with_working_folder
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


def read_target(marked: Marked, context: Context) -> Target | None:
    """The target, ready to be asked; nothing if there are problems."""
    hint = "Write {command: [python, extract.py]}, {python: module:function} or {url: https://…}."
    if not is_object(marked, "a target", context, hint):
        return None
    choice = _choice(marked, context, hint)
    if choice is None:
        return None
    before = len(context.problems)
    known = target_keys(choice.name)
    refuse_unknown(marked, known, context)
    options = registry.options(choice.strategy)
    settings = _spelled_out(marked, choice.name)
    own = [key for key in settings.entries if key in options]
    choice = with_working_folder(choice.with_options(settings, own), context)
    source = build(choice, context, readers_of(choice.strategy, context))
    patience = {key: _patience(marked, key, context) for key in PATIENCE if key in marked.entries}
    if len(context.problems) > before:
        return None
    try:
        return Target(type=choice.name, source=source, **patience)  # type: ignore[arg-type]
    except OptionError as error:
        place = marked.entries[error.option].location
        context.problems.add(f"{error.option}: {error.message}.", place)
        return None


def _choice(marked: Marked, context: Context, hint: str) -> Choice | None:
    words = [word for word in TARGET_WORDS if word in marked.entries]
    named = marked.entries.get(TYPE)
    if named is None and words:
        place = marked.key_location(words[0])
        named = Marked(value=TARGET_WORDS[words[0]][0], location=place)
    if named is None:
        known = [TYPE, *TARGET_WORDS, *PATIENCE]
        refuse_unknown(marked, known, context)
        context.problems.add("A target without a type.", marked.location, hint)
        return None
    for word in words[1:]:
        said = f"A target is one of {', '.join(TARGET_WORDS)}, not several."
        context.problems.add(said, marked.key_location(word))
    return choose(Plugin.TARGETS, Marked(value={}, entries={TYPE: named}), context)


def _spelled_out(marked: Marked, name: str) -> Marked:
    """The settings with the options that short words stand for under their own names."""
    short = {word: option for word, (kind, option) in TARGET_WORDS.items() if kind == name}
    entries = {short.get(key, key): value for key, value in marked.entries.items()}
    keys = {short.get(key, key): place for key, place in marked.keys.items()}
    return marked._replace(entries=entries, keys=keys)


def _patience(marked: Marked, key: str, context: Context) -> object | None:
    given = marked.entries[key]
    if key in _KINDS:
        return checked(given, key, _KINDS[key], context)
    return None if given.value in (None, False) else place_of(given, key, context)
