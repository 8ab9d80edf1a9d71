"""The mistakes of cases with their values, and grouped by pattern with a few examples of each."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from fieldmark.metrics.counts import MISTAKES
from fieldmark.metrics.date_orders import DateOrders
from fieldmark.metrics.list_patterns import ListPattern, list_patterns
from fieldmark.metrics.patterns import BY_NAME, Pattern, pattern_of
from fieldmark.model.case import Case, CaseInput, UnparsedDocuments
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.kernel import parsed
from fieldmark.model.outcome import FACT_MASK, FACTS, Outcome, Presence
from fieldmark.model.outcomes import AttributeTable, FieldOutcome, Outcomes
from fieldmark.values.equality import scalars
from fieldmark.values.paths import field_value, leaves

_FACTS: Final = frozenset(code for code, fact in enumerate(FACTS) if fact.outcome in MISTAKES)
_MAX_KNOWN: Final = 8_192


class Mistake(NamedTuple):
    """A mistake and its values; `MISSING` if a side has none or the documents were not saved.

    It is `lone` if its list item has no counterpart.
    """

    record: FieldOutcome
    attribute: str
    lone: bool
    expected: JsonValue | Missing
    candidate: JsonValue | Missing


class MistakePlace(NamedTuple):
    """A mistake without its values."""

    record: FieldOutcome
    attribute: str
    lone: bool


class CaseMistakes:
    """The mistakes of one case; its documents are parsed when they are needed."""

    __slots__ = ("_documents", "_mistakes", "_parsed", "case", "outcomes", "places", "table")

    def __init__(
        self,
        places: Sequence[MistakePlace],
        outcomes: Outcomes,
        table: AttributeTable,
        case: Case,
        *,
        has_values: bool,
    ) -> None:
        self.places = places
        self.outcomes = outcomes
        self.table = table
        self.case = case
        self._documents: UnparsedDocuments | None = None
        if has_values:
            self._documents = case.unparsed or (case.expected, case.candidate)
        self._parsed: tuple[JsonValue | Missing, JsonValue | Missing] | None = None
        self._mistakes: list[Mistake] | None = None

    @property
    def has_documents(self) -> bool:
        """Whether both documents exist and were saved."""
        return self._documents is not None and self._documents[1] is not MISSING

    @property
    def documents(self) -> tuple[JsonValue | Missing, JsonValue | Missing]:
        """The ground truth and the prediction; `MISSING` if they were not saved."""
        if self._parsed is None:
            expected, candidate = self._documents or (MISSING, MISSING)
            self._parsed = parsed(expected), parsed(candidate)
        return self._parsed

    @property
    def mistakes(self) -> list[Mistake]:
        """The mistakes with their values."""
        if self._mistakes is None:
            truth, answer = self.documents
            self._mistakes = [
                Mistake(
                    record,
                    attribute,
                    lone,
                    field_value(truth, record.path, record.expected_presence),
                    field_value(answer, record.candidate_path, record.candidate_presence),
                )
                for record, attribute, lone in self.places
            ]
        return self._mistakes


class MistakeReader:
    """Finds the mistakes of cases.

    Cases of saved runs share their outcomes, so their places are kept, together with the outcomes,
    so that no others have the same identity.
    """

    __slots__ = ("_known", "_table")

    def __init__(self) -> None:
        self._known: dict[int, tuple[Outcomes, list[MistakePlace]]] = {}
        self._table: AttributeTable | None = None

    def places(self, outcomes: Outcomes, table: AttributeTable) -> Sequence[MistakePlace]:
        """Return the mistakes of a case without their values."""
        if table is not self._table:
            self._known.clear()
            self._table = table
        known = self._known.get(id(outcomes))
        if known is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            known = self._known[id(outcomes)] = outcomes, list(_places(outcomes, table))
        return known[1]

    def read(
        self, outcomes: Outcomes, table: AttributeTable, case: Case, *, has_values: bool = True
    ) -> CaseMistakes:
        """Return the mistakes of a case; `has_values` says whether its documents were saved."""
        places = self.places(outcomes, table)
        return CaseMistakes(places, outcomes, table, case, has_values=has_values)


def _places(outcomes: Outcomes, table: AttributeTable) -> Iterator[MistakePlace]:
    """Yield every mistake, its attribute, and whether its list item exists on one side only."""
    positions = [
        position for position, cell in enumerate(outcomes.cells) if cell & FACT_MASK in _FACTS
    ]
    if not positions:
        return
    marks = iter(outcomes.items)
    upcoming = next(marks, None)
    lone: dict[str, bool] = {}
    for position, record in zip(positions, outcomes.records(table, _FACTS), strict=True):
        while upcoming is not None and upcoming[0] <= position:
            _, attribute, expected, candidate, _ = upcoming
            lone[attribute] = expected is None or candidate is None
            upcoming = next(marks, None)
        path = table.path(record.attribute)
        alone = any(alone and path.startswith(name) for name, alone in lone.items())
        yield MistakePlace(record, path, alone)


_EXAMPLES: Final = 3
_UNREAD: Final = {CaseInput.MISSING: "no_candidate", CaseInput.PARSE_ERROR: "parse_error"}
_EMPTY: Final = {Presence.NULL: "null_value", Presence.BLANK: "blank_value"}
_VAGUE: Final = frozenset({"different", "one_digit", "date_part", "extra_key", "extra_value"})
"""Patterns that say less than that the value belongs to another field."""
_WRITTEN_DATES: Final = frozenset({"date_swapped", "date_order", "date_format", "date_part"})
"""Patterns that depend on the order in which the dates of an attribute are written."""
_NO_PATTERN: Final = "different"
_NOT_STORED: Final = ""
"""The pattern of a wrong value if the documents were not saved."""
_INDEX: Final = re.compile(r"\[[0-9]+\]")
_DISTINCTIVE: Final = 3
"""The shortest value that is unlikely to occur in another field by coincidence."""
_SCALARS: Final = (str, int, float)
_DEFAULT_COMPARATORS: Final = frozenset({"exact", "exact_text"})
"""Comparators that another rule can replace without losing its options."""
_TRIED: Final = -1
"""The key of the number of all mistakes, among the numbers of rules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MistakeExample:
    """One mistake: its path, the expected value and the candidate."""

    case_id: str
    path: str
    expected: JsonValue | Missing
    candidate: JsonValue | Missing
    note: str = ""


class ProposedRule(NamedTuple):
    """A rule that accepts so many mistakes of a cluster, or pairs their list items differently."""

    rule: JsonObject
    mistakes: int


@dataclass(slots=True)
class MistakeCluster:
    """Mistakes with the same pattern: their number by attribute, and the first of them.

    `accepted` counts, by path, the mistakes that each rule of the pattern accepts.
    """

    pattern: Pattern
    number: int = 0
    attributes: Counter[str] = field(default_factory=Counter)
    examples: list[MistakeExample] = field(default_factory=list)
    is_complete: bool = False
    accepted: dict[str, Counter[int]] = field(default_factory=dict)

    @property
    def rules(self) -> list[ProposedRule]:
        """The rule for each path that accepts the most mistakes: at least two, and half of them."""
        proposed: list[ProposedRule] = []
        for path, accepted in self.accepted.items():
            tried = accepted[_TRIED]
            number, times = max(
                ((number, times) for number, times in accepted.items() if number != _TRIED),
                key=lambda item: (item[1], -item[0]),
                default=(0, 0),
            )
            if times > 1 and 2 * times >= tried:
                keys = self.pattern.list_rule or self.pattern.rules[number].to_dict()
                proposed.append(ProposedRule({"path": path, **keys}, times))
        return sorted(proposed, key=lambda rule: -rule.mistakes)

    def add_rules(
        self,
        attribute: str,
        comparator: str,
        expected: JsonValue | Missing,
        candidate: JsonValue | Missing,
    ) -> None:
        """Count the rules that accept a mistake, unless another comparator was chosen for it."""
        rules = self.pattern.rules
        if not attribute or not (rules or self.pattern.list_rule):
            return
        if rules and comparator not in {*_DEFAULT_COMPARATORS, *(rule.replaces for rule in rules)}:
            return
        accepted = self.accepted.setdefault(attribute, Counter())
        accepted[_TRIED] += 1
        if self.pattern.list_rule:
            accepted[0] += 1
        elif expected is not MISSING and candidate is not MISSING:
            for number, rule in enumerate(rules):
                accepted[number] += rule.accepts(expected, candidate)

    def wants_example(self, case_id: str) -> bool:
        """Return whether an example of a case is wanted; it may replace one of another case."""
        if self.is_complete:
            return False
        if len(self.examples) < _EXAMPLES:
            return True
        ids = [example.case_id for example in self.examples]
        self.is_complete = len(set(ids)) == len(ids)
        if self.is_complete or case_id in ids:
            return False
        del self.examples[
            next(index for index, case_id in enumerate(ids) if case_id in ids[:index])
        ]
        return True


class FoundMistake(NamedTuple):
    """One mistake of a case; the pattern is empty if it needs documents that were not saved."""

    attribute: str
    outcome: Outcome
    pattern: str


class MistakeClusters:
    """Groups the mistakes of cases by pattern; `orders` are the orders of dates in all cases.

    The examples of a group are of different cases, if it has enough cases.
    """

    __slots__ = ("_clusters", "_orders", "by_attribute")

    def __init__(self, orders: DateOrders | None = None) -> None:
        self._orders = orders
        self._clusters: dict[str, MistakeCluster] = {}
        self.by_attribute: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add(self, read: CaseMistakes) -> list[FoundMistake]:
        """Add and return the mistakes of one case."""
        mistakes: list[FoundMistake] = []
        if not read.places:
            return mistakes
        in_lists = list_patterns(read)
        sources = _Sources(read.documents[0])
        case = read.case
        for position, mistake in enumerate(read.mistakes):
            record, attribute, _, expected, candidate = mistake
            in_list = in_lists.get(position)
            name, note = _pattern(mistake, case.input, in_list, sources, self._orders)
            mistakes.append(FoundMistake(attribute, record.outcome, name))
            if name == _NOT_STORED:
                continue
            cluster = self._clusters.get(name)
            if cluster is None:
                cluster = self._clusters[name] = MistakeCluster(BY_NAME[name])
            cluster.number += 1
            cluster.attributes[attribute] += 1
            self.by_attribute[attribute][name] += 1
            comparator = read.table.attributes[record.attribute].comparator
            if in_list is not None:
                cluster.add_rules(in_list.attribute, comparator, *in_list[2:])
            else:
                cluster.add_rules(attribute, comparator, expected, candidate)
            if cluster.wants_example(case.id):
                path = record.path
                if in_list is not None and in_list.expected is not MISSING:
                    # A box as a whole says more than one of its numbers.
                    expected, candidate = in_list.expected, in_list.candidate
                    path = path[: path.rindex("[")] if attribute.endswith("[]") else path
                cluster.examples.append(
                    MistakeExample(
                        case_id=case.id,
                        path=path,
                        expected=expected,
                        candidate=candidate,
                        note=note,
                    )
                )
        return mistakes

    def largest(self) -> list[MistakeCluster]:
        """Return all clusters, largest first; clusters without a pattern come last."""
        return sorted(
            self._clusters.values(),
            key=lambda cluster: (
                cluster.pattern.name == _NO_PATTERN,
                -cluster.number,
                cluster.pattern.name,
            ),
        )


def _pattern(
    mistake: Mistake,
    read: CaseInput,
    in_list: ListPattern | None,
    sources: _Sources,
    orders: DateOrders | None,
) -> tuple[str, str]:
    """Return the name of the pattern, and the path of the field that the value belongs to."""
    record, attribute, lone, expected, candidate = mistake
    outcome = record.outcome
    if read in _UNREAD:
        return _UNREAD[read], ""
    if in_list is not None:
        return in_list.name, ""
    if outcome is Outcome.OMISSION:
        empty = _EMPTY.get(record.candidate_presence, "missing_key")
        return "missing_item" if lone else empty, ""
    if outcome is Outcome.HALLUCINATION and lone:
        return "extra_item", ""
    if outcome is Outcome.HALLUCINATION:
        absent = record.expected_presence is Presence.ABSENT
        name = "extra_key" if absent else "extra_value"
    elif expected is MISSING or candidate is MISSING:
        return _NOT_STORED, ""
    else:
        name = pattern_of(expected, candidate)
        if name in _WRITTEN_DATES and orders is not None:
            name = pattern_of(expected, candidate, orders.of(attribute))
    if (
        name in _VAGUE
        and isinstance(candidate, _SCALARS)
        and len(str(candidate).strip()) >= _DISTINCTIVE
        and (source := sources.find(candidate, record.path, attribute))
    ):
        return source
    return name, ""


class _Sources:
    """Finds values in a ground truth; strings never equal numbers."""

    __slots__ = ("_paths", "_truth", "_values")

    def __init__(self, truth: JsonValue | Missing) -> None:
        self._truth = truth
        self._values: set[JsonValue] | None = None
        self._paths: dict[tuple[bool, JsonValue], list[str]] = {}

    def find(self, value: str | float, besides: str, attribute: str) -> tuple[str, str] | None:
        """Return the pattern of a value of another field, and the path of the field.

        A value of the same attribute is taken from another item if only one item has it.
        """
        document = self._truth
        if document is MISSING:
            return None
        if self._values is None:
            self._values = set(scalars(document))
        if value not in self._values:  # as most are, so paths are rarely needed
            return None
        if not self._paths:
            for path, leaf in leaves(document):
                if isinstance(leaf, _SCALARS):
                    self._paths.setdefault((isinstance(leaf, str), leaf), []).append(path)
        others = self._paths.get((isinstance(value, str), value), ())
        rows = [path for path in others if _INDEX.sub("[]", path) == attribute and path != besides]
        if len(rows) == 1:
            return "other_row", rows[0]
        for path in others:
            if path != besides and path not in rows:
                return "other_field", path
        return None
