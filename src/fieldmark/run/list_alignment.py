"""Says how the items of each list were paired: the choice that figures of items rest on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fieldmark.align.greedy import Greedy
from fieldmark.align.key import Key
from fieldmark.align.optimal import Optimal
from fieldmark.align.options import SimilarityOption, SimilarityType
from fieldmark.metrics.identity import describe
from fieldmark.model.alignment import Aligner
from fieldmark.model.json import JsonObject

__all__ = ["list_notes", "list_settings"]

_NAMED: Final = 3
_WORDS: Final[Mapping[str, str]] = {
    "index": "by place",
    "set": "if they are equal",
    "whole": "not at all: each list is one value",
}


def list_notes(lists: Mapping[str, Aligner]) -> list[str]:
    """One sentence for each way of pairing, with the lists that it was used on.

    >>> list_notes({"lines": Greedy(), "taxes": Greedy()})
    ['list items paired greedily by all their fields, from 0.5: lines, taxes']
    """
    by_way: dict[str, list[str]] = {}
    for path, aligner in lists.items():
        by_way.setdefault(_way(aligner), []).append(path)
    return [f"list items paired {way}: {_some(paths)}" for way, paths in by_way.items()]


def list_settings(lists: Mapping[str, Aligner]) -> JsonObject:
    """Every list with its aligner and options, as JSON."""
    return {path: describe(aligner) for path, aligner in lists.items()}


def _way(aligner: Aligner) -> str:
    if isinstance(aligner, Greedy | Optimal):
        word = "greedily" if isinstance(aligner, Greedy) else "optimally"
        fields = " and ".join(aligner.match_fields) if aligner.match_fields else "all their fields"
        measure = (
            ""
            if aligner.similarity == SimilarityType.TEXT
            else f" ({_measure(aligner.similarity)})"
        )
        return f"{word} by {fields}{measure}, from {aligner.least:g}"
    if isinstance(aligner, Key):
        return f"by the key {' and '.join(aligner.key)}"
    return _WORDS.get(aligner.name, f"by {aligner.name}")


def _measure(similarity: SimilarityOption) -> str:
    return str(similarity.get("type") if isinstance(similarity, Mapping) else similarity)


def _some(paths: list[str]) -> str:
    shown = ", ".join(paths[:_NAMED])
    more = len(paths) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown
