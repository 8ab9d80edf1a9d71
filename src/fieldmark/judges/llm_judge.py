"""The LLM judge: a language model grades cases, or fields of them, by a rubric."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from math import fsum, isfinite
from statistics import fmean, pstdev
from typing import ClassVar, Final, NamedTuple

from fieldmark.compare.options import check_flag, check_share, checked_choice
from fieldmark.compare.prompt_injection import find_injections
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import CaseScorer, Score
from fieldmark.judges.llm.chat import MAX_DATA_CHARACTERS, GradedSamples, grade_samples
from fieldmark.judges.llm.client import LLM_ERRORS, LlmClient
from fieldmark.judges.llm.connection import ChatConnection, check_number
from fieldmark.judges.llm.prompts import Prompt, rubric_prompt
from fieldmark.model.case import Case, CaseInput, Verdict
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing, kind_of
from fieldmark.values.equality import equal
from fieldmark.values.paths import is_path, parse_path, resolve
from fieldmark.values.presence import is_blank, is_present

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


class _Decision(NamedTuple):
    """A score that needs no model, or none where there is nothing to judge."""

    score: float | None
    reason: str


class _Item(NamedTuple):
    """A case, or a field of it, as the model sees it, and its decision, failure or grades."""

    path: str
    data: JsonObject
    decision: _Decision | None = None
    failure: str = ""
    grades: GradedSamples | None = None


class _ItemScore(NamedTuple):
    """The score of one item with its details."""

    path: str
    score: float
    details: JsonObject
    met: tuple[str, ...]
    unmet: tuple[str, ...]
    reasons: tuple[str, ...]
    spread: float = 0.0


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
                client = stack.enter_context(LlmClient.opened(self, self._task()))
            except LLM_ERRORS as error:
                failure = Score.error(f"{self.name}: {error}")
                yield lambda _: failure
            else:
                yield lambda case: self._judge(client, case)

    def _task(self) -> JsonObject:
        return {"task": "rubric", "prompt": self._prompt().identity()}

    def _prompt(self) -> Prompt:
        return rubric_prompt([(each.name, each.text) for each in self._criteria])

    def _judge(self, client: LlmClient, case: Case) -> Score:
        names = [criterion.name for criterion in self._criteria]
        items = self._items(case)
        for number, item in enumerate(items):
            if item.decision is not None or item.failure:
                continue
            try:
                grades = grade_samples(client, self, self._prompt(), item.data, names, self.samples)
            except LLM_ERRORS as error:
                where = f"{item.path}: " if item.path else ""
                return Score.error(f"{self.name}: {where}{error}")
            items[number] = item._replace(grades=grades)
        return self._score_case(case, items)

    def _items(self, case: Case) -> list[_Item]:
        """Return the case, or each of the fields."""
        if case.input is not CaseInput.OK:
            return [_Item("", {}, _Decision(0.0, case.note or "no readable candidate"))]
        shared: JsonObject = {}
        if self.with_input and case.context is not None and case.context.input is not MISSING:
            shared["input"] = case.context.input
        if not self.fields:
            return [self._item("", case.expected, case.candidate, shared)]
        return [
            self._item(
                path,
                resolve(case.expected, parse_path(path)),
                MISSING if case.candidate is MISSING else resolve(case.candidate, parse_path(path)),
                {**shared, "field": path},
            )
            for path in self.fields
        ]

    def _item(
        self,
        path: str,
        expected: JsonValue | Missing,
        candidate: JsonValue | Missing,
        shared: JsonObject,
    ) -> _Item:
        data = dict(shared)
        if expected is not MISSING and expected is not None:
            data["expected"] = expected
        if candidate is not MISSING:
            data["candidate"] = candidate
        decision = _decide_without_model(expected, candidate, ask_equal=self.ask_equal)
        failure = ""
        if decision is None and len(json.dumps(data)) > MAX_DATA_CHARACTERS:
            failure = f"more than {MAX_DATA_CHARACTERS:,} characters are not sent"
        return _Item(path, data, decision, failure)

    def _score_case(self, case: Case, items: Sequence[_Item]) -> Score:
        """Return the mean over the items; one that could not be judged makes the case an error."""
        for item in items:
            if item.failure:
                return Score.error(f"{item.path or 'the case'}: {item.failure}")
        scores = [scored for item in items if (scored := self._score_item(item)) is not None]
        details = self._details(case, items, scores)
        skipped = tuple(
            item.path or "$" for item in items if item.decision and item.decision.score is None
        )
        score = fmean(each.score for each in scores) if scores else 1.0
        reasons = [text for each in scores for text in each.reasons][:_MAX_REASONS]
        return Score(
            score=score,
            verdict=Verdict.PASS if self._passes(score) else Verdict.FAIL,
            hits=tuple(name for each in scores for name in each.met),
            misses=tuple(name for each in scores for name in each.unmet),
            reasoning="; ".join(reasons) if scores else "nothing to judge",
            details=details,
            vacuous=not scores,
            skipped=skipped,
        )

    def _passes(self, score: float) -> bool:
        return score >= self.pass_threshold - _ROUNDING

    def _score_item(self, item: _Item) -> _ItemScore | None:
        """Return the score of a decision or of grades, or none if there was nothing to judge."""
        if item.grades is not None:
            return self._score_grades(item.path, item.grades)
        if item.decision is None or item.decision.score is None:
            return None
        score, reason = item.decision.score, item.decision.reason
        name = item.path or "$"
        passed = self._passes(score)
        return _ItemScore(
            path=item.path,
            score=score,
            details={"score": score, "settled": reason},
            met=(name,) if passed else (),
            unmet=() if passed else (f"{name} ({reason})",),
            reasons=(reason,),
        )

    def _score_grades(self, path: str, samples: GradedSamples) -> _ItemScore:
        weights = fsum(each.weight for each in self._criteria)
        totals = [
            fsum(grades[each.name].score * each.weight for each in self._criteria) / weights
            for grades in samples.grades
        ]
        score, spread = fmean(totals), max(totals) - min(totals)
        means: dict[str, float] = {}
        rows: list[JsonValue] = []
        for each in self._criteria:
            scores = [grades[each.name].score for grades in samples.grades]
            means[each.name] = fmean(scores)
            rows.append(
                {
                    "name": each.name,
                    "weight": each.weight,
                    "score": means[each.name],
                    "sample_scores": list[JsonValue](scores),
                    "spread": max(scores) - min(scores),
                    "reasons": [grades[each.name].reason for grades in samples.grades],
                }
            )
        prefix = f"{path}: " if path else ""
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
            met=tuple(f"{prefix}{name}" for name, mean in means.items() if self._passes(mean)),
            unmet=tuple(
                f"{prefix}{name} (scored {mean:.2f})"
                for name, mean in means.items()
                if not self._passes(mean)
            ),
            reasons=tuple(
                f"{prefix}{name}: {grade.reason}"
                for name, grade in samples.grades[0].items()
                if grade.reason
            ),
            spread=spread,
        )

    def _details(
        self, case: Case, items: Sequence[_Item], scores: Sequence[_ItemScore]
    ) -> JsonObject:
        calls = {call.id: call for item in items if item.grades for call in item.grades.calls}
        # The values that read like instructions to the model, by side and path.
        suspicious: JsonObject = {}
        for side, value in (("expected", case.expected), ("candidate", case.candidate)):
            if value is not MISSING and (places := find_injections(value)):
                suspicious[side] = dict(places)
        details: JsonObject = {
            "judge": self.identity(),
            "samples": self.samples,
            "usage": {
                "calls": len(calls),
                "input_tokens": sum(call.input_tokens for call in calls.values()),
                "output_tokens": sum(call.output_tokens for call in calls.values()),
            },
            "flags": {"instruction_like": suspicious} if suspicious else {},
            "spread": max((each.spread for each in scores), default=0.0),
        }
        if len(scores) == 1 and not scores[0].path:
            return {**details, **scores[0].details}
        return {**details, "fields": {each.path: each.details for each in scores}}


def _decide_without_model(
    expected: JsonValue | Missing, candidate: JsonValue | Missing, *, ask_equal: bool
) -> _Decision | None:
    """Decide a candidate that is missing, equal to the ground truth or of another type."""
    if candidate is MISSING or not is_present(candidate):
        return _Decision(0.0, "missing") if is_present(expected) else _Decision(None, "both empty")
    if expected is MISSING or not is_present(expected):
        return None
    if equal(expected, candidate) and not ask_equal:
        return _Decision(1.0, "equal to the truth")
    if kind_of(expected) is not kind_of(candidate):
        return _Decision(0.0, "type mismatch")
    return None


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
