"""How a model is reached: the options that everything has in common that asks one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import Final

from fieldmark.compare.options import check_flag
from fieldmark.errors import MissingExtra, OptionError
from fieldmark.judges.endpoints import Endpoint, read_endpoint
from fieldmark.judges.llm.cache import AnswerCache, CacheError, default_file
from fieldmark.judges.llm.ledger import Budget, Ledger
from fieldmark.judges.llm.memory import RunMemory
from fieldmark.judges.secrecy import Secrets, secret_within
from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["OPENAI", "Connection", "check_number"]

OPENAI: Final = "https://api.openai.com/v1"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_KEY: Final = re.compile(r"[!-~]+\Z")
_OURS: Final = frozenset({"messages", "model", "input", "stream", "n", "tools"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A model behind an endpoint that speaks as OpenAI's does.

    The key is only ever named, by the environment variable that holds it. Budgets hold for as long
    as this object lives: one run. `cache` is a file for the answers; true stands for the usual
    place. With `offline` nothing but the cache is asked. `request` adds parameters to what is sent,
    or takes away those that it sets to nothing.
    """

    model: str
    base_url: str = OPENAI
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
    _ledger: Ledger = field(init=False, repr=False, compare=False)
    _memory: RunMemory = field(
        init=False, repr=False, compare=False, default_factory=RunMemory, hash=False
    )

    def __post_init__(self) -> None:
        self._check_texts()
        self._check_numbers()
        budget = Budget(
            calls=self.max_calls,
            tokens=self.max_tokens,
            cost=self.max_cost,
            input_price=self.input_price,
            output_price=self.output_price,
        )
        object.__setattr__(self, "_ledger", Ledger(budget))

    def _check_texts(self) -> None:
        if not self.model.strip():
            raise OptionError("model", "must name a model")
        if "?" in self.base_url:
            raise OptionError("base_url", "must not have a part after ?")
        read_endpoint(self.base_url, "base_url")
        if self.api_key_env is not None and not _NAME.match(self.api_key_env):
            # What stands there may be the key itself, so that it is not repeated.
            raise OptionError("api_key_env", "must name an environment variable, not hold a key")
        for name in sorted(_OURS & set(self.request)):
            raise OptionError("request", f"must not set {name}, which is what is asked")
        if (secret := secret_within(dict(self.request))) is not None:
            # It would be written into every run.
            message = f"must not hold the secret {secret}; name its variable with api_key_env"
            raise OptionError("request", message)
        check_flag("offline", self.offline)
        if self.offline and self.cache is False:
            raise OptionError("offline", "needs a cache, since nothing else is asked")

    def _check_numbers(self) -> None:
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

    @property
    def endpoint(self) -> Endpoint:
        """Where the model is reached."""
        return read_endpoint(self.base_url, "base_url")

    def parameters(self) -> JsonObject:
        """All that the endpoint's answer depends on besides what it is asked."""
        return {
            "base_url": self.base_url.rstrip("/"),
            "model": self.model,
            **({"request": dict(self.request)} if self.request else {}),
        }

    def requested(self, payload: JsonObject) -> JsonObject:
        """A request with the parameters that are added, and without those that are not wanted."""
        merged = {**payload, **self.request}
        return {name: value for name, value in merged.items() if value is not None}

    def unready(self) -> str | None:
        """Why not a single question could be asked; nobody is asked to find out."""
        if self.offline:
            place = self.cache_file()
            return None if place and place.is_file() else f"offline, and there is no cache {place}"
        if find_spec("httpx") is None:
            return str(MissingExtra("Asking a model", "llm"))
        try:
            self.key()
        except ValueError as error:
            return str(error)
        return None

    def key(self) -> str | None:
        """The key from the environment; this machine may be asked without one."""
        if self.api_key_env is None:
            return None
        value = os.environ.get(self.api_key_env, "").strip()
        if not value:
            if self.endpoint.is_local:
                return None
            raise ValueError(f"the environment variable {self.api_key_env} is not set")
        if not _KEY.match(value):
            raise ValueError(f"{self.api_key_env} holds characters that no key can have")
        return value

    def secrets(self) -> Secrets:
        """What must not be written down."""
        key = self.key()
        return Secrets({} if key is None else {str(self.api_key_env): key})

    def cache_file(self) -> Path | None:
        """The file of answers, if there is to be one."""
        if self.cache is False:
            return None
        return default_file() if self.cache is True else Path(self.cache)

    @contextmanager
    def opened_cache(self) -> Iterator[AnswerCache | RunMemory]:
        """The answers of earlier times, or if these are not wanted, those of this run."""
        file = self.cache_file()
        if file is None:
            yield self._memory
        elif self.offline and not file.is_file():
            raise CacheError(f"offline, and there is no cache {file}")
        else:
            with AnswerCache.opened(file, writable=not self.offline) as cache:
                yield cache

    @property
    def ledger(self) -> Ledger:
        """The books of everything that is asked here."""
        return self._ledger

    def usage(self) -> JsonObject:
        """What the answers so far took to make: calls, tokens, cost."""
        return self._ledger.usage()

    def spent(self) -> JsonObject:
        """What was sent and paid by this process."""
        return self._ledger.spent()


def check_number(
    option: str, value: object, *, least: float, most: float | None = None, above: bool = False
) -> None:
    """Refuse a number outside of its bounds; nothing is no number."""
    if value is None:
        return
    number = isinstance(value, int | float) and not isinstance(value, bool)
    within = number and isfinite(value) and (value > least if above else value >= least)  # type: ignore[arg-type,operator]
    if not within or (most is not None and value > most):  # type: ignore[operator]
        bound = f"more than {least:g}" if above else f"at least {least:g}"
        limit = "" if most is None else f" and at most {most:g}"
        raise OptionError(option, f"must be a number of {bound}{limit}, not {value!r}")
