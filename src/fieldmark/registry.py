"""The registry of comparators, aligners, evaluators and other strategies that files refer to.

A built-in is a row in a table below; a plug-in is an entry point in a group such as
`fieldmark.comparators` or `fieldmark.evaluators`. Both name a class as `module:Class`, which is
imported on first use.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from keyword import iskeyword
from typing import Final, cast, get_type_hints

from fieldmark.errors import ConfigError
from fieldmark.model.alignment import Aligner
from fieldmark.model.comparison import Comparator, Provider
from fieldmark.model.json import MISSING, Missing

__all__ = [
    "Option",
    "Plugin",
    "aligner",
    "canonical",
    "comparator",
    "create",
    "load",
    "names",
    "options",
    "provider",
    "with_safety",
]


class Plugin(StrEnum):
    """The kinds of strategies that plug-ins can add."""

    COMPARATORS = "comparators"
    ALIGNERS = "aligners"
    PROVIDERS = "providers"
    EVALUATORS = "evaluators"
    TARGETS = "targets"
    SAFETY = "safety"

    @property
    def noun(self) -> str:
        """The word for one of them in messages."""
        return _NOUNS[self]

    @property
    def article(self) -> str:
        """The indefinite article of the noun."""
        return "an" if self.noun[0] in "aeiou" else "a"

    def unknown_message(self, name: str) -> str:
        """Return the message for an unknown name; that for match types is specified."""
        if self is Plugin.COMPARATORS:
            return f"Invalid match type: {name}"
        return f"unknown {self.noun} {name!r}"


_NOUNS: Final = {
    Plugin.COMPARATORS: "match type",
    Plugin.ALIGNERS: "aligner",
    Plugin.PROVIDERS: "provider",
    Plugin.EVALUATORS: "evaluator type",
    Plugin.TARGETS: "target",
    Plugin.SAFETY: "safety judge",
}

_SAFE: Final[Mapping[str, str]] = {
    "response_quality": "fieldmark.judges.safety:SafeResponseQuality",
}
"""Evaluators that accept a safety judge, and the class that combines the two."""

_BUILT_IN: Final[Mapping[Plugin, Mapping[str, str]]] = {
    Plugin.COMPARATORS: {
        "exact": "fieldmark.compare.exact:Exact",
        "exact_text": "fieldmark.compare.exact:ExactText",
        "normalized_text": "fieldmark.compare.exact:NormalizedText",
        "numeric_tolerance": "fieldmark.compare.numeric:NumericTolerance",
        "date": "fieldmark.compare.date:DateMatch",
        "fuzzy": "fieldmark.compare.fuzzy:Fuzzy",
        "semantic": "fieldmark.compare.semantic:Semantic",
        "money": "fieldmark.compare.money:Money",
        "identifier": "fieldmark.compare.identifier:Identifier",
        "name": "fieldmark.compare.token_sets:Name",
        "address": "fieldmark.compare.token_sets:Address",
        "email": "fieldmark.compare.email:Email",
        "phone": "fieldmark.compare.phone:Phone",
        "url": "fieldmark.compare.url:Url",
        "boolean": "fieldmark.compare.boolean:Boolean",
        "set": "fieldmark.compare.sets:SetMatch",
        "contains": "fieldmark.compare.contains:Contains",
        "regex": "fieldmark.compare.regex:Regex",
        "iou": "fieldmark.compare.iou:Iou",
        "distance": "fieldmark.compare.distance:Distance",
        "ignore": "fieldmark.compare.ignore:Ignore",
        "auto": "fieldmark.compare.auto:Auto",
    },
    Plugin.ALIGNERS: {
        "index": "fieldmark.align.index:Index",
        "greedy": "fieldmark.align.greedy:Greedy",
        "optimal": "fieldmark.align.optimal:Optimal",
        "key": "fieldmark.align.key:Key",
        "set": "fieldmark.align.sets:SetAlign",
        "whole": "fieldmark.align.whole:Whole",
        "entries": "fieldmark.align.entries:Entries",
    },
    Plugin.PROVIDERS: {
        "lexical": "fieldmark.compare.providers:Lexical",
        "recorded": "fieldmark.compare.providers:Recorded",
        "openai": "fieldmark.judges.providers.openai:OpenAi",
        "openai_embeddings": "fieldmark.judges.providers.openai:OpenAiEmbeddings",
        "model2vec": "fieldmark.judges.providers.model2vec:Model2Vec",
        "python": "fieldmark.judges.providers.python:PythonProvider",
    },
    Plugin.EVALUATORS: {
        "field_accuracy": "fieldmark.evaluators.configured_fields:FieldAccuracy",
        "field_confusion": "fieldmark.evaluators.configured_fields:FieldConfusion",
        "line_items": "fieldmark.evaluators.line_items:LineItems",
        "extraction_metrics": "fieldmark.evaluators.extraction_metrics:ExtractionMetrics",
        "response_quality": "fieldmark.evaluators.response_quality:ResponseQuality",
        "iou_score": "fieldmark.evaluators.geometry:IouScore",
        "coordinate_distance": "fieldmark.evaluators.geometry:CoordinateDistance",
        "detection_ap": "fieldmark.evaluators.detection_ap:DetectionAp",
        "json_schema": "fieldmark.evaluators.json_schema:JsonSchema",
        "constraints": "fieldmark.evaluators.constraints:Constraints",
        "composite": "fieldmark.evaluators.composite:Composite",
        "code_judge": "fieldmark.judges.code_judge:CodeJudge",
        "llm_judge": "fieldmark.judges.llm_judge:LlmJudge",
    },
    Plugin.TARGETS: {
        "command": "fieldmark.run.targets.command:CommandTarget",
        "python": "fieldmark.run.targets.python:PythonTarget",
        "http": "fieldmark.run.targets.http:HttpTarget",
        "chat": "fieldmark.run.targets.chat:ChatTarget",
    },
    Plugin.SAFETY: {
        "none": "fieldmark.judges.safety:NoSafety",
        "wordlist": "fieldmark.judges.safety:WordlistSafety",
        "llm": "fieldmark.judges.safety:LlmSafety",
    },
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option of a strategy: its annotated type and its default, `MISSING` if required."""

    name: str
    type: object
    default: object | Missing = MISSING


def names(kind: Plugin) -> tuple[str, ...]:
    """Return all names of a kind, built-ins first.

    >>> names(Plugin.PROVIDERS)[:2]
    ('lexical', 'recorded')
    """
    return tuple(_table(kind))


def canonical(kind: Plugin, name: str) -> str | None:
    """Return the registered spelling of a name, or `None` if it is not registered.

    >>> canonical(Plugin.COMPARATORS, "numeric-tolerance")
    'numeric_tolerance'
    """
    table = _table(kind)
    if name in table:
        return name
    spelled = name.replace("-", "_")
    return spelled if spelled in table else None


def load(kind: Plugin, name: str) -> type:
    """Return the class that is registered under a name."""
    found = canonical(kind, name)
    if found is None:
        valid = ", ".join(names(kind))
        raise ConfigError.of(kind.unknown_message(name), hint=f"valid types: {valid}")
    return _load(_table(kind)[found], found)


def comparator(name: str) -> type[Comparator]:
    """Return the comparator with this name."""
    return cast("type[Comparator]", load(Plugin.COMPARATORS, name))


def aligner(name: str) -> type[Aligner]:
    """Return the aligner with this name."""
    return cast("type[Aligner]", load(Plugin.ALIGNERS, name))


def provider(name: str) -> type[Provider]:
    """Return the provider with this name."""
    return cast("type[Provider]", load(Plugin.PROVIDERS, name))


def with_safety(name: str) -> type | None:
    """Return the class that combines an evaluator with a safety judge, or `None`.

    >>> with_safety("field_accuracy") is None
    True
    """
    return _load(_SAFE[name], name) if name in _SAFE else None


@cache
def options(strategy: type) -> Mapping[str, Option]:
    """Return the options of a strategy, in the order of its dataclass fields."""
    hints = get_type_hints(strategy)
    return {
        name: Option(name=name, type=hints[field.name], default=_default(field))
        for name, field in _fields(strategy).items()
    }


def create(strategy: type, values: Mapping[str, object]) -> object:
    """Create a strategy from option values, by the names that the options have in files."""
    fields = _fields(strategy)
    return cast("object", strategy(**{fields[name].name: each for name, each in values.items()}))


def _fields(strategy: type) -> dict[str, dataclasses.Field[object]]:
    """Return the fields of a strategy by the names of its options.

    The field of an option that is a keyword, such as `class`, ends with an underscore.
    """
    found: dict[str, dataclasses.Field[object]] = {}
    for field in dataclasses.fields(strategy):
        if field.init:
            word = field.name.removesuffix("_")
            found[word if iskeyword(word) else field.name] = field
    return found


def _default(field: dataclasses.Field[object]) -> object | Missing:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return MISSING


@cache
def _table(kind: Plugin) -> Mapping[str, str]:
    table: dict[str, str] = {}
    for name, target in _registrations(kind):
        if table.setdefault(name, target) != target:
            raise ConfigError.of(
                f"duplicate plug-in {name!r}: {table[name]} and {target}",
                hint="uninstall one of the two packages",
            )
    return table


def _registrations(kind: Plugin) -> Iterator[tuple[str, str]]:
    from importlib.metadata import entry_points  # slow to import, and not always needed

    yield from _BUILT_IN[kind].items()
    for point in sorted(entry_points(group=f"fieldmark.{kind}")):
        yield point.name.replace("-", "_"), point.value


@cache
def _load(target: str, name: str) -> type:
    module, _, attribute = target.partition(":")
    try:
        strategy = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError.of(f"cannot load plug-in {name!r} ({target}): {error}") from error
    if not (isinstance(strategy, type) and dataclasses.is_dataclass(strategy)):
        raise ConfigError.of(f"plug-in {name!r} ({target}) is not a dataclass")
    return strategy
