"""Answers many items with few calls: from the cache, or else in concurrent batches."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

from fieldmark.model.comparison import Comparison
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason

if TYPE_CHECKING:
    from fieldmark.judges.llm.client import CachedClient, Question

__all__ = ["MAX_TEXT_CHARACTERS", "answer_in_batches", "provider_error", "split_batches"]

MAX_TEXT_CHARACTERS: Final = 20_000
"""Longer texts are not sent."""
_Item = TypeVar("_Item", bound=Hashable)
_Answer = TypeVar("_Answer")


def provider_error(error: object, reason: Reason = Reason.PROVIDER_FAILED) -> Comparison:
    """Return the comparison of a pair that could not be judged."""
    return Comparison.error(reason, note=str(error))


def answer_in_batches(
    client: CachedClient,
    items: Sequence[_Item],
    *,
    texts: Callable[[_Item], Sequence[str]],
    question: Callable[[_Item], Question],
    read: Callable[[JsonValue], _Answer | Comparison],
    ask: Callable[[list[_Item]], list[_Answer | Comparison]],
    max_items: int,
    max_characters: int,
    threads: int,
) -> dict[_Item, _Answer | Comparison]:
    """Answer every item: `read` its cached answer, or `ask` for a batch of items."""
    too_long = f"texts beyond {MAX_TEXT_CHARACTERS} characters are not sent"
    answers: dict[_Item, _Answer | Comparison] = {
        item: provider_error(too_long, Reason.TOO_LONG)
        for item in items
        if max(map(len, texts(item))) > MAX_TEXT_CHARACTERS
    }
    rest = [item for item in items if item not in answers]
    for item, cached in zip(rest, client.lookup([question(each) for each in rest]), strict=True):
        if cached is not None:
            answers[item] = read(cached.answer)
    unknown = [item for item in dict.fromkeys(rest) if item not in answers]
    batches = list(
        split_batches(
            unknown,
            lambda item: sum(map(len, texts(item))),
            max_items=max_items,
            max_size=max_characters,
        )
    )
    if batches:
        pool = ThreadPoolExecutor(min(threads, len(batches)), thread_name_prefix="fieldmark-llm")
        try:
            found = [answer for batch in pool.map(ask, batches) for answer in batch]
        finally:
            # After an interruption no further batch is sent.
            pool.shutdown(cancel_futures=True)
        answers.update(zip(unknown, found, strict=True))
    return answers


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
