"""Items as texts: equal texts are equal items, and the order of texts is the canonical order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import orjson

from fieldmark.model.json import JsonValue
from fieldmark.values.canonical import canonical_text

__all__ = ["Spelled", "evened", "has_exponent", "is_even", "spelled"]

_FRAMES: Final[dict[type, tuple[bytes, bytes, bytes]]] = {
    dict: (b"{", b"},{", b"}"),
    list: (b"[", b"],[", b"]"),
    str: (b'"', b'","', b'"'),
    int: (b"", b",", b""),
    float: (b"", b",", b""),
}
"""How items of one kind begin, where they meet in the text of a list, and how they end."""

_UNEVEN: Final = (b".0,", b".0}", b".0]", b".0\n")
"""How a float ends that an integer may equal, if it has no exponent."""

_DIGITS: Final = bytes.maketrans(b"123456789", b"000000000")


class Spelled(NamedTuple):
    """A text for each item of two lists; `start` and `end` make it a line, the item's full text.

    Items of the same text are equal, but for those whose text holds `doubt`, if that is given.
    """

    expected: list[bytes]
    candidate: list[bytes]
    start: bytes
    end: bytes
    doubt: bytes | None

    def in_order(
        self, texts: Sequence[bytes], places: Iterable[int]
    ) -> tuple[list[bytes], list[int]]:
        """The lines of the items at some places, and these places, in canonical order."""
        start, end = self.start, self.end
        order = sorted([(start + texts[place] + end, place) for place in places])
        return [line for line, _ in order], [place for _, place in order]


def spelled(expected: list[JsonValue], candidate: list[JsonValue]) -> Spelled | None:
    """The texts of all items, or none if both lists are equal item by item."""
    dumps, by_key = orjson.dumps, orjson.OPT_SORT_KEYS
    try:
        whole, other = dumps(expected, None, by_key), dumps(candidate, None, by_key)
    except TypeError:  # a number, a text or a depth beyond what the fast writer knows
        return Spelled(_lines(expected), _lines(candidate), b"", b"", b"")
    doubt = b"null" if b"null" in whole else None  # NaN is written so, and NaN equals nothing
    if doubt is None and whole == other:
        return None
    kinds = set(map(type, expected))
    kinds.update(map(type, candidate))
    start, cut, end = _FRAMES.get(kinds.pop(), (b"", b"", b""))
    # A quote within a text may look like the end of the text.
    if cut and not kinds and not (start == b'"' and (b'\\"' in whole or b'\\"' in other)):
        texts = whole[1 + len(start) : len(whole) - 1 - len(end)].split(cut)
        others = other[1 + len(start) : len(other) - 1 - len(end)].split(cut)
        if len(texts) == len(expected) and len(others) == len(candidate):
            return Spelled(texts, others, start, end + b"\n", doubt)
    return Spelled(_lines(expected), _lines(candidate), b"", b"", doubt)


def _lines(items: list[JsonValue]) -> list[bytes]:
    return [_line(item) for item in items]


def _line(item: JsonValue) -> bytes:
    try:
        return orjson.dumps(item, None, orjson.OPT_SORT_KEYS) + b"\n"
    except TypeError:
        return canonical_text(item) + b"\n"


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
