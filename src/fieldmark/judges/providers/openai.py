"""Similarity by a language model's own judgement, several pairs a call."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, Final

from fieldmark.compare.options import checked_choice
from fieldmark.judges.llm.answers import FAULTS, Answers, Question
from fieldmark.judges.llm.cache import Kept
from fieldmark.judges.llm.calls import Caller
from fieldmark.judges.llm.chat import ask
from fieldmark.judges.llm.chat_options import ChatConnection
from fieldmark.judges.llm.connection import check_number
from fieldmark.judges.llm.prompts import FORM, MEANING, Prompt
from fieldmark.judges.llm.replies import UnusableReplyError
from fieldmark.judges.providers.columns import at_once, failed, groups
from fieldmark.model.comparison import Similarity, TextPair
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import Reason

__all__ = ["Aspect", "OpenAi"]

LONGEST_TEXT: Final = 20_000
_MOST_CHARACTERS: Final = 40_000
"""In one call, unless a single pair has more."""


class Aspect(StrEnum):
    """In what two texts are compared: what they mean, or how they are written."""

    MEANING = "meaning"
    FORM = "form"


_PROMPTS: Final[Mapping[Aspect, Prompt]] = {Aspect.MEANING: MEANING, Aspect.FORM: FORM}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAi(ChatConnection):
    """A language model behind an OpenAI-compatible endpoint grades pairs, `batch` of them a call.

    A reply that cannot be believed is an error, never a number. Where it was about several pairs,
    they are asked about again in two halves, so that one odd text costs nobody else.
    """

    name: ClassVar[str] = "openai"
    approximate: ClassVar[bool] = False
    # A model that reads the texts sees for itself what guards look for.
    guarded: ClassVar[bool] = False
    persuadable: ClassVar[bool] = True
    aspect: Aspect = Aspect.MEANING
    batch: int = 20

    def __post_init__(self) -> None:
        ChatConnection.__post_init__(self)
        check_number("batch", self.batch, least=1)
        object.__setattr__(self, "aspect", checked_choice("aspect", self.aspect, Aspect))

    def identity(self) -> JsonObject:
        """The model, where it is, and what it is asked."""
        return {**self.parameters(), **self._about(), "batch": self.batch}

    def of_form(self) -> OpenAi:
        """The same model, asked how alike texts are in writing; both keep one set of books."""
        other = replace(self, aspect=Aspect.FORM)
        object.__setattr__(other, "_ledger", self._ledger)
        return other

    def similarities(self, pairs: Sequence[TextPair]) -> Sequence[Similarity]:
        """The model's judgement of each pair; a failure for each that it gave none on."""
        try:
            with Answers.opened(self, self._about()) as answers:
                return self._column(answers, pairs)
        except FAULTS as error:
            return [failed(error)] * len(pairs)

    def _about(self) -> JsonObject:
        return {"task": "similarity", "prompt": _PROMPTS[self.aspect].identity()}

    def _column(self, answers: Answers, pairs: Sequence[TextPair]) -> list[Similarity]:
        column: dict[TextPair, Similarity] = {
            pair: failed(f"texts beyond {LONGEST_TEXT} characters are not sent", Reason.TOO_LONG)
            for pair in pairs
            if max(map(len, pair)) > LONGEST_TEXT
        }
        rest = [pair for pair in pairs if pair not in column]
        for pair, kept in zip(rest, answers.known(list(map(_question, rest))), strict=True):
            if kept is not None:
                column[pair] = _number(kept.answer)
        unknown = [pair for pair in dict.fromkeys(rest) if pair not in column]
        calls = list(groups(unknown, _size, most=self.batch, most_size=_MOST_CHARACTERS))
        graded = at_once(lambda some: self._asked(answers, some), calls, self.concurrency)
        column.update(zip(unknown, graded, strict=True))
        return [column[pair] for pair in pairs]

    def _asked(self, answers: Answers, pairs: list[TextPair]) -> list[Similarity]:
        questions = [_question(pair) for pair in pairs]
        try:
            said = answers.asked(questions, lambda caller: self._call(caller, pairs))
        except UnusableReplyError as error:
            if len(pairs) == 1:
                return [failed(error)]
            half = len(pairs) // 2
            return [*self._asked(answers, pairs[:half]), *self._asked(answers, pairs[half:])]
        except FAULTS as error:
            return [failed(error)] * len(pairs)
        return [_number(kept.answer) for kept in said]

    def _call(self, caller: Caller, pairs: Sequence[TextPair]) -> list[Kept]:
        ids = [f"p{number}" for number in range(1, len(pairs) + 1)]
        data: JsonValue = [
            {"id": name, "first": first, "second": second}
            for name, (first, second) in zip(ids, map(_shuffled, pairs), strict=True)
        ]
        marks, call = ask(caller, self, _PROMPTS[self.aspect], {"pairs": data}, ids)
        return [Kept(marks[name].score, call) for name in ids]


def _question(pair: TextPair) -> Question:
    return {"texts": list(pair), "repeat": 0}


def _size(pair: TextPair) -> int:
    return len(pair[0]) + len(pair[1])


def _shuffled(pair: TextPair) -> TextPair:
    """A pair in an order that only its texts decide: which is the truth must not show."""
    text = "\0".join(pair).encode("utf-8", "surrogatepass")
    return pair if hashlib.sha256(text).digest()[0] % 2 else (pair[1], pair[0])


def _number(answer: JsonValue) -> Similarity:
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        return float(answer)
    return failed("the cache holds no similarity")
