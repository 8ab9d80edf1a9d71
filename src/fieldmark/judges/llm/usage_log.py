"""Counts the calls and tokens of a connection, and reserves them within a budget."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from math import fsum
from typing import Final, NamedTuple, TypeAlias

from fieldmark.model.json import JsonObject, JsonValue

_Records: TypeAlias = "list[Callable[[], None]]"
_HELD: Final[ContextVar[_Records | None]] = ContextVar("held_responses", default=None)


@contextmanager
def held_responses() -> Iterator[_Records]:
    """Hold the responses that this thread receives; the yielded functions record them."""
    records: _Records = []
    before = _HELD.set(records)
    try:
        yield records
    finally:
        _HELD.reset(before)


def llm_threads(number: int) -> ThreadPoolExecutor:
    """Return threads for calls; they hold their responses if this thread does."""
    return ThreadPoolExecutor(
        number, "fieldmark-llm", initializer=_HELD.set, initargs=(_HELD.get(),)
    )


class LlmCall(NamedTuple):
    """A paid call; `measured` means that the endpoint reported its tokens.

    `seconds` is the time until the response, unless the call was made by an older version.
    """

    id: str
    model: str
    input_tokens: int
    output_tokens: int
    measured: bool = True
    seconds: float | None = None


class BudgetExceededError(Exception):
    """One more call could exceed the budget."""


class TokenCount(NamedTuple):
    """Tokens of requests and of responses."""

    input_tokens: int = 0
    output_tokens: int = 0

    def plus(self, other: TokenCount) -> TokenCount:
        """Return the sum."""
        return TokenCount(self[0] + other[0], self[1] + other[1])

    def minus(self, other: TokenCount) -> TokenCount:
        """Return the difference."""
        return TokenCount(self[0] - other[0], self[1] - other[1])


Price: TypeAlias = Callable[[TokenCount], float | None]
"""Returns the cost of tokens, if the prices are known."""


class SpentChange(NamedTuple):
    """A change of the usage: a reservation, or its correction when a call ended."""

    requests: int = 0
    failed_requests: int = 0
    tokens: TokenCount = TokenCount()
    call: str = ""


class UsageLog:
    """The usage of one connection; thread-safe.

    The maximum cost of a call is reserved before the call, so a budget is never exceeded.
    `write_change` receives every change of the usage, and `take_new` returns the calls whose
    responses were used, so that a resumed run can `restore` both. A call in flight counts with its
    maximum cost.
    """

    def __init__(self) -> None:
        self._settled = threading.Condition()
        self._requests = 0
        self._failed = 0
        self._spent = TokenCount()
        self._reserved = TokenCount()
        self._paid: set[str] = set()
        self._calls: dict[str, LlmCall] = {}
        self._new: list[LlmCall] = []
        self.write_change: Callable[[SpentChange], None] = lambda _: None

    def __reduce__(self) -> tuple[type[UsageLog], tuple[()]]:
        # Every process has its own log.
        return UsageLog, ()

    def restore(self, changes: Iterable[SpentChange], calls: Iterable[LlmCall]) -> None:
        """Add the usage of an interrupted run, and the calls whose responses it used."""
        with self._settled:
            self._calls.update((call.id, call) for call in calls)
            for change in changes:
                self._requests += change.requests
                self._failed += change.failed_requests
                self._spent = self._spent.plus(change.tokens)
                if change.call:
                    self._paid.add(change.call)

    def reserve(
        self, tokens: TokenCount, check_budget: Callable[[int, TokenCount, TokenCount], None]
    ) -> None:
        """Reserve the tokens of a call; wait while calls in flight reserve too much of the budget.

        `check_budget` receives the number of previous calls, the maximum of their tokens and the
        maximum of this call, and may raise BudgetExceededError.
        """
        with self._settled:
            while True:
                try:
                    check_budget(self._requests, self._spent.plus(self._reserved), tokens)
                    break
                except BudgetExceededError:
                    # If it is exceeded without the calls in flight, waiting is useless.
                    check_budget(self._requests, self._spent, tokens)
                self._settled.wait()
            self.write_change(SpentChange(requests=1, tokens=tokens))
            self._requests += 1
            self._reserved = self._reserved.plus(tokens)

    def settle(self, reserved: TokenCount, paid: TokenCount, call: LlmCall | None = None) -> None:
        """Replace reserved tokens with the tokens that were paid for; a failure has no call."""
        with self._settled:
            self._reserved = self._reserved.minus(reserved)
            self._spent = self._spent.plus(paid)
            self._failed += call is None
            if call is not None:
                self._paid.add(call.id)
            self._settled.notify_all()
            self.write_change(
                SpentChange(
                    failed_requests=int(call is None),
                    tokens=paid.minus(reserved),
                    call="" if call is None else call.id,
                )
            )

    def record_response(self, call: LlmCall) -> None:
        """Record the call that returned a response, which may come from the cache."""
        held = _HELD.get()
        if held is None:
            self._record(call)
        else:
            held.append(partial(self._record, call))

    def _record(self, call: LlmCall) -> None:
        with self._settled:
            if call.id not in self._calls:
                self._calls[call.id] = call
                self._new.append(call)

    def take_new(self) -> list[LlmCall]:
        """Return the calls that were recorded since the last time."""
        with self._settled:
            new, self._new = self._new, []
        return new

    def usage(self, price: Price) -> JsonObject:
        """Return the original cost of all responses, whether cached or not."""
        with self._settled:
            calls = list(self._calls.values())
        sent = sum(call.input_tokens for call in calls)
        received = sum(call.output_tokens for call in calls)
        seconds = [call.seconds for call in calls if call.seconds is not None]
        return {
            "calls": len(calls),
            "input_tokens": sent,
            "output_tokens": received,
            "cost": price(TokenCount(sent, received)),
            "seconds": round(fsum(seconds), 3) if len(seconds) == len(calls) else None,
            "estimated_calls": sum(not call.measured for call in calls),
            "models": list[JsonValue](sorted({call.model for call in calls if call.model})),
        }

    def spent(self, price: Price) -> JsonObject:
        """Return the usage and cost of calls, and the original cost of cached responses.

        Unusable responses are included.
        """
        with self._settled:
            replayed = [call for call in self._calls.values() if call.id not in self._paid]
            return {
                "requests": self._requests,
                "failed_requests": self._failed,
                "input_tokens": self._spent.input_tokens,
                "output_tokens": self._spent.output_tokens,
                "cost": price(self._spent),
                "replayed_calls": len(replayed),
                "replayed_cost": price(
                    TokenCount(
                        sum(call.input_tokens for call in replayed),
                        sum(call.output_tokens for call in replayed),
                    )
                ),
            }
