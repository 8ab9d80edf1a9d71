"""Constraints and descriptions of a value, in the annotation of its type.

    threshold: Annotated[float, Range(ge=0, le=1)] = 0.85
    path: Annotated[str, Length(ge=1)]
    match: Annotated[str, Choices(names_of_comparators)]

Options of strategies and of runs, and the fields of stored records, are declared in this way once.
Readers of annotations get the type without `Annotated`, problems and the JSON Schema from here.
"""

from __future__ import annotations

import math
import re
import types
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Final, Protocol, TypeAlias, Union, cast, get_args, get_origin

from fieldmark.errors import with_hint
from fieldmark.model.json import JsonObject
from fieldmark.values.presence import is_blank
from fieldmark.values.text import did_you_mean

__all__ = [
    "Choices",
    "CommandLine",
    "Constraint",
    "Description",
    "Distinct",
    "Length",
    "NonNegativeFloat",
    "NonNegativeInt",
    "NotBlank",
    "Pattern",
    "PositiveFloat",
    "PositiveInt",
    "Range",
    "Share",
    "arms_of",
    "constraints_of",
    "description_of",
    "is_command_line",
    "is_union",
    "metadata_of",
    "problem_of",
    "without_metadata",
]

_MAX_BITS: Final = 120
"""Longer integers are not shown in messages."""


class Constraint(Protocol):
    """A limit on the values of a type."""

    def problem(self, value: object) -> str:
        """Return the problem of a value, or an empty string."""
        ...

    def to_schema(self) -> JsonObject:
        """Return the keywords of JSON Schema for the constraint."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A finite number in a range; `gt` is not part of it.

    >>> Range(ge=0, le=1).problem(1.5)
    'must be a number from 0 to 1, got 1.5'
    >>> Range(gt=0).problem(0)
    'must be a number greater than 0, got 0'
    """

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    noun: str = "a number"

    def problem(self, value: object) -> str:
        """Return the problem of a value, or an empty string."""
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            within = (
                (isinstance(value, int) or math.isfinite(value))
                and (self.ge is None or value >= self.ge)
                and (self.gt is None or value > self.gt)
                and (self.le is None or value <= self.le)
            )
            if within:
                return ""
        limits = " and ".join(self._limits())
        long = isinstance(value, int) and value.bit_length() > _MAX_BITS
        shown = "a long number" if long else repr(value)
        return f"must be {self.noun} {limits}".rstrip() + f", got {shown}"

    def _limits(self) -> Iterator[str]:
        if self.ge is not None and self.le is not None:
            yield f"from {_number(self.ge)} to {_number(self.le)}"
        elif self.ge is not None:
            yield f"of at least {_number(self.ge)}"
        if self.gt is not None:
            yield f"greater than {_number(self.gt)}"
        if self.le is not None and self.ge is None:
            yield f"{'' if self.gt is not None else 'of '}at most {_number(self.le)}"

    def to_schema(self) -> JsonObject:
        """Return the keywords of JSON Schema for the constraint."""
        keywords = {
            "minimum": self.ge,
            "exclusiveMinimum": self.gt,
            "maximum": self.le,
        }
        return {name: limit for name, limit in keywords.items() if limit is not None}


def _number(limit: float) -> str:
    return str(limit) if isinstance(limit, int) else f"{limit:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """The length of a string or a list.

    >>> Length(ge=1, noun="field").problem(())
    'must contain at least one field'
    """

    ge: int | None = None
    le: int | None = None
    noun: str = "item"

    def problem(self, value: object) -> str:
        """Return the problem of a value, or an empty string."""
        if not isinstance(value, Sized):
            return ""
        nouns = "characters" if isinstance(value, str) else f"{self.noun}s"
        if self.ge is not None and self.ge == self.le != len(value):
            return f"must have exactly {self.ge:,} {nouns}"
        if self.ge is not None and len(value) < self.ge:
            if isinstance(value, str) and self.ge == 1:
                return "must not be empty"
            least = f"one {self.noun}" if self.ge == 1 else f"{self.ge:,} {nouns}"
            return f"must contain at least {least}"
        if self.le is not None and len(value) > self.le:
            return f"must have at most {self.le:,} {nouns}"
        return ""

    def to_schema(self) -> JsonObject:
        """Return the keywords of JSON Schema, for lists."""
        limits = {"minItems": self.ge, "maxItems": self.le}
        return {name: limit for name, limit in limits.items() if limit is not None}


@dataclass(frozen=True, slots=True)
class Choices:
    """One of several names, or of the names that a function returns: of plug-ins, for example.

    `canonical` returns the name that another spelling stands for, if other spellings are accepted.

    >>> Choices(["exact", "fuzzy"]).problem("fuzy")
    "must be one of: exact, fuzzy; got 'fuzy'; did you mean 'fuzzy'?"
    """

    source: Iterable[str] | Callable[[], Iterable[str]]
    canonical: Callable[[str], str | None] = field(default=lambda _: None, repr=False)

    def names(self) -> list[str]:
        """Return the names, which are asked for when they are needed."""
        # The members of an enum are its names, although it can be called.
        source = self.source if isinstance(self.source, Iterable) else self.source()
        return [str(name) for name in source]

    def problem(self, value: object) -> str:
        """Return the problem of a value, or an empty string."""
        known = self.names()
        if value in known or (isinstance(value, str) and self.canonical(value) is not None):
            return ""
        hint = did_you_mean(value, known) if isinstance(value, str) else ""
        return with_hint(f"must be one of: {', '.join(known)}; got {value!r}", hint)

    def to_schema(self) -> JsonObject:
        """Return the names, as JSON Schema."""
        return {"enum": [*self.names()]}


@dataclass(frozen=True, slots=True)
class Description:
    """The meaning of a value, for the JSON Schema."""

    text: str


@dataclass(frozen=True, slots=True)
class Pattern:
    """A string that matches a regular expression as a whole.

    The message never shows the value, which may be a secret in the wrong place.

    >>> Pattern("[A-Z]+", "must be a word in capitals").problem("a")
    'must be a word in capitals'
    """

    pattern: str
    message: str

    def problem(self, value: object) -> str:
        """Return the problem of a value, or an empty string."""
        matches = isinstance(value, str) and re.fullmatch(self.pattern, value)
        return "" if matches else self.message

    def to_schema(self) -> JsonObject:
        """Return the keywords of JSON Schema for the constraint."""
        return {"pattern": f"^(?:{self.pattern})$"}


@dataclass(frozen=True, slots=True)
class NotBlank:
    """A string that is not empty and not only whitespace.

    >>> NotBlank().problem("  ")
    'must not be blank'
    """

    message: str = "must not be blank"

    def problem(self, value: object) -> str:
        """Return the problem of a value, or an empty string."""
        return self.message if isinstance(value, str) and is_blank(value) else ""

    def to_schema(self) -> JsonObject:
        """Return the keywords of JSON Schema for the constraint."""
        return {"pattern": r"\S"}


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A program and its arguments, which are not passed to a shell.

    >>> CommandLine().problem([""])
    'must name a program'
    """

    def problem(self, value: object) -> str:
        """Return the problem of a value, or an empty string."""
        words = value if isinstance(value, list | tuple) else []
        if not words or not words[0]:
            return "must name a program"
        if any("\0" in word for word in words):
            return "must not contain NUL characters"
        return ""

    def to_schema(self) -> JsonObject:
        """Return the keywords of JSON Schema for the constraint."""
        return {"minItems": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Distinct:
    """A list without duplicates.

    >>> Distinct(noun="field").problem(["a", "b", "a"])
    'must not contain duplicate fields'
    """

    noun: str = "item"

    def problem(self, value: object) -> str:
        """Return the problem of a value, or an empty string."""
        items = value if isinstance(value, list | tuple) else ()
        return "" if len(set(items)) == len(items) else f"must not contain duplicate {self.noun}s"

    def to_schema(self) -> JsonObject:
        """Return the keywords of JSON Schema for the constraint."""
        return {"uniqueItems": True}


Share: TypeAlias = Annotated[float, Range(ge=0, le=1)]
NonNegativeFloat: TypeAlias = Annotated[float, Range(ge=0)]
PositiveFloat: TypeAlias = Annotated[float, Range(gt=0)]
NonNegativeInt: TypeAlias = Annotated[int, Range(ge=0)]
PositiveInt: TypeAlias = Annotated[int, Range(ge=1)]


def is_command_line(annotation: object) -> bool:
    """Whether values are a program and its arguments."""
    return any(isinstance(constraint, CommandLine) for constraint in constraints_of(annotation))


def without_metadata(annotation: object) -> object:
    """Return a type without what `Annotated` adds to it.

    >>> without_metadata(Annotated[float, Range(ge=0)])
    <class 'float'>
    """
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation


def metadata_of(annotation: object) -> tuple[object, ...]:
    """Return what `Annotated` adds to a type."""
    return get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()


def description_of(annotation: object) -> str:
    """Return the description of a type, which may be empty."""
    texts = [part.text for part in metadata_of(annotation) if isinstance(part, Description)]
    return texts[-1] if texts else ""


def constraints_of(annotation: object) -> tuple[Constraint, ...]:
    """Return the constraints of a type.

    >>> constraints_of(Annotated[float, Range(ge=0)])
    (Range(ge=0, gt=None, le=None, noun='a number'),)
    """
    # Much faster than an instance check of the protocol.
    constraints = (part for part in metadata_of(annotation) if hasattr(part, "problem"))
    return tuple(cast("Constraint", part) for part in constraints)


def is_union(annotation: object) -> bool:
    """Whether an annotation is a union."""
    return get_origin(annotation) in (Union, types.UnionType)


def arms_of(annotation: object) -> tuple[object, ...]:
    """Return the members of a union, or the only type."""
    inner = without_metadata(annotation)
    return get_args(inner) if is_union(inner) else (inner,)


def problem_of(annotation: object, value: object) -> str:
    """Return the first constraint that a value of the right type violates, or an empty string.

    `None` violates no constraint if the type allows it.

    >>> problem_of(Annotated[float | None, Range(ge=0)], None)
    ''
    >>> problem_of(Annotated[float, Range(ge=0)] | None, -1)
    'must be a number of at least 0, got -1'
    """
    arms = arms_of(annotation)
    if value is None and type(None) in arms:
        return ""
    problems = (constraint.problem(value) for constraint in constraints_of(annotation))
    problem = next(filter(None, problems), "")
    if problem or not is_union(without_metadata(annotation)):
        return problem
    by_arm = [problem_of(arm, value) for arm in arms if arm is not type(None)]
    return by_arm[0] if all(by_arm) else ""
