"""Paths in expressions, which select one value or, with `[]`, the values of all items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from fieldmark.evaluators.expressions.values import (
    EMPTY_WORDS,
    CheckResult,
    Environment,
    Value,
    describe_value,
    fault,
    not_applicable,
)
from fieldmark.evaluators.path_values import split_at_items
from fieldmark.model.json import JsonValue, Missing
from fieldmark.model.outcome import Presence
from fieldmark.values.paths import Path, append_path, parse_path, resolve
from fieldmark.values.presence import presence

Element: TypeAlias = Value | Missing | CheckResult
"""A value of a list, `MISSING`, or the reason why there is no value."""


class PathRoot(StrEnum):
    """The root of a path."""

    ITEM = "@"
    CANDIDATE = "$"
    EXPECTED = "$expected"


_ROOTS: Final[dict[PathRoot, Callable[[Environment], JsonValue]]] = {
    PathRoot.ITEM: lambda env: env.item,
    PathRoot.CANDIDATE: lambda env: env.candidate,
    PathRoot.EXPECTED: lambda env: env.expected,
}


class Elements(NamedTuple):
    """The values of a list, and a function that returns the path of a value by position."""

    values: list[Element]
    name: Callable[[int], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionPath:
    """A parsed path, split at `[]`; the first and the last part can be empty."""

    root: PathRoot
    parts: tuple[Path | None, ...]

    @property
    def is_list(self) -> bool:
        """Whether the path selects a list of values."""
        return len(self.parts) > 1

    @property
    def is_items(self) -> bool:
        """Whether the path ends with `[]` and selects whole items."""
        return self.is_list and self.parts[-1] is None

    @property
    def pattern(self) -> str:
        """The path as a pattern for documents; a path of an item may be at any depth."""
        parts = ["" if part is None else part.text for part in self.parts]
        text = parts[0]
        for part in parts[1:]:
            text = append_path(f"{text}[*]", part) if part else f"{text}[*]"
        return append_path("**", text) if text and self.root is PathRoot.ITEM else text

    def read(self, env: Environment) -> JsonValue | Missing:
        """Return the value of a path without `[]`."""
        env.spend(1)
        return _at(_ROOTS[self.root](env), self.parts[0])

    def elements(self, env: Environment) -> Elements | CheckResult:
        """Return the values of a path with `[]`; `MISSING` for items without a value."""
        found: list[tuple[tuple[int, ...], Element]] = []
        pending: list[tuple[tuple[int, ...], JsonValue]] = [((), _ROOTS[self.root](env))]
        while pending:
            indexes, value = pending.pop()
            part = _at(value, self.parts[len(indexes)])
            env.spend(1)
            if len(indexes) == len(self.parts) - 1:
                found.append((indexes, part))
            elif isinstance(part, list):
                env.spend(len(part))
                pending.extend(
                    ((*indexes, index), part[index]) for index in range(len(part) - 1, -1, -1)
                )
            elif indexes:
                found.append((indexes, self._not_a_list(indexes, part)))
            else:
                return self._not_a_list(indexes, part)
        return Elements([value for _, value in found], lambda place: self.name(found[place][0]))

    def name(self, indexes: tuple[int, ...]) -> str:
        """Return the path of one value, or of the part that is not a list."""
        text = "" if self.root is PathRoot.ITEM else self.root.value
        for depth, part in enumerate(self.parts[: len(indexes) + 1]):
            if part is not None:
                text = append_path(text, part.text)
            text += f"[{indexes[depth]}]" if depth < len(indexes) else ""
        return text or PathRoot.ITEM.value

    def _not_a_list(self, indexes: tuple[int, ...], value: JsonValue | Missing) -> CheckResult:
        name = self.name(indexes)
        state = presence(value)
        if state is Presence.VALUE:
            return fault(f"{name} is {describe_value(value)}, not a list")
        return not_applicable(f"{name} is {EMPTY_WORDS[state]}")


def parse_expression_path(text: str) -> ExpressionPath:
    """Parse a path of an expression.

    >>> path = parse_expression_path("orders[].lines[].amount")
    >>> path.is_list, path.is_items, path.name((0, 2))
    (True, False, 'orders[0].lines[2].amount')
    """
    root = PathRoot.ITEM
    for prefix in PathRoot:
        if text == prefix.value or text.startswith((f"{prefix.value}.", f"{prefix.value}[")):
            root, text = prefix, text.removeprefix(prefix.value).removeprefix(".")
            break
    pieces = split_at_items(text) if text else [""]
    parts = tuple(parse_path(piece) if piece else None for piece in pieces)
    return ExpressionPath(root=root, parts=parts)


def _at(value: JsonValue, part: Path | None) -> JsonValue | Missing:
    return value if part is None else resolve(value, part)
