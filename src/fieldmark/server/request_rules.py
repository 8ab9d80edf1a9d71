"""Rules that come with a request: they may choose among strategies, and never reach outside.

Who judges meaning, and where that judge is, is decided by whoever starts the server. A request that
could name an endpoint, a function or a file would make the server fetch, run or read it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeAlias, cast

from fieldmark import registry
from fieldmark.config.context import Context
from fieldmark.config.located import Located
from fieldmark.config.rules_file import read_rules
from fieldmark.config.strategies import build_comparator, choose
from fieldmark.judges.llm.connection import Connection
from fieldmark.metrics.conventions import find_convention
from fieldmark.model.comparison import Comparator, Provider
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.rule import Rules
from fieldmark.registry import Plugin
from fieldmark.server.api_errors import ApiError, ErrorCode

__all__ = ["RulesInput", "check_providers", "provider_for_run", "resolve_rules"]

RulesInput: TypeAlias = "Rules | JsonObject | list[JsonValue] | None"
"""Rules as the library takes them."""
_AUTO: Final = "auto"
_PROVIDER: Final = "provider"
_TYPE: Final = "type"
_HARMLESS: Final = frozenset({"lexical", "recorded"})
"""Judges that ask nobody else."""


def check_providers(value: JsonValue) -> JsonValue:
    """The rules as they came, if they name no judge that reaches outside."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            for key, inner in item.items():
                if key == _PROVIDER:
                    _check_provider(inner)
                pending.append(inner)
        elif isinstance(item, list):
            pending.extend(item)
    return value


def resolve_rules(value: JsonValue, judge: Provider | None, convention: str) -> RulesInput:
    """Rules for the library: as they came, or with the judge that the server was started with."""
    check_providers(value)
    # The library takes any other text for the name of a file.
    if not (value is None or isinstance(value, dict | list) or value == _AUTO):
        raise ApiError(ErrorCode.INVALID_RULES, "Rules are an object, a list of fields, or auto.")
    if judge is None or _names_provider(value):
        return read_rules(value).rules if value == _AUTO else cast("RulesInput", value)
    given = Rules() if value is None else read_rules(value, provider=judge).rules
    if given.default is not None:
        return given
    return replace(given, default=_usual(convention, judge))


def provider_for_run(judge: Provider | None) -> Provider | None:
    """The judge with books of its own: budgets and what was spent are those of one run."""
    asked: object = judge
    return cast("Provider", replace(asked)) if isinstance(asked, Connection) else judge


def _usual(convention: str, judge: Provider) -> Comparator | None:
    """The comparator of fields without a rule, which must know who judges meaning."""
    context = Context(provider=judge)
    name = find_convention(convention).comparison.comparator
    choice = choose(Plugin.COMPARATORS, Located(value=name), context)
    return None if choice is None else build_comparator(choice, context)


def _names_provider(value: JsonValue) -> bool:
    return isinstance(value, dict) and _kind(value.get(_PROVIDER)) is not None


def _kind(provider: JsonValue) -> str | None:
    """The registered name of a judge, or nothing if the value names none."""
    name = provider.get(_TYPE) if isinstance(provider, dict) else provider
    return registry.canonical(Plugin.PROVIDERS, name) if isinstance(name, str) else None


def _check_provider(provider: JsonValue) -> None:
    kind = _kind(provider)
    reads_file = isinstance(provider, dict) and "file" in provider
    if kind is not None and (kind not in _HARMLESS or reads_file):
        raise ApiError(
            ErrorCode.PROVIDER_NOT_ALLOWED,
            "A request may name the providers lexical and recorded (with its scores in the"
            " request); any other is chosen when the server is started, with --rules.",
        )
