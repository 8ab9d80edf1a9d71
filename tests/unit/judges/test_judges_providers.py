from __future__ import annotations

import hashlib
import sys
import types

import pytest

from edges.llm_server import first, serving, status
from fieldmark.compare.provider_lookup import find_providers, with_provider_options
from fieldmark.compare.semantic import Semantic, is_guarded, is_persuadable
from fieldmark.config.rules_file import read_rules
from fieldmark.errors import OptionError
from fieldmark.judges import rate_limiter
from fieldmark.judges.providers import model2vec
from fieldmark.judges.providers.model2vec import Model2Vec
from fieldmark.judges.providers.openai import OpenAi
from fieldmark.judges.providers.openai_embeddings import OpenAiEmbeddings
from fieldmark.judges.providers.python import PythonProvider
from fieldmark.judges.rate_limiter import Clock
from fieldmark.metrics.conventions import find_convention
from fieldmark.model.comparison import Comparison
from fieldmark.model.outcome import Reason


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch, tmp_path):
    monkeypatch.setattr(rate_limiter, "SYSTEM_CLOCK", Clock(sleep=lambda _: None))
    monkeypatch.setenv("FIELDMARK_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


VECTORS = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0], "d": [-1.0, 0.0]}


def embedded(exchange):
    data = [
        {"index": number, "embedding": VECTORS[text], "object": "embedding"}
        for number, text in enumerate(exchange.body["input"])
    ]
    exchange.json({"data": data[::-1], "usage": {"prompt_tokens": 4, "total_tokens": 4}})


def similarities(script, pairs, **options):
    with serving(script) as server:
        asked = OpenAiEmbeddings(model="e", base_url=server.url, cache=False, **options)
        return asked.similarities(pairs), server


def test_vectors_are_compared_by_their_angle():
    pairs = [("a", "c"), ("a", "b"), ("a", "d"), ("a", "a")]
    answers, server = similarities(embedded, pairs)
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
        pytest.param([{"index": 0, "embedding": [1.0]}] * 2, id="a-place-twice"),
        pytest.param([{"index": n, "embedding": [1.0]} for n in (1, 2)], id="places-from-one"),
        pytest.param([{"embedding": [1.0]}] * 2, id="no-places"),
        pytest.param([{"index": n, "embedding": []} for n in (0, 1)], id="empty-vectors"),
        pytest.param([{"index": n, "embedding": "AAAA"} for n in (0, 1)], id="text-as-vectors"),
        pytest.param([{"index": n, "embedding": [True]} for n in (0, 1)], id="flags-as-numbers"),
        pytest.param([{"index": n, "embedding": [0.0, 0.0]} for n in (0, 1)], id="no-direction"),
        pytest.param([{"index": n, "embedding": [1.0] * (n + 1)} for n in (0, 1)], id="lengths-that-differ"),
        pytest.param([[1.0], [1.0]], id="bare-vectors"),
    ],
)  # fmt: skip
def test_vectors_that_cannot_be_used_are_errors(data):
    (answer,), server = similarities(vector_reply(data), [("a", "b")])
    assert isinstance(answer, Comparison)
    assert answer.reason is Reason.PROVIDER_FAILED
    assert server.attempts == 1


def test_an_endpoint_of_vectors_is_asked_again_too():
    answers, server = similarities(first(2, status(429), embedded), [("a", "a")])
    assert answers == [1.0]
    assert server.attempts == 3


def test_texts_go_out_in_batches_and_long_ones_stay_here():
    pairs = [("a", "b"), ("c", "d"), ("a", "x" * 20_001)]
    answers, server = similarities(embedded, pairs, batch=2)
    assert sorted(len(request["input"]) for request in server.requests) == [2, 2]
    assert answers[2].reason is Reason.TOO_LONG


@pytest.mark.parametrize(
    ("provider", "guarded", "persuadable"),
    [
        pytest.param(OpenAi(model="m"), False, True, id="a-model-that-reads"),
        pytest.param(OpenAiEmbeddings(model="m"), True, False, id="vectors"),
        pytest.param(Model2Vec(model="m"), True, False, id="vectors-of-this-machine"),
        pytest.param(PythonProvider(function="a:b"), True, False, id="a-function"),
    ],
)
def test_who_is_guarded_and_who_can_be_persuaded(provider, guarded, persuadable):
    assert is_guarded(provider) is guarded
    assert is_persuadable(provider) is persuadable


def test_a_model_is_asked_about_what_guards_would_stop():
    with serving(lambda e: e.well(0.95)) as server:
        asked = OpenAi(model="m", base_url=server.url, cache=False)
        comparison = Semantic(provider=asked).compare("John Smith", "John Smyth")
    assert comparison.similarity == 0.95
    assert server.attempts == 1


@pytest.mark.parametrize(
    ("expected", "candidate"),
    [
        pytest.param("x" * 20_001, "y", id="expected"),
        pytest.param("y", "x" * 20_001, id="candidate"),
    ],
)
def test_long_texts_are_not_sent(expected, candidate):
    with serving() as server:
        asked = OpenAi(model="m", base_url=server.url, cache=False)
        answers = asked.similarities([(expected, candidate), ("a b", "b c")])
    assert answers[0].reason is Reason.TOO_LONG
    assert answers[1] == 0.9


# --- what a convention is made of ------------------------------------------------------------------


def comparison_hash(provider):
    rules = read_rules({"provider": provider, "fields": [{"path": "a", "match": "semantic"}]}).rules
    return find_convention("confusion").comparison_sha256(rules)


BASE = {"type": "openai", "model": "m"}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param("lexical", id="another-provider"),
        pytest.param({**BASE, "model": "n"}, id="another-model"),
        pytest.param({**BASE, "base_url": "https://models.example.test/v1"}, id="another-endpoint"),
        pytest.param({**BASE, "aspect": "form"}, id="another-prompt"),
        pytest.param({**BASE, "temperature": 1}, id="another-temperature"),
        pytest.param({**BASE, "batch": 1}, id="another-batch"),
        pytest.param({**BASE, "type": "openai_embeddings"}, id="vectors"),
    ],
)
def test_another_judge_is_another_convention(other):
    assert comparison_hash(BASE) != comparison_hash(other)


@pytest.mark.parametrize(
    "same",
    [
        pytest.param({**BASE, "timeout": 5}, id="the-time-limit"),
        pytest.param({**BASE, "cache": False}, id="the-cache"),
        pytest.param({**BASE, "max_calls": 5}, id="the-budget"),
        pytest.param({**BASE, "api_key_env": "MY_KEY"}, id="the-key"),
        pytest.param({**BASE, "base_url": "https://api.openai.com/v1/"}, id="a-slash-at-the-end"),
    ],
)
def test_how_a_judge_is_reached_is_no_part_of_the_convention(same):
    assert comparison_hash(BASE) == comparison_hash(same)


def test_a_change_of_words_is_a_change_of_convention(monkeypatch):
    from fieldmark.judges.llm import prompts

    before = comparison_hash(BASE)
    monkeypatch.setattr(prompts, "_SYSTEM", "Be kind.")
    assert comparison_hash(BASE) != before


def test_the_providers_of_rules_are_found_and_can_be_changed():
    fields = {
        "name": "FUZZY",
        "bio": {"match": "semantic", "any_of": True},
        "x": {"match": "semantic", "provider": "lexical"},
    }
    rules = read_rules({"provider": BASE, "fields": fields}).rules
    # FUZZY asks the same model about the writing instead of the meaning.
    told = [(each.name, getattr(each, "aspect", "")) for each in find_providers(rules)]
    assert sorted(told) == [("lexical", ""), ("openai", "form"), ("openai", "meaning")]
    changed = with_provider_options(rules, {"model": "other"})
    models = {getattr(provider, "model", "-") for provider in find_providers(changed)}
    assert models == {"other", "-"}
    assert len(find_providers(changed)) == 3


# --- functions and models of this machine -----------------------------------------------------------


def alike(pairs):
    return [1.0 if one[0] == other[0] else 0.0 for one, other in pairs]


def test_a_function_is_found_by_its_name(monkeypatch):
    module = types.ModuleType("own_judge")
    module.alike = alike
    monkeypatch.setitem(sys.modules, "own_judge", module)
    provider = PythonProvider(function="own_judge:alike")
    assert provider.unready() is None
    assert provider.similarities([("ab", "ac"), ("ab", "cd")]) == [1.0, 0.0]


@pytest.mark.parametrize(
    ("function", "told"),
    [
        pytest.param("no_such_module:alike", "cannot be loaded", id="no-module"),
        pytest.param("json:no_such_function", "cannot be loaded", id="no-function"),
        pytest.param("json:__doc__", "is not a function", id="something-else"),
    ],
)
def test_a_function_that_is_not_there_is_an_error_of_every_pair(function, told):
    provider = PythonProvider(function=function)
    answers = provider.similarities([("a", "b")] * 2)
    assert [told in answer.note for answer in answers] == [True, True]
    assert told in provider.unready()


def test_an_answer_that_is_no_number_is_an_error():
    provider = PythonProvider(function=lambda _: ["much", 0.5, None])
    answers = provider.similarities([("a", "b")] * 3)
    assert answers[1] == 0.5
    assert answers[0].failed
    assert answers[2].failed


@pytest.mark.parametrize("function", ["alike", "a b:c", ":", "os;system:x", 5])
def test_names_of_functions_that_are_refused(function):
    with pytest.raises(OptionError):
        PythonProvider(function=function)


def test_the_name_of_a_function_is_its_identity():
    assert PythonProvider(function="a:b").identity() == {"function": "a:b"}
    assert PythonProvider(function=alike).identity()["function"].endswith(":alike")


@pytest.fixture
def model(monkeypatch, tmp_path):
    """A folder with weights, and a library that makes vectors of letters."""

    class StaticModel:
        @classmethod
        def from_pretrained(cls, folder):
            if not (folder / "model.safetensors").is_file():
                raise FileNotFoundError(folder)
            return cls()

        def encode(self, sentences):
            return [[float(text.count(letter)) for letter in "abc"] for text in sentences]

    module = types.ModuleType("model2vec")
    module.StaticModel = StaticModel
    monkeypatch.setitem(sys.modules, "model2vec", module)
    monkeypatch.setattr(model2vec, "find_spec", lambda name: True if name == "model2vec" else None)
    model2vec._load_encoder.cache_clear()
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def test_a_model_in_a_folder_makes_vectors(model):
    provider = Model2Vec(model=str(model))
    assert provider.unready() is None
    answers = provider.similarities([("ab", "ba"), ("a", "b")])
    assert answers == pytest.approx([1.0, 0.0])


def test_the_hash_of_the_weights_is_the_models_identity(model):
    before = Model2Vec(model=str(model)).identity()
    assert len(before["weights_sha256"]) == hashlib.sha256().digest_size * 2
    (model / "model.safetensors").write_bytes(b"others")
    assert Model2Vec(model=str(model)).identity() != before


def test_a_text_without_a_vector_is_an_error(model):
    (answer,) = Model2Vec(model=str(model)).similarities([("ab", "xyz")])
    assert "without direction" in answer.note


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda folder: str(folder / "nowhere"), id="no-folder"),
        pytest.param(lambda folder: str(folder.parent), id="a-folder-without-weights"),
    ],
)
def test_a_model_that_cannot_be_loaded_is_an_error_of_every_pair(model, make):
    answers = Model2Vec(model=make(model)).similarities([("a", "b")])
    assert answers[0].failed


def test_without_the_optional_part_its_installation_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(model2vec, "find_spec", lambda _: None)
    model2vec._load_encoder.cache_clear()
    provider = Model2Vec(model=str(tmp_path))
    assert "fieldmark[semantic]" in provider.unready()
    assert "fieldmark[semantic]" in provider.similarities([("a", "b")])[0].note
    assert Model2Vec(model="no/such").identity()["weights_sha256"] is None


def test_without_httpx_its_installation_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    asked = OpenAi(model="m", base_url="http://127.0.0.1:9", cache=False)
    assert "fieldmark[llm]" in asked.similarities([("a", "b")])[0].note
