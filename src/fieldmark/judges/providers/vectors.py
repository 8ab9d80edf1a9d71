"""The cosine similarity of embedding vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fieldmark.judges.providers.batches import provider_error
from fieldmark.model.comparison import Comparison, Similarity, TextPair

__all__ = ["Vector", "cosine_similarities"]

Vector = Sequence[float]


def cosine_similarities(
    pairs: Sequence[TextPair], vectors: Mapping[str, Vector | Comparison]
) -> list[Similarity]:
    """Return the cosine of each pair, at least 0, or the error of a vector.

    >>> cosine_similarities([("a", "b")], {"a": [1.0, 0.0], "b": [1.0, 0.0]})
    [1.0]
    """
    return [_cosine(vectors[expected], vectors[candidate]) for expected, candidate in pairs]


def _cosine(expected: Vector | Comparison, candidate: Vector | Comparison) -> Similarity:
    import numpy as np  # slow to load, and not always needed

    if isinstance(expected, Comparison):
        return expected
    if isinstance(candidate, Comparison):
        return candidate
    want, got = np.asarray(expected, dtype=np.float64), np.asarray(candidate, dtype=np.float64)
    if want.shape != got.shape:
        return provider_error("the vectors of two texts have different lengths")
    lengths = float(np.linalg.norm(want)) * float(np.linalg.norm(got))
    if not lengths > 0.0:
        return provider_error("a text has a vector without direction")
    return min(1.0, max(0.0, float(np.dot(want, got)) / lengths))
