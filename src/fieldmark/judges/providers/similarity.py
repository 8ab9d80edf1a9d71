"""Errors of providers, and the cosine similarity of vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

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
