"""Connection options: the model, its endpoint, limits, budget and cache."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final, TypeAlias
from urllib.parse import quote

from fieldmark.errors import MissingExtra, OptionError
from fieldmark.judges.http_client import (
    Endpoint,
    check_headers,
    check_proxy,
    check_query,
    expand,
    parse_endpoint,
    unusable_variable,
    variables_in,
)
from fieldmark.judges.llm.response_cache import (
    CacheError,
    FileResponseCache,
    MemoryResponseCache,
    ResponseCache,
    default_cache_file,
)
from fieldmark.judges.llm.usage_log import BudgetExceededError, TokenCount, UsageLog
from fieldmark.judges.redaction import find_secret
from fieldmark.judges.retry import CircuitBreaker
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.annotations import (
    NonNegativeFloat,
    NonNegativeInt,
    NotBlank,
    Pattern,
    PositiveFloat,
    PositiveInt,
    Range,
    problem_of,
)
from fieldmark.values.strategy_options import check_options
from fieldmark.values.text import plural

OPENAI_URL: Final = "https://api.openai.com/v1"
_VariableName: TypeAlias = Annotated[
    str,
    Pattern("[A-Za-z_][A-Za-z0-9_]*", "must be the name of an environment variable, not a key"),
]
_Version: TypeAlias = Annotated[
    str, Pattern("[0-9A-Za-z.-]+", "must be a version such as 2024-10-21")
]
_KEY_HEADERS: Final = frozenset({"authorization", "api-key"})
_API_KEY: Final = re.compile(r"[!-~]+\Z")
_RESERVED_PARAMETERS: Final = frozenset({"messages", "model", "input", "stream", "n", "tools"})
_MAX_TEMPERATURE: Final = 2.0
_MILLION: Final = 1_000_000
_REPLY_LIMITS: Final = ("max_tokens", "max_completion_tokens")
"""The parameters with which endpoints limit the length of a response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A model behind an OpenAI-compatible endpoint.

    The key is read from the environment variable `api_key_env`. Budgets apply to one run, also if
    it is resumed; `max_total_tokens` limits the tokens of all requests and responses. `cache` is a
    file for the responses, or true for the default location. With `offline`, only cached responses
    are used. `request` adds parameters to each request, or removes parameters that are set to null.
    `headers` and `query` are added to each request. With `azure_api_version`, `base_url` is the URL
    of an Azure resource and `model` a deployment. `proxy` is the URL of a proxy. `${NAME}` in these
    options is an environment variable. `allow_private_http` allows http:// in private networks.
    """

    model: Annotated[str, NotBlank("must name a model")]
    base_url: str = OPENAI_URL
    api_key_env: _VariableName | None = "OPENAI_API_KEY"
    request: Mapping[str, JsonValue] = field(default_factory=dict, hash=False)
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)
    query: Mapping[str, str] = field(default_factory=dict, hash=False)
    azure_api_version: _Version | None = None
    proxy: str | None = None
    allow_private_http: bool = False
    timeout: PositiveFloat = 60.0
    retries: NonNegativeInt = 3
    concurrency: PositiveInt = 4
    per_minute: PositiveFloat | None = None
    cache: bool | str = True
    offline: bool = False
    max_calls: NonNegativeInt | None = None
    max_total_tokens: NonNegativeInt | None = None
    max_cost: NonNegativeFloat | None = None
    input_price: NonNegativeFloat | None = None
    output_price: NonNegativeFloat | None = None
    usage_log: UsageLog = field(init=False, repr=False, compare=False, default_factory=UsageLog)
    breaker: CircuitBreaker = field(
        init=False, repr=False, compare=False, default_factory=CircuitBreaker
    )
    _memory: MemoryResponseCache = field(
        init=False, repr=False, compare=False, default_factory=MemoryResponseCache
    )

    def __post_init__(self) -> None:
        check_options(self)
        if "?" in self.base_url:
            raise OptionError("base_url", "must not contain a query (?); use query")
        parse_endpoint(self.base_url, "base_url", private_http=self.allow_private_http)
        check_headers(self.headers)
        check_query(self.query)
        if self.proxy is not None:
            check_proxy(self.proxy, self.endpoint)
        for name in sorted(_RESERVED_PARAMETERS & set(self.request)):
            raise OptionError("request", f"must not set the reserved parameter {name!r}")
        if (secret := find_secret(dict(self.request))) is not None:
            # It would be saved with every run.
            message = f"must not contain the secret {secret!r}; use api_key_env"
            raise OptionError("request", message)
        if self.offline and self.cache is False:
            raise OptionError("offline", "requires a cache")
        if self.max_cost is not None and None in {self.input_price, self.output_price}:
            message = "requires input_price and output_price (per million tokens)"
            raise OptionError("max_cost", message)

    @property
    def endpoint(self) -> Endpoint:
        """Return the endpoint of the model."""
        return parse_endpoint(self.base_url, "base_url", private_http=self.allow_private_http)

    def request_path(self, operation: str) -> str:
        """Return the path of an operation below `base_url`."""
        if self.azure_api_version is None:
            return operation
        return f"openai/deployments/{quote(self.model, safe='')}/{operation}"

    def request_query(self) -> Mapping[str, str]:
        """Return the query parameters of each request, with variables."""
        if self.azure_api_version is None:
            return self.query
        return {"api-version": self.azure_api_version, **self.query}

    def parameters(self) -> JsonObject:
        """Return the options that a response depends on."""
        return {
            "base_url": self.base_url.rstrip("/"),
            "model": self.model,
            **({"request": dict(self.request)} if self.request else {}),
            **({"headers": dict(self.headers)} if self.headers else {}),
            **({"query": dict(self.request_query())} if self.request_query() else {}),
        }

    def with_request_options(self, payload: JsonObject) -> JsonObject:
        """Return a payload with the parameters of `request` that are not null."""
        merged = {**payload, **self.request}
        return {name: value for name, value in merged.items() if value is not None}

    def unready(self) -> str | None:
        """Return why the model cannot be called, or `None`; no request is sent."""
        if self.offline:
            file = self.cache_file()
            return None if file and file.is_file() else _missing_cache(file)
        if find_spec("httpx") is None:
            return str(MissingExtra("calling a model", "llm"))
        return self.unusable_variable()

    def unusable_variable(self) -> str | None:
        """Return why the environment variables cannot be used, or `None`."""
        try:
            self.api_key()
        except ValueError as error:
            return str(error)
        return unusable_variable({**self.headers, **self.query}, os.environ, self.proxy)

    def secrets(self) -> dict[str, str]:
        """Return the values of all environment variables that are sent, by name."""
        names = variables_in(*self.headers.values(), *self.query.values(), self.proxy or "")
        values = {name: os.environ.get(name, "") for name in names}
        if (key := self.api_key()) is not None:
            values[str(self.api_key_env)] = key
        return {name: value for name, value in values.items() if value}

    def request_headers(self) -> dict[str, str]:
        """Return the headers of each request, with the API key."""
        headers = expand(self.headers, os.environ)
        if (key := self.api_key()) is not None:
            azure = self.azure_api_version is not None
            headers |= {"api-key": key} if azure else {"Authorization": f"Bearer {key}"}
        return headers

    def api_key(self) -> str | None:
        """Return the API key from the environment, unless a header contains one.

        It is optional for a local endpoint, and with http in a private network.
        """
        if self.api_key_env is None or _KEY_HEADERS & set(map(str.lower, self.headers)):
            return None
        value = os.environ.get(self.api_key_env, "").strip()
        if not value:
            if self.endpoint.is_local or self.endpoint.scheme == "http":
                return None
            raise ValueError(f"the environment variable {self.api_key_env} is not set")
        if not _API_KEY.match(value):
            raise ValueError(
                f"{self.api_key_env} contains characters that are not allowed in a key"
            )
        return value

    def cache_file(self) -> Path | None:
        """Return the cache file, or `None` if responses are not cached in a file."""
        if self.cache is False:
            return None
        return default_cache_file() if self.cache is True else Path(self.cache)

    @contextmanager
    def opened_cache(self) -> Iterator[ResponseCache]:
        """Open the cache file, or the in-memory cache of this run."""
        file = self.cache_file()
        if file is None:
            yield self._memory
        elif self.offline and not file.is_file():
            raise CacheError(_missing_cache(file))
        else:
            with FileResponseCache.opened(file, writable=not self.offline) as cache:
                yield cache

    def price(self, tokens: TokenCount) -> float | None:
        """Return the cost of tokens, or `None` if the prices are unknown."""
        if self.input_price is None or self.output_price is None:
            return None
        sent, received = tokens
        return (sent * self.input_price + received * self.output_price) / _MILLION

    def check_budget(self, calls: int, used: TokenCount, call: TokenCount) -> None:
        """Raise BudgetExceededError if one more call could exceed the budget.

        `calls` is the number of previous calls, `used` the maximum of their tokens, and `call` the
        maximum of one more call.
        """
        if self.max_calls is not None and calls >= self.max_calls:
            raise BudgetExceededError(f"the budget of {plural(self.max_calls, 'call')} is used up")
        message = "one more call could exceed the budget of"
        if self.max_total_tokens is not None and sum(used.plus(call)) > self.max_total_tokens:
            left = max(0, self.max_total_tokens - sum(used))
            raise BudgetExceededError(
                f"{message} {plural(self.max_total_tokens, 'token')}: it reserves up to "
                f"{sum(call):,}, and {left:,} are left"
            )
        cost = self.price(used.plus(call))
        if self.max_cost is not None and cost is not None and cost > self.max_cost:
            left_cost = max(0.0, self.max_cost - (self.price(used) or 0.0))
            raise BudgetExceededError(
                f"{message} {self.max_cost:g}: it reserves up to {self.price(call):.4g}, and "
                f"{left_cost:.4g} is left"
            )

    def usage(self) -> JsonObject:
        """Return the original cost of all responses, whether cached or not."""
        return self.usage_log.usage(self.price)

    def spent(self) -> JsonObject:
        """Return the usage and cost of the calls, and the original cost of cached responses."""
        return self.usage_log.spent(self.price)


class ReplyFormat(StrEnum):
    """The response format to request; the response is validated in any case.

    `auto` is the strictest format that the endpoint supports.
    """

    AUTO = "auto"
    JSON_OBJECT = "json_object"
    JSON_SCHEMA = "json_schema"
    NONE = "none"


_STRICTEST_FIRST: Final = (ReplyFormat.JSON_SCHEMA, ReplyFormat.JSON_OBJECT, ReplyFormat.NONE)


class OfferedFormats:
    """The formats that the endpoint has not refused, strictest first; thread-safe."""

    def __init__(self, formats: Sequence[ReplyFormat]) -> None:
        self._lock = threading.Lock()
        self._formats = tuple(formats)

    def __reduce__(self) -> tuple[type[OfferedFormats], tuple[Sequence[ReplyFormat]]]:
        return OfferedFormats, (self._formats,)

    @property
    def strictest(self) -> ReplyFormat:
        """The format to request."""
        return self._formats[0]

    def refuse(self, refused: ReplyFormat) -> bool:
        """Do not request a format again; return whether there is another one."""
        with self._lock:
            if self._formats[0] is refused:
                self._formats = self._formats[1:] or self._formats
            return self._formats[0] is not refused


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatConnection(Connection):
    """A chat model behind an OpenAI-compatible endpoint."""

    temperature: Annotated[float, Range(ge=0, le=_MAX_TEMPERATURE)] = 0.0
    seed: int | None = None
    reply_format: ReplyFormat = ReplyFormat.AUTO
    max_reply_tokens: PositiveInt = 2048
    offered_formats: OfferedFormats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Connection.__post_init__(self)
        chosen = self.reply_format
        formats = _STRICTEST_FIRST if chosen is ReplyFormat.AUTO else (chosen,)
        object.__setattr__(self, "offered_formats", OfferedFormats(formats))
        for option in _REPLY_LIMITS:
            if problem := problem_of(PositiveInt | None, self.request.get(option)):
                raise OptionError(f"request.{option}", problem)
        budget = self.max_total_tokens if self.max_cost is None else self.max_cost
        if budget is not None and not self._reply_limits():
            message = "must not remove the response limit (max_tokens or max_completion_tokens)"
            raise OptionError("request", f"{message} if there is a budget")

    def max_response_tokens(self) -> int:
        """Return the maximum number of tokens in a response."""
        return max(self._reply_limits(), default=self.max_reply_tokens)

    def _reply_limits(self) -> list[int]:
        sent = self.with_request_options({"max_tokens": self.max_reply_tokens})
        limits = (sent.get(option) for option in _REPLY_LIMITS)
        return [int(limit) for limit in limits if isinstance(limit, int | float)]

    def parameters(self) -> JsonObject:
        """Return the options that a response depends on."""
        return {
            **Connection.parameters(self),
            "temperature": self.temperature,
            "seed": self.seed,
            "reply_format": self.reply_format.value,
            "max_reply_tokens": self.max_reply_tokens,
        }


def _missing_cache(file: Path | None) -> str:
    return f"offline, and the cache file {file} does not exist"
