"""The similarities that a provider returned in a run, so that it is asked for a pair only once."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from threading import Lock
from typing import Final

from fieldmark.compare.semantic import SimilaritySource, ask_provider
from fieldmark.model.comparison import Similarity, TextPair

_MAX_PAIRS: Final = 100_000


class SimilarityMemo:
    """The latest similarities of a provider, also those that failed; thread-safe.

    A pair that another thread is asking for is waited for.
    """

    __slots__ = ("_known", "_lock", "_provider")

    def __init__(self, provider: SimilaritySource) -> None:
        self._provider = provider
        self._known: dict[TextPair, Future[Similarity]] = {}
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[SimilarityMemo], tuple[SimilaritySource]]:
        # Every process has its own memo.
        return SimilarityMemo, (self._provider,)

    def similarities(self, pairs: Sequence[TextPair]) -> list[Similarity]:
        """Return the similarity of each pair; the provider is asked for those that are new."""
        with self._lock:
            new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
            self._known.update((pair, Future()) for pair in new)
            wanted = [self._known[pair] for pair in pairs]
            asked = [self._known[pair] for pair in new]
            while len(self._known) > _MAX_PAIRS:
                del self._known[next(iter(self._known))]
        if new:
            try:
                found = ask_provider(self._provider, new)
            except BaseException as error:
                with self._lock:
                    for pair in new:
                        self._known.pop(pair, None)
                for future in asked:
                    future.set_exception(error)
                raise
            for future, similarity in zip(asked, found, strict=True):
                future.set_result(similarity)
        return [future.result() for future in wanted]
