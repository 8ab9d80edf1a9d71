"""Counts the calls and tokens of a connection, and reserves them within a budget."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["BudgetExceededError", "LlmCall", "TokenCount", "UsageLog"]


class LlmCall(NamedTuple):
    """A paid call; `measured` means that the endpoint reported its tokens."""

    id: str
    model: str
    input_tokens: int
    output_tokens: int
    measured: bool = True


class BudgetExceededError(Exception):
    """One more call could exceed the budget."""


class TokenCount(NamedTuple):
    """Tokens of requests and of responses."""

    input_tokens: int = 0
    output_tokens: int = 0


Price: TypeAlias = Callable[[TokenCount], float | None]
"""Returns the cost of tokens, if the prices are known."""


class UsageLog:
    """The usage of one connection; thread-safe.

    The maximum cost of a call is reserved before the call, so a budget is never exceeded.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests = 0
        self._failed = 0
        self._replayed = 0
        self._spent = TokenCount()
        self._reserved = TokenCount()
        self._calls: dict[str, LlmCall] = {}

    def __reduce__(self) -> tuple[type[UsageLog], tuple[()]]:
        # Every process has its own log.
        return UsageLog, ()

    def reserve(self, tokens: TokenCount, check_budget: Callable[[int, TokenCount], None]) -> None:
        """Reserve the tokens of a call.

        `check_budget` receives the number of previous calls and the maximum number of tokens,
        including this call, and may raise BudgetExceededError.
        """
        with self._lock:
            check_budget(self._requests, _add(_add(self._spent, self._reserved), tokens))
            self._requests += 1
            self._reserved = _add(self._reserved, tokens)

    def settle(self, reserved: TokenCount, paid: TokenCount, *, failed: bool = False) -> None:
        """Replace reserved tokens with the ones that were paid for."""
        with self._lock:
            self._reserved = _add(self._reserved, TokenCount(-reserved[0], -reserved[1]))
            self._spent = _add(self._spent, paid)
            self._failed += failed

    def record_response(self, call: LlmCall, *, replayed: bool) -> None:
        """Record the call that returned a response, which may come from the cache."""
        with self._lock:
            self._calls[call.id] = call
            self._replayed += replayed

    def usage(self, price: Price) -> JsonObject:
        """Return the original cost of all responses, whether cached or not."""
        with self._lock:
            calls = list(self._calls.values())
        sent = sum(call.input_tokens for call in calls)
        received = sum(call.output_tokens for call in calls)
        return {
            "calls": len(calls),
            "input_tokens": sent,
            "output_tokens": received,
            "cost": price(TokenCount(sent, received)),
            "estimated_calls": sum(not call.measured for call in calls),
            "models": list[JsonValue](sorted({call.model for call in calls if call.model})),
        }

    def spent(self, price: Price) -> JsonObject:
        """Return what this process actually sent and paid for."""
        with self._lock:
            return {
                "requests": self._requests,
                "failed_requests": self._failed,
                "replayed_answers": self._replayed,
                "input_tokens": self._spent.input_tokens,
                "output_tokens": self._spent.output_tokens,
                "cost": price(self._spent),
            }


def _add(one: TokenCount, other: TokenCount) -> TokenCount:
    return TokenCount(one[0] + other[0], one[1] + other[1])
