"""A run in segments: as many cases each, whatever portions they were read in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from fieldmark.model.case import Case

__all__ = ["SEGMENT", "segments"]

SEGMENT: Final = 512
"""Cases that are compared, written and acknowledged together."""


def segments(batches: Iterable[Sequence[Case]], size: int = SEGMENT) -> Iterator[list[Case]]:
    """The same cases, so many at a time; only the last portion is smaller.

    >>> cases = [Case(name, 1) for name in "abcde"]
    >>> [len(segment) for segment in segments([cases[:4], cases[4:]], size=2)]
    [2, 2, 1]
    """
    waiting: list[Case] = []
    for batch in batches:
        waiting += batch
        start = 0
        while len(waiting) - start >= size:
            yield waiting[start : start + size]
            start += size
        del waiting[:start]
    if waiting:
        yield waiting
