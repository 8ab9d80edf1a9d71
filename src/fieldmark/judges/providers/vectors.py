"""The angle between two texts, once a model has made vectors of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fieldmark.judges.providers.columns import failed
from fieldmark.model.comparison import Comparison, Similarity, TextPair

__all__ = ["Vector", "cosines"]

Vector = Sequence[float]


def cosines(
    pairs: Sequence[TextPair], vectors: Mapping[str, Vector | Comparison]
) -> list[Similarity]:
    """The cosine of each pair, 0 where it is negative; a failure where a vector failed.

    >>> cosines([("a", "b")], {"a": [1.0, 0.0], "b": [1.0, 0.0]})
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
        return failed("the vectors of two texts have different lengths")
    lengths = float(np.linalg.norm(want)) * float(np.linalg.norm(got))
    if not lengths > 0.0:
        return failed("a text has a vector without direction")
    return min(1.0, max(0.0, float(np.dot(want, got)) / lengths))
