"""Parse strict JSON into values with their locations."""

from __future__ import annotations

import re
from bisect import bisect_right
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Final, NoReturn

from fieldmark.config.context import Problems
from fieldmark.config.located import (
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_NODES,
    Entry,
    Located,
    located_list,
    located_object,
)
from fieldmark.errors import Location
from fieldmark.model.json import JsonValue

__all__ = ["parse_json"]

_WHITESPACE: Final = re.compile(r"[ \t\r\n]*")
_NUMBER: Final = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORD: Final = re.compile(r"true|false|null")
_WORDS: Final[dict[str, JsonValue]] = {"true": True, "false": False, "null": None}


def parse_json(text: str, *, file: str = "", max_nodes: int = MAX_NODES) -> Located:
    """Parse a JSON text.

    >>> parse_json('{"total": 1.5}').value
    {'total': 1.5}
    """
    problems = Problems()
    document = _Parser(text, file, problems, max_nodes).document()
    problems.raise_any()
    return document


class _Parser:
    """A recursive descent parser with a position in the text."""

    def __init__(self, text: str, file: str, problems: Problems, max_nodes: int) -> None:
        self._text = text
        self._file = file
        self._problems = problems
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._position = 0
        self._nodes = 0
        self._max_nodes = max_nodes

    def document(self) -> Located:
        document = self._value(1)
        if self._peek():
            self._fail("More text after the value.")
        return document

    def _value(self, depth: int) -> Located:
        character = self._peek()
        self._nodes += 1
        if depth > MAX_DEPTH:
            self._fail(f"Nested more than {MAX_DEPTH} deep.")
        if self._nodes > self._max_nodes:
            self._fail(f"More than {self._max_nodes:,} values.")
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
        entries: list[Entry] = []
        self._position += 1
        while self._has_next("}", first=not entries):
            if self._peek() != '"':
                self._fail("A key in double quotes is expected here.")
            key_location, key = self._location(), self._string()
            if self._peek() != ":":
                self._fail("A colon is expected here.")
            self._position += 1
            entries.append(Entry(key, key_location, self._value(depth + 1)))
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
            self._fail(f"A comma or {end} is expected here.")
        self._position += 1
        if self._peek() == end:
            self._fail(f"Nothing stands between the comma and {end}.")
        return True

    def _string(self) -> str:
        try:
            text, self._position = scanstring(self._text, self._position + 1)
        except JSONDecodeError as error:
            self._position = error.pos
            self._fail(f"Not valid JSON: {error.msg}.")
        return str(text)

    def _word_or_number(self) -> JsonValue:
        word = _WORD.match(self._text, self._position)
        if word is not None:
            self._position = word.end()
            return _WORDS[word.group()]
        number = _NUMBER.match(self._text, self._position)
        if number is None:
            self._fail("A JSON value is expected here.")
        if number.end() - number.start() > MAX_DIGITS:
            self._fail(f"A number of more than {MAX_DIGITS} digits.")
        whole, fraction, exponent = number.groups()
        value = float(number.group()) if fraction or exponent else int(whole)
        if value in {float("inf"), float("-inf")}:
            self._fail("A number out of range.")
        self._position = number.end()
        return value

    def _peek(self) -> str:
        space = _WHITESPACE.match(self._text, self._position)
        self._position = space.end() if space else self._position
        return self._text[self._position : self._position + 1]

    def _location(self) -> Location:
        line = bisect_right(self._lines, self._position)
        return Location(self._file, line, self._position - self._lines[line - 1] + 1)

    def _fail(self, message: str) -> NoReturn:
        self._problems.add(message, self._location())
        raise self._problems.error()
