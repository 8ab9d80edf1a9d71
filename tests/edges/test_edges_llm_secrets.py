"""API keys are sent to the endpoint only: no file and no message contains them."""

from __future__ import annotations

import base64
import json
import urllib.parse
from pathlib import Path

import pytest

import fieldmark as fm
from edges.llm_server import Exchange, first, isolate, responding, serving, status
from fieldmark.errors import OptionError
from fieldmark.judges import retry
from fieldmark.judges.llm_judge import LlmJudge
from fieldmark.judges.openai_providers import OpenAi, OpenAiEmbeddings
from fieldmark.judges.safety import LlmSafety
from fieldmark.model.case import Case
from fieldmark.values.records import to_json
from waiting import TIMEOUT

KEY = 'sk-sentinel/+"4711-abcdefgh'
TRUTH = [{"id": "1", "note": "the invoice was paid"}]
PREDICTIONS = [{"id": "1", "note": "the customer paid the bill"}]


@pytest.fixture(autouse=True)
def _isolated(monkeypatch, tmp_path):
    isolate(monkeypatch, tmp_path / "cache", KEY)


def encodings():
    raw = KEY.encode()
    yield KEY
    yield json.dumps(KEY)[1:-1]
    yield urllib.parse.quote(KEY, safe="")
    yield urllib.parse.quote_plus(KEY)
    for lead in (b"", b"x", b"Bearer ", b"xx"):
        yield base64.b64encode(lead + raw).decode().rstrip("=")[len(lead) + 3 : -4]


def all_output(server, tmp_path):
    """Return all files and output of every kind of call to the endpoint."""
    options = {"model": "m", "base_url": server.url, "timeout": TIMEOUT}
    rules = {
        "provider": {"type": "openai", **options},
        "fields": [{"path": "note", "match": "semantic"}],
    }
    run = fm.score(TRUTH, PREDICTIONS, rules=rules, out=tmp_path / "run")
    case = Case(id="1", expected=TRUTH[0], candidate=PREDICTIONS[0])
    output = [repr(run), json.dumps(run.to_dict()), repr(rules)]
    with LlmJudge(**options, rubric="Right?").opened() as score_case:
        output.append(json.dumps(to_json(score_case(case))))
    with LlmSafety(**options).opened() as assess:
        output.append(repr(assess({"note": "x"})))
    for openai in (OpenAi(**options), OpenAiEmbeddings(**options)):
        output.append(repr(openai.similarities([("a b", "c d")])))
        output.append(repr((openai, openai.identity(), openai.usage(), openai.spent())))
    return "\n".join([*output, *written_files(tmp_path)])


def written_files(tmp_path):
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "results.jsonl" for path in files)
    return [path.read_bytes().decode("utf-8", "replace") for path in files]


def leak(exchange):
    """Return the key in several encodings."""
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
    exchange.respond(json.dumps({"nonce": exchange.nonce, "marks": marks}))


def escaped(text):
    return "".join(f"\\u{ord(letter):04x}" for letter in text)


def escaped_reason(exchange):
    """Respond with a reason in which every character of the key is escaped."""
    header = exchange.handler.headers["Authorization"]
    marks = [
        {"id": name, "score": 0.9, **({"reason": "KEY"} if exchange.reasons else {})}
        for name in exchange.ids
    ]
    content = json.dumps({"nonce": exchange.nonce, "marks": marks}).replace("KEY", escaped(header))
    choice = {"message": {"content": content}, "finish_reason": "stop"}
    exchange.json({"model": "MODEL", "choices": [choice]})


def escaped_model(exchange):
    header = exchange.handler.headers["Authorization"]
    choice = {"message": {"content": exchange.content()}, "finish_reason": "stop"}
    body = json.dumps({"model": "MODEL", "choices": [choice]}).replace("MODEL", escaped(header))
    exchange.send(200, body.encode())


PATHS = [
    pytest.param(Exchange.succeed, id="valid"),
    pytest.param(Exchange.cut, id="closed-connection"),
    pytest.param(lambda e: e.send(200, b"<html>busy</html>"), id="not-json"),
    pytest.param(lambda e: e.json({"error": leak(e)}, 401), id="client-error-with-key"),
    pytest.param(lambda e: e.json({"error": leak(e)}, 500), id="server-error-with-key"),
    pytest.param(lambda e: e.json({"error": leak(e)}), id="error-in-success-with-key"),
    pytest.param(lambda e: e.send(200, leak(e).encode()), id="invalid-json-with-key"),
    pytest.param(responding(leak), id="content-with-key"),
    pytest.param(responding(Exchange.content, finish=KEY), id="key-as-finish-reason"),
    pytest.param(leaked_reasons, id="reason-with-key"),
    pytest.param(lambda e: e.json({"model": leak(e), "choices": []}), id="key-as-model-name"),
    pytest.param(escaped_reason, id="escaped-key-in-reason"),
    pytest.param(escaped_model, id="escaped-key-in-model-name"),
    pytest.param(first(1, status(429, headers={"X-Echo": "k"})), id="echoed-header"),
]  # fmt: skip


@pytest.mark.parametrize("script", PATHS)
def test_key_is_in_no_file_and_no_message(script, tmp_path):
    with serving(script) as server:
        output = all_output(server, tmp_path)
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    for encoding in encodings():
        assert encoding not in output


@pytest.mark.parametrize("length", [160, 175, 181, 187, 199])
def test_truncated_message_contains_no_part_of_the_key(length):
    with serving(
        lambda e: e.json({"error": "x" * length + e.handler.headers["Authorization"]}, 400)
    ) as server:
        (answer,) = OpenAi(model="m", base_url=server.url, cache=False).similarities(
            [("a b", "c d")]
        )
    assert "HTTP 400" in answer.note
    assert KEY[:6] not in answer.note


@pytest.mark.parametrize(
    ("key", "message"),
    [
        pytest.param("", "OPENAI_API_KEY is not set", id="not-set"),
        pytest.param(
            "sk-two\nlines-0123",
            "OPENAI_API_KEY contains characters that are not allowed in a key",
            id="two-lines",
        ),
        pytest.param(
            "sk-ümlaut-0123",
            "OPENAI_API_KEY contains characters that are not allowed in a key",
            id="non-ascii",
        ),
    ],
)
def test_invalid_key_is_reported_without_its_value(monkeypatch, key, message):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    openai = OpenAi(model="m", base_url="https://models.example.test/v1", cache=False)
    (answer,) = openai.similarities([("a b", "c d")])
    assert message in answer.note
    assert message in openai.unready()
    assert not key or key not in answer.note


def test_local_endpoint_needs_no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with serving() as server:
        openai = OpenAi(model="m", base_url=server.url, cache=False)
        assert openai.unready() is None
        assert openai.similarities([("a b", "c d")]) == [0.9]
    assert "Authorization" not in server.headers[0]


def test_api_key_env_names_another_variable(monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-other-0123456789")
    with serving() as server:
        openai = OpenAi(model="m", base_url=server.url, api_key_env="MY_KEY", cache=False)
        openai.similarities([("a b", "c d")])
    assert server.headers[0]["Authorization"] == "Bearer sk-other-0123456789"


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"api_key_env": "sk-abc-0123456789"}, id="key-instead-of-name"),
        pytest.param({"base_url": "https://user:sk-abc-0123456789@example.test/v1"}, id="password-in-url"),
        pytest.param({"base_url": "https://example.test/v1?key=sk-abc-0123456789"}, id="parameter-in-url"),
    ],
)  # fmt: skip
def test_key_in_an_option_is_rejected_and_not_repeated(options):
    with pytest.raises(OptionError) as caught:
        OpenAi(model="m", **options)
    assert "sk-abc" not in str(caught.value)


def test_key_in_a_rules_file_is_rejected_and_not_repeated(tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        "provider: {type: openai, model: m, api_key: sk-abc-0123456789}\nfields: [{path: a}]\n"
    )
    with pytest.raises(fm.ConfigError) as caught:
        fm.score(TRUTH, PREDICTIONS, rules=rules)
    assert "api_key" in str(caught.value)
    assert "sk-abc" not in str(caught.value)


def test_proxy_variables_are_ignored(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving() as server:
        assert OpenAi(model="m", base_url=server.url, cache=False).similarities(
            [("a b", "c d")]
        ) == [0.9]


def test_home_directory_stays_empty(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with serving() as server:
        OpenAi(model="m", base_url=server.url).similarities([("a b", "c d")])
    assert not Path(tmp_path / "home").exists()


# --- headers, query parameters, Azure and proxies ---------------------------------------------------


def test_headers_and_query_parameters_are_sent_and_redacted(monkeypatch, tmp_path):
    monkeypatch.setenv("FM_TEAM_KEY", "sentinel-4711")
    monkeypatch.setenv("FIELDMARK_CACHE", str(tmp_path))
    options = {
        "headers": {"X-Key": "${FM_TEAM_KEY}"},
        "query": {"token": "${FM_TEAM_KEY}", "v": "2"},
    }

    def refuse(exchange):
        exchange.json({"error": {"message": "bad key sentinel-4711"}}, 400)

    with serving(refuse) as server:
        openai = OpenAi(model="m", base_url=server.url, **options)
        (answer,) = openai.similarities([("a b", "c d")])
    assert server.headers[0]["X-Key"] == "sentinel-4711"
    assert server.paths == ["/v1/chat/completions?token=sentinel-4711&v=2"]
    assert "bad key [FM_TEAM_KEY]" in answer.note
    assert "sentinel" not in repr((openai, openai.identity(), openai.spent()))
    assert openai.identity()["query"] == options["query"]


def test_variable_of_a_header_is_required_before_the_run(monkeypatch):
    monkeypatch.delenv("FM_TEAM_KEY", raising=False)
    openai = OpenAi(model="m", base_url="http://localhost:1", headers={"X-Key": "${FM_TEAM_KEY}"})
    assert openai.unready().startswith("environment variable FM_TEAM_KEY is not set")


def test_header_with_credentials_replaces_the_api_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other-0123456789")
    monkeypatch.setenv("FM_TEAM_KEY", "sentinel-4711")
    headers = {"authorization": "Bearer ${FM_TEAM_KEY}"}
    with serving() as server:
        OpenAi(model="m", base_url=server.url, cache=False, headers=headers).similarities(
            [("a", "b")]
        )
    sent = [value for name, value in server.headers[0].items() if name.lower() == "authorization"]
    assert sent == ["Bearer sentinel-4711"]


def test_azure_deployment(monkeypatch):
    monkeypatch.setenv("AZURE_KEY", "sentinel-4711")
    options = {"api_key_env": "AZURE_KEY", "azure_api_version": "2024-10-21", "cache": False}

    def embed(exchange):
        data = [{"index": n, "embedding": [1.0]} for n in range(len(exchange.body["input"]))]
        exchange.json({"data": data})

    with serving() as server:
        url = server.url.removesuffix("/v1")
        openai = OpenAi(model="my deployment", base_url=url, **options)
        assert openai.similarities([("a b", "c d")]) == [0.9]
        server.script = embed
        OpenAiEmbeddings(model="vectors", base_url=url, **options).similarities([("a b", "c d")])
    assert server.paths == [
        "/openai/deployments/my%20deployment/chat/completions?api-version=2024-10-21",
        "/openai/deployments/vectors/embeddings?api-version=2024-10-21",
    ]
    assert all(headers["api-key"] == "sentinel-4711" for headers in server.headers)
    assert not any("Authorization" in headers for headers in server.headers)
    assert openai.identity()["query"] == {"api-version": "2024-10-21"}


def test_proxy_of_a_model():
    with serving() as server:
        proxy = server.url.removesuffix("/v1")
        openai = OpenAi(model="m", base_url="http://127.0.0.9:1/v1", proxy=proxy, cache=False)
        assert openai.similarities([("a b", "c d")]) == [0.9]
    assert server.paths == ["http://127.0.0.9:1/v1/chat/completions"]


@pytest.mark.parametrize(
    ("options", "option"),
    [
        pytest.param({"headers": {"api-key": "sk-sentinel"}}, "headers", id="literal-key"),
        pytest.param({"query": {"api_key": "sk-sentinel"}}, "query", id="literal-key-in-the-query"),
        pytest.param({"proxy": "http://ann:sentinel@proxy:1"}, "proxy", id="password"),
        pytest.param({"azure_api_version": "1&x=2"}, "azure_api_version", id="version"),
        pytest.param(
            {"base_url": "http://10.0.0.7/v1"}, "base_url", id="http-in-a-private-network"
        ),
    ],
)
def test_invalid_connection_options(options, option):
    with pytest.raises(OptionError) as refused:
        OpenAi(**{"model": "m", **options})
    assert refused.value.option == option
    assert "sentinel" not in str(refused.value)


def test_private_network_needs_no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    openai = OpenAi(model="m", base_url="http://10.0.0.7/v1", allow_private_http=True)
    assert openai.unready() is None


# --- rejected credentials and repeated failures -----------------------------------------------------

PAIRS = [(f"text {n}", f"words {n}") for n in range(30)]


def failing_provider(server, **options):
    given = {"model": "m", "base_url": server.url, "cache": False, "batch": 1, "concurrency": 1}
    return OpenAi(**{**given, "retries": 1, **options})


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    stopped = retry.Clock(now=lambda: now[0], sleep=lambda _: None)
    monkeypatch.setattr(retry, "SYSTEM_CLOCK", stopped)
    return now


def test_nothing_is_sent_after_rejected_credentials(clock):
    with serving(status(401)) as server:
        openai = failing_provider(server)
        first, *others = openai.similarities(PAIRS)
        (later,) = openai.for_field("note").similarities([("a b", "c d")])
    assert server.attempts == 1
    assert "HTTP 401" in first.note
    notes = {answer.note for answer in (*others, later)}
    assert len(notes) == 1
    assert "not sent, because an earlier request failed: HTTP 401" in notes.pop()


def test_nothing_is_sent_for_a_while_after_ten_failures_in_a_row(clock):
    with serving(status(503)) as server:
        openai = failing_provider(server)
        answers = openai.similarities(PAIRS)
        assert server.attempts == 20
        assert "HTTP 503" in answers[9].note
        assert "not sent, because 10 requests in a row failed: HTTP 503" in answers[10].note
        clock[0] = 30.0
        openai.similarities(PAIRS)
        assert server.attempts == 21
        clock[0] = 60.0
        server.script = Exchange.succeed
        assert openai.similarities(PAIRS) == [0.9] * 30


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(lambda e: e.succeed() if e.attempt % 9 == 0 else status(503)(e), id="successes"),
        pytest.param(lambda e: status(400 if e.attempt % 9 == 0 else 503)(e), id="refusals"),
    ],
)  # fmt: skip
def test_failures_with_other_responses_between_them_do_not_stop_requests(clock, script):
    with serving(script) as server:
        failing_provider(server, retries=0).similarities(PAIRS)
    assert server.attempts == 30
