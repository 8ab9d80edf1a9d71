"""The mistakes of a run grouped by pattern, with a few examples of each."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from fieldmark.metrics.mistakes import CaseMistakes, Mistake
from fieldmark.metrics.patterns import BY_NAME, Pattern, pattern_of
from fieldmark.model.case import CaseInput
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.outcome import Outcome, Presence
from fieldmark.values.equality import equal
from fieldmark.values.paths import leaves, resolve

_EXAMPLES: Final = 3
_UNREAD: Final = {CaseInput.MISSING: "no_candidate", CaseInput.PARSE_ERROR: "parse_error"}
_EMPTY: Final = {Presence.NULL: "null_value", Presence.BLANK: "blank_value"}
_VAGUE: Final = frozenset({"different", "one_digit", "date_part", "extra_key", "extra_value"})
"""Patterns that say less than that the value belongs to another field."""
_NO_PATTERN: Final = "different"
_NOT_STORED: Final = ""
"""The pattern of a wrong value if the documents were not saved."""
_INDEX: Final = re.compile(r"\[([0-9]+)\]")
_DISTINCTIVE: Final = 3
"""The shortest value that is unlikely to occur in another field by coincidence."""
_SCALARS: Final = (str, int, float)


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
    is_complete: bool = False

    def wants_example(self, case_id: str) -> bool:
        """Return whether an example of a case is wanted; it may replace one of another case."""
        if self.is_complete:
            return False
        if len(self.examples) < _EXAMPLES:
            return True
        ids = [each.case_id for each in self.examples]
        self.is_complete = len(set(ids)) == len(ids)
        if self.is_complete or case_id in ids:
            return False
        del self.examples[next(place for place, each in enumerate(ids) if each in ids[:place])]
        return True


class FoundMistake(NamedTuple):
    """One mistake of a case; the pattern is empty if it needs documents that were not saved."""

    attribute: str
    outcome: Outcome
    pattern: str


class MistakeClusters:
    """Groups the mistakes of cases by pattern.

    The examples of a group are of different cases, if it has enough cases.
    """

    __slots__ = ("_found", "by_attribute")

    def __init__(self) -> None:
        self._found: dict[str, MistakeCluster] = {}
        self.by_attribute: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add(self, read: CaseMistakes) -> list[FoundMistake]:
        """Add and return the mistakes of one case."""
        found: list[FoundMistake] = []
        if not read.places:
            return found
        shifted = _shifted(read)
        sources = _Sources(read.documents[0])
        case = read.case
        for mistake in read.mistakes:
            record, attribute, _, expected, candidate = mistake
            name, note = _pattern(mistake, case.input, shifted, sources)
            found.append(FoundMistake(attribute, record.outcome, name))
            if name == _NOT_STORED:
                continue
            cluster = self._found.get(name)
            if cluster is None:
                cluster = self._found[name] = MistakeCluster(BY_NAME[name])
            cluster.number += 1
            cluster.attributes[attribute] += 1
            self.by_attribute[attribute][name] += 1
            if cluster.wants_example(case.id):
                cluster.examples.append(
                    MistakeExample(
                        case_id=case.id,
                        path=record.path,
                        expected=expected,
                        candidate=candidate,
                        note=note,
                    )
                )
        return found

    def largest(self) -> list[MistakeCluster]:
        """Return all clusters, largest first; clusters without a pattern come last."""
        return sorted(
            self._found.values(),
            key=lambda each: (each.pattern.name == _NO_PATTERN, -each.number, each.pattern.name),
        )


def _pattern(
    mistake: Mistake, read: CaseInput, shifted: set[str], sources: _Sources
) -> tuple[str, str]:
    """Return the name of the pattern, and the path of the field that the value belongs to."""
    record, _, lone, expected, candidate = mistake
    outcome = record.outcome
    if read in _UNREAD:
        return _UNREAD[read], ""
    if outcome is Outcome.OMISSION:
        empty = _EMPTY.get(record.candidate_presence, "missing_key")
        return "missing_item" if lone else empty, ""
    if outcome is Outcome.HALLUCINATION and lone:
        return "extra_item", ""
    if record.path in shifted:
        return "shifted_rows", ""
    if outcome is Outcome.HALLUCINATION:
        absent = record.expected_presence is Presence.ABSENT
        name = "extra_key" if absent else "extra_value"
    elif expected is MISSING or candidate is MISSING:
        return _NOT_STORED, ""
    else:
        name = pattern_of(expected, candidate)
    if (
        name in _VAGUE
        and isinstance(candidate, _SCALARS)
        and len(str(candidate).strip()) >= _DISTINCTIVE
        and (source := sources.find(candidate, record.path))
    ):
        return "other_field", source
    return name, ""


def _shifted(read: CaseMistakes) -> set[str]:
    """Return the fields of lists whose values belong to the next or the previous row.

    A single such field may be a coincidence, so at least two are required, and half of the mistakes
    in the list.
    """
    found: set[str] = set()
    document = read.documents[0]
    if document is MISSING or not read.outcomes.items:  # no lists
        return found
    by_list: dict[str, list[Mistake]] = {}
    for mistake in read.mistakes:
        head, bracket, _ = mistake.attribute.partition("[]")
        if bracket and not mistake.lone and mistake.candidate is not MISSING:
            by_list.setdefault(head, []).append(mistake)
    for wrong in by_list.values():
        for step in (1, -1):
            moved = [each for each in wrong if _is_from_row(each, document, step)]
            if len(moved) >= 2 and 2 * len(moved) >= len(wrong):  # noqa: PLR2004
                found.update(each.record.path for each in moved)
    return found


def _is_from_row(mistake: Mistake, document: JsonValue, step: int) -> bool:
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

    __slots__ = ("_paths", "_truth", "_values")

    def __init__(self, truth: JsonValue | Missing) -> None:
        self._truth = truth
        self._values: set[JsonValue] | None = None
        self._paths: dict[tuple[bool, JsonValue], list[str]] = {}

    def find(self, value: str | float, besides: str) -> str:
        """Return the path of the first field with a value besides one, or an empty string."""
        document = self._truth
        if document is MISSING:
            return ""
        if self._values is None:
            self._values = set(_scalars(document))
        if value not in self._values:  # as most are, so paths are rarely needed
            return ""
        if not self._paths:
            for path, leaf in leaves(document):
                if isinstance(leaf, _SCALARS):
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
