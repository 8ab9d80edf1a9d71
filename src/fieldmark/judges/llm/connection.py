"""Connection options: the model, its endpoint, limits, budget and cache."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import Final

from fieldmark.compare.options import check_flag, checked_choice
from fieldmark.errors import MissingExtra, OptionError
from fieldmark.judges.endpoints import Endpoint, parse_endpoint
from fieldmark.judges.llm.answer_cache import (
    AnswerCache,
    CacheError,
    FileAnswerCache,
    MemoryAnswerCache,
    default_cache_file,
)
from fieldmark.judges.llm.usage_log import Budget, UsageLog
from fieldmark.judges.redaction import find_secret
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.presence import is_blank

__all__ = ["OPENAI_URL", "ChatConnection", "Connection", "ReplyFormat", "check_number"]

OPENAI_URL: Final = "https://api.openai.com/v1"
_VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_API_KEY: Final = re.compile(r"[!-~]+\Z")
_RESERVED_PARAMETERS: Final = frozenset({"messages", "model", "input", "stream", "n", "tools"})
_MAX_TEMPERATURE: Final = 2.0
_REPLY_LIMITS: Final = ("max_tokens", "max_completion_tokens")
"""The parameters by which endpoints limit the length of a reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A model behind an endpoint that speaks as OpenAI's does.

    The key is only ever named, by the environment variable that holds it. Budgets hold for as long
    as this object lives: one run. `cache` is a file for the answers; true stands for the usual
    place. With `offline` nothing but the cache is asked. `request` adds parameters to what is sent,
    or takes away those that it sets to nothing.
    """

    model: str
    base_url: str = OPENAI_URL
    api_key_env: str | None = "OPENAI_API_KEY"
    request: Mapping[str, JsonValue] = field(default_factory=dict, hash=False)
    timeout: float = 60.0
    retries: int = 3
    concurrency: int = 4
    per_minute: float | None = None
    cache: bool | str = True
    offline: bool = False
    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    input_price: float | None = None
    output_price: float | None = None
    _usage_log: UsageLog = field(init=False, repr=False, compare=False)
    _memory: MemoryAnswerCache = field(
        init=False, repr=False, compare=False, default_factory=MemoryAnswerCache, hash=False
    )

    def __post_init__(self) -> None:
        if is_blank(self.model):
            raise OptionError("model", "must name a model")
        if "?" in self.base_url:
            raise OptionError("base_url", "must not have a part after ?")
        parse_endpoint(self.base_url, "base_url")
        if self.api_key_env is not None and not _VARIABLE_NAME.match(self.api_key_env):
            # The value may be the key itself, so the message does not repeat it.
            raise OptionError("api_key_env", "must name an environment variable, not hold a key")
        for name in sorted(_RESERVED_PARAMETERS & set(self.request)):
            raise OptionError("request", f"must not set {name}, which is what is asked")
        if (secret := find_secret(dict(self.request))) is not None:
            # It would be stored with every run.
            message = f"must not hold the secret {secret}; name its variable with api_key_env"
            raise OptionError("request", message)
        check_flag("offline", self.offline)
        if self.offline and self.cache is False:
            raise OptionError("offline", "needs a cache, since nothing else is asked")
        check_number("timeout", self.timeout, least=0, above=True)
        for option in ("retries", "max_calls", "max_tokens", "max_cost"):
            check_number(option, getattr(self, option), least=0)
        for option in ("input_price", "output_price"):
            check_number(option, getattr(self, option), least=0)
        check_number("concurrency", self.concurrency, least=1)
        check_number("per_minute", self.per_minute, least=0, above=True)
        if self.max_cost is not None and None in {self.input_price, self.output_price}:
            message = "needs input_price and output_price, per million tokens"
            raise OptionError("max_cost", message)
        budget = Budget(
            calls=self.max_calls,
            tokens=self.max_tokens,
            cost=self.max_cost,
            input_price=self.input_price,
            output_price=self.output_price,
        )
        object.__setattr__(self, "_usage_log", UsageLog(budget))

    @property
    def endpoint(self) -> Endpoint:
        """Return the endpoint of the model."""
        return parse_endpoint(self.base_url, "base_url")

    @property
    def usage_log(self) -> UsageLog:
        """Return the usage log of this connection."""
        return self._usage_log

    def parameters(self) -> JsonObject:
        """Return the options that an answer depends on."""
        return {
            "base_url": self.base_url.rstrip("/"),
            "model": self.model,
            **({"request": dict(self.request)} if self.request else {}),
        }

    def with_request_options(self, payload: JsonObject) -> JsonObject:
        """Return a payload with the parameters of `request` added, and without nulls."""
        merged = {**payload, **self.request}
        return {name: value for name, value in merged.items() if value is not None}

    def unready(self) -> str | None:
        """Return why no question can be asked, without asking one."""
        if self.offline:
            file = self.cache_file()
            return None if file and file.is_file() else f"offline, and there is no cache {file}"
        if find_spec("httpx") is None:
            return str(MissingExtra("Asking a model", "llm"))
        try:
            self.api_key()
        except ValueError as error:
            return str(error)
        return None

    def api_key(self) -> str | None:
        """Return the API key from the environment; a local endpoint needs none."""
        if self.api_key_env is None:
            return None
        value = os.environ.get(self.api_key_env, "").strip()
        if not value:
            if self.endpoint.is_local:
                return None
            raise ValueError(f"the environment variable {self.api_key_env} is not set")
        if not _API_KEY.match(value):
            raise ValueError(f"{self.api_key_env} holds characters that no key can have")
        return value

    def cache_file(self) -> Path | None:
        """Return the cache file, if there is one."""
        if self.cache is False:
            return None
        return default_cache_file() if self.cache is True else Path(self.cache)

    @contextmanager
    def opened_cache(self) -> Iterator[AnswerCache]:
        """Open the cache file, or the memory cache of this run without one."""
        file = self.cache_file()
        if file is None:
            yield self._memory
        elif self.offline and not file.is_file():
            raise CacheError(f"offline, and there is no cache {file}")
        else:
            with FileAnswerCache.opened(file, writable=not self.offline) as cache:
                yield cache

    def usage(self) -> JsonObject:
        """Return what the answers cost when they were made."""
        return self._usage_log.usage()

    def spent(self) -> JsonObject:
        """Return what this process sent and paid."""
        return self._usage_log.spent()


class ReplyFormat(StrEnum):
    """What an endpoint is told of the form of its reply, which is checked in any case."""

    JSON_OBJECT = "json_object"
    JSON_SCHEMA = "json_schema"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatConnection(Connection):
    """A model that answers in words."""

    temperature: float = 0.0
    seed: int | None = None
    reply_format: ReplyFormat = ReplyFormat.JSON_OBJECT
    max_reply_tokens: int = 2048

    def __post_init__(self) -> None:
        Connection.__post_init__(self)
        check_number("temperature", self.temperature, least=0, most=_MAX_TEMPERATURE)
        check_number("max_reply_tokens", self.max_reply_tokens, least=1)
        known = checked_choice("reply_format", self.reply_format, ReplyFormat)
        object.__setattr__(self, "reply_format", known)
        for option in _REPLY_LIMITS:
            check_number(f"request.{option}", self.request.get(option), least=1)
        budget = self.max_tokens if self.max_cost is None else self.max_cost
        if budget is not None and not self._reply_limits():
            message = "must leave a limit to replies, max_tokens or max_completion_tokens"
            raise OptionError("request", f"{message}: there is a budget")

    def longest_reply(self) -> int:
        """Return the maximum number of tokens in a reply."""
        return max(self._reply_limits(), default=self.max_reply_tokens)

    def _reply_limits(self) -> list[int]:
        sent = self.with_request_options({"max_tokens": self.max_reply_tokens})
        found = (sent.get(option) for option in _REPLY_LIMITS)
        return [int(limit) for limit in found if isinstance(limit, int | float)]

    def parameters(self) -> JsonObject:
        """Return the options that an answer depends on."""
        return {
            **Connection.parameters(self),
            "temperature": self.temperature,
            "seed": self.seed,
            "reply_format": self.reply_format.value,
            "max_reply_tokens": self.max_reply_tokens,
        }


def check_number(
    option: str, value: object, *, least: float, most: float | None = None, above: bool = False
) -> None:
    """Raise OptionError for a number out of range; none is accepted."""
    if value is None:
        return
    number = isinstance(value, int | float) and not isinstance(value, bool)
    within = number and isfinite(value) and (value > least if above else value >= least)  # type: ignore[arg-type,operator]
    if not within or (most is not None and value > most):  # type: ignore[operator]
        bound = f"more than {least:g}" if above else f"at least {least:g}"
        limit = "" if most is None else f" and at most {most:g}"
        raise OptionError(option, f"must be a number of {bound}{limit}, not {value!r}")
