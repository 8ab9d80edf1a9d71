"""The comparators and aligners that conventions start from, each with its own defaults."""

from __future__ import annotations

from fieldmark.model.alignment import Aligner
from fieldmark.model.comparison import Comparator

__all__ = ["default_aligner", "default_comparator"]


def default_comparator(name: str) -> Comparator:
    """The comparator that a convention names, loaded when a comparison needs it."""
    from fieldmark.compare.auto import Auto
    from fieldmark.compare.exact import Exact, NormalizedText

    known: dict[str, type[Comparator]] = {
        "exact": Exact,
        "normalized_text": NormalizedText,
        "auto": Auto,
    }
    return known[name]()


def default_aligner(name: str) -> Aligner:
    """The aligner that a convention names, loaded when a comparison needs it."""
    from fieldmark.align.greedy import Greedy
    from fieldmark.align.index import Index
    from fieldmark.align.whole import Whole

    known: dict[str, type[Aligner]] = {"greedy": Greedy, "index": Index, "whole": Whole}
    return known[name]()
