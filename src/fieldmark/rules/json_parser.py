"""Parse strict JSON into values with locations."""

from __future__ import annotations

import re
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Final, NoReturn

from fieldmark.errors import Location
from fieldmark.model.json import JsonValue
from fieldmark.rules.context import Problems
from fieldmark.rules.located import (
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_NODES,
    Located,
    located_list,
    located_object,
)

_WHITESPACE: Final = re.compile(r"[ \t\r\n]*")
_NUMBER: Final = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORD: Final = re.compile(r"true|false|null")
_WORDS: Final[dict[str, JsonValue]] = {"true": True, "false": False, "null": None}


def parse_json(text: str, *, file: str = "", max_nodes: int = MAX_NODES) -> Located:
    """Parse a JSON document.

    >>> parse_json('{"total": 1.5}').value
    {'total': 1.5}
    """
    return _Parser(text, file, max_nodes).document()


class _Parser:
    """A recursive descent parser."""

    def __init__(self, text: str, file: str, max_nodes: int) -> None:
        self._text = text
        self._file = file
        self._problems = Problems()
        self._position = 0
        self._located = 0
        self._line, self._line_start = 1, 0
        self._nodes = 0
        self._max_nodes = max_nodes

    def document(self) -> Located:
        document = self._value(1)
        if self._peek():
            self._fail("unexpected text after the JSON value")
        self._problems.raise_any()
        return document

    def _value(self, depth: int) -> Located:
        character = self._peek()
        self._nodes += 1
        if depth > MAX_DEPTH:
            self._fail(f"nesting exceeds the limit of {MAX_DEPTH} levels")
        if self._nodes > self._max_nodes:
            self._fail(f"too many values (limit {self._max_nodes:,})")
        if character == "{":
            return self._object(depth)
        if character == "[":
            return self._list(depth)
        location = self._location()
        return Located(
            value=self._string() if character == '"' else self._word_or_number(), location=location
        )

    def _object(self, depth: int) -> Located:
        location = self._location()
        entries: list[tuple[str, Located]] = []
        self._position += 1
        while self._has_next("}", first=not entries):
            if self._peek() != '"':
                self._fail("expected a key in double quotes")
            key_location, key = self._location(), self._string()
            if self._peek() != ":":
                self._fail("expected ':'")
            self._position += 1
            entries.append((key, self._value(depth + 1)._replace(key=key_location)))
        return located_object(entries, location, self._problems)

    def _list(self, depth: int) -> Located:
        location = self._location()
        items: list[Located] = []
        self._position += 1
        while self._has_next("]", first=not items):
            items.append(self._value(depth + 1))
        return located_list(items, location)

    def _has_next(self, end: str, *, first: bool) -> bool:
        character = self._peek()
        if character == end:
            self._position += 1
            return False
        if first:
            return True
        if character != ",":
            self._fail(f"expected ',' or '{end}'")
        self._position += 1
        if self._peek() == end:
            self._fail(f"trailing comma before '{end}'")
        return True

    def _string(self) -> str:
        try:
            text, self._position = scanstring(self._text, self._position + 1)
        except JSONDecodeError as error:
            self._position = error.pos
            self._fail(f"invalid JSON: {error.msg[:1].lower()}{error.msg[1:]}")
        return str(text)

    def _word_or_number(self) -> JsonValue:
        word = _WORD.match(self._text, self._position)
        if word is not None:
            self._position = word.end()
            return _WORDS[word.group()]
        number = _NUMBER.match(self._text, self._position)
        if number is None:
            self._fail("expected a JSON value")
        if number.end() - number.start() > MAX_DIGITS:
            self._fail(f"number has too many digits (limit {MAX_DIGITS:,})")
        whole, fraction, exponent = number.groups()
        value = float(number.group()) if fraction or exponent else int(whole)
        if value in {float("inf"), float("-inf")}:
            self._fail("number out of range")
        self._position = number.end()
        return value

    def _peek(self) -> str:
        space = _WHITESPACE.match(self._text, self._position)
        self._position = space.end() if space else self._position
        return self._text[self._position : self._position + 1]

    def _location(self) -> Location:
        # Positions never decrease, so that no list of all lines is necessary.
        newline = self._text.rfind("\n", self._located, self._position)
        if newline >= 0:
            self._line += self._text.count("\n", self._located, self._position)
            self._line_start = newline + 1
        self._located = self._position
        return Location(self._file, self._line, self._position - self._line_start + 1)

    def _fail(self, message: str) -> NoReturn:
        self._problems.add(message, self._location())
        raise self._problems.error()
