"""Two runs on the same cases, gathered case by case in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from fieldmark.metrics.case_score import CaseStats
from fieldmark.metrics.intervals_rows import CaseRow, row_means
from fieldmark.model.case import Verdict
from fieldmark.model.outcome import CELL_BITS, FACTS
from fieldmark.model.outcomes import AttributeTable, FieldOutcome, Outcomes

__all__ = ["GROUPS", "SHOWN", "Change", "Pairs", "Side", "greatest"]

GROUPS: Final = 2_048
"""Cases beyond so many share rows: they are drawn and exchanged together."""

SHOWN: Final = 50
"""Changed cases that are named, of each kind."""

Shift: TypeAlias = tuple[str, str]
"""What a field was in the one run and is in the other."""

_FACT: Final = (1 << CELL_BITS) - 1
_OUTCOME: Final = 4
"""Bits of a cell below its outcome: both presences."""
_LABELS: Final = tuple(fact.outcome.label for fact in FACTS)
_WORD: Final = (1 << 64) - 1
NOTHING: Final = "nothing"
"""What a field is that a run has no outcome for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One case in one run."""

    block: Outcomes
    stats: CaseStats
    table: AttributeTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A case whose verdict or score is another in the second run."""

    case_id: str
    before: float | None
    after: float | None
    verdict_before: str | None
    verdict_after: str | None

    @property
    def gain(self) -> float:
        """By how much the score rose; without a score there was none to begin with."""
        return (self.after or 0.0) - (self.before or 0.0)


@dataclass(slots=True)
class Pairs:
    """All that is known of the cases that two runs share."""

    before: list[CaseRow] = field(default_factory=list)
    after: list[CaseRow] = field(default_factory=list)
    cases: int = 0
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    shifts: Counter[Shift] = field(default_factory=Counter)
    scores: Counter[str] = field(default_factory=Counter)
    fixed: list[Change] = field(default_factory=list)
    broken: list[Change] = field(default_factory=list)
    _means: dict[CaseStats, tuple[int, ...]] = field(default_factory=dict)

    def add(self, case_id: str, before: Side, after: Side) -> None:
        """Take in one case of both runs."""
        group = self.cases if self.cases < GROUPS else _drawn(self.cases) % GROUPS
        if group == len(self.before):
            self.before.append(CaseRow())
            self.after.append(CaseRow())
        self.cases += 1
        for rows, side in ((self.before, before), (self.after, after)):
            times = side.block.times or Counter(side.block.cells)
            rows[group].add(times, self._means_of(side.stats))
        self._note(case_id, before, after)
        if before.block.cells != after.block.cells or before.table is not after.table:
            self.shifts.update(_shifts(before, after))

    def passes(self) -> tuple[int, int]:
        """How many cases pass only in the second run, and only in the first."""
        mine = Verdict.PASS.value
        gained = sum(n for (old, new), n in self.verdicts.items() if old != mine == new)
        lost = sum(n for (old, new), n in self.verdicts.items() if old == mine != new)
        return gained, lost

    def _means_of(self, stats: CaseStats) -> tuple[int, ...]:
        known = self._means.get(stats)
        if known is None:
            if len(self._means) >= GROUPS:
                self._means.clear()
            known = self._means[stats] = row_means(stats)
        return known

    def _note(self, case_id: str, before: Side, after: Side) -> None:
        change = Change(
            case_id=case_id,
            before=before.stats.score,
            after=after.stats.score,
            verdict_before=before.stats.verdict,
            verdict_after=after.stats.verdict,
        )
        old, new = change.verdict_before or "error", change.verdict_after or "error"
        self.verdicts[str(old), str(new)] += 1
        self.scores["up" if change.gain > 0 else "down" if change.gain < 0 else "same"] += 1
        if old != new and Verdict.PASS in {old, new}:
            _keep(self.fixed if new == Verdict.PASS else self.broken, change)


def _drawn(place: int) -> int:
    """A number that looks drawn by chance, for a case by its place.

    Cases must not take turns: where they are in some order, turns would make all rows alike and
    hide how much cases differ.
    """
    mixed = (place + 1) * 0x9E3779B97F4A7C15 & _WORD
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _WORD
    return mixed ^ mixed >> 31


def greatest(changes: list[Change]) -> list[Change]:
    """The changes with the greatest effect, earlier ones first among equals."""
    return sorted(changes, key=lambda each: -abs(each.gain))[:SHOWN]


def _keep(changes: list[Change], change: Change) -> None:
    changes.append(change)
    if len(changes) >= 2 * SHOWN:
        changes[:] = greatest(changes)


def _shifts(before: Side, after: Side) -> Mapping[Shift, int]:
    """Fields that are something else in the second run, by what they were and are."""
    if _in_step(before, after):
        cells = zip(before.block.cells, after.block.cells, strict=True)
        apart = (pair for pair in cells if pair[0] >> _OUTCOME != pair[1] >> _OUTCOME)
        return Counter((_LABELS[old & _FACT], _LABELS[new & _FACT]) for old, new in apart)
    old, new = _outcomes(before), _outcomes(after)
    found: Counter[Shift] = Counter()
    for place in {**old, **new}:
        pair = old.get(place, NOTHING), new.get(place, NOTHING)
        if pair[0] != pair[1]:
            found[pair] += 1
    return found


def _in_step(before: Side, after: Side) -> bool:
    """Whether both runs have the same fields in the same order, as most cases do."""
    old, new = before.block, after.block
    return (
        before.table is after.table
        and len(old.cells) == len(new.cells)
        and old.items == new.items
        and all(one ^ other <= _FACT for one, other in zip(old.cells, new.cells, strict=True))
    )


def _outcomes(side: Side) -> dict[tuple[str, bool], str]:
    """Outcomes by path; what stands only in the candidate is no field of the truth."""
    records = side.block.records(side.table)
    return {(each.path, _is_extra(each)): _LABELS[each.outcome << _OUTCOME] for each in records}


def _is_extra(record: FieldOutcome) -> bool:
    return not record.expected_presence
