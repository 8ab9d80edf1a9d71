"""Reads evaluators: a type, a name, a weight, and the options of the type beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, cast

from fieldmark import registry
from fieldmark.config.choice import Choice, build, build_comparator, choose, read_provider
from fieldmark.config.context import Context
from fieldmark.config.field_rules import Defaults, read_weight
from fieldmark.config.keys import is_object, refuse_unknown
from fieldmark.config.marked import Marked
from fieldmark.config.member_options import DEFAULT_KEYS, compares, read_usual, readers_of
from fieldmark.config.option_values import checked, describe
from fieldmark.config.working_folder import with_working_folder
from fieldmark.errors import ConfigError
from fieldmark.evaluators.base import Combiner, ConfiguredEvaluator, Evaluator, Judge
from fieldmark.model.json import JsonValue
from fieldmark.registry import Plugin
from fieldmark.values.text import is_slip

__all__ = [
    "MAX_NESTING",
    "MEMBER_KEYS",
    "SAFETY",
    "hears_safety",
    "known_keys",
    "read_member",
    "read_members",
]

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


def read_members(marked: Marked, context: Context) -> tuple[ConfiguredEvaluator, ...]:
    """The evaluators of a list, each under a name of its own."""
    return _members(marked, context, 1)


def read_member(marked: Marked, context: Context) -> ConfiguredEvaluator | None:
    """One evaluator, named after its type if it has no name; nothing if there are problems."""
    return _member(marked, context, 1)


def known_keys(strategy: type) -> tuple[str, ...]:
    """Every key that an evaluator of this class may have, in the order of its options."""
    own = [*MEMBER_KEYS, *registry.options(strategy)]
    own += [SAFETY] if hears_safety(strategy) else []
    rules = _RULE_KEYS if compares(strategy) else ()
    return (*own, *(key for key in rules if key not in own))


def hears_safety(strategy: type) -> bool:
    """Whether an evaluator of this class can be told who judges safety."""
    return registry.with_safety(str(getattr(strategy, "name", ""))) is not None


def _members(marked: Marked, context: Context, depth: int) -> tuple[ConfiguredEvaluator, ...]:
    if marked.value is None:
        return ()
    if not isinstance(marked.value, list):
        hint = "Write a list: - {name: header, type: field_accuracy, fields: [...]}."
        said = f"evaluators must be a list, not {describe(marked.value)}."
        context.problems.add(said, marked.location, hint)
        return ()
    if depth > MAX_NESTING:
        said = f"Evaluators inside evaluators more than {MAX_NESTING} deep."
        context.problems.add(said, marked.location)
        return ()
    made = [(item, _member(item, context, depth)) for item in marked.items]
    _refuse_repeated_names(marked.items, context)
    taken = {member.name for item, member in made if member is not None and _is_named(item)}
    kept: list[ConfiguredEvaluator] = []
    for item, member in made:
        if member is None:
            continue
        kept.append(member if _is_named(item) else replace(member, name=_free(member.name, taken)))
        taken.add(kept[-1].name)
    return tuple(kept)


def _is_named(marked: Marked) -> bool:
    return "name" in marked.entries


def _free(name: str, taken: set[str]) -> str:
    """The name itself, or with the first number that makes it different from all others."""
    spelled, number = name, 1
    while spelled in taken:
        number += 1
        spelled = f"{name}_{number}"
    return spelled


def _refuse_repeated_names(items: Iterable[Marked], context: Context) -> None:
    first: dict[JsonValue, Marked] = {}
    for item in items:
        name = item.entries.get("name")
        if name is None or not isinstance(name.value, str):
            continue
        earlier = first.setdefault(name.value, name)
        if earlier is not name:
            line = earlier.location.line
            hint = f"Line {line} has it already." if line else ""
            context.problems.add(f"Two evaluators called {name.value}.", name.location, hint)


def _member(marked: Marked, context: Context, depth: int) -> ConfiguredEvaluator | None:
    if not is_object(marked, "an evaluator", context, "Write {name: header, type: …}."):
        return None
    if "type" not in marked.entries:
        _no_type(marked, context)
        return None
    named = Marked(value={}, location=marked.location, entries={"type": marked.entries["type"]})
    choice = choose(Plugin.EVALUATORS, named, context)
    if choice is None:
        return None
    before = len(context.problems)
    name = _name(marked, choice, context)
    weight = read_weight(marked, context)
    evaluator = _evaluator(marked, choice, context, depth)
    if SAFETY in marked.entries and hears_safety(choice.strategy):
        evaluator = _with_safety(evaluator, choice, marked.entries[SAFETY], context)
    if len(context.problems) > before:
        return None
    made = cast("Evaluator | Judge | Combiner", evaluator)
    return ConfiguredEvaluator(name=name, type=choice.name, evaluator=made, weight=weight)


def _with_safety(
    evaluator: object, choice: Choice, settings: Marked, context: Context
) -> object | None:
    """The evaluator together with the judge of safety that its settings name."""
    chosen = choose(Plugin.SAFETY, settings, context)
    judge = None if chosen is None else build(chosen, context)
    both = registry.with_safety(choice.name)
    if evaluator is None or judge is None or both is None:
        return None
    return registry.made(both, {"quality": evaluator, "safety": judge})


def _no_type(marked: Marked, context: Context) -> None:
    valid = f"Valid types: {', '.join(registry.names(Plugin.EVALUATORS))}."
    slip = next((key for key in marked.entries if is_slip(key, "type")), None)
    hint = valid if slip is None else f"{slip}: did you mean type? {valid}"
    context.problems.add("An evaluator without a type.", marked.location, hint)


def _name(marked: Marked, choice: Choice, context: Context) -> str:
    given = marked.entries.get("name")
    if given is None:
        return choice.name
    if isinstance(given.value, str) and given.value.strip():
        return given.value
    said = f"name: must be text, not {describe(given.value)}."
    context.problems.add(said, given.location)
    return choice.name


def _evaluator(marked: Marked, choice: Choice, context: Context, depth: int) -> object | None:
    options = registry.options(choice.strategy)
    collecting = getattr(choice.strategy, "collects_unknown", None)
    known = known_keys(choice.strategy)
    if isinstance(collecting, str):
        marked = _collected(marked, collecting, known, context)
    else:
        refuse_unknown(marked, known, context, lambda key: _owners(key, choice, known))
    usual = Defaults()
    if compares(choice.strategy):
        context = _told(marked, context, options)
        usual = _usual(marked, choice, context)
    named = [key for key in marked.entries if key in options]
    own = with_working_folder(choice.with_options(marked, named), context)
    if usual.comparator is not None and _DEFAULT in options:
        told = Marked(value=None, location=choice.location)
        own = replace(own, options={_DEFAULT: told, **own.options})
    readers = readers_of(
        choice.strategy,
        context,
        usual=usual,
        members=lambda inner: _members(inner, context, depth + 1),
    )
    return build(own, context, readers)


def _told(marked: Marked, context: Context, options: Iterable[str]) -> Context:
    """The context under what the evaluator itself says of strictness and of who judges meaning."""
    own = set(options)
    if "strict" in marked.entries and "strict" not in own:
        strict = checked(marked.entries["strict"], "strict", bool, context)
        context = replace(context, strict=context.strict or strict is True)
    if "provider" in marked.entries and "provider" not in own:
        context = replace(context, provider=read_provider(marked.entries["provider"], context))
    return context


def _usual(marked: Marked, choice: Choice, context: Context) -> Defaults:
    usual = read_usual(marked, context)
    word = _JUDGED.get(choice.name)
    if usual.comparator is not None or word is None or context.provider is None:
        return usual
    judged = choose(Plugin.COMPARATORS, Marked(value=word, location=choice.location), context)
    comparator = None if judged is None else build_comparator(judged, context)
    return replace(usual, comparator=comparator)


def _collected(marked: Marked, option: str, known: Sequence[str], context: Context) -> Marked:
    """The settings with every key that is not known inside one option, untouched."""
    inner = marked.entries.get(option)
    unknown = [key for key in marked.entries if key not in known]
    if inner is not None and not isinstance(inner.value, dict):
        if unknown and isinstance(inner.value, str):
            said = f"{option}: must be an object beside keys that belong into it."
            context.problems.add(said, inner.location)
        return marked
    for key in unknown:
        _warn_of_slip(key, known, marked, context)
        if inner is not None and key in inner.entries:
            said = f"{key} stands both beside {option} and inside it."
            context.problems.add(said, marked.key_location(key))
    if not unknown:
        return marked
    values = {} if inner is None else dict(inner.entries)
    values.update({key: marked.entries[key] for key in unknown})
    gathered = Marked(
        value={key: value.value for key, value in values.items()},
        location=marked.location,
        entries=values,
    )
    kept = {key: value for key, value in marked.entries.items() if key in known}
    return marked._replace(entries={**kept, option: gathered})


def _warn_of_slip(key: str, known: Sequence[str], marked: Marked, context: Context) -> None:
    meant = next((word for word in known if is_slip(key, word)), None)
    if meant is not None:
        said = f"{key} is handed on as the user's own key."
        context.problems.warn(said, marked.key_location(key), f"Did you mean {meant}?")


def _owners(key: str, choice: Choice, known: Sequence[str]) -> str:
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
