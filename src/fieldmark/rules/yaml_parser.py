"""Parse YAML 1.2 safely into values with locations.

All plain scalars are strings except `true`, `false`, `null`, empty scalars and decimal numbers:
`NO`, `on`, `0123`, `1_000`, `12:30:45`, `2024-01-01`, `0x1F` and `.nan` are strings. Tags have no
effect, and aliases are limited.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, StreamMark, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from fieldmark.errors import Location
from fieldmark.model.json import JsonValue
from fieldmark.rules.config_values import (
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_NODES,
    Located,
    Problems,
    located_list,
    located_object,
)

MAX_ALIASES: Final = 100
_MAX_CACHED: Final = 50_000
"""The length of the longest text whose result is cached."""

_WORDS: Final[dict[str, JsonValue]] = {"true": True, "false": False, "null": None, "": None}
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)")
_DECIMAL: Final = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")

_CORE: Final = "tag:yaml.org,2002:"
_TEXT_TAGS: Final = frozenset({"!", f"{_CORE}str"})
_SCALAR_TAGS: Final[dict[str, tuple[type, ...]]] = {
    f"{_CORE}int": (int,),
    f"{_CORE}float": (int, float),
    f"{_CORE}bool": (bool,),
    f"{_CORE}null": (type(None),),
}
_LIST_TAGS: Final = frozenset({None, "!", f"{_CORE}seq"})
_OBJECT_TAGS: Final = frozenset({None, "!", f"{_CORE}map"})
_MAX_SHOWN_LENGTH: Final = 40

# The parser takes quadratic time for long tags.
_LONG_TAG: Final = "!" * 1_000


def parse_yaml(text: str, *, file: str = "") -> Located:
    """Parse a YAML text with a single document.

    The last few results are cached, so that repeated comparisons parse their rules only once.

    >>> parse_yaml("country: NO").value
    {'country': 'NO'}
    """
    return (_parse_cached(text, file) if len(text) <= _MAX_CACHED else _parse(text, file)).copy()


def _parse(text: str, file: str) -> Located:
    return _Composer(text, file).document()


_parse_cached: Final = lru_cache(maxsize=8)(_parse)


class _Composer:
    """Builds values from parser events."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._problems = Problems()
        self._events = self._read_events()
        self._anchors: dict[str, tuple[Located, int, int] | None] = {}
        self._nodes = 0
        self._aliases = 0
        self._deepest = 0

    def document(self) -> Located:
        """Return the only document, or raise its problems; an empty document is null."""
        document: Located | None = None
        for event in self._events:
            if not isinstance(event, DocumentStartEvent):
                continue
            if document is not None:
                self._refuse("multiple documents are not supported", event, "use one file for each")
            document = self._node(next(self._events), 1)
        self._problems.raise_any()
        return document or Located(value=None, location=Location(self._file, 1, 1))

    def _read_events(self) -> Iterator[Event]:
        if _LONG_TAG in self._text:
            self._stop("tag is too long", self._location_of_index(self._text.index(_LONG_TAG)))
        last: StreamMark | None = None
        try:
            for event in YAML(typ="safe", pure=True).parse(self._text):
                last = event.start_mark
                yield event
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            # The parser shows some tokens as tuples: ('{',).
            problem = re.sub(r"\(('.*'),\)", r"\1", error.problem or error.context or "")
            self._stop(f"invalid YAML: {problem}", self._location(mark))
        except YAMLError as error:
            position = getattr(error, "position", 0)
            self._stop(f"invalid YAML: {_first_line(error)}", self._location_of_index(position))
        # The parser itself fails on some invalid input instead of reporting an error.
        except (ValueError, LookupError, TypeError, AttributeError, AssertionError) as error:
            self._stop(f"invalid YAML: {_first_line(error)}", self._location(last))

    def _node(self, event: Event, depth: int) -> Located:
        if isinstance(event, AliasEvent):
            return self._alias(event, depth)
        if not isinstance(event, ScalarEvent | CollectionStartEvent):
            self._refuse("invalid YAML: expected a value", event)
        self._count(1, depth, event)
        anchor: str | None = event.anchor
        if anchor is None:
            return self._content(event, depth)
        self._anchors[anchor] = None
        before, outer, self._deepest = self._nodes - 1, self._deepest, depth
        located = self._content(event, depth)
        self._anchors[anchor] = (located, self._nodes - before, self._deepest - depth)
        self._deepest = max(outer, self._deepest)
        return located

    def _content(self, event: ScalarEvent | CollectionStartEvent, depth: int) -> Located:
        location = self._location(event.start_mark)
        if isinstance(event, ScalarEvent):
            return Located(value=self._scalar(event), location=location)
        is_list = isinstance(event, SequenceStartEvent)
        if event.tag not in (_LIST_TAGS if is_list else _OBJECT_TAGS):
            self._unknown_tag(event.tag, event)
        if is_list:
            items = [self._node(inner, depth + 1) for inner in self._until(SequenceEndEvent)]
            return located_list(items, location)
        entries = [self._entry(inner, depth) for inner in self._until(MappingEndEvent)]
        named = [entry for entry in entries if entry is not None]
        return located_object(named, location, self._problems)

    def _entry(self, event: Event, depth: int) -> tuple[str, Located] | None:
        merge = isinstance(event, ScalarEvent) and event.value == "<<" and event.implicit[0]
        key = self._node(event, depth + 1)
        located = self._node(next(self._events), depth + 1)
        if merge:
            self._add_problem("merge keys are not supported", event, "repeat the keys instead")
        elif isinstance(key.value, str):
            return key.value, located._replace(key=self._location(event.start_mark))
        else:
            shown = "a list or an object"
            if isinstance(event, ScalarEvent):
                shown = _shorten(event.value) or "an empty key"
            self._add_problem(f"key must be a string, got {shown}", event, "put it in quotes")
        return None

    def _alias(self, event: AliasEvent, depth: int) -> Located:
        name: str = event.anchor
        self._aliases += 1
        if self._aliases > MAX_ALIASES:
            self._refuse(f"too many aliases (limit {MAX_ALIASES})", event)
        if name not in self._anchors:
            self._refuse(f"undefined alias {_shorten(name)!r}", event)
        anchored = self._anchors[name]
        if anchored is None:
            self._refuse(f"recursive alias {_shorten(name)!r}", event)
        located, size, height = anchored
        self._count(size, depth + height, event)
        return located

    def _scalar(self, event: ScalarEvent) -> JsonValue:
        text: str = event.value
        tag: str | None = event.tag
        if tag in _TEXT_TAGS or (tag is None and not event.implicit[0]):
            return text
        value = self._plain(text, event)
        if tag is not None and tag not in _SCALAR_TAGS:
            self._unknown_tag(tag, event)
        elif tag is not None and type(value) not in _SCALAR_TAGS[tag]:
            self._add_problem(f"{_shorten(text)!r} does not match its tag", event)
        return value

    def _plain(self, text: str, event: Event) -> JsonValue:
        if text in _WORDS:
            return _WORDS[text]
        if _DECIMAL.fullmatch(text) is None:
            return text
        if len(text) > MAX_DIGITS:
            self._add_problem(f"number has too many digits (limit {MAX_DIGITS:,})", event)
            return None
        if _INTEGER.fullmatch(text):
            return int(text)
        number = float(text)
        if number in {float("inf"), float("-inf")}:
            self._add_problem(f"number out of range: {_shorten(text)}", event)
            return None
        return number

    def _until(self, end: type[Event]) -> Iterator[Event]:
        for event in self._events:
            if isinstance(event, end):
                return
            yield event

    def _unknown_tag(self, tag: str | None, event: NodeEvent) -> None:
        self._add_problem(f"unknown tag {_shorten(tag or '')!r}", event, "tags are not supported")

    def _count(self, nodes: int, depth: int, event: Event) -> None:
        self._nodes += nodes
        self._deepest = max(self._deepest, depth)
        if self._nodes > MAX_NODES:
            self._refuse(f"too many values after expanding aliases (limit {MAX_NODES:,})", event)
        if depth > MAX_DEPTH:
            self._refuse(f"nesting exceeds the limit of {MAX_DEPTH} levels", event)

    def _add_problem(self, message: str, event: Event, hint: str = "") -> None:
        self._problems.add(message, self._location(event.start_mark), hint)

    def _refuse(self, message: str, event: Event, hint: str = "") -> NoReturn:
        self._stop(message, self._location(event.start_mark), hint)

    def _stop(self, message: str, location: Location, hint: str = "") -> NoReturn:
        self._problems.add(message, location, hint)
        raise self._problems.error()

    def _location(self, mark: StreamMark | None) -> Location:
        if mark is None:
            return Location(self._file)
        return Location(self._file, mark.line + 1, mark.column + 1)

    def _location_of_index(self, index: int) -> Location:
        before = self._text[:index]
        return Location(self._file, before.count("\n") + 1, index - before.rfind("\n"))


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN_LENGTH else f"{text[:_MAX_SHOWN_LENGTH]}…"


def _first_line(error: Exception) -> str:
    return _shorten(str(error).strip().partition("\n")[0] or type(error).__name__)
