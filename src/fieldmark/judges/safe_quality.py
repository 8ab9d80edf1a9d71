"""The response quality score with the word of a judge of safety in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import ClassVar

from fieldmark.evaluators.base import CaseScorer, Score, Status
from fieldmark.evaluators.response_quality import ResponseQuality
from fieldmark.judges.safety import Assessing, NoSafety, SafetyJudge
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.json import MISSING
from fieldmark.model.rule import Rule

__all__ = ["SafeQuality"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SafeQuality:
    """Asks for the safety of a candidate, then scores it; no word on safety is no score."""

    name: ClassVar[str] = "response_quality"
    quality: ResponseQuality = field(default_factory=ResponseQuality)
    safety: SafetyJudge = field(default_factory=NoSafety)

    def claims(self) -> tuple[Rule, ...]:
        """The fields that the score is about, with how they are compared."""
        return self.quality.claims()

    def unready(self) -> str | None:
        """Why not a single candidate could be judged; nothing if it can."""
        return self.safety.unready()

    @contextmanager
    def opened(self) -> Iterator[CaseScorer]:
        """What scores the cases of one run."""
        with self.safety.opened() as assess:
            yield lambda case: self._judged(assess, case)

    def _judged(self, assess: Assessing, case: Case) -> Score:
        unreadable = case.input is not CaseInput.OK
        if unreadable or case.candidate is MISSING:
            return self.quality.evaluate(case.expected, MISSING, unreadable=unreadable)
        said = assess(case.candidate)
        if said.failure:
            return Score.error(f"safety: {said.failure}")
        score = self.quality.evaluate(case.expected, case.candidate, safety=said.score)
        if score.status is Status.ERROR or not said.details:
            return score
        told = {"judge": self.safety.name, **said.details}
        return replace(score, details={**score.details, "safety_details": told})
