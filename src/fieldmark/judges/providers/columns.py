"""A column of questions cut into calls, several of which are under way at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from fieldmark.model.comparison import Comparison
from fieldmark.model.outcome import Reason

__all__ = ["at_once", "failed", "groups"]

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")


def failed(why: object, reason: Reason = Reason.PROVIDER_FAILED) -> Comparison:
    """The answer for a pair that could not be judged."""
    return Comparison.error(reason, note=str(why))


def groups(
    items: Sequence[_Item], size: Callable[[_Item], int], *, most: int, most_size: int
) -> Iterator[list[_Item]]:
    """Items in their order, so many at a time, and fewer where they are large.

    >>> list(groups(["aa", "b", "c"], len, most=2, most_size=3))
    [['aa', 'b'], ['c']]
    """
    group: list[_Item] = []
    total = 0
    for item in items:
        if group and (len(group) == most or total + size(item) > most_size):
            yield group
            group, total = [], 0
        group.append(item)
        total += size(item)
    if group:
        yield group


def at_once(
    ask: Callable[[list[_Item]], list[_Answer]], calls: Sequence[list[_Item]], threads: int
) -> list[_Answer]:
    """The answers of all calls in the order of their items."""
    if not calls:
        return []
    pool = ThreadPoolExecutor(min(threads, len(calls)), thread_name_prefix="fieldmark-llm")
    try:
        return [answer for answers in pool.map(ask, calls) for answer in answers]
    finally:
        # After an interruption nothing further is sent.
        pool.shutdown(cancel_futures=True)
