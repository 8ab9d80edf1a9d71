"""JSONL files in compressed members that end anywhere."""

from __future__ import annotations

import gzip
import struct
from itertools import pairwise

import pyarrow as pa

__all__ = ["COMPRESSIONS", "in_members"]

PADDING = b"\0" * 7
SKIPPABLE = struct.pack("<II", 0x184D2A53, 4) + b"none"
EMPTY_GZIP = gzip.compress(b"")


def _gzip(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def _zstd(content: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(content))


COMPRESSIONS = {
    "gz": (_gzip, b""),
    "gz-padded": (lambda content: _gzip(content) + PADDING, b""),
    "gz-empty-at-the-end": (_gzip, EMPTY_GZIP),
    "zst": (_zstd, b""),
    "zst-skippable": (lambda content: SKIPPABLE + _zstd(content), SKIPPABLE),
}
"""How members are compressed, and what follows the last one."""


def in_members(content: bytes, cuts: list[int], compression: str) -> bytes:
    """Return the content compressed in members that start at the cuts."""
    compress, end = COMPRESSIONS[compression]
    edges = [0, *sorted(1 + cut % (len(content) - 1) for cut in cuts), len(content)]
    return b"".join(compress(content[start:stop]) for start, stop in pairwise(edges)) + end
