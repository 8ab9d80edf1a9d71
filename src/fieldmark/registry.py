"""The registry of comparators, aligners, evaluators and other strategies that files refer to.

A built-in is a row in a table below; a plug-in is an entry point in a group such as
`fieldmark.comparators` or `fieldmark.readers`. Both name a class as `module:Class`, which is
imported on first use. A plug-in that cannot be used is an error only where its name is used.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from functools import cache
from typing import Final, NamedTuple, cast

from fieldmark.errors import ConfigError
from fieldmark.model.alignment import Aligner
from fieldmark.model.comparison import Comparator, Provider
from fieldmark.values.strategy_options import Option, create, options
from fieldmark.version import VERSION

__all__ = [
    "Option",
    "Plugin",
    "Registration",
    "aligner",
    "built_in",
    "canonical",
    "comparator",
    "create",
    "load",
    "load_class",
    "names",
    "options",
    "provider",
    "registrations",
    "strategies",
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
    READERS = "readers"
    EXPORTERS = "exporters"

    @property
    def noun(self) -> str:
        """The word for one of them in messages."""
        return _NOUNS[self]

    @property
    def article(self) -> str:
        """The indefinite article of the noun."""
        return "an" if self.noun[0] in "aeiou" else "a"

    def unknown_message(self, name: str) -> str:
        """Return the message for an unknown name; the message for match types is specified."""
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
    Plugin.READERS: "reader",
    Plugin.EXPORTERS: "exporter",
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
        "partial_date": "fieldmark.compare.partial_date:PartialDate",
        "time": "fieldmark.compare.time:TimeMatch",
        "timestamp": "fieldmark.compare.timestamp:Timestamp",
        "fuzzy": "fieldmark.compare.fuzzy:Fuzzy",
        "semantic": "fieldmark.compare.semantic:Semantic",
        "money": "fieldmark.compare.numeric:Money",
        "currency": "fieldmark.compare.currency:Currency",
        "identifier": "fieldmark.compare.identifier:Identifier",
        "vat_id": "fieldmark.compare.identifier:VatId",
        "name": "fieldmark.compare.token_sets:Name",
        "address": "fieldmark.compare.token_sets:Address",
        "email": "fieldmark.compare.email:Email",
        "phone": "fieldmark.compare.phone:Phone",
        "url": "fieldmark.compare.url:Url",
        "boolean": "fieldmark.compare.numeric:Boolean",
        "set": "fieldmark.compare.sets:SetMatch",
        "contains": "fieldmark.compare.contains:Contains",
        "regex": "fieldmark.compare.regex:Regex",
        "iou": "fieldmark.compare.iou:Iou",
        "distance": "fieldmark.compare.distance:Distance",
        "ignore": "fieldmark.compare.exact:Ignore",
        "auto": "fieldmark.compare.auto:Auto",
    },
    Plugin.ALIGNERS: {
        "auto": "fieldmark.align.sequence:Auto",
        "index": "fieldmark.align.exact_methods:Index",
        "sequence": "fieldmark.align.sequence:Sequence",
        "greedy": "fieldmark.align.greedy:Greedy",
        "optimal": "fieldmark.align.optimal:Optimal",
        "key": "fieldmark.align.exact_methods:Key",
        "set": "fieldmark.align.exact_methods:SetAlign",
        "whole": "fieldmark.align.exact_methods:Whole",
        "entries": "fieldmark.align.entries:Entries",
    },
    Plugin.PROVIDERS: {
        "lexical": "fieldmark.compare.providers:Lexical",
        "recorded": "fieldmark.compare.providers:Recorded",
        "openai": "fieldmark.judges.openai_providers:OpenAi",
        "openai_embeddings": "fieldmark.judges.openai_providers:OpenAiEmbeddings",
        "model2vec": "fieldmark.judges.similarity_providers:Model2Vec",
        "python": "fieldmark.judges.similarity_providers:PythonProvider",
    },
    Plugin.EVALUATORS: {
        "field_accuracy": "fieldmark.evaluators.field_evaluators:FieldAccuracy",
        "field_confusion": "fieldmark.evaluators.field_evaluators:FieldConfusion",
        "line_items": "fieldmark.evaluators.line_items:LineItems",
        "extraction_metrics": "fieldmark.evaluators.field_evaluators:ExtractionMetrics",
        "response_quality": "fieldmark.evaluators.field_evaluators:ResponseQuality",
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
        "command": "fieldmark.runs.targets.command:CommandTarget",
        "python": "fieldmark.runs.targets.python:PythonTarget",
        "http": "fieldmark.runs.targets.http:HttpTarget",
        "chat": "fieldmark.runs.targets.chat:ChatTarget",
    },
    Plugin.SAFETY: {
        "none": "fieldmark.judges.safety:NoSafety",
        "wordlist": "fieldmark.judges.safety:WordlistSafety",
        "llm": "fieldmark.judges.safety:LlmSafety",
    },
    Plugin.READERS: {
        "langsmith": "fieldmark.data.presets:LangSmith",
        "braintrust": "fieldmark.data.presets:Braintrust",
        "openai-evals": "fieldmark.data.presets:OpenAiEvals",
        "promptfoo": "fieldmark.data.presets:Promptfoo",
        "inspect": "fieldmark.data.presets:Inspect",
        "labelstudio": "fieldmark.data.label_studio:LabelStudio",
        "textract": "fieldmark.data.presets:Textract",
        "azure-di": "fieldmark.data.presets:AzureDocumentIntelligence",
        "google-docai": "fieldmark.data.presets:GoogleDocumentAi",
        "mindee": "fieldmark.data.presets:Mindee",
    },
    Plugin.EXPORTERS: {
        "markdown": "fieldmark.report.exports.markdown:Markdown",
        "markdown-short": "fieldmark.report.exports.markdown:MarkdownShort",
        "junit": "fieldmark.report.exports.junit:Junit",
        "csv": "fieldmark.report.exports.csv:AttributesCsv",
        "csv-cases": "fieldmark.report.exports.csv:CasesCsv",
        "csv-outcomes": "fieldmark.report.exports.csv:OutcomesCsv",
        "xlsx": "fieldmark.report.exports.xlsx:Xlsx",
        "parquet": "fieldmark.report.exports.parquet:Parquet",
        "sqlite": "fieldmark.report.exports.sqlite:Sqlite",
        "eval-results": "fieldmark.report.exports.eval_results:EvalResults",
        "json": "fieldmark.report.exports.json:Json",
    },
}


class Registration(NamedTuple):
    """A built-in or a plug-in: its name, its class, and the package that it comes from.

    `conflict` says why its name cannot be used: another package has the same.
    """

    kind: Plugin
    name: str
    target: str
    package: str
    version: str
    conflict: str = ""


def names(kind: Plugin) -> tuple[str, ...]:
    """Return all names of a kind, built-ins first.

    >>> names(Plugin.PROVIDERS)[:2]
    ('lexical', 'recorded')
    """
    return tuple(_table(kind))


def built_in(kind: Plugin) -> tuple[str, ...]:
    """Return the names of a kind that need no plug-in; plug-ins are not looked up."""
    return tuple(_BUILT_IN[kind])


def canonical(kind: Plugin, name: str) -> str | None:
    """Return the registered spelling of a name, or `None` if it is not registered.

    >>> canonical(Plugin.COMPARATORS, "numeric-tolerance")
    'numeric_tolerance'
    """
    table = _table(kind)
    spellings = (name, name.replace("-", "_"), name.replace("_", "-"))
    return next((spelling for spelling in spellings if spelling in table), None)


def load(kind: Plugin, name: str) -> type:
    """Return the class that is registered under a name."""
    canonical_name = canonical(kind, name)
    if canonical_name is None:
        valid = ", ".join(names(kind))
        raise ConfigError.of(kind.unknown_message(name), hint=f"valid types: {valid}")
    registered = _table(kind)[canonical_name]
    if registered.conflict:
        raise ConfigError.of(
            f"plug-in {canonical_name!r}: {registered.conflict}",
            hint="uninstall one of the two packages",
        )
    return load_class(registered.target, canonical_name)


def strategies(kind: Plugin) -> Iterator[tuple[str, type]]:
    """Yield the name and the class of each strategy of a kind, except plug-ins that are broken."""
    for name in names(kind):
        with suppress(ConfigError):
            yield name, load(kind, name)


def registrations() -> Iterator[tuple[Registration, type | str]]:
    """Yield everything that is registered, with its class or the reason why it cannot be used."""
    for kind in Plugin:
        for registration in _registrations(kind):
            try:
                yield (
                    registration,
                    registration.conflict or load_class(registration.target, registration.name),
                )
            except ConfigError as error:
                yield registration, str(error)


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
    return load_class(_SAFE[name], name) if name in _SAFE else None


@cache
def _table(kind: Plugin) -> Mapping[str, Registration]:
    """Return the strategy of each name; a plug-in never replaces a built-in."""
    table: dict[str, Registration] = {}
    for registration in _registrations(kind):
        if registration.name not in table or (
            registration.conflict and registration.name not in _BUILT_IN[kind]
        ):
            table[registration.name] = registration
    return table


def _registrations(kind: Plugin) -> Iterator[Registration]:
    """Yield the built-ins, then the plug-ins by name, with conflicts of names."""
    from importlib.metadata import entry_points  # slow to import, and not always needed

    registered: dict[str, Registration] = {}
    for name, target in _BUILT_IN[kind].items():
        registered[name] = Registration(
            kind=kind, name=name, target=target, package="fieldmark", version=VERSION
        )
        yield registered[name]
    for point in sorted(entry_points(group=f"fieldmark.{kind}")):
        name = point.name.replace("-", "_")
        other = registered.get(name) or registered.get(name.replace("_", "-"))
        if other is not None and other.target == point.value:
            continue  # a package that is found twice
        package = getattr(point, "dist", None)
        registered[name] = Registration(
            kind=kind,
            name=name,
            target=point.value,
            package="" if package is None else package.name,
            version="" if package is None else package.version,
            conflict="" if other is None else f"{other.package or other.target} has the same name",
        )
        yield registered[name]


@cache
def load_class(target: str, name: str) -> type:
    """Return the class that a target names as `module:Class`."""
    module, _, attribute = target.partition(":")
    try:
        strategy = getattr(importlib.import_module(module), attribute)
        if isinstance(strategy, type) and dataclasses.is_dataclass(strategy):
            options(strategy)  # annotations that cannot be evaluated
            return strategy
    except Exception as error:
        reason = str(error).partition("\n")[0]
        if not isinstance(error, ImportError | AttributeError):
            reason = f"{type(error).__name__}: {reason}"
        raise ConfigError.of(f"cannot load plug-in {name!r} ({target}): {reason}") from error
    raise ConfigError.of(f"plug-in {name!r} ({target}) is not a dataclass")
