"""The search for weak slices: groups of cases that are significantly worse than the other cases.

A slice can be worse in its F1, and in a single attribute. The two searches share the significance
level, so that their p-values are doubled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from fieldmark.metrics.rates import f1, sortable
from fieldmark.metrics.significance import (
    ALPHA,
    holm,
    hypergeometric_smallest,
    hypergeometric_tails,
)
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
_SEARCHES: Final = 2
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
    compared: frozenset[str] = frozenset()
    """The attributes that were compared; an attribute with mistakes always was."""


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


class AttributeInSlice(NamedTuple):
    """An attribute that is wrong significantly more often in a slice than elsewhere.

    `cases` and `wrong` are the numbers of cases of the slice in which the attribute was compared,
    and has mistakes; `other_cases` and `other_wrong` are the same for all other cases. `same` are
    other slices with exactly the same cases.
    """

    attribute: str
    condition: Condition
    cases: int
    wrong: int
    other_cases: int
    other_wrong: int
    p: float
    adjusted: float
    same: tuple[Condition, ...] = ()

    @property
    def share(self) -> float:
        """The share of the cases of the slice that have mistakes in the attribute."""
        return self.wrong / self.cases

    @property
    def other_share(self) -> float:
        """The share of all other cases that have mistakes in the attribute."""
        return self.other_wrong / self.other_cases

    @property
    def excess(self) -> float:
        """The number of wrong cases that the slice would not have with the share of the others."""
        return self.wrong - self.cases * self.other_share


class FoundSlices(NamedTuple):
    """The significantly weak slices, and what was tested.

    `slices` begins with the lowest F1, and `attributes` with the most additional wrong cases.
    `tested` and `attribute_tests` are the numbers of tests. `slices_left_out` and
    `attributes_left_out` are the numbers of smaller slices, and of attributes with fewer mistakes,
    that were not searched.
    """

    slices: tuple[WeakSlice, ...]
    tested: int
    attributes: tuple[AttributeInSlice, ...] = ()
    attribute_tests: int = 0
    slices_left_out: int = 0
    attributes_left_out: int = 0


def find_weak_slices(
    cases: Iterable[SearchedCase], *, min_cases: int = MIN_CASES, alpha: float = ALPHA
) -> FoundSlices:
    """Test all slices by one key or two, and return the slices that are weaker than other cases.

    The test is Fisher's exact test, one-sided, of the share of cases whose F1 is below the F1 of
    all cases together. A slice by two keys must also be weaker than the other cases in both of its
    single slices. For every slice by one key and every attribute, the share of cases with mistakes
    in the attribute is tested in the same way.

    P-values are Holm-adjusted for all tests of a search, and doubled for the two searches, which
    holds for any dependence between the tests: if the values are unrelated to the scores, nothing
    is found with a probability of at least 1 - alpha.
    """
    gathered = _GatheredCases()
    for case in cases:
        gathered.add(case)
    number = len(gathered.f1)
    masks, left_out = gathered.single_slices(min_cases)
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
    mistakes = _AttributeMistakes(gathered.wrong, gathered.compared)
    attribute_p = mistakes.p_values(member, [[name, *masks[name][1]] for name in names], min_cases)
    searches = _SEARCHES if attribute_p else 1
    for (i, j), p_value in holm(p).items():
        adjusted = min(1.0, searches * p_value)
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
                attributes=mistakes.largest_drops(member[:, i] & member[:, j]),
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
    adjusted_p = {test: min(1.0, searches * each) for test, each in holm(attribute_p).items()}
    significant = {
        test: each for test, each in adjusted_p.items() if each <= alpha and attribute_p[test] < 1
    }
    attributes: list[AttributeInSlice] = []
    for index, column in mistakes.without_redundant(significant, attribute_p, member):
        alike = [names[index], *masks[names[index]][1]]
        finding = mistakes.in_slice(member[:, index], column, alike)
        test = index, column
        attributes.append(finding._replace(p=attribute_p[test], adjusted=significant[test]))
    attributes.sort(key=lambda finding: (sortable(-finding.excess), finding.attribute))
    return FoundSlices(
        slices=tuple(weak),
        tested=len(p),
        attributes=tuple(attributes),
        attribute_tests=len(attribute_p),
        slices_left_out=left_out,
        attributes_left_out=mistakes.left_out,
    )


_Test: TypeAlias = tuple[int, int]
"""The number of a slice and the number of an attribute."""


class _AttributeMistakes:
    """The cases with mistakes in each attribute, and the cases in which it was compared."""

    def __init__(self, wrong: Sequence[frozenset[str]], compared: Sequence[frozenset[str]]) -> None:
        times = Counter(path for paths in wrong for path in paths)
        self._paths = [path for path, _ in times.most_common(_MAX_ATTRIBUTES)]
        self.left_out = len(times) - len(self._paths)
        columns = {path: column for column, path in enumerate(self._paths)}
        shape = len(wrong), len(self._paths)
        self._wrong, self._compared = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        for row, paths in enumerate(wrong):
            self._wrong[row, [columns[path] for path in paths if path in columns]] = 1
            both = paths | compared[row]
            self._compared[row, [columns[path] for path in both if path in columns]] = 1
        self._sums = self._wrong.sum(axis=0)

    def largest_drops(self, mask: Flags) -> tuple[WeakAttribute, ...]:
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

    def p_values(
        self, member: Flags, conditions: Sequence[Sequence[Condition]], min_cases: int
    ) -> dict[_Test, float]:
        """Return the p-value of each test that can be significant; 1 if the drop is too small.

        A slice by the values of an attribute is not tested for this attribute. Tests whose smallest
        possible p-value is too large for their number are left out, as proposed by Tarone.
        """
        if not self._paths:
            return {}
        slices = np.ascontiguousarray(member.T, np.float32)
        cases, wrong = slices @ self._compared, slices @ self._wrong
        all_cases, all_wrong = self._compared.sum(axis=0), self._sums
        others = all_cases - cases
        tested = (cases >= min_cases) & (others >= min_cases)
        for row, own in enumerate(conditions):
            keys = {key for key, _ in own}
            for column, path in enumerate(self._paths):
                tested[row, column] &= keys != {path}
        rows, columns = np.nonzero(tested)
        size, total, marked = cases[tested], all_cases[columns], all_wrong[columns]
        smallest = hypergeometric_smallest(total, marked, size)
        testable = smallest <= _tarone_limit(smallest)
        with np.errstate(invalid="ignore"):
            drop = wrong[tested] / size - (marked - wrong[tested]) / (total - size)
        p = np.ones(len(size))
        large = testable & (drop >= _MIN_DROP)
        p[large] = hypergeometric_tails(
            wrong[tested][large], total[large], marked[large], size[large]
        )
        tests = zip(rows[testable].tolist(), columns[testable].tolist(), strict=True)
        return dict(zip(tests, p[testable].tolist(), strict=True))

    def without_redundant(
        self, tests: Mapping[_Test, float], p: Mapping[_Test, float], member: Flags
    ) -> Iterator[_Test]:
        """Yield tests, the smallest p-value first, without slices that earlier ones explain.

        The cases that a slice does not share with earlier slices of the attribute must still be
        worse than cases that are in none of them.
        """
        covered: dict[int, Flags] = {}
        excess = {test: -self.in_slice(member[:, test[0]], test[1], []).excess for test in tests}
        for row, column in sorted(tests, key=lambda test: (p[test], sortable(excess[test]), test)):
            mask = member[:, row]
            if column in covered:
                left = ~covered[column]
                rest = self.in_slice(mask[left], column, [], left)
                if not (rest.cases and rest.other_cases):
                    continue
                counts = rest.wrong, rest.cases + rest.other_cases, rest.wrong + rest.other_wrong
                least, total, marked = (np.array([float(count)]) for count in counts)
                size = np.array([float(rest.cases)])
                if hypergeometric_tails(least, total, marked, size)[0] > ALPHA:
                    continue
            covered[column] = mask | covered.get(column, np.zeros(len(mask), np.bool_))
            yield row, column

    def in_slice(
        self,
        mask: Flags,
        column: int,
        conditions: Sequence[Condition],
        among: Flags | slice = slice(None),
    ) -> AttributeInSlice:
        """Count the cases of a slice with mistakes in an attribute, `among` these cases."""
        wrong, compared = self._wrong[among, column], self._compared[among, column]
        inside, cases = int(wrong[mask].sum()), int(compared[mask].sum())
        path = self._paths[column]
        first, *same = [each for each in conditions if each[0] != path] or [("", "")]
        return AttributeInSlice(
            attribute=path,
            condition=first,
            cases=cases,
            wrong=inside,
            other_cases=int(compared.sum()) - cases,
            other_wrong=int(wrong.sum()) - inside,
            p=1.0,
            adjusted=1.0,
            same=tuple(same),
        )


def _tarone_limit(smallest: Floats, alpha: float = ALPHA) -> float:
    """Return a level that at most so many tests can reach as it is smaller than alpha."""
    ranked = np.sort(smallest)
    for tests in range(1, len(ranked) + 1):
        if np.searchsorted(ranked, alpha / tests, side="right") <= tests:
            return alpha / tests
    return alpha


def _drop(attribute: WeakAttribute) -> float:
    return attribute.wrong - attribute.others


class _GatheredCases:
    """The cases of a search by the keys and values of their slices."""

    def __init__(self) -> None:
        self.counts: list[tuple[int, int, int]] = []
        self.f1: list[float] = []
        self.wrong: list[frozenset[str]] = []
        self.compared: list[frozenset[str]] = []
        self._places: dict[str, dict[str, list[int]]] = {}

    def add(self, case: SearchedCase) -> None:
        """Add one case."""
        number = len(self.f1)
        self.counts.append((case.counts.tp, case.counts.fp, case.counts.fn))
        self.f1.append(case.f1)
        self.wrong.append(case.wrong)
        self.compared.append(case.compared)
        for key, texts in case.features.items():
            known = self._places.setdefault(key, {})
            for text in texts:
                known.setdefault(text, []).append(number)

    def single_slices(
        self, min_cases: int
    ) -> tuple[dict[Condition, tuple[Flags, list[Condition]]], int]:
        """Return the cases of each slice by one key, and other slices that have the same cases.

        The second result is the number of smaller slices that are left out.
        """
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
        return masks, max(0, len(candidates) - _MAX_SLICES)


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
