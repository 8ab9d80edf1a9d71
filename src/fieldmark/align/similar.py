"""The way that all methods by similarity share: equal items first, then the method on the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from fieldmark.align.agreement import Agreement
from fieldmark.align.columns import Edges
from fieldmark.align.columns import edges as edges_of_many
from fieldmark.align.equals import assembled, pair_equal
from fieldmark.align.leaves import cells_of
from fieldmark.align.limits import (
    FALLBACK_PAIRS,
    MAX_ITEMS,
    SMALL_CHARACTER_PAIRS,
    SMALL_PAIRS,
    TooMuchWork,
    refused,
    within,
)
from fieldmark.align.pairwise import UNIT, Edge, gate_of
from fieldmark.align.pairwise import edges as edges_of_few
from fieldmark.model.alignment import Alignment
from fieldmark.model.json import JsonValue

__all__ = ["Method", "align_similar"]

_BEYOND: Final = f"{{}} x {{}} items without an equal one; the limit is {MAX_ITEMS} x {MAX_ITEMS}"
_TOO_LARGE: Final = "the items hold more than may be compared each with each"

_Chosen: TypeAlias = Iterable[tuple[float, int, int]]


class Method(NamedTuple):
    """How pairs are chosen among those that are similar enough: in plain loops and in arrays.

    Both take the pairs and the agreement that breaks ties, and give weights and places.
    """

    few: Callable[[list[Edge], Agreement], _Chosen]
    many: Callable[[Edges, Agreement], _Chosen]


def align_similar(
    expected: list[JsonValue],
    candidate: list[JsonValue],
    *,
    match_fields: tuple[str, ...] | None,
    threshold: float,
    method: Method,
    fallback: Method | None = None,
) -> Alignment:
    """Pair equal items, then let the method choose among the similar ones of the rest.

    Where there are too many of those, the fallback chooses, and the result says so.
    """
    rest = pair_equal(expected, candidate)
    if not rest.expected or not rest.candidate:
        return assembled(rest)
    note = ""
    if not within(len(rest.expected), len(rest.candidate)):
        note = _BEYOND.format(len(rest.expected), len(rest.candidate))
        if fallback is None or len(rest.expected) * len(rest.candidate) > FALLBACK_PAIRS:
            return refused(expected, candidate, note)
        method = fallback
    left = [expected[place] for place in rest.expected]
    right = [candidate[place] for place in rest.candidate]
    gate = gate_of(threshold)
    try:
        chosen = [
            (rest.expected[place], rest.candidate[other], weight / UNIT)
            for weight, place, other in _chosen(
                left, right, rest.characters, method, match_fields, gate
            )
        ]
    except TooMuchWork:
        return refused(expected, candidate, _TOO_LARGE)
    found = assembled(rest, chosen)
    return found._replace(fallback=True, note=note) if note else found


def _chosen(
    expected: Sequence[JsonValue],
    candidate: Sequence[JsonValue],
    characters: int,
    method: Method,
    match_fields: tuple[str, ...] | None,
    gate: float,
) -> _Chosen:
    left = [cells_of(item, match_fields) for item in expected]
    right = [cells_of(item, match_fields) for item in candidate]
    agreement = Agreement(expected, candidate)
    if len(left) * len(right) <= SMALL_PAIRS and characters <= SMALL_CHARACTER_PAIRS:
        return method.few(edges_of_few(left, right, gate), agreement)
    return method.many(edges_of_many(left, right, gate), agreement)
