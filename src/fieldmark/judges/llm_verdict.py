"""Makes one score of what a model said of the subjects of a case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum
from statistics import pstdev
from typing import Final, NamedTuple

from fieldmark.compare.prompt_injection import find_injections
from fieldmark.evaluators.base import Score
from fieldmark.judges.criteria import Criterion
from fieldmark.judges.llm.ledger import Call
from fieldmark.judges.llm.replies import Mark
from fieldmark.judges.sampling import Sampled
from fieldmark.judges.subjects import Subject
from fieldmark.model.case import Case, Verdict
from fieldmark.model.json import MISSING, JsonObject, JsonValue

__all__ = ["Asked", "Subject", "case_score"]

_CLOSE: Final = 1e-9
_MOST_REASONS: Final = 10


class Asked(NamedTuple):
    """A subject and what was said of it, unless it was settled without asking."""

    subject: Subject
    said: Sampled | None


class _Part(NamedTuple):
    """The score of one subject, and how it came about."""

    path: str
    score: float
    details: JsonObject
    met: tuple[str, ...]
    unmet: tuple[str, ...]
    reasons: tuple[str, ...]
    spread: float = 0.0


def case_score(
    case: Case,
    asked: Sequence[Asked],
    criteria: Sequence[Criterion],
    limit: float,
    facts: JsonObject,
) -> Score:
    """The mean over the subjects of a case; one that could not be judged is an error."""
    for each in asked:
        settled = each.subject.settled
        if settled is not None and settled.failed:
            return Score.error(f"{each.subject.path or 'the case'}: {settled.why}")
    parts = [part for each in asked if (part := _part(each, criteria, limit)) is not None]
    skipped = tuple(
        each.subject.path or "$"
        for each in asked
        if each.subject.settled is not None and each.subject.settled.score is None
    )
    details = _details(case, parts, asked, facts)
    if not parts:
        return Score(
            score=1.0,
            verdict=Verdict.PASS,
            reasoning="nothing to judge",
            details=details,
            vacuous=True,
            skipped=skipped,
        )
    score = _mean([part.score for part in parts])
    return Score(
        score=score,
        verdict=Verdict.PASS if score >= limit - _CLOSE else Verdict.FAIL,
        hits=tuple(name for part in parts for name in part.met),
        misses=tuple(name for part in parts for name in part.unmet),
        reasoning="; ".join([text for part in parts for text in part.reasons][:_MOST_REASONS]),
        details=details,
        skipped=skipped,
    )


def _part(asked: Asked, criteria: Sequence[Criterion], limit: float) -> _Part | None:
    if asked.said is not None:
        return _judged(asked.subject.path, asked.said, criteria, limit)
    path, settled = asked.subject.path, asked.subject.settled
    if settled is None or settled.score is None:
        return None
    name = path or "$"
    told: JsonObject = {"score": settled.score, "settled": settled.why}
    if settled.score >= limit - _CLOSE:
        return _Part(path, settled.score, told, (name,), (), (settled.why,))
    return _Part(path, settled.score, told, (), (f"{name} ({settled.why})",), (settled.why,))


def _judged(path: str, said: Sampled, criteria: Sequence[Criterion], limit: float) -> _Part:
    totals = [_total(marks, criteria) for marks in said.marks]
    means = {each.name: _mean(_scores(each, said)) for each in criteria}
    score, spread = _mean(totals), max(totals) - min(totals)
    at = f"{path}: " if path else ""
    return _Part(
        path=path,
        score=score,
        details={
            "score": score,
            "sample_scores": list[JsonValue](totals),
            "spread": spread,
            "deviation": pstdev(totals),
            "criteria": [_row(each, said) for each in criteria],
        },
        met=tuple(f"{at}{name}" for name, mean in means.items() if mean >= limit - _CLOSE),
        unmet=tuple(
            f"{at}{name} (scored {mean:.2f})"
            for name, mean in means.items()
            if mean < limit - _CLOSE
        ),
        reasons=tuple(
            f"{at}{name}: {mark.reason}" for name, mark in said.marks[0].items() if mark.reason
        ),
        spread=spread,
    )


def _total(marks: Mapping[str, Mark], criteria: Sequence[Criterion]) -> float:
    weights = fsum(criterion.weight for criterion in criteria)
    return fsum(marks[each.name].score * each.weight for each in criteria) / weights


def _scores(criterion: Criterion, said: Sampled) -> list[float]:
    return [marks[criterion.name].score for marks in said.marks]


def _mean(scores: Sequence[float]) -> float:
    return fsum(scores) / len(scores)


def _row(criterion: Criterion, said: Sampled) -> JsonObject:
    scores = _scores(criterion, said)
    return {
        "name": criterion.name,
        "weight": criterion.weight,
        "score": _mean(scores),
        "sample_scores": list[JsonValue](scores),
        "spread": max(scores) - min(scores),
        "reasons": [marks[criterion.name].reason for marks in said.marks],
    }


def _details(
    case: Case, parts: Sequence[_Part], asked: Sequence[Asked], facts: JsonObject
) -> JsonObject:
    details: JsonObject = {**facts, "usage": _usage(asked), "flags": _flags(case)}
    details["spread"] = max((part.spread for part in parts), default=0.0)
    if len(parts) == 1 and not parts[0].path:
        return {**details, **parts[0].details}
    return {**details, "fields": {part.path: part.details for part in parts}}


def _usage(asked: Sequence[Asked]) -> JsonObject:
    calls: dict[str, Call] = {
        call.id: call for each in asked if each.said is not None for call in each.said.calls
    }
    return {
        "calls": len(calls),
        "input_tokens": sum(call.input_tokens for call in calls.values()),
        "output_tokens": sum(call.output_tokens for call in calls.values()),
    }


def _flags(case: Case) -> JsonObject:
    """Values that read like instructions to the judge, on both sides, by their place."""
    sides: dict[str, JsonValue] = {"expected": case.expected}
    if case.candidate is not MISSING:
        sides["candidate"] = case.candidate
    found = {side: find_injections(value) for side, value in sides.items()}
    flagged: JsonObject = {side: dict(places) for side, places in found.items() if places}
    return {"instruction_like": flagged} if flagged else {}
