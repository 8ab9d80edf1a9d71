"""Similarities of many items, leaf by leaf in arrays; bit for bit those of `pairwise`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from fieldmark.align.item_similarity import UNIT
from fieldmark.align.leaves import Cells, Path, is_iso_date
from fieldmark.align.limits import MAX_CHARACTER_PAIRS, MAX_PAIRS, TooMuchWork

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.intp]
    Flags: TypeAlias = NDArray[np.bool_]

__all__ = ["Edges", "codes_of", "edges"]

_BLOCK: Final = 1_000_000  # similarities held in memory at once
_LEAF_COST: Final = 400  # what comparing two leaves costs, in character pairs
_COLUMN_COST: Final = 500_000  # what starting with another path costs, in character pairs


class Edges(NamedTuple):
    """Pairs that are similar enough: their weights, and their places in the two rests."""

    weights: Floats
    expected: Integers
    candidate: Integers

    def at(self, positions: Integers) -> Edges:
        """The edges at some positions."""
        return Edges(*(column[positions] for column in self))  # type: ignore[arg-type]


@dataclass(slots=True)
class _Side:
    """The cells that one list holds at one path."""

    text_places: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    token_places: list[int] = field(default_factory=list)
    tokens: list[Hashable] = field(default_factory=list)

    @property
    def places(self) -> list[int]:
        return self.text_places + self.token_places

    def characters(self) -> int:
        return sum(map(len, set(self.texts)))


_Sides: TypeAlias = dict[Path, _Side]


def edges(expected: Sequence[Cells], candidate: Sequence[Cells], gate: float) -> Edges:
    """Every pair whose weight reaches the gate, in the order of the places."""
    import numpy as np

    rows = max(1, _BLOCK // len(candidate))
    blocks = [expected[start : start + rows] for start in range(0, len(expected), rows)]
    lefts, right = [_sides(block) for block in blocks], _sides(candidate)
    _check_work(lefts, right)
    sizes = _sizes(candidate)
    found: list[Edges] = []
    for number, block in enumerate(blocks):
        weights = _weights(_sizes(block)[:, None], sizes, lefts[number], right)
        places, others = np.nonzero(weights >= gate)
        found.append(Edges(weights[places, others], places + number * rows, others))
        if sum(len(part.weights) for part in found) > MAX_PAIRS:
            raise TooMuchWork
    return found[0] if len(found) == 1 else Edges(*map(np.concatenate, zip(*found, strict=True)))


def codes_of(
    expected: Sequence[Hashable], candidate: Sequence[Hashable]
) -> tuple[Integers, Integers]:
    """Numbers in place of values: the same number for equal values."""
    import numpy as np

    codes: dict[Hashable, int] = {}
    number = codes.setdefault
    return (
        np.array([number(value, len(codes)) for value in expected], dtype=np.intp),
        np.array([number(value, len(codes)) for value in candidate], dtype=np.intp),
    )


def _sizes(items: Sequence[Cells]) -> Integers:
    import numpy as np

    return np.array([len(cells) for cells in items], dtype=np.intp)


def _sides(items: Sequence[Cells]) -> _Sides:
    sides: _Sides = {}
    for place, cells in enumerate(items):
        for path, cell in cells.items():
            side = sides.get(path)
            if side is None:
                side = sides[path] = _Side()
            if type(cell) is str:
                side.text_places.append(place)
                side.texts.append(cell)
            else:
                side.token_places.append(place)
                side.tokens.append(cell)
    return sides


def _check_work(lefts: Sequence[_Sides], right: _Sides) -> None:
    work = 0
    for left in lefts:
        for path in left.keys() & right.keys():
            one, other = left[path], right[path]
            work += _COLUMN_COST + one.characters() * other.characters()
            work += _LEAF_COST * len(one.places) * len(other.places)
    if work > MAX_CHARACTER_PAIRS:
        raise TooMuchWork


def _weights(own_sizes: Integers, sizes: Integers, left: _Sides, right: _Sides) -> Floats:
    """The mean over the leaves present in either item, for each with each, as weights."""
    import numpy as np

    texts, equal_leaves, shared = np.zeros((3, len(own_sizes), len(sizes)))
    everywhere = 0
    for path in sorted(left.keys() & right.keys(), key=repr):
        one, other = left[path], right[path]
        places, others = one.places, other.places
        if (len(places), len(others)) == shared.shape:
            everywhere += 1
        else:
            shared[np.ix_(places, others)] += 1
        if one.texts and other.texts:
            similar = _text_similarities(one.texts, other.texts)
            _add(texts, one.text_places, other.text_places, similar)
        if one.tokens and other.tokens:
            codes, other_codes = codes_of(one.tokens, other.tokens)
            equal = codes[:, None] == other_codes
            _add(equal_leaves, one.token_places, other.token_places, equal)
    leaves = np.maximum(own_sizes + (sizes - everywhere) - shared, 1)
    weights: Floats = np.rint((texts + equal_leaves) / leaves * UNIT)
    return weights


def _add(matrix: Floats, places: list[int], others: list[int], values: Floats | Flags) -> None:
    import numpy as np

    if (len(places), len(others)) == matrix.shape:
        matrix += values
    else:
        matrix[np.ix_(places, others)] += values


def _text_similarities(expected: list[str], candidate: list[str]) -> Floats:
    """What `pairwise.text_similarity` says of each text with each."""
    import numpy as np
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    ours, theirs = list(dict.fromkeys(expected)), list(dict.fromkeys(candidate))
    distances = cdist(ours, theirs, scorer=Levenshtein.distance, dtype=np.int32)
    longer = np.maximum.outer([len(text) for text in ours], [len(text) for text in theirs])
    similar: Floats = 1.0 - distances / longer
    dates = [place for place, text in enumerate(ours) if is_iso_date(text)]
    other_dates = [place for place, text in enumerate(theirs) if is_iso_date(text)]
    if dates and other_dates:
        block = np.ix_(dates, other_dates)
        similar[block] = distances[block] == 0
    if len(ours) < len(expected):
        similar = similar[_positions(ours, expected)]
    if len(theirs) < len(candidate):
        similar = similar[:, _positions(theirs, candidate)]
    return similar


def _positions(distinct: list[str], texts: list[str]) -> list[int]:
    position = {text: place for place, text in enumerate(distinct)}
    return [position[text] for text in texts]
