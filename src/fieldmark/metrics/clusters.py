"""The mistakes of a run grouped by pattern, with a few examples of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from fieldmark.metrics.patterns import BY_NAME, Pattern, pattern_of
from fieldmark.metrics.taxonomy import MISTAKES
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.kernel import parsed
from fieldmark.model.outcome import FACT_MASK, FACTS, Outcome, Presence
from fieldmark.model.outcomes import AttributeTable, FieldOutcome, Outcomes
from fieldmark.values.equality import equal
from fieldmark.values.paths import ROOT, leaves, resolve

__all__ = ["FoundMistake", "MistakeCluster", "MistakeClusters", "MistakeExample"]

_EXAMPLES: Final = 3
_FACTS: Final = frozenset(code for code, each in enumerate(FACTS) if each.outcome in MISTAKES)
_UNREAD: Final = {CaseInput.MISSING: "no_candidate", CaseInput.PARSE_ERROR: "parse_error"}
_EMPTY: Final = {Presence.NULL: "null_value", Presence.BLANK: "blank_value"}
_VAGUE: Final = frozenset({"different", "one_digit", "date_part", "extra_key", "extra_value"})
"""Patterns that say less than that the value belongs to another field."""
_NO_PATTERN: Final = "different"
_NOT_STORED: Final = ""
"""The pattern of a wrong value if the documents were not saved."""
_MAX_KNOWN: Final = 4_096
_INDEX: Final = re.compile(r"\[([0-9]+)\]")
_DISTINCTIVE: Final = 3
"""The shortest value that is unlikely to occur in another field by coincidence."""

_Place: TypeAlias = tuple[FieldOutcome, str, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class MistakeExample:
    """One mistake: its path, the expected value and the candidate."""

    case_id: str
    path: str
    expected: JsonValue | Missing
    candidate: JsonValue | Missing
    note: str = ""


@dataclass(slots=True)
class MistakeCluster:
    """Mistakes with the same pattern: their number by attribute, and the first of them."""

    pattern: Pattern
    number: int = 0
    attributes: Counter[str] = field(default_factory=Counter)
    examples: list[MistakeExample] = field(default_factory=list)


class FoundMistake(NamedTuple):
    """One mistake of a case; the pattern is empty if it needs documents that were not saved."""

    attribute: str
    outcome: Outcome
    pattern: str


class MistakeClusters:
    """Groups the mistakes of cases by pattern.

    The examples of a group are of different cases, if it has enough cases.
    """

    __slots__ = ("_found", "_known", "by_attribute")

    def __init__(self) -> None:
        self._found: dict[str, MistakeCluster] = {}
        self._known: dict[int, tuple[Outcomes, list[_Place]]] = {}
        self.by_attribute: dict[str, Counter[str]] = {}

    def add(
        self, block: Outcomes, table: AttributeTable, case: Case, *, has_values: bool = True
    ) -> list[FoundMistake]:
        """Add and return the mistakes of one case.

        `has_values` says whether its documents were saved.
        """
        found: list[FoundMistake] = []
        # Cases of saved runs share their outcomes, which are kept here, so that no others have the
        # same identity.
        known = self._known.get(id(block))
        if known is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.pop(next(iter(self._known)))
            known = self._known[id(block)] = block, list(_with_items(block, table))
        if not known[1]:
            return found
        documents = _Documents(case if has_values else None)
        mistakes = [_Mistake(*place, documents) for place in known[1]]
        shifted = _shifted(mistakes, documents)
        sources = _Sources(documents)
        for mistake in mistakes:
            name, note = _pattern(mistake, case.input, shifted, sources)
            found.append(FoundMistake(mistake.attribute, mistake.record.outcome, name))
            if name == _NOT_STORED:
                continue
            cluster = self._found.get(name)
            if cluster is None:
                cluster = self._found[name] = MistakeCluster(BY_NAME[name])
            cluster.number += 1
            cluster.attributes[mistake.attribute] += 1
            if mistake.attribute not in self.by_attribute:
                self.by_attribute[mistake.attribute] = Counter()
            self.by_attribute[mistake.attribute][name] += 1
            if _makes_room(cluster.examples, case.id):
                cluster.examples.append(
                    MistakeExample(
                        case_id=case.id,
                        path=mistake.record.path,
                        expected=mistake.expected,
                        candidate=mistake.candidate,
                        note=note,
                    )
                )
        return found

    def largest(self) -> list[MistakeCluster]:
        """Return all clusters, largest first; those without a pattern come last."""
        return sorted(
            self._found.values(),
            key=lambda each: (each.pattern.name == _NO_PATTERN, -each.number, each.pattern.name),
        )


def _makes_room(examples: list[MistakeExample], case_id: str) -> bool:
    """Return whether an example of a case is wanted; it may replace the second of another case."""
    if len(examples) < _EXAMPLES:
        return True
    ids = [each.case_id for each in examples]
    if case_id in ids or len(set(ids)) == len(ids):
        return False
    del examples[next(place for place, each in enumerate(ids) if each in ids[:place])]
    return True


class _Documents:
    """The documents of a case, if they were saved; they are parsed when they are needed."""

    __slots__ = ("_case", "_pair")

    def __init__(self, case: Case | None) -> None:
        self._case = case
        self._pair: tuple[JsonValue | Missing, JsonValue | Missing] | None = None

    @property
    def pair(self) -> tuple[JsonValue | Missing, JsonValue | Missing]:
        """The ground truth and the candidate."""
        if self._pair is None:
            case = self._case
            if case is None:
                self._pair = MISSING, MISSING
            else:
                expected, candidate = case.unparsed or (case.expected, case.candidate)
                self._pair = parsed(expected), parsed(candidate)
        return self._pair


class _Mistake(NamedTuple):
    """A mistake in a document; `lone` if its list item has no counterpart."""

    record: FieldOutcome
    attribute: str
    lone: bool
    documents: _Documents

    @property
    def expected(self) -> JsonValue | Missing:
        """The expected value."""
        record = self.record
        return _value(self.documents.pair[0], record.path, record.expected_presence)

    @property
    def candidate(self) -> JsonValue | Missing:
        """The value of the candidate."""
        record = self.record
        return _value(self.documents.pair[1], record.candidate_path, record.candidate_presence)


def _value(document: JsonValue | Missing, path: str, presence: Presence) -> JsonValue | Missing:
    if document is MISSING or presence is Presence.ABSENT:
        return MISSING
    return document if path == ROOT else resolve(document, path)


def _with_items(block: Outcomes, table: AttributeTable) -> Iterator[_Place]:
    """Yield every mistake, its attribute, and whether its list item exists on one side only."""
    positions = [place for place, cell in enumerate(block.cells) if cell & FACT_MASK in _FACTS]
    if not positions:
        return
    marks = iter(block.items)
    upcoming = next(marks, None)
    lone: dict[str, bool] = {}
    for position, record in zip(positions, block.records(table, _FACTS), strict=True):
        while upcoming is not None and upcoming[0] <= position:
            _, attribute, expected, candidate, _ = upcoming
            lone[attribute] = expected is None or candidate is None
            upcoming = next(marks, None)
        path = table.path(record.attribute)
        yield record, path, any(alone and path.startswith(name) for name, alone in lone.items())


def _pattern(
    mistake: _Mistake, read: CaseInput, shifted: set[str], sources: _Sources
) -> tuple[str, str]:
    """Return the name of the pattern, and the path of the field that the value belongs to."""
    record = mistake.record
    source = ""
    if read in _UNREAD:
        name = _UNREAD[read]
    elif record.outcome is Outcome.OMISSION:
        empty = _EMPTY.get(record.candidate_presence, "missing_key")
        name = "missing_item" if mistake.lone else empty
    elif record.outcome is Outcome.HALLUCINATION and mistake.lone:
        name = "extra_item"
    elif record.path in shifted:
        name = "shifted_rows"
    else:
        expected, candidate = mistake.expected, mistake.candidate
        if isinstance(candidate, str | int | float) and len(str(candidate).strip()) >= _DISTINCTIVE:
            source = sources.find(candidate, record.path)
        if record.outcome is Outcome.HALLUCINATION:
            absent = record.expected_presence is Presence.ABSENT
            name = "extra_key" if absent else "extra_value"
        elif expected is MISSING or candidate is MISSING:
            name = _NOT_STORED
        else:
            name = pattern_of(expected, candidate)
    return ("other_field", source) if source and name in _VAGUE else (name, "")


def _shifted(mistakes: list[_Mistake], documents: _Documents) -> set[str]:
    """Return the fields of lists whose values are those of the next or the previous row.

    A single such field may be a coincidence, so at least two are required, and half of the mistakes
    in the list.
    """
    found: set[str] = set()
    by_list: dict[str, list[_Mistake]] = {}
    for mistake in mistakes:
        head, bracket, _ = mistake.attribute.partition("[]")
        if bracket and not mistake.lone and mistake.candidate is not MISSING:
            by_list.setdefault(head, []).append(mistake)
    document = documents.pair[0] if by_list else MISSING
    if document is MISSING:
        return found
    for wrong in by_list.values():
        for step in (1, -1):
            moved = [each for each in wrong if _is_from_row(each, document, step)]
            if len(moved) >= 2 and 2 * len(moved) >= len(wrong):  # noqa: PLR2004
                found.update(each.record.path for each in moved)
    return found


def _is_from_row(mistake: _Mistake, document: JsonValue, step: int) -> bool:
    """Return whether the candidate is the expected value `step` rows further on."""
    path = mistake.record.path
    found = _INDEX.search(path)
    place = int(found[1]) + step if found else -1
    if found is None or place < 0 or mistake.candidate is MISSING:
        return False
    neighbour = resolve(document, f"{path[: found.start()]}[{place}]{path[found.end() :]}")
    return neighbour is not MISSING and equal(neighbour, mistake.candidate)


class _Sources:
    """Finds values in a ground truth; strings never equal numbers."""

    __slots__ = ("_documents", "_paths", "_values")

    def __init__(self, documents: _Documents) -> None:
        self._documents = documents
        self._values: set[JsonValue] | None = None
        self._paths: dict[tuple[bool, JsonValue], list[str]] = {}

    def find(self, value: str | float, besides: str) -> str:
        """Return the path of the first field with a value besides one, or an empty string."""
        document = self._documents.pair[0]
        if document is MISSING:
            return ""
        if self._values is None:
            self._values = set(_scalars(document))
        if value not in self._values:  # as most are, so paths are rarely needed
            return ""
        if not self._paths:
            for path, leaf in leaves(document):
                if isinstance(leaf, str | int | float):
                    self._paths.setdefault((isinstance(leaf, str), leaf), []).append(path)
        others = self._paths.get((isinstance(value, str), value), ())
        return next((path for path in others if path != besides), "")


def _scalars(document: JsonValue) -> Iterator[JsonValue]:
    """Yield every scalar in a document, in any order."""
    pending = [document]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list):
            pending += item
        else:
            yield item
