"""Choose a comparator by the form of the expected value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar, Final

from fieldmark.compare.date import DateMatch
from fieldmark.compare.exact import ExactText
from fieldmark.compare.providers import Lexical
from fieldmark.compare.semantic import Semantic, SimilaritySource
from fieldmark.compare.strategy_words import SemanticWord
from fieldmark.model.comparison import Comparator, ComparatorGroup, Comparison, Provider, TextPair
from fieldmark.model.json import JsonValue
from fieldmark.values.annotations import Share
from fieldmark.values.dates import is_iso_date, read_day


class Detected(StrEnum):
    """The forms that a value can have."""

    BOOLEAN = "boolean"
    NUMBER = "number"
    EMAIL = "email"
    ISO_DATE = "ISO date"
    DATE = "date"
    ARRAY = "array"
    OBJECT = "object"
    TEXT = "text"


_BY_TYPE: Final = {
    bool: Detected.BOOLEAN,
    int: Detected.NUMBER,
    float: Detected.NUMBER,
    list: Detected.ARRAY,
    dict: Detected.OBJECT,
}
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)+\Z")
_EXACT_TEXT: Final = ExactText()
_DATE: Final = DateMatch()
_BY_FORM: Final[Mapping[Detected, type[Comparator]]] = {
    **dict.fromkeys(Detected, ExactText),
    Detected.DATE: DateMatch,
    Detected.TEXT: Semantic,
}


def detect(value: JsonValue) -> Detected:
    """Return the form of a value; a value without another form is text.

    >>> detect("2024-01-31").value, detect("31 Jan 2024").value, detect("Acme").value
    ('ISO date', 'date', 'text')
    """
    if not isinstance(value, str):
        return _BY_TYPE.get(type(value), Detected.TEXT)
    text = value.strip()
    if _EMAIL.match(text):
        return Detected.EMAIL
    if is_iso_date(text):
        return Detected.ISO_DATE
    return Detected.TEXT if read_day(text) is None else Detected.DATE


def comparator_for(value: JsonValue) -> str:
    """Return the name of the comparator that fits a value.

    >>> comparator_for("2024-01-31"), comparator_for("31/01/2024"), comparator_for("Acme")
    ('exact_text', 'date', 'semantic')
    """
    return _BY_FORM[detect(value)].name


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto:
    """Compare free text by meaning, dates by day, and other values by their exact text.

    Dates in ISO format are compared by their exact text too, and free text matches whatever has the
    same exact text.
    """

    name: ClassVar[str] = "auto"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.ANY
    normalization: ClassVar[str] = "by the form of the expected value"
    # 1 and 1.0 are equal, but have different texts.
    reflexive: ClassVar[bool] = False
    provider: Provider = field(default_factory=Lexical)
    threshold: Share = 0.80
    guards: Mapping[str, bool] | bool | None = field(default=None, hash=False)
    _semantic: SemanticWord = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        semantic = SemanticWord(
            provider=self.provider, threshold=self.threshold, guards=self.guards
        )
        object.__setattr__(self, "_semantic", semantic)

    def identity(self) -> Mapping[str, object]:
        """Return everything that determines the result of a comparison."""
        return self._semantic.identity()

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Compare two values in the way that fits the expected value.

        >>> Auto().compare("a@b.org", "A@b.org").matched
        True
        """
        settled = self.settle(expected, candidate)
        return settled if isinstance(settled, Comparison) else self.ask([settled])[0]

    def settle(self, expected: JsonValue, candidate: JsonValue) -> Comparison | TextPair:
        """Decide without the provider unless the expected value is free text."""
        form = detect(expected)
        if form is Detected.TEXT:
            return self._semantic.settle(expected, candidate)
        if form is Detected.DATE and expected != candidate:
            return _DATE.compare(expected, candidate)
        return _EXACT_TEXT.compare(expected, candidate)

    def sharing(self, memo: SimilaritySource) -> Auto:
        """Return the same comparator with a memo that asks the provider, once for each pair."""
        other = replace(self)
        object.__setattr__(other, "_semantic", self._semantic.sharing(memo))
        return other

    @property
    def source(self) -> SimilaritySource:
        """The source of similarities: the memo if there is one, otherwise the provider."""
        return self._semantic.source

    def ask(self, pairs: Sequence[TextPair]) -> Sequence[Comparison]:
        """Grade many pairs with one call to the provider."""
        return self._semantic.ask(pairs)
