"""The four strategy words that field strategy files use, and the comparators they stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, cast

from fieldmark.compare.exact import ExactText
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.ignore import Ignore
from fieldmark.compare.semantic import Semantic, is_guarded
from fieldmark.model.comparison import Comparator, Provider

__all__ = ["FUZZY_THRESHOLD", "SEMANTIC_THRESHOLD", "STRATEGIES", "strategy"]

FUZZY_THRESHOLD: Final = 0.85
SEMANTIC_THRESHOLD: Final = 0.80


def strategy(word: str, provider: Provider | None = None) -> Comparator | None:
    """The comparator of a strategy word in any case, or nothing if it is no strategy word."""
    made = STRATEGIES.get(word.strip().upper())
    return None if made is None else made(provider)


def _fuzzy(provider: Provider | None) -> Comparator:
    # Words in common and vectors say nothing of spelling; whoever reads is asked about it.
    if provider is None or is_guarded(provider):
        return Fuzzy(threshold=FUZZY_THRESHOLD)
    of_form = getattr(provider, "of_form", None)
    asked = cast("Provider", of_form()) if callable(of_form) else provider
    return Semantic(provider=asked, threshold=FUZZY_THRESHOLD)


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
