"""The one door for all that can be named in a file: built-in or plugged in, by name.

A built-in is one line in a table below; a plug-in is an entry point in a group such as
`fieldmark.comparators` or `fieldmark.evaluators`. Both name a class as `module:Class`, which is
loaded when it is first asked for.
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
    "load",
    "made",
    "names",
    "options",
    "provider",
    "with_safety",
]


class Plugin(StrEnum):
    """What can be plugged in."""

    COMPARATORS = "comparators"
    ALIGNERS = "aligners"
    PROVIDERS = "providers"
    EVALUATORS = "evaluators"
    TARGETS = "targets"
    SAFETY = "safety"

    @property
    def noun(self) -> str:
        """What people call one of them."""
        return _NOUNS[self]

    @property
    def article(self) -> str:
        """The word before the noun."""
        return "an" if self.noun[0] in "aeiou" else "a"


_NOUNS: Final = {
    Plugin.COMPARATORS: "match type",
    Plugin.ALIGNERS: "alignment",
    Plugin.PROVIDERS: "provider",
    Plugin.EVALUATORS: "evaluator type",
    Plugin.TARGETS: "target",
    Plugin.SAFETY: "judge of safety",
}

_SAFE: Final[Mapping[str, str]] = {
    "response_quality": "fieldmark.judges.safety:SafeResponseQuality",
}
"""Evaluators that hear a judge of safety, and the class that brings the two together."""

_BUILT_IN: Final[Mapping[Plugin, Mapping[str, str]]] = {
    Plugin.COMPARATORS: {
        "exact": "fieldmark.compare.exact:Exact",
        "exact_text": "fieldmark.compare.exact:ExactText",
        "normalized_text": "fieldmark.compare.exact:NormalizedText",
        "numeric_tolerance": "fieldmark.compare.numeric:NumericTolerance",
        "date": "fieldmark.compare.date:DateMatch",
        "fuzzy": "fieldmark.compare.fuzzy:Fuzzy",
        "semantic": "fieldmark.compare.semantic:Semantic",
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
    },
    Plugin.PROVIDERS: {
        "lexical": "fieldmark.compare.providers:Lexical",
        "recorded": "fieldmark.compare.providers:Recorded",
        "openai": "fieldmark.judges.providers.openai:OpenAi",
        "openai_embeddings": "fieldmark.judges.providers.openai_embeddings:OpenAiEmbeddings",
        "model2vec": "fieldmark.judges.providers.model2vec:Model2Vec",
        "python": "fieldmark.judges.providers.python:PythonProvider",
    },
    Plugin.EVALUATORS: {
        "field_accuracy": "fieldmark.evaluators.field_accuracy:FieldAccuracy",
        "field_confusion": "fieldmark.evaluators.field_confusion:FieldConfusion",
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
    },
    Plugin.SAFETY: {
        "none": "fieldmark.judges.safety:NoSafety",
        "wordlist": "fieldmark.judges.safety:WordlistSafety",
        "llm": "fieldmark.judges.safety:LlmSafety",
    },
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of a strategy: its type as annotated, and its default, `MISSING` if needed."""

    name: str
    type: object
    default: object | Missing = MISSING


def names(kind: Plugin) -> tuple[str, ...]:
    """Every name of a kind, built-ins first.

    >>> names(Plugin.PROVIDERS)[:2]
    ('lexical', 'recorded')
    """
    return tuple(_table(kind))


def canonical(kind: Plugin, name: str) -> str | None:
    """The registered spelling of a name, or nothing if it is not registered.

    >>> canonical(Plugin.COMPARATORS, "numeric-tolerance")
    'numeric_tolerance'
    """
    table = _table(kind)
    if name in table:
        return name
    spelled = name.replace("-", "_")
    return spelled if spelled in table else None


def load(kind: Plugin, name: str) -> type:
    """The class behind a name."""
    found = canonical(kind, name)
    if found is None:
        valid = ", ".join(names(kind))
        raise ConfigError.of(f"Invalid {kind.noun}: {name}.", hint=f"Valid types: {valid}.")
    return _load(_table(kind)[found], found)


def comparator(name: str) -> type[Comparator]:
    """The comparator of this name."""
    return cast("type[Comparator]", load(Plugin.COMPARATORS, name))


def aligner(name: str) -> type[Aligner]:
    """The aligner of this name."""
    return cast("type[Aligner]", load(Plugin.ALIGNERS, name))


def provider(name: str) -> type[Provider]:
    """The provider of this name."""
    return cast("type[Provider]", load(Plugin.PROVIDERS, name))


def with_safety(name: str) -> type | None:
    """The class that makes one evaluator of that of this name and a judge of safety, if one does.

    >>> with_safety("field_accuracy") is None
    True
    """
    return _load(_SAFE[name], name) if name in _SAFE else None


@cache
def options(strategy: type) -> Mapping[str, Option]:
    """The options of a strategy, in the order of its dataclass fields."""
    hints = get_type_hints(strategy)
    return {
        name: Option(name=name, type=hints[field.name], default=_default(field))
        for name, field in _fields(strategy).items()
    }


def made(strategy: type, values: Mapping[str, object]) -> object:
    """A strategy with values for its options, by the names that these have in files."""
    fields = _fields(strategy)
    return cast("object", strategy(**{fields[name].name: each for name, each in values.items()}))


def _fields(strategy: type) -> dict[str, dataclasses.Field[object]]:
    """The fields of a strategy by the names of its options.

    A field cannot be called `class`: it has a `_` behind it, which files do without.
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
                f"Two plug-ins are called {name}: {table[name]} and {target}.",
                hint="Remove one of the packages that bring them.",
            )
    return table


def _registrations(kind: Plugin) -> Iterator[tuple[str, str]]:
    from importlib.metadata import entry_points  # slow to load, and not always needed

    yield from _BUILT_IN[kind].items()
    for point in sorted(entry_points(group=f"fieldmark.{kind}")):
        yield point.name.replace("-", "_"), point.value


@cache
def _load(target: str, name: str) -> type:
    module, _, attribute = target.partition(":")
    try:
        strategy = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError.of(f"The plug-in {name} ({target}) cannot be loaded: {error}.") from error
    if not (isinstance(strategy, type) and dataclasses.is_dataclass(strategy)):
        raise ConfigError.of(f"The plug-in {name} ({target}) is not a dataclass.")
    return strategy
