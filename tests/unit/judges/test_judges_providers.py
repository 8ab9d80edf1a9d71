"""The providers of semantic similarity: openai, openai_embeddings, python and model2vec."""

from __future__ import annotations

import hashlib
import sys
import types

import pytest

from edges.llm_server import first, isolate, serving, status
from fieldmark.compare.semantic import is_guarded, is_persuadable
from fieldmark.errors import OptionError
from fieldmark.judges import similarity_providers
from fieldmark.judges.openai_providers import OpenAi, OpenAiEmbeddings
from fieldmark.judges.similarity_providers import Model2Vec, PythonProvider
from fieldmark.metrics.conventions import find_convention
from fieldmark.model.comparison import Comparison
from fieldmark.model.outcome import Reason
from fieldmark.rules.rules_file import read_rules


@pytest.fixture(autouse=True)
def _isolated(monkeypatch, tmp_path):
    isolate(monkeypatch, tmp_path / "cache")


VECTORS = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0], "d": [-1.0, 0.0]}


def send_embeddings(exchange):
    data = [
        {"index": number, "embedding": VECTORS[text], "object": "embedding"}
        for number, text in enumerate(exchange.body["input"])
    ]
    exchange.json({"data": data[::-1], "usage": {"prompt_tokens": 4, "total_tokens": 4}})


def similarities(script, pairs, **options):
    with serving(script) as server:
        provider = OpenAiEmbeddings(model="e", base_url=server.url, cache=False, **options)
        return provider.similarities(pairs), server


def test_embeddings_are_compared_by_cosine_similarity():
    pairs = [("a", "c"), ("a", "b"), ("a", "d"), ("a", "a")]
    answers, server = similarities(send_embeddings, pairs)
    assert answers == pytest.approx([0.5**0.5, 0.0, 0.0, 1.0])
    assert server.paths == ["/v1/embeddings"]
    assert server.requests[0]["input"] == ["a", "c", "b", "d"]


def vector_reply(data):
    return lambda exchange: exchange.json({"data": data})


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(None, id="no-vectors"),
        pytest.param([{"index": 0, "embedding": [1.0]}], id="too-few"),
        pytest.param([{"index": 0, "embedding": [1.0]}] * 2, id="duplicate-index"),
        pytest.param([{"index": n, "embedding": [1.0]} for n in (1, 2)], id="indexes-from-one"),
        pytest.param([{"embedding": [1.0]}] * 2, id="no-indexes"),
        pytest.param([{"index": n, "embedding": []} for n in (0, 1)], id="empty-vectors"),
        pytest.param([{"index": n, "embedding": "AAAA"} for n in (0, 1)], id="strings"),
        pytest.param([{"index": n, "embedding": [True]} for n in (0, 1)], id="booleans"),
        pytest.param([{"index": n, "embedding": [10**400]} for n in (0, 1)], id="too-large-integers"),
        pytest.param([{"index": n, "embedding": [0.0, 0.0]} for n in (0, 1)], id="zero-vectors"),
        pytest.param([{"index": n, "embedding": [1.0] * (n + 1)} for n in (0, 1)], id="different-lengths"),
        pytest.param([[1.0], [1.0]], id="bare-vectors"),
    ],
)  # fmt: skip
def test_invalid_vectors_are_errors(data):
    (answer,), server = similarities(vector_reply(data), [("a", "b")])
    assert isinstance(answer, Comparison)
    assert answer.reason is Reason.PROVIDER_FAILED
    assert server.attempts == 1


def test_embedding_calls_are_retried():
    answers, server = similarities(first(2, status(429), send_embeddings), [("a", "a")])
    assert answers == [1.0]
    assert server.attempts == 3


def test_strings_are_sent_in_batches_and_long_ones_not_at_all():
    pairs = [("a", "b"), ("c", "d"), ("a", "x" * 20_001)]
    answers, server = similarities(send_embeddings, pairs, batch=2)
    assert sorted(len(request["input"]) for request in server.requests) == [2, 2]
    assert answers[2].reason is Reason.TOO_LONG


@pytest.mark.parametrize(
    ("provider", "guarded", "persuadable"),
    [
        pytest.param(OpenAi(model="m"), False, True, id="language-model"),
        pytest.param(OpenAiEmbeddings(model="m"), True, False, id="embeddings"),
        pytest.param(Model2Vec(model="m"), True, False, id="local-embeddings"),
        pytest.param(PythonProvider(function="a:b"), True, False, id="function"),
    ],
)
def test_guarded_and_persuadable_providers(provider, guarded, persuadable):
    assert is_guarded(provider) is guarded
    assert is_persuadable(provider) is persuadable


# --- conventions ----------------------------------------------------------------------------------


def comparison_hash(provider):
    rules = read_rules({"provider": provider, "fields": [{"path": "a", "match": "semantic"}]}).rules
    return find_convention("confusion").comparison_sha256(rules)


BASE = {"type": "openai", "model": "m"}


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param("lexical", id="provider"),
        pytest.param({**BASE, "model": "n"}, id="model"),
        pytest.param({**BASE, "base_url": "https://models.example.test/v1"}, id="endpoint"),
        pytest.param({**BASE, "aspect": "form"}, id="prompt"),
        pytest.param({**BASE, "temperature": 1}, id="temperature"),
        pytest.param({**BASE, "batch": 1}, id="batch"),
        pytest.param({**BASE, "type": "openai_embeddings"}, id="embeddings"),
    ],
)
def test_convention_depends_on_the_provider(changed):
    assert comparison_hash(BASE) != comparison_hash(changed)


@pytest.mark.parametrize(
    "same",
    [
        pytest.param({**BASE, "timeout": 5}, id="timeout"),
        pytest.param({**BASE, "cache": False}, id="cache"),
        pytest.param({**BASE, "max_calls": 5}, id="budget"),
        pytest.param({**BASE, "api_key_env": "MY_KEY"}, id="key"),
        pytest.param({**BASE, "base_url": "https://api.openai.com/v1/"}, id="trailing-slash"),
    ],
)
def test_convention_does_not_depend_on_the_connection(same):
    assert comparison_hash(BASE) == comparison_hash(same)


def test_convention_depends_on_the_prompt(monkeypatch):
    from fieldmark.judges.llm import prompts

    before = comparison_hash(BASE)
    monkeypatch.setattr(prompts, "_SYSTEM", "Be kind.")
    assert comparison_hash(BASE) != before


# --- Python functions and local models ------------------------------------------------------------


def same_first_letter(pairs):
    return [1.0 if one[0] == other[0] else 0.0 for one, other in pairs]


def test_function_is_loaded_by_name(monkeypatch):
    module = types.ModuleType("own_judge")
    module.same_first_letter = same_first_letter
    monkeypatch.setitem(sys.modules, "own_judge", module)
    provider = PythonProvider(function="own_judge:same_first_letter")
    assert provider.unready() is None
    assert provider.similarities([("ab", "ac"), ("ab", "cd")]) == [1.0, 0.0]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        pytest.param(
            "no_such_module:same_first_letter",
            "cannot load no_such_module:same_first_letter: ",
            id="no-module",
        ),
        pytest.param(
            "json:no_such_function", "cannot load json:no_such_function: ", id="no-function"
        ),
        pytest.param("json:__doc__", "is not a function", id="not-callable"),
    ],
)
def test_missing_function_is_an_error_for_every_pair(function, message):
    provider = PythonProvider(function=function)
    answers = provider.similarities([("a", "b")] * 2)
    assert [message in answer.note for answer in answers] == [True, True]
    assert message in provider.unready()


def test_return_value_that_is_not_a_number_is_an_error():
    provider = PythonProvider(function=lambda _: ["much", 0.5, None])
    answers = provider.similarities([("a", "b")] * 3)
    assert answers[1] == 0.5
    assert answers[0].failed
    assert answers[2].failed


@pytest.mark.parametrize("function", ["same_first_letter", "a b:c", ":", "os;system:x", 5])
def test_invalid_function_names(function):
    with pytest.raises(OptionError):
        PythonProvider(function=function)


def test_identity_of_a_function_is_its_name():
    assert PythonProvider(function="a:b").identity() == {"function": "a:b"}
    assert (
        PythonProvider(function=same_first_letter)
        .identity()["function"]
        .endswith(":same_first_letter")
    )


@pytest.fixture
def model(monkeypatch, tmp_path):
    """Create a model directory, and a fake library whose vectors count letters."""

    class StaticModel:
        @classmethod
        def from_pretrained(cls, directory):
            if not (directory / "model.safetensors").is_file():
                raise FileNotFoundError(directory)
            return cls()

        def encode(self, sentences):
            return [[float(text.count(letter)) for letter in "abc"] for text in sentences]

    module = types.ModuleType("model2vec")
    module.StaticModel = StaticModel
    monkeypatch.setitem(sys.modules, "model2vec", module)
    monkeypatch.setattr(
        similarity_providers, "find_spec", lambda name: True if name == "model2vec" else None
    )
    similarity_providers._load_encoder.cache_clear()
    directory = tmp_path / "model"
    directory.mkdir()
    (directory / "model.safetensors").write_bytes(b"weights")
    return directory


def test_model_directory(model):
    provider = Model2Vec(model=str(model))
    assert provider.unready() is None
    answers = provider.similarities([("ab", "ba"), ("a", "b")])
    assert answers == pytest.approx([1.0, 0.0])


def test_identity_of_a_model_contains_the_hash_of_its_weights(model):
    before = Model2Vec(model=str(model)).identity()
    assert len(before["weights_sha256"]) == hashlib.sha256().digest_size * 2
    (model / "model.safetensors").write_bytes(b"others")
    assert Model2Vec(model=str(model)).identity() != before


def test_zero_vector_is_an_error(model):
    (answer,) = Model2Vec(model=str(model)).similarities([("ab", "xyz")])
    assert answer.note == "the vector of a string is zero"


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda directory: str(directory / "nowhere"), id="no-directory"),
        pytest.param(lambda directory: str(directory.parent), id="directory-without-weights"),
    ],
)
def test_model_that_cannot_be_loaded_is_an_error_for_every_pair(model, make):
    answers = Model2Vec(model=make(model)).similarities([("a", "b")])
    assert answers[0].failed


def test_missing_model2vec_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setattr(similarity_providers, "find_spec", lambda _: None)
    similarity_providers._load_encoder.cache_clear()
    provider = Model2Vec(model=str(tmp_path))
    assert "fieldmark[semantic]" in provider.unready()
    assert "fieldmark[semantic]" in provider.similarities([("a", "b")])[0].note
    assert Model2Vec(model="no/such").identity()["weights_sha256"] is None


def test_missing_httpx_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    provider = OpenAi(model="m", base_url="http://127.0.0.1:9", cache=False)
    assert "fieldmark[llm]" in provider.similarities([("a", "b")])[0].note
