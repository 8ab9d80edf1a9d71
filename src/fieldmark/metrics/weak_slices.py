"""The search for weak slices: groups of cases that are significantly worse than the other cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from fieldmark.metrics.rates import f1, sortable
from fieldmark.metrics.significance import ALPHA, holm, hypergeometric_tails
from fieldmark.metrics.slices import TAG
from fieldmark.model.counts import Counts
from fieldmark.values.arrays import Flags, Floats, np

MIN_CASES: Final = 20
"""The default minimum number of cases of a slice."""
_MAX_SLICES: Final = 300
"""The maximum number of single slices; the largest are searched."""

_MAX_ATTRIBUTES: Final = 200
"""The maximum number of attributes whose mistakes are counted by slice."""
_NAMED_ATTRIBUTES: Final = 2
_BLOCK: Final = 4_096
_MIN_DROP: Final = 0.05
"""The smallest difference between the shares of cases with mistakes in a weak attribute."""
_MIN_OVERLAP: Final = 0.9
"""The smallest share of the cases of a slice that make it another name for a weaker slice."""

Condition: TypeAlias = tuple[str, str]
"""A key and a value."""


class SearchedCase(NamedTuple):
    """The values of a case by key, its counts and its F1, which is defined.

    A case without a key is in the slice without a value, except for tags.
    """

    features: Mapping[str, Sequence[str]]
    counts: Counts
    f1: float
    wrong: frozenset[str] = frozenset()
    """The attributes with mistakes."""


class WeakAttribute(NamedTuple):
    """The share of cases with mistakes in an attribute, inside and outside of a slice."""

    attribute: str
    wrong: float
    others: float


class WeakSlice(NamedTuple):
    """A slice that is significantly worse than the other cases.

    `f1` and `others` are the micro F1 of its cases and of all others. `same` are other slices with
    exactly the same cases. `attributes` are the attributes with the largest drop against the other
    cases. `overlap` is a slice earlier in the list that has nearly all of its cases, and their
    number.
    """

    conditions: tuple[Condition, ...]
    cases: int
    f1: float
    others: float
    p: float
    adjusted: float
    same: tuple[tuple[Condition, ...], ...] = ()
    attributes: tuple[WeakAttribute, ...] = ()
    overlap: tuple[Condition, int] | None = None


class FoundSlices(NamedTuple):
    """The significantly weak slices, the lowest F1 first, and the number of tested slices."""

    slices: tuple[WeakSlice, ...]
    tested: int


def find_weak_slices(
    cases: Iterable[SearchedCase], *, min_cases: int = MIN_CASES, alpha: float = ALPHA
) -> FoundSlices:
    """Test all slices by one key or two, and return the slices that are weaker than other cases.

    The test is Fisher's exact test, one-sided, of the share of cases whose F1 is below the F1 of
    all cases together. A slice by two keys must also be weaker than the other cases in both of its
    single slices. P-values are Holm-adjusted for all tested slices, which holds for any dependence
    between them: if the values are unrelated to the scores, nothing is found with a probability of
    at least 1 - alpha.
    """
    gathered = _GatheredCases()
    for case in cases:
        gathered.add(case)
    number = len(gathered.f1)
    masks = gathered.single_slices(min_cases)
    if not masks:
        return FoundSlices((), 0)
    names = list(masks)
    member = np.stack([masks[name][0] for name in names], axis=1)
    counts = np.array(gathered.counts, float)
    sums = counts.sum(axis=0)
    overall = f1(*map(float, sums)) or 0.0
    below = np.array([sortable(score - overall) < 0 for score in gathered.f1], np.float64)
    # Cell (i, j) is about the cases of both slices i and j; (i, i) is about slice i alone.
    weights = np.column_stack([np.ones(number), below, counts])
    size, low, tp, fp, fn = _sums_of_pairs(member, weights)
    inside, outside = f1(tp, fp, fn), f1(sums[0] - tp, sums[1] - fp, sums[2] - fn)
    alone, alone_low = np.diag(size), np.diag(low)
    first, second = np.triu_indices(len(names), 1)
    enough = size[first, second] >= min_cases
    for parent in (first, second):
        enough &= alone[parent] - size[first, second] >= min_cases
    first, second = first[enough], second[enough]
    both, both_low = size[first, second], low[first, second]
    # The probabilities that at least as many cases of the slice are below.
    singles = hypergeometric_tails(alone_low, number, below.sum(), alone)
    p = {(index, index): float(tail) for index, tail in enumerate(singles)}
    if len(both):
        weakest = hypergeometric_tails(both_low, number, below.sum(), both)
        for parent in (first, second):
            against = hypergeometric_tails(both_low, alone[parent], alone_low[parent], both)
            weakest = np.maximum(weakest, against)
        pairs = zip(first.tolist(), second.tolist(), strict=True)
        p |= dict(zip(pairs, weakest.tolist(), strict=True))
    weak: list[WeakSlice] = []
    index_of: dict[tuple[Condition, ...], int] = {}
    drops = _AttributeDrops(gathered.wrong)
    for (i, j), adjusted in holm(p).items():
        if adjusted > alpha or not inside[i, j] < outside[i, j]:
            continue
        single = i == j
        conditions = (names[i],) if single else (names[i], names[j])
        index_of[conditions] = i
        weak.append(
            WeakSlice(
                conditions=conditions,
                cases=int(size[i, j]),
                f1=float(inside[i, j]),
                others=float(outside[i, j]),
                p=p[i, j],
                adjusted=adjusted,
                same=tuple((name,) for name in masks[names[i]][1]) if single else (),
                attributes=drops.largest(member[:, i] & member[:, j]),
            )
        )
    weak.sort(key=lambda slice_: (sortable(slice_.f1), slice_.conditions))
    singles_before: list[int] = []
    for position, slice_ in enumerate(weak):
        if len(slice_.conditions) > 1:
            continue
        own = index_of[slice_.conditions]
        for before in singles_before:
            shared = int(size[own, before])
            if shared >= _MIN_OVERLAP * slice_.cases:
                weak[position] = slice_._replace(overlap=(names[before], shared))
                break
        singles_before.append(own)
    return FoundSlices(tuple(weak), len(p))


class _AttributeDrops:
    """Finds the attributes with the most additional mistakes in a slice."""

    def __init__(self, wrong: Sequence[frozenset[str]]) -> None:
        times = Counter(path for paths in wrong for path in paths)
        self._paths = [path for path, _ in times.most_common(_MAX_ATTRIBUTES)]
        columns = {path: column for column, path in enumerate(self._paths)}
        self._wrong = np.zeros((len(wrong), len(self._paths)), np.float32)
        for row, paths in enumerate(wrong):
            self._wrong[row, [columns[path] for path in paths if path in columns]] = 1
        self._sums = self._wrong.sum(axis=0)

    def largest(self, mask: Flags) -> tuple[WeakAttribute, ...]:
        """Return the attributes whose mistakes are most concentrated in the cases of a slice."""
        inside, size = mask @ self._wrong, mask.sum()
        shares = zip(
            self._paths,
            (inside / size).tolist(),
            ((self._sums - inside) / (len(mask) - size)).tolist(),
            strict=True,
        )
        weak = [
            attribute
            for attribute in map(WeakAttribute._make, shares)
            if _drop(attribute) >= _MIN_DROP
        ]
        weak.sort(key=lambda attribute: (sortable(-_drop(attribute)), attribute.attribute))
        return tuple(weak[:_NAMED_ATTRIBUTES])


def _drop(attribute: WeakAttribute) -> float:
    return attribute.wrong - attribute.others


class _GatheredCases:
    """The cases of a search by the keys and values of their slices."""

    def __init__(self) -> None:
        self.counts: list[tuple[int, int, int]] = []
        self.f1: list[float] = []
        self.wrong: list[frozenset[str]] = []
        self._places: dict[str, dict[str, list[int]]] = {}

    def add(self, case: SearchedCase) -> None:
        """Add one case."""
        number = len(self.f1)
        self.counts.append((case.counts.tp, case.counts.fp, case.counts.fn))
        self.f1.append(case.f1)
        self.wrong.append(case.wrong)
        for key, texts in case.features.items():
            known = self._places.setdefault(key, {})
            for text in texts:
                known.setdefault(text, []).append(number)

    def single_slices(self, min_cases: int) -> dict[Condition, tuple[Flags, list[Condition]]]:
        """Return the cases of each slice by one key, and other slices that have the same cases."""
        number = len(self.f1)
        for key, known in self._places.items():
            if key != TAG:
                known[""] = sorted(set(range(number)).difference(*known.values()))
        candidates = [
            ((key, value), numbers)
            for key, values in sorted(self._places.items())
            for value, numbers in values.items()
            if min_cases <= len(numbers) <= number - min_cases
        ]
        candidates.sort(key=lambda candidate: -len(candidate[1]))
        same: dict[bytes, Condition] = {}
        masks: dict[Condition, tuple[Flags, list[Condition]]] = {}
        for condition, numbers in candidates[:_MAX_SLICES]:
            mask = np.zeros(number, np.bool_)
            mask[numbers] = True
            first = same.setdefault(np.packbits(mask).tobytes(), condition)
            if first == condition:
                masks[condition] = mask, []
            else:
                masks[first][1].append(condition)
        return masks


def _sums_of_pairs(member: Flags, weights: Floats) -> list[Floats]:
    """Return the sums of each column of weights over the cases of every two slices."""
    slices = member.shape[1]
    sums = [np.zeros((slices, slices)) for _ in weights.T]
    # By block: all cases as numbers take many times the memory of the slices.
    for start in range(0, len(member), _BLOCK):
        block = member[start : start + _BLOCK].astype(np.float64)
        for number, column in enumerate(weights[start : start + _BLOCK].T):
            sums[number] += block.T @ (block * column[:, None])
    return sums
