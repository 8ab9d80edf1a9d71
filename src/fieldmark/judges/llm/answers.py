"""Answers to questions of one kind: from the cache if they are known, else from the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias

from fieldmark.judges.llm.cache import AnswerCache, CacheError, Kept, answer_key
from fieldmark.judges.llm.calls import Caller, CallFailedError
from fieldmark.judges.llm.connection import Connection
from fieldmark.judges.llm.memory import RunMemory
from fieldmark.judges.llm.replies import UnusableReplyError
from fieldmark.model.json import JsonObject

__all__ = ["FAULTS", "Answers", "Question"]

Question: TypeAlias = JsonObject
"""All that is asked; with the connection and the prompt, all that the answer depends on."""


FAULTS: Final = (CallFailedError, UnusableReplyError, CacheError)
"""What may go wrong while a question is asked."""


class Answers:
    """Knows or asks; several threads may use it at once."""

    def __init__(
        self,
        connection: Connection,
        about: JsonObject,
        cache: AnswerCache | RunMemory,
        caller: Caller | None,
    ) -> None:
        self._connection = connection
        self._about = {**about, **connection.parameters()}
        self._cache = cache
        self._caller = caller

    @classmethod
    @contextmanager
    def opened(cls, connection: Connection, about: JsonObject) -> Iterator[Answers]:
        """What answers during one run; `about` is all that an answer depends on besides."""
        with connection.opened_cache() as cache:
            if connection.offline:
                yield cls(connection, about, cache, None)
                return
            with Caller.opened(connection) as caller:
                yield cls(connection, about, cache, caller)

    def known(self, questions: Sequence[Question]) -> list[Kept | None]:
        """The answers that were kept, in order, and nothing for those that were not."""
        keys = [self._key(question) for question in questions]
        found = self._cache.find(keys)
        answers = [found.get(key) for key in keys]
        for kept in answers:
            if kept is not None:
                self._connection.ledger.answered(kept.call, replayed=True)
        return answers

    def asked(
        self, questions: Sequence[Question], ask: Callable[[Caller], Sequence[Kept]]
    ) -> list[Kept]:
        """What one call says to some questions, kept for the next time."""
        if self._caller is None:
            raise CallFailedError("offline, and the answer is not in the cache")
        keys = [self._key(question) for question in questions]
        stands = self._cache.keep(zip(keys, ask(self._caller), strict=True))
        kept = [stands[key] for key in keys]
        for each in kept:
            self._connection.ledger.answered(each.call, replayed=False)
        return kept

    def _key(self, question: Question) -> str:
        return answer_key({"about": self._about, "question": question})
