"""The result of comparing two values, and the protocols of comparators."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import ClassVar, Final, NamedTuple, Protocol, TypeAlias

from fieldmark.model.json import JsonValue, kind_of
from fieldmark.model.outcome import Reason

__all__ = [
    "DIFFERENT",
    "MATCHED",
    "OPTIONAL_NOTE",
    "SPELLING_NOTE",
    "WRONG_TYPE",
    "BatchComparator",
    "Comparator",
    "ComparatorGroup",
    "Comparison",
    "Provider",
    "Similarity",
    "TextPair",
    "mismatch",
]


class Comparison(NamedTuple):
    """The result of comparing two non-empty values.

    `score` is what the field earns, from 0 to 1; a comparator without partial credit returns 0 or
    1. `wrong_kind` means that the candidate cannot be read as the type that the comparator needs.
    `failed` means that the comparison could not be made at all: an error, never a score.
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
        """Return a mismatch of two values of the right type."""
        return cls(matched=False, reason=reason, note=note)

    @classmethod
    def wrong_type(cls, reason: Reason = Reason.TYPE_MISMATCH, *, note: str = "") -> Comparison:
        """Return a mismatch because the candidate has the wrong type."""
        return cls(matched=False, reason=reason, wrong_kind=True, note=note)

    @classmethod
    def error(cls, reason: Reason, *, note: str = "") -> Comparison:
        """Return a comparison that could not be made."""
        return cls(matched=False, reason=reason, failed=True, note=note)

    @classmethod
    def graded(
        cls, similarity: float, threshold: float, *, approximate: bool = False
    ) -> Comparison:
        """Compare a similarity with a threshold: a match earns the similarity, a mismatch 0."""
        # Positional arguments, because this is called for every pair of different strings.
        flags = (False, False, False, False, approximate)
        if similarity >= threshold - 1e-9:
            return cls(True, similarity, similarity, None, *flags)  # noqa: FBT003
        return cls(False, 0.0, similarity, Reason.BELOW_THRESHOLD, *flags)  # noqa: FBT003


MATCHED: Final = Comparison(matched=True, score=1.0)
"""The shared result for values that match."""

SPELLING_NOTE: Final = "a letter of a long word differs"
OPTIONAL_NOTE: Final = "a title, a legal form or an initial differs"
"""The notes of names and addresses that match approximately, for a warning."""

DIFFERENT: Final = Comparison.differs()
WRONG_TYPE: Final = Comparison.wrong_type()


def mismatch(
    expected: JsonValue, candidate: JsonValue, otherwise: Comparison = DIFFERENT
) -> Comparison:
    """Return a wrong type if the JSON types of two values differ, and `otherwise` if not."""
    return otherwise if kind_of(expected) is kind_of(candidate) else WRONG_TYPE


class Comparator(Protocol):
    """Decides whether two non-empty values match.

    A frozen dataclass whose fields are its options: stateless, total over JSON, never raising on
    data. `reflexive` means that two equal values always match with score 1, so equal pairs need not
    be compared. If that holds for strings, or for finite numbers of one type, but not for all
    values, `reflexive_on_text` and `reflexive_on_numbers` say so.
    """

    name: ClassVar[str]
    reflexive: ClassVar[bool]

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Compare one pair of non-empty values."""
        ...


TextPair: TypeAlias = tuple[str, str]
Similarity: TypeAlias = "float | Comparison"
"""The result of a provider for one pair: a similarity from 0 to 1, or a comparison.

A comparison has failed, or has a similarity from 0 to 1 and a note with the reason for it.
"""


class Provider(Protocol):
    """Computes the semantic similarity of strings, for a batch of pairs at a time."""

    name: ClassVar[str]
    approximate: ClassVar[bool]

    def similarities(self, pairs: Sequence[TextPair]) -> Sequence[Similarity]:
        """Return one result for each pair, in order; a pair that cannot be judged is a failure."""
        ...


class ComparatorGroup(StrEnum):
    """The groups of comparators in lists, by the values that they compare.

    A comparator names its group in the class variable `group`. Its class variable `normalization`
    says how it changes values before it compares them. Both are optional for plug-ins.
    """

    ANY = "Any value"
    TEXT = "Text"
    NUMBERS = "Numbers, money and truth values"
    DATES = "Dates and times"
    CONTACTS = "Names and contacts"
    LISTS = "Lists"
    PLACES = "Places on a page"
    OTHER = "Plug-ins"


class BatchComparator(Comparator, Protocol):
    """A comparator that calls a provider in batches for the pairs that it cannot decide at once."""

    def settle(self, expected: JsonValue, candidate: JsonValue) -> Comparison | TextPair:
        """Decide at once if possible, else return the pair of strings to send to the provider."""
        ...

    def ask(self, pairs: Sequence[TextPair]) -> Sequence[Comparison]:
        """Decide a batch of distinct pairs."""
        ...
