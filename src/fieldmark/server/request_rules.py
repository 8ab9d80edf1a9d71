"""Rules in requests, which can select strategies but cannot make the server access anything else.

The provider for semantic comparison is configured when the server starts. A request that could
name an endpoint, a function or a file would make the server call, run or read it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeAlias, cast

from fieldmark import registry
from fieldmark.config.loaded_rules import LoadedRules
from fieldmark.config.rules_file import read_rules
from fieldmark.judges.llm.connection import Connection
from fieldmark.model.comparison import Provider
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.registry import Plugin
from fieldmark.server.api_errors import ApiError, ErrorCode

__all__ = ["PROVIDER", "RulesInput", "provider_for_run", "resolve_rules"]

RulesInput: TypeAlias = "LoadedRules | JsonObject | list[JsonValue] | None"
"""Rules as the library accepts them."""
_AUTO: Final = "auto"
PROVIDER: Final = "provider"
_LOCAL_PROVIDERS: Final = frozenset({"lexical", "recorded"})
_NOT_ALLOWED: Final = (
    "A request can select only the providers lexical and recorded (with the scores in the request)."
    " Other providers are configured when the server starts."
)


def resolve_rules(value: JsonValue, provider: Provider | None) -> RulesInput:
    """Check the rules of a request and apply the server's provider unless they name one."""
    _check_providers(value)
    # The library would interpret any other string as a file name.
    if not (value is None or isinstance(value, dict | list) or value == _AUTO):
        message = "Rules must be an object, a list of fields or 'auto'."
        raise ApiError(ErrorCode.INVALID_RULES, message)
    own = isinstance(value, dict) and _provider_type(value.get(PROVIDER)) is not None
    if provider is None or own:
        return read_rules(value) if value == _AUTO else cast("RulesInput", value)
    return read_rules({} if value is None else value, provider=provider)


def provider_for_run(provider: Provider | None) -> Provider | None:
    """Return a provider with a budget and usage counters of its own for one run."""
    given: object = provider
    return cast("Provider", replace(given)) if isinstance(given, Connection) else provider


def _check_providers(value: JsonValue) -> None:
    """Reject rules that name a non-local provider at any depth."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            provider = item.get(PROVIDER)
            name = _provider_type(provider)
            reads_file = isinstance(provider, dict) and "file" in provider
            if name is not None and (name not in _LOCAL_PROVIDERS or reads_file):
                raise ApiError(ErrorCode.PROVIDER_NOT_ALLOWED, _NOT_ALLOWED)
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)


def _provider_type(provider: JsonValue) -> str | None:
    """Return the registered name of a provider, or None if the value does not name one."""
    name = provider.get("type") if isinstance(provider, dict) else provider
    return registry.canonical(Plugin.PROVIDERS, name) if isinstance(name, str) else None
