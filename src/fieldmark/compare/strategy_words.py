"""The words of strategy files: EXACT, FUZZY and SEMANTIC.

FUZZY and SEMANTIC are never stricter than EXACT: they match what EXACT matches without asking a
provider, and compare other values that are not text by their text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, cast

from fieldmark.compare.exact import ExactText
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.semantic import Semantic, is_guarded
from fieldmark.model.comparison import MATCHED, Comparator, Comparison, Provider, TextPair
from fieldmark.model.json import JsonValue
from fieldmark.values.annotations import Share
from fieldmark.values.equality import equal
from fieldmark.values.text import exact_text

_EXACT: Final = ExactText()


def settled_or_texts(expected: JsonValue, candidate: JsonValue) -> Comparison | TextPair:
    """Return the match of values that EXACT matches, otherwise the texts of both values.

    >>> settled_or_texts(100, "100").matched, settled_or_texts(100, "99")
    (True, ('100', '99'))
    """
    comparison = _EXACT.compare(expected, candidate)
    if comparison.matched:
        return comparison
    if equal(expected, candidate):  # 1 and 1.0 have different texts
        return MATCHED
    return _text(expected), _text(candidate)


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else exact_text(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactWord(ExactText):
    """Match values with the same text, ignoring case and type: "100" matches 100."""

    name: ClassVar[str] = "EXACT"
    means: ClassVar[str] = ExactText.name


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticWord(Semantic):
    """Match values whose texts have a similar meaning, as judged by the provider.

    What EXACT matches is a match without asking the provider.
    """

    name: ClassVar[str] = "SEMANTIC"
    means: ClassVar[str] = Semantic.name

    def settle(self, expected: JsonValue, candidate: JsonValue) -> Comparison | TextPair:
        """Decide without the provider for values that EXACT matches."""
        settled = settled_or_texts(expected, candidate)
        return settled if isinstance(settled, Comparison) else Semantic.settle(self, *settled)


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzyByModel(SemanticWord):
    """FUZZY with a provider that measures spelling."""

    name: ClassVar[str] = "FUZZY"


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzyByDistance(Fuzzy):
    """FUZZY by the edit distance."""

    name: ClassVar[str] = "FUZZY"
    means: ClassVar[str] = Fuzzy.name

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Grade the similarity of the texts of two values.

        >>> FuzzyByDistance().compare(100, "100").matched
        True
        """
        settled = settled_or_texts(expected, candidate)
        return settled if isinstance(settled, Comparison) else Fuzzy.compare(self, *settled)


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzyWord:
    """Match values whose texts have a similar spelling, as judged by the provider.

    Lexical and embedding providers do not measure spelling; then the edit distance decides. What
    EXACT matches is a match without asking the provider.
    """

    means: ClassVar[str] = Fuzzy.name
    provider: Provider | None = None
    threshold: Share = 0.85

    def comparator(self) -> Comparator:
        """Return the comparator for the provider."""
        if self.provider is None or is_guarded(self.provider):
            return FuzzyByDistance(threshold=self.threshold)
        of_form = getattr(self.provider, "of_form", None)
        by_form = cast("Provider", of_form()) if callable(of_form) else self.provider
        return FuzzyByModel(provider=by_form, threshold=self.threshold)
