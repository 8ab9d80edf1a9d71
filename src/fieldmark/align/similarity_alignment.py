"""Alignment by similarity: equal items first, then a selection of similar items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Final, NamedTuple

from fieldmark.align.alignment_options import (
    FALLBACK_PAIRS,
    MAX_PAIRS,
    SMALL_CHARACTER_PAIRS,
    SMALL_PAIRS,
    THRESHOLD_ALL_LEAVES,
    THRESHOLD_MATCH_FIELDS,
    FieldPaths,
    ItemSimilarity,
    SimilarityMeasure,
    SimilarityOption,
    SimilarityType,
    TooMuchWork,
    refused,
    within,
)
from fieldmark.align.equal_items import (
    build_alignment,
    canonical_order,
    pair_equal,
)
from fieldmark.align.item_similarity import (
    WEIGHT_UNIT,
    Edge,
    EdgeArrays,
    EqualLeafCounter,
    edges_of_few,
    edges_of_many,
    min_weight_of,
)
from fieldmark.align.leaves import (
    ItemLeaves,
    LeafRules,
    Path,
    all_leaves,
    apply_rules,
    drop_unshared,
    equality_leaves,
    largest,
)
from fieldmark.model.alignment import Alignment
from fieldmark.model.json import JsonValue
from fieldmark.values.annotations import Share
from fieldmark.values.strategy_options import check_options

_TOO_MANY: Final = f"too many pairs of unequal items: {{:,}} x {{:,}} (limit {MAX_PAIRS:,})"
_TOO_LARGE: Final = "the items are too large to compare all pairs"

_SMALL_RULED: Final = 64  # pairs of items with rules up to which a loop is faster than arrays
_SMALL_RATIO: Final = 16  # pairs that arrays compare in the time that a loop needs for one pair


class SelectionMethod(NamedTuple):
    """Selects pairs of similar items, with loops for few edges and with arrays for many.

    Both functions take edges between items in canonical order, and a counter to break ties. `few`
    only gets edges that share an item with another edge.
    """

    few: Callable[[list[Edge], EqualLeafCounter], Iterable[Edge]]
    many: Callable[[EdgeArrays, EqualLeafCounter], Iterable[Edge]]


def align_by_similarity(
    expected: list[JsonValue],
    candidate: list[JsonValue],
    similarity: ItemSimilarity,
    method: SelectionMethod,
    fallback: SelectionMethod | None = None,
    rules: LeafRules | None = None,
) -> Alignment:
    """Align equal items, then let the method select pairs of similar items among the rest.

    With `rules`, some fields of the items have their own rules. If there are too many pairs, the
    fallback method is used and the result has a note.
    """
    unpaired = pair_equal(expected, candidate)

    def paired() -> Iterator[JsonValue]:
        return (item for item, p in zip(expected, unpaired.partners, strict=True) if p is not None)

    if not unpaired.expected or not unpaired.candidate:
        return build_alignment(unpaired)
    note = ""
    if not within(len(unpaired.expected), len(unpaired.candidate)):
        note = _TOO_MANY.format(len(unpaired.expected), len(unpaired.candidate))
        if fallback is None or len(unpaired.expected) * len(unpaired.candidate) > FALLBACK_PAIRS:
            return refused(expected, candidate, note)
        method = fallback
    try:
        chosen = select_pairs(
            unpaired.expected, unpaired.candidate, paired, similarity, method, rules
        )
    except TooMuchWork:
        return refused(expected, candidate, _TOO_LARGE)
    indexes, other_indexes = unpaired.expected_indexes, unpaired.candidate_indexes
    alignment = build_alignment(
        unpaired,
        [
            (indexes[index], other_indexes[other], weight / WEIGHT_UNIT)
            for weight, index, other in chosen
        ],
    )
    return alignment._replace(fallback=True, note=note) if note else alignment


def read_item_similarity(
    match_fields: tuple[str, ...] | None, threshold: float | None, similarity: SimilarityOption
) -> ItemSimilarity:
    """Return how an aligner by similarity compares items, with the default threshold.

    >>> read_item_similarity(("description",), None, "text").threshold
    0.8
    """
    measure: SimilarityMeasure | None = None
    default = THRESHOLD_ALL_LEAVES if match_fields is None else THRESHOLD_MATCH_FIELDS
    if similarity != SimilarityType.TEXT:
        from fieldmark.align.geometric_similarity import measure_of  # only for boxes and points

        measure = measure_of(similarity)
        default = default if measure is None else measure.min_similarity
    name = similarity.get("type") if isinstance(similarity, Mapping) else similarity
    return ItemSimilarity(
        match_fields,
        default if threshold is None else threshold,
        measure,
        name == SimilarityType.EQUALITY,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityAligner:
    """The options of aligners by similarity; `selection` is their method."""

    name: ClassVar[str]
    uses_rules: ClassVar[bool] = True
    selection: ClassVar[SelectionMethod]
    match_fields: FieldPaths | None = None
    threshold: Share | None = None
    similarity: SimilarityOption = SimilarityType.TEXT
    _similarity: ItemSimilarity = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_options(self)
        similarity = read_item_similarity(self.match_fields, self.threshold, self.similarity)
        object.__setattr__(self, "_similarity", similarity)

    @property
    def item_similarity(self) -> ItemSimilarity:
        """How items are compared."""
        return self._similarity

    @property
    def min_similarity(self) -> float:
        """The similarity threshold."""
        return self._similarity.threshold

    def align(
        self,
        expected: list[JsonValue],
        candidate: list[JsonValue],
        rules: LeafRules | None = None,
    ) -> Alignment:
        """Align equal items, then the items that the method selects."""
        return align_by_similarity(
            expected, candidate, self._similarity, self.selection, rules=rules
        )


def select_pairs(
    expected: list[JsonValue],
    candidate: list[JsonValue],
    paired: Callable[[], Iterable[JsonValue]],
    similarity: ItemSimilarity,
    method: SelectionMethod,
    rules: LeafRules | None,
) -> list[Edge]:
    """Compute the similarities of unaligned items and let the method select pairs.

    `paired` returns the items that are on both sides. `TooMuchWork` is raised if the items are too
    large.
    """
    match_fields, threshold, measure, equality = similarity
    min_weight, one_sided = min_weight_of(threshold), similarity.one_sided

    def shared_leaves(*, ruled: bool) -> tuple[list[ItemLeaves], list[ItemLeaves], set[Path]]:
        leaves = partial(all_leaves, match_fields=match_fields, rules=rules, ruled=ruled)
        return drop_unshared(
            leaves(expected), leaves(candidate), lambda: (leaves([item])[0] for item in paired())
        )

    most_in_loops = SMALL_PAIRS
    left: list[ItemLeaves] = []
    right: list[ItemLeaves] = []
    if measure is None:
        left, right, paths = shared_leaves(ruled=False)
        has_rules = rules is not None
        if rules is not None:
            if not equality and apply_rules(rules, match_fields, paths, left + right):
                has_rules = False
            else:
                left, right, _ = shared_leaves(ruled=True)
        if equality:
            left, right = equality_leaves(left), equality_leaves(right)
        most_in_loops = min(
            max(SMALL_PAIRS, len(left) * len(right) // _SMALL_RATIO),
            SMALL_CHARACTER_PAIRS // max(1, largest(left) * largest(right)),
        )
        if has_rules:
            most_in_loops = min(most_in_loops, _SMALL_RULED)
        few = edges_of_few(
            left, right, min_weight, most_in_loops, has_rules=has_rules, one_sided=one_sided
        )
        if few is not None:
            return select_few(few, expected, candidate, method)
    order = canonical_order(expected, range(len(expected)))
    other_order = canonical_order(candidate, range(len(candidate)))
    expected, candidate = (
        [expected[index] for index in order],
        [candidate[index] for index in other_order],
    )
    if measure is None:
        many = edges_of_many(
            [left[index] for index in order],
            [right[index] for index in other_order],
            min_weight,
            one_sided,
        )
    else:
        from fieldmark.align.geometric_similarity import measured_edges  # only with a measure

        many = measured_edges(expected, candidate, paired(), similarity, measure, min_weight)
    chosen: Iterable[Edge]
    if len(many.weights) > min(most_in_loops, SMALL_PAIRS):
        chosen = method.many(many, EqualLeafCounter(expected, candidate))
    else:
        few = list(zip(*(column.tolist() for column in many), strict=True))
        chosen = select_few(few, expected, candidate, method)
    return _restore_indexes(chosen, order, other_order)


def select_few(
    edges: list[Edge],
    expected: list[JsonValue],
    candidate: list[JsonValue],
    method: SelectionMethod,
) -> list[Edge]:
    """Take the edges that share no item with others; let the method select among the rest."""
    alone, joint = _split_contested(edges)
    if not joint:
        return alone
    order = canonical_order(expected, {edge[1] for edge in joint})
    other_order = canonical_order(candidate, {edge[2] for edge in joint})
    rank = {index: position for position, index in enumerate(order)}
    other_rank = {index: position for position, index in enumerate(other_order)}
    agreement = EqualLeafCounter(
        [expected[index] for index in order], [candidate[index] for index in other_order]
    )
    ranked = [(weight, rank[index], other_rank[other]) for weight, index, other in joint]
    return alone + _restore_indexes(method.few(ranked, agreement), order, other_order)


def _split_contested(edges: list[Edge]) -> tuple[list[Edge], list[Edge]]:
    """Split edges into edges that share no item with another edge, and all other edges.

    >>> _split_contested([(1, 0, 0), (1, 1, 1), (1, 2, 0)])
    ([(1, 1, 1)], [(1, 0, 0), (1, 2, 0)])
    """
    expected_indexes, candidate_indexes = [edge[1] for edge in edges], [edge[2] for edge in edges]
    if len(set(expected_indexes)) == len(edges) == len(set(candidate_indexes)):
        return edges, []
    expected_uses, candidate_uses = Counter(expected_indexes), Counter(candidate_indexes)
    alone: list[Edge] = []
    joint: list[Edge] = []
    for edge in edges:
        (alone if expected_uses[edge[1]] == 1 == candidate_uses[edge[2]] else joint).append(edge)
    return alone, joint


def _restore_indexes(
    chosen: Iterable[Edge], order: list[int], other_order: list[int]
) -> list[Edge]:
    return [(weight, order[index], other_order[other]) for weight, index, other in chosen]
