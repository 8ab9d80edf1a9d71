"""The values of a configuration with their locations, and the problems found in it."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple, cast

from fieldmark.errors import ConfigError, Location, Problem
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.gates import Gate
from fieldmark.model.comparison import Provider
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.rule import Rules
from fieldmark.values.plain_json import copy_json
from fieldmark.values.value_confidences import ConfidenceOptions

_SHOWN: Final = 1_000
"""How much is shown of both ends of a message that names something long from a file."""


def _shown(message: str) -> str:
    return message if len(message) <= 2 * _SHOWN else f"{message[:_SHOWN]}…{message[-_SHOWN:]}"


class Problems:
    """Collects problems and warnings."""

    __slots__ = ("_found", "_warnings")

    def __init__(self) -> None:
        self._found: list[Problem] = []
        self._warnings: list[Problem] = []

    def add(self, message: str, location: Location, hint: str = "") -> None:
        """Record a problem; the configuration cannot be used."""
        self._found.append(Problem(_shown(message), location, hint))

    def warn(self, message: str, location: Location, hint: str = "") -> None:
        """Record a warning; the configuration can still be used."""
        self._warnings.append(Problem(_shown(message), location, hint))

    def add_duplicates(
        self,
        named: Iterable[tuple[str, Location]],
        noun: str,
        key: Callable[[str], Hashable] = str,
    ) -> None:
        """Record a problem for each duplicate name, with the line of the first."""
        first: dict[Hashable, Location] = {}
        for name, location in named:
            if key(name) in first:
                line = first[key(name)].line
                hint = f"first defined at line {line}" if line else ""
                self.add(f"duplicate {noun} {name!r}", location, hint)
            else:
                first[key(name)] = location

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """All warnings."""
        return tuple(self._warnings)

    def __len__(self) -> int:
        return len(self._found)

    def raise_any(self) -> None:
        """Raise an error with all problems, if there are any."""
        if self._found:
            raise self.error()

    def error(self) -> ConfigError:
        """Return an error with all problems, sorted by location; each place is named once.

        Several targets may share a place in a file. In Python, places have no line.
        """
        seen = dict.fromkeys(problem for problem in self._found if problem.location.line)
        return ConfigError(
            sorted(
                [*seen, *(problem for problem in self._found if not problem.location.line)],
                key=lambda problem: (problem.location.line or 0, problem.location.column or 0),
            )
        )


class Code(StrEnum):
    """Whether rules may name Python functions: not at all, only to be checked, or to be run."""

    REFUSE = "refuse"
    CHECK = "check"
    ALLOW = "allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """State that the readers of a configuration share.

    `thresholds` are the thresholds that the file sets by comparator, for fields without their own.
    With `contained`, only files below the directory of the configuration are read. `code` says
    whether rules may name Python functions.
    """

    problems: Problems = field(default_factory=Problems)
    directory: Path | None = None
    provider: Provider | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)
    strict: bool = False
    contained: bool = True
    code: Code = Code.REFUSE

    def add(self, message: str, location: Location, hint: str = "") -> None:
        """Record a problem; the configuration cannot be used."""
        self.problems.add(message, location, hint)

    def warn(self, message: str, location: Location, hint: str = "") -> None:
        """Record a warning; the configuration can still be used."""
        self.problems.warn(message, location, hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedRules:
    """Valid rules, the other settings of their file, and warnings about both.

    `thresholds` are the thresholds that the file sets for `fuzzy` and `semantic`, `safety` is its
    safety judge, and `confidence` says how the confidences of predictions are read, if they are.
    `source` is the native form of the rules as JSON, without models, unless they contain functions.
    """

    rules: Rules
    provider: Provider | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)
    convention: Convention | None = None
    gates: tuple[Gate, ...] = ()
    safety: object | None = None
    confidence: ConfidenceOptions | None = None
    warnings: tuple[Problem, ...] = ()
    source: JsonObject | None = None

    @property
    def safety_judge(self) -> object | None:
        """The judge of safety; `None` also for `none`, which only says that there is none."""
        return None if getattr(self.safety, "name", "none") == "none" else self.safety


MAX_NODES: Final = 100_000
MAX_DEPTH: Final = 50
MAX_DIGITS: Final = 1_000
_FUNCTION_KEYS: Final = frozenset({"match", "normalize"})
"""The keys of a rule whose value may be a function."""

_NO_ENTRIES: Final[Mapping[str, Located]] = MappingProxyType({})


class Located(NamedTuple):
    """A JSON value with its location, and the values inside it with theirs.

    `key` is the location of the key, if the value is an entry of an object.
    """

    value: JsonValue
    location: Location = Location()
    entries: Mapping[str, Located] = _NO_ENTRIES
    items: Sequence[Located] = ()
    key: Location | None = None

    def get(self, key: str) -> Located | None:
        """Return the value of a key of this object, or `None`."""
        return self.entries.get(key)

    def value_of(self, key: str) -> JsonValue:
        """Return the plain value of a key of this object, or `None`."""
        return self.entries[key].value if key in self.entries else None

    def first_of(self, *keys: str) -> Located | None:
        """Return the value of the first key that this object has, or `None`."""
        return next((self.entries[key] for key in keys if key in self.entries), None)

    def key_location(self, key: str) -> Location:
        """Return the location of a key, or of the object if it does not have the key."""
        entry = self.entries.get(key)
        return self.location if entry is None else entry.key or entry.location

    def with_entries(self, entries: Mapping[str, Located]) -> Located:
        """Return an object with other entries at the same location."""
        value: JsonValue = {key: entry.value for key, entry in entries.items()}
        return self._replace(value=value, entries=entries)

    def copy(self) -> Located:
        """Return a deep copy."""
        if self.entries:
            entries = {key: inner.copy() for key, inner in self.entries.items()}
            value: JsonValue = {key: inner.value for key, inner in entries.items()}
            return self._replace(value=value, entries=entries)
        if self.items:
            items = [inner.copy() for inner in self.items]
            return self._replace(value=[inner.value for inner in items], items=items)
        if isinstance(self.value, dict | list):
            return self._replace(value=type(self.value)())
        return self


def located_object(
    entries: Iterable[tuple[str, Located]], location: Location, problems: Problems
) -> Located:
    """Build an object; a duplicate key is a problem.

    Keys that differ only in their Unicode normalization form count as equal.
    """
    first: dict[str, tuple[str, Located]] = {}
    for entry in entries:
        earlier = first.setdefault(unicodedata.normalize("NFC", entry[0]), entry)
        if earlier is not entry:
            (key, located), (_, earlier_value) = entry, earlier
            line = earlier_value.key and earlier_value.key.line
            hint = f"first defined at line {line}" if line else ""
            problems.add(f"duplicate key {key!r}", located.key or location, hint)
    return Located(value=None, location=location).with_entries(dict(first.values()))


def located_list(items: Iterable[Located], location: Location) -> Located:
    """Build a list."""
    located = tuple(items)
    return Located(value=[item.value for item in located], location=location, items=located)


def constant(value: JsonValue, location: Location) -> Located:
    """Return a scalar or a list that does not come from a file, with a given location."""
    if isinstance(value, list):
        return located_list((constant(inner, location) for inner in value), location)
    return Located(value=value, location=location)


def locate(
    value: object,
    problems: Problems,
    *,
    file: str = "",
    documents: frozenset[str] = frozenset(),
) -> Located:
    """Convert a Python value: JSON values, tuples (to lists) and decimals (to numbers).

    Rules may contain functions; the values of the keys `documents` may not.
    """
    location = Location(file)
    if _exceeds_max_nodes(value):
        problems.add(f"too many values (limit {MAX_NODES:,})", location)
        return Located(value=None, location=location)
    return _located(value, problems, location, documents)


def _located(
    value: object,
    problems: Problems,
    location: Location,
    documents: frozenset[str] | None,
    path: tuple[str | int, ...] = (),
) -> Located:
    """Convert the value at a path; inside a document, `documents` is `None`."""
    key = path[-1] if path else ""
    if len(path) > MAX_DEPTH:
        problems.add(f"nesting exceeds the limit of {MAX_DEPTH} levels", location)
        return Located(value=None, location=location)
    if documents is not None and key in documents:
        (value, _), documents = copy_json(value, path=path, nan_is_null=True), None
    if isinstance(value, Mapping):
        entries = (
            (
                str(name),
                _located(inner, problems, location, documents, (*path, str(name)))._replace(
                    key=location
                ),
            )
            for name, inner in value.items()
        )
        return located_object(entries, location, problems)
    if isinstance(value, list | tuple):
        items = (
            _located(inner, problems, location, documents, (*path, index))
            for index, inner in enumerate(value)
        )
        return located_list(items, location)
    if isinstance(value, Decimal):
        value = int(value) if value.is_finite() and value == value.to_integral() else float(value)
    scalar: JsonValue = None
    if isinstance(value, float) and not math.isfinite(value):
        problems.add(f"expected a finite number, got {value}", location)
    elif isinstance(value, str):
        scalar = str(value)
    elif value is None or isinstance(value, bool | int | float):
        scalar = value
    elif documents is not None and key in _FUNCTION_KEYS and callable(value):
        scalar = cast("JsonValue", value)
    else:
        problems.add(f"expected a JSON value, got {type(value).__name__}", location)
    return Located(value=scalar, location=location)


def _exceeds_max_nodes(value: object) -> bool:
    """Return whether a Python value has too many values; a shared one counts each time."""
    pending, seen = [(value, 0)], 0
    while pending and seen + len(pending) <= MAX_NODES:
        item, depth = pending.pop()
        seen += 1
        inner: Iterable[object] = ()
        if depth <= MAX_DEPTH and isinstance(item, Mapping | list | tuple):
            inner = item.values() if isinstance(item, Mapping) else item
        pending.extend((nested, depth + 1) for nested in inner)
    return bool(pending)
