"""Rules that come with a request: they may choose among strategies, and never reach outside.

Who judges meaning, and where that judge is, is decided by whoever starts the server. A request that
could name an endpoint, a function or a file would make the server fetch, run or read it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from fieldmark import registry
from fieldmark.api.settings import settle
from fieldmark.config.rules_file import read_rules
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.rule import Rules
from fieldmark.registry import Plugin
from fieldmark.server.refusals import Code, Refusal

__all__ = ["allowed_rules", "rules_under"]

_PROVIDER: Final = "provider"
_TYPE: Final = "type"
_HARMLESS: Final = frozenset({"lexical", "recorded"})
"""Judges that ask nobody else."""


def allowed_rules(value: JsonValue) -> JsonValue:
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


def rules_under(value: JsonValue, trusted: JsonObject | None, convention: str) -> RulesAsked:
    """Rules for the library: as they came, or with the judge that the server was started with."""
    allowed_rules(value)
    if isinstance(value, str) and value != "auto":
        # The library takes a text for the name of a file.
        raise Refusal(Code.INVALID_RULES, "Rules are an object, a list of fields, or auto.")
    if value is not None and not isinstance(value, dict | list | str):
        raise Refusal(Code.INVALID_RULES, "Rules are an object, a list of fields, or auto.")
    if trusted is None or _names_provider(value):
        return read_rules(value).rules if isinstance(value, str) else value
    judged = settle({_PROVIDER: trusted}, convention=convention).rules.default
    if value is None:
        return Rules(default=judged)
    judge = read_rules({_PROVIDER: trusted}).provider
    given = read_rules(value, provider=judge).rules
    return given if given.default is not None else replace(given, default=judged)


RulesAsked = Rules | JsonObject | list[JsonValue] | None


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
        raise Refusal(
            Code.PROVIDER_NOT_ALLOWED,
            "A request may name the providers lexical and recorded (with its scores in the"
            " request); any other is chosen when the server is started, with --rules.",
        )
