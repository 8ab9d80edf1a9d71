"""The four strategy words that field strategy files use, and the comparators they stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.ignore import Ignore
from fieldmark.compare.semantic import Semantic
from fieldmark.compare.text import ExactText
from fieldmark.model.comparison import Comparator, Provider

__all__ = ["FUZZY_THRESHOLD", "SEMANTIC_THRESHOLD", "STRATEGIES", "strategy"]

FUZZY_THRESHOLD: Final = 0.85
SEMANTIC_THRESHOLD: Final = 0.80


def strategy(word: str, provider: Provider | None = None) -> Comparator | None:
    """The comparator of a strategy word in any case, or nothing if it is no strategy word."""
    made = STRATEGIES.get(word.strip().upper())
    return None if made is None else made(provider)


def _fuzzy(provider: Provider | None) -> Comparator:
    # Whoever configures a judge of meaning wants it asked about near misses too.
    if provider is None or provider.name == "lexical":
        return Fuzzy(threshold=FUZZY_THRESHOLD)
    return Semantic(provider=provider, threshold=FUZZY_THRESHOLD)


def _semantic(provider: Provider | None) -> Comparator:
    if provider is None:
        return Semantic(threshold=SEMANTIC_THRESHOLD)
    return Semantic(provider=provider, threshold=SEMANTIC_THRESHOLD)


STRATEGIES: Final[Mapping[str, Callable[[Provider | None], Comparator]]] = {
    "EXACT": lambda _: ExactText(),
    "FUZZY": _fuzzy,
    "SEMANTIC": _semantic,
    "IGNORE": lambda _: Ignore(),
}
