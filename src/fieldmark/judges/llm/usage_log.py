"""Counts calls, tokens and cost, and enforces the budget."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final, NamedTuple

from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["Budget", "BudgetExceededError", "LlmCall", "TokenCount", "UsageLog"]

_MILLION: Final = 1_000_000


class LlmCall(NamedTuple):
    """A paid call; `measured` means that the endpoint reported the tokens itself."""

    id: str
    model: str
    input_tokens: int
    output_tokens: int
    measured: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The limits on calls, tokens and cost, and the prices per million tokens."""

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    input_price: float | None = None
    output_price: float | None = None

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """Return the cost of tokens, if the prices are known."""
        if self.input_price is None or self.output_price is None:
            return None
        return (input_tokens * self.input_price + output_tokens * self.output_price) / _MILLION


class BudgetExceededError(Exception):
    """One more call could exceed the budget."""


class TokenCount(NamedTuple):
    """Tokens of requests and of replies."""

    input_tokens: int = 0
    output_tokens: int = 0


class UsageLog:
    """The usage of one connection, thread-safe.

    The most that a call can cost is reserved before the call, so that a budget is never exceeded.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._requests = 0
        self._failed = 0
        self._replayed = 0
        self._spent = TokenCount()
        self._reserved = TokenCount()
        self._calls: dict[str, LlmCall] = {}

    def __reduce__(self) -> tuple[type[UsageLog], tuple[Budget]]:
        # Every process has a log of its own.
        return UsageLog, (self._budget,)

    def reserve(self, tokens: TokenCount) -> None:
        """Reserve the tokens of a call, or raise BudgetExceededError."""
        with self._lock:
            budget = self._budget
            if budget.calls is not None and self._requests >= budget.calls:
                raise BudgetExceededError(f"the budget of {budget.calls} calls is spent")
            total = _add(_add(self._spent, self._reserved), tokens)
            message = "one more call could exceed the budget of "
            if budget.tokens is not None and sum(total) > budget.tokens:
                raise BudgetExceededError(f"{message}{budget.tokens} tokens")
            cost = budget.price(*total)
            if budget.cost is not None and cost is not None and cost > budget.cost:
                raise BudgetExceededError(f"{message}{budget.cost:g}")
            self._requests += 1
            self._reserved = _add(self._reserved, tokens)

    def settle(self, reserved: TokenCount, paid: TokenCount, *, failed: bool = False) -> None:
        """Replace reserved tokens by those that were paid."""
        with self._lock:
            self._reserved = _add(self._reserved, TokenCount(-reserved[0], -reserved[1]))
            self._spent = _add(self._spent, paid)
            self._failed += failed

    def record_answer(self, call: LlmCall, *, replayed: bool) -> None:
        """Record the call behind an answer, which may come from the cache."""
        with self._lock:
            self._calls[call.id] = call
            self._replayed += replayed

    def usage(self) -> JsonObject:
        """Return what the answers cost when they were made: the same with a full cache."""
        with self._lock:
            calls = list(self._calls.values())
        sent = sum(call.input_tokens for call in calls)
        received = sum(call.output_tokens for call in calls)
        return {
            "calls": len(calls),
            "input_tokens": sent,
            "output_tokens": received,
            "cost": self._budget.price(sent, received),
            "estimated_calls": sum(not call.measured for call in calls),
            "models": list[JsonValue](sorted({call.model for call in calls if call.model})),
        }

    def spent(self) -> JsonObject:
        """Return what this process sent and paid."""
        with self._lock:
            return {
                "requests": self._requests,
                "failed_requests": self._failed,
                "replayed_answers": self._replayed,
                "input_tokens": self._spent.input_tokens,
                "output_tokens": self._spent.output_tokens,
                "cost": self._budget.price(*self._spent),
            }


def _add(one: TokenCount, other: TokenCount) -> TokenCount:
    return TokenCount(one[0] + other[0], one[1] + other[1])
