"""JSON texts of list items, and the canonical order of items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import orjson

from fieldmark.model.json import JsonValue
from fieldmark.values.canonical import canonical_text

__all__ = [
    "ListTexts",
    "canonical_order",
    "has_exponent",
    "normalized_number_texts",
    "texts_of",
    "texts_of_lists",
]

_FRAMES: Final[dict[type, tuple[bytes, bytes, bytes]]] = {
    dict: (b"[{", b"},{", b"}]"),
    list: (b"[[", b"],[", b"]]"),
    str: (b'["', b'","', b'"]'),
    int: (b"[", b",", b"]"),
    float: (b"[", b",", b"]"),
}
"""The start, the separator and the end in the JSON text of a list with items of one type."""

_UNFRAMED: Final = (b"", b"", b"")

_ENDS: Final = bytes.maketrans(b"}]", b",,")
_DIGITS: Final = bytes.maketrans(b"123456789", b"000000000")

ListTexts: TypeAlias = tuple[list[bytes], list[bytes], bytes | None]
"""The texts of the items of two lists, and a marker: items with the same text may still differ if
the text contains the marker (the empty marker is in every text)."""

_NO_TEXTS: Final[list[bytes]] = []
_SAME: Final[ListTexts] = (_NO_TEXTS, _NO_TEXTS, None)


def texts_of_lists(expected: list[JsonValue], candidate: list[JsonValue]) -> ListTexts:
    """Return the texts of all items; the same object twice if the lists are equal in order."""
    dumps, by_key = orjson.dumps, orjson.OPT_SORT_KEYS
    try:
        whole, other = dumps(expected, None, by_key), dumps(candidate, None, by_key)
    except TypeError:  # a number, text or depth that orjson does not support
        return texts_of(expected), texts_of(candidate), b""
    doubt = b"null" if b"null" in whole else None  # NaN is written so, and NaN equals nothing
    if doubt is None and whole == other:
        return _SAME
    kinds = {*map(type, expected), *map(type, candidate)}
    start, cut, end = _FRAMES.get(kinds.pop(), _UNFRAMED) if len(kinds) == 1 else _UNFRAMED
    # A quote inside a text may look like its end.
    if cut and not (cut == b'","' and (b'\\"' in whole or b'\\"' in other)):
        texts = whole[len(start) : -len(end)].split(cut)
        other_texts = other[len(start) : -len(end)].split(cut)
        if len(texts) == len(expected) and len(other_texts) == len(candidate):
            return texts, other_texts, doubt
    return texts_of(expected), texts_of(candidate), doubt


def texts_of(items: list[JsonValue]) -> list[bytes]:
    """Return the text of each item, written one by one."""
    return [_line(item) for item in items]


def _line(item: JsonValue) -> bytes:
    try:
        # Adding to the text copies it: the buffer of orjson is many times as large.
        return b" " + orjson.dumps(item, None, orjson.OPT_SORT_KEYS)
    except TypeError:
        return b" " + canonical_text(item)


def canonical_order(items: Sequence[JsonValue], places: Iterable[int]) -> list[int]:
    """Sort indexes by the canonical texts of their items.

    >>> canonical_order(["b", "c", "a"], [0, 1, 2])
    [2, 0, 1]
    """
    return sorted(sorted(places), key=lambda place: canonical_text(items[place]))


def has_exponent(text: bytes) -> bool:
    """Whether a text may contain a number with an exponent.

    >>> has_exponent(b'{"a":1e30}'), has_exponent(b'{"e":1.5}')
    (True, False)
    """
    return b"0e" in text.translate(_DIGITS)


def normalized_number_texts(texts: Sequence[bytes]) -> list[bytes]:
    """Return texts that are the same for equal items without exponents, and for some others.

    >>> normalized_number_texts([b'{"a":-0.0}', b'{"a":0}'])
    [b'{"a":0,', b'{"a":0,']
    """
    lines = b"".join([b",\n".join(texts), b",\n"])  # a line break within an item is escaped
    return lines.translate(_ENDS, b"-").replace(b".0,", b",").split(b",\n")[:-1]
