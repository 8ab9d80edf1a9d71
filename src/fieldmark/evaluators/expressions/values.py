"""Values and paths of expressions, results of conditions, and their text in reasons."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import ROUND_HALF_UP, Context, Decimal
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from fieldmark.evaluators.path_values import split_at_items
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.outcome import Presence
from fieldmark.values.dates import read_day
from fieldmark.values.equality import integer_text
from fieldmark.values.numbers import as_number
from fieldmark.values.paths import Path, append_path, parse_path, resolve
from fieldmark.values.presence import presence
from fieldmark.values.text import plural, shorten

Value: TypeAlias = JsonValue | Decimal | date
"""The value of an operand."""

MAX_STEPS: Final = 2_000_000
"""Enough to read a large document once, but not once for each item."""


# --- results of conditions ------------------------------------------------------------------------


class Truth(StrEnum):
    """The truth value of a condition."""

    TRUE = "true"
    FALSE = "false"
    FAULT = "fault"
    NOT_APPLICABLE = "not_applicable"


class CheckResult(NamedTuple):
    """The result of a condition, the reason if it is not true, and the two compared values.

    Also the result of an operand without a value, with the reason.
    """

    truth: Truth
    reason: str = ""
    left: Value | Missing = MISSING
    right: Value | Missing = MISSING


HOLDS: Final = CheckResult(Truth.TRUE)

# Combined conditions have the result with the lowest rank. A fault never becomes true by
# combination or negation, and a condition that does not apply never overrides one that does.
_AND_RANK: Final = {Truth.FALSE: 0, Truth.FAULT: 1, Truth.NOT_APPLICABLE: 2, Truth.TRUE: 3}
_OR_RANK: Final = {Truth.TRUE: 0, Truth.FAULT: 1, Truth.NOT_APPLICABLE: 2, Truth.FALSE: 3}


def all_of(results: Iterable[CheckResult]) -> CheckResult:
    """Return the result of conditions combined with `and`.

    >>> all_of([HOLDS, not_applicable("a is missing")]).truth
    <Truth.NOT_APPLICABLE: 'not_applicable'>
    """
    return min(results, key=lambda result: _AND_RANK[result.truth])


def any_of(results: Iterable[CheckResult]) -> CheckResult:
    """Return the result of conditions combined with `or`."""
    return min(results, key=lambda result: _OR_RANK[result.truth])


def worst(*values: object) -> CheckResult:
    """Return why one of the values is undefined; a fault takes precedence over a missing value."""
    return all_of(value for value in values if isinstance(value, CheckResult))


def fails(reason: str) -> CheckResult:
    """Return the result of a condition that does not hold."""
    return CheckResult(Truth.FALSE, reason)


def fault(reason: str) -> CheckResult:
    """Return the result for values of the wrong type."""
    return CheckResult(Truth.FAULT, reason)


def not_applicable(reason: str) -> CheckResult:
    """Return the result for missing values: the condition does not apply."""
    return CheckResult(Truth.NOT_APPLICABLE, reason)


# --- the documents --------------------------------------------------------------------------------


class TooManySteps(Exception):
    """Checking a constraint would take too long for this document."""


@dataclass(slots=True)
class Environment:
    """The documents that paths refer to, the current item, and the number of steps left."""

    expected: JsonValue
    candidate: JsonValue
    item: JsonValue
    _steps: list[int] = field(default_factory=lambda: [MAX_STEPS])

    def within(self, item: JsonValue) -> Environment:
        """Return the same environment with paths relative to an item."""
        return Environment(self.expected, self.candidate, item, self._steps)

    def spend(self, steps: int) -> None:
        """Use up steps; raise `TooManySteps` if none are left."""
        self._steps[0] -= steps
        if self._steps[0] < 0:
            raise TooManySteps

    def spend_size(self, value: Value) -> None:
        """Use up the steps for reading a whole value."""
        pending: list[JsonValue] = [value] if isinstance(value, (list, dict)) else []
        if isinstance(value, str):
            self.spend(len(value) // 1_000)
        while pending:
            item = pending.pop()
            self.spend(1)
            if isinstance(item, dict):
                pending.extend(item.values())
            elif isinstance(item, list):
                pending.extend(item)


# --- values ---------------------------------------------------------------------------------------

CONTEXT: Final = Context(
    prec=100, rounding=ROUND_HALF_UP, Emin=-9_999, Emax=9_999, flags=[], traps=[]
)
"""100 digits, far more than any amount has; results out of range become infinite."""

_MAX_BITS: Final = 3_400
"""About 1,000 digits; longer integers are identifiers, not amounts."""

EMPTY_WORDS: Final[Mapping[Presence, str]] = {
    Presence.ABSENT: "missing",
    Presence.NULL: "null",
    Presence.BLANK: "blank",
}


def present(name: str, value: Value | Missing | CheckResult) -> Value | CheckResult:
    """Return a value that is present, or why there is none."""
    if isinstance(value, CheckResult):
        return value
    if value is MISSING or value is None or isinstance(value, str):
        state = presence(value)
        if state is not Presence.VALUE:
            return not_applicable(f"{name} is {EMPTY_WORDS[state]}")
    return value  # type: ignore[return-value]  # MISSING was handled above


def to_decimal(value: Value) -> Decimal | None:
    """Return the exact number of a value or a plain numeric string.

    >>> to_decimal(0.1), to_decimal("12.50"), to_decimal("12,50")
    (Decimal('0.1'), Decimal('12.50'), None)
    """
    if isinstance(value, Decimal):
        return value
    if not isinstance(value, (int, float, str)):
        return None
    number = as_number(value)
    if isinstance(number, float):
        return Decimal(repr(number))
    if isinstance(number, int):
        return Decimal(number) if number.bit_length() <= _MAX_BITS else None
    return number


def number_of(name: str, value: Value | CheckResult) -> Decimal | CheckResult:
    """Return the number of a value, or a fault that names the value."""
    if isinstance(value, CheckResult):
        return value
    number = to_decimal(value)
    return fault(f"{name} is {describe_value(value)}, not a number") if number is None else number


def day_of(name: str, value: Value) -> date | CheckResult:
    """Return the date of a value, or a fault that names the value."""
    if isinstance(value, date):
        return value
    reading = read_day(value) if isinstance(value, str) else None
    if reading is None:
        return fault(f"{name} is {describe_value(value)}, not a date")
    return reading.day


def check_range(number: Decimal, text: str) -> Decimal | CheckResult:
    """Return the result of a calculation, or a fault if it is out of range."""
    return number if number.is_finite() else fault(f"{text} is too large")


def divide(number: Decimal, divisor: Decimal, text: str) -> Decimal | CheckResult:
    """Return the quotient of two numbers, or a fault if the divisor is zero."""
    if not divisor:
        return fault(f"{text} divides by zero")
    return check_range(CONTEXT.divide(number, divisor), text)


# --- values as text -------------------------------------------------------------------------------

_MAX_SHOWN: Final = 60
_MAX_DIGITS: Final = 30


def format_value(value: Value | Missing) -> str:
    """Return a short text: strings in quotes, numbers as written, containers by their size.

    >>> format_value("ab"), format_value(Decimal("118.00")), format_value([1, 2])
    ('"ab"', '118.00', 'a list of 2 items')
    """
    if isinstance(value, str):
        return json.dumps(shorten(value, _MAX_SHOWN), ensure_ascii=False)
    if isinstance(value, Decimal):
        return _number_text(value)
    if isinstance(value, list):
        return f"a list of {plural(len(value), 'item')}"
    if isinstance(value, dict):
        return f"an object with {plural(len(value), 'key')}"
    if isinstance(value, date):
        return value.isoformat()
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return shorten(integer_text(value), _MAX_SHOWN) if type(value) is int else str(value)


def describe_value(value: Value | Missing) -> str:
    """Describe a value for a message that another type is required.

    >>> describe_value("abc"), describe_value(None), describe_value({})
    ('the string "abc"', 'null', 'an object')
    """
    if isinstance(value, str):
        return f"the string {format_value(value)}"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, date):
        return f"the date {format_value(value)}"
    return "missing" if value is MISSING else format_value(value)


def value_to_json(value: Value | Missing) -> JsonValue:
    """Return a value for the details; a number that no float can represent is a string."""
    if isinstance(value, Decimal):
        number = float(value)
        return number if Decimal(repr(number)) == value else _number_text(value)
    if isinstance(value, str):
        return shorten(value, _MAX_SHOWN)
    if value is None or isinstance(value, (bool, float)):
        return value
    return None if value is MISSING else format_value(value)


def _number_text(number: Decimal) -> str:
    plain = abs(number.adjusted()) <= _MAX_DIGITS
    return shorten(f"{number:f}" if plain else str(number), _MAX_SHOWN)


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
        elements: list[tuple[tuple[int, ...], Element]] = []
        pending: list[tuple[tuple[int, ...], JsonValue]] = [((), _ROOTS[self.root](env))]
        while pending:
            indexes, value = pending.pop()
            part = _at(value, self.parts[len(indexes)])
            env.spend(1)
            if len(indexes) == len(self.parts) - 1:
                elements.append((indexes, part))
            elif isinstance(part, list):
                env.spend(len(part))
                pending.extend(
                    ((*indexes, index), part[index]) for index in range(len(part) - 1, -1, -1)
                )
            elif indexes:
                elements.append((indexes, self._not_a_list(indexes, part)))
            else:
                return self._not_a_list(indexes, part)
        return Elements(
            [value for _, value in elements], lambda index: self.name(elements[index][0])
        )

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
