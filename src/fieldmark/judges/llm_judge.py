"""The LLM judge: a language model grades cases or fields by a rubric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from statistics import fmean, median, pstdev
from typing import Annotated, ClassVar, Final, NamedTuple, cast

from fieldmark.compare.prompt_injection import INJECTION_WARNING, find_injections
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import CaseScorer, Score, unreadable_reason
from fieldmark.judges.images import ImageError, check_file_paths, load_image, named_files
from fieldmark.judges.llm.chat import Grade, grade_samples, size_problem
from fieldmark.judges.llm.client import LLM_ERRORS, LlmClient, opened_judge
from fieldmark.judges.llm.connection import ChatConnection
from fieldmark.judges.llm.prompts import (
    TEMPLATE_VARIABLES,
    FewShotExample,
    Prompt,
    check_template,
    rubric_prompt,
    template_variables,
)
from fieldmark.judges.llm.usage_log import LlmCall
from fieldmark.metrics.identity import describe
from fieldmark.metrics.rates import weighted_share
from fieldmark.model.case import Case, CaseContext, CaseInput, Verdict
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing, kind_of
from fieldmark.values.annotations import NonNegativeFloat, NotBlank, PositiveInt, Share, problem_of
from fieldmark.values.equality import equal
from fieldmark.values.paths import is_path, parse_path, resolve
from fieldmark.values.presence import is_blank, is_present

_RUBRIC_NAME: Final = "rubric"
_CRITERION_KEYS: Final = frozenset({"name", "text", "weight"})
_ROUNDING: Final = 1e-9
_MAX_REASONS: Final = 10
_EXAMPLE_KEYS: Final = frozenset({"candidate", "expected", "input", "field", "grade", "reason"})


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


class SampleAggregation(StrEnum):
    """How the scores of several samples are combined."""

    MEAN = "mean"
    MEDIAN = "median"
    MAJORITY = "majority"


class _Choice(NamedTuple):
    """A choice of the model, the score for it and its meaning."""

    name: str
    score: float
    text: str


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

    The score of a criterion is the mean of `samples` calls, or their median or majority; their
    spread is reported. Values that are equal, missing or of another type are graded without a call;
    `ask_equal` sends equal values, too. `per: field` grades each of `fields` separately.
    `with_input` also sends the input of the case, and `images` the images at these paths. With
    `ground_truth: false`, a prediction is judged only against the input. The model selects one of
    `choices` instead of a score if there are any, and learns from `examples`. A `template` replaces
    the prompt.
    """

    name: ClassVar[str] = "llm_judge"
    rubric: Annotated[str, NotBlank()] | None = None
    criteria: Sequence[Mapping[str, JsonValue]] = field(default=(), hash=False)
    choices: Mapping[str, JsonValue] = field(default_factory=dict, hash=False)
    examples: Sequence[Mapping[str, JsonValue]] = field(default=(), hash=False)
    template: str | None = None
    samples: PositiveInt = 1
    aggregate: SampleAggregation = SampleAggregation.MEAN
    per: JudgedUnit = JudgedUnit.CASE
    fields: tuple[str, ...] = ()
    descriptions: Mapping[str, str] = field(default_factory=dict, hash=False)
    ground_truth: bool = True
    with_input: bool = False
    images: tuple[str, ...] = ()
    cwd: Path | None = None
    ask_equal: bool = False
    pass_threshold: Share = 0.8
    _criteria: tuple[Criterion, ...] = field(init=False, repr=False, compare=False)
    _prompt: Prompt = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ChatConnection.__post_init__(self)
        object.__setattr__(self, "_criteria", read_criteria(self.rubric, self.criteria))
        if (self.per is JudgedUnit.FIELD) != bool(self.fields):
            message = "requires per: field" if self.fields else "is required with per: field"
            raise OptionError("fields", message)
        for path in self.fields:
            if not is_path(path) or "*" in path:
                raise OptionError("fields", f"{path!r} is not the path of a single field")
        for path in self.descriptions:
            if path not in self.fields:
                raise OptionError("descriptions", f"{path!r} is not one of the fields")
        check_file_paths("images", self.images)
        object.__setattr__(self, "_prompt", self._make_prompt())

    @property
    def needs_expected(self) -> bool:
        """Whether cases require ground truth."""
        return self.ground_truth

    def identity(self) -> JsonObject:
        """Return the model, its endpoint, the prompt and the options."""
        # Options that are not part of the prompt; their defaults are left out.
        options: JsonObject = {
            "descriptions": dict(self.descriptions),
            "images": list(self.images),
            "choices": dict(self._prompt.choices),
        }
        if self.aggregate is not SampleAggregation.MEAN:
            options["aggregate"] = self.aggregate.value
        if not self.ground_truth:
            options["judged_against"] = "input"
        return {
            **self.parameters(),
            **self._task(),
            "samples": self.samples,
            "per": self.per.value,
            "fields": list(self.fields),
            "weights": [criterion.weight for criterion in self._criteria],
            **{name: value for name, value in options.items() if value},
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
        return {"task": "rubric", "prompt": self._prompt.identity()}

    def _make_prompt(self) -> Prompt:
        criteria = [(criterion.name, criterion.text) for criterion in self._criteria]
        prompt = rubric_prompt(criteria)
        if self.choices:
            choices = [_read_choice(*choice) for choice in self.choices.items()]
            prompt = replace(
                prompt,
                choices={choice.name: choice.score for choice in choices},
                levels={choice.name: choice.text for choice in choices},
            )
        if self.template is not None:
            variables = check_template("template", self.template, TEMPLATE_VARIABLES)
            if "candidate" not in variables:
                raise OptionError("template", "must contain {{candidate}}")
            prompt = replace(prompt, template=self.template)
        names = [criterion.name for criterion in self._criteria]
        examples = [_read_example(example, names, prompt.choices) for example in self.examples]
        return replace(prompt, examples=examples)

    @property
    def _sends_input(self) -> bool:
        used = self.template is not None and "input" in template_variables(self.template)
        return self.with_input or not self.ground_truth or used

    def _judge(self, client: LlmClient, case: Case) -> Score:
        """Score the case or each field; if a field cannot be judged, the case is an error."""
        if case.input is not CaseInput.OK:
            unparsed = case.input is CaseInput.PARSE_ERROR
            reason = unreadable_reason(case.candidate, unreadable=unparsed)
            unread = self._score_decision("", 0.0, case.note or str(reason))
            return self._score_case(case, [unread], (), ())
        shared: JsonObject = {}
        context = case.context or CaseContext()
        if self._sends_input and context.input is not MISSING:
            shared["input"] = context.input
        case_input = None if context.input is MISSING else context.input
        named: JsonObject = {"input": case_input, "metadata": context.metadata}
        directory = self.cwd or Path()
        try:
            images = [load_image(source, directory) for source in named_files(named, self.images)]
        except ImageError as error:
            return Score.error(f"{self.name}: {error}")
        if not self.ground_truth and "input" not in shared and not images:
            return Score.error(f"{self.name}: the case has no input to judge against")
        names = [criterion.name for criterion in self._criteria]
        scores: list[_UnitScore] = []
        skipped: list[str] = []
        calls: list[LlmCall] = []
        too_large = ""
        for path in self.fields or ("",):
            expected: JsonValue | Missing = case.expected if self.ground_truth else MISSING
            candidate = case.candidate
            if path:
                parsed = parse_path(path)
                expected = MISSING if expected is MISSING else resolve(expected, parsed)
                candidate = MISSING if candidate is MISSING else resolve(candidate, parsed)
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
                if path in self.descriptions:
                    data["description"] = self.descriptions[path]
            if expected is not MISSING and expected is not None:
                data["expected"] = expected
            if problem := size_problem(data):
                too_large = too_large or (f"{path}: {problem}" if path else problem)
                continue
            try:
                samples = grade_samples(
                    client, self, self._prompt, data, names, self.samples, images
                )
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
        case_input = case.context.input if self._sends_input and case.context else MISSING
        expected = case.expected if self.ground_truth else MISSING
        sides = {"expected": expected, "candidate": case.candidate, "input": case_input}
        for side, value in sides.items():
            if value is not MISSING and (places := find_injections(value)):
                suspicious[side] = dict(places)
        details: JsonObject = {
            "judge": describe(self.identity()),
            "samples": self.samples,
            "usage": {
                "calls": len(paid),
                "input_tokens": sum(call.input_tokens for call in paid),
                "output_tokens": sum(call.output_tokens for call in paid),
            },
            "flags": {"instruction_like": suspicious} if suspicious else {},
            "spread": max((unit.spread for unit in scores), default=0.0),
        }
        if len(scores) == 1 and not scores[0].path:
            details |= scores[0].details
        else:
            details["fields"] = {unit.path: unit.details for unit in scores}
        score = fmean(unit.score for unit in scores) if scores else 1.0
        reasons = [text for unit in scores for text in unit.reasons][:_MAX_REASONS]
        return Score(
            score=score,
            verdict=Verdict.PASS if self._passes(score) else Verdict.FAIL,
            hits=tuple(name for unit in scores for name in unit.met),
            misses=tuple(name for unit in scores for name in unit.unmet),
            reasoning="; ".join(reasons) if scores else "nothing to judge",
            details=details,
            vacuous=not scores,
            skipped=tuple(skipped),
            warnings=(INJECTION_WARNING,) if suspicious else (),
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
        weights = {criterion.name: criterion.weight for criterion in self._criteria}

        def total(scores: Mapping[str, float]) -> float:
            earned = [scores[name] * weight for name, weight in weights.items()]
            return weighted_share(earned, [*weights.values()]) or 0.0

        totals = [total({name: grades[name].score for name in weights}) for grades in samples]
        combine = _AGGREGATES[self.aggregate]
        spread = max(totals) - min(totals)
        means: dict[str, float] = {}
        rows: list[JsonValue] = []
        for criterion in self._criteria:
            scores = [grades[criterion.name].score for grades in samples]
            means[criterion.name] = combine(scores)
            row: JsonObject = {
                "name": criterion.name,
                "weight": criterion.weight,
                "score": means[criterion.name],
                "sample_scores": list[JsonValue](scores),
                "spread": max(scores) - min(scores),
                "reasons": [grades[criterion.name].reason for grades in samples],
            }
            if self.choices:
                row["choices"] = [grades[criterion.name].choice for grades in samples]
            rows.append(row)
        score = total(means)
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


def _majority(scores: Sequence[float]) -> float:
    """Return the most frequent score, and the lowest of several.

    >>> _majority([1.0, 0.5, 0.5]), _majority([1.0, 0.0])
    (0.5, 0.0)
    """
    counts = Counter(scores)
    return min(scores, key=lambda score: (-counts[score], score))


_AGGREGATES: Final[Mapping[SampleAggregation, Callable[[Sequence[float]], float]]] = {
    SampleAggregation.MEAN: fmean,
    SampleAggregation.MEDIAN: median,
    SampleAggregation.MAJORITY: _majority,
}


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
        return (Criterion(name=_RUBRIC_NAME, text=rubric),)
    if not criteria:
        raise OptionError("rubric", "is required unless criteria is set")
    result = tuple(map(_read_criterion, criteria))
    if len({criterion.name for criterion in result}) != len(result):
        raise OptionError("criteria", "must have unique names")
    if not sum(criterion.weight for criterion in result) > 0:
        raise OptionError("criteria", "must have a total weight greater than 0")
    return result


def _read_criterion(value: Mapping[str, JsonValue]) -> Criterion:
    unknown = sorted(set(value) - _CRITERION_KEYS)
    if unknown:
        message = f"unknown key {unknown[0]!r}; must be one of: name, text, weight"
        raise OptionError("criteria", message)
    name, text, weight = value.get("name"), value.get("text"), value.get("weight", 1.0)
    if not isinstance(name, str) or not isinstance(text, str) or is_blank(name) or not text:
        raise OptionError("criteria", "each criterion requires a name and a text")
    if problem := problem_of(NonNegativeFloat, weight):
        raise OptionError("criteria", f"the weight of {name!r} {problem}")
    return Criterion(name=name, text=text, weight=float(cast("float", weight)))


def _read_choice(name: str, value: JsonValue) -> _Choice:
    """Return a choice, given as its score or with the keys score and text."""
    score, text = value, ""
    if isinstance(value, Mapping):
        if not set(value) <= {"score", "text"} or not isinstance(value.get("text", ""), str):
            raise OptionError("choices", f"{name!r} must be a score, or have a score and a text")
        score, text = value.get("score"), str(value.get("text", ""))
    if is_blank(name):
        raise OptionError("choices", "must have names")
    if not _is_score(score):
        raise OptionError("choices", f"the score of {name!r} must be a number from 0 to 1")
    return _Choice(name, float(cast("float", score)), text or name)


def _is_score(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _read_example(
    example: Mapping[str, JsonValue], names: Sequence[str], choices: Mapping[str, float]
) -> FewShotExample:
    """Return an example; `grade` and `reason` are for all criteria, or objects by criterion."""
    unknown = sorted(set(example) - _EXAMPLE_KEYS)
    if unknown:
        message = f"unknown key {unknown[0]!r}; must be one of: {', '.join(sorted(_EXAMPLE_KEYS))}"
        raise OptionError("examples", message)
    if "candidate" not in example or "grade" not in example:
        raise OptionError("examples", "each example requires a candidate and a grade")
    grade, reason = example["grade"], example.get("reason", "")
    by_name = [
        entry if isinstance(entry, Mapping) else dict.fromkeys(names, entry)
        for entry in (grade, reason)
    ]
    grades: dict[str, tuple[float | str, str]] = {}
    for name in names:
        value, why = by_name[0].get(name), by_name[1].get(name, "")
        valid = value in choices if choices and isinstance(value, str) else _is_score(value)
        if not valid or (choices and not isinstance(value, str)):
            wanted = f"one of: {', '.join(choices)}" if choices else "a number from 0 to 1"
            raise OptionError("examples", f"the grade for {name!r} must be {wanted}")
        if not isinstance(why, str):
            raise OptionError("examples", f"the reason for {name!r} must be a string")
        grades[name] = cast("float | str", value), why
    data = {name: value for name, value in example.items() if name not in {"grade", "reason"}}
    return FewShotExample(data, grades)
