"""Limits of JSON documents, the same for files and for Python objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fieldmark.errors import LimitError, OptionError
from fieldmark.model.json import JsonValue

_MEGABYTE: Final = 1 << 20
_MAX_DEPTH: Final = 200
"""Beyond this depth, the parsers could exceed their recursion limits."""
_PER_CHARACTER: Final = 16
_PER_VALUE: Final = 256
"""What the paths of a document may have in addition to `path_characters`: for each character of
its keys and strings, and for each value. `_kernel.c` has the same number for a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of the input; input beyond them is an error and never truncated.

    Results name every field by its path. `path_characters` limits the paths of all values of a
    document together, so that results are never much larger than the document, as they would be
    for thousands of values below one long key.
    """

    document_bytes: int = 64 * _MEGABYTE
    line_bytes: int = 16 * _MEGABYTE
    depth: int = _MAX_DEPTH
    nodes: int = 1_000_000
    integer_digits: int = 1_000
    key_characters: int = 4_000
    path_characters: int = 250_000

    def __post_init__(self) -> None:
        if not 1 <= self.depth <= _MAX_DEPTH:
            raise OptionError("depth", f"must be between 1 and {_MAX_DEPTH}")


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
            for place, inner in enumerate(item):
                pending.append((inner, length + len(str(place)) + 2))
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
