"""A run in segments: as many cases each, whatever portions they were read in.

A segment is held in memory, so large cases make small segments. How many cases it has is decided
once for a run, from its first rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from fieldmark.model.case import Case

__all__ = ["SEGMENT", "segment_size", "segments"]

SEGMENT: Final = 512
"""Cases that are compared, written and acknowledged together, at most."""
_BYTES: Final = 4 << 20
"""JSON in one segment, about; as values it is some eight times as large."""


def segment_size(case_bytes: int) -> int:
    """How many cases a segment has if each of them is about so large.

    >>> segment_size(1_000), segment_size(100_000), segment_size(10**9)
    (512, 41, 1)
    """
    return max(1, min(SEGMENT, _BYTES // max(1, case_bytes)))


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
