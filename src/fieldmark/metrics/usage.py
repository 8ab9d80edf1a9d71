"""Usage of models: calls, tokens and cost, by provider and in total."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import Final

from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["NO_USAGE", "merged_usage", "total_usage"]

_COUNTED: Final = ("calls", "input_tokens", "output_tokens", "estimated_calls")
_COST: Final = "cost"


def total_usage(asked: Sequence[JsonObject]) -> JsonObject:
    """The totals over all providers, and each of them; one unknown cost makes the total unknown.

    >>> usage = {"calls": 2, "input_tokens": 80, "output_tokens": 9, "cost": None}
    >>> total_usage([usage])["calls"], total_usage([usage])["cost"]
    (2, None)
    """
    sums: JsonObject = {name: sum(map(_integer, _values(asked, name))) for name in _COUNTED}
    costs = [each for each in _values(asked, _COST) if isinstance(each, int | float)]
    return {
        **sums,
        _COST: fsum(costs) if len(costs) == len(asked) else None,
        "asked": list[JsonValue](asked),
    }


def merged_usage(before: Sequence[JsonObject], now: Sequence[JsonObject]) -> list[JsonObject]:
    """The usage of an interrupted run, with that of its resumption added.

    >>> usage = {"name": "openai", "calls": 2, "cost": 0.5, "models": ["m"]}
    >>> merged_usage([usage], [{**usage, "calls": 3, "models": ["n"]}])
    [{'name': 'openai', 'calls': 5, 'cost': 1.0, 'models': ['m', 'n']}]
    """
    if [_identity(each) for each in before] == [_identity(each) for each in now]:
        return [_merged(*both) for both in zip(before, now, strict=True)]
    return [*before, *now]


def _identity(usage: JsonObject) -> tuple[JsonValue, JsonValue]:
    return usage.get("name"), usage.get("model")


def _merged(before: JsonObject, now: JsonObject) -> JsonObject:
    summed: JsonObject = {
        name: _integer(before.get(name)) + _integer(now.get(name))
        for name in _COUNTED
        if name in now
    }
    costs = [each.get(_COST) for each in (before, now)]
    known = [each for each in costs if isinstance(each, int | float)]
    models = {str(each) for usage in (before, now) for each in _listed(usage.get("models"))}
    return {
        **now,
        **summed,
        **({_COST: fsum(known) if len(known) == len(costs) else None} if _COST in now else {}),
        **({"models": list[JsonValue](sorted(models))} if "models" in now else {}),
    }


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _values(asked: Sequence[JsonObject], name: str) -> list[JsonValue]:
    return [each.get(name) for each in asked]


def _integer(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0


NO_USAGE: Final = total_usage([])
"""The usage of no providers: it has every figure."""
