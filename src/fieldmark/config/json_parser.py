"""Reads strict JSON, each value with its place."""

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
    located_object,
)
from fieldmark.errors import Location
from fieldmark.model.json import JsonValue

__all__ = ["parse_json"]

_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_NUMBER: Final = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORD: Final = re.compile(r"true|false|null")
_WORDS: Final[dict[str, JsonValue]] = {"true": True, "false": False, "null": None}


def parse_json(text: str, *, file: str = "", max_nodes: int = MAX_NODES) -> Located:
    """The value of a JSON text.

    >>> parse_json('{"total": 1.5}').value
    {'total': 1.5}
    """
    problems = Problems()
    document = _Reader(text, file, problems, max_nodes).document()
    problems.raise_any()
    return document


class _Reader:
    """Reads one value after another, from a place in the text to the next."""

    def __init__(self, text: str, file: str, problems: Problems, max_nodes: int) -> None:
        self._text = text
        self._file = file
        self._problems = problems
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._place = 0
        self._nodes = 0
        self._max_nodes = max_nodes

    def document(self) -> Located:
        document = self._value(1)
        if self._next():
            self._stop("More text after the value.")
        return document

    def _value(self, depth: int) -> Located:
        sign = self._next()
        self._nodes += 1
        if depth > MAX_DEPTH:
            self._stop(f"Nested more than {MAX_DEPTH} deep.")
        if self._nodes > self._max_nodes:
            self._stop(f"More than {self._max_nodes:,} values.")
        if sign == "{":
            return self._object(depth)
        if sign == "[":
            return self._list(depth)
        place = self._here()
        return Located(value=self._string() if sign == '"' else self._bare(), location=place)

    def _object(self, depth: int) -> Located:
        place = self._here()
        entries: list[Entry] = []
        self._place += 1
        while self._goes_on("}", first=not entries):
            if self._next() != '"':
                self._stop("A key in double quotes is expected here.")
            where, key = self._here(), self._string()
            if self._next() != ":":
                self._stop("A colon is expected here.")
            self._place += 1
            entries.append(Entry(key, where, self._value(depth + 1)))
        return located_object(entries, place, self._problems)

    def _list(self, depth: int) -> Located:
        place = self._here()
        items: list[Located] = []
        self._place += 1
        while self._goes_on("]", first=not items):
            items.append(self._value(depth + 1))
        return Located(value=[item.value for item in items], location=place, items=items)

    def _goes_on(self, end: str, *, first: bool) -> bool:
        sign = self._next()
        if sign == end:
            self._place += 1
            return False
        if first:
            return True
        if sign != ",":
            self._stop(f"A comma or {end} is expected here.")
        self._place += 1
        if self._next() == end:
            self._stop(f"Nothing stands between the comma and {end}.")
        return True

    def _string(self) -> str:
        try:
            text, self._place = scanstring(self._text, self._place + 1)
        except JSONDecodeError as error:
            self._place = error.pos
            self._stop(f"Not valid JSON: {error.msg}.")
        return str(text)

    def _bare(self) -> JsonValue:
        word = _WORD.match(self._text, self._place)
        if word is not None:
            self._place = word.end()
            return _WORDS[word.group()]
        number = _NUMBER.match(self._text, self._place)
        if number is None:
            self._stop("A JSON value is expected here.")
        if number.end() - number.start() > MAX_DIGITS:
            self._stop(f"A number of more than {MAX_DIGITS} digits.")
        return self._number(number)

    def _number(self, number: re.Match[str]) -> JsonValue:
        whole, fraction, exponent = number.groups()
        value = float(number.group()) if fraction or exponent else int(whole)
        if value in {float("inf"), float("-inf")}:
            self._stop("A number out of range.")
        self._place = number.end()
        return value

    def _next(self) -> str:
        blanks = _BLANKS.match(self._text, self._place)
        self._place = blanks.end() if blanks else self._place
        return self._text[self._place : self._place + 1]

    def _here(self) -> Location:
        line = bisect_right(self._lines, self._place)
        return Location(self._file, line, self._place - self._lines[line - 1] + 1)

    def _stop(self, message: str) -> NoReturn:
        self._problems.add(message, self._here())
        raise self._problems.error()
