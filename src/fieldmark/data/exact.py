"""The exact JSON parser: slower, and right about everything the fast one is not asked about.

It keeps integers of any size exact, takes lone surrogates as data, sees duplicate keys, and
reads the numbers that JSON does not have (NaN, Infinity, 1e999) where a candidate may hold them.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Final, NoReturn

from fieldmark.data.inputs import LIMITS, Duplicates, Limits, Role
from fieldmark.errors import DataError, LimitError, Location
from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["Grammar", "check_shape", "decode", "explained", "parse_exact", "refuse_foreign"]

_STRINGS: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKETS: Final = re.compile(r"[\[\]{}]")
_BLANKS: Final = str.maketrans("", "", " \t\r\n")
_UTF16: Final = "this looks like UTF-16; save it as UTF-8"
_FOREIGN: Final = {
    b"\xff\xfe": _UTF16,
    b"\xfe\xff": _UTF16,
    b"\x1f\x8b": "this looks like gzip; unpack it first, or name a file that ends in .gz",
}
"""How bytes begin that are something else than UTF-8."""
_BOM: Final = "\ufeff"


@dataclass(slots=True, kw_only=True)
class Grammar:
    """Which JSON is taken, and how often it was taken although it is not quite JSON."""

    role: Role = Role.TRUTH
    duplicates: Duplicates | str = Duplicates.REFUSE
    limits: Limits = LIMITS
    repeated_keys: int = field(default=0, init=False)
    non_finite: int = field(default=0, init=False)


def refuse_foreign(raw: bytes, location: Location = Location()) -> None:
    """Refuse bytes that begin like something else than text in UTF-8, saying what it may be."""
    message = _FOREIGN.get(raw[:2])
    if message is not None:
        raise DataError(message, location)


def decode(raw: bytes) -> str:
    """UTF-8 bytes as text, without a byte order mark; other encodings are named if known."""
    refuse_foreign(raw)
    if b"\0\0" in (raw[0:4:2], raw[1:4:2]):
        raise DataError(_UTF16)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"byte 0x{raw[error.start]:02X} at position {error.start + 1} is not UTF-8; "
            "if this is Latin-1 or Windows-1252 text, save it as UTF-8"
        ) from None
    return text.removeprefix(_BOM)


def check_shape(text: str, limits: Limits) -> None:
    """Refuse text that nests too deeply or holds too many values, before anything is built."""
    brackets = text.count("[") + text.count("{")
    crowded = brackets + text.count(",") >= limits.nodes
    if brackets > limits.depth or crowded:
        bare = _STRINGS.sub("0", text)
        _check_depth(bare, limits.depth)
        if crowded:
            _check_nodes(bare, limits.nodes)


def _check_depth(bare: str, limit: int) -> None:
    depth = 0
    for bracket in _BRACKETS.findall(bare):
        depth += 1 if bracket in "[{" else -1
        if depth > limit:
            raise LimitError("depth", f"nested deeper than {limit} levels")


def _check_nodes(bare: str, limit: int) -> None:
    dense = bare.translate(_BLANKS)
    filled = dense.count("[") + dense.count("{") - dense.count("[]") - dense.count("{}")
    if 1 + filled + dense.count(",") > limit:
        raise LimitError("nodes", f"holds more than {limit:,} values")


def parse_exact(text: str, grammar: Grammar) -> JsonValue:
    """The value of one JSON text; anything else is a data error."""
    check_shape(text, grammar.limits)
    hooks = _Hooks(grammar)
    decoder = json.JSONDecoder(
        object_pairs_hook=hooks.an_object,
        parse_float=hooks.a_float,
        parse_int=hooks.an_integer,
        parse_constant=hooks.a_constant,
    )
    try:
        value: JsonValue = decoder.decode(text)
    except json.JSONDecodeError as error:
        raise DataError(explained(error, text)) from None
    except RecursionError:
        raise LimitError("depth", "nested too deeply for the stack that is left") from None
    return value


def explained(error: json.JSONDecodeError, text: str) -> str:
    """What is wrong with a text that is not JSON, and where."""
    if not text.strip():
        return "not JSON: there is nothing in it"
    line = f"line {error.lineno}, " if error.lineno > 1 else ""
    what = error.msg[:1].lower() + error.msg[1:]
    cut = " (the text ends too early)" if error.pos >= len(text.rstrip()) else ""
    return f"not JSON: {what}{cut} at {line}column {error.colno}"


class _Hooks:
    """What the decoder asks about the parts of a document."""

    __slots__ = ("_grammar",)

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar

    def an_object(self, pairs: list[tuple[str, JsonValue]]) -> JsonObject:
        made = dict(pairs)
        if len(made) != len(pairs):
            self._repeated([key for key, _ in pairs])
        return made

    def _repeated(self, keys: list[str]) -> None:
        if self._grammar.duplicates == Duplicates.REFUSE:
            twice = next(key for place, key in enumerate(keys) if key in keys[:place])
            raise DataError(f"the key {twice!r} occurs twice in one object")
        self._grammar.repeated_keys += 1

    def an_integer(self, digits: str) -> int:
        limit = self._grammar.limits.integer_digits
        if len(digits) - digits.startswith("-") > limit:
            raise LimitError("integer_digits", f"an integer has more than {limit:,} digits")
        return int(digits)

    def a_float(self, digits: str) -> float:
        number = float(digits)
        return number if math.isfinite(number) else self._beyond(number, digits)

    def a_constant(self, name: str) -> float:
        return self._beyond(float(name), name)

    def _beyond(self, number: float, written: str) -> float:
        if self._grammar.role is Role.TRUTH:
            self._refuse_number(written)
        self._grammar.non_finite += 1
        return number

    @staticmethod
    def _refuse_number(written: str) -> NoReturn:
        raise DataError(f"{written[:20]} is not a finite number")
