"""What was asked, what it cost, and whether more may be asked."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final, NamedTuple

from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["Budget", "BudgetSpentError", "Call", "Ledger", "Reserved"]

_MILLION: Final = 1_000_000


class Call(NamedTuple):
    """One reply that was paid for; `measured` says that the endpoint told the tokens itself."""

    id: str
    model: str
    input_tokens: int
    output_tokens: int
    measured: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most that may be spent, and what a million tokens cost."""

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    input_price: float | None = None
    output_price: float | None = None

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """What tokens cost, if prices are known."""
        if self.input_price is None or self.output_price is None:
            return None
        return (input_tokens * self.input_price + output_tokens * self.output_price) / _MILLION


class BudgetSpentError(Exception):
    """One more call could cost more than may be spent."""


class Reserved(NamedTuple):
    """The most tokens that a call under way can cost."""

    input_tokens: int
    output_tokens: int


class Ledger:
    """Keeps the books of one judge; several threads may write into it.

    Before a call the most that it can cost is set aside, so that no budget is ever exceeded.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._calls = 0
        self._failed = 0
        self._replayed = 0
        self._spent = Reserved(0, 0)
        self._under_way = Reserved(0, 0)
        self._behind: dict[str, Call] = {}

    def __reduce__(self) -> tuple[type[Ledger], tuple[Budget]]:
        # Another process keeps books of its own.
        return Ledger, (self._budget,)

    def reserve(self, most: Reserved) -> None:
        """Set aside what a call can cost; refused if that is more than what is left."""
        with self._lock:
            told = self._exceeded(most)
            if told:
                raise BudgetSpentError(told)
            self._calls += 1
            self._under_way = _sum(self._under_way, most)

    def settle(self, most: Reserved, paid: Reserved, *, failed: bool = False) -> None:
        """Replace what was set aside by what was paid."""
        with self._lock:
            self._under_way = _sum(self._under_way, Reserved(-most[0], -most[1]))
            self._spent = _sum(self._spent, paid)
            self._failed += failed

    def answered(self, call: Call, *, replayed: bool) -> None:
        """Note that an answer rests on a call, of now or of an earlier time."""
        with self._lock:
            self._behind[call.id] = call
            self._replayed += replayed

    def usage(self) -> JsonObject:
        """What the answers took to make, whenever that was: the same in every replay."""
        with self._lock:
            calls = list(self._behind.values())
        sent, got = (sum(call.input_tokens for call in calls), sum(c.output_tokens for c in calls))
        return {
            "calls": len(calls),
            "input_tokens": sent,
            "output_tokens": got,
            "cost": self._budget.price(sent, got),
            "estimated_calls": sum(not call.measured for call in calls),
            "models": list[JsonValue](sorted({call.model for call in calls if call.model})),
        }

    def spent(self) -> JsonObject:
        """What was sent and paid this time."""
        with self._lock:
            return {
                "requests": self._calls,
                "failed_requests": self._failed,
                "replayed_answers": self._replayed,
                "input_tokens": self._spent.input_tokens,
                "output_tokens": self._spent.output_tokens,
                "cost": self._budget.price(*self._spent),
            }

    def _exceeded(self, most: Reserved) -> str:
        budget = self._budget
        if budget.calls is not None and self._calls >= budget.calls:
            return f"the budget of {budget.calls} calls is spent"
        tokens = _sum(_sum(self._spent, self._under_way), most)
        if budget.tokens is not None and sum(tokens) > budget.tokens:
            return f"one more call could exceed the budget of {budget.tokens} tokens"
        cost = budget.price(*tokens)
        if budget.cost is not None and cost is not None and cost > budget.cost:
            return f"one more call could exceed the budget of {budget.cost:g}"
        return ""


def _sum(one: Reserved, other: Reserved) -> Reserved:
    return Reserved(one[0] + other[0], one[1] + other[1])
