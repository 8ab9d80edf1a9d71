"""A key is known to the endpoint and to nobody else: no file and no message ever holds it."""

from __future__ import annotations

import base64
import json
import urllib.parse
from pathlib import Path

import pytest

import fieldmark as fm
from edges.llm_server import Exchange, first, saying, serving, status
from edges.test_edges_llm_server import ANSWERS, FAILURES
from fieldmark.errors import OptionError
from fieldmark.judges import rate_limiter
from fieldmark.judges.llm_judge import LlmJudge
from fieldmark.judges.providers.openai import OpenAi
from fieldmark.judges.providers.openai_embeddings import OpenAiEmbeddings
from fieldmark.judges.rate_limiter import Clock
from fieldmark.judges.safety import LlmSafety
from fieldmark.model.case import Case

KEY = 'sk-sentinel/+"4711-abcdefgh'
TRUTH = [{"id": "1", "note": "the invoice was paid"}]
FOUND = [{"id": "1", "note": "somebody paid the bill"}]


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch, tmp_path):
    monkeypatch.setattr(rate_limiter, "SYSTEM_CLOCK", Clock(sleep=lambda _: None))
    monkeypatch.setenv("FIELDMARK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def spellings():
    raw = KEY.encode()
    yield KEY
    yield json.dumps(KEY)[1:-1]
    yield urllib.parse.quote(KEY, safe="")
    yield urllib.parse.quote_plus(KEY)
    for lead in (b"", b"x", b"Bearer ", b"xx"):
        yield base64.b64encode(lead + raw).decode().rstrip("=")[len(lead) + 3 : -4]


def told_everywhere(server, tmp_path, *, briefly=False):
    """Everything that is written or said when the endpoint is asked in every way there is."""
    options = {"model": "m", "base_url": server.url, "timeout": 5.0}
    rules = {
        "provider": {"type": "openai", **options},
        "fields": [{"path": "note", "match": "semantic"}],
    }
    run = fm.score(TRUTH, FOUND, rules=rules, out=tmp_path / "run")
    case = Case(id="1", expected=TRUTH[0], candidate=FOUND[0])
    said = [repr(run), json.dumps(run.to_dict()), repr(rules)]
    with LlmJudge(**options, rubric="Right?").opened() as judging:
        said.append(json.dumps(judging(case).to_dict()))
    if briefly:
        return "\n".join([*said, *written(tmp_path)])
    with LlmSafety(**options).opened() as assess:
        said.append(repr(assess({"note": "x"})))
    for asked in (OpenAi(**options), OpenAiEmbeddings(**options)):
        said.append(repr(asked.similarities([("a b", "c d")])))
        said.append(repr((asked, asked.identity(), asked.usage(), asked.spent())))
    return "\n".join([*said, *written(tmp_path)])


def written(tmp_path):
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "results.jsonl" for path in files)
    return [path.read_bytes().decode("utf-8", "replace") for path in files]


def leak(exchange):
    """An endpoint that says all it was told, in every spelling."""
    header = exchange.handler.headers["Authorization"]
    encoded = base64.b64encode(header.encode()).decode()
    return f"{header} {urllib.parse.quote(header)} {encoded} {json.dumps(header)}"


def leaked_reasons(exchange):
    if not exchange.path.endswith("completions"):
        exchange.json({"error": leak(exchange)})
        return
    marks = [
        {**mark, **({"reason": leak(exchange)} if "reason" in mark else {})}
        for mark in exchange.marks()
    ]
    exchange.say(json.dumps({"nonce": exchange.nonce, "marks": marks}))


def in_escapes(text):
    return "".join(f"\\u{ord(letter):04x}" for letter in text)


def escaped_reason(exchange):
    """A reply in which every letter of the key is an escape, and one in a reply inside of it."""
    header = exchange.handler.headers["Authorization"]
    marks = [
        {"id": name, "score": 0.9, **({"reason": "KEY"} if exchange.reasons else {})}
        for name in exchange.ids
    ]
    content = json.dumps({"nonce": exchange.nonce, "marks": marks}).replace(
        "KEY", in_escapes(header)
    )
    choice = {"message": {"content": content}, "finish_reason": "stop"}
    exchange.json({"model": "MODEL", "choices": [choice]})


def escaped_model(exchange):
    header = exchange.handler.headers["Authorization"]
    choice = {"message": {"content": exchange.content()}, "finish_reason": "stop"}
    body = json.dumps({"model": "MODEL", "choices": [choice]}).replace("MODEL", in_escapes(header))
    exchange.send(200, body.encode())


PATHS = [
    *(pytest.param(param.values[0], id=param.id) for param in FAILURES),
    *(pytest.param(param.values[0], id=param.id) for param in ANSWERS),
    pytest.param(lambda e: e.json({"error": leak(e)}, 401), id="a-refusal-that-quotes-the-key"),
    pytest.param(lambda e: e.json({"error": leak(e)}, 500), id="an-error-that-quotes-the-key"),
    pytest.param(lambda e: e.json({"error": leak(e)}), id="a-success-that-quotes-the-key"),
    pytest.param(lambda e: e.send(200, leak(e).encode()), id="a-page-that-quotes-the-key"),
    pytest.param(saying(leak), id="a-model-that-quotes-the-key"),
    pytest.param(saying(Exchange.content, finish=KEY), id="an-ending-that-is-the-key"),
    pytest.param(leaked_reasons, id="a-reason-that-quotes-the-key"),
    pytest.param(lambda e: e.json({"model": leak(e), "choices": []}), id="a-model-named-like-the-key"),
    pytest.param(escaped_reason, id="a-key-in-escapes-of-a-reason"),
    pytest.param(escaped_model, id="a-key-in-escapes-of-the-envelope"),
    pytest.param(first(1, status(429, headers={"X-Echo": "k"})), id="a-header-comes-back"),
]  # fmt: skip


@pytest.mark.parametrize("script", PATHS)
def test_the_key_is_in_no_file_and_no_message(script, tmp_path):
    with serving(script) as server:
        told = told_everywhere(server, tmp_path, briefly=script in PLAIN)
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    for spelling in spellings():
        assert spelling not in told


PLAIN = {param.values[0] for param in [*FAILURES, *ANSWERS]}


@pytest.mark.parametrize("length", range(160, 200, 3))
def test_no_half_of_a_key_is_left_where_a_message_is_cut(length):
    with serving(
        lambda e: e.json({"error": "x" * length + e.handler.headers["Authorization"]}, 400)
    ) as server:
        (answer,) = OpenAi(model="m", base_url=server.url, cache=False).similarities(
            [("a b", "c d")]
        )
    assert "HTTP 400" in answer.note
    assert KEY[:6] not in answer.note


@pytest.mark.parametrize(
    ("key", "told"),
    [
        pytest.param("", "OPENAI_API_KEY is not set", id="no-key"),
        pytest.param("sk-two\nlines-0123", "characters that no key can have", id="two-lines"),
        pytest.param(
            "sk-ümlaut-0123", "characters that no key can have", id="letters-that-no-header-has"
        ),
    ],
)
def test_a_key_that_cannot_be_used_is_told_without_saying_it(monkeypatch, key, told):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    asked = OpenAi(model="m", base_url="https://models.example.test/v1", cache=False)
    (answer,) = asked.similarities([("a b", "c d")])
    assert told in answer.note
    assert told in asked.unready()
    assert not key or key not in answer.note


def test_this_machine_may_be_asked_without_a_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with serving() as server:
        asked = OpenAi(model="m", base_url=server.url, cache=False)
        assert asked.unready() is None
        assert asked.similarities([("a b", "c d")]) == [0.9]
    assert "Authorization" not in server.headers[0]


def test_another_variable_can_hold_the_key(monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-other-0123456789")
    with serving() as server:
        asked = OpenAi(model="m", base_url=server.url, api_key_env="MY_KEY", cache=False)
        asked.similarities([("a b", "c d")])
    assert server.headers[0]["Authorization"] == "Bearer sk-other-0123456789"


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"api_key_env": "sk-abc-0123456789"}, id="a-key-in-place-of-a-name"),
        pytest.param({"base_url": "https://user:sk-abc-0123456789@example.test/v1"}, id="a-password-in-the-url"),
        pytest.param({"base_url": "https://example.test/v1?key=sk-abc-0123456789"}, id="a-parameter-in-the-url"),
    ],
)  # fmt: skip
def test_a_key_that_is_written_down_is_refused_and_not_repeated(options):
    with pytest.raises(OptionError) as caught:
        OpenAi(model="m", **options)
    assert "sk-abc" not in str(caught.value)


def test_a_key_in_a_rules_file_is_refused_and_not_repeated(tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        "provider: {type: openai, model: m, api_key: sk-abc-0123456789}\nfields: [{path: a}]\n"
    )
    with pytest.raises(fm.ConfigError) as caught:
        fm.score(TRUTH, FOUND, rules=rules)
    assert "api_key" in str(caught.value)
    assert "sk-abc" not in str(caught.value)


def test_proxies_of_the_environment_are_not_used(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving() as server:
        assert OpenAi(model="m", base_url=server.url, cache=False).similarities(
            [("a b", "c d")]
        ) == [0.9]


def test_nothing_is_left_in_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with serving() as server:
        OpenAi(model="m", base_url=server.url).similarities([("a b", "c d")])
    assert not Path(tmp_path / "home").exists()
