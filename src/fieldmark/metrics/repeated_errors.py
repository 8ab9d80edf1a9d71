"""Errors that many values of a case or of an attribute have in common.

A single number that is wrong by a factor of 100 may have any cause. If most wrong numbers are wrong
by the same factor, a decimal point was lost. The same holds for dates whose day and month are
swapped, and for values that are in the column of another field.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from itertools import islice
from typing import Final, NamedTuple, TypeAlias, TypeGuard

from fieldmark.align.nearest import nearest_counterparts
from fieldmark.metrics.case_score import count_cells
from fieldmark.metrics.date_orders import DateOrders
from fieldmark.metrics.list_patterns import is_box_name
from fieldmark.metrics.mistakes import CaseMistakes, MistakePlace, MistakeReader
from fieldmark.metrics.patterns import is_date_swapped, scale_factor
from fieldmark.model.case import Case
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.outcome import CELL_BITS, Presence, fact_of
from fieldmark.model.outcomes import AttributeTable, Outcomes
from fieldmark.values.equality import equal
from fieldmark.values.paths import field_value, leaves, resolve

_INDEX: Final = re.compile(r"\[[0-9]+\]")
_IN_CASE, _IN_RUN = 2, 3
"""The smallest number of values that have an error in common, in a case and in a run."""
_MIN_SHARE: Final = 0.5
"""The smallest share of the wrong values of an attribute that have the error."""
_MAX_MISTAKES: Final = 2_000
"""The number of mistakes of one case that are examined."""
_MAX_LEFTOVERS: Final = 50
"""The number of unaligned items of a list that are examined in one case."""
_MAX_FIELDS: Final = 200
"""The number of wrong fields of one object that are compared with each other."""
_VALUE: Final = Presence.VALUE
_SCALARS: Final = (str, int, float)
_CELLS_BATCH: Final = 1 << 16
"""The number of cells that are counted together."""


class RepeatedKind(StrEnum):
    """The property that the values have in common."""

    SCALE = "scale"
    DATE_SWAPPED = "date_swapped"
    EXCHANGED = "exchanged"
    MOVED = "moved"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedError:
    """One error that several values have in common.

    `values` is the number of these values, `wrong` the number of all wrong values of the
    attributes, and `compared` the number of all their values on both sides. `factor` is the power
    of ten of a lost decimal point.
    """

    kind: RepeatedKind
    attributes: tuple[str, ...]
    values: int
    wrong: int
    compared: int
    factor: Decimal | None = None


_Pair: TypeAlias = tuple[str, str, JsonValue | Missing, JsonValue | Missing]
"""The attribute and path of a mistake and its values; a side without a value is `MISSING`."""


class _Finding(NamedTuple):
    kind: RepeatedKind
    attributes: tuple[str, ...]
    factor: Decimal | None = None


@dataclass(slots=True)
class _ErrorCounts:
    """How often each error occurs, and how many values are wrong and were compared by attribute."""

    times: Counter[_Finding] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)

    def count(self, cells: Mapping[int, int], table: AttributeTable) -> None:
        """Count the fields that have a value on both sides."""
        for cell, times in cells.items():
            fact = fact_of(cell)
            if fact.expected is _VALUE is fact.candidate:
                self.compared[table.path(cell >> CELL_BITS)] += times

    def errors(self, at_least: int) -> Iterator[RepeatedError]:
        """Yield what enough values, and most of the wrong ones, have in common."""
        for finding, values in self.times.items():
            # A moved value is an error of the field that it is in now.
            attribute = finding.attributes[0]
            wrong, compared = self.wrong[attribute], self.compared[attribute]
            if values >= at_least and values >= _MIN_SHARE * wrong:
                yield RepeatedError(
                    kind=finding.kind,
                    attributes=finding.attributes,
                    values=values,
                    wrong=wrong,
                    compared=max(compared, values),
                    factor=finding.factor,
                )


class RepeatedErrors:
    """Collects the errors that values of the same attribute have in common in a run."""

    __slots__ = ("_cells", "_counts", "_orders", "_reader", "_table")

    def __init__(self, orders: DateOrders | None = None) -> None:
        self._orders = orders
        self._table: AttributeTable | None = None
        self._counts = _ErrorCounts()
        self._cells: list[int] = []
        self._reader = MistakeReader()

    def add(self, outcomes: Outcomes, table: AttributeTable, case: Case) -> None:
        """Add a case whose documents are available; usually, all cases have the same table."""
        self._hold(outcomes, table)
        places = self._reader.places(outcomes, table)
        if _may_repeat(places):
            read = CaseMistakes(places, outcomes, table, case, has_values=True)
            _find(read, self._counts, self._orders)

    def add_mistakes(self, read: CaseMistakes) -> None:
        """Add a case as `add` does, if its mistakes were already read."""
        self._hold(read.outcomes, read.table)
        _find(read, self._counts, self._orders)

    def errors(self) -> tuple[RepeatedError, ...]:
        """Return the errors, with the most frequent error first."""
        self._count()
        return _sorted(self._counts.errors(_IN_RUN))

    def not_in(self, other: RepeatedErrors) -> tuple[RepeatedError, ...]:
        """Return the errors that another run does not repeat, most frequent first."""
        others = other._counts.times
        errors = []
        for error in self.errors():
            times = others[_Finding(error.kind, error.attributes, error.factor)]
            # A few values more than before are no other error.
            if times < _IN_RUN and 2 * times <= error.values:
                errors.append(error)
        return tuple(errors)

    def _hold(self, outcomes: Outcomes, table: AttributeTable) -> None:
        if table is not self._table or len(self._cells) >= _CELLS_BATCH:
            self._count()
            self._table = table
        self._cells += outcomes.cells

    def _count(self) -> None:
        if self._table is not None:
            self._counts.count(count_cells(self._cells), self._table)
            self._cells.clear()


def repeated_in_case(read: CaseMistakes) -> tuple[RepeatedError, ...]:
    """Return the errors that values of one case have in common.

    All numbers that are wrong by the same factor are one error.
    """
    counts = _ErrorCounts()
    counts.count(count_cells(read.outcomes.cells), read.table)
    _find(read, counts)
    errors: list[RepeatedError] = []
    scaled: dict[Decimal | None, list[RepeatedError]] = {}
    for error in counts.errors(1):
        if error.kind is RepeatedKind.SCALE:
            scaled.setdefault(error.factor, []).append(error)
        elif error.values >= _IN_CASE:
            errors.append(error)
    for factor, same in scaled.items():
        if (values := sum(error.values for error in same)) >= _IN_CASE:
            names = [name for error in same for name in error.attributes]
            wrong, compared = (
                sum(getattr(error, name) for error in same) for name in ("wrong", "compared")
            )
            errors.append(
                RepeatedError(
                    kind=RepeatedKind.SCALE,
                    attributes=tuple(sorted(names)),
                    values=values,
                    wrong=wrong,
                    compared=compared,
                    factor=factor,
                )
            )
    return _sorted(errors)


def _sorted(errors: Iterator[RepeatedError] | Sequence[RepeatedError]) -> tuple[RepeatedError, ...]:
    """Return the errors of most values first; two exchanged columns say all about their values."""
    listed = sorted(errors, key=lambda error: (-error.values, error.kind, error.attributes))
    exchanged = {error.attributes for error in listed if error.kind is RepeatedKind.EXCHANGED}
    return tuple(
        error
        for error in listed
        if error.kind is not RepeatedKind.MOVED or tuple(sorted(error.attributes)) not in exchanged
    )


def _find(read: CaseMistakes, counts: _ErrorCounts, orders: DateOrders | None = None) -> None:
    """Add the findings of a case."""
    places = read.places
    if not _may_repeat(places) or not read.has_documents:
        return
    truth, answer = read.documents
    pairs: list[_Pair] = []
    for record, attribute, lone in islice(places, _MAX_MISTAKES):
        if lone:
            continue
        expected: JsonValue | Missing = MISSING
        candidate: JsonValue | Missing = MISSING
        if record.expected_presence is _VALUE:
            expected = field_value(truth, record.path, _VALUE)
        if record.candidate_presence is _VALUE:
            candidate = field_value(answer, record.candidate_path, _VALUE)
        pairs.append((attribute, record.path, expected, candidate))
    if len(pairs) < len(places):
        pairs += _leftovers(read, counts.compared)
    for attribute, _, expected, candidate in pairs:
        if expected is MISSING or candidate is MISSING or is_box_name(attribute):
            continue
        counts.wrong[attribute] += 1
        if (factor := scale_factor(expected, candidate)) is not None:
            counts.times[_Finding(RepeatedKind.SCALE, (attribute,), factor)] += 1
        elif is_date_swapped(expected, candidate) and (
            orders is None or is_date_swapped(expected, candidate, orders.of(attribute))
        ):
            counts.times[_Finding(RepeatedKind.DATE_SWAPPED, (attribute,))] += 1
    owned = {expected for _, _, expected, _ in pairs if _is_scalar(expected)}
    if any(_is_scalar(candidate) and candidate in owned for _, _, _, candidate in pairs):
        by_object: dict[str, list[_Pair]] = {}
        for pair in pairs:
            by_object.setdefault(_object_of(pair[1]), []).append(pair)
        for members in by_object.values():
            if len(members) > 1:
                counts.times.update(_moved(members[:_MAX_FIELDS]))


def _may_repeat(places: Sequence[MistakePlace]) -> bool:
    """Return whether these mistakes may be errors of a kind that is repeated."""
    if len(places) == 1:
        record = places[0].record
        return record.expected_presence is _VALUE is record.candidate_presence
    # Otherwise, fields are missing, and nothing else is wrong.
    return any(lone or record.candidate_presence is _VALUE for record, _, lone in places)


def _moved(members: Sequence[_Pair]) -> Iterator[_Finding]:
    """Yield the fields of one object that contain the value of another one of its fields."""
    moved = [(name, candidate) for name, _, _, candidate in members if _is_scalar(candidate)]
    owned = [(name, expected) for name, _, expected, _ in members if _is_scalar(expected)]
    sources = {
        (name, other)
        for name, candidate in moved
        for other, expected in owned
        if name != other and candidate == expected and equal(candidate, expected)
    }
    for name, other in sources:
        yield _Finding(RepeatedKind.MOVED, (name, other))
        if name < other and (other, name) in sources:
            yield _Finding(RepeatedKind.EXCHANGED, (name, other))


def _is_scalar(value: JsonValue | Missing) -> TypeGuard[str | float]:
    return isinstance(value, _SCALARS)


def _object_of(path: str) -> str:
    """Return the path of the object that has a field, or the path of an item of a list.

    >>> [_object_of(path) for path in ("a", "a.b", 'a[0]["x.y"]', "a[0].b", "a[0]")]
    ['', 'a', 'a[0]', 'a[0]', 'a[0]']
    """
    if path.endswith('"]'):
        return path[: path.rindex('["')]  # quotes in a key are escaped
    if path.endswith("]"):
        return path
    end = max(path.rfind("."), path.rfind("]") + 1, 0)
    return path[:end]


def _leftovers(read: CaseMistakes, compared: Counter[str]) -> Iterator[_Pair]:
    """Yield the different values of items without a counterpart and their nearest items.

    All values on both sides are counted in `compared`.
    """
    missing: dict[str, dict[int, JsonValue]] = {}
    extra: dict[str, dict[int, JsonValue]] = {}
    truth, answer = read.documents
    for _, attribute, expected_index, candidate_index, _ in read.outcomes.items:
        is_missing = candidate_index is None
        if attribute.count("[]") > 1 or (expected_index is None) == is_missing:
            continue
        document, index = (truth, expected_index) if is_missing else (answer, candidate_index)
        if isinstance(index, int) and not isinstance(document, Missing):
            value = resolve(document, f"{attribute[:-2]}[{index}]")
            if not isinstance(value, Missing):
                (missing if is_missing else extra).setdefault(attribute, {})[index] = value
    for attribute, expected_items in missing.items():
        candidate_items = extra.get(attribute, {})
        if not candidate_items or max(len(expected_items), len(candidate_items)) > _MAX_LEFTOVERS:
            continue
        for index, (nearest, _) in nearest_counterparts(expected_items, candidate_items).items():
            parent = f"{attribute[:-2]}[{index}]"
            expected = dict(leaves(expected_items[index], parent))
            candidate = dict(leaves(candidate_items[nearest], parent))
            for path in dict.fromkeys((*expected, *candidate)):
                name = attribute + _INDEX.sub("[]", path[len(parent) :])
                expected_value = expected.get(path, MISSING)
                candidate_value = candidate.get(path, MISSING)
                if isinstance(expected_value, Missing) or isinstance(candidate_value, Missing):
                    yield name, path, expected_value, candidate_value
                    continue
                compared[name] += 1
                if not equal(expected_value, candidate_value):
                    yield name, path, expected_value, candidate_value
