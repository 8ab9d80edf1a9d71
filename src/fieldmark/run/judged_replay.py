"""What evaluators said of cases before a run was broken off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from fieldmark.evaluators.base import ConfiguredEvaluator, EvaluatorResult, Score
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.json import MISSING
from fieldmark.model.outcomes import Outcomes
from fieldmark.run.panel import Panel
from fieldmark.run.replay import Replay
from fieldmark.store.reader import StoredCase

__all__ = ["JudgedReplay", "Remembered"]


class Remembered(NamedTuple):
    """Cases with what was found out about them, as results hold it."""

    cases: Sequence[Case]
    blocks: Sequence[Outcomes]
    results: Sequence[tuple[EvaluatorResult, ...]]
    scores: Sequence[Score]
    failed: Sequence[Case]
    all: Sequence[Case]


class JudgedReplay:
    """Segments of an evaluation that are on disk already."""

    __slots__ = ("_panel", "_ready", "_replay")

    def __init__(self, replay: Replay, panel: Panel) -> None:
        self._replay = replay
        self._panel = panel
        self._ready: dict[int, Remembered] = {}

    def restored(self, segment: int, batch: Sequence[Case]) -> list[Case]:
        """The cases of a segment with the candidates that they had."""
        asked = [case for case in batch if case.input is not CaseInput.INVALID_TRUTH]
        rows = self._replay.rows(segment, asked) or []
        stored = [_as_stored(case, row) for case, row in zip(asked, rows, strict=True)]
        self._ready[segment] = self._remembered(stored, rows)
        again = iter(stored)
        return [case if case.input is CaseInput.INVALID_TRUTH else next(again) for case in batch]

    def __call__(self, segment: int) -> Remembered | None:
        """What is known of a segment that was restored; nothing if it is still to be done."""
        return self._ready.pop(segment, None)

    def _remembered(self, stored: Sequence[Case], rows: Sequence[StoredCase]) -> Remembered:
        kept = [
            (case, row)
            for case, row in zip(stored, rows, strict=True)
            if case.input is not CaseInput.FAILED
        ]
        return Remembered(
            cases=[case for case, _ in kept],
            blocks=[self._replay.block(row) for _, row in kept],
            results=[self._results(case, row) for case, row in kept],
            scores=[_score(row) for _, row in kept],
            failed=[case for case in stored if case.input is CaseInput.FAILED],
            all=stored,
        )

    def _results(self, case: Case, row: StoredCase) -> tuple[EvaluatorResult, ...]:
        members: dict[str, ConfiguredEvaluator] = {
            each.name: each for each in self._panel.members_of(case)
        }
        return tuple(
            EvaluatorResult.of(members[str(said["name"])], Score.from_dict(said))
            for said in row.evaluator_results
            if said.get("name") in members
        )


def _as_stored(case: Case, row: StoredCase) -> Case:
    note = str(row.row.get("reasoning", "")) if row.input == CaseInput.FAILED else row.note
    # Without values the row does not have the candidate; the input may still have it.
    candidate = case.candidate if row.candidate is MISSING else row.candidate
    return case._replace(candidate=candidate, input=CaseInput(row.input), note=note)


def _score(row: StoredCase) -> Score:
    """The score of a case; where its lists were not kept, they are as long as they were."""
    score = Score.from_dict(row.row)
    match row.row.get("hits_total"), row.row.get("misses_total"):
        case int(hits), int(misses):
            return replace(score, hits=("",) * hits, misses=("",) * misses)
        case _:
            return score
