"""Read the target of an eval file: what produces candidates, and how it is called."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any, Final

from fieldmark import registry
from fieldmark.config.context import Context
from fieldmark.config.eval_spec import Target
from fieldmark.config.files import named_path
from fieldmark.config.keys import ConfigKey, KeyTable, expect_object, option_keys, refuse_unknown
from fieldmark.config.located import Located
from fieldmark.config.option_readers import option_readers
from fieldmark.config.strategies import StrategyChoice, build, choose, with_working_folder
from fieldmark.errors import OptionError
from fieldmark.registry import Plugin

__all__ = ["CALL_KEYS", "TARGET_WORDS", "read_target", "target_keys"]

TARGET_WORDS: Final = {
    "command": ("command", "command"),
    "python": ("python", "function"),
    "url": ("http", "url"),
}
"""Keys that name a target by themselves: its type, and the option that they stand for."""
_DEFAULTS: Final[dict[str, Any]] = {field.name: field.default for field in fields(Target)}


CALL_KEYS: Final = KeyTable(
    ConfigKey(
        "timeout",
        float,
        "Seconds for an answer.",
        default=_DEFAULTS["timeout"],
        schema={"type": "number", "exclusiveMinimum": 0},
    ),
    ConfigKey(
        "retries", int, "How often a case is tried again.", default=_DEFAULTS["retries"], minimum=0
    ),
    ConfigKey(
        "concurrency",
        int,
        "Cases that are asked for at the same time.",
        default=_DEFAULTS["concurrency"],
        minimum=1,
    ),
    ConfigKey(
        "cache",
        description="A folder that keeps answers.",
        schema={"type": ["string", "boolean", "null"]},
        reader=lambda given, context: (
            None if given.value in (None, False) else named_path(given, "cache", context)
        ),
    ),
)
"""The keys that every target has."""
_HINT: Final = (
    "Write {command: [python, extract.py]}, {python: module:function} or {url: https://…}."
)


@cache
def target_keys(name: str) -> KeyTable:
    """Return every key that a target of this type may have."""
    options = {key.name: key for key in option_keys(registry.load(Plugin.TARGETS, name))}
    words: list[ConfigKey[Any]] = [
        ConfigKey(word, schema=options[option].schema)
        for word, (kind, option) in TARGET_WORDS.items()
        if kind == name and word != option
    ]
    return KeyTable(ConfigKey("type", schema={}), *options.values(), *words, *CALL_KEYS)


def read_target(located: Located, context: Context) -> Target | None:
    """Read a target; nothing if there are problems."""
    if not expect_object(located, "a target", context, _HINT):
        return None
    choice = _choose_target(located, context)
    if choice is None:
        return None
    before = len(context.problems)
    target_keys(choice.name).refuse_unknown(located, context)
    options = registry.options(choice.strategy)
    # The key that names the target stands for one of its options.
    short = {word: option for word, (kind, option) in TARGET_WORDS.items() if kind == choice.name}
    settings = located._replace(
        entries={short.get(key, key): value for key, value in located.entries.items()},
        keys={short.get(key, key): location for key, location in located.keys.items()},
    )
    own = [key for key in settings.entries if key in options]
    choice = with_working_folder(choice.with_options(settings, own), context)
    source = build(choice, context, option_readers(choice.strategy, context))
    call = {key.name: key.read(located, context) for key in CALL_KEYS}
    if len(context.problems) > before:
        return None
    try:
        return Target(type=choice.name, source=source, **call)
    except OptionError as error:
        location = located.entries[error.option].location
        context.add(f"{error.option}: {error.message}.", location)
        return None


def _choose_target(located: Located, context: Context) -> StrategyChoice | None:
    words = [word for word in TARGET_WORDS if word in located.entries]
    named = located.get("type")
    if named is None and words:
        location = located.key_location(words[0])
        named = Located(value=TARGET_WORDS[words[0]][0], location=location)
    if named is None:
        refuse_unknown(located, ["type", *TARGET_WORDS, *CALL_KEYS.names], context)
        context.add("A target without a type.", located.location, _HINT)
        return None
    for word in words[1:]:
        message = f"A target is one of {', '.join(TARGET_WORDS)}, not several."
        context.add(message, located.key_location(word))
    return choose(Plugin.TARGETS, Located(value={}, entries={"type": named}), context)
