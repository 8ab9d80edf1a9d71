"""What asking models took: calls, tokens and money, of each who was asked and of all together."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import Final

from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["NO_USAGE", "total_usage"]

_COUNTED: Final = ("calls", "input_tokens", "output_tokens", "estimated_calls")
_COST: Final = "cost"


def total_usage(asked: Sequence[JsonObject]) -> JsonObject:
    """The sums over all who were asked, and each of them; a cost that one does not tell is unknown.

    >>> books = {"calls": 2, "input_tokens": 80, "output_tokens": 9, "cost": None}
    >>> total_usage([books])["calls"], total_usage([books])["cost"]
    (2, None)
    """
    sums: JsonObject = {name: sum(map(_whole, _told(asked, name))) for name in _COUNTED}
    costs = [each for each in _told(asked, _COST) if isinstance(each, int | float)]
    return {
        **sums,
        _COST: fsum(costs) if len(costs) == len(asked) else None,
        "asked": list[JsonValue](asked),
    }


def _told(asked: Sequence[JsonObject], name: str) -> list[JsonValue]:
    return [each.get(name) for each in asked]


def _whole(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0


NO_USAGE: Final = total_usage([])
"""What nobody who was asked takes; it names the figures that there are."""
