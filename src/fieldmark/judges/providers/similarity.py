"""Errors of providers, and the cosine similarity of vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from threading import Lock
from typing import Final

import numpy as np

from fieldmark.compare.semantic import SimilaritySource, ask_provider
from fieldmark.model.comparison import Comparison, Similarity, TextPair
from fieldmark.model.outcome import Reason

Vector = Sequence[float]


def provider_error(error: object, reason: Reason = Reason.PROVIDER_FAILED) -> Comparison:
    """Return the comparison of a pair whose similarity is unknown."""
    return Comparison.error(reason, note=str(error))


def cosine_similarities(
    pairs: Sequence[TextPair], vectors: Mapping[str, Vector | Comparison]
) -> list[Similarity]:
    """Return the cosine similarity of each pair, at least 0, or the error of a vector.

    >>> cosine_similarities([("a", "b")], {"a": [1.0, 0.0], "b": [1.0, 0.0]})
    [1.0]
    """
    return [_cosine(vectors[expected], vectors[candidate]) for expected, candidate in pairs]


def _cosine(expected: Vector | Comparison, candidate: Vector | Comparison) -> Similarity:

    if isinstance(expected, Comparison):
        return expected
    if isinstance(candidate, Comparison):
        return candidate
    first, second = np.asarray(expected, dtype=np.float64), np.asarray(candidate, dtype=np.float64)
    if first.shape != second.shape:
        return provider_error("the vectors of the two strings have different lengths")
    lengths = float(np.linalg.norm(first)) * float(np.linalg.norm(second))
    if not lengths > 0.0:
        return provider_error("the vector of a string is zero")
    return min(1.0, max(0.0, float(np.dot(first, second)) / lengths))


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
