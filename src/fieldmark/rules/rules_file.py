"""Read rules from files and from Python, in all supported forms.

The native form is an object with settings and `fields`: a list of settings, each with a path, or a
mapping. The keys of a mapping are paths, or it has the structure of a document; its values are
settings or words, as in `{"total": {"match": "numeric_tolerance"}, "vendor": {"city": "EXACT"}}`.
A list or a mapping alone is also valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any, Final, cast

from fieldmark import registry
from fieldmark.compare.exact import Exact, NormalizedText
from fieldmark.compare.function import normalized_by
from fieldmark.compare.provider_lookup import for_field
from fieldmark.compare.wrappers import AnyOf, Tokens
from fieldmark.errors import Location, with_hint
from fieldmark.metrics.conventions import CONVENTIONS, DEFAULT_CONVENTION, Convention
from fieldmark.model.alignment import Aligner
from fieldmark.model.comparison import Comparator, Provider
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.rule import Depth, Rule, Rules, Scope
from fieldmark.python_function import PythonFunction
from fieldmark.registry import Plugin
from fieldmark.rules.calibration import (
    CALIBRATED,
    CALIBRATED_OPTIONS,
    CALIBRATION,
    with_calibrated_thresholds,
)
from fieldmark.rules.config_files import load_file
from fieldmark.rules.config_values import Code, Context, LoadedRules, Located, Problems, locate
from fieldmark.rules.option_types import (
    ConfigKey,
    KeyTable,
    expect_object,
    read_option,
    ref,
    summary_of,
)
from fieldmark.rules.scoring import (
    CONFIDENCE,
    CONFIDENCE_KEYS,
    LIMIT_KEYS,
    read_convention,
    read_gates,
)
from fieldmark.rules.strategy_builder import (
    FUNCTION_SCHEMA,
    STRATEGIES,
    STRATEGY_KEYS,
    StrategyChoice,
    build,
    build_aligner,
    build_comparator,
    choose,
    names_function,
    read_comparator,
    read_function,
    read_provider,
    strategies_with,
)
from fieldmark.values.annotations import NonNegativeFloat, Share
from fieldmark.values.json_text import read_json, strict_json
from fieldmark.values.paths import (
    PathError,
    PathLimitError,
    append_path,
    parse_configured_path,
    path_key,
)
from fieldmark.values.text import did_you_mean
from fieldmark.values.value_types import any_of, describe

AUTO: Final = "auto"

WEIGHT: Final[ConfigKey[float]] = ConfigKey(
    "weight", NonNegativeFloat, "The weight of the field in a weighted average.", default=1
)
_REQUIRED: Final = ConfigKey(
    "required", bool, "Whether a missing value is a miss (field_accuracy).", default=True
)
_ANY_OF: Final = ConfigKey(
    "any_of", bool, "Whether the expected value is a list of acceptable values.", default=False
)


class _Counted(StrEnum):
    """What of a field is counted: the field, or each word of its text."""

    FIELDS = "fields"
    TOKENS = "tokens"


_COUNT: Final[ConfigKey[_Counted]] = ConfigKey(
    "count",
    _Counted,
    "What is counted: the field, or the words of its text (tokens), with match exact or "
    "normalized_text.",
    default=_Counted.FIELDS,
)
NORMALIZE: Final[ConfigKey[PythonFunction | None]] = ConfigKey(
    "normalize",
    description="A Python function that changes both values before they are compared.",
    schema=FUNCTION_SCHEMA,
    reader=lambda located, context: read_function(located, "normalize", context),
)
_DESCRIPTION: Final = ConfigKey(
    "description", str, "The meaning of the field, for language models that compare it.", default=""
)
CALIBRATION_KEY: Final[ConfigKey[str | None]] = ConfigKey(
    CALIBRATION, str, "The file of `fieldmark calibrate measure --out` for a calibrated threshold."
)
FIELD_KEYS: Final = KeyTable(
    ConfigKey(
        "path", str, 'The path of the field: dots, [n], ["quoted.key"]; patterns with [*] and **.'
    ),
    ConfigKey("match", description="The comparator.", schema=ref("match")),
    ConfigKey("align", description="How the items of a list are aligned.", schema=ref("align")),
    WEIGHT,
    _REQUIRED,
    _ANY_OF,
    _COUNT,
    NORMALIZE,
    _DESCRIPTION,
    CALIBRATION_KEY,
)
STRICT: Final = ConfigKey(
    "strict",
    bool,
    "Whether an invalid path, or a required path that no document has, is an error.",
    default=False,
)
PROVIDER: Final[ConfigKey[Provider | None]] = ConfigKey(
    "provider", schema=ref("provider"), reader=read_provider
)
"""Keys that rules files and evaluators share."""
_NOT_BESIDE_ALIGN: Final = {
    "match": "match compares the list as one value, align compares its items; use one of them",
    "any_of": "any_of treats the list as acceptable values, align compares its items",
    "count": "set count for the fields of the items",
    "normalize": "set normalize for the fields of the items",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDefaults:
    """The defaults for fields without their own settings."""

    match: StrategyChoice | None = None
    comparator: Comparator | None = None
    aligner: Aligner | None = None


NO_DEFAULTS: Final = FieldDefaults()


# --- fields ---------------------------------------------------------------------------------------


def read_fields(
    fields: Iterable[Located], context: Context, defaults: FieldDefaults = NO_DEFAULTS
) -> tuple[Rule, ...]:
    """Read the rules of a list of fields."""
    rules: list[Rule | None] = []
    for located in fields:
        hint = "for example {path: total, match: exact}"
        if not expect_object(located, "field", context, hint):
            continue
        path = located.get("path")
        if path is None:
            context.add("'path' is required", located.location)
            path = Located(value=None, location=located.location)
        elif not isinstance(path.value, str):
            read_option(path, "path", str, context)
        rules.append(_rule(path.value, path.location, located, context, defaults))
    return _without_duplicates(rules, context)


def _rule(
    path: object, location: Location, settings: Located, context: Context, defaults: FieldDefaults
) -> Rule | None:
    """Build the rule for a path; `None` if the path is not a string."""
    comparator: Comparator | None = None
    aligner: Aligner | None = None
    options = [key for key in settings.entries if key not in FIELD_KEYS.names]
    normalize: PythonFunction | None = None
    if isinstance(settings.value_of(NORMALIZE.name), bool):
        options.append(NORMALIZE.name)  # the option of a comparator
    else:
        normalize = NORMALIZE.read(settings, context)
    if CALIBRATION in settings.entries:
        options.append(CALIBRATION)
    any_of = _ANY_OF.read(settings, context)
    if "align" in settings.entries:
        for key, reason in _NOT_BESIDE_ALIGN.items():
            if key in settings.entries:
                message = f"{key} and align cannot be combined"
                context.add(message, settings.key_location(key), reason)
        choice = choose(Plugin.ALIGNERS, settings.entries["align"], context)
        aligner = build_aligner(_with_options(choice, settings, options, context), context)
    else:
        choice, default = None, defaults.match
        if "match" in settings.entries:
            choice = choose(Plugin.COMPARATORS, settings.entries["match"], context)
            if choice and default and default.name == choice.name and not choice.options:
                choice = default
        elif default is None:
            for option in options:
                _refuse_option_without_strategy(option, settings, context)
        elif options:
            choice = default
        comparator = build_comparator(_with_options(choice, settings, options, context), context)
        if normalize is not None:
            inner = comparator or defaults.comparator or Exact()
            comparator = normalized_by(normalize, inner)
        if _COUNT.read(settings, context) is _Counted.TOKENS:
            inner = comparator or defaults.comparator or Exact()
            if isinstance(inner, Exact | NormalizedText) and not any_of:
                comparator = Tokens(inner=inner)
            else:
                what = "any_of" if any_of else f"match: {inner.name}"
                context.add(
                    f"count: tokens cannot be combined with {what}",
                    settings.key_location("count"),
                    "words are compared by match: exact or normalized_text",
                )
        if any_of:
            comparator = AnyOf(inner=comparator or defaults.comparator or Exact())
    weight = WEIGHT.read(settings, context)
    required = _REQUIRED.read(settings, context)
    description = _DESCRIPTION.read(settings, context)
    if not isinstance(path, str):
        return None
    comparator = for_field(comparator, path, description)
    _check_path(path, location, context)
    return Rule(
        path=path,
        comparator=comparator,
        aligner=aligner,
        weight=float(weight),
        required=required,
        strict=context.strict,
        location=location,
    )


def _check_path(path: str, location: Location, context: Context) -> None:
    """Warn about an invalid path; with `strict`, or if it is too long, record a problem."""
    try:
        parse_configured_path(path)
    except PathLimitError as error:
        context.add(error.message, location, "no document has such a path")
    except PathError as error:
        record = context.add if context.strict else context.warn
        record(error.message, location, "it matches no field")


def _without_duplicates(rules: Iterable[Rule | None], context: Context) -> tuple[Rule, ...]:
    """Return the valid rules; a duplicate path is a problem."""
    valid = tuple(rule for rule in rules if rule is not None)
    context.problems.add_duplicates(
        ((rule.path, rule.location) for rule in valid), "path", key=path_key
    )
    return valid


def _with_options(
    choice: StrategyChoice | None, settings: Located, options: list[str], context: Context
) -> StrategyChoice | None:
    """Add the options next to a strategy; keys that no strategy supports are problems."""
    if choice is None:
        return None
    known = registry.options(choice.strategy)
    taken: list[str] = []
    for option in options:
        if option in (*known, CALIBRATION) or strategies_with(option, *STRATEGY_KEYS.values()):
            taken.append(option)
        else:
            hint = did_you_mean(option, [*FIELD_KEYS.names, *known])
            context.add(f"unknown key {option!r}", settings.key_location(option), hint)
    return choice.with_options(settings, taken)


def _refuse_option_without_strategy(option: str, settings: Located, context: Context) -> None:
    location = settings.key_location(option)
    if option == CALIBRATION:
        context.add(f"{CALIBRATION} requires match and threshold: calibrated", location)
        return
    known: dict[str, object] = {}
    for kind in STRATEGY_KEYS.values():
        owners = strategies_with(option, kind)
        if owners:
            hint = f"it is an option of: {', '.join(owners)}"
            message = f"option {option!r} requires {kind.article} {kind.noun}"
            context.add(message, location, hint)
            return
        for _, strategy in registry.strategies(kind):
            known.update(registry.options(strategy))
    hint = did_you_mean(option, [*FIELD_KEYS.names, *known])
    context.add(f"unknown key {option!r}", location, hint)


# --- defaults -------------------------------------------------------------------------------------


def read_defaults(located: Located | None, context: Context) -> FieldDefaults:
    """Read the default comparator and aligner, with the options next to their names."""
    if located is None:
        return NO_DEFAULTS
    if not isinstance(located.value, dict):
        message = f"defaults: expected an object, got {describe(located.value)}"
        context.add(message, located.location, "for example {match: exact}")
        return NO_DEFAULTS
    choices = {
        key: choice
        for key, kind in STRATEGY_KEYS.items()
        if key in located.entries
        and (choice := choose(kind, located.entries[key], context)) is not None
    }
    for option in [key for key in located.entries if key not in STRATEGY_KEYS]:
        location = located.key_location(option)
        known = {key: registry.options(choice.strategy) for key, choice in choices.items()}
        needed = "threshold" if option == CALIBRATION else option
        taking = [key for key, options in known.items() if needed in options]
        if len(taking) == 1:
            choices[taking[0]] = choices[taking[0]].with_options(located, [option])
        elif taking:
            hint = f"use match: {{type: …, {option}: …}} or align: {{type: …, {option}: …}}"
            context.add(f"option {option!r} fits both match and align", location, hint)
        elif owners := strategies_with(option, *STRATEGY_KEYS.values()):
            hint = f"it is an option of: {', '.join(owners)}"
            context.add(f"option {option!r} is not supported in the defaults", location, hint)
        else:
            hint = did_you_mean(option, [*STRATEGY_KEYS, *chain(*known.values())])
            context.add(f"unknown key {option!r}", location, hint)
    if "align" in choices and choices["align"].name == "entries":
        message = "align: entries is not supported in the defaults"
        hint = "set it next to the path of an object that is used as a map"
        context.add(message, located.key_location("align"), hint)
    return FieldDefaults(
        match=choices.get("match"),
        comparator=build_comparator(choices.get("match"), context),
        aligner=build_aligner(choices.get("align"), context),
    )


# --- rules by path --------------------------------------------------------------------------------


def read_by_path(
    located: Located, context: Context, defaults: FieldDefaults = NO_DEFAULTS
) -> tuple[Rule, ...]:
    """Read the rules of a mapping from paths to settings or words."""
    rules: list[Rule | None] = []
    for path, location, leaf in _leaves(located, ""):
        word = leaf.value
        if isinstance(word, dict) and leaf.entries:
            if "path" in leaf.entries:
                message = "'path' is not allowed in a mapping of paths"
                hint = did_you_mean(path.partition("[")[0], RULES_KEYS.names)
                context.add(message, leaf.key_location("path"), hint)
            rules.append(_rule(path, location, leaf, context, defaults))
            continue
        if not isinstance(word, str):
            hint = f"must be one of: {', '.join(STRATEGIES)}"
            context.add(f"expected a strategy, got {describe(word)}", leaf.location, hint)
            continue
        name = _strategy_name(word)
        if name not in STRATEGIES and registry.canonical(Plugin.COMPARATORS, name) is None:
            names = STRATEGIES if word.isupper() else [name.lower() for name in STRATEGIES]
            hint = with_hint(f"must be one of: {', '.join(STRATEGIES)}", did_you_mean(word, names))
            context.add(f"unknown strategy {word!r}", leaf.location, hint)
            continue
        settings = leaf.with_entries({"match": leaf._replace(value=name)})
        rules.append(_rule(path, location, settings, context, defaults))
    return _without_duplicates(rules, context)


def _strategy_name(word: str) -> str:
    """Return the word in upper case if it is a strategy; without options, case is ignored."""
    name = word.strip().upper()
    return name if name in STRATEGIES else word


def _is_settings(located: Located) -> bool:
    """Whether an object contains the settings of a field rather than nested fields."""
    settings = located.entries
    if any(
        key in settings
        and (isinstance(settings[key].value, str | dict) or callable(settings[key].value))
        for key in STRATEGY_KEYS
    ):
        return True
    if NORMALIZE.name in settings and names_function(settings[NORMALIZE.name]):
        return True
    if _COUNT.name in settings and settings[_COUNT.name].value in list(_Counted):
        return True
    return bool(settings) and all(
        key in FIELD_KEYS.names and not isinstance(inner.value, str | dict | list)
        for key, inner in settings.items()
    )


def _strategy_words(located: Located) -> Iterator[str]:
    """Yield the strategy words of a mapping."""
    for inner in located.entries.values():
        if isinstance(inner.value, str):
            yield inner.value
        elif not _is_settings(inner):
            yield from _strategy_words(inner)
        elif isinstance(word := inner.value_of("match"), str) and word in STRATEGIES:
            yield word
    for item in located.items:
        yield from _strategy_words(item)


def uses_strategies(located: Located) -> bool:
    """Whether a mapping uses the words of strategy files."""
    return any(word.strip().upper() in STRATEGIES for word in _strategy_words(located))


def _leaves(located: Located, path: str) -> Iterator[tuple[str, Location, Located]]:
    """Yield the path, the location, and the word or settings of each leaf of a mapping."""
    for key, below in located.entries.items():
        joined = append_path(path, key)
        inner = below
        while len(inner.items) == 1:
            inner, joined = inner.items[0], f"{joined}[*]"
        if isinstance(inner.value, dict) and inner.entries and not _is_settings(inner):
            yield from _leaves(inner, joined)
        else:
            yield joined, located.key_location(key), inner


# --- rules ----------------------------------------------------------------------------------------

_SCOPE: Final[ConfigKey[Scope | None]] = ConfigKey("scope", Scope, summary_of(Scope))
_DEPTH: Final[ConfigKey[Depth | None]] = ConfigKey("depth", Depth, summary_of(Depth))
_EMPTY_TOKENS: Final[ConfigKey[frozenset[str]]] = ConfigKey(
    "empty_tokens", frozenset[str], "Strings that are treated as blank.", default=frozenset()
)
_EMPTY_CONTAINERS: Final[ConfigKey[bool | None]] = ConfigKey(
    "empty_containers", bool, "Whether [] and {} are treated as blank."
)
_EMPTY_BLANKS: Final[ConfigKey[bool | None]] = ConfigKey(
    "empty_blanks", bool, "Whether a string of only whitespace is blank."
)
# Like STRICT, but without a default in the schema.
_STRICT: Final[ConfigKey[bool | None]] = ConfigKey("strict", bool, STRICT.description)
CONVENTION: Final[ConfigKey[Convention | None]] = ConfigKey(
    "convention", schema=ref("convention"), reader=read_convention
)
THRESHOLDS: Final[Mapping[str, ConfigKey[float | None]]] = {
    name: ConfigKey(
        f"{name}_threshold", Share, f"The threshold of {name} comparisons without their own."
    )
    for name in ("fuzzy", "semantic")
}
"""File-level thresholds, by the strategy that they apply to."""
_GATES: Final[ConfigKey[Any]] = ConfigKey("gates", schema=LIMIT_KEYS.to_schema)
SAFETY: Final[ConfigKey[object | None]] = ConfigKey(
    "safety",
    schema=ref("safety"),
    reader=lambda located, context: build(choose(Plugin.SAFETY, located, context), context),
)
"""The key of the safety judge."""


def _is_number(located: Located) -> bool:
    return isinstance(located.value, int | float) and not isinstance(located.value, bool)


def _is_confidence(located: Located) -> bool:
    """Whether a value says how confidences are read, and not how a field `confidence` is."""
    named = bool(located.entries) and located.entries.keys() <= set(CONFIDENCE_KEYS.names)
    return isinstance(located.value, bool) or (named and not uses_strategies(located))


def _names_convention(located: Located) -> bool:
    name = located.value_of("name") if located.entries else located.value
    return isinstance(name, str) and name.replace("-", "_") in CONVENTIONS


_SHARED: Final[Mapping[ConfigKey[Any], Callable[[Located], bool]]] = {
    CONVENTION: _names_convention,
    _DEPTH: lambda located: located.value in set(Depth),
    **dict.fromkeys(THRESHOLDS.values(), _is_number),
    _GATES: lambda located: (
        bool(located.entries)
        and all(
            key in LIMIT_KEYS.names and all(map(_is_number, limits.entries.values()))
            for key, limits in located.entries.items()
        )
    ),
    SAFETY: lambda located: (
        "type" in located.entries or located.value in registry.names(Plugin.SAFETY)
    ),
}
"""Keys that mappings of paths may also have, with the values that identify them."""
SHARED_KEYS: Final = KeyTable(*_SHARED)
_NATIVE_FORM: Final[Mapping[ConfigKey[Any], Callable[[Located], bool]]] = {
    _SCOPE: lambda located: located.value in set(Scope),
    **_SHARED,
    ConfigKey("defaults", schema=ref("defaults")): _is_settings,
    ConfigKey("fields", schema=ref("fields")): lambda located: (
        isinstance(located.value, list | dict) and not _is_settings(located)
    ),
    _EMPTY_TOKENS: lambda located: isinstance(located.value, list),
    _EMPTY_CONTAINERS: lambda located: isinstance(located.value, bool),
    _EMPTY_BLANKS: lambda located: isinstance(located.value, bool),
    _STRICT: lambda located: isinstance(located.value, bool),
    CONFIDENCE: _is_confidence,
    PROVIDER: lambda located: (
        "type" in located.entries or located.value in registry.names(Plugin.PROVIDERS)
    ),
    ConfigKey(
        "rules",
        description="Compare fields without a rule by the type of the expected value.",
        schema={"const": AUTO},
    ): lambda located: located.value == AUTO,
}
"""The keys of the native form, with the values that identify this form."""
RULES_KEYS: Final = KeyTable(*_NATIVE_FORM)


def load_rules(
    path: Path | str, *, provider: Provider | None = None, code: Code = Code.REFUSE
) -> LoadedRules:
    """Load a rules file in YAML or JSON; the error lists all problems."""
    context = Context(directory=Path(path).parent, provider=provider, code=code)
    return loaded_rules(load_file(path), context)


def read_rules(
    value: object,
    *,
    file: str = "",
    provider: Provider | None = None,
    code: Code = Code.REFUSE,
) -> LoadedRules:
    """Read rules given in Python: a mapping, a list of fields, or `"auto"`.

    >>> read_rules({"paid": {"match": "boolean"}}).rules.fields[0].comparator
    Boolean()
    """
    context = Context(provider=provider, code=code)
    located = locate(value, context.problems, file=file)
    context.problems.raise_any()
    return loaded_rules(located, context)


def loaded_rules(located: Located, context: Context) -> LoadedRules:
    """Read the rules of a file; the error lists all problems."""
    loaded = rules_of(located, context)
    context.problems.raise_any()
    source = _source(located.value, context.directory)
    return replace(loaded, warnings=context.problems.warnings, source=source)


def _source(value: object, directory: Path | None) -> JsonObject | None:
    """Return valid rules as JSON without models, which belong to the environment, not to rules.

    Rules that contain Python functions cannot be stored.
    """
    try:
        stored = read_json(strict_json(value))
    except (TypeError, ValueError):
        return None
    form = native_form(stored)
    settings = {
        name: value for name, value in form.items() if name not in (PROVIDER.name, SAFETY.name)
    }
    return cast("JsonObject", with_calibrated_thresholds(settings, directory or Path()))


def rules_of(located: Located, context: Context) -> LoadedRules:
    """Read rules in any form; problems are added to the context."""
    settings, fields = _split(located)
    if fields is None and "provider" in located.entries:
        context = replace(context, provider=PROVIDER.read(located, context))
    context = with_thresholds(settings, context)
    convention = CONVENTION.read(settings, context)
    gates, _ = read_gates(
        settings.get(_GATES.name), convention or DEFAULT_CONVENTION, None, context
    )
    if fields is None:
        rules = _rules(located, context)
    else:
        default = _auto(context) if uses_strategies(fields) else None
        rules = Rules(
            fields=read_by_path(fields, context),
            depth=_DEPTH.read(settings, context),
            default=default,
        )
    return LoadedRules(
        rules=rules,
        provider=context.provider,
        thresholds=context.thresholds,
        convention=convention,
        gates=gates,
        safety=SAFETY.read(settings, context),
        confidence=CONFIDENCE.read(located, context) if fields is None else None,
    )


def with_thresholds(located: Located, context: Context) -> Context:
    """Return the context with the thresholds of a file."""
    values = {name: key.read(located, context) for name, key in THRESHOLDS.items()}
    own = {name: float(value) for name, value in values.items() if value is not None}
    return replace(context, thresholds={**context.thresholds, **own})


def _split(located: Located) -> tuple[Located, Located | None]:
    """Return the settings of a file, and its fields if it is a mapping of paths."""
    shared = {
        key.name: located.entries[key.name]
        for key, fits in _SHARED.items()
        if key.name in located.entries and fits(located.entries[key.name])
    }
    others = {key: inner for key, inner in located.entries.items() if key not in shared}
    fields = located.with_entries(others)
    if not others or not _is_by_path(fields):
        return located, None
    return located.with_entries(shared), fields


def _rules(located: Located, context: Context) -> Rules:
    if located.value == AUTO:
        return Rules(default=_auto(context))
    if isinstance(located.value, list):
        return Rules(fields=_read_list(located, context))
    if not isinstance(located.value, dict):
        hint = "rules are an object with the key 'fields', or a list of fields"
        context.add(f"expected rules, got {describe(located.value)}", located.location, hint)
        return Rules()
    RULES_KEYS.refuse_unknown(located, context)
    context = replace(context, strict=_STRICT.read(located, context) or context.strict)
    defaults = read_defaults(located.get("defaults"), context)
    fields: tuple[Rule, ...] = ()
    if listed := located.get("fields"):
        if listed.entries:
            fields = read_by_path(listed, context, defaults)
        elif isinstance(listed.value, list):
            fields = _read_list(listed, context, defaults)
        else:
            context.add(f"fields: expected a list, got {describe(listed.value)}", listed.location)
    scope = _SCOPE.read(located, context)
    if scope is Scope.CONFIGURED and "fields" not in located.entries:
        message = "scope: 'configured' requires 'fields'"
        context.add(message, located.entries["scope"].location)
    return Rules(
        fields=fields,
        scope=scope,
        depth=_DEPTH.read(located, context),
        empty_tokens=_EMPTY_TOKENS.read(located, context),
        default=defaults.comparator or _default(located, context),
        aligner=defaults.aligner,
        empty_containers=_EMPTY_CONTAINERS.read(located, context) is True,
        empty_blanks=_EMPTY_BLANKS.read(located, context) is not False,
        strict=context.strict,
    )


def _is_by_path(located: Located) -> bool:
    entries = located.entries
    if any(key.name in entries and fits(entries[key.name]) for key, fits in _NATIVE_FORM.items()):
        return False
    if any(map(_is_settings, entries.values())):
        return True
    known = [*(word.lower() for word in STRATEGIES), *registry.names(Plugin.COMPARATORS)]
    return any(word in known or did_you_mean(word, known) for word in _strategy_words(located))


def _read_list(
    fields: Located, context: Context, defaults: FieldDefaults = NO_DEFAULTS
) -> tuple[Rule, ...]:
    if not fields.items:
        context.add("fields must not be empty", fields.location)
    return read_fields(fields.items, context, defaults)


def _default(located: Located, context: Context) -> Comparator | None:
    """Return the `auto` comparator if it is requested or strategy words are used."""
    requested = located.get("rules")
    if requested is not None and requested.value != AUTO:
        message = f"rules: must be 'auto', got {describe(requested.value)}"
        context.add(message, requested.location)
    fields = located.get("fields")
    uses_words = fields is not None and bool(fields.entries) and uses_strategies(fields)
    return _auto(context) if requested is not None or uses_words else None


def _auto(context: Context) -> Comparator | None:
    return read_comparator(Located(value=AUTO), context)


def native_form(value: JsonValue) -> JsonObject:
    """Return valid rules in the native form, with a list of fields.

    >>> native_form({"vendor": {"name": "fuzzy"}, "fuzzy_threshold": 0.9})["fields"]
    [{'path': 'vendor.name', 'match': 'FUZZY'}]
    """
    located = locate(value, Problems())
    settings, fields = _split(located)
    if fields is None:
        fields = located if isinstance(value, list) else located.get("fields")
    form: JsonObject = {
        key: inner.value
        for key, inner in settings.entries.items()
        if key not in ("rules", "fields")
    }
    is_strategy_file = fields is not None and bool(fields.entries) and uses_strategies(fields)
    if value == AUTO or "rules" in settings.entries or is_strategy_file:
        own = cast("JsonObject", settings.value_of("defaults") or {})
        form["defaults"] = {"match": AUTO, **own}
    if fields is not None and fields.entries:
        rows: list[JsonValue] = []
        for path, _, leaf in _leaves(fields, ""):
            word = _strategy_name(leaf.value) if isinstance(leaf.value, str) else leaf.value
            rows.append({"path": path, **(word if isinstance(word, dict) else {"match": word})})
        form["fields"] = rows
    elif fields is not None:
        form["fields"] = fields.value
    return form


def rules_schema() -> JsonObject:
    """Describe rules in all their forms as JSON Schema."""
    native: JsonObject = {**RULES_KEYS.to_schema(), "minProperties": 1}
    fields: JsonObject = {"type": "array", "items": ref("field"), "minItems": 1}
    return any_of([native, fields, ref("by_path"), {"const": AUTO}])


# --- rules of clients -----------------------------------------------------------------------------


class RefusedRule(StrEnum):
    """What rules of clients must not contain: a model with an endpoint, or the name of a file.

    A server would call the endpoint or read the file. Functions are refused wherever rules are
    read without permission.
    """

    PROVIDER = PROVIDER.name
    SAFETY = SAFETY.name
    CALIBRATION = CALIBRATION


_LOCAL: Final = {
    RefusedRule.PROVIDER: (Plugin.PROVIDERS, frozenset({"lexical", "recorded"})),
    RefusedRule.SAFETY: (Plugin.SAFETY, frozenset({"none", "wordlist"})),
}
"""What rules of clients may select, by key."""


def find_refused_rule(rules: JsonValue) -> RefusedRule | None:
    """Return what rules contain at any depth that a client must not use, if anything."""
    pending = [rules]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            for key, (_, local) in _LOCAL.items():
                name, selected = registered_name(item, key), item.get(key)
                reads_file = isinstance(selected, dict) and "file" in selected
                if name is not None and (name not in local or reads_file):
                    return key
            # Only for such a threshold a file is read, which may be named at another depth.
            if any(item.get(option) == CALIBRATED for option in CALIBRATED_OPTIONS):
                return RefusedRule.CALIBRATION
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
    return None


def registered_name(rules: JsonObject, key: RefusedRule) -> str | None:
    """Return the registered name of a provider or judge, or None if the value names none."""
    selected = rules.get(key)
    name = selected.get("type") if isinstance(selected, dict) else selected
    return registry.canonical(_LOCAL[key][0], name) if isinstance(name, str) else None
