"""Recheck JSON that orjson has parsed for what it silently accepts.

These are a duplicate key (the last one wins), an integer beyond 64 bits (it becomes a float), and
any depth. The compiled part sees them in the bytes; without it, the parsed values are serialized
again and compared with the source. Both may suspect JSON that is fine, never the reverse.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Final

import orjson

__all__ = ["needs_recheck", "roundtrip_differs"]

_EXPONENT: Final = b"e+" if b"e+" in orjson.dumps(1e20) else b"e"
"""What orjson writes into every float as large as an integer beyond 64 bits."""
_RARE: Final = _EXPONENT[-1:]
"""One byte is found much faster than two, and most often it is not there."""
_BIG_INTEGER: Final = re.compile(rb"(?:\A|[\[,:\s-])[0-9]{19}")
"""Integers of fewer digits fit into 64 bits; a fraction or a text does not start like this."""
_ESCAPED_COLON: Final = b"\\u003"
_READER_DEPTH: Final = 1024


def roundtrip_differs(raw: bytes, values: Sequence[object], depth: int) -> bool:
    """Whether `raw` may hold a duplicate key, a big integer or more levels than `depth`.

    Serialized again, values have as many colons as their source unless a key was dropped: colons
    in strings stay colons, and the escape that could add one is searched for. An integer beyond
    64 bits was read as a float, and is written with an exponent. orjson refuses values nested
    beyond its own limit, so they are wrapped in as many lists as make that limit ours.

    >>> roundtrip_differs(b'{"a": 1, "a": 2}', [{"a": 2}], 10)
    True
    """
    levels = _writer_depth() - depth - 1
    if levels < 0:
        return True
    wrapped: object = values
    for _ in range(levels):
        wrapped = [wrapped]
    try:
        written = orjson.dumps(wrapped)
    except orjson.JSONEncodeError:
        return True
    return (
        raw.count(b":") != written.count(b":")
        or (b"\\" in raw and _ESCAPED_COLON in raw)
        or (_RARE in written and _EXPONENT in written and _BIG_INTEGER.search(raw) is not None)
    )


@cache
def _writer_depth() -> int:
    """How many levels orjson serializes; 0 if it has no limit that could stand for ours."""
    nested: list[object] = []
    for depth in range(_READER_DEPTH):
        try:
            orjson.dumps(nested)
        except orjson.JSONEncodeError:
            return depth
        nested = [nested]
    return 0


needs_recheck: Callable[[bytes, Sequence[object], int], bool] = roundtrip_differs
"""`roundtrip_differs`, compiled if possible."""

with suppress(ImportError):  # not compiled
    from fieldmark.data import _scan

    needs_recheck = _scan.may_mislead
