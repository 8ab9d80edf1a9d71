"""Items as texts: the same text for equal items, and the canonical order of items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import orjson

from fieldmark.model.json import JsonValue
from fieldmark.values.canonical import canonical_text

__all__ = ["Spelled", "canonical_order", "evened", "has_exponent", "is_even", "spelled"]

_FRAMES: Final[dict[type, tuple[bytes, bytes, bytes]]] = {
    dict: (b"[{", b"},{", b"}]"),
    list: (b"[[", b"],[", b"]]"),
    str: (b'["', b'","', b'"]'),
    int: (b"[", b",", b"]"),
    float: (b"[", b",", b"]"),
}
"""How a list of items of one kind begins, where its items meet, and how it ends."""

_UNFRAMED: Final = (b"", b"", b"")

_UNEVEN: Final = (b".0,", b".0}", b".0]", b".0\n")
"""How a float ends that an integer may equal, if it has no exponent."""

_DIGITS: Final = bytes.maketrans(b"123456789", b"000000000")


class Spelled(NamedTuple):
    """A text for each item of two lists.

    Items of the same text are equal, but for those whose text holds `doubt`, if that is given.
    """

    expected: list[bytes]
    candidate: list[bytes]
    doubt: bytes | None


def spelled(expected: list[JsonValue], candidate: list[JsonValue]) -> Spelled | None:
    """The texts of all items, or none if both lists are equal item by item."""
    dumps, by_key = orjson.dumps, orjson.OPT_SORT_KEYS
    try:
        whole, other = dumps(expected, None, by_key), dumps(candidate, None, by_key)
    except TypeError:  # a number, a text or a depth beyond what the fast writer knows
        return Spelled(_lines(expected), _lines(candidate), b"")
    doubt = b"null" if b"null" in whole else None  # NaN is written so, and NaN equals nothing
    if doubt is None and whole == other:
        return None
    kinds = {*map(type, expected), *map(type, candidate)}
    start, cut, end = _FRAMES.get(kinds.pop(), _UNFRAMED) if len(kinds) == 1 else _UNFRAMED
    # A quote within a text may look like the end of the text.
    if cut and not (cut == b'","' and (b'\\"' in whole or b'\\"' in other)):
        texts = whole[len(start) : -len(end)].split(cut)
        others = other[len(start) : -len(end)].split(cut)
        if len(texts) == len(expected) and len(others) == len(candidate):
            return Spelled(texts, others, doubt)
    return Spelled(_lines(expected), _lines(candidate), doubt)


def _lines(items: list[JsonValue]) -> list[bytes]:
    return [_line(item) for item in items]


def _line(item: JsonValue) -> bytes:
    try:
        # Adding to the text copies it: the writer's own buffer is many times as large.
        return b" " + orjson.dumps(item, None, orjson.OPT_SORT_KEYS)
    except TypeError:
        return b" " + canonical_text(item)


def canonical_order(items: Sequence[JsonValue], places: Iterable[int]) -> list[int]:
    """Some places in the order of the canonical texts of their items.

    >>> canonical_order(["b", "c", "a"], [0, 1, 2])
    [2, 0, 1]
    """
    return sorted(sorted(places), key=lambda place: canonical_text(items[place]))


def is_even(lines: bytes) -> bool:
    """Whether no number in some lines may equal a number that is written in another way.

    >>> is_even(b'{"a":3}\\n'), is_even(b'{"a":3.0}\\n'), is_even(b"1e30\\n")
    (True, False, False)
    """
    return not (any(map(lines.__contains__, _UNEVEN)) or has_exponent(lines))


def has_exponent(lines: bytes) -> bool:
    """Whether there may be a number with an exponent in some lines."""
    return b"0e" in lines.translate(_DIGITS)


def evened(lines: bytes) -> list[bytes]:
    """Lines that are the same if the items are equal, as long as there is no exponent.

    >>> evened(b'{"a":-0.0}\\n{"a":0}\\n')
    [b'{"a":0}', b'{"a":0}']
    """
    for ending in _UNEVEN:
        lines = lines.replace(ending, ending[-1:])
    return lines.replace(b"-0", b"0").splitlines()  # a line break within an item is escaped
