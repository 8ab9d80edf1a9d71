"""Which items of two lists belong together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Protocol, TypeAlias

from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason

__all__ = ["Aligner", "Alignment", "ItemPair"]


ItemPair: TypeAlias = tuple[int, int, float]
"""Two aligned items: their indexes in the expected and in the candidate list, and the similarity
that the alignment was based on."""


class Alignment(NamedTuple):
    """Aligned pairs in the order of the expected list, and the indexes of the other items.

    `failed` says why the lists could not be aligned (a limit); there are no pairs then. `fallback`
    says that a cheaper method than the configured one was used.
    """

    pairs: Sequence[ItemPair]
    unmatched_expected: Sequence[int]
    unmatched_candidate: Sequence[int]
    failed: Reason | None = None
    fallback: bool = False
    note: str = ""


class Aligner(Protocol):
    """Aligns the items of two lists: a frozen dataclass whose fields are its options."""

    name: ClassVar[str]

    def align(self, expected: list[JsonValue], candidate: list[JsonValue]) -> Alignment:
        """Align each item with at most one item of the other list."""
        ...
