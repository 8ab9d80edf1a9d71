"""Splits pairs or texts into calls, which run concurrently."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from fieldmark.model.comparison import Comparison
from fieldmark.model.outcome import Reason

__all__ = ["map_batches", "provider_error", "split_batches"]

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")


def provider_error(error: object, reason: Reason = Reason.PROVIDER_FAILED) -> Comparison:
    """Return the comparison of a pair that could not be judged."""
    return Comparison.error(reason, note=str(error))


def split_batches(
    items: Sequence[_Item], size: Callable[[_Item], int], *, max_items: int, max_size: int
) -> Iterator[list[_Item]]:
    """Yield the items in batches that are limited in number and in total size.

    >>> list(split_batches(["aa", "b", "c"], len, max_items=2, max_size=3))
    [['aa', 'b'], ['c']]
    """
    batch: list[_Item] = []
    total = 0
    for item in items:
        if batch and (len(batch) == max_items or total + size(item) > max_size):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size(item)
    if batch:
        yield batch


def map_batches(
    function: Callable[[list[_Item]], list[_Answer]], batches: Sequence[list[_Item]], threads: int
) -> list[_Answer]:
    """Call a function with each batch and return the answers in the order of the items."""
    if not batches:
        return []
    pool = ThreadPoolExecutor(min(threads, len(batches)), thread_name_prefix="fieldmark-llm")
    try:
        return [answer for answers in pool.map(function, batches) for answer in answers]
    finally:
        # After an interruption no further batch is sent.
        pool.shutdown(cancel_futures=True)
