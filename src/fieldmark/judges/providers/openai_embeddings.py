"""The provider openai_embeddings: cosine similarity of embeddings from an endpoint."""

from __future__ import annotations

from array import array
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar, Final

from fieldmark.judges.llm.answer_cache import CachedAnswer
from fieldmark.judges.llm.client import LlmClient, UnusableReplyError
from fieldmark.judges.llm.connection import Connection, check_number
from fieldmark.judges.providers.batches import answer_in_batches, provider_error
from fieldmark.judges.providers.vectors import Vector, cosine_similarities
from fieldmark.model.comparison import Comparison, Similarity, TextPair
from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["OpenAiEmbeddings"]

_MAX_BATCH_CHARACTERS: Final = 100_000


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
        """Return the model, its endpoint and the length of its vectors."""
        return {**self.parameters(), **self._task()}

    def similarities(self, pairs: Sequence[TextPair]) -> Sequence[Similarity]:
        """Return the cosine of each pair, or an error where a vector is missing."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        vectors = answer_in_batches(
            self,
            self._task(),
            texts,
            texts=lambda text: (text,),
            question=lambda text: {"text": text},
            ask=self._embed,
            read=_unpack,
            max_items=self.batch,
            max_characters=_MAX_BATCH_CHARACTERS,
        )
        return cosine_similarities(pairs, vectors)

    def _task(self) -> JsonObject:
        return {"task": "embedding", "dimensions": self.dimensions}

    def _embed(self, client: LlmClient, texts: Sequence[str]) -> list[CachedAnswer]:
        payload: JsonObject = {
            "model": self.model,
            "input": [text.encode("utf-8", "replace").decode() for text in texts],
            "encoding_format": "float",
            "dimensions": self.dimensions,
        }
        body, call = client.post("embeddings", self.with_request_options(payload), 0)
        vectors = _read_vectors(body, len(texts))
        packed = [b64encode(array("f", vector).tobytes()).decode() for vector in vectors]
        return [CachedAnswer(text, call) for text in packed]


def _read_vectors(body: JsonObject, number: int) -> list[list[float]]:
    """Return one vector for each text, in order."""
    data = body.get("data")
    if not isinstance(data, list) or len(data) != number:
        raise UnusableReplyError("the reply does not hold one vector for each text")
    vectors: dict[int, list[float]] = {}
    for entry in data:
        place = entry.get("index") if isinstance(entry, dict) else None
        values = entry.get("embedding") if isinstance(entry, dict) else None
        if isinstance(place, bool) or not isinstance(place, int) or place in vectors:
            raise UnusableReplyError("the reply numbers its vectors wrongly")
        if not isinstance(values, list) or not values:
            raise UnusableReplyError("a vector is no list of numbers")
        numbers = [
            float(value)
            for value in values
            if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
        ]
        if len(numbers) != len(values) or not any(numbers):
            raise UnusableReplyError("a vector holds something else than finite numbers")
        vectors[place] = numbers
    if sorted(vectors) != list(range(number)) or len({len(v) for v in vectors.values()}) != 1:
        raise UnusableReplyError("the reply does not hold one vector for each text")
    return [vectors[place] for place in range(number)]


def _unpack(answer: JsonValue) -> Vector | Comparison:
    if not isinstance(answer, str):
        return provider_error("the cache holds no vector")
    return array("f", b64decode(answer))
