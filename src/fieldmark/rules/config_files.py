"""Load configuration files and the files that they refer to."""

from __future__ import annotations

import re
from collections.abc import Callable
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Final, NoReturn, TypeVar

from fieldmark.errors import ConfigError, Location
from fieldmark.model.json import JsonValue
from fieldmark.rules.config_values import (
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_NODES,
    Context,
    Located,
    Problems,
    located_list,
    located_object,
)
from fieldmark.values.value_types import describe

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


T = TypeVar("T")

MAX_BYTES: Final = 1_000_000
MAX_TABLE_BYTES: Final = 64_000_000
MAX_TABLE_NODES: Final = 1_000_000


def load_file(path: Path | str) -> Located:
    """Load a configuration file: strict JSON if its extension is `.json`, otherwise YAML."""
    file, text = str(path), load_text(path, MAX_BYTES)
    if _is_json(file):
        return parse_json(text, file=file)
    # Importing the YAML parser takes longer than reading most files.
    from fieldmark.rules.yaml_parser import parse_yaml

    return parse_yaml(text, file=file)


def load_table(path: Path | str) -> Located:
    """Load a data file that a configuration refers to; JSON files may be larger than YAML files."""
    file = str(path)
    if not _is_json(file):
        return load_file(path)
    return parse_json(load_text(path, MAX_TABLE_BYTES), file=file, max_nodes=MAX_TABLE_NODES)


def _is_json(file: str) -> bool:
    return file.lower().endswith(".json")


def load_text(path: Path | str, limit: int = MAX_TABLE_BYTES) -> str:
    """Load a UTF-8 text file of limited size, with or without a byte order mark."""
    file = str(path)
    try:
        with Path(path).open("rb") as stream:
            content = stream.read(limit + 1)
    except FileNotFoundError as error:
        raise ConfigError.of("file not found", Location(str(Path(path)))) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError.of(f"cannot read file: {reason}", Location(str(Path(path)))) from error
    if len(content) > limit:
        raise ConfigError.of(f"file exceeds the limit of {limit:,} bytes", Location(file))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        hint = "save the file as UTF-8"
        raise ConfigError.of("invalid UTF-8", Location(file, line), hint) from error


def named_path(named: Located, key: str, context: Context) -> Path | None:
    """Return the path with a given name, relative to the directory of the configuration."""
    if not isinstance(named.value, str) or not named.value or "\0" in named.value:
        message = f"{key}: expected a file name, got {describe(named.value)}"
        context.add(message, named.location)
        return None
    return (context.directory or Path()) / named.value


def is_known_missing(path: Path, context: Context) -> bool:
    """Whether a path does not exist; paths that must not be read are not checked."""
    try:
        return context.contained and _is_inside(path, context) and not path.exists()
    except OSError:
        return True


def _is_inside(path: Path, context: Context) -> bool:
    """Whether a path is below the directory of the configuration, after resolving links."""
    if context.directory is None:
        return True
    try:
        return path.resolve().is_relative_to(context.directory.resolve())
    except (OSError, RuntimeError):  # a loop of symbolic links
        return False


def load_named(named: Located, key: str, context: Context, load: Callable[[Path], T]) -> T | None:
    """Load the file with a given name; its problems are added to the problems of the configuration.

    With `contained`, only files below the directory of the configuration are read. A problem
    without a line gets the location of the name.
    """
    path = named_path(named, key, context)
    if path is None:
        return None
    if context.contained:
        if not _is_inside(path, context):
            hint = "move it next to the configuration file or below"
            message = f"{named.value!r} is outside the directory of the configuration file"
            context.add(message, named.location, hint)
            return None
        try:
            is_special = path.exists() and not path.is_file()
        except OSError:
            is_special = False
        if is_special:  # reading from a pipe could block forever
            context.add(f"{named.value!r} is not a regular file", named.location)
            return None
    try:
        return load(path)
    except ConfigError as error:
        for problem in error.problems:
            if problem.location.line is None:
                context.add(f"{named.value}: {problem.message}", named.location, problem.hint)
            else:
                context.add(problem.message, problem.location, problem.hint)
        return None
