"""The provider openai: a language model grades the similarity of pairs, in batches."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, Final

from fieldmark.compare.options import checked_choice
from fieldmark.judges.llm.answer_cache import CachedAnswer
from fieldmark.judges.llm.chat import ask_for_grades
from fieldmark.judges.llm.client import LlmClient
from fieldmark.judges.llm.connection import ChatConnection, check_number
from fieldmark.judges.llm.prompts import FORM, MEANING, Prompt
from fieldmark.judges.providers.batches import answer_in_batches, provider_error
from fieldmark.model.comparison import Similarity, TextPair
from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["Aspect", "OpenAi"]

_MAX_BATCH_CHARACTERS: Final = 40_000
"""The size of a batch of several pairs."""


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
    # A model that reads the texts needs no guards.
    guarded: ClassVar[bool] = False
    persuadable: ClassVar[bool] = True
    aspect: Aspect = Aspect.MEANING
    batch: int = 20

    def __post_init__(self) -> None:
        ChatConnection.__post_init__(self)
        check_number("batch", self.batch, least=1)
        object.__setattr__(self, "aspect", checked_choice("aspect", self.aspect, Aspect))

    def identity(self) -> JsonObject:
        """Return the model, its endpoint and the prompt."""
        return {**self.parameters(), **self._task(), "batch": self.batch}

    def of_form(self) -> OpenAi:
        """Return the same model, asked about spelling; both share one usage log."""
        other = replace(self, aspect=Aspect.FORM)
        object.__setattr__(other, "_usage_log", self._usage_log)
        return other

    def similarities(self, pairs: Sequence[TextPair]) -> Sequence[Similarity]:
        """Return the model's grade of each pair, or an error."""
        answers = answer_in_batches(
            self,
            self._task(),
            pairs,
            texts=lambda pair: pair,
            question=lambda pair: {"texts": list(pair), "repeat": 0},
            ask=self._grade,
            read=_as_similarity,
            max_items=self.batch,
            max_characters=_MAX_BATCH_CHARACTERS,
            halve=True,
        )
        return [answers[pair] for pair in pairs]

    def _task(self) -> JsonObject:
        return {"task": "similarity", "prompt": _PROMPTS[self.aspect].identity()}

    def _grade(self, client: LlmClient, pairs: Sequence[TextPair]) -> list[CachedAnswer]:
        ids = [f"p{number}" for number in range(1, len(pairs) + 1)]
        data: JsonValue = [
            {"id": name, "first": first, "second": second}
            for name, (first, second) in zip(ids, map(_shuffled, pairs), strict=True)
        ]
        grades, call = ask_for_grades(client, self, _PROMPTS[self.aspect], {"pairs": data}, ids)
        return [CachedAnswer(grades[name].score, call) for name in ids]


def _shuffled(pair: TextPair) -> TextPair:
    """Return a pair in an order that does not reveal which text is the ground truth."""
    text = "\0".join(pair).encode("utf-8", "surrogatepass")
    return pair if hashlib.sha256(text).digest()[0] % 2 else (pair[1], pair[0])


def _as_similarity(answer: JsonValue) -> Similarity:
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        return float(answer)
    return provider_error("the cache holds no similarity")
