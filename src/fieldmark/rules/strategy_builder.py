"""Build comparators, aligners, providers and other strategies from their names and options.

A strategy is given as a name with options next to it, or as `{type: name, option: value, …}`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, cast, get_args

from fieldmark import registry
from fieldmark.compare.function import FunctionMatch
from fieldmark.errors import ConfigError, Location, MissingExtra, OptionError, with_hint
from fieldmark.model.alignment import Aligner
from fieldmark.model.comparison import Comparator, Provider
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.python_function import REFERENCE, REFERENCE_FORM, PythonFunction
from fieldmark.registry import Plugin
from fieldmark.rules.calibration import CALIBRATION, read_calibration
from fieldmark.rules.config_files import load_named, load_table
from fieldmark.rules.config_values import Code, Context, Located
from fieldmark.rules.option_types import read_option
from fieldmark.values.text import did_you_mean
from fieldmark.values.value_types import describe

# --- Python functions -----------------------------------------------------------------------------

FUNCTION_SCHEMA: Final[JsonObject] = {"type": "string", "pattern": r"^(.+\.py|[\w.]+):\w+(\.\w+)*$"}
"""The name of a function in a file."""
_NOT_ALLOWED: Final = (
    "functions in files run only with --allow-code (in Python: allow_code=True), and never over "
    "HTTP or MCP"
)


def names_function(located: Located) -> bool:
    """Whether a value is a function, or has the form of the name of one."""
    value: object = located.value
    return callable(value) or (isinstance(value, str) and ":" in value)


def read_function(located: Located, key: str, context: Context) -> PythonFunction | None:
    """Read a function; without permission, the name of a function in a file is a problem.

    Nothing is imported here: a function that a file names is loaded when a run starts.
    """
    value: object = located.value
    if callable(value):
        return PythonFunction.of(value)
    if not isinstance(value, str) or not REFERENCE.match(value):
        shown = describe(located.value)
        context.add(f"{key}: {REFERENCE_FORM}, got {shown}", located.location)
        return None
    message = f"{key}: {value!r} is a Python function"
    if context.code is Code.REFUSE:
        context.add(message, located.location, _NOT_ALLOWED)
        return None
    if context.code is Code.CHECK:
        context.warn(message, located.location, _NOT_ALLOWED)
    return PythonFunction(value, context.directory)


# --- strategies -----------------------------------------------------------------------------------

STRATEGY_KEYS: Final = {"match": Plugin.COMPARATORS, "align": Plugin.ALIGNERS}
"""The keys of a field that name a strategy; its options may be given next to it."""
_THRESHOLDS: Final = {
    "fuzzy": "fuzzy",
    "FUZZY": "fuzzy",
    "semantic": "semantic",
    "SEMANTIC": "semantic",
    "auto": "semantic",
}
"""Which threshold of a file applies to a comparator without its own."""
_TYPE: Final = "type"
_WORKING_DIRECTORY: Final = "cwd"


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyChoice:
    """The name and options of a strategy, before it is built."""

    kind: Plugin
    name: str
    strategy: type
    options: Mapping[str, Located] = field(default_factory=dict)
    location: Location = Location()

    def with_options(self, owner: Located, names: Iterable[str]) -> StrategyChoice:
        """Return the choice with more options, which override existing ones."""
        own = {name: owner.entries[name] for name in names}
        return replace(self, options={**self.options, **own})


def choose(kind: Plugin, located: Located, context: Context) -> StrategyChoice | None:
    """Return the strategy of a name or a `{type: …}` object; an unknown name is a problem.

    A comparator can also be a Python function.
    """
    named = located.entries.get(_TYPE, located)
    option_keys = [key for key in located.entries if key != _TYPE]
    if kind is Plugin.COMPARATORS and names_function(named):
        function = read_function(named, "match", context)
        if function is None:
            return None
        choice = StrategyChoice(
            kind=kind,
            name=str(function),
            strategy=FunctionMatch,
            options={"function": named._replace(value=cast("JsonValue", function))},
            location=named.location,
        )
        return choice.with_options(located, option_keys)
    if not isinstance(named.value, str):
        message = f"expected {kind.article} {kind.noun}, got {describe(named.value)}"
        context.add(message, named.location, _valid_types(kind))
        return None
    words = STRATEGIES if kind is Plugin.COMPARATORS else {}
    name = named.value if named.value in words else registry.canonical(kind, named.value)
    if name is None:
        known = words if words and named.value.isupper() else registry.names(kind)
        hint = with_hint(_valid_types(kind), did_you_mean(named.value, known))
        context.add(kind.unknown_message(named.value), named.location, hint)
        return None
    try:
        strategy = strategy_word(name) if name in words else registry.load(kind, name)
    except ConfigError as error:
        for problem in error.problems:
            context.add(problem.message, named.location, problem.hint)
        return None
    choice = StrategyChoice(kind=kind, name=name, strategy=strategy, location=named.location)
    return choice.with_options(located, option_keys)


def _valid_types(kind: Plugin) -> str:
    return f"valid types: {', '.join(registry.names(kind))}"


def build(
    choice: StrategyChoice | None,
    context: Context,
    read: Callable[[Located, str, object, Context], object | None] = read_option,
) -> object | None:
    """Build a strategy; an unsupported or missing option is a problem.

    `read` reads the value of an option, given its name and type.
    """
    if choice is None:
        return None
    known = registry.options(choice.strategy)
    before = len(context.problems)
    values: dict[str, object] = {}
    calibration = read_calibration(choice.options, known, choice.location, context)
    for name, located in choice.options.items():
        if name == CALIBRATION and name not in known:
            continue
        if calibration is not None and name == calibration.option:
            values[name] = calibration.threshold
        elif name not in known:
            _refuse_option(choice, name, context)
        elif _takes_provider(known[name]):
            values[name] = read_provider(located, context)
        else:
            values[name] = read(located, name, known[name].type, context)
    for name, option in known.items():
        if name in choice.options:
            continue
        threshold = _THRESHOLDS.get(choice.name) if name == "threshold" else None
        if _takes_provider(option) and context.provider is not None:
            values[name] = context.provider
        elif threshold is not None and threshold in context.thresholds:
            values[name] = context.thresholds[threshold]
        elif option.default is MISSING:
            hint = ""
            key = next((key for key, kind in STRATEGY_KEYS.items() if kind is choice.kind), None)
            if key is not None and choice.location.line is None:
                # On the command line and in Python, a name cannot have options next to it.
                hint = f"use a rules file with {key}: {choice.name} and {name}: [...]"
            message = f"option {name!r} is required for {choice.name}"
            context.add(message, choice.location, hint)
    if len(context.problems) > before:
        return None
    try:
        strategy = registry.create(choice.strategy, values)
        # FUZZY is one of two comparators, depending on the provider.
        by_provider = getattr(strategy, "comparator", None)
        strategy = by_provider() if callable(by_provider) else strategy
    except OptionError as error:
        option_value = choice.options.get(error.option)
        location = choice.location if option_value is None else option_value.location
        context.add(f"{error.option}: {error.message}", location)
        return None
    except MissingExtra as error:
        context.add(str(error), choice.location)
        return None
    if calibration is not None:
        calibration.check(strategy, context)
    return strategy


def _takes_provider(option: registry.Option) -> bool:
    return option.type is Provider or Provider in get_args(option.type)


def _refuse_option(choice: StrategyChoice, name: str, context: Context) -> None:
    own = list(registry.options(choice.strategy))
    location = choice.options[name].key or choice.location
    for kind in (choice.kind, *STRATEGY_KEYS.values()):
        owners = strategies_with(name, kind)
        if owners:
            options = f"supported options: {', '.join(own)}" if own else "it has no options"
            hint = f"{options}; {name!r} is an option of {kind.noun}: {', '.join(owners)}"
            context.add(f"option {name!r} is not supported by {choice.name}", location, hint)
            return
    context.add(f"unknown key {name!r}", location, did_you_mean(name, own))


def strategies_with(option: str, *kinds: Plugin) -> list[str]:
    """Return the names of the strategies of these kinds that have an option."""
    owners: list[str] = []
    for kind in kinds:
        owners += [
            name
            for name, strategy in registry.strategies(kind)
            if option in registry.options(strategy)
        ]
    return owners


def build_comparator(choice: StrategyChoice | None, context: Context) -> Comparator | None:
    """Build a comparator."""
    return cast("Comparator | None", build(choice, context))


def build_aligner(choice: StrategyChoice | None, context: Context) -> Aligner | None:
    """Build an aligner."""
    return cast("Aligner | None", build(choice, context))


def read_comparator(located: Located, context: Context) -> Comparator | None:
    """Read a comparator: its name, or an object with its type and options."""
    return build_comparator(choose(Plugin.COMPARATORS, located, context), context)


def read_provider(located: Located, context: Context) -> Provider | None:
    """Read a provider; a `file` is replaced by the recorded scores in it."""
    file = located.get("file")
    scores = None if file is None else load_named(file, "file", context, load_table)
    if file is not None and scores is not None:
        entries = {key: value for key, value in located.entries.items() if key != "file"}
        entries["scores"] = scores._replace(key=file.location)
        located = located.with_entries(entries)
    choice = choose(Plugin.PROVIDERS, located, context)
    return cast("Provider | None", build(choice, context))


def take_options(choice: StrategyChoice, owner: Located, context: Context) -> StrategyChoice:
    """Return a choice with its options from an object that may also have other keys.

    The default working directory of a program is the directory of the configuration.
    """
    options = registry.options(choice.strategy)
    known = {*options, CALIBRATION}
    choice = choice.with_options(owner, [key for key in owner.entries if key in known])
    if context.directory is None or _WORKING_DIRECTORY not in options:
        return choice
    directory = Located(value=".", location=choice.location)
    return replace(choice, options={_WORKING_DIRECTORY: directory, **choice.options})


# --- strategy words -------------------------------------------------------------------------------

STRATEGIES: Final[Mapping[str, str]] = {
    "EXACT": "fieldmark.compare.strategy_words:ExactWord",
    "FUZZY": "fieldmark.compare.strategy_words:FuzzyWord",
    "SEMANTIC": "fieldmark.compare.strategy_words:SemanticWord",
    "IGNORE": "fieldmark.compare.exact:Ignore",
}
"""The words of strategy files, and the comparators that they stand for."""


def strategy_word(word: str) -> type:
    """Return the class of a word of strategy files."""
    return registry.load_class(STRATEGIES[word], word)


def strategy_types(kind: Plugin) -> Iterator[tuple[str, type]]:
    """Yield the name and the class of every strategy of a kind, with the words for comparators."""
    yield from registry.strategies(kind)
    for word in STRATEGIES if kind is Plugin.COMPARATORS else ():
        yield word, strategy_word(word)
