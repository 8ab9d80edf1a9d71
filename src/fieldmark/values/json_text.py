"""Serialization of any value as strict JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NoReturn, TypeAlias, cast

import orjson

from fieldmark.errors import LimitError, OptionError
from fieldmark.model.json import JsonObject, JsonValue

_STRINGS: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""A string; without an end, it extends to the end of the text, so that each is read once."""
_BRACKETS: Final = re.compile(r"[\[\]{}]")
_DIGITS: Final = bytes.maketrans(b"123456789", b"000000000")
_MANY_DIGITS: Final = b"0" * 19
"""Integers with fewer digits fit in 64 bits."""
_WHITESPACE: Final = str.maketrans("", "", " \t\r\n")


class Violation(StrEnum):
    """Deviations that JSON parsers usually accept and this one reports."""

    DEPTH = "nested too deeply"
    DUPLICATE_KEY = "duplicate key"
    INTEGER_LENGTH = "integer with too many digits"
    NON_FINITE = "{} is not a finite number"


class StrictJsonError(ValueError):
    """JSON that most parsers accept, but that is rejected here."""

    def __init__(self, violation: Violation, detail: str = "") -> None:
        super().__init__(violation.format(detail))
        self.violation = violation
        self.detail = detail


Report: TypeAlias = Callable[[Violation, str], None]
"""Called with each violation and its key or number; may raise an error to reject it."""


def _reject(violation: Violation, detail: str) -> NoReturn:
    raise StrictJsonError(violation, detail)


def parse_strict(
    text: str,
    *,
    max_depth: int | None = None,
    max_digits: int | None = None,
    report: Report = _reject,
) -> JsonValue:
    """Parse JSON text; a syntax error is a `json.JSONDecodeError`.

    If `report` returns, the last value of a duplicate key wins and numbers are unchanged.

    >>> parse_strict('{"total": 1, "total": 2}')
    Traceback (most recent call last):
    fieldmark.values.json_text.StrictJsonError: duplicate key
    """

    def read_object(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
        made = dict(pairs)
        if len(made) != len(pairs):
            report(Violation.DUPLICATE_KEY, str(first_repeated([key for key, _ in pairs])))
        return made

    def read_integer(digits: str) -> int:
        if max_digits is not None and len(digits) - digits.startswith("-") > max_digits:
            report(Violation.INTEGER_LENGTH, digits)
        return int(digits)

    def read_float(written: str) -> float:
        number = float(written)
        if not math.isfinite(number):
            report(Violation.NON_FINITE, written)
        return number

    if max_depth is not None and nesting_exceeds(text, max_depth):
        report(Violation.DEPTH, "")
    decoder = json.JSONDecoder(
        object_pairs_hook=read_object,
        parse_int=read_integer,
        parse_float=read_float,
        parse_constant=read_float,
    )
    try:
        value: JsonValue = decoder.decode(text)
    except RecursionError:
        raise StrictJsonError(Violation.DEPTH) from None
    return value


def first_repeated(keys: Iterable[str]) -> str | None:
    """Return the first key that occurs a second time, or `None`.

    >>> first_repeated(["a", "b", "c", "b", "a"])
    'b'
    """
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            return key
        seen.add(key)
    return None


def nesting_exceeds(text: str, limit: int) -> bool:
    """Return whether text is nested more than `limit` levels deep, without parsing it.

    >>> nesting_exceeds('[["[[["]]', 2)
    False
    """
    if text.count("[") + text.count("{") <= limit:
        return False
    depth = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > limit:
            return True
    return False


def values_exceed(text: str, limit: int) -> bool:
    """Return whether JSON text has more than `limit` values, without parsing it.

    >>> values_exceed('[1, [], "a, b"]', 3)
    True
    """
    if text.count("[") + text.count("{") + text.count(",") < limit:
        return False
    dense = _STRINGS.sub("0", text).translate(_WHITESPACE)
    filled = dense.count("[") + dense.count("{") - dense.count("[]") - dense.count("{}")
    return 1 + filled + dense.count(",") > limit


def may_exceed_64_bits(text: bytes) -> bool:
    """Return whether JSON text has as many digits in a row as every integer beyond 64 bits.

    >>> may_exceed_64_bits(b"[9223372036854775808]"), may_exceed_64_bits(b"[1, 2.5]")
    (True, False)
    """
    return _MANY_DIGITS in text.translate(_DIGITS)


def is_finite(number: float) -> bool:
    """Whether a number is finite as a float; an integer can be too large.

    >>> is_finite(10**308), is_finite(10**309)
    (True, False)
    """
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def all_finite(value: JsonValue) -> bool:
    """Return whether all numbers in a value are finite, at any depth.

    >>> all_finite({"a": [1.5, None]}), all_finite([float("nan")])
    (True, False)
    """
    pending: list[dict[str, JsonValue] | list[JsonValue]] = [[value]]
    while pending:
        item = pending.pop()
        for inner in item.values() if isinstance(item, dict) else item:
            if isinstance(inner, dict | list):
                pending.append(inner)
            elif type(inner) is float and not math.isfinite(inner):
                return False
    return True


_MAX_DEPTH: Final = 100
"""No file of a run is nested as deeply, and deeper ones could not be processed recursively."""
_NAMES: Final = frozenset({"NaN", "Infinity", "-Infinity"})


def strict_json(value: object) -> bytes:
    """Return compact JSON without invalid characters; the order of keys is preserved.

    NaN and infinite numbers become null: where they may be, `finite_json` says which they were.
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        text = json.dumps(name_non_finite(value), separators=(",", ":"), allow_nan=False)
        return text.encode("ascii")


def read_json(text: bytes) -> JsonValue:
    """Parse the output of `strict_json`, or raise `ValueError`.

    >>> read_json(b'{"invoice": 123456789012345678901234567890}')
    {'invoice': 123456789012345678901234567890}
    """
    # The fast parser rounds integers beyond 64 bits and rejects lone surrogates.
    if not may_exceed_64_bits(text):
        with suppress(orjson.JSONDecodeError):
            return cast("JsonValue", orjson.loads(text))
    return parse_strict(text.decode())


def finite_json(value: object) -> bytes:
    """Return the same as `strict_json`, with NaN and infinite numbers as strings.

    >>> finite_json([float("nan"), float("-inf"), None])
    b'["NaN","-Infinity",null]'
    """
    return strict_json(name_non_finite(value))


def read_document(content: bytes) -> JsonObject:
    """Parse the content of a file of a run; raise `ValueError` if it is not a JSON object."""
    try:
        document = read_json(content)
    except ValueError as error:
        raise ValueError(f"invalid JSON: {error}") from error
    if not isinstance(document, dict):
        raise ValueError("expected a JSON object")  # noqa: TRY004 - data
    level: list[JsonValue] = [document]
    for _ in range(_MAX_DEPTH):
        items = (
            container.values() if isinstance(container, dict) else container for container in level
        )
        level = [item for container in items for item in container if isinstance(item, dict | list)]  # type: ignore[union-attr]
        if not level:
            return document
    raise ValueError(f"nested more than {_MAX_DEPTH} levels deep")


def pretty_json(value: object) -> bytes:
    """Return the same as `strict_json`, indented for human readers."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        text = json.dumps(name_non_finite(value), indent=2, allow_nan=False)
        return f"{text}\n".encode("ascii")


def without_non_finite(value: JsonValue, *, named: bool = False) -> JsonValue:
    """Replace NaN and infinite numbers with null; with `named`, also their names.

    >>> without_non_finite([float("nan"), 1.5])
    [None, 1.5]
    """
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if named and isinstance(value, str) and value in _NAMES:
        return None
    if isinstance(value, list):
        return [without_non_finite(item, named=named) for item in value]
    if isinstance(value, dict):
        return {key: without_non_finite(item, named=named) for key, item in value.items()}
    return value


def unname_non_finite(value: JsonValue) -> JsonValue:
    """Replace the names of NaN and infinite numbers with the numbers.

    >>> unname_non_finite(["Infinity", "NaN and more"])
    [inf, 'NaN and more']
    """
    if isinstance(value, str) and value in _NAMES:
        return float(value)
    if isinstance(value, list):
        return [unname_non_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: unname_non_finite(item) for key, item in value.items()}
    return value


def name_non_finite(value: object) -> object:
    """Replace NaN and infinite numbers with their names."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, list | tuple):
        return [name_non_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: name_non_finite(item) for key, item in value.items()}
    return value


_MEGABYTE: Final = 1 << 20
_MAX_NESTING: Final = 200
"""Beyond this depth, the parsers could exceed their recursion limits."""
_PER_CHARACTER: Final = 16
_PER_VALUE: Final = 256
"""Additional characters for the paths of a document, besides `path_characters`: for each character
of its keys and strings, and for each value. `kernel.h` has the same number for a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of the input; input beyond them is an error and never truncated.

    Results name every field by its path. `path_characters` limits the paths of all values of a
    document together, so that results are never much larger than the document, as they would be
    for thousands of values below one long key.
    """

    document_bytes: int = 64 * _MEGABYTE
    line_bytes: int = 16 * _MEGABYTE
    depth: int = _MAX_NESTING
    nodes: int = 1_000_000
    integer_digits: int = 1_000
    key_characters: int = 4_000
    path_characters: int = 250_000

    def __post_init__(self) -> None:
        if not 1 <= self.depth <= _MAX_NESTING:
            raise OptionError("depth", f"must be between 1 and {_MAX_NESTING}")


LIMITS: Final = Limits()


def check_paths(value: JsonValue, limits: Limits) -> None:
    """Raise a `LimitError` for a key that is too long, or for paths that are too long together.

    >>> check_paths({"k" * 5000: 1}, Limits())
    Traceback (most recent call last):
    fieldmark.errors.LimitError: a key has 5,000 characters (limit 4,000)
    """
    paths = text = values = 0
    pending: list[tuple[JsonValue, int]] = [(value, 0)]
    while pending:
        item, length = pending.pop()
        values += 1
        paths += length
        if isinstance(item, dict):
            for key, inner in item.items():
                if len(key) > limits.key_characters:
                    message = f"a key has {len(key):,} characters (limit {limits.key_characters:,})"
                    raise LimitError("key_characters", message)
                text += len(key)
                pending.append((inner, length + len(key) + 1))
        elif isinstance(item, list):
            for index, inner in enumerate(item):
                pending.append((inner, length + len(str(index)) + 2))
        elif isinstance(item, str):
            text += len(item)
    limit = limits.path_characters + _PER_CHARACTER * text + _PER_VALUE * values
    if paths > limit:
        message = f"the paths of all values have {paths:,} characters (limit {limit:,})"
        raise LimitError("path_characters", message)


def paths_exceed(value: JsonValue, key_characters: int, path_characters: int) -> bool:
    """Return whether `check_paths` raises an error."""
    try:
        check_paths(value, Limits(key_characters=key_characters, path_characters=path_characters))
    except LimitError:
        return True
    return False
