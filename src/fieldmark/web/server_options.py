"""Server options, limits and session secrets."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, cast

from fieldmark.judges.llm.connection import Connection
from fieldmark.model.comparison import Provider
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.rules.config_values import LoadedRules
from fieldmark.rules.rules_file import RefusedRule, find_refused_rule, read_rules, registered_name
from fieldmark.web.api_errors import ApiError, ErrorCode

CSRF_HEADER: Final = "x-fieldmark-csrf"
_EXPORTED: Final = frozenset(
    {
        "model", "base_url", "azure_api_version", "api_key_env", "temperature", "seed", "batch",
        "reply_format", "max_reply_tokens", "prompt_version", "aspect", "dimensions",
    }
)  # fmt: skip
"""The options of a provider that an exported rules file contains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """Limits for requests, jobs and inputs."""

    body_bytes: int = 32 << 20
    body_seconds: float = 60.0
    bytes_in_flight: int = 256 << 20
    head_seconds: float = 15.0
    waiting_jobs: int = 16
    listed_jobs: int = 200
    evaluations: int = 4
    waiting_evaluations: int = 512
    streams: int = 64
    input_bytes: int = 8 << 30
    input_files: int = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSecrets:
    """The secrets of the start address, the session cookie and the pages."""

    token: str = field(default_factory=secrets.token_urlsafe, repr=False)
    session: str = field(default_factory=secrets.token_urlsafe, repr=False)
    csrf: str = field(default_factory=secrets.token_urlsafe, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The workspace, the directories that can be read, and whether changes are saved.

    `roots` can be read by batches, `pages` contain page images that are shown beside fields.
    `rules` are the default rules, from `rules_file`, instead of the rules of the workspace.
    `provider` is used for semantic comparison, and `safety` judges predictions; requests can name
    neither.
    """

    workspace: Path
    roots: Mapping[str, Path] = field(default_factory=dict)
    pages: Mapping[str, Path] = field(default_factory=dict)
    write: bool = False
    hosts: frozenset[str] = frozenset()
    rules: JsonObject | None = None
    rules_file: str = ""
    provider: Provider | None = None
    safety: object | None = None
    limits: ServerLimits = field(default_factory=ServerLimits)
    secrets: SessionSecrets = field(default_factory=SessionSecrets)

    @property
    def models(self) -> Models:
        """The provider and the safety judge."""
        return Models(self.provider, self.safety)

    @property
    def provider_name(self) -> str:
        """The name of the provider."""
        return "lexical" if self.provider is None else self.provider.name

    @property
    def provider_rules(self) -> JsonObject | None:
        """The provider as a rules file names it: model and endpoint, without headers or keys."""
        provider: object = self.provider
        if not isinstance(provider, Connection):
            return None
        values = {
            option.name: getattr(provider, option.name)
            for option in fields(provider)
            if option.name in _EXPORTED and getattr(provider, option.name) != option.default
        }
        named = {
            name: str(value) if isinstance(value, str) else value for name, value in values.items()
        }
        return {"type": self.provider_name, **named}

    @property
    def safety_name(self) -> str:
        """The name of the safety judge."""
        return str(getattr(self.safety, "name", "none"))

    @property
    def runs(self) -> Path:
        """The directory of saved runs."""
        return self.workspace / "runs"

    @property
    def strategies(self) -> Path:
        """The file with the rules of the workspace."""
        return self.workspace / "strategies.json"

    @property
    def rule_sets(self) -> Path:
        """The directory with the named rule sets of the workspace."""
        return self.workspace / "rule-sets"


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
            replace(model) if isinstance(model, Connection) else model for model in self
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
