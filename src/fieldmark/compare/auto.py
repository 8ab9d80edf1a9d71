"""Choose a comparator by the form of the expected value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar, Final

from fieldmark.compare.exact import ExactText
from fieldmark.compare.providers import Lexical
from fieldmark.compare.semantic import Semantic, SimilaritySource
from fieldmark.model.comparison import Comparison, Provider, TextPair
from fieldmark.model.json import JsonValue
from fieldmark.values.dates import is_iso_date

__all__ = ["Auto", "Detected", "detect"]


class Detected(StrEnum):
    """The forms that a value can have."""

    BOOLEAN = "boolean"
    NUMBER = "number"
    EMAIL = "email"
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


def detect(value: JsonValue) -> Detected:
    """Return the form of a value; a value without another form is text.

    >>> detect("2024-01-31").value, detect("a@b.org").value, detect("Acme").value
    ('date', 'email', 'text')
    """
    if not isinstance(value, str):
        return _BY_TYPE.get(type(value), Detected.TEXT)
    text = value.strip()
    if _EMAIL.match(text):
        return Detected.EMAIL
    return Detected.DATE if is_iso_date(text) else Detected.TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto:
    """Compare free text by meaning, and other values by their exact text."""

    name: ClassVar[str] = "auto"
    # 1 and 1.0 are equal, but have different texts.
    reflexive: ClassVar[bool] = False
    provider: Provider = field(default_factory=Lexical)
    threshold: float = 0.80
    guards: Mapping[str, bool] | bool | None = field(default=None, hash=False)
    _semantic: Semantic = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        semantic = Semantic(provider=self.provider, threshold=self.threshold, guards=self.guards)
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
        if detect(expected) is Detected.TEXT:
            return self._semantic.settle(expected, candidate)
        return _EXACT_TEXT.compare(expected, candidate)

    def sharing(self, memo: SimilaritySource) -> Auto:
        """Return the same comparator with a memo that asks the provider, once for each pair."""
        other = replace(self)
        object.__setattr__(other, "_semantic", self._semantic.sharing(memo))
        return other

    def ask(self, pairs: Sequence[TextPair]) -> Sequence[Comparison]:
        """Grade many pairs with one call to the provider."""
        return self._semantic.ask(pairs)
