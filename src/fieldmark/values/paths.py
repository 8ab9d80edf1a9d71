"""The grammar of paths: `vendor.name`, `items[0].amount`, `["a.b"]`, `items[*].amount`, `**`.

Quotes may be single or double.

A *path* names one field; an *attribute* is a path with `[]` for every index; a *pattern* may also
contain `[*]` (the same as `[]`) and `**`, which matches any number of steps.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias, cast

from fieldmark.errors import OptionError
from fieldmark.model.json import MISSING, JsonValue, Kind, Missing
from fieldmark.model.outcome import Presence
from fieldmark.values.text import shorten

ROOT: Final = "$"
"""The path of a whole document that is not an object."""


class Wildcard(Enum):
    """A wildcard in a pattern."""

    ANY_ITEM = "[]"
    ANY_DEPTH = "**"


ANY_ITEM: Final = Wildcard.ANY_ITEM
ANY_DEPTH: Final = Wildcard.ANY_DEPTH
Segment: TypeAlias = str | int | Wildcard


class PathError(OptionError):
    """A path with invalid syntax."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__("path", f"invalid path {shorten(text, _SHOWN)!r}: {reason}")


class PathLimitError(PathError):
    """A path that is longer than any path in a document, or than a configured path may be."""


class Path(NamedTuple):
    """A parsed path: its steps, and where each step starts in the text."""

    text: str
    segments: tuple[Segment, ...]
    starts: tuple[int, ...]

    def tail(self, position: int) -> str:
        """Return the text from a step on; it may be a key with dots.

        >>> parse_path("vendor.a.b").tail(1)
        'a.b'
        """
        return self.text[self.starts[position] :]

    @property
    def is_pattern(self) -> bool:
        """Whether the path can match more than one field."""
        return any(isinstance(segment, Wildcard) for segment in self.segments)

    @property
    def has_index(self) -> bool:
        """Whether a step is a number, which is the index of a list item."""
        return any(isinstance(segment, int) for segment in self.segments)


_STEP: Final = re.compile(
    r"""
      \[ (?: (?P<any>\*?) | (?P<index>0|[1-9][0-9]{0,17})
            | (?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*') ) \]
    | (?P<key>[^.\[\]"*]+)
    | (?P<depth>\*\*)
    """,
    re.VERBOSE | re.DOTALL,
)
MAX_STEPS: Final = 200
"""The number of steps of a path: the depth limit of documents."""
MAX_CHARACTERS: Final = 4_000
"""The length of a configured path."""
_SHOWN: Final = 200
_QUOTE: Final = re.compile(r"""\\.|\"""", re.DOTALL)
_INDEX: Final = re.compile(r"(?:0|[1-9][0-9]{0,17})\Z")
_PLAIN: Final = re.compile(r'[^.\[\]"*]*[^.\[\]"*\s][^.\[\]"*]*\Z')
"""Keys that need no quotes: not blank, and without special characters."""


def parse_path(text: str) -> Path:
    """Parse a path; raise an error with the reason if its syntax is invalid.

    >>> parse_path('items[0]["a.b"].c').segments
    ('items', 0, 'a.b', 'c')
    """
    return path_or_none(text) or _parse(text)


def _parse(text: str) -> Path:
    segments: list[Segment] = []
    starts: list[int] = []
    position = 0
    while position < len(text) or not segments:
        if segments and text[position] == ".":
            position += 1
            if text[position : position + 1] == "[":
                raise PathError(text, "dot before a bracket")
        elif segments and text[position] != "[":
            remaining = shorten(text[position:], _SHOWN)
            raise PathError(text, f"missing dot or bracket before {remaining!r}")
        step = _STEP.match(text, position)
        if step is None:
            raise PathError(text, _syntax_problem(text, position))
        if len(segments) == MAX_STEPS:
            raise PathLimitError(text, f"more than {MAX_STEPS} steps")
        segments.append(_segment(text, step))
        starts.append(position)
        position = step.end()
    return Path(text, tuple(segments), tuple(starts))


def path_or_none(text: str) -> Path | None:
    """Parse a path; return `None` if its syntax is invalid."""
    return _cached(text) if len(text) <= _SHOWN else _cached.__wrapped__(text)


def parse_configured_path(text: str) -> Path:
    """Parse a path of a configuration, whose length is limited.

    >>> parse_configured_path("invoice.total").segments
    ('invoice', 'total')
    """
    if len(text) > MAX_CHARACTERS:
        raise PathLimitError(text, f"{len(text):,} characters (limit {MAX_CHARACTERS:,})")
    return parse_path(text)


def is_path(text: str) -> bool:
    """Return whether a text is a valid path of a configuration.

    >>> is_path("invoice.total"), is_path("invoice..total")
    (True, False)
    """
    return len(text) <= MAX_CHARACTERS and path_or_none(text) is not None


def path_key(text: str) -> Hashable:
    """Return a key that is equal for all spellings of a path; an invalid path is its own key.

    >>> path_key("a[*].b") == path_key('["a"][].b')
    True
    """
    path = path_or_none(text)
    return text if path is None else path.segments


def resolve(document: JsonValue, path: str | Path) -> JsonValue | Missing:
    """Return the value at a path, or `MISSING`, also for an invalid path.

    The rest of the path is first looked up as a key, so a key with dots needs no quotes.

    >>> resolve({"vendor": {"a.b": 1}}, "vendor.a.b")
    1
    >>> resolve({"items": [{"x": 7}]}, "items.0.x")
    7
    """
    if isinstance(path, str):
        if isinstance(document, dict) and path in document:
            return document[path]
        parsed = path_or_none(path)
        if parsed is None:
            return MISSING
        path = parsed
    if path.text == ROOT and not isinstance(document, dict):
        return document
    value = document
    text, starts = path.text, path.starts
    for position, segment in enumerate(path.segments):
        if isinstance(value, dict):
            if (tail := text[starts[position] :]) in value:
                return value[tail]
            key = str(segment) if isinstance(segment, int) else segment
            if isinstance(key, Wildcard) or key not in value:
                return MISSING
            value = value[key]
        elif isinstance(value, list) and isinstance(segment, int) and segment < len(value):
            value = value[segment]
        else:
            return MISSING
    return value


def field_value(
    document: JsonValue | Missing, path: str, presence: Presence
) -> JsonValue | Missing:
    """Return the value of a compared field; an object instead of another value is at `$`.

    >>> field_value({"$": 7}, "$", Presence.VALUE)
    7
    >>> field_value({"total": 7}, "$", Presence.VALUE)
    {'total': 7}
    """
    if document is MISSING or presence is Presence.ABSENT:
        return MISSING
    value = resolve(document, path)
    return document if value is MISSING and path == ROOT else value


def has_path(document: JsonValue, path: Path) -> bool:
    """Return whether a path or a pattern names anything in a document.

    >>> has_path({"items": [{}, {"x": None}]}, parse_path("items[*].x"))
    True
    """
    if path.text == ROOT and not isinstance(document, dict):
        return True
    return _has_steps(document, path, 0)


def may_have_path(document: JsonValue, path: Path) -> bool:
    """Return whether a document has a path, or null or an empty list where the path goes on.

    >>> may_have_path({"items": []}, parse_path("items[*].x")), may_have_path({}, parse_path("x"))
    (True, False)
    """
    return has_path(document, path) or _has_steps(document, path, 0, ends_early=True)


def _has_steps(value: JsonValue, path: Path, position: int, *, ends_early: bool = False) -> bool:
    """Return whether a value has the steps of a path from a position on.

    With `ends_early`, null and an empty list have all further steps.
    """
    if position == len(path.segments) or (ends_early and value in (None, [])):
        return True

    def has_steps(inner: JsonValue, position: int) -> bool:
        return _has_steps(inner, path, position, ends_early=ends_early)

    segment = path.segments[position]
    if isinstance(value, dict):
        if path.tail(position) in value:
            return True
        inner: Iterable[JsonValue] = value.values()
    else:
        inner = value if isinstance(value, list) else ()
    if segment is ANY_DEPTH:
        return has_steps(value, position + 1) or any(has_steps(item, position) for item in inner)
    if isinstance(value, list):
        if isinstance(segment, int):
            return segment < len(value) and has_steps(value[segment], position + 1)
        return segment is ANY_ITEM and any(has_steps(item, position + 1) for item in value)
    key = _key_of(segment)
    return isinstance(value, dict) and key in value and has_steps(value[key], position + 1)


def first_keys(paths: Iterable[Path]) -> frozenset[str] | None:
    """Return keys such that an object without any of them has none of the paths; `None` if unknown.

    >>> sorted(first_keys([parse_path("vendor.name"), parse_path("total")]))
    ['total', 'vendor', 'vendor.name']
    """
    keys: set[str] = set()
    for path in paths:
        if not path.segments or path.segments[0] is ANY_DEPTH:
            return None
        keys |= {_key_of(path.segments[0]), path.tail(0)}
    return frozenset(keys)


def without(document: JsonValue | Missing, path: Path) -> JsonValue | Missing:
    """Return a document without the value at a path, and without containers that become empty.

    `MISSING` takes the place of an item, so that the other items keep their indexes.

    >>> without({"items": [{"x": 7}, {"x": 8, "y": 9}]}, parse_path("items[0].x"))
    {'items': [MISSING, {'x': 8, 'y': 9}]}
    """
    return MISSING if document is MISSING else _without(document, path, 0)


def _without(value: JsonValue, path: Path, position: int) -> JsonValue | Missing:
    if position == len(path.segments):
        return MISSING
    segment = path.segments[position]
    if isinstance(value, dict):
        tail = path.tail(position)
        key = tail if tail in value else str(segment)
        if key not in value:
            return value
        inner = _without(value[key], path, len(path.segments) if key == tail else position + 1)
        remaining = {name: item for name, item in value.items() if name != key}
        if inner is not MISSING:
            remaining = {name: inner if name == key else item for name, item in value.items()}
        return remaining or MISSING
    if isinstance(value, list) and isinstance(segment, int) and segment < len(value):
        items: list[JsonValue | Missing] = [*value]
        if items[segment] is not MISSING:
            items[segment] = _without(value[segment], path, position + 1)
        return MISSING if all(item is MISSING for item in items) else cast("JsonValue", items)
    return value


def changed_at(
    value: JsonValue, path: Path, change: Callable[[JsonValue], JsonValue], position: int = 0
) -> JsonValue:
    """Return a document with the value at a path changed, if it has one there.

    >>> changed_at({"items": [{"x": 7}]}, parse_path("items[0].x"), lambda value: -value)
    {'items': [{'x': -7}]}
    """
    if position == len(path.segments) or (path.text == ROOT and not isinstance(value, dict)):
        return change(value)
    segment = path.segments[position]
    if isinstance(value, dict):
        tail = path.tail(position)
        key, after = (
            (tail, len(path.segments)) if tail in value else (_key_of(segment), position + 1)
        )
        if key not in value:
            return value
        return {**value, key: changed_at(value[key], path, change, after)}
    if isinstance(value, list) and isinstance(segment, int) and segment < len(value):
        changed = changed_at(value[segment], path, change, position + 1)
        return [*value[:segment], changed, *value[segment + 1 :]]
    return value


def obstacle(document: JsonValue | Missing, path: Path) -> tuple[JsonValue, Kind] | None:
    """Return the value that a path cannot go through, and the type that it needs there.

    >>> obstacle({"vendor": "ACME"}, parse_path("vendor.name"))
    ('ACME', <Kind.OBJECT: 'object'>)
    """
    value = document
    for segment in path.segments:
        if isinstance(value, dict):
            value = value.get(str(segment), MISSING)
        elif isinstance(value, list) and isinstance(segment, int):
            value = value[segment] if segment < len(value) else MISSING
        elif value is MISSING:
            return None
        else:
            return value, Kind.ARRAY if isinstance(segment, int) else Kind.OBJECT
    return None


def join(parent: str, key: str) -> str:
    """Return the path of a key below a parent, with quotes if necessary.

    >>> join("vendor", "name"), join("vendor", "a.b"), join("", "name")
    ('vendor.name', 'vendor["a.b"]', 'name')
    """
    if not _PLAIN.match(key):
        return f"{parent}[{json.dumps(key, ensure_ascii=False)}]"
    return f"{parent}.{key}" if parent else key


def append_path(parent: str, path: str) -> str:
    """Append a path to a parent path.

    >>> append_path("rows[*]", "a.b"), append_path("rows", "[0].b"), append_path("", "a")
    ('rows[*].a.b', 'rows[0].b', 'a')
    """
    return f"{parent}.{path}" if parent and not path.startswith("[") else f"{parent}{path}"


def attribute_of(path: Path) -> str:
    """Return the path with `[]` for every index in brackets.

    >>> attribute_of(parse_path("items[3].amount"))
    'items[].amount'
    """
    steps: list[str] = []
    for segment, start in zip(path.segments, path.starts, strict=True):
        if path.text.startswith("[", start) and not isinstance(segment, str):
            steps.append(ANY_ITEM.value)
        elif segment is ANY_DEPTH:
            steps.append(f".{ANY_DEPTH.value}" if steps else ANY_DEPTH.value)
        else:
            step = join("$", _key_of(segment)).removeprefix(ROOT)
            steps.append(step if steps else step.removeprefix("."))
    return "".join(steps)


def configured_attribute(path: Path) -> str:
    """Return the attribute of a configured path; one with an index is its own, as written.

    >>> configured_attribute(parse_path("items[3].amount"))
    'items[3].amount'
    """
    return path.text if path.has_index and not path.is_pattern else attribute_of(path)


def covers(pattern: Path, path: Path) -> bool:
    """Return whether a pattern matches a path or an attribute.

    >>> covers(parse_path("**.amount"), parse_path("items[].amount"))
    True
    """
    # The positions in the pattern that can be reached after each step of the path.
    steps = pattern.segments
    reached = _past_depths(steps, {0})
    for segment in path.segments:
        reached = _past_depths(
            steps,
            {
                position if steps[position] is ANY_DEPTH else position + 1
                for position in reached
                if position < len(steps) and _stands_for(steps[position], segment)
            },
        )
    return len(steps) in reached


def _past_depths(steps: tuple[Segment, ...], places: Iterable[int]) -> set[int]:
    reached: set[int] = set()
    for position in places:
        end = position
        while end < len(steps) and steps[end] is ANY_DEPTH:
            reached.add(end)
            end += 1
        reached.add(end)
    return reached


def _stands_for(step: Segment, segment: Segment) -> bool:
    if step is ANY_DEPTH:
        return True
    if step is ANY_ITEM:
        return segment is ANY_ITEM or isinstance(segment, int)
    return not isinstance(segment, Wildcard) and _key_of(step) == _key_of(segment)


def _key_of(segment: Segment) -> str:
    return segment.value if isinstance(segment, Wildcard) else str(segment)


def _segment(text: str, step: re.Match[str]) -> Segment:
    kind = step.lastgroup
    written = step[kind] if kind else ""
    if kind == "any":
        return ANY_ITEM
    if kind == "depth":
        return ANY_DEPTH
    if kind == "quoted":
        try:
            return str(json.loads(_double_quoted(written), strict=False))
        except ValueError as error:
            raise PathError(text, f"{shorten(written, _SHOWN)} is not a JSON string") from error
    return int(written) if _INDEX.match(written) else written


def _double_quoted(text: str) -> str:
    """Return a quoted key in double quotes, with the other quotes escaped as necessary."""
    if text.startswith('"'):
        return text
    inner = _QUOTE.sub(lambda quote: {'"': '\\"', "\\'": "'"}.get(quote[0], quote[0]), text[1:-1])
    return f'"{inner}"'


def _syntax_problem(text: str, position: int) -> str:
    remaining = shorten(text[position:], _SHOWN)
    if not text:
        return "must not be empty"
    if not remaining:
        return "ends with a dot"
    if remaining.startswith("."):
        return "two dots in a row" if position else "starts with a dot"
    if remaining.startswith("["):
        return f"{remaining!r} is not an index, a quoted key or [*]"
    return f'unexpected {remaining!r}; put keys with these characters in ["quotes"]'


@lru_cache(maxsize=4096)
def _cached(text: str) -> Path | None:
    try:
        return _parse(text)
    except PathError:
        return None


def leaves(value: JsonValue, prefix: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Yield every scalar and empty container in a value, in document order.

    >>> list(leaves({"a": [1, {"b": {}}]}))
    [('a[0]', 1), ('a[1].b', {})]
    >>> list(leaves(5))
    [('$', 5)]
    """
    pending = [(prefix, value)]
    while pending:
        path, item = pending.pop()
        if item and isinstance(item, dict):
            pending.extend((join(path, key), item[key]) for key in reversed(item))
        elif item and isinstance(item, list):
            pending.extend(
                (f"{path}[{index}]", item[index]) for index in reversed(range(len(item)))
            )
        else:
            yield path or ROOT, item


def nested_document(values: Iterable[tuple[str, JsonValue]]) -> JsonValue:
    """Return the document that has these values at these paths; gaps in lists are closed.

    >>> nested_document([("a[4].b", 1), ("a[2].b", 2), ("c", [])])
    {'a': [{'b': 2}, {'b': 1}], 'c': []}
    >>> nested_document([("$", 5)])
    5
    """
    root: dict[Segment, object] = {}
    for text, value in values:
        if text == ROOT:
            return value
        *steps, last = parse_path(text).segments
        parts = root
        for step in steps:
            inner = parts.setdefault(step, _Parts())
            parts = inner if isinstance(inner, _Parts) else {}
        parts.setdefault(last, value)
    return _joined(root)


class _Parts(dict[Segment, object]):
    """The parts of a container by key or index, as opposed to a value that is an object."""


def _joined(parts: Mapping[Segment, object]) -> JsonValue:
    values = {
        step: _joined(part) if isinstance(part, _Parts) else cast("JsonValue", part)
        for step, part in parts.items()
    }
    if values and all(isinstance(step, int) for step in values):
        return [
            value for _, value in sorted(values.items(), key=lambda entry: cast("int", entry[0]))
        ]
    return {str(step): value for step, value in values.items()}
