"""The details of code judges over all cases: confusion counts and numbers by path."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar, cast

from fieldmark.metrics.rates import ExactSum, Rates, rates
from fieldmark.model.counts import Counts
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.paths import join

CONFUSION: Final = "confusion"
NUMBERS: Final = "numbers"
TRUNCATED: Final = "truncated"
NO_DETAILS: Final[JsonObject] = {CONFUSION: {}, NUMBERS: {}}
"""The metrics of a judge without details; the names in them depend on the data."""
MAX_PATHS: Final = 100
"""The maximum number of paths with confusion counts, and with numbers."""
_MAX_PATH_LENGTH: Final = 200
_MAX_COUNT: Final = 1 << 53
_REQUIRED_COUNTS: Final = frozenset({"tp", "fp", "fn"})
_PREDICTED: Final = frozenset(Counts._fields + Rates._fields)
"""The keys of an object with confusion counts that are counted or computed from the counts."""

_Keys: TypeAlias = tuple[str, ...]
_Sum = TypeVar("_Sum", Counts, ExactSum)


class _SumsByPath(Generic[_Sum]):
    """Sums by path, of the first paths in the order of their keys.

    The first paths of all cases are among the first paths of every part of them, so that their
    sums do not depend on the parts.
    """

    __slots__ = ("_sums", "truncated")

    def __init__(self) -> None:
        self._sums: dict[_Keys, _Sum] = {}
        self.truncated = False

    def add(self, keys: _Keys, value: _Sum) -> None:
        known = self._sums.get(keys)
        self._sums[keys] = value if known is None else known + value
        if len(self._sums) > 2 * MAX_PATHS:
            self._truncate()

    def merge(self, other: _SumsByPath[_Sum]) -> None:
        for keys, value in other._sums.items():
            self.add(keys, value)
        self.truncated |= other.truncated

    def by_name(self) -> Iterator[tuple[str, _Sum]]:
        """Yield the sums by path; keys are quoted only if two paths would look the same."""
        self._truncate()
        names = Counter(map(".".join, self._sums))
        for keys, value in self._sums.items():
            name = ".".join(keys)
            if names[name] > 1:
                name = ""
                for key in keys:
                    name = join(name, key)
            yield name or "$", value

    def _truncate(self) -> None:
        self.truncated |= len(self._sums) > MAX_PATHS
        self._sums = dict(sorted(self._sums.items())[:MAX_PATHS])


class JudgeDetails:
    """The sums of the details of a judge; sums of parts of a run merge into the sums of the whole.

    An object with the counts tp, fp, fn and usually tn is a row of a confusion table. All other
    numbers are summed by the keys of the objects that contain them; lists are not.
    """

    __slots__ = ("_counts", "_has_long_paths", "_numbers")

    def __init__(self) -> None:
        self._counts = _SumsByPath[Counts]()
        self._numbers = _SumsByPath[ExactSum]()
        self._has_long_paths = False

    def add(self, details: JsonObject, keys: _Keys = ()) -> None:
        """Add the details of one case, which are below `keys`."""
        if sum(map(len, keys)) + len(keys) > _MAX_PATH_LENGTH:
            self._has_long_paths = True
            return
        counts = _confusion(details)
        if counts is not None:
            self._counts.add(keys, counts)
        for key, value in details.items():
            if counts is not None and key in _PREDICTED:
                continue
            if isinstance(value, dict):
                self.add(value, (*keys, key))
            elif (number := _number(value)) is not None:
                self._numbers.add((*keys, key), ExactSum.of([(number, 1)]))

    def merge(self, other: JudgeDetails) -> None:
        """Add the sums of another part of the run."""
        self._counts.merge(other._counts)
        self._numbers.merge(other._numbers)
        self._has_long_paths |= other._has_long_paths

    def metrics(self) -> JsonObject:
        """Return the counts and rates, and the means and sums, by path; empty without details.

        >>> details = JudgeDetails()
        >>> details.add({"total": {"tp": 1, "fp": 0, "fn": 1}, "gap": 2})
        >>> details.metrics()["confusion"]["total"]["recall"], details.metrics()["numbers"]["gap"]
        (0.5, {'cases': 1, 'mean': 2.0, 'sum': 2.0})
        """
        confusion: JsonObject = {
            path: {**counts._asdict(), **rates(counts)._asdict()}
            for path, counts in self._counts.by_name()
        }
        numbers: JsonObject = {
            path: {"cases": total.number, "mean": total.mean, "sum": total.sum}
            for path, total in self._numbers.by_name()
        }
        if not confusion and not numbers and not self._has_long_paths:
            return {}
        truncated = self._has_long_paths or self._counts.truncated or self._numbers.truncated
        return {CONFUSION: confusion, NUMBERS: numbers, **({TRUNCATED: True} if truncated else {})}


def _confusion(details: JsonObject) -> Counts | None:
    """Return the confusion counts in an object, if it has some."""
    if not details.keys() >= _REQUIRED_COUNTS:
        return None
    counts = [_number(details.get(name, 0)) for name in Counts._fields]
    whole = [int(n) for n in counts if n is not None and 0 <= n <= _MAX_COUNT and n == int(n)]
    return Counts(*whole) if len(whole) == len(counts) else None


def _number(value: JsonValue) -> float | None:
    """Return a number that a float can represent, or `None` for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) <= sys.float_info.max else None


class ConfusionRow(NamedTuple):
    """The confusion counts and rates of a path in the details of a judge."""

    path: str
    tp: int
    tn: int
    fp: int
    fn: int
    precision: float | None
    recall: float | None
    f1: float | None


class NumberRow(NamedTuple):
    """The mean and the sum of a number in the details of a judge.

    The sum is undefined if it exceeds all floats.
    """

    path: str
    cases: int
    mean: float
    sum: float | None


def confusion_rows(metrics: JsonObject) -> list[ConfusionRow]:
    """Return the rows of the confusion table in the metrics of a judge."""
    return _rows(metrics, CONFUSION, ConfusionRow)


def number_rows(metrics: JsonObject) -> list[NumberRow]:
    """Return the numbers in the metrics of a judge."""
    return _rows(metrics, NUMBERS, NumberRow)


_Row = TypeVar("_Row", ConfusionRow, NumberRow)


def _rows(metrics: JsonObject, key: str, record: type[_Row]) -> list[_Row]:
    rows = cast("dict[str, JsonObject]", metrics.get(key, {}))
    return [record(**{**row, "path": path}) for path, row in rows.items()]  # type: ignore[arg-type]
