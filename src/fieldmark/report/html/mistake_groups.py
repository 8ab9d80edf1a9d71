"""Mistakes grouped by attribute and outcome."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, Outcome, Presence, fact_of
from fieldmark.report.html.value_encoding import HIDDEN, encode_shortened, encode_value, truncate
from fieldmark.runs.case_result import CaseResult
from fieldmark.values.paths import resolve

_MAX_GROUPS: Final = 25
_MAX_EXAMPLES: Final = 8
_MAX_LENGTH: Final = 200
MISTAKES: Final = frozenset(
    {
        Outcome.WRONG_VALUE,
        Outcome.FORMAT_ERROR,
        Outcome.OMISSION,
        Outcome.HALLUCINATION,
        Outcome.ERROR,
    }
)
"""The outcomes that are listed: mistakes and errors."""
_MISTAKE_CODES: Final = frozenset(
    code for code in range(FACT_MASK + 1) if fact_of(code).outcome in MISTAKES
)


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
        for cell, number in times.items():
            if cell & FACT_MASK in _MISTAKE_CODES:
                groups[_Group(table.path(cell >> CELL_BITS), fact_of(cell).outcome)] += number
        if not groups:
            return
        self._times.update(groups)
        self._cases.update(groups.keys())
        for position, comparison in case.outcomes.comparisons.items():
            cell = case.outcomes.cells[position]
            if comparison.reason is not None and cell & FACT_MASK in _MISTAKE_CODES:
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
            known.append(_Example(rank, truncate(record.path, _MAX_LENGTH), *shown))
            known.sort(key=lambda each: each.rank)
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
            example = next((each for each in examples if each.rank not in used), None)
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
    return encode_shortened(resolve(document, path), _MAX_LENGTH)
