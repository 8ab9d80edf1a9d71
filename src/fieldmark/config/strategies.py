"""Build comparators, aligners, providers and other strategies from their names and options.

A strategy is a name with its options beside it, or an object `{type: name, option: value, …}`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, TypeAlias, cast, get_args

from fieldmark import registry
from fieldmark.compare.exact import ExactText
from fieldmark.compare.ignore import Ignore
from fieldmark.config.context import Context
from fieldmark.config.files import load_named, load_table
from fieldmark.config.located import Located, describe
from fieldmark.config.option_types import read_option
from fieldmark.errors import ConfigError, Location, OptionError
from fieldmark.model.alignment import Aligner
from fieldmark.model.comparison import Comparator, Provider
from fieldmark.model.json import MISSING
from fieldmark.registry import Plugin
from fieldmark.values.text import did_you_mean

__all__ = [
    "STRATEGIES",
    "STRATEGY_KEYS",
    "OptionReader",
    "StrategyChoice",
    "build",
    "build_aligner",
    "build_comparator",
    "choose",
    "read_provider",
    "strategies_with",
    "strategy_from_word",
    "with_working_folder",
]

OptionReader: TypeAlias = Callable[[Located], object]
"""Reads an option that is more than a plain value."""
STRATEGY_KEYS: Final = {"match": Plugin.COMPARATORS, "align": Plugin.ALIGNERS}
"""The keys of a field that name a strategy, beside whose name its options may stand."""
_TYPE: Final = "type"
_WORKING_FOLDER: Final = "cwd"
_NO_READERS: Final[Mapping[str, OptionReader]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyChoice:
    """A strategy that a file names, with the options written for it; not built yet."""

    kind: Plugin
    name: str
    strategy: type
    options: Mapping[str, Located] = field(default_factory=dict)
    keys: Mapping[str, Location] = field(default_factory=dict)
    location: Location = Location()

    def with_options(self, owner: Located, names: Iterable[str]) -> StrategyChoice:
        """Return the choice with more options, which override those that it has."""
        own = {name: owner.entries[name] for name in names}
        if not own:
            return self
        locations = {name: owner.key_location(name) for name in own}
        return replace(self, options={**self.options, **own}, keys={**self.keys, **locations})


def choose(kind: Plugin, located: Located, context: Context) -> StrategyChoice | None:
    """Return the strategy that a name or a `{type: …}` object names; a problem if none exists."""
    named = located.entries.get(_TYPE, located)
    if not isinstance(named.value, str):
        message = f"Not {kind.article} {kind.noun}: {describe(named.value)}."
        context.add(message, named.location, _valid_types(kind))
        return None
    name = registry.canonical(kind, named.value)
    if name is None:
        hint = f"{_valid_types(kind)} {did_you_mean(named.value, registry.names(kind))}".rstrip()
        context.add(f"Invalid {kind.noun}: {named.value}.", named.location, hint)
        return None
    try:
        strategy = registry.load(kind, name)
    except ConfigError as error:
        for problem in error.problems:
            context.add(problem.message, named.location, problem.hint)
        return None
    choice = StrategyChoice(kind=kind, name=name, strategy=strategy, location=named.location)
    return choice.with_options(located, [key for key in located.entries if key != _TYPE])


def _valid_types(kind: Plugin) -> str:
    return f"Valid types: {', '.join(registry.names(kind))}."


def build(
    choice: StrategyChoice | None,
    context: Context,
    readers: Mapping[str, OptionReader] = _NO_READERS,
) -> object | None:
    """Build a strategy; a problem for every option that it cannot take.

    `readers` read the options of those names in place of `read_option`.
    """
    if choice is None:
        return None
    known = registry.options(choice.strategy)
    before = len(context.problems)
    values: dict[str, object] = {}
    for name, located in choice.options.items():
        if name in readers:
            values[name] = readers[name](located)
        elif name not in known:
            _refuse_option(choice, name, context)
        elif _takes_provider(known[name]):
            values[name] = read_provider(located, context)
        else:
            values[name] = read_option(located, name, known[name].type, context)
    for name, option in known.items():
        if name in choice.options:
            continue
        if _takes_provider(option) and context.provider is not None:
            values[name] = context.provider
        elif option.default is MISSING:
            hint = ""
            key = next((key for key, kind in STRATEGY_KEYS.items() if kind is choice.kind), None)
            if key is not None and choice.location.line is None:
                # A name on the command line or in Python has no options beside it.
                hint = f"Write {key}: {choice.name} with {name}: [...] in a rules file."
            context.add(f"{choice.name} needs the option {name}.", choice.location, hint)
    if len(context.problems) > before:
        return None
    try:
        return registry.made(choice.strategy, values)
    except OptionError as error:
        given = choice.options.get(error.option)
        location = choice.location if given is None else given.location
        context.add(f"{error.option}: {error.message}.", location)
        return None


def _takes_provider(option: registry.Option) -> bool:
    return option.type is Provider or Provider in get_args(option.type)


def _refuse_option(choice: StrategyChoice, name: str, context: Context) -> None:
    own = list(registry.options(choice.strategy))
    location = choice.keys.get(name, choice.location)
    for kind in (choice.kind, *STRATEGY_KEYS.values()):
        owners = strategies_with(name, kind)
        if owners:
            other = f"another {kind.noun}" if kind is choice.kind else f"{kind.article} {kind.noun}"
            takes = f"{choice.name} takes {', '.join(own) if own else 'no options'}"
            hint = f"{takes}; {name} belongs to {', '.join(owners)}."
            context.add(f"Option of {other}: {name}.", location, hint)
            return
    context.add(f"Unknown key: {name}.", location, did_you_mean(name, own))


def strategies_with(option: str, *kinds: Plugin) -> list[str]:
    """Return the names of the strategies of some kinds that have an option."""
    return [
        name
        for kind in kinds
        for name in registry.names(kind)
        if option in registry.options(registry.load(kind, name))
    ]


def build_comparator(choice: StrategyChoice | None, context: Context) -> Comparator | None:
    """Build a comparator."""
    return cast("Comparator | None", build(choice, context))


def build_aligner(choice: StrategyChoice | None, context: Context) -> Aligner | None:
    """Build an aligner."""
    return cast("Aligner | None", build(choice, context))


def read_provider(located: Located, context: Context) -> Provider | None:
    """Read a provider; a `file` is replaced by the recorded scores that it contains."""
    file = located.get("file")
    scores = None if file is None else load_named(file, "file", context, load_table)
    if file is not None and scores is not None:
        entries = {key: each for key, each in located.entries.items() if key != "file"}
        keys = {**located.keys, "scores": file.location}
        located = located.with_entries({**entries, "scores": scores})._replace(keys=keys)
    choice = choose(Plugin.PROVIDERS, located, context)
    return cast("Provider | None", build(choice, context))


def with_working_folder(choice: StrategyChoice, context: Context) -> StrategyChoice:
    """Let a program start in the folder of the file that names it, unless it names another."""
    if context.folder is None or _WORKING_FOLDER not in registry.options(choice.strategy):
        return choice
    folder = Located(value=".", location=choice.location)
    return replace(choice, options={_WORKING_FOLDER: folder, **choice.options})


# --- the words of field strategy files ------------------------------------------------------------

_FUZZY_THRESHOLD: Final = 0.85
_SEMANTIC_THRESHOLD: Final = 0.80


def strategy_from_word(word: str, provider: Provider | None = None) -> Comparator | None:
    """Return the comparator of a strategy word in any case, `None` if it is no such word."""
    make = STRATEGIES.get(word.strip().upper())
    return None if make is None else make(provider)


def _fuzzy(provider: Provider | None) -> Comparator:
    from fieldmark.compare.fuzzy import Fuzzy
    from fieldmark.compare.semantic import Semantic, is_guarded

    # Common words and embeddings do not measure spelling; a language model can.
    if provider is None or is_guarded(provider):
        return Fuzzy(threshold=_FUZZY_THRESHOLD)
    of_form = getattr(provider, "of_form", None)
    by_form = cast("Provider", of_form()) if callable(of_form) else provider
    return Semantic(provider=by_form, threshold=_FUZZY_THRESHOLD)


def _semantic(provider: Provider | None) -> Comparator:
    from fieldmark.compare.semantic import Semantic

    if provider is None:
        return Semantic(threshold=_SEMANTIC_THRESHOLD)
    return Semantic(provider=provider, threshold=_SEMANTIC_THRESHOLD)


STRATEGIES: Final[Mapping[str, Callable[[Provider | None], Comparator]]] = {
    "EXACT": lambda _: ExactText(),
    "FUZZY": _fuzzy,
    "SEMANTIC": _semantic,
    "IGNORE": lambda _: Ignore(),
}
"""The four words of field strategy files, and the comparators they stand for."""
