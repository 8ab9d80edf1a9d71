"""The mistakes of all cases for the page.

They are grouped by attribute and outcome, counted by expected and candidate value, drawn as a heat
map of attributes and cases, and listed with the slices of each case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.counts import ERROR_TABLE, MISTAKES, ErrorCounts, cost_table
from fieldmark.metrics.date_orders import DateOrders
from fieldmark.metrics.mistakes import CaseMistakes, MistakeClusters
from fieldmark.metrics.patterns import BY_NAME
from fieldmark.metrics.slices import SliceKey
from fieldmark.metrics.summary import Summary
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, FACTS, Fact, Outcome, Presence, fact_of
from fieldmark.model.outcomes import AttributeTable
from fieldmark.report.html.value_encoding import HIDDEN, encode_shortened, encode_value, truncate
from fieldmark.runs.case_result import CaseResult
from fieldmark.values.json_text import strict_json
from fieldmark.values.paths import resolve

# --- groups ---------------------------------------------------------------------------------------

_MAX_GROUPS: Final = 25
_MAX_EXAMPLES: Final = 8
_MAX_EXAMPLE_LENGTH: Final = 200
MISTAKES_AND_ERRORS: Final = MISTAKES | {Outcome.ERROR}
"""The outcomes that are listed."""
_MISTAKE_CODES: Final = frozenset(
    code for code in range(FACT_MASK + 1) if fact_of(code).outcome in MISTAKES_AND_ERRORS
)

_ERROR_CODES: Final = frozenset(
    code for code in _MISTAKE_CODES if fact_of(code).outcome is Outcome.ERROR
)
"""The outcomes of failed cases that are listed; their mistakes are in no metric."""


class _Group(NamedTuple):
    """The key of a group of mistakes."""

    attribute: str
    outcome: Outcome


class _Example(NamedTuple):
    """An example of a group: the rank of its case, the path, and both values."""

    rank: int
    path: str
    expected: JsonValue
    candidate: JsonValue


class MistakeGroups:
    """Counts mistakes and their reasons by group, with examples from the worst cases.

    The examples of the groups are of different cases, as far as possible.
    """

    def __init__(self) -> None:
        self._times: Counter[_Group] = Counter()
        self._cases: Counter[_Group] = Counter()
        self._reasons: dict[_Group, Counter[str]] = {}
        self._examples: dict[_Group, list[_Example]] = {}

    def add(self, case: CaseResult, times: Counter[int], rank: int | None) -> None:
        """Count the mistakes of one case; only listed cases provide examples."""
        table = case.attributes
        groups: Counter[_Group] = Counter()
        codes = _ERROR_CODES if case.stats.failed else _MISTAKE_CODES
        for cell, number in times.items():
            if cell & FACT_MASK in codes:
                groups[_Group(table.path(cell >> CELL_BITS), fact_of(cell).outcome)] += number
        if not groups:
            return
        self._times.update(groups)
        self._cases.update(groups.keys())
        for position, comparison in case.outcomes.comparisons.items():
            cell = case.outcomes.cells[position]
            if comparison.reason is not None and cell & FACT_MASK in codes:
                group = _Group(table.path(cell >> CELL_BITS), fact_of(cell).outcome)
                self._reasons.setdefault(group, Counter())[comparison.reason.value] += 1
        if rank is not None:
            self._add_examples(case, groups, rank)

    def _add_examples(self, case: CaseResult, groups: Counter[_Group], rank: int) -> None:
        wanted = {
            group
            for group in groups
            if len(known := self._examples.setdefault(group, [])) < _MAX_EXAMPLES
            or rank < known[-1].rank
        }
        for record in case.outcomes.records(case.attributes, _MISTAKE_CODES) if wanted else ():
            group = _Group(case.attributes.path(record.attribute), record.outcome)
            if group not in wanted:
                continue
            wanted.discard(group)
            sides = (
                (case.expected, record.path, record.expected_presence),
                (case.candidate, record.candidate_path, record.candidate_presence),
            )
            shown = (_encode_side(*side) if case.has_values else HIDDEN for side in sides)
            known = self._examples[group]
            known.append(_Example(rank, truncate(record.path, _MAX_EXAMPLE_LENGTH), *shown))
            known.sort(key=lambda example: example.rank)
            del known[_MAX_EXAMPLES:]
            if not wanted:
                return

    def view(self) -> list[JsonObject]:
        """Return the most frequent groups: reasons, mistakes, cases and an example each."""
        order = sorted(self._times, key=lambda group: (-self._times[group], group))
        used: set[int] = set()
        lines: list[JsonObject] = []
        for group in order[:_MAX_GROUPS]:
            examples = self._examples.get(group, [])
            example = next(
                (candidate for candidate in examples if candidate.rank not in used), None
            )
            example = example or (examples[0] if examples else None)
            if example is not None:
                used.add(example.rank)
            reasons = self._reasons.get(group, Counter()).most_common()
            lines.append(
                {
                    "attribute": group.attribute,
                    "outcome": group.outcome.label,
                    "reasons": [{"reason": name, "mistakes": times} for name, times in reasons],
                    "mistakes": self._times[group],
                    "cases": self._cases[group],
                    "example": None if example is None else dict(example._asdict()),
                }
            )
        return lines


def _encode_side(document: JsonValue | Missing, path: str, presence: Presence) -> JsonValue:
    """Encode one value of a mistake; the path of an absent item may belong to another item."""
    if presence is Presence.ABSENT or document is MISSING:
        return encode_value(MISSING)
    return encode_shortened(resolve(document, path), _MAX_EXAMPLE_LENGTH)


# --- values ---------------------------------------------------------------------------------------

ABSENT: Final = ""
"""The key of a value that is absent, null or blank; no JSON text is empty."""
_MAX_VALUES: Final = 12
"""The number of different values of one side, in all cases."""
_MAX_VALUE_LENGTH: Final = 60
_MAX_TABLES: Final = 12
_MIN_VALUES: Final = 2
"""The least number of expected values, and the number of fields that a value has on average."""
_COMPARED: Final = frozenset({Outcome.MATCH, *MISTAKES})
_COMPARED_CODES: Final = frozenset(
    code for code, fact in enumerate(FACTS) if fact.outcome in _COMPARED
)
_NO_KEY: Final = "?" * (_MAX_VALUE_LENGTH + 1)


def value_key(value: JsonValue | Missing, presence: str) -> str | None:
    """Return the JSON text of a short scalar, `ABSENT` for an empty value, or `None` for others."""
    if presence != "value" or value is MISSING:
        return ABSENT
    if isinstance(value, dict | list):
        return None
    text = strict_json(value).decode()
    return text if len(text) <= _MAX_VALUE_LENGTH else None


class _Pairs:
    """The pairs of values of one attribute: how often they occur and are mistakes, and where."""

    __slots__ = ("counts", "ranks", "wrong")

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.wrong: Counter[tuple[str, str]] = Counter()
        self.ranks: dict[tuple[str, str], set[int]] = {}

    def has_room(self, pair: tuple[str, str]) -> bool:
        """Whether neither side has too many different values with another pair."""
        return all(len(set(side)) <= _MAX_VALUES for side in zip(pair, *self.counts, strict=True))


def _pair_key(document: JsonValue | Missing, path: str, presence: Presence) -> str:
    """Return the key of a value; a value without one is longer than any key."""
    if presence is not Presence.VALUE or document is MISSING:
        return ABSENT
    key = value_key(resolve(document, path), "value")
    return _NO_KEY if key is None else key


class ValueTables:
    """Counts pairs of an expected and a found value, for attributes with few different values."""

    def __init__(self, attributes: Iterable[str]) -> None:
        self._pairs = {path: _Pairs() for path in attributes}

    def add(self, case: CaseResult, rank: int | None) -> None:
        """Count the values of one case with this rank in the list, or `None` if not listed."""
        if not case.has_values or not self._pairs or case.stats.failed:
            return
        path_of = case.attributes.path
        nested = False
        for cell in case.outcomes.cells:
            path = path_of(cell >> CELL_BITS)
            if path not in self._pairs:
                continue
            if "[]" in path:
                nested = True
            else:
                self._count(case, path, path, path, fact_of(cell), rank)
        for record in case.outcomes.records(case.attributes, _COMPARED_CODES) if nested else ():
            attribute = path_of(record.attribute)
            if "[]" in attribute and attribute in self._pairs:
                self._count(
                    case, attribute, record.path, record.candidate_path, Fact(*record[3:6]), rank
                )

    def _count(
        self,
        case: CaseResult,
        attribute: str,
        path: str,
        candidate_path: str,
        fact: Fact,
        rank: int | None,
    ) -> None:
        pairs = self._pairs.get(attribute)
        if pairs is None or fact.outcome not in _COMPARED:
            return
        pair = (
            _pair_key(case.expected, path, fact.expected),
            _pair_key(case.candidate, candidate_path, fact.candidate),
        )
        known = pairs.counts.get(pair)
        if known is None and (_NO_KEY in pair or not pairs.has_room(pair)):
            del self._pairs[attribute]
            return
        pairs.counts[pair] += 1
        if fact.outcome is not Outcome.MATCH:
            pairs.wrong[pair] += 1
            if rank is not None:
                pairs.ranks.setdefault(pair, set()).add(rank)

    def view(self) -> list[JsonObject]:
        """Return the tables with the most mistakes, each with its attribute and its cells.

        A cell has its number of fields and mistakes, and the ranks of the listed cases with these.
        """
        tables: list[tuple[int, str, list[JsonValue]]] = []
        for path, pairs in self._pairs.items():
            values = {expected for expected, _ in pairs.counts}
            if len(values) >= _MIN_VALUES and pairs.counts.total() > _MIN_VALUES * len(values):
                cells: list[JsonValue] = [
                    {
                        "expected": pair[0],
                        "found": pair[1],
                        "fields": number,
                        "mistakes": pairs.wrong[pair],
                        "ranks": list[JsonValue](sorted(pairs.ranks.get(pair, ()))),
                    }
                    for pair, number in sorted(pairs.counts.items())
                ]
                tables.append((pairs.wrong.total(), path, cells))
        tables.sort(key=lambda table: (-table[0], table[1]))
        return [
            {"attribute": path, "cells": cells}
            for wrong, path, cells in tables[:_MAX_TABLES]
            if wrong
        ]


# --- heat map -------------------------------------------------------------------------------------

ROWS: Final = 40
COLUMNS: Final = 120

_OUTCOMES: Final = (
    Outcome.MATCH,
    Outcome.WRONG_VALUE,
    Outcome.FORMAT_ERROR,
    Outcome.OMISSION,
    Outcome.HALLUCINATION,
    Outcome.ERROR,
)
_NOT_SHOWN: Final = -1
_OUTCOME_INDEXES: Final = tuple(
    _OUTCOMES.index(fact.outcome) if fact.outcome in _OUTCOMES else _NOT_SHOWN for fact in FACTS
)


class HeatMap:
    """Counts outcomes in a grid of limited size.

    A column is one case or several consecutive cases of the list. Cases that are not listed share
    the last column.
    """

    def __init__(self, attributes: Sequence[str], listed: int, total: int) -> None:
        self._attributes = list(attributes[:ROWS])
        self._row = {path: row for row, path in enumerate(self._attributes)}
        self._listed = listed
        self._columns = min(listed, COLUMNS)
        self._rest = total - listed
        width = self._columns + (self._rest > 0)
        self._cells = [[[0] * len(_OUTCOMES) for _ in range(width)] for _ in self._attributes]
        self._table: AttributeTable | None = None
        self._rows: list[int] = []

    def add(self, times: Counter[int], table: AttributeTable, rank: int | None) -> None:
        """Count the outcomes of one case with this rank in the list, or `None` if not listed."""
        if table is not self._table:
            self._table = table
            self._rows = [
                self._row.get(attribute.path, _NOT_SHOWN) for attribute in table.attributes
            ]
        column = self._columns if rank is None else rank * self._columns // self._listed
        rows, cells = self._rows, self._cells
        for cell, number in times.items():
            row, outcome = rows[cell >> CELL_BITS], _OUTCOME_INDEXES[cell & FACT_MASK]
            if row >= 0 <= outcome:
                cells[row][column][outcome] += number

    def _starts(self) -> list[int]:
        return [-(-column * self._listed // self._columns) for column in range(self._columns)]

    def single_cases(self) -> list[int]:
        """Return the ranks of the cases that have a column of their own."""
        starts = self._starts()
        ends = [*starts[1:], self._listed]
        return [start for start, end in zip(starts, ends, strict=True) if end - start == 1]

    def view(self) -> JsonObject:
        """Return the grid; `starts` has the first rank of each column, and empty cells are 0.

        Other cells are counts in the order of `outcomes`.
        """
        return {
            "outcomes": [outcome.label for outcome in _OUTCOMES],
            "attributes": list[JsonValue](self._attributes),
            "starts": list[JsonValue](self._starts()),
            "listed": self._listed,
            "rest": self._rest,
            "cells": [[_without_trailing_zeros(cell) for cell in row] for row in self._cells],
        }


def _without_trailing_zeros(counts: list[int]) -> JsonValue:
    last = max((length for length, number in enumerate(counts, 1) if number), default=0)
    return list[JsonValue](counts[:last]) or 0


# --- mistakes and slices of each listed case ------------------------------------------------------

_TYPE_NAMES: Final = (*ErrorCounts._fields, Outcome.ERROR.label)
_TYPES: Final = {Outcome[name.upper()]: number for number, name in enumerate(_TYPE_NAMES)}
"""The number of each type of mistake."""
_PATTERNS: Final = ("", *BY_NAME)


def types_by_count(convention: Convention) -> JsonObject:
    """Return the types of mistakes that count as false positives and as false negatives."""
    costs = cost_table(convention.counting)
    types_by_cost: dict[str, set[str]] = {"fp": set(), "fn": set()}
    for code, cost in enumerate(costs):
        if any(ERROR_TABLE[code]):
            for name, types in types_by_cost.items():
                if getattr(cost, name):
                    types.add(fact_of(code).outcome.label)
    return {name: list[JsonValue](sorted(types)) for name, types in types_by_cost.items()}


class CaseFacts:
    """Collects the mistakes and slices of listed cases, and groups all mistakes by pattern."""

    def __init__(
        self, attributes: Sequence[str], by: Sequence[SliceKey], orders: DateOrders
    ) -> None:
        self._numbers = {path: number for number, path in enumerate(attributes)}
        self._by = by
        self._slices: dict[str, int] = {}
        self._mistakes: dict[int, list[int]] = {}
        self._in_slices: dict[int, list[int]] = {}
        self.clusters = MistakeClusters(orders)

    def add(
        self, case: CaseResult, mistakes: CaseMistakes, times: Counter[int], rank: int | None
    ) -> None:
        """Add one case with this rank in the list, or `None` if it is not listed."""
        # Failed cases are listed, but their mistakes are in no metric and no group.
        clusters = MistakeClusters() if case.stats.failed else self.clusters
        patterns = clusters.add(mistakes)
        if rank is None:
            return
        codes = {self._code(path, _TYPES[outcome], pattern) for path, outcome, pattern in patterns}
        for cell in times:
            if fact_of(cell).outcome is Outcome.ERROR:
                attribute = case.attributes.path(cell >> CELL_BITS)
                codes.add(self._code(attribute, _TYPES[Outcome.ERROR], ""))
        if codes:
            self._mistakes[rank] = sorted(codes)
        names = [name for key in self._by for name in key.names(case.case)]
        if names:
            self._in_slices[rank] = [
                self._slices.setdefault(name, len(self._slices)) for name in names
            ]

    def _code(self, attribute: str, kind: int, pattern: str) -> int:
        number = self._numbers[attribute] * len(_TYPE_NAMES) + kind
        return number * len(_PATTERNS) + _PATTERNS.index(pattern)

    def view(self, listed: int) -> JsonObject:
        """Return the facts of all listed cases by rank.

        A mistake is one number: (attribute * number of types + type) * number of patterns +
        pattern.
        """
        ranks = range(listed)
        mistakes: list[JsonValue] = [
            list[JsonValue](self._mistakes.get(rank, ())) for rank in ranks
        ]
        slices: list[JsonValue] = [list[JsonValue](self._in_slices.get(rank, ())) for rank in ranks]
        return {
            "types": list(_TYPE_NAMES),
            "patterns": list(_PATTERNS),
            "mistakes": mistakes,
            "slices": list(self._slices),
            "in_slices": slices if self._slices else [],
        }


def most_mistakes_first(summary: Summary) -> list[str]:
    """Return the attributes with mistakes, most mistakes first."""
    counts = {path: metrics.errors_by_type.total for path, metrics in summary.attributes.items()}
    return sorted(filter(counts.get, counts), key=lambda path: -counts[path])
