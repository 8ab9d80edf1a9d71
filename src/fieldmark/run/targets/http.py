"""Candidates from an endpoint: the request as JSON in, JSON or text out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import ClassVar, Literal

from fieldmark.errors import MissingExtra, OptionError
from fieldmark.judges.endpoints import read_endpoint
from fieldmark.judges.secrecy import Secrets
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.run.targets.asking import Asking
from fieldmark.run.targets.headers import (
    check_headers,
    filled,
    unusable_variable,
    variables_of,
)
from fieldmark.values.paths import PathError, parse_path

__all__ = ["HttpTarget"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpTarget:
    """Sends each case to a URL and takes the reply, or what stands at `answer` in it.

    A header's value may say `${NAME}` for an environment variable, whose value is never written
    down. Only https is spoken, unless with this machine itself; redirects are not followed and
    proxies are not used.
    """

    name: ClassVar[str] = "http"
    url: str
    method: Literal["POST", "PUT", "PATCH"] = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    answer: str = ""
    config: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        read_endpoint(self.url)
        check_headers(self.headers)
        if self.answer:
            try:
                path = parse_path(self.answer)
            except PathError as error:
                raise OptionError("answer", error.message) from None
            if path.is_pattern:
                raise OptionError("answer", "must name one value, without [*] and **")

    def unready(self) -> str | None:
        """Why not a single case could be sent; nobody is asked to find out."""
        if find_spec("httpx") is None:
            return str(MissingExtra("An HTTP target", "llm"))
        return unusable_variable(self.headers, os.environ)

    def identity(self) -> JsonObject:
        """The options as they are written: with the names of variables, not their values."""
        return {
            "url": self.url,
            "method": self.method,
            "headers": dict(self.headers),
            "answer": self.answer,
            "config": dict(self.config),
        }

    @contextmanager
    def opened(self, timeout: float) -> Iterator[Asking]:
        """Connections to the endpoint, kept for the next case and closed in the end."""
        from fieldmark.run.targets.exchange import Exchange  # which needs an optional part

        secrets = Secrets({name: os.environ[name] for name in variables_of(self.headers)})
        exchange = Exchange(
            endpoint=read_endpoint(self.url),
            method=self.method,
            headers=filled(self.headers, os.environ),
            answer=self.answer,
            secrets=secrets,
            timeout=timeout,
        )
        config = dict(self.config)
        try:
            yield lambda request: exchange.ask({**request, "config": config})
        finally:
            exchange.close()
