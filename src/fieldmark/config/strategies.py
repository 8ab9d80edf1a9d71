"""Builds comparators, aligners and providers from the names and options that people write.

A strategy is a name with its options beside it, or an object `{type: name, option: value, …}`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, TypeAlias, cast, get_args

from fieldmark import registry
from fieldmark.compare.exact import ExactText
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.ignore import Ignore
from fieldmark.compare.semantic import Semantic, is_guarded
from fieldmark.config.context import Context
from fieldmark.config.files import contents_of
from fieldmark.config.located import Located
from fieldmark.config.option_types import checked, describe
from fieldmark.errors import ConfigError, Location, OptionError
from fieldmark.model.alignment import Aligner
from fieldmark.model.comparison import Comparator, Provider
from fieldmark.model.json import MISSING
from fieldmark.registry import Plugin
from fieldmark.values.text import did_you_mean

__all__ = [
    "FUZZY_THRESHOLD",
    "SEMANTIC_THRESHOLD",
    "STRATEGIES",
    "STRATEGY_KINDS",
    "Reader",
    "StrategyChoice",
    "build",
    "build_aligner",
    "build_comparator",
    "choose",
    "read_provider",
    "strategy",
    "takers",
    "with_scores",
    "with_working_folder",
]

Reader: TypeAlias = Callable[[Located], object]
"""Reads an option that is more than a plain value; problems go where the reader knows."""
TYPE: Final = "type"
STRATEGY_KINDS: Final = (Plugin.COMPARATORS, Plugin.ALIGNERS)
"""What a field can name beside its options."""
_NO_READERS: Final[Mapping[str, Reader]] = MappingProxyType({})
_WORDS: Final = {Plugin.COMPARATORS: "match", Plugin.ALIGNERS: "align"}
"""The key of a rules file that names a strategy of a kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyChoice:
    """A strategy that was named, with the options written for it, not yet built."""

    kind: Plugin
    name: str
    strategy: type
    options: Mapping[str, Located] = field(default_factory=dict)
    keys: Mapping[str, Location] = field(default_factory=dict)
    location: Location = Location()

    def with_options(self, owner: Located, names: Iterable[str]) -> StrategyChoice:
        """The same choice with more options, which win over those that it has."""
        own = {name: owner.entries[name] for name in names}
        return StrategyChoice(
            kind=self.kind,
            name=self.name,
            strategy=self.strategy,
            options={**self.options, **own},
            keys={**self.keys, **{name: owner.key_location(name) for name in own}},
            location=self.location,
        )


def choose(kind: Plugin, located: Located, context: Context) -> StrategyChoice | None:
    """The strategy that a name or a `{type: …}` object names; a problem if there is none."""
    named = located.entries.get(TYPE, located)
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
    choice = StrategyChoice(kind=kind, name=name, strategy=strategy, location=named.location)
    return choice.with_options(located, [key for key in located.entries if key != TYPE])


def build(
    choice: StrategyChoice, context: Context, readers: Mapping[str, Reader] = _NO_READERS
) -> object | None:
    """The strategy with its options; a problem for every option that it cannot take.

    Options with a reader of their own are left to it.
    """
    known = registry.options(choice.strategy)
    before = len(context.problems)
    values: dict[str, object] = {}
    for name, located in choice.options.items():
        if name in readers:
            values[name] = readers[name](located)
        elif name in known:
            _read_option(choice, name, located, values, context)
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


def _where_to_say(choice: StrategyChoice, option: str) -> str:
    """How to give an option that a name alone, on the command line or in Python, cannot have."""
    word = _WORDS.get(choice.kind)
    if word is None or choice.location.line is not None:
        return ""
    return f"Write {word}: {choice.name} with {option}: [...] in a rules file."


def build_comparator(choice: StrategyChoice, context: Context) -> Comparator | None:
    """The comparator of a choice."""
    return cast("Comparator | None", build(choice, context))


def build_aligner(choice: StrategyChoice, context: Context) -> Aligner | None:
    """The aligner of a choice."""
    return cast("Aligner | None", build(choice, context))


def read_provider(located: Located, context: Context) -> Provider | None:
    """The provider that a configuration names, with the scores that its file holds."""
    choice = choose(Plugin.PROVIDERS, with_scores(located, context), context)
    return None if choice is None else cast("Provider | None", build(choice, context))


def _made(choice: StrategyChoice, values: Mapping[str, object], context: Context) -> object | None:
    try:
        return registry.made(choice.strategy, values)
    except OptionError as error:
        place = choice.options.get(error.option)
        where = choice.location if place is None else place.location
        context.problems.add(f"{error.option}: {error.message}.", where)
        return None


def _read_option(
    choice: StrategyChoice, name: str, located: Located, values: dict[str, object], context: Context
) -> None:
    option = registry.options(choice.strategy)[name]
    if _wants_provider(option):
        values[name] = read_provider(located, context)
        return
    values[name] = checked(located, name, option.type, context)


def _wants_provider(option: registry.Option) -> bool:
    return option.type is Provider or Provider in get_args(option.type)


def _unknown_name(kind: Plugin, named: Located, context: Context) -> None:
    valid = registry.names(kind)
    word = str(named.value)
    listed = f"Valid types: {', '.join(valid)}."
    hint = f"{listed} {did_you_mean(word, valid)}".rstrip()
    context.problems.add(f"Invalid {kind.noun}: {word}.", named.location, hint)


def _unknown_option(choice: StrategyChoice, name: str, context: Context) -> None:
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


FUZZY_THRESHOLD: Final = 0.85
SEMANTIC_THRESHOLD: Final = 0.80


def strategy(word: str, provider: Provider | None = None) -> Comparator | None:
    """The comparator of a strategy word in any case, or nothing if it is no strategy word."""
    made = STRATEGIES.get(word.strip().upper())
    return None if made is None else made(provider)


def _fuzzy(provider: Provider | None) -> Comparator:
    # Words in common and vectors say nothing of spelling; whoever reads is asked about it.
    if provider is None or is_guarded(provider):
        return Fuzzy(threshold=FUZZY_THRESHOLD)
    of_form = getattr(provider, "of_form", None)
    asked = cast("Provider", of_form()) if callable(of_form) else provider
    return Semantic(provider=asked, threshold=FUZZY_THRESHOLD)


def _semantic(provider: Provider | None) -> Comparator:
    if provider is None:
        return Semantic(threshold=SEMANTIC_THRESHOLD)
    return Semantic(provider=provider, threshold=SEMANTIC_THRESHOLD)


STRATEGIES: Final[Mapping[str, Callable[[Provider | None], Comparator]]] = {
    "EXACT": lambda _: ExactText(),
    "FUZZY": _fuzzy,
    "SEMANTIC": _semantic,
    "IGNORE": lambda _: Ignore(),
}


_OPTION: Final = "cwd"


def with_working_folder(choice: StrategyChoice, context: Context) -> StrategyChoice:
    """The choice with the folder of the configuration, if it takes one and names none."""
    if context.folder is None or _OPTION not in registry.options(choice.strategy):
        return choice
    here = Located(value=".", location=choice.location)
    return replace(choice, options={_OPTION: here, **choice.options})


def with_scores(located: Located, context: Context) -> Located:
    """The provider's settings with the content of its `file` in place of the name."""
    named = located.entries.get("file")
    scores = None if named is None else contents_of(named, "file", context)
    if named is None or scores is None:
        return located
    entries = {key: value for key, value in located.entries.items() if key != "file"}
    entries["scores"] = scores
    return Located(
        value={key: value.value for key, value in entries.items()},
        location=located.location,
        entries=entries,
        keys={**located.keys, "scores": named.location},
    )
