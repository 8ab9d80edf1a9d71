"""What a report is made of: a run that was stored, as far as a reader of it can see."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from fieldmark.model.json import JsonObject, JsonValue, Missing
from fieldmark.model.outcomes import AttributeTable, Outcomes

__all__ = ["Figure", "ShownCase", "ShownRun", "figure", "listed", "mapping", "pairs_of", "whole"]

Figure: TypeAlias = float | int | None


class ShownCase(Protocol):
    """One stored case. Nothing in it is trusted to be right."""

    @property
    def id(self) -> str:
        """The name of the case."""
        ...

    @property
    def score(self) -> float | None:
        """What it earned, unless it could not be scored."""
        ...

    @property
    def verdict(self) -> str | None:
        """Pass, partial or fail."""
        ...

    @property
    def status(self) -> str:
        """Whether something could not be compared."""
        ...

    @property
    def block(self) -> Outcomes:
        """Its outcomes."""
        ...

    @property
    def table(self) -> AttributeTable:
        """The attributes that its outcomes name."""
        ...

    @property
    def expected(self) -> JsonValue | Missing:
        """The truth, if it was kept."""
        ...

    @property
    def candidate(self) -> JsonValue | Missing:
        """What was extracted, if there is such a thing and it was kept."""
        ...

    @property
    def input(self) -> str:
        """How the candidate was read."""
        ...

    @property
    def note(self) -> str:
        """Why it could not be read."""
        ...

    @property
    def tags(self) -> tuple[str, ...]:
        """Words to choose cases by."""
        ...

    @property
    def row(self) -> JsonObject:
        """All that was written of it."""
        ...

    @property
    def evaluator_results(self) -> list[JsonObject]:
        """What each evaluator said."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRun:
    """A finished run: its name, its two documents, and a way to read its cases from the start."""

    name: str
    manifest: JsonObject
    summary: JsonObject
    cases: Callable[[], Iterable[ShownCase]]


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
