"""How the items of each list were aligned, for notes and the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from fieldmark.metrics.identity import describe
from fieldmark.model.alignment import Aligner
from fieldmark.model.json import JsonObject

if TYPE_CHECKING:
    from fieldmark.align.greedy import Greedy
    from fieldmark.align.key import Key
    from fieldmark.align.optimal import Optimal

__all__ = ["list_notes", "list_settings"]

_NAMED: Final = 3
_METHODS: Final[Mapping[str, str]] = {
    "index": "by place",
    "set": "if they are equal",
    "whole": "not at all: each list is one value",
}


def list_notes(lists: Mapping[str, Aligner]) -> list[str]:
    """One sentence for each method of alignment, with the lists that it was used on.

    >>> from fieldmark.align.greedy import Greedy
    >>> list_notes({"lines": Greedy(), "taxes": Greedy()})
    ['list items paired greedily by all their fields, from 0.5: lines, taxes']
    """
    by_method: dict[str, list[str]] = {}
    for path, aligner in lists.items():
        by_method.setdefault(_method(aligner), []).append(path)
    return [f"list items paired {method}: {_some(paths)}" for method, paths in by_method.items()]


def list_settings(lists: Mapping[str, Aligner]) -> JsonObject:
    """Every list with its aligner and options, as JSON."""
    return {path: describe(aligner) for path, aligner in lists.items()}


def _method(aligner: Aligner) -> str:
    match aligner.name:
        case "greedy" | "optimal":
            options = cast("Greedy | Optimal", aligner)
            adverb = "greedily" if aligner.name == "greedy" else "optimally"
            fields = " and ".join(options.match_fields or ()) or "all their fields"
            similarity = options.similarity
            kind = similarity.get("type") if isinstance(similarity, Mapping) else similarity
            measure = "" if kind == "text" else f" ({kind})"
            return f"{adverb} by {fields}{measure}, from {options.least:g}"
        case "key":
            return f"by the key {' and '.join(cast('Key', aligner).key)}"
        case name:
            return _METHODS.get(name, f"by {name}")


def _some(paths: list[str]) -> str:
    shown = ", ".join(paths[:_NAMED])
    more = len(paths) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown
