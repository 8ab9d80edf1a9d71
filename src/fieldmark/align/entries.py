"""Alignment of objects that are used as maps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Final

from fieldmark.align.alignment_options import FieldPaths, SimilarityOption, SimilarityType
from fieldmark.align.greedy import Greedy
from fieldmark.align.leaves import LeafRules
from fieldmark.align.optimal import Optimal
from fieldmark.model.alignment import Alignment
from fieldmark.model.json import JsonValue
from fieldmark.values.annotations import Share
from fieldmark.values.strategy_options import check_options


class EntryMethod(StrEnum):
    """How the values are aligned."""

    GREEDY = "greedy"
    OPTIMAL = "optimal"


_METHODS: Final[Mapping[EntryMethod, type[Greedy | Optimal]]] = {
    EntryMethod.GREEDY: Greedy,
    EntryMethod.OPTIMAL: Optimal,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """Align the values of an object like list items; its keys are ids that are not compared.

    The method, greedy or optimal, has the same options as for lists.

    >>> Entries(match_fields=("name",)).align([{"name": "Ann"}], [{"name": "Ann", "age": 7}]).pairs
    [(0, 0, 1.0)]
    """

    name: ClassVar[str] = "entries"
    uses_rules: ClassVar[bool] = True
    match_fields: FieldPaths | None = None
    threshold: Share | None = None
    method: EntryMethod = EntryMethod.GREEDY
    similarity: SimilarityOption = SimilarityType.TEXT
    _aligner: Greedy | Optimal = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_options(self)
        aligner = _METHODS[self.method](
            match_fields=self.match_fields, threshold=self.threshold, similarity=self.similarity
        )
        object.__setattr__(self, "_aligner", aligner)

    @property
    def min_similarity(self) -> float:
        """The similarity threshold."""
        return self._aligner.min_similarity

    def align(
        self,
        expected: list[JsonValue],
        candidate: list[JsonValue],
        rules: LeafRules | None = None,
    ) -> Alignment:
        """Align the values of two objects."""
        return self._aligner.align(expected, candidate, rules)
