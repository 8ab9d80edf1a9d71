"""Match substrings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final

from fieldmark.model.comparison import MATCHED, WRONG_TYPE, ComparatorGroup, Comparison
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.equality import equal
from fieldmark.values.strategy_options import check_options
from fieldmark.values.text import Ignored, ignoring, normalized

_NOT_CONTAINED: Final = Comparison.differs(Reason.NOT_CONTAINED)


class Container(StrEnum):
    """The side with the longer string."""

    CANDIDATE = "candidate"
    EXPECTED = "expected"
    EITHER = "either"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contains:
    """Match if the candidate contains the expected string, ignoring case and whitespace.

    `direction` names the side with the longer string: `candidate`, `expected` or `either`. Dashes
    and Unicode forms are normalized, too. `ignore` lists what else is ignored: `punctuation`,
    `accents` and `white_space`.
    """

    name: ClassVar[str] = "contains"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.TEXT
    normalization: ClassVar[str] = "case, whitespace, kinds of dashes and Unicode form are ignored"
    reflexive: ClassVar[bool] = True
    direction: Container = Container.CANDIDATE
    ignore: tuple[Ignored, ...] = ()

    def __post_init__(self) -> None:
        check_options(self)

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match strings if one contains the other.

        >>> Contains().compare("Acme", "ACME Corp").matched
        True
        """
        if not isinstance(expected, str) or not isinstance(candidate, str):
            return MATCHED if equal(expected, candidate) else WRONG_TYPE
        expected_text, candidate_text = normalized(expected), normalized(candidate)
        if self.ignore:
            expected_text, candidate_text = (
                ignoring(expected_text, self.ignore),
                ignoring(candidate_text, self.ignore),
            )
        held = (self.direction is not Container.EXPECTED and expected_text in candidate_text) or (
            self.direction is not Container.CANDIDATE and candidate_text in expected_text
        )
        return MATCHED if held else _NOT_CONTAINED
