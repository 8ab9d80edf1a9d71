"""Read the target, or the targets, of an eval file."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from fieldmark import registry
from fieldmark.errors import Location
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.registry import Plugin
from fieldmark.rules.config_files import load_named, load_text, named_path
from fieldmark.rules.config_values import Context, Located
from fieldmark.rules.evaluator_settings import read_structured_option
from fieldmark.rules.option_types import (
    ConfigKey,
    KeyTable,
    expect_object,
    option_keys,
    refuse_unknown,
)
from fieldmark.rules.strategy_builder import StrategyChoice, build, choose, take_options
from fieldmark.values.annotations import NonNegativeInt, PositiveFloat, PositiveInt
from fieldmark.values.value_types import describe


def case_id(value: JsonValue) -> str | None:
    """Return a value as a case id, or `None` if it is not valid as one."""
    is_id = isinstance(value, str | int) and not isinstance(value, bool) and value != ""
    return str(value) if is_id else None


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineCase:
    """A case that is defined in the eval file.

    Its evaluators are added to the evaluators of the file and replace evaluators with the same
    name. With `only_own`, the evaluators of the file are skipped. A string as candidate is model
    output.
    """

    id: str
    expected: JsonValue | Missing = MISSING
    candidate: JsonValue | Missing = MISSING
    input: JsonValue | Missing = MISSING
    metadata: JsonObject | None = None
    tags: tuple[str, ...] = ()
    evaluators: tuple[ConfiguredEvaluator, ...] = ()
    only_own: bool = False
    location: Location = Location()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A program or service that produces candidates, and how it is called.

    `source` is a registered target with its options. `cache` is a directory for its responses, or
    `None` for the directory of the run until it is complete; with `False`, they are not cached. A
    source that has one of the other options itself, such as a chat model, applies it itself.
    """

    type: str
    source: object
    name: str = ""
    timeout: float = 60.0
    retries: int = 2
    concurrency: int = 4
    cache: Path | Literal[False] | None = None


TARGET_WORDS: Final = {
    "command": ("command", "command"),
    "python": ("python", "function"),
    "url": ("http", "url"),
    "chat": ("chat", ""),
}
"""Keys that replace `type`, with the type and the option that they set; `chat` has all options."""
_PROMPTS: Final = frozenset({"prompt", "prompt_file"})
_PROMPT_BYTES: Final = 1_000_000
_DEFAULTS: Final[dict[str, Any]] = {field.name: field.default for field in fields(Target)}


def _read_cache(located: Located, context: Context) -> Path | Literal[False] | None:
    if located.value in (None, True):
        return None
    return False if located.value is False else named_path(located, "cache", context)


CALL_KEYS: Final = KeyTable(
    ConfigKey(
        "timeout", PositiveFloat, "Seconds to wait for a response.", default=_DEFAULTS["timeout"]
    ),
    ConfigKey(
        "retries", NonNegativeInt, "The number of retries per case.", default=_DEFAULTS["retries"]
    ),
    ConfigKey(
        "concurrency",
        PositiveInt,
        "The number of concurrent requests.",
        default=_DEFAULTS["concurrency"],
    ),
    ConfigKey(
        "cache",
        description="A directory for cached responses; false to cache none.",
        schema={"type": ["string", "boolean", "null"]},
        reader=_read_cache,
    ),
)
"""The keys of all targets."""
_NAME: Final[ConfigKey[str | None]] = ConfigKey(
    "name", str, "The name of the target; by default the model, command, function or URL."
)
_HINT: Final = (
    "for example {chat: {model: …, prompt: …}}, {command: [python, extract.py]}, "
    "{python: module:function} or {url: https://…}"
)


@cache
def target_keys(name: str) -> KeyTable:
    """Return the keys of a target of this type."""
    options = {key.name: key for key in option_keys(registry.load(Plugin.TARGETS, name))}
    words: list[ConfigKey[Any]] = [
        ConfigKey(word, schema=options[option].schema)
        for word, (kind, option) in TARGET_WORDS.items()
        if kind == name and option and word != option
    ]
    shared = [key for key in CALL_KEYS if key.name not in options]
    return KeyTable(ConfigKey("type", schema={}), _NAME, *options.values(), *words, *shared)


def read_targets(located: Located, context: Context) -> tuple[Target, ...]:
    """Read the list `targets` of an eval file, whose entries share the options of `target.chat`.

    A string is the name of a chat model.
    """
    listed, shared = located.entries["targets"], located.get("target")
    common = None if shared is None else shared.get("chat")
    if shared is not None and (common is None or not isinstance(common.value, dict)):
        hint = "use target: {chat: {…}} for options that several chat models share, or remove it"
        context.add("target and targets cannot be combined", shared.key or shared.location, hint)
        common = None
    if not isinstance(listed.value, list) or not listed.items:
        message = f"targets: expected a list of targets, got {describe(listed.value)}"
        context.add(message, listed.location, _HINT)
        return ()
    entries = [(item, _read_entry(item, common, context)) for item in listed.items]
    read = [(target, item.location) for item, target in entries if target is not None]
    context.problems.add_duplicates(
        ((target.name, location) for target, location in read), "target name"
    )
    return tuple(target for target, _ in read)


def _read_entry(item: Located, common: Located | None, context: Context) -> Target | None:
    """Read an entry of `targets`, with the options that all entries share."""
    if isinstance(item.value, str):
        if common is None:
            hint = "add target: {chat: {prompt: …}} with the options that all models share"
            context.add(f"targets: {item.value!r} is not an object", item.location, hint)
            return None
        item = item.with_entries({"chat": item.with_entries({"model": item})})
    own = item.get("chat")
    if common is not None and own is not None and isinstance(own.value, dict):
        replaced = _PROMPTS if _PROMPTS & own.entries.keys() else frozenset()
        shared = {key: value for key, value in common.entries.items() if key not in replaced}
        chat = own.with_entries({**shared, **own.entries})
        item = item.with_entries({**item.entries, "chat": chat})
    return read_target(item, context)


def read_target(located: Located, context: Context) -> Target | None:
    """Read a target; return `None` if it has problems."""
    if not expect_object(located, "target", context, _HINT):
        return None
    before = len(context.problems)
    chat = located.get("chat")
    if chat is not None and "type" not in located.entries:
        other_words = [word for word in TARGET_WORDS if word != "chat" and word in located.entries]
        for word in other_words:
            message = f"target: chat and {word} cannot be combined"
            context.add(message, located.key_location(word))
        refuse_unknown(
            located,
            ["chat", _NAME.name, *other_words],
            context,
            lambda key: f"move {key} into chat" if key in target_keys("chat").names else "",
        )
        if not expect_object(chat, "chat", context, "for example {model: …, prompt: …}"):
            return None
        if "type" in chat.entries:
            context.add("unknown key 'type'", chat.key_location("type"))
        chat_type = Located(value="chat", location=located.key_location("chat"))
        named = {key: value for key, value in located.entries.items() if key == _NAME.name}
        located = chat.with_entries({**chat.entries, **named, "type": chat_type})
    choice = _choose_target(located, context)
    if choice is None:
        return None
    target_keys(choice.name).refuse_unknown(located, context)
    # The key that replaces the type also sets an option.
    short = {word: option for word, (kind, option) in TARGET_WORDS.items() if kind == choice.name}
    settings = located.with_entries(
        {short.get(key, key): value for key, value in located.entries.items()}
    )
    options = registry.options(choice.strategy)
    if "prompt_file" in options and "prompt_file" in settings.entries:
        settings = _with_prompt(settings, context)
        if len(context.problems) > before:
            return None
    choice = take_options(choice, settings, context)
    source = build(choice, context, read_structured_option)
    call = {key.name: key.read(located, context) for key in CALL_KEYS if key.name not in options}
    if "concurrency" in options and source is not None:
        # It retries and caches by itself.
        call |= {"concurrency": getattr(source, "concurrency", 1), "retries": 0, "cache": False}
    name = _NAME.read(located, context) or getattr(source, "label", "") or choice.name
    if len(context.problems) > before:
        return None
    return Target(name=name, type=choice.name, source=source, **call)


def _with_prompt(settings: Located, context: Context) -> Located:
    """Return the options of a target with the text of its prompt file."""
    file = settings.entries["prompt_file"]
    if "prompt" in settings.entries:
        message = "prompt and prompt_file cannot be combined"
        context.add(message, settings.key_location("prompt_file"), "remove one of them")
        return settings
    text = load_named(file, "prompt_file", context, lambda path: load_text(path, _PROMPT_BYTES))
    if text is None:
        return settings
    location = Location(str(named_path(file, "prompt_file", context)))
    prompt = Located(value=text, location=location, key=file.key)
    return settings.with_entries({**settings.entries, "prompt": prompt})


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
