"""By what a candidate is judged: a rubric, or named criteria with weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final

from fieldmark.errors import OptionError
from fieldmark.model.json import JsonValue

__all__ = ["Criterion", "read_criteria"]

RUBRIC: Final = "rubric"
_KEYS: Final = frozenset({"name", "text", "weight"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One thing that a candidate is judged by."""

    name: str
    text: str
    weight: float = 1.0


def read_criteria(
    rubric: str | None, criteria: Sequence[Mapping[str, JsonValue]]
) -> tuple[Criterion, ...]:
    """The criteria that options ask for: a rubric alone is the only one.

    >>> [criterion.name for criterion in read_criteria("Is it polite?", [])]
    ['rubric']
    """
    if rubric is not None and criteria:
        raise OptionError("criteria", "give either a rubric or criteria")
    if rubric is not None:
        if not rubric.strip():
            raise OptionError("rubric", "must say what is judged")
        return (Criterion(name=RUBRIC, text=rubric),)
    if not criteria:
        raise OptionError("rubric", "is needed, or criteria are")
    found = tuple(map(_criterion, criteria))
    if len({criterion.name for criterion in found}) != len(found):
        raise OptionError("criteria", "must not name a criterion twice")
    if not sum(criterion.weight for criterion in found) > 0:
        raise OptionError("criteria", "must have a weight above 0 in total")
    return found


def _criterion(given: Mapping[str, JsonValue]) -> Criterion:
    unknown = sorted(set(given) - _KEYS)
    if unknown:
        raise OptionError("criteria", f"unknown key {unknown[0]}; there are name, text and weight")
    name, text, weight = given.get("name"), given.get("text"), given.get("weight", 1.0)
    if not isinstance(name, str) or not isinstance(text, str) or not name.strip() or not text:
        raise OptionError("criteria", "each needs a name and a text")
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise OptionError("criteria", f"the weight of {name} must be a number")
    if not (isfinite(weight) and weight >= 0):
        raise OptionError("criteria", f"the weight of {name} must be at least 0")
    return Criterion(name=name, text=text, weight=float(weight))
