"""The way that all methods by similarity share: equal items first, then the method on the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from fieldmark.align.agreement import Agreement
from fieldmark.align.canonical_text import canonical_order
from fieldmark.align.columns import Edges
from fieldmark.align.columns import edges as edges_of_many
from fieldmark.align.components import parted
from fieldmark.align.equal_items import Rest, assembled, pair_equal
from fieldmark.align.item_similarity import UNIT, Edge, gate_of
from fieldmark.align.item_similarity import edges as edges_of_few
from fieldmark.align.leaves import all_cells, largest
from fieldmark.align.limits import (
    FALLBACK_PAIRS,
    MAX_PAIRS,
    SMALL_CHARACTER_PAIRS,
    SMALL_PAIRS,
    TooMuchWork,
    refused,
    within,
)
from fieldmark.align.options import SimilarityMeasure
from fieldmark.model.alignment import Alignment
from fieldmark.model.json import JsonValue

__all__ = ["Method", "align_similar"]

_BEYOND: Final = f"{{}} x {{}} items without an equal one; the limit is {MAX_PAIRS:,} pairs"
_TOO_LARGE: Final = "the items hold more than may be compared each with each"

_SPARSE: Final = 16  # how many pairs arrays compare in the time that a plain loop takes for one


class Method(NamedTuple):
    """How pairs are chosen among those that are similar enough: in plain loops and in arrays.

    Both take the pairs and the agreement that breaks ties, with places in canonical order, and
    give some of the pairs. The few are those that share an item with another one.
    """

    few: Callable[[list[Edge], Agreement], Iterable[Edge]]
    many: Callable[[Edges, Agreement], Iterable[Edge]]


def align_similar(
    expected: list[JsonValue],
    candidate: list[JsonValue],
    *,
    match_fields: tuple[str, ...] | None,
    threshold: float,
    method: Method,
    fallback: Method | None = None,
    measure: SimilarityMeasure | None = None,
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
    try:
        if measure is None:
            chosen = _chosen(rest, method, match_fields, gate_of(threshold))
        else:
            chosen = _measured(rest, method, match_fields, gate_of(threshold), measure)
    except TooMuchWork:
        return refused(expected, candidate, _TOO_LARGE)
    ours, theirs = rest.places, rest.others
    found = assembled(
        rest, [(ours[place], theirs[other], weight / UNIT) for weight, place, other in chosen]
    )
    return found._replace(fallback=True, note=note) if note else found


def _chosen(
    rest: Rest, method: Method, match_fields: tuple[str, ...] | None, gate: float
) -> list[Edge]:
    expected, candidate = rest.expected, rest.candidate
    left, right = all_cells(expected, match_fields), all_cells(candidate, match_fields)
    most = min(
        max(SMALL_PAIRS, len(left) * len(right) // _SPARSE),
        SMALL_CHARACTER_PAIRS // max(1, largest(left) * largest(right)),
    )
    edges = edges_of_few(left, right, gate, most)
    if edges is not None:
        return _among_few(edges, expected, candidate, method)
    ours = canonical_order(expected, range(len(left)))
    theirs = canonical_order(candidate, range(len(right)))
    expected, candidate = [expected[p] for p in ours], [candidate[p] for p in theirs]
    many = edges_of_many([left[p] for p in ours], [right[p] for p in theirs], gate)
    return _placed(_among(many, expected, candidate, method, most), ours, theirs)


def _measured(
    rest: Rest,
    method: Method,
    match_fields: tuple[str, ...] | None,
    gate: float,
    measure: SimilarityMeasure,
) -> list[Edge]:
    """The same where values are compared by a measure."""
    from fieldmark.align.geometric_similarity import measured_edges  # most lists need no geometry

    ours = canonical_order(rest.expected, range(len(rest.expected)))
    theirs = canonical_order(rest.candidate, range(len(rest.candidate)))
    expected, candidate = [rest.expected[p] for p in ours], [rest.candidate[p] for p in theirs]
    many = measured_edges(expected, candidate, match_fields, measure, gate)
    return _placed(_among(many, expected, candidate, method, SMALL_PAIRS), ours, theirs)


def _among(
    many: Edges, expected: list[JsonValue], candidate: list[JsonValue], method: Method, most: int
) -> Iterable[Edge]:
    """What the method chooses, in arrays if there is much to choose from."""
    if len(many.weights) > min(most, SMALL_PAIRS):
        return method.many(many, Agreement(expected, candidate))
    edges = list(zip(*(column.tolist() for column in many), strict=True))
    return _among_few(edges, expected, candidate, method)


def _among_few(
    edges: list[Edge], expected: list[JsonValue], candidate: list[JsonValue], method: Method
) -> list[Edge]:
    alone, joint = parted(edges)
    if not joint:
        return alone
    ours = canonical_order(expected, {edge[1] for edge in joint})
    theirs = canonical_order(candidate, {edge[2] for edge in joint})
    rank = {place: position for position, place in enumerate(ours)}
    other_rank = {place: position for position, place in enumerate(theirs)}
    agreement = Agreement([expected[p] for p in ours], [candidate[p] for p in theirs])
    ranked = [(weight, rank[place], other_rank[other]) for weight, place, other in joint]
    return alone + _placed(method.few(ranked, agreement), ours, theirs)


def _placed(chosen: Iterable[Edge], ours: list[int], theirs: list[int]) -> list[Edge]:
    return [(weight, ours[place], theirs[other]) for weight, place, other in chosen]
