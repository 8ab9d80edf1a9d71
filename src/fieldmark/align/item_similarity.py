"""Similarities of list items, and the numbers of their equal leaves.

The similarity of two items is the mean over the leaves present in either. It is computed pair by
pair for few items and in arrays for many; both give the same weights bit for bit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from fieldmark.align.alignment_options import (
    MAX_AGREEMENTS,
    MAX_CHARACTER_PAIRS,
    MAX_PAIRS,
    MAX_TEXT,
    TooMuchWork,
)
from fieldmark.align.leaves import ItemLeaves, Path, RuledLeaf, exact_leaves_of, is_iso_date
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

_GRADED: Final = frozenset((str, RuledLeaf))
"""The types of leaves that can be similar without being equal."""

_WHOLE: Final = 2.0**52
"""Adding and then subtracting this number rounds a smaller float to an integer."""

_NearPair: TypeAlias = tuple[int, int, int]
"""The positions of two items, and the number of their equal leaves."""

_BLOCK: Final = 1_000_000  # similarities held in memory at once
_LEAF_COST: Final = 400  # cost of comparing two leaves, in character pairs
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
) -> list[Edge] | None:
    """Return every pair with at least the minimum weight.

    Pairs with too few equal leaves to reach it are not compared. Return None if more than `most`
    pairs would have to be compared. `has_rules` says that some leaves have their own rules.
    """
    share, unequal = min_weight / WEIGHT_UNIT - _MARGIN, 1.0 if has_rules else _UNEQUAL
    near = _near(expected, candidate, share, unequal, most)
    if near is None:
        return None
    graded = _graded_paths(expected)
    edges: list[Edge] = []
    for index, other, shared in near:
        weight = _weight(expected[index], candidate[other], graded, shared)
        if weight >= min_weight:
            edges.append((weight, index, other))
    return edges


def _near(
    expected: list[ItemLeaves],
    candidate: list[ItemLeaves],
    share: float,
    unequal: float,
    most: int,
) -> list[_NearPair] | None:
    """Return the pairs whose equal leaves and strings can reach a share of their leaves.

    Two different strings, or leaves with their own rule, add at most `unequal`. Returns `None` if
    more than `most` pairs share a leaf.
    """
    reaches = [
        sum(type(cell) in _GRADED for cell in cells.values()) * unequal for cells in expected
    ]
    sizes = list(map(len, candidate))
    smallest = min(sizes)
    # Items whose strings alone can reach the share need no equal leaf.
    alone = [
        reach >= share * max(len(cells), smallest)
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


def _graded_paths(items: list[ItemLeaves]) -> list[Path]:
    """Return the paths of leaves that can be similar without being equal, always in one order."""
    paths = {path for cells in items for path, cell in cells.items() if type(cell) in _GRADED}
    return sorted(paths, key=repr)


def _weight(
    expected: ItemLeaves, candidate: ItemLeaves, graded: list[Path], equal_leaves: int
) -> float:
    """Return the mean similarity over the leaves of both items, as a weight."""
    leaves = len(expected.keys() | candidate.keys())
    total = 0.0
    for path in graded:
        cell, other = expected.get(path), candidate.get(path)
        if type(cell) is str:
            if cell == other:
                total += 1.0
                equal_leaves -= 1
            elif type(other) is str:
                total += text_similarity(cell, other)
        elif type(cell) is RuledLeaf is type(other):
            equal_leaves -= cell == other
            total += cell.similarity(other)
    return (total + equal_leaves) / (leaves or 1) * WEIGHT_UNIT + _WHOLE - _WHOLE


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
    """The leaves of one list at one path: strings, values with their own rule and other values."""

    text_places: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    ruled_places: list[int] = field(default_factory=list)
    ruled: list[RuledLeaf] = field(default_factory=list)
    token_places: list[int] = field(default_factory=list)
    tokens: list[Hashable] = field(default_factory=list)

    @property
    def places(self) -> list[int]:
        return self.text_places + self.ruled_places + self.token_places

    def characters(self) -> int:
        return sum(map(len, set(self.texts)))


_Sides: TypeAlias = dict[Path, _Side]


def edges_of_many(
    expected: Sequence[ItemLeaves], candidate: Sequence[ItemLeaves], min_weight: float
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
    sizes = _sizes(candidate)
    edges: list[EdgeArrays] = []
    for number, block in enumerate(blocks):
        weights = _weights(_sizes(block)[:, None], sizes, lefts[number], right)
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
            else:
                side.token_places.append(index)
                side.tokens.append(cell)
    return sides


def _weights(own_sizes: Integers, sizes: Integers, left: _Sides, right: _Sides) -> Floats:
    """Return the weights of all pairs: the mean similarity over the leaves of both items."""
    texts, equal_leaves, shared = np.zeros((3, len(own_sizes), len(sizes)))
    everywhere = 0
    for path in sorted(left.keys() & right.keys(), key=repr):
        expected_side, candidate_side = left[path], right[path]
        places, others = expected_side.places, candidate_side.places
        if (len(places), len(others)) == shared.shape:
            everywhere += 1
        else:
            shared[np.ix_(places, others)] += 1
        if expected_side.texts and candidate_side.texts:
            similar = _text_similarities(expected_side.texts, candidate_side.texts)
            _add(texts, expected_side.text_places, candidate_side.text_places, similar)
        if expected_side.ruled and candidate_side.ruled:
            similar = rule_similarities(expected_side.ruled, candidate_side.ruled)
            _add(texts, expected_side.ruled_places, candidate_side.ruled_places, similar)
        if expected_side.tokens and candidate_side.tokens:
            codes, other_codes = codes_of(expected_side.tokens, candidate_side.tokens)
            equal = codes[:, None] == other_codes
            _add(equal_leaves, expected_side.token_places, candidate_side.token_places, equal)
    leaves = np.maximum(own_sizes + (sizes - everywhere) - shared, 1)
    weights: Floats = np.rint((texts + equal_leaves) / leaves * WEIGHT_UNIT)
    return weights


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
            left = self._left[index] = exact_leaves_of(self._expected[index])
        if right is None:
            right = self._right[other] = exact_leaves_of(self._candidate[other])
        return len(left.items() & right.items())

    def count_all(self, places: Integers, others: Integers) -> Integers:
        """Return the numbers of equal leaves of many pairs."""
        left = _columns(self._expected, np.unique(places).tolist())
        right = _columns(self._candidate, np.unique(others).tolist())
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
        return counts


def _columns(items: Sequence[JsonValue], indexes: list[int]) -> dict[Path, dict[int, Hashable]]:
    """Return the leaves at each path, by the position of the item."""
    columns: dict[Path, dict[int, Hashable]] = defaultdict(dict)
    for index in indexes:
        for path, token in exact_leaves_of(items[index]).items():
            columns[path][index] = token
    return columns


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
