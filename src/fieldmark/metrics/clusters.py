"""The mistakes of a run grouped by pattern, with a few examples of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from fieldmark.metrics.patterns import BY_NAME, Pattern, pattern_of
from fieldmark.model.case import CaseInput
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.outcome import Outcome, Presence
from fieldmark.model.outcomes import AttributeTable, FieldOutcome, Outcomes
from fieldmark.values.equality import equal
from fieldmark.values.paths import ROOT, leaves, resolve

__all__ = ["CaseDocuments", "MistakeCluster", "MistakeClusters", "MistakeExample"]

_EXAMPLES: Final = 3
_MISTAKES: Final = frozenset(
    {Outcome.WRONG_VALUE, Outcome.FORMAT_ERROR, Outcome.OMISSION, Outcome.HALLUCINATION}
)
_UNREAD: Final = {CaseInput.MISSING: "no_candidate", CaseInput.PARSE_ERROR: "unreadable"}
_EMPTY: Final = {Presence.NULL: "null_given", Presence.BLANK: "blank_given"}
_VAGUE: Final = frozenset({"different", "one_digit", "date_part", "unknown_key", "for_nothing"})
"""Patterns that say less than that the value belongs to another field."""
_NO_PATTERN: Final = "different"
_NOT_STORED: Final = ""
"""The pattern of a wrong value whose documents were not stored."""
_INDEX: Final = re.compile(r"\[([0-9]+)\]")
_DISTINCTIVE: Final = 3
"""The shortest value whose occurrence in another field is hardly a coincidence."""


class CaseDocuments(NamedTuple):
    """Both documents of a case, as far as they were stored."""

    case_id: str
    expected: JsonValue | Missing
    candidate: JsonValue | Missing
    input: CaseInput


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


class MistakeClusters:
    """Groups the mistakes of cases, one case after the other."""

    __slots__ = ("_found", "by_attribute")

    def __init__(self) -> None:
        self._found: dict[str, MistakeCluster] = {}
        self.by_attribute: dict[str, Counter[str]] = {}

    def add(self, block: Outcomes, table: AttributeTable, case: CaseDocuments) -> None:
        """Add the mistakes of one case."""
        mistakes = [
            _Mistake(
                record=record,
                attribute=table.path(record.attribute),
                lone=lone,
                expected=_value(case.expected, record.path, record.expected_presence),
                candidate=_value(case.candidate, record.candidate_path, record.candidate_presence),
            )
            for record, lone in _with_items(block, table)
            if record.outcome in _MISTAKES
        ]
        shifted, sources = _shifted(mistakes, case.expected), _ValueIndex(case.expected)
        for mistake in mistakes:
            name, note = _pattern(mistake, case.input, shifted, sources)
            if name == _NOT_STORED:
                continue
            cluster = self._found.setdefault(name, MistakeCluster(BY_NAME[name]))
            cluster.number += 1
            cluster.attributes[mistake.attribute] += 1
            self.by_attribute.setdefault(mistake.attribute, Counter())[name] += 1
            if len(cluster.examples) < _EXAMPLES:
                cluster.examples.append(
                    MistakeExample(
                        case_id=case.case_id,
                        path=mistake.record.path,
                        expected=mistake.expected,
                        candidate=mistake.candidate,
                        note=note,
                    )
                )

    def largest(self) -> list[MistakeCluster]:
        """All clusters, the largest first; those without a pattern last."""
        return sorted(
            self._found.values(),
            key=lambda each: (each.pattern.name == _NO_PATTERN, -each.number, each.pattern.name),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mistake:
    """A wrong field with both values; `lone` if its list item has no counterpart."""

    record: FieldOutcome
    attribute: str
    lone: bool
    expected: JsonValue | Missing
    candidate: JsonValue | Missing


def _value(document: JsonValue | Missing, path: str, presence: Presence) -> JsonValue | Missing:
    if document is MISSING or presence is Presence.ABSENT:
        return MISSING
    return document if path == ROOT else resolve(document, path)


def _with_items(block: Outcomes, table: AttributeTable) -> Iterator[tuple[FieldOutcome, bool]]:
    """Every outcome, and whether only one side has its list item."""
    marks = iter(block.items)
    upcoming = next(marks, None)
    lone: dict[str, bool] = {}
    for position, record in enumerate(block.records(table)):
        while upcoming is not None and upcoming[0] <= position:
            _, attribute, expected, candidate, _ = upcoming
            lone[attribute] = expected is None or candidate is None
            upcoming = next(marks, None)
        path = table.path(record.attribute)
        yield record, any(alone and path.startswith(name) for name, alone in lone.items())


def _pattern(
    mistake: _Mistake, read: CaseInput, shifted: set[str], sources: _ValueIndex
) -> tuple[str, str]:
    """The name of the pattern, and for the value of another field the path of that field."""
    record, expected, candidate = mistake.record, mistake.expected, mistake.candidate
    source = ""
    if read in _UNREAD:
        name = _UNREAD[read]
    elif record.outcome is Outcome.OMISSION:
        empty = _EMPTY.get(record.candidate_presence, "left_out")
        name = "item_missing" if mistake.lone else empty
    elif record.outcome is Outcome.HALLUCINATION and mistake.lone:
        name = "item_invented"
    elif record.path in shifted:
        name = "shifted_rows"
    else:
        source = sources.other_than(record.path, candidate)
        if record.outcome is Outcome.HALLUCINATION:
            absent = record.expected_presence is Presence.ABSENT
            name = "unknown_key" if absent else "for_nothing"
        elif expected is MISSING or candidate is MISSING:
            name = _NOT_STORED
        else:
            name = pattern_of(expected, candidate)
    return ("other_field", source) if source and name in _VAGUE else (name, "")


def _shifted(mistakes: list[_Mistake], document: JsonValue | Missing) -> set[str]:
    """Fields of lists whose values are those of the next row or the one before.

    One such field may be chance: it takes two, and half of what is wrong in the list.
    """
    if document is MISSING:
        return set()
    found: set[str] = set()
    by_list: dict[str, list[_Mistake]] = {}
    for mistake in mistakes:
        head, bracket, _ = mistake.attribute.partition("[]")
        if bracket and mistake.candidate is not MISSING and not mistake.lone:
            by_list.setdefault(head, []).append(mistake)
    for wrong in by_list.values():
        for step in (1, -1):
            moved = [each for each in wrong if _is_from_row(each, document, step)]
            if len(moved) >= 2 and 2 * len(moved) >= len(wrong):  # noqa: PLR2004
                found.update(each.record.path for each in moved)
    return found


def _is_from_row(mistake: _Mistake, document: JsonValue, step: int) -> bool:
    """Whether the candidate is the value that is expected `step` rows further on."""
    path = mistake.record.path
    found = _INDEX.search(path)
    place = int(found[1]) + step if found else -1
    if found is None or place < 0 or mistake.candidate is MISSING:
        return False
    neighbour = resolve(document, f"{path[: found.start()]}[{place}]{path[found.end() :]}")
    return neighbour is not MISSING and equal(neighbour, mistake.candidate)


class _ValueIndex:
    """An index of the values of the ground truth, built on first use."""

    __slots__ = ("_document", "_paths")

    def __init__(self, document: JsonValue | Missing) -> None:
        self._document = document
        self._paths: dict[tuple[bool, JsonValue], list[str]] | None = None

    def other_than(self, path: str, value: JsonValue | Missing) -> str:
        """Another field of the ground truth with this value, or an empty string."""
        if not isinstance(value, str | int | float) or len(str(value).strip()) < _DISTINCTIVE:
            return ""
        if self._paths is None:
            self._paths = {}
            for place, leaf in leaves(self._document) if self._document is not MISSING else ():
                if isinstance(leaf, str | int | float):
                    self._paths.setdefault((isinstance(leaf, str), leaf), []).append(place)
        others = self._paths.get((isinstance(value, str), value), [])
        return next((place for place in others if place != path), "")
