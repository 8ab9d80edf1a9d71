"""The kernel's view of a plan: the decisions that it may make about each attribute.

The kernel walks two documents as `Walk` does, and calls `Walk` for everything else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Final, TypeAlias, cast

import orjson

from fieldmark.align.alignment_options import TooMuchWork
from fieldmark.align.greedy import GREEDY
from fieldmark.align.item_similarity import Edge, min_weight_of, text_similarity
from fieldmark.align.similarity_alignment import SimilarityAligner, select_few, select_pairs
from fieldmark.compare.exact import Exact
from fieldmark.model.case import UnparsedDocuments
from fieldmark.model.comparison import DIFFERENT, MATCHED, WRONG_TYPE
from fieldmark.model.json import MISSING, JsonValue
from fieldmark.model.kernel import kernel
from fieldmark.model.outcome import Outcome
from fieldmark.model.outcomes import Outcomes
from fieldmark.plan.attribute_node import AttributeNode, NodeMode
from fieldmark.plan.classify import MATCH_FACT, PRESENCE_FACTS, VALUE_FACTS
from fieldmark.plan.walk import Walk
from fieldmark.values.text import folded

(
    _WALKS,
    _ALIGNS,
    _LEAF,
    _TRUTH_ONLY,
    _SKIPPED,
    _WHOLE_RULE,
    _RULED,
    _GREEDY,
    _EXACT,
    _ORDERS_SERIES,
) = (1 << bit for bit in range(10))
"""The operations on an attribute that the kernel may do, see `plan_nodes.c`."""
_FACTS: Final = bytes(
    [
        *chain.from_iterable(PRESENCE_FACTS),
        VALUE_FACTS[Outcome.WRONG_VALUE],
        VALUE_FACTS[Outcome.FORMAT_ERROR],
    ]
)
_UNSUPPORTED: Final = -1.0
"""The minimum weight of items whose similarity the kernel does not compute.

Also the similarity of leaves that only one of two items has, without match fields.
"""
_NO_LIMITS: Final = (-1.0, -1.0, -1.0)
_PATH_SYNTAX: Final = frozenset(".[]*\"'")

_AlignRest: TypeAlias = (
    "Callable[[bytes, list[int], list[JsonValue], list[JsonValue]], list[Edge] | None]"
)


class KernelWalk:
    """Compares pairs of unparsed documents.

    With `plain_presence`, only null, absent and blank values are empty, which the kernel can see.
    """

    __slots__ = ("_walker",)

    def __init__(self, walk: Walk, root: AttributeNode, *, plain_presence: bool) -> None:
        self._walker = kernel.Walker(
            root,
            walk.with_extras,
            _FACTS,
            # No method of this object: the kernel's objects are not garbage collected.
            partial(_described, plain_presence=plain_presence),
            walk.compare,
            walk.classify,
            walk.record_unmatched,
            walk.record_unmatched_item,
            text_similarity,
            folded,
            Outcomes,
            MATCHED,
            DIFFERENT,
            WRONG_TYPE,
            MISSING,
        )

    def compare(
        self,
        pairs: list[UnparsedDocuments],
        otherwise: Callable[[UnparsedDocuments], Outcomes],
    ) -> list[Outcomes]:
        """Compare pairs in order; `otherwise` compares pairs that are parsed or empty.

        A candidate may be `MISSING`.
        """
        return self._walker.compare(pairs, otherwise)


def _described(node: AttributeNode, *, plain_presence: bool) -> tuple[object, ...]:
    """Return the properties of a node for the kernel, in the order of `plan_nodes.c`."""
    compares_items = node.walks and list in node.container_types
    is_registered = node.base >= 0
    is_leaf = node.walks or node.mode is NodeMode.LEAF
    conditions: dict[int, object] = {
        _WALKS: node.walks,
        _LEAF: is_leaf and plain_presence and not (node.ignored or node.any_of or node.tokens),
        _TRUTH_ONLY: node.truth_only,
        _SKIPPED: node.mode is NodeMode.SKIP,
        _EXACT: type(node.comparator) is Exact,
    }
    min_weight = one_sided = _UNSUPPORTED
    fields = select = align_rest = None
    aligner = node.aligner
    if compares_items and isinstance(aligner, SimilarityAligner):
        ruled = node.aligned_by_rules
        rules = node.item_node if ruled else None
        conditions |= {
            _ALIGNS: True,
            _RULED: ruled,
            _WHOLE_RULE: ruled and (rules is None or rules.whole_comparator),
            _ORDERS_SERIES: node.orders_series,
            _GREEDY: aligner.selection is GREEDY,
        }
        select = partial(select_few, method=aligner.selection)
        align_rest = _rest_alignment(aligner, rules)
        match_fields, threshold, measure, equality = aligner.item_similarity
        simple = match_fields is None or _PATH_SYNTAX.isdisjoint("".join(match_fields))
        if measure is None and not equality and simple:
            min_weight = min_weight_of(threshold)
        if match_fields is not None:
            one_sided = threshold
            fields = tuple(field.encode("utf-8", "surrogatepass") for field in match_fields)
    rule = node.leaf_comparator
    leaf_rule = None if rule is None else getattr(rule, "item_leaves", False)
    limits = getattr(rule, "leaf_limits", _NO_LIMITS)
    return (
        sum(flag for flag, holds in conditions.items() if holds),
        node.base,
        is_registered and node.matches_equal_text,
        is_registered and node.matches_equal_numbers,
        getattr(node.comparator, "matches_iso_dates", False),
        min_weight,
        one_sided,
        getattr(rule, "keeps_text_leaves", False),
        *limits,
        node.base | MATCH_FACT,
        node.comparator.compare if node.compares_values else None,
        leaf_rule,
        None if rule is None else rule.compare,
        node.item_path if compares_items else None,
        node.item_node,
        fields,
        select,
        align_rest,
    )


def _rest_alignment(aligner: SimilarityAligner, rules: AttributeNode | None) -> _AlignRest:
    """Return a function that aligns the items of two lists that have no equal.

    It is called with the expected list as JSON, the places of its items without an equal, and these
    items of both lists. It returns `None` if the items are too large to compare all pairs.
    """
    similarity, method = aligner.item_similarity, aligner.selection

    def align(
        raw: bytes, places: list[int], expected: list[JsonValue], candidate: list[JsonValue]
    ) -> list[Edge] | None:
        def paired() -> list[JsonValue]:
            unpaired = set(places)
            items = cast("list[JsonValue]", orjson.loads(raw))
            return [item for index, item in enumerate(items) if index not in unpaired]

        try:
            return select_pairs(expected, candidate, paired, similarity, method, rules)
        except TooMuchWork:
            return None

    return align
