"""What a comparator says of two values, and the protocols that comparators implement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, NamedTuple, Protocol, TypeAlias

from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason

__all__ = [
    "MATCHED",
    "BatchComparator",
    "Comparator",
    "Comparison",
    "Provider",
    "Similarity",
    "TextPair",
]


class Comparison(NamedTuple):
    """The answer to "do these two non-empty values match?".

    `score` is what the field earns in [0, 1]; a comparator without degrees says 0 or 1.
    `wrong_kind` says that the candidate cannot be read as the kind that the comparator needs.
    `failed` says that the comparison could not be made at all: an error, never a score.
    """

    matched: bool
    score: float = 0.0
    similarity: float | None = None
    reason: Reason | None = None
    wrong_kind: bool = False
    failed: bool = False
    coerced: bool = False
    ambiguous: bool = False
    approximate: bool = False
    note: str = ""

    @classmethod
    def differs(cls, reason: Reason = Reason.DIFFERENT, *, note: str = "") -> Comparison:
        """The right kind of value, and not the expected one."""
        return cls(matched=False, reason=reason, note=note)

    @classmethod
    def wrong_type(cls, reason: Reason = Reason.TYPE_MISMATCH, *, note: str = "") -> Comparison:
        """The candidate cannot be read as the kind of value that is needed."""
        return cls(matched=False, reason=reason, wrong_kind=True, note=note)

    @classmethod
    def error(cls, reason: Reason, *, note: str = "") -> Comparison:
        """The comparison could not be made."""
        return cls(matched=False, reason=reason, failed=True, note=note)

    @classmethod
    def graded(
        cls, similarity: float, threshold: float, *, approximate: bool = False
    ) -> Comparison:
        """A similarity against a threshold: a pass earns the similarity, a fail earns nothing."""
        # By position: this is made for every pair of texts that differ.
        flags = (False, False, False, False, approximate)
        if similarity >= threshold - 1e-9:
            return cls(True, similarity, similarity, None, *flags)  # noqa: FBT003
        return cls(False, 0.0, similarity, Reason.BELOW_THRESHOLD, *flags)  # noqa: FBT003


MATCHED: Final = Comparison(matched=True, score=1.0)
"""The shared answer for values that simply match."""


class Comparator(Protocol):
    """Decides whether two non-empty values match.

    A frozen dataclass whose fields are its options: stateless, total over JSON, never raising on
    data. `reflexive` says that two equal values always match with score 1, so that equal pairs
    need not be asked about. Where that holds for text, or for finite numbers of one type, but not
    for all values, `reflexive_on_text` and `reflexive_on_numbers` say so.
    """

    name: ClassVar[str]
    reflexive: ClassVar[bool]

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Compare one pair of non-empty values."""
        ...


TextPair: TypeAlias = tuple[str, str]
Similarity: TypeAlias = "float | Comparison"
"""A provider's answer for one pair: a similarity in [0, 1], or a failed comparison."""


class Provider(Protocol):
    """Says how alike texts are in meaning, a column of pairs at a time."""

    name: ClassVar[str]
    approximate: ClassVar[bool]

    def similarities(self, pairs: Sequence[TextPair]) -> Sequence[Similarity]:
        """One answer for each pair, in order. A pair that cannot be judged gets a failure."""
        ...


class BatchComparator(Comparator, Protocol):
    """A comparator that asks a provider: cheap answers at once, the rest a column at a time."""

    def settle(self, expected: JsonValue, candidate: JsonValue) -> Comparison | TextPair:
        """Decide at once if possible, else say which pair of texts to ask about."""
        ...

    def ask(self, pairs: Sequence[TextPair]) -> Sequence[Comparison]:
        """Decide a column of distinct pairs."""
        ...
