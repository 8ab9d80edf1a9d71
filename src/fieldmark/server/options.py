"""What a server is started with, and the secrets of one session."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fieldmark.model.comparison import Provider

__all__ = ["CSRF_HEADER", "ServerLimits", "ServerOptions", "SessionSecrets"]

CSRF_HEADER: Final = "x-fieldmark-csrf"
_BYTES: Final = 32
"""256 bits of chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """How much a client may ask for at once."""

    body_bytes: int = 32 << 20
    body_seconds: float = 60.0
    bytes_in_flight: int = 256 << 20
    head_seconds: float = 15.0
    waiting_jobs: int = 16
    kept_jobs: int = 200
    evaluations: int = 4
    waiting_evaluations: int = 512
    streams: int = 64
    input_bytes: int = 8 << 30
    input_files: int = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSecrets:
    """What lets a browser in: never written anywhere but in the start address and a cookie."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(_BYTES), repr=False)
    session: str = field(default_factory=lambda: secrets.token_urlsafe(_BYTES), repr=False)
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(_BYTES), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """Where runs and strategies are, which folders may be read, and whether anything is written.

    `provider` is who judges meaning, as the rules file of whoever started the server names it: a
    request cannot.
    """

    workspace: Path
    roots: Mapping[str, Path] = field(default_factory=dict)
    write: bool = False
    hosts: frozenset[str] = frozenset()
    provider: Provider | None = None
    limits: ServerLimits = field(default_factory=ServerLimits)
    secrets: SessionSecrets = field(default_factory=SessionSecrets)

    @property
    def judge(self) -> str:
        """The name of who judges meaning."""
        return "lexical" if self.provider is None else self.provider.name

    @property
    def runs(self) -> Path:
        """The folder that holds the runs."""
        return self.workspace / "runs"

    @property
    def strategies(self) -> Path:
        """The file that holds the rules of the workspace."""
        return self.workspace / "strategies.json"
