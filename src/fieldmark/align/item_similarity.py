"""Similarities of list items, and the numbers of their equal leaves.

The similarity of two items is the mean over the leaves present in either. With match fields, a
field that only one item has counts as the threshold. The similarity of nested lists is the share
of their leaves that have an equal in the other list. Lists count as one leaf each, or as more if
that makes the items more similar: a long list that differs does not outweigh an equal identifier,
and a wrong page number does not outweigh a long list that is nearly equal.

The similarity is computed pair by pair for few items and in arrays for many; both give the same
weights bit for bit.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import inf
from typing import Final, NamedTuple, TypeAlias

from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from fieldmark.align.alignment_options import (
    MAX_AGREEMENTS,
    MAX_CHARACTER_PAIRS,
    MAX_PAIRS,
    MAX_SHARED_LEAVES,
    MAX_TEXT,
    TooMuchWork,
)
from fieldmark.align.leaves import (
    ItemLeaves,
    LeafSet,
    Path,
    RuledLeaf,
    exact_leaves_of,
    is_iso_date,
)
from fieldmark.model.json import JsonValue
from fieldmark.values.arrays import Flags, Floats, Integers, np

WEIGHT_UNIT: Final = 1e12
"""A weight is a similarity in units of 1e-12, rounded, so that sums and comparisons are exact."""

Edge: TypeAlias = tuple[float, int, int]
"""The weight of a possible pair, and the positions of its items among the unaligned items."""

_TOLERANCE: Final = 1e-9
_MARGIN: Final = 1e-6  # so that rounding never excludes a pair
_UNEQUAL: Final = 1 - 1 / MAX_TEXT
"""The upper bound of the similarity of two different strings."""

_GRADED: Final = frozenset((str, RuledLeaf, frozenset))
"""The types of leaves that can be similar without being equal."""

_NESTED: Final[frozenset[type]] = frozenset((frozenset,))

_WHOLE: Final = 2.0**52
"""Adding and then subtracting this number rounds a smaller float to an integer."""

_NearPair: TypeAlias = tuple[int, int, int]
"""The positions of two items, and the number of their equal leaves."""

_BLOCK: Final = 1_000_000  # similarities held in memory at once
_LEAF_COST: Final = 400  # cost of comparing two leaves, in character pairs
_LEAVES_PER_PAIR: Final = 16  # equal leaves of lists that are counted in the time of a pair
_COLUMN_COST: Final = 500_000  # cost of another path, in character pairs
_CALL_COST: Final = 50_000  # cost of calling a comparator, in character pairs


def min_weight_of(threshold: float) -> float:
    """Return the minimum weight of a pair for a similarity threshold."""
    return (threshold - _TOLERANCE) * WEIGHT_UNIT


def text_similarity(expected: str, candidate: str) -> float:
    """Return 1 - edit distance / longer length, or 0 for two different dates.

    >>> text_similarity("kitten", "mitten") == 1 - 1 / 6
    True
    """
    if expected[4:5] == "-" == candidate[4:5] and is_iso_date(expected) and is_iso_date(candidate):
        return 0.0
    return Levenshtein.normalized_similarity(expected, candidate)


def edges_of_few(
    expected: list[ItemLeaves],
    candidate: list[ItemLeaves],
    min_weight: float,
    most: int,
    *,
    has_rules: bool = False,
    one_sided: float | None = None,
) -> list[Edge] | None:
    """Return every pair with at least the minimum weight.

    Pairs with too few equal leaves to reach it are not compared. Return None if more than `most`
    pairs would have to be compared. `has_rules` says that some leaves have their own rules, and
    `one_sided` is the similarity of a match field that only one of two items has.
    """
    share, unequal = min_weight / WEIGHT_UNIT - _MARGIN, 1.0 if has_rules else _UNEQUAL
    is_bounded = one_sided is None or _is_complete(expected + candidate)
    nested = _paths_of(expected + candidate, _NESTED)
    plain, others = (
        (_without_lists(expected), _without_lists(candidate)) if nested else (expected, candidate)
    )
    near = _near(plain, others, share, unequal, most, is_bounded=is_bounded)
    lists = _near_lists(expected, candidate, nested, share, most) if nested and is_bounded else []
    if near is None or lists is None:
        return None
    # The similarity is a mean of the similarities of the lists and of all other leaves.
    if lists:
        added = set(lists).difference((index, other) for index, other, _ in near)
        near += (
            (index, other, len(plain[index].items() & others[other].items()))
            for index, other in sorted(added)
        )
    graded = _paths_of(expected, _GRADED)
    nested = nested if one_sided is None else []
    edges: list[Edge] = []
    for index, other, shared in near:
        weight = _weight(expected[index], candidate[other], graded, shared, nested, one_sided)
        if weight >= min_weight:
            edges.append((weight, index, other))
    return edges


def _near(
    expected: list[ItemLeaves],
    candidate: list[ItemLeaves],
    share: float,
    unequal: float,
    most: int,
    *,
    is_bounded: bool,
) -> list[_NearPair] | None:
    """Return the pairs whose equal leaves and strings can reach a share of their leaves.

    Two different strings, or leaves with their own rule, add at most `unequal`. If the similarity
    is not bounded in this way, all pairs are returned. Returns `None` if more than `most` pairs
    share a leaf.
    """
    reaches = [
        sum(type(cell) in _GRADED for cell in cells.values()) * unequal if is_bounded else inf
        for cells in expected
    ]
    sizes = list(map(len, candidate))
    smallest = min(sizes)
    # Items whose strings alone can reach the share need no equal leaf.
    alone = [
        reach >= share * (max(len(cells), smallest) or 1)
        for reach, cells in zip(reaches, expected, strict=True)
    ]
    if sum(alone) * len(candidate) > most:
        return None
    holders: dict[tuple[Path, Hashable], list[int]] = defaultdict(list)
    for index, cells in enumerate(candidate):
        for leaf in cells.items():
            holders[leaf].append(index)
    near: list[_NearPair] = []
    for index, cells in enumerate(expected):
        size, reach = len(cells), reaches[index]
        counts = dict.fromkeys(range(len(candidate)), 0) if alone[index] else {}
        for leaf in cells.items():
            for other in holders.get(leaf, ()):
                counts[other] = counts.get(other, 0) + 1
        most -= len(counts)
        if most < 0:
            return None
        for other, shared in counts.items():
            if shared + reach >= share * max(size, sizes[other]):
                near.append((index, other, shared))
    return near


def _without_lists(items: list[ItemLeaves]) -> list[ItemLeaves]:
    return [
        {path: cell for path, cell in cells.items() if type(cell) not in _NESTED} for cells in items
    ]


def _near_lists(
    expected: list[ItemLeaves],
    candidate: list[ItemLeaves],
    nested: list[Path],
    share: float,
    most: int,
) -> list[tuple[int, int]] | None:
    """Return the pairs with lists at one path whose equal leaves can reach a share of them.

    Returns `None` if more than `most` pairs of lists are counted, for each of some leaves.
    """
    work = most * _LEAVES_PER_PAIR
    near: list[tuple[int, int]] = []
    for path in nested:
        lists, other_lists = _lists_at(path, expected), _lists_at(path, candidate)
        shared = set(chain.from_iterable(lists.values()))
        holders: dict[Hashable, list[int]] = defaultdict(list)
        for other, leaves in other_lists.items():
            for leaf in leaves & shared:
                holders[leaf].append(other)
        for index, leaves in lists.items():
            own = [holders[leaf] for leaf in leaves & holders.keys()]
            work -= sum(map(len, own))
            if work < 0:
                return None
            counts = Counter(chain.from_iterable(own))
            least = share * len(leaves)
            near += ((index, other) for other, count in counts.items() if count >= least)
    return near


def _lists_at(path: Path, items: list[ItemLeaves]) -> dict[int, LeafSet]:
    """Return the nested lists at a path, by the positions of their items."""
    cells = ((index, item.get(path)) for index, item in enumerate(items))
    return {index: cell for index, cell in cells if isinstance(cell, frozenset)}


def _paths_of(items: list[ItemLeaves], types: frozenset[type]) -> list[Path]:
    """Return the paths of leaves of these types, always in one order."""
    paths = {path for cells in items for path, cell in cells.items() if type(cell) in types}
    return sorted(paths, key=repr)


def _is_complete(items: list[ItemLeaves]) -> bool:
    """Whether all items have the same fields."""
    return all(cells.keys() == items[0].keys() for cells in items)


def _weight(
    expected: ItemLeaves,
    candidate: ItemLeaves,
    graded: list[Path],
    equal_leaves: int,
    nested: list[Path],
    one_sided: float | None,
) -> float:
    """Return the mean similarity over the leaves of both items, as a weight.

    The larger of two: with each nested list as one leaf, or with the lists at the `nested` paths
    as several leaves.
    """
    leaves = len(expected.keys() | candidate.keys())
    missing = 2 * leaves - len(expected) - len(candidate)
    if one_sided is not None and 2 * missing > leaves:
        return 0.0
    total = weighted = 0.0
    for path in graded:
        cell, other = expected.get(path), candidate.get(path)
        similar = 0.0
        if type(cell) is str:
            if cell == other:
                similar = 1.0
                equal_leaves -= 1
            elif type(other) is str:
                similar = text_similarity(cell, other)
        elif type(cell) is RuledLeaf is type(other):
            equal_leaves -= cell == other
            similar = cell.similarity(other)
        elif type(cell) is frozenset is type(other):
            similar = len(cell & other) / max(len(cell), len(other))
        total += similar
        weighted += similar * _heavier(cell, other)
    known = missing * (one_sided or 0.0)
    similarity = (total + equal_leaves + known) / (leaves or 1)
    if nested:
        for path in nested:
            leaves += _heavier(expected.get(path), candidate.get(path)) - 1
        similarity = max(similarity, (weighted + equal_leaves) / (leaves or 1))
    return similarity * WEIGHT_UNIT + _WHOLE - _WHOLE


def _heavier(cell: Hashable, other: Hashable) -> int:
    """Return as how many leaves two values at one path count, if lists count as several."""
    return max(_leaves_for(cell), _leaves_for(other))


def _leaves_for(cell: Hashable) -> int:
    """Return as how many leaves a nested list counts: the logarithm to base 2 of their number."""
    return max(1, len(cell).bit_length() - 1) if isinstance(cell, frozenset) else 1


class EdgeArrays(NamedTuple):
    """A list of `Edge` in the form of arrays."""

    weights: Floats
    expected: Integers
    candidate: Integers

    def at(self, positions: Integers) -> EdgeArrays:
        """Return the edges at the given positions."""
        return EdgeArrays(*(column[positions] for column in self))  # type: ignore[arg-type]


@dataclass(slots=True, eq=False)
class _Side:
    """The leaves of one list at one path, by their type; all other values are tokens."""

    text_places: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    ruled_places: list[int] = field(default_factory=list)
    ruled: list[RuledLeaf] = field(default_factory=list)
    set_places: list[int] = field(default_factory=list)
    sets: list[LeafSet] = field(default_factory=list)
    token_places: list[int] = field(default_factory=list)
    tokens: list[Hashable] = field(default_factory=list)

    @property
    def places(self) -> list[int]:
        return self.text_places + self.ruled_places + self.set_places + self.token_places

    def characters(self) -> int:
        return sum(map(len, set(self.texts)))


_Sides: TypeAlias = dict[Path, _Side]


def edges_of_many(
    expected: Sequence[ItemLeaves],
    candidate: Sequence[ItemLeaves],
    min_weight: float,
    one_sided: float | None = None,
) -> EdgeArrays:
    """Return every pair with at least the minimum weight, in the order of the items."""
    rows = max(1, _BLOCK // len(candidate))
    blocks = [expected[start : start + rows] for start in range(0, len(expected), rows)]
    lefts, right = [_sides(block) for block in blocks], _sides(candidate)
    work = 0
    for left in lefts:
        for path in left.keys() & right.keys():
            expected_side, candidate_side = left[path], right[path]
            work += _COLUMN_COST + expected_side.characters() * candidate_side.characters()
            work += _LEAF_COST * len(expected_side.places) * len(candidate_side.places)
            work += (
                _CALL_COST
                * len(_distinct(expected_side.ruled))
                * len(_distinct(candidate_side.ruled))
            )
    if work > MAX_CHARACTER_PAIRS:
        raise TooMuchWork
    for path, side in right.items():
        check_lists([cell for left in lefts if path in left for cell in left[path].sets], side.sets)
    sizes = _sizes(candidate)
    edges: list[EdgeArrays] = []
    for number, block in enumerate(blocks):
        weights = _weights(_sizes(block)[:, None], sizes, lefts[number], right, one_sided)
        places, others = np.nonzero(weights >= min_weight)
        edges.append(EdgeArrays(weights[places, others], places + number * rows, others))
        if sum(len(part.weights) for part in edges) > MAX_PAIRS:
            raise TooMuchWork
    return (
        edges[0] if len(edges) == 1 else EdgeArrays(*map(np.concatenate, zip(*edges, strict=True)))
    )


def codes_of(
    expected: Sequence[Hashable], candidate: Sequence[Hashable]
) -> tuple[Integers, Integers]:
    """Return an integer for each value, the same for equal values."""
    codes: dict[Hashable, int] = {}
    number = codes.setdefault
    return (
        np.array([number(value, len(codes)) for value in expected], dtype=np.intp),
        np.array([number(value, len(codes)) for value in candidate], dtype=np.intp),
    )


def _sizes(items: Sequence[ItemLeaves]) -> Integers:
    return np.array([len(cells) for cells in items], dtype=np.intp)


def _sides(items: Sequence[ItemLeaves]) -> _Sides:
    sides: _Sides = {}
    for index, cells in enumerate(items):
        for path, cell in cells.items():
            side = sides.get(path)
            if side is None:
                side = sides[path] = _Side()
            if type(cell) is str:
                side.text_places.append(index)
                side.texts.append(cell)
            elif type(cell) is RuledLeaf:
                side.ruled_places.append(index)
                side.ruled.append(cell)
            elif type(cell) is frozenset:
                side.set_places.append(index)
                side.sets.append(cell)
            else:
                side.token_places.append(index)
                side.tokens.append(cell)
    return sides


def _weights(
    own_sizes: Integers, sizes: Integers, left: _Sides, right: _Sides, one_sided: float | None
) -> Floats:
    """Return the weights of all pairs: the mean similarity over the leaves of both items."""
    texts, equal_leaves, shared = np.zeros((3, len(own_sizes), len(sizes)))
    nested = [path for path in left.keys() | right.keys() if _has_sets(path, left, right)]
    weighted = np.zeros_like(texts) if nested and one_sided is None else texts
    everywhere = 0
    for path in sorted(left.keys() & right.keys(), key=repr):
        expected_side, candidate_side = left[path], right[path]
        places, others = expected_side.places, candidate_side.places
        if (len(places), len(others)) == shared.shape:
            everywhere += 1
        else:
            shared[np.ix_(places, others)] += 1
        totals = (texts,) if weighted is texts else (texts, weighted)
        if expected_side.texts and candidate_side.texts:
            similar = _text_similarities(expected_side.texts, candidate_side.texts)
            for total in totals:
                _add(total, expected_side.text_places, candidate_side.text_places, similar)
        if expected_side.ruled and candidate_side.ruled:
            similar = rule_similarities(expected_side.ruled, candidate_side.ruled)
            for total in totals:
                _add(total, expected_side.ruled_places, candidate_side.ruled_places, similar)
        if expected_side.sets and candidate_side.sets:
            own_places, other_places = expected_side.set_places, candidate_side.set_places
            counts = shared_leaves(expected_side.sets, candidate_side.sets)
            longer = np.maximum.outer(
                [len(cell) for cell in expected_side.sets],
                [len(cell) for cell in candidate_side.sets],
            )
            similar = counts / longer
            _add(texts, own_places, other_places, similar)
            if weighted is not texts:
                heavier = np.maximum.outer(
                    [_leaves_for(cell) for cell in expected_side.sets],
                    [_leaves_for(cell) for cell in candidate_side.sets],
                )
                _add(weighted, own_places, other_places, similar * heavier)
        if expected_side.tokens and candidate_side.tokens:
            codes, other_codes = codes_of(expected_side.tokens, candidate_side.tokens)
            equal = codes[:, None] == other_codes
            _add(equal_leaves, expected_side.token_places, candidate_side.token_places, equal)
    shared += everywhere
    leaves = own_sizes + sizes - shared
    weights = mean_weights(texts + equal_leaves, leaves, shared, one_sided)
    if weighted is not texts:
        for path in nested:
            leaves += np.maximum.outer(
                _more_leaves(left.get(path), len(own_sizes)),
                _more_leaves(right.get(path), len(sizes)),
            )
        weights = np.maximum(weights, mean_weights(weighted + equal_leaves, leaves, shared, None))
    return weights


def mean_weights(totals: Floats, leaves: Floats, shared: Floats, one_sided: float | None) -> Floats:
    """Return the weights of pairs, from sums of similarities and numbers of leaves.

    `leaves` are in either item and `shared` ones in both. With match fields, at least half of them
    must be shared, and `one_sided` is the similarity of all others.
    """
    if one_sided is not None:
        totals = np.where(2 * shared < leaves, 0.0, totals + (leaves - shared) * one_sided)
    weights: Floats = np.rint(totals / np.maximum(leaves, 1) * WEIGHT_UNIT)
    return weights


def _has_sets(path: Path, left: _Sides, right: _Sides) -> bool:
    return any(path in sides and sides[path].sets for sides in (left, right))


def _more_leaves(side: _Side | None, items: int) -> Integers:
    """Return as how many leaves more than one each item's list at a path counts."""
    leaves = np.zeros(items, dtype=np.intp)
    if side is not None:
        leaves[side.set_places] = [_leaves_for(cell) - 1 for cell in side.sets]
    return leaves


def check_lists(expected: Sequence[LeafSet], candidate: Sequence[LeafSet]) -> None:
    """Raise an error if too many pairs of leaves are equal."""
    if expected and candidate:
        holders = Counter(chain.from_iterable(candidate))
        if sum(holders[leaf] for cells in expected for leaf in cells) > MAX_SHARED_LEAVES:
            raise TooMuchWork


def shared_leaves(expected: Sequence[LeafSet], candidate: Sequence[LeafSet]) -> Floats:
    """Return the number of leaves that each expected list has in common with each candidate list.

    The work grows with these numbers and with the leaves of all lists, and not with the number of
    leaves times the number of pairs.
    """
    from scipy.sparse import csr_array

    shared = set().union(*expected) & set().union(*candidate)
    codes = {leaf: code for code, leaf in enumerate(shared)}

    def incidence(sets: Sequence[LeafSet]) -> csr_array:
        columns = [[codes[leaf] for leaf in cells if leaf in codes] for cells in sets]
        ends = np.cumsum([0, *map(len, columns)])
        flat = np.fromiter(chain.from_iterable(columns), dtype=np.intp, count=ends[-1])
        return csr_array((np.ones(len(flat)), flat, ends), (len(sets), len(codes)))

    counts: Floats = (incidence(expected) @ incidence(candidate).T).toarray()
    return counts


def _add(matrix: Floats, places: list[int], others: list[int], values: Floats | Flags) -> None:
    if (len(places), len(others)) == matrix.shape:
        matrix += values
    else:
        matrix[np.ix_(places, others)] += values


def _text_similarities(expected: list[str], candidate: list[str]) -> Floats:
    """Return the `text_similarity` of every pair of strings."""
    texts, other_texts = list(dict.fromkeys(expected)), list(dict.fromkeys(candidate))
    distances = cdist(texts, other_texts, scorer=Levenshtein.distance, dtype=np.int32)
    longer = np.maximum.outer([len(text) for text in texts], [len(text) for text in other_texts])
    similar: Floats = 1.0 - distances / longer
    dates = [index for index, text in enumerate(texts) if is_iso_date(text)]
    other_dates = [index for index, text in enumerate(other_texts) if is_iso_date(text)]
    if dates and other_dates:
        block = np.ix_(dates, other_dates)
        similar[block] = distances[block] == 0
    if len(texts) < len(expected):
        similar = similar[_positions(texts, expected)]
    if len(other_texts) < len(candidate):
        similar = similar[:, _positions(other_texts, candidate)]
    return similar


def _positions(distinct: list[str], texts: list[str]) -> list[int]:
    position = {text: index for index, text in enumerate(distinct)}
    return [position[text] for text in texts]


class EqualLeafCounter:
    """Counts the equal leaves of pairs, to break ties between equally similar pairs."""

    __slots__ = ("_candidate", "_expected", "_left", "_right")

    def __init__(self, expected: Sequence[JsonValue], candidate: Sequence[JsonValue]) -> None:
        self._expected = expected
        self._candidate = candidate
        self._left: dict[int, ItemLeaves] = {}
        self._right: dict[int, ItemLeaves] = {}

    def count(self, index: int, other: int) -> int:
        """Return the number of equal leaves of one pair."""
        left, right = self._left.get(index), self._right.get(other)
        if left is None:
            left = self._left[index] = _flattened(exact_leaves_of(self._expected[index]))
        if right is None:
            right = self._right[other] = _flattened(exact_leaves_of(self._candidate[other]))
        return len(left.items() & right.items())

    def count_all(self, places: Integers, others: Integers) -> Integers:
        """Return the numbers of equal leaves of many pairs."""
        left, left_sets = _columns(self._expected, np.unique(places).tolist())
        right, right_sets = _columns(self._candidate, np.unique(others).tolist())
        shared = left.keys() & right.keys()
        if len(shared) * len(places) > MAX_AGREEMENTS:
            raise TooMuchWork
        counts = np.zeros(len(places), dtype=np.intp)
        for path in shared:
            tokens, other_tokens = left[path], right[path]
            codes, other_codes = codes_of(list(tokens.values()), list(other_tokens.values()))
            code = np.full(len(self._expected), -1)
            other_code = np.full(len(self._candidate), -2)
            code[list(tokens)] = codes
            other_code[list(other_tokens)] = other_codes
            counts += code[places] == other_code[others]
        for path in left_sets.keys() & right_sets.keys():
            counts += self._shared_leaves(left_sets[path], right_sets[path], places, others)
        return counts

    def _shared_leaves(
        self,
        left: dict[int, LeafSet],
        right: dict[int, LeafSet],
        places: Integers,
        others: Integers,
    ) -> Integers:
        """Return the numbers of equal leaves of nested lists at one path."""
        check_lists(list(left.values()), list(right.values()))
        counts = np.zeros(len(places), dtype=np.intp)
        column = np.full(len(self._candidate), -1)
        column[list(right)] = np.arange(len(right))
        rows = max(1, _BLOCK // len(right))
        for start in range(0, len(left), rows):
            indexes = list(left)[start : start + rows]
            row = np.full(len(self._expected), -1)
            row[indexes] = np.arange(len(indexes))
            pairs = np.flatnonzero((row[places] >= 0) & (column[others] >= 0))
            shared = shared_leaves([left[index] for index in indexes], list(right.values()))
            counts[pairs] = shared[row[places[pairs]], column[others[pairs]]]
        return counts


def _flattened(cells: ItemLeaves) -> ItemLeaves:
    """Return the leaves of an item with each leaf of its nested lists as one of its own."""
    flat: ItemLeaves = {}
    for path, cell in cells.items():
        if isinstance(cell, frozenset):
            flat.update(dict.fromkeys((path, leaf) for leaf in cell))
        else:
            flat[path] = cell
    return flat


def _columns(
    items: Sequence[JsonValue], indexes: list[int]
) -> tuple[dict[Path, dict[int, Hashable]], dict[Path, dict[int, LeafSet]]]:
    """Return the leaves and the nested lists at each path, by the position of the item."""
    columns: dict[Path, dict[int, Hashable]] = defaultdict(dict)
    sets: dict[Path, dict[int, LeafSet]] = defaultdict(dict)
    for index in indexes:
        for path, cell in exact_leaves_of(items[index]).items():
            if isinstance(cell, frozenset):
                sets[path][index] = cell
            else:
                columns[path][index] = cell
    return columns, sets


def rule_similarities(expected: Sequence[RuledLeaf], candidate: Sequence[RuledLeaf]) -> Floats:
    """Return the similarity of every expected leaf with every candidate leaf at one path.

    The comparator is called once for each pair of distinct values.
    """
    leaves, other_leaves = _distinct(expected), _distinct(candidate)
    similar: Floats = np.array(
        [[leaf.similarity(other) for other in other_leaves.values()] for leaf in leaves.values()]
    )
    position = {token: index for index, token in enumerate(leaves)}
    other_position = {token: index for index, token in enumerate(other_leaves)}
    rows = [position[leaf.token] for leaf in expected]
    columns = [other_position[leaf.token] for leaf in candidate]
    return similar[np.ix_(rows, columns)]


def _distinct(leaves: Sequence[RuledLeaf]) -> dict[Hashable, RuledLeaf]:
    return {leaf.token: leaf for leaf in leaves}
