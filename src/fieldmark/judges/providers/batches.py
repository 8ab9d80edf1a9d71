"""Answers many items with few calls: from the cache, or else in concurrent batches."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

from fieldmark.model.comparison import Comparison
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import Reason

if TYPE_CHECKING:
    from fieldmark.judges.llm.answer_cache import CachedAnswer
    from fieldmark.judges.llm.client import LlmClient, Question
    from fieldmark.judges.llm.connection import Connection

__all__ = ["MAX_TEXT_CHARACTERS", "answer_in_batches", "provider_error", "split_batches"]

MAX_TEXT_CHARACTERS: Final = 20_000
"""Longer texts are not sent."""
_Item = TypeVar("_Item", bound=Hashable)
_Answer = TypeVar("_Answer")


def provider_error(error: object, reason: Reason = Reason.PROVIDER_FAILED) -> Comparison:
    """Return the comparison of a pair that could not be judged."""
    return Comparison.error(reason, note=str(error))


def answer_in_batches(
    connection: Connection,
    task: JsonObject,
    items: Sequence[_Item],
    *,
    texts: Callable[[_Item], Sequence[str]],
    question: Callable[[_Item], Question],
    ask: Callable[[LlmClient, list[_Item]], list[CachedAnswer]],
    read: Callable[[JsonValue], _Answer | Comparison],
    max_items: int,
    max_characters: int,
    halve: bool = False,
) -> dict[_Item, _Answer | Comparison]:
    """Answer every item: `ask` for a batch that is not in the cache, and `read` each answer.

    With `halve`, a batch with an unusable reply is asked about again in two halves.
    """
    from fieldmark.judges.llm.client import LLM_ERRORS, LlmClient, UnusableReplyError

    def answer_batch(batch: list[_Item]) -> list[_Answer | Comparison]:
        try:
            found = client.ask([question(item) for item in batch], lambda: ask(client, batch))
        except LLM_ERRORS as error:
            if halve and isinstance(error, UnusableReplyError) and len(batch) > 1:
                half = len(batch) // 2
                return [*answer_batch(batch[:half]), *answer_batch(batch[half:])]
            return [provider_error(error)] * len(batch)
        return [read(each.answer) for each in found]

    too_long = f"texts beyond {MAX_TEXT_CHARACTERS} characters are not sent"
    answers: dict[_Item, _Answer | Comparison] = {
        item: provider_error(too_long, Reason.TOO_LONG)
        for item in items
        if max(map(len, texts(item))) > MAX_TEXT_CHARACTERS
    }
    rest = [item for item in items if item not in answers]
    try:
        with LlmClient.opened(connection, task) as client:
            cached = client.lookup([question(item) for item in rest])
            answers |= {
                item: read(each.answer)
                for item, each in zip(rest, cached, strict=True)
                if each is not None
            }
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
                threads = min(connection.concurrency, len(batches))
                pool = ThreadPoolExecutor(threads, thread_name_prefix="fieldmark-llm")
                try:
                    new = [answer for batch in pool.map(answer_batch, batches) for answer in batch]
                finally:
                    # After an interruption no further batch is sent.
                    pool.shutdown(cancel_futures=True)
                answers.update(zip(unknown, new, strict=True))
    except LLM_ERRORS as error:
        return dict.fromkeys(items, provider_error(error))
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
