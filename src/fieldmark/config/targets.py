"""Read the target of an eval file."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from math import inf
from pathlib import Path
from typing import Any, Final, Literal

from fieldmark import registry
from fieldmark.config.context import Context
from fieldmark.config.eval_spec import Target
from fieldmark.config.files import named_path
from fieldmark.config.keys import ConfigKey, KeyTable, expect_object, option_keys, refuse_unknown
from fieldmark.config.located import Located
from fieldmark.config.option_types import read_option
from fieldmark.config.strategies import StrategyChoice, build, choose, take_options
from fieldmark.config.structured_options import read_structured_option
from fieldmark.registry import Plugin

__all__ = ["CALL_KEYS", "TARGET_WORDS", "read_target", "target_keys"]

TARGET_WORDS: Final = {
    "command": ("command", "command"),
    "python": ("python", "function"),
    "url": ("http", "url"),
}
"""Keys that replace `type`, with the type and the option that they set."""
_DEFAULTS: Final[dict[str, Any]] = {field.name: field.default for field in fields(Target)}


def _read_timeout(given: Located, context: Context) -> object | None:
    seconds = read_option(given, "timeout", float, context)
    if isinstance(seconds, int | float) and not 0 < seconds < inf:
        message = f"timeout: must be a positive number of seconds, got {seconds}"
        context.add(message, given.location)
    return seconds


def _read_cache(given: Located, context: Context) -> Path | Literal[False] | None:
    if given.value in (None, True):
        return None
    return False if given.value is False else named_path(given, "cache", context)


CALL_KEYS: Final = KeyTable(
    ConfigKey(
        "timeout",
        description="Seconds to wait for a response.",
        default=_DEFAULTS["timeout"],
        schema={"type": "number", "exclusiveMinimum": 0},
        reader=_read_timeout,
    ),
    ConfigKey(
        "retries", int, "The number of retries per case.", default=_DEFAULTS["retries"], minimum=0
    ),
    ConfigKey(
        "concurrency",
        int,
        "The number of concurrent requests.",
        default=_DEFAULTS["concurrency"],
        minimum=1,
    ),
    ConfigKey(
        "cache",
        description="A directory for cached responses; false to cache none.",
        schema={"type": ["string", "boolean", "null"]},
        reader=_read_cache,
    ),
)
"""The keys of all targets."""
_HINT: Final = (
    "for example {command: [python, extract.py]}, {python: module:function} or {url: https://…}"
)


@cache
def target_keys(name: str) -> KeyTable:
    """Return the keys of a target of this type."""
    options = {key.name: key for key in option_keys(registry.load(Plugin.TARGETS, name))}
    words: list[ConfigKey[Any]] = [
        ConfigKey(word, schema=options[option].schema)
        for word, (kind, option) in TARGET_WORDS.items()
        if kind == name and word != option
    ]
    return KeyTable(ConfigKey("type", schema={}), *options.values(), *words, *CALL_KEYS)


def read_target(located: Located, context: Context) -> Target | None:
    """Read a target; return `None` if it has problems."""
    if not expect_object(located, "target", context, _HINT):
        return None
    choice = _choose_target(located, context)
    if choice is None:
        return None
    before = len(context.problems)
    target_keys(choice.name).refuse_unknown(located, context)
    # The key that replaces the type also sets an option.
    short = {word: option for word, (kind, option) in TARGET_WORDS.items() if kind == choice.name}
    settings = located.with_entries(
        {short.get(key, key): value for key, value in located.entries.items()}
    )
    choice = take_options(choice, settings, context)
    source = build(choice, context, read_structured_option)
    call = {key.name: key.read(located, context) for key in CALL_KEYS}
    if len(context.problems) > before:
        return None
    return Target(type=choice.name, source=source, **call)


def _choose_target(located: Located, context: Context) -> StrategyChoice | None:
    words = [word for word in TARGET_WORDS if word in located.entries]
    named = located.get("type")
    if named is None and words:
        location = located.key_location(words[0])
        named = Located(value=TARGET_WORDS[words[0]][0], location=location)
    if named is None:
        refuse_unknown(located, ["type", *TARGET_WORDS, *CALL_KEYS.names], context)
        context.add("target: 'type' is required", located.location, _HINT)
        return None
    for word in words[1:]:
        message = f"target: {words[0]} and {word} cannot be combined"
        context.add(message, located.key_location(word))
    return choose(Plugin.TARGETS, Located(value={}, entries={"type": named}), context)
