"""Server options, limits and session secrets."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fieldmark.model.comparison import Provider
from fieldmark.model.json import JsonObject
from fieldmark.web.request_models import Models

CSRF_HEADER: Final = "x-fieldmark-csrf"


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
