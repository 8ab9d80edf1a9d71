"""The known word that a wrong word was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable

from rapidfuzz.distance import JaroWinkler

__all__ = ["did_you_mean", "nearest"]


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like this one; among equals the first in the alphabet."""
    return max(sorted(known), key=lambda other: JaroWinkler.similarity(word, other), default=None)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of an error message: all that is known, or nothing if nothing is."""
    guess = nearest(word, known)
    return f". Did you mean {guess}?" if guess else ""
