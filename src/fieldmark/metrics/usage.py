"""Usage of models: calls, tokens and cost, by provider and in total."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import Final

from fieldmark.model.json import JsonObject, JsonValue

_COUNTED: Final = ("calls", "input_tokens", "output_tokens", "estimated_calls")
_SPENT: Final = (
    "requests", "failed_requests", "input_tokens", "output_tokens", "replayed_calls",
)  # fmt: skip


def total_usage(providers: Sequence[JsonObject]) -> JsonObject:
    """Return the totals over all providers, and each provider.

    If one cost is unknown, the total cost is unknown.

    >>> usage = {"calls": 2, "input_tokens": 80, "output_tokens": 9, "cost": None}
    >>> total_usage([usage])["calls"], total_usage([usage])["cost"]
    (2, None)
    """
    return {
        **{name: _total(providers, name) for name in _COUNTED},
        "cost": _known_total(providers),
        "seconds": _known_total(providers, "seconds"),
        "asked": list[JsonValue](providers),
    }


def total_spent(providers: Sequence[JsonObject]) -> JsonObject:
    """Return what was paid in total and for each provider, and the original cost of the rest.

    >>> spent = {"requests": 2, "cost": 0.5, "replayed_calls": 1, "replayed_cost": 0.25}
    >>> total_spent([spent, spent])["cost"], total_spent([spent, spent])["replayed_cost"]
    (1.0, 0.5)
    """
    return {
        **{name: _total(providers, name) for name in _SPENT},
        "cost": _known_total(providers),
        "replayed_cost": _known_total(providers, "replayed_cost"),
        "asked": list[JsonValue](providers),
    }


def _total(usages: Sequence[JsonObject], name: str) -> int:
    return sum(value for each in usages if isinstance(value := each.get(name), int))


def _known_total(usages: Sequence[JsonObject], name: str = "cost") -> float | None:
    """Return the sum of all costs or times if all are known, else `None`."""
    known = [value for each in usages if isinstance(value := each.get(name), int | float)]
    return fsum(known) if len(known) == len(usages) else None


NO_USAGE: Final = total_usage([])
"""The usage of no providers, with all keys."""
NO_SPENT: Final = total_spent([])
"""The cost of no providers, with all keys."""
