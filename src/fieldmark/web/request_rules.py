"""Rules in requests, which can select strategies but cannot make the server access anything else.

The provider for semantic comparison and the safety judge are configured when the server starts. A
request that could name an endpoint, a function or a file would make the server call, run or read
it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias, cast

from fieldmark.judges.llm.connection import Connection
from fieldmark.model.comparison import Provider
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.rules.loaded_rules import LoadedRules
from fieldmark.rules.rules_file import read_rules
from fieldmark.rules.untrusted_rules import RefusedRule, find_refused_rule, registered_name
from fieldmark.web.api_errors import ApiError, ErrorCode

RulesInput: TypeAlias = "LoadedRules | JsonObject | list[JsonValue] | None"
"""Rules as the library accepts them."""
_AUTO: Final = "auto"
PROVIDER: Final = "provider"
_NOT_ALLOWED: Final = {
    RefusedRule.PROVIDER: "A request can select only the providers lexical and recorded (with the"
    " scores in the request). Other providers are configured when the server starts.",
    RefusedRule.SAFETY: "A request can select only the safety judges none and wordlist. Other"
    " judges are configured when the server starts.",
    RefusedRule.CALIBRATION: "A request cannot name a calibration file. Use the threshold itself,"
    " or start the server with a rules file that names it.",
}


class Models(NamedTuple):
    """The provider and the safety judge that the server was started with."""

    provider: Provider | None = None
    safety: object | None = None

    def for_run(self) -> Models:
        """Return the same models with budgets and usage counters of their own."""
        provider, safety = (
            replace(each) if isinstance(each, Connection) else each for each in self
        )
        return Models(cast("Provider | None", provider), safety)


def resolve_rules(value: JsonValue, models: Models) -> RulesInput:
    """Check the rules of a request and apply the server's models unless they name others."""
    refused = find_refused_rule(value)
    if refused is not None:
        raise ApiError(ErrorCode.PROVIDER_NOT_ALLOWED, _NOT_ALLOWED[refused])
    # The library would interpret any other string as a file name.
    if not (value is None or isinstance(value, dict | list) or value == _AUTO):
        message = "Rules must be an object, a list of fields or 'auto'."
        raise ApiError(ErrorCode.INVALID_RULES, message)
    own = isinstance(value, dict) and registered_name(value, RefusedRule.PROVIDER) is not None
    provider = None if own else models.provider
    if provider is None and models.safety is None:
        return read_rules(value) if value == _AUTO else cast("RulesInput", value)
    loaded = read_rules({} if value is None else value, provider=provider)
    return loaded if loaded.safety is not None else replace(loaded, safety=models.safety)
