"""What a report is made of: a run that was stored, as far as a reader of it can see."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fieldmark.model.json import JsonObject, JsonValue, Missing
from fieldmark.model.outcomes import Attribute
from fieldmark.wire.case_result import CaseResult

__all__ = ["Figure", "ShownRun", "figure", "listed", "mapping", "pairs_of", "whole"]

Figure: TypeAlias = float | int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRun:
    """A finished run: its name, its two documents, and a way to read its cases from the start."""

    name: str
    manifest: JsonObject
    summary: JsonObject
    cases: Callable[[], Iterable[CaseResult]]
    attributes: Sequence[Attribute] = ()


def mapping(value: JsonValue | Missing) -> JsonObject:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: JsonValue | Missing) -> list[JsonValue]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def figure(value: JsonValue | Missing) -> Figure:
    """The value if it is a number, else undefined."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def whole(value: JsonValue | Missing) -> int:
    """The value if it is a whole number, else none of anything."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def pairs_of(value: JsonObject) -> list[JsonValue]:
    """An object as a list of pairs: names from data are never keys of the view."""
    return [[key, inner] for key, inner in value.items()]
