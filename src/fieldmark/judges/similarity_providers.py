"""The providers python and model2vec, and what all providers share: errors, cosines and a memo."""

from __future__ import annotations

import hashlib
import importlib
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Annotated, ClassVar, Final, Protocol, TypeAlias, cast

from fieldmark.compare.semantic import SimilaritySource, ask_provider
from fieldmark.errors import MissingExtra, OptionError
from fieldmark.model.comparison import Comparison, Similarity, TextPair
from fieldmark.model.json import JsonObject
from fieldmark.model.outcome import Reason
from fieldmark.python_function import load_attribute
from fieldmark.values.annotations import Pattern
from fieldmark.values.arrays import np
from fieldmark.values.strategy_options import check_options
from fieldmark.values.value_types import reference_of

Vector = Sequence[float]


def provider_error(error: object, reason: Reason = Reason.PROVIDER_FAILED) -> Comparison:
    """Return the comparison of a pair whose similarity is unknown."""
    return Comparison.error(reason, note=str(error))


def cosine_similarities(
    pairs: Sequence[TextPair], vectors: Mapping[str, Vector | Comparison]
) -> list[Similarity]:
    """Return the cosine similarity of each pair, at least 0, or the error of a vector.

    >>> cosine_similarities([("a", "b")], {"a": [1.0, 0.0], "b": [1.0, 0.0]})
    [1.0]
    """
    return [_cosine(vectors[expected], vectors[candidate]) for expected, candidate in pairs]


def _cosine(expected: Vector | Comparison, candidate: Vector | Comparison) -> Similarity:
    if isinstance(expected, Comparison):
        return expected
    if isinstance(candidate, Comparison):
        return candidate
    first, second = np.asarray(expected, dtype=np.float64), np.asarray(candidate, dtype=np.float64)
    if first.shape != second.shape:
        return provider_error("the vectors of the two strings have different lengths")
    lengths = float(np.linalg.norm(first)) * float(np.linalg.norm(second))
    if not lengths > 0.0:
        return provider_error("the vector of a string is zero")
    return min(1.0, max(0.0, float(np.dot(first, second)) / lengths))


_MAX_PAIRS: Final = 100_000


class SimilarityMemo:
    """The latest similarities of a provider, also failures; thread-safe.

    A pair that another thread is asking for is waited for.
    """

    __slots__ = ("_known", "_lock", "_provider")

    def __init__(self, provider: SimilaritySource) -> None:
        self._provider = provider
        self._known: dict[TextPair, Future[Similarity]] = {}
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[SimilarityMemo], tuple[SimilaritySource]]:
        # Every process has its own memo.
        return SimilarityMemo, (self._provider,)

    def similarities(self, pairs: Sequence[TextPair]) -> list[Similarity]:
        """Return the similarity of each pair; only new pairs are sent to the provider."""
        with self._lock:
            new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
            self._known.update((pair, Future()) for pair in new)
            futures = [self._known[pair] for pair in pairs]
            new_futures = [self._known[pair] for pair in new]
            while len(self._known) > _MAX_PAIRS:
                del self._known[next(iter(self._known))]
        if new:
            try:
                similarities = ask_provider(self._provider, new)
            except BaseException as error:
                with self._lock:
                    for pair in new:
                        self._known.pop(pair, None)
                for future in new_futures:
                    future.set_exception(error)
                raise
            for future, similarity in zip(new_futures, similarities, strict=True):
                future.set_result(similarity)
        return [future.result() for future in futures]


PairFunction: TypeAlias = Callable[[Sequence[TextPair]], Sequence[float]]
"""Takes a sequence of pairs and returns a similarity from 0 to 1 for each."""
_NAME: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*\Z", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonProvider:
    """Similarity computed by a Python function, given as `module:function` or as a callable.

    The function is loaded when it is first needed, not when a configuration is validated. Guards
    are on by default and can be disabled on the comparator.

    >>> provider = PythonProvider(function=lambda pairs: [0.9 for _ in pairs])
    >>> list(provider.similarities([("a", "b")]))
    [0.9]
    """

    name: ClassVar[str] = "python"
    approximate: ClassVar[bool] = False
    guarded: ClassVar[bool] = True
    function: str | PairFunction

    def __post_init__(self) -> None:
        named = _NAME.match(self.function) if isinstance(self.function, str) else None
        if named is None and not callable(self.function):
            raise OptionError("function", "must be a function, or its name as module:function")

    def identity(self) -> JsonObject:
        """Return the name of the function."""
        function = self.function
        return {"function": function if isinstance(function, str) else reference_of(function)}

    def unready(self) -> str | None:
        """Return why the function cannot be called, or `None`."""
        function = self._load()
        return None if callable(function) else function.note

    def similarities(self, pairs: Sequence[TextPair]) -> Sequence[Similarity]:
        """Return the similarity of each pair; exceptions of the function are not caught."""
        function = self._load()
        if not callable(function):
            return [function] * len(pairs)
        similarities: list[Similarity] = []
        for returned in function(pairs):
            try:
                similarities.append(float(returned))
            except (TypeError, ValueError):
                problem = f"expected a number from the function, got {returned!r}"
                similarities.append(provider_error(problem))
        return similarities

    def _load(self) -> PairFunction | Comparison:
        if not isinstance(self.function, str):
            return self.function
        try:
            _, function = load_attribute(self.function)
        except (ImportError, AttributeError) as error:
            return provider_error(f"cannot load {self.function}: {error}")
        if not callable(function):
            return provider_error(f"{self.function} is not a function")
        return cast("PairFunction", function)


_MODEL: Final = r"[^\x00]*[^\x00\s][^\x00]*"
_WEIGHTS: Final = ("model.safetensors", "tokenizer.json", "config.json")
_LOCK: Final = threading.Lock()


class ModelError(Exception):
    """The model cannot be found or loaded."""


class _Encoder(Protocol):
    def encode(self, sentences: Sequence[str]) -> Sequence[Vector]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Model2Vec:
    """Cosine similarity of model2vec embeddings, computed locally.

    `model` is a directory, or the name of a model in the local Hugging Face cache. `download`
    allows the model to be downloaded from Hugging Face.
    """

    name: ClassVar[str] = "model2vec"
    approximate: ClassVar[bool] = False
    guarded: ClassVar[bool] = True
    model: Annotated[str, Pattern(_MODEL, "must be a directory or the name of a model")]
    download: bool = False

    def __post_init__(self) -> None:
        check_options(self)

    def unready(self) -> str | None:
        """Return why no pair can be compared, or `None`; the model is not loaded."""
        if find_spec("model2vec") is None:
            return str(MissingExtra("the provider model2vec", "semantic"))
        try:
            _model_directory(self.model, download=self.download)
        except ModelError as error:
            return str(error)
        return None

    def identity(self) -> JsonObject:
        """Return the name of the model and the hash of its weights, if it is available."""
        try:
            weights = _weights_digest(_model_directory(self.model, download=False))
        except ModelError:
            weights = None
        return {"model": Path(self.model).name, "weights_sha256": weights}

    def similarities(self, pairs: Sequence[TextPair]) -> Sequence[Similarity]:
        """Return the cosine similarity of each pair, or an error if the model cannot be loaded."""
        try:
            encoder = _load_encoder(_model_directory(self.model, download=self.download))
        except (ModelError, MissingExtra) as error:
            return [provider_error(error)] * len(pairs)
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        plain = [text.encode("utf-8", "replace").decode() for text in texts]
        return cosine_similarities(pairs, dict(zip(texts, encoder.encode(plain), strict=True)))


def _model_directory(model: str, *, download: bool) -> Path:
    """Return the directory of a model, given by its path or name."""
    directory = Path(model).expanduser()
    if directory.is_dir():
        return directory
    if find_spec("huggingface_hub") is None:
        raise ModelError(f"model directory {model} not found")
    try:
        fetch = importlib.import_module("huggingface_hub").snapshot_download
        return Path(fetch(model, local_files_only=not download))
    except (OSError, ValueError) as error:
        hint = "" if download else "; set download: true to download it"
        raise ModelError(f"model {model} not found ({type(error).__name__}){hint}") from None


@cache
def _load_encoder(directory: Path) -> _Encoder:
    if find_spec("model2vec") is None:
        raise MissingExtra("the provider model2vec", "semantic")
    with _LOCK:
        try:
            static = importlib.import_module("model2vec").StaticModel
            return cast("_Encoder", static.from_pretrained(directory))
        except (OSError, ValueError, KeyError) as error:
            raise ModelError(f"cannot load {directory}: {error}") from None


def _weights_digest(directory: Path) -> str:
    digest = hashlib.sha256()
    for name in _WEIGHTS:
        file = directory / name
        digest.update(f"{name}\0".encode())
        if file.is_file():
            with file.open("rb") as opened:
                digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()
