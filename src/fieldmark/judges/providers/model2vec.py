"""The provider model2vec: cosine similarity of static embeddings, computed locally."""

from __future__ import annotations

import hashlib
import importlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, ClassVar, Final, Protocol, cast

from fieldmark.errors import MissingExtra
from fieldmark.judges.providers.similarity import Vector, cosine_similarities, provider_error
from fieldmark.model.comparison import Similarity, TextPair
from fieldmark.model.json import JsonObject
from fieldmark.values.annotations import Pattern
from fieldmark.values.strategy_options import check_options

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
        what = type(error).__name__
        raise ModelError(f"model {model} not found ({what}){hint}") from None


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
