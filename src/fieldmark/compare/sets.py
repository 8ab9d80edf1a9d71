"""Compare lists as sets."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

from fieldmark.model.comparison import DIFFERENT, MATCHED, WRONG_TYPE, ComparatorGroup, Comparison
from fieldmark.model.json import JsonValue
from fieldmark.values.equality import equal, typed_key
from fieldmark.values.strategy_options import check_options
from fieldmark.values.text import normalized


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMatch:
    """Match lists with the same members in any order; the similarity is their Jaccard index.

    With `normalize`, differences in case, whitespace, dashes and Unicode form of strings are
    ignored.
    """

    name: ClassVar[str] = "set"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.LISTS
    normalization: ClassVar[str] = "the order of members is ignored"
    reflexive: ClassVar[bool] = True
    normalize: bool = False

    def __post_init__(self) -> None:
        check_options(self)

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match lists with the same members.

        >>> SetMatch().compare(["a", "b"], ["b", "a", "a"]).matched
        True
        """
        if not isinstance(expected, list) or not isinstance(candidate, list):
            return MATCHED if equal(expected, candidate) else WRONG_TYPE
        expected_keys = {self._key(item) for item in expected}
        candidate_keys = {self._key(item) for item in candidate}
        if expected_keys == candidate_keys:
            return MATCHED
        return DIFFERENT._replace(
            similarity=len(expected_keys & candidate_keys) / len(expected_keys | candidate_keys)
        )

    def _key(self, item: JsonValue) -> Hashable:
        if self.normalize and isinstance(item, str):
            item = normalized(item)
        return typed_key(item)
