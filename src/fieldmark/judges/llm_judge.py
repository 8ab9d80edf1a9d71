"""The LLM judge: a language model grades cases, or fields of them, by a rubric."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from math import fsum, isfinite
from statistics import pstdev
from typing import ClassVar, Final, NamedTuple

from fieldmark.compare.options import check_flag, check_share, checked_choice
from fieldmark.compare.prompt_injection import find_injections
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import CaseScorer, Score
from fieldmark.judges.llm.chat import MAX_DATA_CHARACTERS, Grade, GradedSamples, grade_samples
from fieldmark.judges.llm.client import LLM_ERRORS, CachedClient
from fieldmark.judges.llm.connection import ChatConnection, check_number
from fieldmark.judges.llm.prompts import Prompt, rubric_prompt
from fieldmark.model.case import Case, CaseInput, Verdict
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing, kind_of
from fieldmark.model.outcome import Presence
from fieldmark.values.equality import equal
from fieldmark.values.paths import is_path, parse_path, resolve
from fieldmark.values.presence import is_blank, presence

__all__ = ["Criterion", "JudgedUnit", "LlmJudge", "read_criteria"]

_RUBRIC_NAME: Final = "rubric"
_CRITERION_KEYS: Final = frozenset({"name", "text", "weight"})
_ROUNDING: Final = 1e-9
_MAX_REASONS: Final = 10


class JudgedUnit(StrEnum):
    """What is judged at a time."""

    CASE = "case"
    FIELD = "field"


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """A criterion of a candidate."""

    name: str
    text: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmJudge(ChatConnection):
    """A model grades the candidate by a rubric, or by criteria with weights.

    It is asked `samples` times; the score is the mean, and the spread is told. What equals the
    truth, is missing or is of another kind is settled without asking. `per: field` judges each of
    `fields` for itself. `with_input` also shows the model what the candidate was made from.
    """

    name: ClassVar[str] = "llm_judge"
    rubric: str | None = None
    criteria: Sequence[Mapping[str, JsonValue]] = field(default=(), hash=False)
    samples: int = 1
    per: JudgedUnit = JudgedUnit.CASE
    fields: tuple[str, ...] = ()
    with_input: bool = False
    ask_equal: bool = False
    pass_threshold: float = 0.8
    _criteria: tuple[Criterion, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ChatConnection.__post_init__(self)
        object.__setattr__(self, "_criteria", read_criteria(self.rubric, self.criteria))
        object.__setattr__(self, "per", checked_choice("per", self.per, JudgedUnit))
        object.__setattr__(self, "fields", tuple(self.fields))
        check_number("samples", self.samples, least=1)
        check_share("pass_threshold", self.pass_threshold)
        check_flag("with_input", self.with_input)
        check_flag("ask_equal", self.ask_equal)
        if (self.per is JudgedUnit.FIELD) != bool(self.fields):
            raise OptionError("fields", "are needed with per: field, and only with it")
        for path in self.fields:
            if not is_path(path) or "*" in path:
                raise OptionError("fields", f"{path} does not name one field")

    def identity(self) -> JsonObject:
        """Return the model, its endpoint, the prompt and the options."""
        return {
            **self.parameters(),
            **self._task(),
            "samples": self.samples,
            "per": self.per.value,
            "fields": list(self.fields),
            "weights": [criterion.weight for criterion in self._criteria],
            "pass_threshold": self.pass_threshold,
            "with_input": self.with_input,
            "ask_equal": self.ask_equal,
        }

    @contextmanager
    def opened(self) -> Iterator[CaseScorer]:
        """Open the connections for one run."""
        with ExitStack() as stack:
            try:
                client = stack.enter_context(CachedClient.opened(self, self._task()))
            except LLM_ERRORS as error:
                failure = Score.error(f"{self.name}: {error}")
                yield lambda _: failure
            else:
                yield lambda case: self._judge(client, case)

    def _task(self) -> JsonObject:
        return {"task": "rubric", "prompt": self._prompt().identity()}

    def _prompt(self) -> Prompt:
        return rubric_prompt([(each.name, each.text) for each in self._criteria])

    def _judge(self, client: CachedClient, case: Case) -> Score:
        items = _items_to_judge(
            case, self.fields, with_input=self.with_input, ask_equal=self.ask_equal
        )
        names = [criterion.name for criterion in self._criteria]
        for number, item in enumerate(items):
            if item.decision is not None:
                continue
            try:
                grades = grade_samples(client, self, self._prompt(), item.data, names, self.samples)
            except LLM_ERRORS as error:
                where = f"{item.path}: " if item.path else ""
                return Score.error(f"{self.name}: {where}{error}")
            items[number] = item._replace(grades=grades)
        facts: JsonObject = {"judge": self.identity(), "samples": self.samples}
        return _score_case(case, items, self._criteria, self.pass_threshold, facts)


def read_criteria(
    rubric: str | None, criteria: Sequence[Mapping[str, JsonValue]]
) -> tuple[Criterion, ...]:
    """Return the criteria of the options; a rubric is the only criterion.

    >>> [criterion.name for criterion in read_criteria("Is it polite?", [])]
    ['rubric']
    """
    if rubric is not None and criteria:
        raise OptionError("criteria", "give either a rubric or criteria")
    if rubric is not None:
        if is_blank(rubric):
            raise OptionError("rubric", "must say what is judged")
        return (Criterion(name=_RUBRIC_NAME, text=rubric),)
    if not criteria:
        raise OptionError("rubric", "is needed, or criteria are")
    found = tuple(map(_read_criterion, criteria))
    if len({criterion.name for criterion in found}) != len(found):
        raise OptionError("criteria", "must not name a criterion twice")
    if not sum(criterion.weight for criterion in found) > 0:
        raise OptionError("criteria", "must have a weight above 0 in total")
    return found


def _read_criterion(given: Mapping[str, JsonValue]) -> Criterion:
    unknown = sorted(set(given) - _CRITERION_KEYS)
    if unknown:
        raise OptionError("criteria", f"unknown key {unknown[0]}; there are name, text and weight")
    name, text, weight = given.get("name"), given.get("text"), given.get("weight", 1.0)
    if not isinstance(name, str) or not isinstance(text, str) or is_blank(name) or not text:
        raise OptionError("criteria", "each needs a name and a text")
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise OptionError("criteria", f"the weight of {name} must be a number")
    if not (isfinite(weight) and weight >= 0):
        raise OptionError("criteria", f"the weight of {name} must be at least 0")
    return Criterion(name=name, text=text, weight=float(weight))


class _Decision(NamedTuple):
    """A score that needs no model, or none where there is nothing to judge."""

    score: float | None
    reason: str
    failed: bool = False


class _Item(NamedTuple):
    """A case, or a field of it, as the model sees it, and its decision or grades."""

    path: str
    data: JsonObject
    decision: _Decision | None = None
    grades: GradedSamples | None = None


def _items_to_judge(
    case: Case, fields: Sequence[str], *, with_input: bool, ask_equal: bool
) -> list[_Item]:
    if case.input is not CaseInput.OK:
        return [_Item("", {}, _Decision(0.0, case.note or "no readable candidate"))]
    shared: JsonObject = {}
    if with_input and case.context is not None and case.context.input is not MISSING:
        shared["input"] = case.context.input
    if not fields:
        return [_item("", case.expected, case.candidate, shared, ask_equal=ask_equal)]
    return [
        _item(
            path,
            resolve(case.expected, parse_path(path)),
            MISSING if case.candidate is MISSING else resolve(case.candidate, parse_path(path)),
            {**shared, "field": path},
            ask_equal=ask_equal,
        )
        for path in fields
    ]


def _item(
    path: str,
    expected: JsonValue | Missing,
    candidate: JsonValue | Missing,
    shared: JsonObject,
    *,
    ask_equal: bool,
) -> _Item:
    decision = _decide_without_model(expected, candidate, ask_equal=ask_equal)
    data = dict(shared)
    if expected is not MISSING and expected is not None:
        data["expected"] = expected
    if candidate is not MISSING:
        data["candidate"] = candidate
    if decision is None and len(json.dumps(data)) > MAX_DATA_CHARACTERS:
        reason = f"more than {MAX_DATA_CHARACTERS:,} characters are not sent"
        decision = _Decision(None, reason, failed=True)
    return _Item(path, data, decision)


def _decide_without_model(
    expected: JsonValue | Missing, candidate: JsonValue | Missing, *, ask_equal: bool
) -> _Decision | None:
    """Decide a candidate that is missing, equal to the ground truth or of another type."""
    if candidate is MISSING or presence(candidate) is not Presence.VALUE:
        if expected is MISSING or presence(expected) is not Presence.VALUE:
            return _Decision(None, "both empty")
        return _Decision(0.0, "missing")
    if expected is MISSING or presence(expected) is not Presence.VALUE:
        return None
    if equal(expected, candidate) and not ask_equal:
        return _Decision(1.0, "equal to the truth")
    if kind_of(expected) is not kind_of(candidate):
        return _Decision(0.0, "type mismatch")
    return None


class _ItemScore(NamedTuple):
    """The score of one item with its details."""

    path: str
    score: float
    details: JsonObject
    met: tuple[str, ...]
    unmet: tuple[str, ...]
    reasons: tuple[str, ...]
    spread: float = 0.0


def _score_case(
    case: Case,
    items: Sequence[_Item],
    criteria: Sequence[Criterion],
    threshold: float,
    facts: JsonObject,
) -> Score:
    """Return the mean over the items; one that could not be judged makes the case an error."""
    decisions = [(item.path, item.decision) for item in items if item.decision]
    for path, decision in decisions:
        if decision.failed:
            return Score.error(f"{path or 'the case'}: {decision.reason}")
    scores = [
        scored for item in items if (scored := _score_item(item, criteria, threshold)) is not None
    ]
    skipped = tuple(path or "$" for path, decision in decisions if decision.score is None)
    details = _details(case, scores, items, facts)
    if not scores:
        return Score(
            score=1.0,
            verdict=Verdict.PASS,
            reasoning="nothing to judge",
            details=details,
            vacuous=True,
            skipped=skipped,
        )
    score = _mean([each.score for each in scores])
    return Score(
        score=score,
        verdict=Verdict.PASS if score >= threshold - _ROUNDING else Verdict.FAIL,
        hits=tuple(name for each in scores for name in each.met),
        misses=tuple(name for each in scores for name in each.unmet),
        reasoning="; ".join([text for each in scores for text in each.reasons][:_MAX_REASONS]),
        details=details,
        skipped=skipped,
    )


def _score_item(item: _Item, criteria: Sequence[Criterion], threshold: float) -> _ItemScore | None:
    path, decision = item.path, item.decision
    if item.grades is not None:
        return _score_grades(path, item.grades, criteria, threshold)
    if decision is None or decision.score is None:
        return None
    name = path or "$"
    passed = decision.score >= threshold - _ROUNDING
    return _ItemScore(
        path=path,
        score=decision.score,
        details={"score": decision.score, "settled": decision.reason},
        met=(name,) if passed else (),
        unmet=() if passed else (f"{name} ({decision.reason})",),
        reasons=(decision.reason,),
    )


def _score_grades(
    path: str, samples: GradedSamples, criteria: Sequence[Criterion], threshold: float
) -> _ItemScore:
    totals = [_weighted_mean(grades, criteria) for grades in samples.grades]
    by_criterion = {
        each.name: [grades[each.name].score for grades in samples.grades] for each in criteria
    }
    means = {name: _mean(scores) for name, scores in by_criterion.items()}
    score, spread = _mean(totals), max(totals) - min(totals)
    prefix = f"{path}: " if path else ""
    rows: list[JsonValue] = [
        {
            "name": each.name,
            "weight": each.weight,
            "score": means[each.name],
            "sample_scores": list[JsonValue](by_criterion[each.name]),
            "spread": max(by_criterion[each.name]) - min(by_criterion[each.name]),
            "reasons": [grades[each.name].reason for grades in samples.grades],
        }
        for each in criteria
    ]
    return _ItemScore(
        path=path,
        score=score,
        details={
            "score": score,
            "sample_scores": list[JsonValue](totals),
            "spread": spread,
            "deviation": pstdev(totals),
            "criteria": rows,
        },
        met=tuple(
            f"{prefix}{name}" for name, mean in means.items() if mean >= threshold - _ROUNDING
        ),
        unmet=tuple(
            f"{prefix}{name} (scored {mean:.2f})"
            for name, mean in means.items()
            if mean < threshold - _ROUNDING
        ),
        reasons=tuple(
            f"{prefix}{name}: {grade.reason}"
            for name, grade in samples.grades[0].items()
            if grade.reason
        ),
        spread=spread,
    )


def _weighted_mean(grades: Mapping[str, Grade], criteria: Sequence[Criterion]) -> float:
    weights = fsum(criterion.weight for criterion in criteria)
    return fsum(grades[each.name].score * each.weight for each in criteria) / weights


def _mean(scores: Sequence[float]) -> float:
    return fsum(scores) / len(scores)


def _details(
    case: Case, scores: Sequence[_ItemScore], items: Sequence[_Item], facts: JsonObject
) -> JsonObject:
    calls = {
        call.id: call for item in items if item.grades is not None for call in item.grades.calls
    }
    usage: JsonObject = {
        "calls": len(calls),
        "input_tokens": sum(call.input_tokens for call in calls.values()),
        "output_tokens": sum(call.output_tokens for call in calls.values()),
    }
    details: JsonObject = {**facts, "usage": usage, "flags": _flag_instructions(case)}
    details["spread"] = max((each.spread for each in scores), default=0.0)
    if len(scores) == 1 and not scores[0].path:
        return {**details, **scores[0].details}
    return {**details, "fields": {each.path: each.details for each in scores}}


def _flag_instructions(case: Case) -> JsonObject:
    """Return the values that read like instructions to the model, by side and path."""
    sides: dict[str, JsonValue] = {"expected": case.expected}
    if case.candidate is not MISSING:
        sides["candidate"] = case.candidate
    found = {side: find_injections(value) for side, value in sides.items()}
    flagged: JsonObject = {side: dict(places) for side, places in found.items() if places}
    return {"instruction_like": flagged} if flagged else {}
