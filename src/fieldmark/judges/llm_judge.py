"""A language model as a judge of whole cases, or of some of their fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from fieldmark.compare.options import check_flag, check_share, checked_choice
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import CaseScorer, Score
from fieldmark.evaluators.field_evaluator import is_path
from fieldmark.judges.criteria import Criterion, read_criteria
from fieldmark.judges.llm.answers import FAULTS, Answers
from fieldmark.judges.llm.chat_options import ChatConnection
from fieldmark.judges.llm.connection import check_number
from fieldmark.judges.llm.prompts import Prompt, rubric_prompt
from fieldmark.judges.llm_verdict import Asked, Subject, case_score
from fieldmark.judges.sampling import Sampled, sampled
from fieldmark.judges.subjects import subjects_of
from fieldmark.model.case import Case
from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["LlmJudge", "Per"]


class Per(StrEnum):
    """What is judged at a time."""

    CASE = "case"
    FIELD = "field"


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
    per: Per = Per.CASE
    fields: tuple[str, ...] = ()
    with_input: bool = False
    ask_equal: bool = False
    pass_threshold: float = 0.8
    _criteria: tuple[Criterion, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ChatConnection.__post_init__(self)
        object.__setattr__(self, "_criteria", read_criteria(self.rubric, self.criteria))
        object.__setattr__(self, "per", checked_choice("per", self.per, Per))
        object.__setattr__(self, "fields", tuple(self.fields))
        check_number("samples", self.samples, least=1)
        check_share("pass_threshold", self.pass_threshold)
        check_flag("with_input", self.with_input)
        check_flag("ask_equal", self.ask_equal)
        if (self.per is Per.FIELD) != bool(self.fields):
            raise OptionError("fields", "are needed with per: field, and only with it")
        for path in self.fields:
            if not is_path(path) or "*" in path:
                raise OptionError("fields", f"{path} does not name one field")

    def identity(self) -> JsonObject:
        """The model, where it is, what it is asked and how often."""
        return {
            **self.parameters(),
            **self._about(),
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
        """What judges the cases of one run; its connections are closed in the end."""
        with ExitStack() as stack:
            try:
                answers = stack.enter_context(Answers.opened(self, self._about()))
            except FAULTS as error:
                failure = Score.error(f"{self.name}: {error}")
                yield lambda _: failure
            else:
                yield lambda case: self._judged(answers, case)

    def _about(self) -> JsonObject:
        return {"task": "rubric", "prompt": self._prompt().identity()}

    def _prompt(self) -> Prompt:
        return rubric_prompt([(each.name, each.text) for each in self._criteria])

    def _judged(self, answers: Answers, case: Case) -> Score:
        subjects = subjects_of(
            case, self.fields, with_input=self.with_input, ask_equal=self.ask_equal
        )
        asked: list[Asked] = []
        for subject in subjects:
            if subject.settled is not None:
                asked.append(Asked(subject, None))
                continue
            try:
                asked.append(Asked(subject, self._sampled(answers, subject)))
            except FAULTS as error:
                where = f"{subject.path}: " if subject.path else ""
                return Score.error(f"{self.name}: {where}{error}")
        facts: JsonObject = {"judge": self.identity(), "samples": self.samples}
        return case_score(case, asked, self._criteria, self.pass_threshold, facts)

    def _sampled(self, answers: Answers, subject: Subject) -> Sampled:
        names = [criterion.name for criterion in self._criteria]
        return sampled(answers, self, self._prompt(), subject.data, names, self.samples)
