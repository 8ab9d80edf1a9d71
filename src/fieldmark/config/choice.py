"""Builds comparators, aligners and providers from the names and options that people write.

A strategy is a name with its options beside it, or an object `{type: name, option: value, …}`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeAlias, cast, get_args

from fieldmark import registry
from fieldmark.config.context import Context
from fieldmark.config.marked import Marked
from fieldmark.config.option_values import checked, describe
from fieldmark.config.problems import did_you_mean
from fieldmark.config.recorded_scores import with_scores
from fieldmark.errors import ConfigError, Location, OptionError
from fieldmark.model.alignment import Aligner
from fieldmark.model.comparison import Comparator, Provider
from fieldmark.model.json import MISSING
from fieldmark.registry import Plugin

__all__ = [
    "STRATEGY_KINDS",
    "Choice",
    "Reader",
    "build",
    "build_aligner",
    "build_comparator",
    "choose",
    "read_provider",
    "takers",
]

Reader: TypeAlias = Callable[[Marked], object]
"""Reads an option that is more than a plain value; problems go where the reader knows."""
TYPE: Final = "type"
STRATEGY_KINDS: Final = (Plugin.COMPARATORS, Plugin.ALIGNERS)
"""What a field can name beside its options."""
_NO_READERS: Final[Mapping[str, Reader]] = MappingProxyType({})
_WORDS: Final = {Plugin.COMPARATORS: "match", Plugin.ALIGNERS: "align"}
"""The key of a rules file that names a strategy of a kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A strategy that was named, with the options written for it, not yet built."""

    kind: Plugin
    name: str
    strategy: type
    options: Mapping[str, Marked] = field(default_factory=dict)
    keys: Mapping[str, Location] = field(default_factory=dict)
    location: Location = Location()

    def with_options(self, owner: Marked, names: Iterable[str]) -> Choice:
        """The same choice with more options, which win over those that it has."""
        own = {name: owner.entries[name] for name in names}
        return Choice(
            kind=self.kind,
            name=self.name,
            strategy=self.strategy,
            options={**self.options, **own},
            keys={**self.keys, **{name: owner.key_location(name) for name in own}},
            location=self.location,
        )


def choose(kind: Plugin, marked: Marked, context: Context) -> Choice | None:
    """The strategy that a name or a `{type: …}` object names; a problem if there is none."""
    named = marked.entries.get(TYPE, marked)
    if not isinstance(named.value, str):
        hint = f"Valid types: {', '.join(registry.names(kind))}."
        context.problems.add(
            f"Not {kind.article} {kind.noun}: {describe(named.value)}.", named.location, hint
        )
        return None
    name = registry.canonical(kind, named.value)
    if name is None:
        _unknown_name(kind, named, context)
        return None
    try:
        strategy = registry.load(kind, name)
    except ConfigError as error:
        for problem in error.problems:
            context.problems.add(problem.message, named.location, problem.hint)
        return None
    choice = Choice(kind=kind, name=name, strategy=strategy, location=named.location)
    return choice.with_options(marked, [key for key in marked.entries if key != TYPE])


def build(
    choice: Choice, context: Context, readers: Mapping[str, Reader] = _NO_READERS
) -> object | None:
    """The strategy with its options; a problem for every option that it cannot take.

    Options with a reader of their own are left to it.
    """
    known = registry.options(choice.strategy)
    before = len(context.problems)
    values: dict[str, object] = {}
    for name, marked in choice.options.items():
        if name in readers:
            values[name] = readers[name](marked)
        elif name in known:
            _read_option(choice, name, marked, values, context)
        else:
            _unknown_option(choice, name, context)
    for name, option in known.items():
        if name in choice.options:
            continue
        if _wants_provider(option) and context.provider is not None:
            values[name] = context.provider
        elif option.default is MISSING:
            message = f"{choice.name} needs the option {name}."
            context.problems.add(message, choice.location, _where_to_say(choice, name))
    return None if len(context.problems) > before else _made(choice, values, context)


def _where_to_say(choice: Choice, option: str) -> str:
    """How to give an option that a name alone, on the command line or in Python, cannot have."""
    word = _WORDS.get(choice.kind)
    if word is None or choice.location.line is not None:
        return ""
    return f"Write {word}: {choice.name} with {option}: [...] in a rules file."


def build_comparator(choice: Choice, context: Context) -> Comparator | None:
    """The comparator of a choice."""
    return cast("Comparator | None", build(choice, context))


def build_aligner(choice: Choice, context: Context) -> Aligner | None:
    """The aligner of a choice."""
    return cast("Aligner | None", build(choice, context))


def read_provider(marked: Marked, context: Context) -> Provider | None:
    """The provider that a configuration names, with the scores that its file holds."""
    choice = choose(Plugin.PROVIDERS, with_scores(marked, context), context)
    return None if choice is None else cast("Provider | None", build(choice, context))


def _made(choice: Choice, values: Mapping[str, object], context: Context) -> object | None:
    try:
        return registry.made(choice.strategy, values)
    except OptionError as error:
        place = choice.options.get(error.option)
        where = choice.location if place is None else place.location
        context.problems.add(f"{error.option}: {error.message}.", where)
        return None


def _read_option(
    choice: Choice, name: str, marked: Marked, values: dict[str, object], context: Context
) -> None:
    option = registry.options(choice.strategy)[name]
    if _wants_provider(option):
        values[name] = read_provider(marked, context)
        return
    values[name] = checked(marked, name, option.type, context)


def _wants_provider(option: registry.Option) -> bool:
    return option.type is Provider or Provider in get_args(option.type)


def _unknown_name(kind: Plugin, named: Marked, context: Context) -> None:
    valid = registry.names(kind)
    word = str(named.value)
    listed = f"Valid types: {', '.join(valid)}."
    hint = f"{listed} {did_you_mean(word, valid)}".rstrip()
    context.problems.add(f"Invalid {kind.noun}: {word}.", named.location, hint)


def _unknown_option(choice: Choice, name: str, context: Context) -> None:
    own = list(registry.options(choice.strategy))
    place = choice.keys.get(name, choice.location)
    for kind in (choice.kind, *STRATEGY_KINDS):
        owners = takers(kind, name)
        if owners:
            other = f"another {kind.noun}" if kind is choice.kind else f"{kind.article} {kind.noun}"
            has = f"{choice.name} takes {', '.join(own) if own else 'no options'}"
            hint = f"{has}; {name} belongs to {', '.join(owners)}."
            context.problems.add(f"Option of {other}: {name}.", place, hint)
            return
    context.problems.add(f"Unknown key: {name}.", place, did_you_mean(name, own))


def takers(kind: Plugin, option: str) -> list[str]:
    """The strategies of a kind that take an option."""
    return [
        name
        for name in registry.names(kind)
        if option in registry.options(registry.load(kind, name))
    ]
