"""Similarity of the vectors that a model behind an endpoint makes of texts."""

from __future__ import annotations

from array import array
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar, Final

from fieldmark.judges.llm.answers import FAULTS, Answers, Question
from fieldmark.judges.llm.cache import Kept
from fieldmark.judges.llm.calls import Caller
from fieldmark.judges.llm.connection import Connection, check_number
from fieldmark.judges.llm.replies import UnusableReplyError
from fieldmark.judges.providers.columns import at_once, failed, groups
from fieldmark.judges.providers.vectors import Vector, cosines
from fieldmark.model.comparison import Comparison, Similarity, TextPair
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import Reason

__all__ = ["OpenAiEmbeddings"]

LONGEST_TEXT: Final = 20_000
_MOST_CHARACTERS: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAiEmbeddings(Connection):
    """Vectors of an embedding model behind an OpenAI-compatible endpoint, compared by their angle.

    `batch` texts go into a call. `dimensions` asks for shorter vectors where a model can make them.
    """

    name: ClassVar[str] = "openai_embeddings"
    approximate: ClassVar[bool] = False
    guarded: ClassVar[bool] = True
    dimensions: int | None = None
    batch: int = 64

    def __post_init__(self) -> None:
        Connection.__post_init__(self)
        check_number("dimensions", self.dimensions, least=1)
        check_number("batch", self.batch, least=1)

    def identity(self) -> JsonObject:
        """The model, where it is, and the length of its vectors."""
        return {**self.parameters(), **self._about()}

    def similarities(self, pairs: Sequence[TextPair]) -> Sequence[Similarity]:
        """The cosine of each pair; a failure for each that has no two vectors."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        try:
            with Answers.opened(self, self._about()) as answers:
                return cosines(pairs, self._vectors(answers, texts))
        except FAULTS as error:
            return [failed(error)] * len(pairs)

    def _about(self) -> JsonObject:
        return {"task": "embedding", "dimensions": self.dimensions}

    def _vectors(self, answers: Answers, texts: Sequence[str]) -> dict[str, Vector | Comparison]:
        vectors: dict[str, Vector | Comparison] = {
            text: failed(f"texts beyond {LONGEST_TEXT} characters are not sent", Reason.TOO_LONG)
            for text in texts
            if len(text) > LONGEST_TEXT
        }
        rest = [text for text in texts if text not in vectors]
        for text, kept in zip(rest, answers.known(list(map(_question, rest))), strict=True):
            if kept is not None:
                vectors[text] = _unpacked(kept.answer)
        unknown = [text for text in rest if text not in vectors]
        calls = list(groups(unknown, len, most=self.batch, most_size=_MOST_CHARACTERS))
        made = at_once(lambda some: self._asked(answers, some), calls, self.concurrency)
        return {**vectors, **dict(zip(unknown, made, strict=True))}

    def _asked(self, answers: Answers, texts: list[str]) -> list[Vector | Comparison]:
        questions = [_question(text) for text in texts]
        try:
            said = answers.asked(questions, lambda caller: self._call(caller, texts))
        except FAULTS as error:
            return [failed(error)] * len(texts)
        return [_unpacked(kept.answer) for kept in said]

    def _call(self, caller: Caller, texts: Sequence[str]) -> list[Kept]:
        payload: JsonObject = {
            "model": self.model,
            "input": [text.encode("utf-8", "replace").decode() for text in texts],
            "encoding_format": "float",
            "dimensions": self.dimensions,
        }
        body, call = caller.post("embeddings", self.requested(payload), 0)
        return [Kept(_packed(vector), call) for vector in _read(body, len(texts))]


def _question(text: str) -> Question:
    return {"text": text}


def _read(body: JsonObject, number: int) -> list[list[float]]:
    """One vector for each text, in their order; anything else is an error."""
    data = body.get("data")
    if not isinstance(data, list) or len(data) != number:
        raise UnusableReplyError("the reply does not hold one vector for each text")
    vectors: dict[int, list[float]] = {}
    for entry in data:
        place = entry.get("index") if isinstance(entry, dict) else None
        values = entry.get("embedding") if isinstance(entry, dict) else None
        if isinstance(place, bool) or not isinstance(place, int) or place in vectors:
            raise UnusableReplyError("the reply numbers its vectors wrongly")
        vectors[place] = _checked(values)
    if sorted(vectors) != list(range(number)) or len({len(v) for v in vectors.values()}) != 1:
        raise UnusableReplyError("the reply does not hold one vector for each text")
    return [vectors[place] for place in range(number)]


def _checked(values: JsonValue) -> list[float]:
    if not isinstance(values, list) or not values:
        raise UnusableReplyError("a vector is no list of numbers")
    numbers = [
        float(value)
        for value in values
        if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    ]
    if len(numbers) != len(values) or not any(numbers):
        raise UnusableReplyError("a vector holds something else than finite numbers")
    return numbers


def _packed(vector: Sequence[float]) -> str:
    return b64encode(array("f", vector).tobytes()).decode()


def _unpacked(answer: JsonValue) -> Vector | Comparison:
    if not isinstance(answer, str):
        return failed("the cache holds no vector")
    return array("f", b64decode(answer))
