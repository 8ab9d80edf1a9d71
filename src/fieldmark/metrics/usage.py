"""What asking models took: calls, tokens and money, of each who was asked and of all together."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import Final

from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["NO_USAGE", "merged_usage", "total_usage"]

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


def merged_usage(before: Sequence[JsonObject], now: Sequence[JsonObject]) -> list[JsonObject]:
    """The books of a run that was broken off, with those from after it went on.

    >>> books = {"name": "openai", "calls": 2, "cost": 0.5, "models": ["m"]}
    >>> merged_usage([books], [{**books, "calls": 3, "models": ["n"]}])
    [{'name': 'openai', 'calls': 5, 'cost': 1.0, 'models': ['m', 'n']}]
    """
    if [_who(each) for each in before] == [_who(each) for each in now]:
        return [_sum(*both) for both in zip(before, now, strict=True)]
    return [*before, *now]


def _who(books: JsonObject) -> tuple[JsonValue, JsonValue]:
    return books.get("name"), books.get("model")


def _sum(before: JsonObject, now: JsonObject) -> JsonObject:
    summed: JsonObject = {
        name: _whole(before.get(name)) + _whole(now.get(name)) for name in _COUNTED if name in now
    }
    costs = [each.get(_COST) for each in (before, now)]
    known = [each for each in costs if isinstance(each, int | float)]
    models = {str(each) for books in (before, now) for each in _listed(books.get("models"))}
    return {
        **now,
        **summed,
        **({_COST: fsum(known) if len(known) == len(costs) else None} if _COST in now else {}),
        **({"models": list[JsonValue](sorted(models))} if "models" in now else {}),
    }


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _told(asked: Sequence[JsonObject], name: str) -> list[JsonValue]:
    return [each.get(name) for each in asked]


def _whole(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0


NO_USAGE: Final = total_usage([])
"""What nobody who was asked takes; it names the figures that there are."""
