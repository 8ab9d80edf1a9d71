"""Paths inside expressions: one value, or with `[]` the values of all items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from fieldmark.evaluators.expressions.findings import (
    Finding,
    Scope,
    Value,
    fault,
    not_applicable,
)
from fieldmark.evaluators.expressions.wording import ABSENCES, described
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.outcome import Presence
from fieldmark.values.paths import ANY_ITEM, Path, parse_path, resolve
from fieldmark.values.presence import presence

__all__ = ["Element", "Elements", "Place", "parse_place", "present"]

Element: TypeAlias = Value | Missing | Finding
"""A value of a list, nothing at all, or why there is no telling."""


class Root(StrEnum):
    """Where a path begins."""

    ITEM = "@"
    CANDIDATE = "$"
    EXPECTED = "$expected"


class Elements(NamedTuple):
    """The values of a list, and how each of them is called."""

    values: list[Element]
    named: Callable[[int], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A path that was parsed: the parts between its `[]`, of which the first and last may be empty.

    `of_items` says that it ends with `[]`: that it stands for the items themselves.
    """

    text: str
    root: Root
    parts: tuple[Path | None, ...]

    @property
    def many(self) -> bool:
        """Whether it stands for a list of values."""
        return len(self.parts) > 1

    @property
    def of_items(self) -> bool:
        """Whether it stands for whole items."""
        return self.many and self.parts[-1] is None

    def read(self, scope: Scope) -> JsonValue | Missing:
        """The value of a path without `[]`."""
        scope.spend(1)
        return _at(_ROOTS[self.root](scope), self.parts[0])

    def elements(self, scope: Scope) -> Elements | Finding:
        """The values of a path with `[]`; an item that has none is there without a value."""
        found: list[tuple[tuple[int, ...], Element]] = []
        pending: list[tuple[tuple[int, ...], JsonValue]] = [((), _ROOTS[self.root](scope))]
        while pending:
            indexes, value = pending.pop()
            part = _at(value, self.parts[len(indexes)])
            scope.spend(1)
            if len(indexes) == len(self.parts) - 1:
                found.append((indexes, part))
            elif isinstance(part, list):
                scope.spend(len(part))
                pending.extend(
                    ((*indexes, index), part[index]) for index in range(len(part) - 1, -1, -1)
                )
            elif indexes:
                found.append((indexes, self._no_list(indexes, part)))
            else:
                return self._no_list(indexes, part)
        return Elements([value for _, value in found], lambda place: self.named(found[place][0]))

    def named(self, indexes: tuple[int, ...]) -> str:
        """The path of one value, down to the list that could not be entered."""
        text = "" if self.root is Root.ITEM else self.root.value
        for depth, part in enumerate(self.parts[: len(indexes) + 1]):
            if part is not None:
                text += part.text if not text or part.text.startswith("[") else f".{part.text}"
            text += f"[{indexes[depth]}]" if depth < len(indexes) else ""
        return text or Root.ITEM.value

    def _no_list(self, indexes: tuple[int, ...], value: JsonValue | Missing) -> Finding:
        name = self.named(indexes)
        state = presence(value)
        if state is Presence.VALUE:
            return fault(f"{name} is {described(value)}, not a list")
        return not_applicable(f"{name} is {ABSENCES[state]}")


def present(name: str, value: Element) -> Value | Finding:
    """A value that is there; one that is empty is a reason not to go on."""
    if isinstance(value, Finding):
        return value
    if value is MISSING or value is None or isinstance(value, str):
        state = presence(value)
        if state is not Presence.VALUE:
            return not_applicable(f"{name} is {ABSENCES[state]}")
    # What is missing was answered above.
    return value  # type: ignore[return-value]


def parse_place(text: str) -> Place:
    """A path as an expression writes it.

    >>> place = parse_place("orders[].lines[].amount")
    >>> place.many, place.of_items, place.named((0, 2))
    (True, False, 'orders[0].lines[2].amount')
    """
    root = next(
        (root for root in (Root.EXPECTED, Root.CANDIDATE, Root.ITEM) if _begins(text, root)), None
    )
    rest = text.removeprefix(root.value).removeprefix(".") if root else text
    return Place(text=text, root=root or Root.ITEM, parts=_parts(rest))


def _begins(text: str, root: Root) -> bool:
    return text == root.value or text.startswith((f"{root.value}.", f"{root.value}["))


def _parts(text: str) -> tuple[Path | None, ...]:
    if not text:
        return (None,)
    path = parse_path(text)
    parts: list[Path | None] = []
    begin = 0
    for place, segment in enumerate(path.segments):
        if segment is ANY_ITEM:
            parts.append(_part(path, begin, place))
            begin = place + 1
    return *parts, _part(path, begin, len(path.segments))


def _part(path: Path, begin: int, end: int) -> Path | None:
    """The steps of a path from one place up to another as a path of their own."""
    if begin == end:
        return None
    text = path.tails[begin]
    if end < len(path.tails):
        text = text.removesuffix(path.tails[end])
    return parse_path(text)


def _at(value: JsonValue, part: Path | None) -> JsonValue | Missing:
    return value if part is None else resolve(value, part)


_ROOTS: Final[dict[Root, Callable[[Scope], JsonValue]]] = {
    Root.ITEM: lambda scope: scope.item,
    Root.CANDIDATE: lambda scope: scope.candidate,
    Root.EXPECTED: lambda scope: scope.expected,
}
