"""The LLM judge: a language model grades cases or fields by a rubric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from math import fsum
from statistics import fmean, pstdev
from typing import ClassVar, Final, NamedTuple, cast

from fieldmark.compare.options import check_flag, check_share, checked_choice
from fieldmark.compare.prompt_injection import find_injections
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import CaseScorer, Score, unreadable_reason
from fieldmark.judges.llm.chat import Grade, grade_samples, size_problem
from fieldmark.judges.llm.client import LLM_ERRORS, LlmClient, opened_judge
from fieldmark.judges.llm.connection import ChatConnection, check_number
from fieldmark.judges.llm.prompts import Prompt, rubric_prompt
from fieldmark.judges.llm.usage_log import LlmCall
from fieldmark.model.case import Case, CaseInput, Verdict
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing, kind_of
from fieldmark.values.equality import equal
from fieldmark.values.numbers import is_finite
from fieldmark.values.paths import is_path, parse_path, resolve
from fieldmark.values.presence import is_blank, is_present

__all__ = ["Criterion", "JudgedUnit", "LlmJudge", "read_criteria"]

_RUBRIC_NAME: Final = "rubric"
_CRITERION_KEYS: Final = frozenset({"name", "text", "weight"})
_ROUNDING: Final = 1e-9
_MAX_REASONS: Final = 10


class JudgedUnit(StrEnum):
    """Whether a whole case or each field is judged."""

    CASE = "case"
    FIELD = "field"


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """A criterion with its weight."""

    name: str
    text: str
    weight: float = 1.0


class _Decision(NamedTuple):
    """A score that requires no model, or `None` if both values are empty."""

    score: float | None
    reason: str


class _UnitScore(NamedTuple):
    """The score of a case or field with its details."""

    path: str
    score: float
    details: JsonObject
    met: tuple[str, ...]
    unmet: tuple[str, ...]
    reasons: tuple[str, ...]
    spread: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmJudge(ChatConnection):
    """Grade a prediction with a language model, by a rubric or by weighted criteria.

    The score is the mean of `samples` calls; their spread is reported. Values that are equal,
    missing or of another type are graded without a call; `ask_equal` sends equal values, too.
    `per: field` grades each of `fields` separately. `with_input` also sends the input of the case.
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
        check_number("samples", self.samples, minimum=1)
        check_share("pass_threshold", self.pass_threshold)
        check_flag("with_input", self.with_input)
        check_flag("ask_equal", self.ask_equal)
        if (self.per is JudgedUnit.FIELD) != bool(self.fields):
            message = "requires per: field" if self.fields else "is required with per: field"
            raise OptionError("fields", message)
        for path in self.fields:
            if not is_path(path) or "*" in path:
                raise OptionError("fields", f"{path!r} is not the path of a single field")

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

    def opened(self) -> AbstractContextManager[CaseScorer]:
        """Open the connections for one run."""
        return opened_judge(
            self, self._task(), self._judge, lambda error: Score.error(f"{self.name}: {error}")
        )

    def _task(self) -> JsonObject:
        return {"task": "rubric", "prompt": self._prompt().identity()}

    def _prompt(self) -> Prompt:
        criteria = [(each.name, each.text) for each in self._criteria]
        return rubric_prompt(criteria, self.prompt_version)

    def _judge(self, client: LlmClient, case: Case) -> Score:
        """Score the case or each of the fields; if one cannot be judged, the case is an error."""
        if case.input is not CaseInput.OK:
            unparsed = case.input is CaseInput.PARSE_ERROR
            reason = unreadable_reason(case.candidate, unreadable=unparsed)
            unread = self._score_decision("", 0.0, case.note or str(reason))
            return self._score_case(case, [unread], (), ())
        shared: JsonObject = {}
        if self.with_input and case.context is not None and case.context.input is not MISSING:
            shared["input"] = case.context.input
        names = [criterion.name for criterion in self._criteria]
        scores: list[_UnitScore] = []
        skipped: list[str] = []
        calls: list[LlmCall] = []
        too_large = ""
        for path in self.fields or ("",):
            expected, candidate = _sides(case, path)
            decision = _decide_without_model(expected, candidate, ask_equal=self.ask_equal)
            if decision is not None:
                if decision.score is None:
                    skipped.append(path or "$")
                else:
                    scores.append(self._score_decision(path, decision.score, decision.reason))
                continue
            data: JsonObject = {**shared, "candidate": cast("JsonValue", candidate)}
            if path:
                data["field"] = path
            if expected is not MISSING and expected is not None:
                data["expected"] = expected
            if problem := size_problem(data):
                too_large = too_large or (f"{path}: {problem}" if path else problem)
                continue
            try:
                samples = grade_samples(client, self, self._prompt(), data, names, self.samples)
            except LLM_ERRORS as error:
                where = f"{path}: " if path else ""
                return Score.error(f"{self.name}: {where}{error}")
            scores.append(self._score_grades(path, [sample.grades for sample in samples]))
            calls += [sample.call for sample in samples]
        if too_large:
            return Score.error(too_large)
        return self._score_case(case, scores, skipped, calls)

    def _score_case(
        self,
        case: Case,
        scores: Sequence[_UnitScore],
        skipped: Sequence[str],
        calls: Sequence[LlmCall],
    ) -> Score:
        """Return the mean over the scores, with the details of each."""
        paid = {call.id: call for call in calls}.values()
        # Values that look like instructions to the model, by side and path.
        suspicious: JsonObject = {}
        for side, value in (("expected", case.expected), ("candidate", case.candidate)):
            if value is not MISSING and (places := find_injections(value)):
                suspicious[side] = dict(places)
        details: JsonObject = {
            "judge": self.identity(),
            "samples": self.samples,
            "usage": {
                "calls": len(paid),
                "input_tokens": sum(call.input_tokens for call in paid),
                "output_tokens": sum(call.output_tokens for call in paid),
            },
            "flags": {"instruction_like": suspicious} if suspicious else {},
            "spread": max((each.spread for each in scores), default=0.0),
        }
        if len(scores) == 1 and not scores[0].path:
            details |= scores[0].details
        else:
            details["fields"] = {each.path: each.details for each in scores}
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
            skipped=tuple(skipped),
        )

    def _passes(self, score: float) -> bool:
        return score >= self.pass_threshold - _ROUNDING

    def _score_decision(self, path: str, score: float, reason: str) -> _UnitScore:
        name = path or "$"
        passed = self._passes(score)
        return _UnitScore(
            path=path,
            score=score,
            details={"score": score, "settled": reason},
            met=(name,) if passed else (),
            unmet=() if passed else (f"{name} ({reason})",),
            reasons=(reason,),
        )

    def _score_grades(self, path: str, samples: Sequence[Mapping[str, Grade]]) -> _UnitScore:
        weights = fsum(each.weight for each in self._criteria)
        totals = [
            fsum(grades[each.name].score * each.weight for each in self._criteria) / weights
            for grades in samples
        ]
        score, spread = fmean(totals), max(totals) - min(totals)
        means: dict[str, float] = {}
        rows: list[JsonValue] = []
        for each in self._criteria:
            scores = [grades[each.name].score for grades in samples]
            means[each.name] = fmean(scores)
            rows.append(
                {
                    "name": each.name,
                    "weight": each.weight,
                    "score": means[each.name],
                    "sample_scores": list[JsonValue](scores),
                    "spread": max(scores) - min(scores),
                    "reasons": [grades[each.name].reason for grades in samples],
                }
            )
        prefix = f"{path}: " if path else ""
        return _UnitScore(
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
                for name, grade in samples[0].items()
                if grade.reason
            ),
            spread=spread,
        )


def _sides(case: Case, path: str) -> tuple[JsonValue | Missing, JsonValue | Missing]:
    """Return the expected and the predicted value of a case or field."""
    if not path:
        return case.expected, case.candidate
    parsed = parse_path(path)
    candidate = MISSING if case.candidate is MISSING else resolve(case.candidate, parsed)
    return resolve(case.expected, parsed), candidate


def _decide_without_model(
    expected: JsonValue | Missing, candidate: JsonValue | Missing, *, ask_equal: bool
) -> _Decision | None:
    """Grade a candidate that is missing, equal to the ground truth or of another type."""
    if candidate is MISSING or not is_present(candidate):
        return _Decision(0.0, "missing") if is_present(expected) else _Decision(None, "both empty")
    if expected is MISSING or not is_present(expected):
        return None
    if equal(expected, candidate) and not ask_equal:
        return _Decision(1.0, "equal to the ground truth")
    if kind_of(expected) is not kind_of(candidate):
        return _Decision(0.0, "wrong type")
    return None


def read_criteria(
    rubric: str | None, criteria: Sequence[Mapping[str, JsonValue]]
) -> tuple[Criterion, ...]:
    """Return the validated criteria; a rubric becomes the only criterion.

    >>> [criterion.name for criterion in read_criteria("Is it polite?", [])]
    ['rubric']
    """
    if rubric is not None and criteria:
        raise OptionError("criteria", "cannot be combined with rubric")
    if rubric is not None:
        if is_blank(rubric):
            raise OptionError("rubric", "must not be blank")
        return (Criterion(name=_RUBRIC_NAME, text=rubric),)
    if not criteria:
        raise OptionError("rubric", "is required unless criteria is set")
    found = tuple(map(_read_criterion, criteria))
    if len({criterion.name for criterion in found}) != len(found):
        raise OptionError("criteria", "must have unique names")
    if not sum(criterion.weight for criterion in found) > 0:
        raise OptionError("criteria", "must have a total weight greater than 0")
    return found


def _read_criterion(given: Mapping[str, JsonValue]) -> Criterion:
    unknown = sorted(set(given) - _CRITERION_KEYS)
    if unknown:
        message = f"unknown key {unknown[0]!r}; must be one of: name, text, weight"
        raise OptionError("criteria", message)
    name, text, weight = given.get("name"), given.get("text"), given.get("weight", 1.0)
    if not isinstance(name, str) or not isinstance(text, str) or is_blank(name) or not text:
        raise OptionError("criteria", "each criterion requires a name and a text")
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise OptionError("criteria", f"the weight of {name!r} must be a number")
    if not (is_finite(weight) and weight >= 0):
        raise OptionError("criteria", f"the weight of {name!r} must be at least 0")
    return Criterion(name=name, text=text, weight=float(weight))
