"""The providers openai and openai_embeddings: models behind an endpoint, called in batches."""

from __future__ import annotations

import hashlib
from array import array
from base64 import b64decode, b64encode
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, Final, TypeVar

from fieldmark.judges.llm.chat import request_grades
from fieldmark.judges.llm.client import LLM_ERRORS, LlmClient, Question, UnusableResponseError
from fieldmark.judges.llm.connection import ChatConnection, Connection
from fieldmark.judges.llm.prompts import Prompt, form_prompt, meaning_prompt
from fieldmark.judges.llm.response_cache import CachedResponse
from fieldmark.judges.llm.usage_log import llm_threads
from fieldmark.judges.similarity_providers import Vector, cosine_similarities, provider_error
from fieldmark.model.comparison import Comparison, Similarity, TextPair
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.annotations import PositiveInt
from fieldmark.values.json_text import is_finite

_MAX_TEXT_CHARACTERS: Final = 20_000
"""Longer strings are not sent."""
_MAX_PAIR_CHARACTERS: Final = 40_000
_MAX_EMBEDDING_CHARACTERS: Final = 100_000
"""The maximum size of a batch of several pairs or strings."""
_Item = TypeVar("_Item", bound=Hashable)
_Answer = TypeVar("_Answer")


class Aspect(StrEnum):
    """Whether strings are compared by meaning or by spelling."""

    MEANING = "meaning"
    FORM = "form"


_PROMPTS: Final = {Aspect.MEANING: meaning_prompt, Aspect.FORM: form_prompt}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAi(ChatConnection):
    """Similarity graded by a language model behind an OpenAI-compatible endpoint.

    Up to `batch` pairs are sent per call. An invalid response is an error, never a similarity. If
    it was for several pairs, they are requested again in halves, to find the pair that causes it.
    The model is told the path and the description of the `field`, which rules set. With `reasons`,
    it explains each score in the note of the field.
    """

    name: ClassVar[str] = "openai"
    approximate: ClassVar[bool] = False
    # A language model does not need guards.
    guarded: ClassVar[bool] = False
    persuadable: ClassVar[bool] = True
    aspect: Aspect = Aspect.MEANING
    batch: PositiveInt = 20
    reasons: bool = False
    field: str = ""
    description: str = ""

    def identity(self) -> JsonObject:
        """Return the model, its endpoint and the prompt."""
        return {**self.parameters(), **self._task(), "batch": self.batch}

    def of_form(self) -> OpenAi:
        """Return the same model for comparison by spelling; both share one budget."""
        return self._sharing(replace(self, aspect=Aspect.FORM))

    def for_field(self, path: str, description: str = "") -> OpenAi:
        """Return the same model, told about a field unless it was already, with the same budget."""
        if self.field:
            return self
        return self._sharing(replace(self, field=path, description=self.description or description))

    def _sharing(self, other: OpenAi) -> OpenAi:
        for shared in ("usage_log", "breaker", "_memory", "offered_formats"):
            object.__setattr__(other, shared, getattr(self, shared))
        return other

    def similarities(self, pairs: Sequence[TextPair]) -> Sequence[Similarity]:
        """Return the model's grade of each pair, or an error."""
        answers = _answer_in_batches(
            self,
            self._task(),
            pairs,
            strings=lambda pair: pair,
            question=lambda pair: {"texts": list(pair), "repeat": 0},
            request=self._grade,
            read=_read_similarity,
            max_items=self.batch,
            max_characters=_MAX_PAIR_CHARACTERS,
            halve=True,
        )
        return [answers[pair] for pair in pairs]

    def _task(self) -> JsonObject:
        # A grade may depend on the other pairs of its call.
        return {
            "task": "similarity",
            "prompt": self._prompt().identity(),
            **self._about(),
            "batch": self.batch,
        }

    def _about(self) -> JsonObject:
        about = {"field": self.field, "description": self.description}
        return {name: text for name, text in about.items() if text}

    def _prompt(self) -> Prompt:
        return _PROMPTS[self.aspect](reasons=self.reasons)

    def _grade(self, client: LlmClient, pairs: Sequence[TextPair]) -> list[CachedResponse]:
        ids = [f"p{number}" for number in range(1, len(pairs) + 1)]
        data: JsonValue = [
            {"id": name, "first": first, "second": second}
            for name, (first, second) in zip(ids, map(_shuffled, pairs), strict=True)
        ]
        about = {**self._about(), "pairs": data}
        # Several pairs are requested again in halves.
        again = len(pairs) == 1
        grades, call = request_grades(client, self, self._prompt(), about, ids, again=again)
        return [
            CachedResponse([grade.score, grade.reason] if self.reasons else grade.score, call)
            for grade in map(grades.__getitem__, ids)
        ]


def _shuffled(pair: TextPair) -> TextPair:
    """Return a pair in an order that does not reveal which string is the ground truth."""
    text = "\0".join(pair).encode("utf-8", "surrogatepass")
    return pair if hashlib.sha256(text).digest()[0] % 2 else (pair[1], pair[0])


def _read_similarity(cached: JsonValue) -> Similarity:
    score, reason = cached if isinstance(cached, list) and len(cached) == 2 else (cached, "")  # noqa: PLR2004
    if isinstance(score, int | float) and not isinstance(score, bool) and isinstance(reason, str):
        number = float(score)
        return Comparison(matched=False, similarity=number, note=reason) if reason else number
    return provider_error("the cached response is not a similarity")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAiEmbeddings(Connection):
    """Cosine similarity of embeddings from an OpenAI-compatible endpoint.

    Up to `batch` strings are sent per call. `dimensions` requests shorter vectors, if the model
    supports it.
    """

    name: ClassVar[str] = "openai_embeddings"
    approximate: ClassVar[bool] = False
    guarded: ClassVar[bool] = True
    dimensions: PositiveInt | None = None
    batch: PositiveInt = 64

    def identity(self) -> JsonObject:
        """Return the model, its endpoint and the number of dimensions."""
        return {**self.parameters(), **self._task()}

    def similarities(self, pairs: Sequence[TextPair]) -> Sequence[Similarity]:
        """Return the cosine similarity of each pair, or an error if a vector is missing."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        vectors = _answer_in_batches(
            self,
            self._task(),
            texts,
            strings=lambda text: (text,),
            question=lambda text: {"text": text},
            request=self._embed,
            read=_read_vector,
            max_items=self.batch,
            max_characters=_MAX_EMBEDDING_CHARACTERS,
        )
        return cosine_similarities(pairs, vectors)

    def _task(self) -> JsonObject:
        return {"task": "embedding", "dimensions": self.dimensions}

    def _embed(self, client: LlmClient, texts: Sequence[str]) -> list[CachedResponse]:
        payload: JsonObject = {
            "model": self.model,
            "input": [text.encode("utf-8", "replace").decode() for text in texts],
            "encoding_format": "float",
            "dimensions": self.dimensions,
        }
        body, call = client.post("embeddings", self.with_request_options(payload), 0)
        vectors = _read_vectors(body, len(texts))
        packed = [b64encode(array("f", vector).tobytes()).decode() for vector in vectors]
        return [CachedResponse(text, call) for text in packed]


def _read_vectors(body: JsonObject, number: int) -> list[list[float]]:
    """Return one vector per string, in order."""
    data = body.get("data")
    if not isinstance(data, list) or len(data) != number:
        raise UnusableResponseError(
            "the response must contain one vector of the same length per string"
        )
    vectors: dict[int, list[float]] = {}
    for entry in data:
        index = entry.get("index") if isinstance(entry, dict) else None
        values = entry.get("embedding") if isinstance(entry, dict) else None
        if isinstance(index, bool) or not isinstance(index, int) or index in vectors:
            raise UnusableResponseError("the response contains a missing or duplicate vector index")
        if not isinstance(values, list) or not values:
            raise UnusableResponseError("a vector is not a list of numbers")
        numbers = [
            float(value)
            for value in values
            if isinstance(value, int | float) and not isinstance(value, bool) and is_finite(value)
        ]
        if len(numbers) != len(values) or not any(numbers):
            raise UnusableResponseError(
                "a vector must contain finite numbers that are not all zero"
            )
        vectors[index] = numbers
    if sorted(vectors) != list(range(number)) or len({len(v) for v in vectors.values()}) != 1:
        raise UnusableResponseError(
            "the response must contain one vector of the same length per string"
        )
    return [vectors[index] for index in range(number)]


def _read_vector(cached: JsonValue) -> Vector | Comparison:
    if not isinstance(cached, str):
        return provider_error("the cached response is not a vector")
    return array("f", b64decode(cached))


def _answer_in_batches(
    connection: Connection,
    task: JsonObject,
    items: Sequence[_Item],
    *,
    strings: Callable[[_Item], Sequence[str]],
    question: Callable[[_Item], Question],
    request: Callable[[LlmClient, list[_Item]], list[CachedResponse]],
    read: Callable[[JsonValue], _Answer | Comparison],
    max_items: int,
    max_characters: int,
    halve: bool = False,
) -> dict[_Item, _Answer | Comparison]:
    """Return the answer for each item: `request` batches that are not cached, `read` each response.

    With `halve`, a batch with an invalid response is requested again in halves.
    """

    def answer_batch(batch: list[_Item]) -> list[_Answer | Comparison]:
        try:
            responses = client.store([question(item) for item in batch], request(client, batch))
        except LLM_ERRORS as error:
            if halve and isinstance(error, UnusableResponseError) and len(batch) > 1:
                half = len(batch) // 2
                return [*answer_batch(batch[:half]), *answer_batch(batch[half:])]
            return [provider_error(error)] * len(batch)
        return [read(response.value) for response in responses]

    too_long = f"strings of more than {_MAX_TEXT_CHARACTERS:,} characters are not sent"
    answers: dict[_Item, _Answer | Comparison] = {
        item: provider_error(too_long, Reason.TOO_LONG)
        for item in items
        if max(map(len, strings(item))) > _MAX_TEXT_CHARACTERS
    }
    short = [item for item in items if item not in answers]
    try:
        with LlmClient.opened(connection, task) as client:
            cached = client.lookup([question(item) for item in short])
            answers |= {
                item: read(response.value)
                for item, response in zip(short, cached, strict=True)
                if response is not None
            }
            unknown = [item for item in dict.fromkeys(short) if item not in answers]
            batches = list(
                _split_batches(
                    unknown,
                    lambda item: sum(map(len, strings(item))),
                    max_items=max_items,
                    max_size=max_characters,
                )
            )
            if batches:
                threads = min(connection.concurrency, len(batches))
                pool = llm_threads(threads)
                try:
                    new = [answer for batch in pool.map(answer_batch, batches) for answer in batch]
                finally:
                    # After an interrupt, no more batches are sent.
                    pool.shutdown(cancel_futures=True)
                answers.update(zip(unknown, new, strict=True))
    except LLM_ERRORS as error:
        return dict.fromkeys(items, provider_error(error))
    return answers


def _split_batches(
    items: Sequence[_Item], size: Callable[[_Item], int], *, max_items: int, max_size: int
) -> Iterator[list[_Item]]:
    """Yield the items in batches with a limited number of items and total size.

    >>> list(_split_batches(["aa", "b", "c"], len, max_items=2, max_size=3))
    [['aa', 'b'], ['c']]
    """
    batch: list[_Item] = []
    total = 0
    for item in items:
        if batch and (len(batch) == max_items or total + size(item) > max_size):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size(item)
    if batch:
        yield batch
