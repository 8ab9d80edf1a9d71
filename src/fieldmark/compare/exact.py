"""Compare JSON values, their texts, or normalized strings for equality, or ignore a field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from fieldmark.model.comparison import MATCHED, ComparatorGroup, Comparison, mismatch
from fieldmark.model.json import JsonValue, kind_of
from fieldmark.values.equality import equal
from fieldmark.values.json_text import parse_strict
from fieldmark.values.strategy_options import check_options
from fieldmark.values.text import Ignored, exact_text, ignoring, normalized


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact:
    """Match equal JSON values, without trimming, case folding or type conversion."""

    name: ClassVar[str] = "exact"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.ANY
    normalization: ClassVar[str] = "none; values are compared as they are"
    reflexive: ClassVar[bool] = True

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match equal values.

        >>> Exact().compare(100, "100").reason
        <Reason.TYPE_MISMATCH: 'type_mismatch'>
        """
        return MATCHED if equal(expected, candidate) else mismatch(expected, candidate)


_MATCHED_AS_TEXT: Final = MATCHED._replace(coerced=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactText:
    """Match values with the same text, ignoring case and type: "100" matches 100.

    An object or list matches its JSON text, whatever the spacing and the order of keys. `ignore`
    lists what else is ignored in strings: `punctuation`, `accents` and `white_space`.
    """

    name: ClassVar[str] = "exact_text"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.TEXT
    normalization: ClassVar[str] = "values are compared as text; case is ignored"
    # 1 and 1.0 are equal, but have different texts.
    reflexive: ClassVar[bool] = False
    reflexive_on_text: ClassVar[bool] = True
    ignore: tuple[Ignored, ...] = ()

    def __post_init__(self) -> None:
        check_options(self)

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match values with the same text.

        >>> ExactText().compare(True, "TRUE").matched, ExactText().compare([1], "[ 1 ]").matched
        (True, True)
        """
        if kind_of(expected) is kind_of(candidate):
            same = self._text(expected) == self._text(candidate)
            return MATCHED if same else mismatch(expected, candidate)
        expected_value, candidate_value = _parsed(expected, candidate), _parsed(candidate, expected)
        same = self._text(expected_value) == self._text(candidate_value)
        return _MATCHED_AS_TEXT if same else mismatch(expected, candidate)

    def _text(self, value: JsonValue) -> str:
        text = exact_text(value)
        return ignoring(text, self.ignore) if self.ignore and isinstance(value, str) else text


def _parsed(value: JsonValue, other: JsonValue) -> JsonValue:
    """Return the value, or its parsed JSON if it is text and the other value is a container."""
    if not (isinstance(value, str) and isinstance(other, dict | list)):
        return value
    try:
        return parse_strict(value)
    except ValueError:
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalizedText:
    """Match strings that differ only in case, whitespace, dashes or Unicode form.

    Superscripts, fractions and units are not merged: `m²` does not match `m2`. Values that are no
    strings match if they are equal.

    `ignore` lists what else is ignored: `punctuation`, `accents` and `white_space`.
    """

    name: ClassVar[str] = "normalized_text"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.TEXT
    normalization: ClassVar[str] = "case, whitespace, kinds of dashes and Unicode form are ignored"
    reflexive: ClassVar[bool] = True
    ignore: tuple[Ignored, ...] = ()

    def __post_init__(self) -> None:
        check_options(self)

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match strings that are equal after normalization.

        >>> NormalizedText().compare("ACME  Corp", " acme corp").matched
        True
        """
        if isinstance(expected, str) and isinstance(candidate, str):
            same = expected == candidate or self.text(expected) == self.text(candidate)
        else:
            same = equal(expected, candidate)
        return MATCHED if same else mismatch(expected, candidate)

    def text(self, text: str) -> str:
        """Return the normalized text."""
        text = normalized(text)
        return ignoring(text, self.ignore) if self.ignore else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignore:
    """Ignore the field: it is recorded as ignored and never counted."""

    name: ClassVar[str] = "ignore"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.ANY
    normalization: ClassVar[str] = "the field is not compared"
    reflexive: ClassVar[bool] = True

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:  # noqa: ARG002
        """Match any two values."""
        return MATCHED
