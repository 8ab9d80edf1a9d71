"""Reads evaluators: a type, a name, a weight, and the options of the type beside them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, cast, get_args

from fieldmark import registry
from fieldmark.config.context import Context
from fieldmark.config.field_rules import (
    Defaults,
    read_by_path,
    read_defaults,
    read_fields,
    read_weight,
)
from fieldmark.config.files import contents_of, place_of
from fieldmark.config.located import Located
from fieldmark.config.option_types import (
    checked,
    describe,
    element_of,
    is_json_object,
    is_object,
    is_union,
    plain,
    refuse_unknown,
)
from fieldmark.config.strategies import (
    Reader,
    StrategyChoice,
    build,
    build_comparator,
    choose,
    read_provider,
    with_working_folder,
)
from fieldmark.errors import ConfigError, OptionError
from fieldmark.evaluators.base import Combiner, ConfiguredEvaluator, Evaluator, Judge
from fieldmark.model.comparison import Comparator
from fieldmark.model.json import MISSING, JsonValue
from fieldmark.model.rule import Rule
from fieldmark.registry import Plugin
from fieldmark.values.text import is_typo

__all__ = [
    "DEFAULT_KEYS",
    "MAX_NESTING",
    "MEMBER_KEYS",
    "SAFETY",
    "compares",
    "hears_safety",
    "known_keys",
    "read_evaluator",
    "read_evaluators",
    "read_usual",
    "readers_of",
]

DEFAULT_KEYS: Final = ("default", "match", "defaults")
"""Three ways to say how the fields compare that say nothing themselves."""
MEMBER_KEYS: Final = ("name", "type", "weight")
"""The keys that every evaluator has."""
_RULE_KEYS: Final = (*DEFAULT_KEYS, "strict", "provider")
"""The keys of a rules file that an evaluator takes beside its options if it compares fields."""
MAX_NESTING: Final = 8
_DEFAULT: Final = "default"
SAFETY: Final = "safety"
"""The key that names a judge of safety."""
_JUDGED: Final = {"response_quality": "auto"}
"""Evaluators that compare by meaning where nothing is said, and so have to know who judges it."""


def read_evaluators(located: Located, context: Context) -> tuple[ConfiguredEvaluator, ...]:
    """The evaluators of a list, each under a name of its own."""
    return _members(located, context, 1)


def read_evaluator(located: Located, context: Context) -> ConfiguredEvaluator | None:
    """One evaluator, named after its type if it has no name; nothing if there are problems."""
    return _member(located, context, 1)


def known_keys(strategy: type) -> tuple[str, ...]:
    """Every key that an evaluator of this class may have, in the order of its options."""
    own = [*MEMBER_KEYS, *registry.options(strategy)]
    own += [SAFETY] if hears_safety(strategy) else []
    rules = _RULE_KEYS if compares(strategy) else ()
    return (*own, *(key for key in rules if key not in own))


def hears_safety(strategy: type) -> bool:
    """Whether an evaluator of this class can be told who judges safety."""
    return registry.with_safety(str(getattr(strategy, "name", ""))) is not None


def _members(located: Located, context: Context, depth: int) -> tuple[ConfiguredEvaluator, ...]:
    if located.value is None:
        return ()
    if not isinstance(located.value, list):
        hint = "Write a list: - {name: header, type: field_accuracy, fields: [...]}."
        said = f"evaluators must be a list, not {describe(located.value)}."
        context.problems.add(said, located.location, hint)
        return ()
    if depth > MAX_NESTING:
        said = f"Evaluators inside evaluators more than {MAX_NESTING} deep."
        context.problems.add(said, located.location)
        return ()
    made = [(item, _member(item, context, depth)) for item in located.items]
    _refuse_repeated_names(located.items, context)
    taken = {member.name for item, member in made if member is not None and _is_named(item)}
    kept: list[ConfiguredEvaluator] = []
    for item, member in made:
        if member is None:
            continue
        kept.append(member if _is_named(item) else replace(member, name=_free(member.name, taken)))
        taken.add(kept[-1].name)
    return tuple(kept)


def _is_named(located: Located) -> bool:
    return "name" in located.entries


def _free(name: str, taken: set[str]) -> str:
    """The name itself, or with the first number that makes it different from all others."""
    spelled, number = name, 1
    while spelled in taken:
        number += 1
        spelled = f"{name}_{number}"
    return spelled


def _refuse_repeated_names(items: Iterable[Located], context: Context) -> None:
    first: dict[JsonValue, Located] = {}
    for item in items:
        name = item.entries.get("name")
        if name is None or not isinstance(name.value, str):
            continue
        earlier = first.setdefault(name.value, name)
        if earlier is not name:
            line = earlier.location.line
            hint = f"Line {line} has it already." if line else ""
            context.problems.add(f"Two evaluators called {name.value}.", name.location, hint)


def _member(located: Located, context: Context, depth: int) -> ConfiguredEvaluator | None:
    if not is_object(located, "an evaluator", context, "Write {name: header, type: …}."):
        return None
    if "type" not in located.entries:
        _no_type(located, context)
        return None
    named = Located(value={}, location=located.location, entries={"type": located.entries["type"]})
    choice = choose(Plugin.EVALUATORS, named, context)
    if choice is None:
        return None
    before = len(context.problems)
    name = _name(located, choice, context)
    weight = read_weight(located, context)
    evaluator = _evaluator(located, choice, context, depth)
    if SAFETY in located.entries and hears_safety(choice.strategy):
        evaluator = _with_safety(evaluator, choice, located.entries[SAFETY], context)
    if len(context.problems) > before:
        return None
    made = cast("Evaluator | Judge | Combiner", evaluator)
    return ConfiguredEvaluator(name=name, type=choice.name, evaluator=made, weight=weight)


def _with_safety(
    evaluator: object, choice: StrategyChoice, settings: Located, context: Context
) -> object | None:
    """The evaluator together with the judge of safety that its settings name."""
    chosen = choose(Plugin.SAFETY, settings, context)
    judge = None if chosen is None else build(chosen, context)
    both = registry.with_safety(choice.name)
    if evaluator is None or judge is None or both is None:
        return None
    return registry.made(both, {"quality": evaluator, "safety": judge})


def _no_type(located: Located, context: Context) -> None:
    valid = f"Valid types: {', '.join(registry.names(Plugin.EVALUATORS))}."
    slip = next((key for key in located.entries if is_typo(key, "type")), None)
    hint = valid if slip is None else f"{slip}: did you mean type? {valid}"
    context.problems.add("An evaluator without a type.", located.location, hint)


def _name(located: Located, choice: StrategyChoice, context: Context) -> str:
    given = located.entries.get("name")
    if given is None:
        return choice.name
    if isinstance(given.value, str) and given.value.strip():
        return given.value
    said = f"name: must be text, not {describe(given.value)}."
    context.problems.add(said, given.location)
    return choice.name


def _evaluator(
    located: Located, choice: StrategyChoice, context: Context, depth: int
) -> object | None:
    options = registry.options(choice.strategy)
    collecting = getattr(choice.strategy, "collects_unknown", None)
    known = known_keys(choice.strategy)
    if isinstance(collecting, str):
        located = _collected(located, collecting, known, context)
    else:
        refuse_unknown(located, known, context, lambda key: _owners(key, choice, known))
    usual = Defaults()
    if compares(choice.strategy):
        context = _told(located, context, options)
        usual = _usual(located, choice, context)
    named = [key for key in located.entries if key in options]
    own = with_working_folder(choice.with_options(located, named), context)
    if usual.comparator is not None and _DEFAULT in options:
        told = Located(value=None, location=choice.location)
        own = replace(own, options={_DEFAULT: told, **own.options})
    readers = readers_of(
        choice.strategy,
        context,
        usual=usual,
        members=lambda inner: _members(inner, context, depth + 1),
    )
    return build(own, context, readers)


def _told(located: Located, context: Context, options: Iterable[str]) -> Context:
    """The context under what the evaluator itself says of strictness and of who judges meaning."""
    own = set(options)
    if "strict" in located.entries and "strict" not in own:
        strict = checked(located.entries["strict"], "strict", bool, context)
        context = replace(context, strict=context.strict or strict is True)
    if "provider" in located.entries and "provider" not in own:
        context = replace(context, provider=read_provider(located.entries["provider"], context))
    return context


def _usual(located: Located, choice: StrategyChoice, context: Context) -> Defaults:
    usual = read_usual(located, context)
    word = _JUDGED.get(choice.name)
    if usual.comparator is not None or word is None or context.provider is None:
        return usual
    judged = choose(Plugin.COMPARATORS, Located(value=word, location=choice.location), context)
    comparator = None if judged is None else build_comparator(judged, context)
    return replace(usual, comparator=comparator)


def _collected(located: Located, option: str, known: Sequence[str], context: Context) -> Located:
    """The settings with every key that is not known inside one option, untouched."""
    inner = located.entries.get(option)
    unknown = [key for key in located.entries if key not in known]
    if inner is not None and not isinstance(inner.value, dict):
        if unknown and isinstance(inner.value, str):
            said = f"{option}: must be an object beside keys that belong into it."
            context.problems.add(said, inner.location)
        return located
    for key in unknown:
        _warn_of_slip(key, known, located, context)
        if inner is not None and key in inner.entries:
            said = f"{key} stands both beside {option} and inside it."
            context.problems.add(said, located.key_location(key))
    if not unknown:
        return located
    values = {} if inner is None else dict(inner.entries)
    values.update({key: located.entries[key] for key in unknown})
    gathered = Located(
        value={key: value.value for key, value in values.items()},
        location=located.location,
        entries=values,
    )
    kept = {key: value for key, value in located.entries.items() if key in known}
    return located._replace(entries={**kept, option: gathered})


def _warn_of_slip(key: str, known: Sequence[str], located: Located, context: Context) -> None:
    meant = next((word for word in known if is_typo(key, word)), None)
    if meant is not None:
        said = f"{key} is handed on as the user's own key."
        context.problems.warn(said, located.key_location(key), f"Did you mean {meant}?")


def _owners(key: str, choice: StrategyChoice, known: Sequence[str]) -> str:
    """Who takes a key that this evaluator does not."""
    found: list[str] = []
    for name in registry.names(Plugin.EVALUATORS):
        try:
            if key in registry.options(registry.load(Plugin.EVALUATORS, name)):
                found.append(name)
        except ConfigError:
            continue
    if found:
        return f"It belongs to {', '.join(found)}."
    return f"{choice.name} takes {', '.join(key for key in known if key not in MEMBER_KEYS)}."


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
    members: Callable[[Located], object] | None = None,
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


def read_usual(located: Located, context: Context) -> Defaults:
    """What holds for the fields of an evaluator that say nothing themselves."""
    given = [key for key in DEFAULT_KEYS if key in located.entries]
    for key in given[1:]:
        said = f"{given[0]} and {key} say the same thing."
        context.problems.add(said, located.key_location(key), "Keep one of them.")
    if not given:
        return Defaults()
    settings = located.entries[given[0]]
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
        return lambda located: _rules(located, name, context, usual)
    if kind is Path:
        return lambda located: _path(located, name, context)
    if element_of(kind) is str and name in _ARGV:
        return lambda located: _argv(located, name, context)
    if is_json_object(kind):
        return lambda located: _json(located, name, annotation, context)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return lambda located: _settings(located, name, cast("type", kind), context)
    part = _part_of(element_of(kind))
    return None if part is None else lambda located: _each(located, name, part, context)


def _part_of(annotation: object | None) -> type | None:
    """The class of the parts of a list that have options of their own."""
    arms = get_args(annotation) if is_union(annotation) else (annotation,)
    return next(
        (arm for arm in arms if isinstance(arm, type) and dataclasses.is_dataclass(arm)), None
    )


def _rules(located: Located, name: str, context: Context, usual: Defaults) -> tuple[Rule, ...]:
    if isinstance(located.value, dict):
        return read_by_path(located, context, usual)
    if not isinstance(located.value, list):
        shown = describe(located.value)
        hint = "Write [{path: total, match: exact}]."
        context.problems.add(f"{name}: must be a list, not {shown}.", located.location, hint)
    return read_fields(located.items, context, usual)


def _path(located: Located, name: str, context: Context) -> Path | None:
    return None if located.value is None else place_of(located, name, context)


def _argv(located: Located, name: str, context: Context) -> object | None:
    if isinstance(located.value, str):
        words = ", ".join(located.value.split())
        hint = f"No shell takes it apart. Write {name}: [{words}]."
        context.problems.add(f"{name}: must be a list, not text.", located.location, hint)
        return None
    return checked(located, name, tuple[str, ...], context)


def _json(located: Located, name: str, annotation: object, context: Context) -> object | None:
    """An object as it is written, or the one in the file that a text names."""
    if not isinstance(located.value, str):
        return checked(located, name, annotation, context)
    contents = contents_of(located, name, context)
    return None if contents is None else checked(contents, name, annotation, context)


def _each(located: Located, name: str, part: type, context: Context) -> tuple[object, ...]:
    """A list of such objects; where one option alone is needed, a text may stand for it."""
    options = registry.options(part).items()
    needed = [key for key, option in options if option.default is MISSING]
    items = [located] if isinstance(located.value, str) else located.items
    if not isinstance(located.value, str | list):
        shown = describe(located.value)
        context.problems.add(f"{name}: must be a list, not {shown}.", located.location)
    made: list[object] = []
    for item in items:
        short = isinstance(item.value, str) and len(needed) == 1
        whole = _object_of(item, needed[0]) if short else item
        found = _settings(whole, name, part, context)
        made += [] if found is None else [found]
    return tuple(made)


def _object_of(item: Located, key: str) -> Located:
    return Located(value={key: item.value}, location=item.location, entries={key: item})


def _settings(located: Located, name: str, kind: type, context: Context) -> object | None:
    """An object whose keys are the fields of a dataclass."""
    if not is_object(located, f"the settings of {name}", context):
        return None
    options = registry.options(kind)
    before = len(context.problems)
    refuse_unknown(located, options, context)
    values = {
        key: checked(given, f"{name}.{key}", options[key].type, context)
        for key, given in located.entries.items()
        if key in options
    }
    for key, option in options.items():
        if key not in values and option.default is MISSING:
            context.problems.add(f"{name} needs {key}.", located.location)
    if len(context.problems) > before:
        return None
    try:
        return registry.made(kind, values)
    except OptionError as error:
        key = error.option.rpartition(".")[2]
        place = located.entries.get(key, located).location
        context.problems.add(f"{name}.{key}: {error.message}.", place)
        return None
