"""Behaviors of an endpoint: only a complete and valid response is a similarity."""

from __future__ import annotations

import gzip
import json
import threading
from concurrent.futures import wait

import pytest

import fieldmark as fm
from edges.llm_server import Exchange, first, respond_slowly, responding, serving, status
from fieldmark.compare.semantic import Semantic
from fieldmark.judges import retry
from fieldmark.judges.openai_providers import OpenAi
from fieldmark.judges.retry import Clock
from fieldmark.metrics.identity import described
from fieldmark.model.comparison import Comparison
from fieldmark.rules.rules_file import read_rules
from waiting import TIMEOUT, eventually

PAIR = ("Paid within thirty days", "Payment is due in 30 days")
MAX_ATTEMPTS = 4
"""The first attempt and three retries."""


@pytest.fixture(autouse=True)
def delays(monkeypatch, tmp_path):
    """Return the delays, which are recorded and not waited for; the cache is private to the test."""
    waited: list[float] = []
    monkeypatch.setattr(retry, "SYSTEM_CLOCK", Clock(sleep=waited.append, random=lambda: 0.5))
    monkeypatch.setenv("FIELDMARK_CACHE", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-sentinel-0123456789")
    return waited


def provider(server, **options):
    return OpenAi(model="m", base_url=server.url, **{"timeout": TIMEOUT, "cache": False, **options})


def similarity(server, **options):
    (answer,) = provider(server, **options).similarities([PAIR])
    return answer


def changed(**changes):
    return responding(lambda exchange: exchange.content(**changes))


def one_mark(**entry):
    def content(exchange):
        marks = [{"id": exchange.ids[0], "score": 0.9, **entry}]
        return json.dumps({"nonce": exchange.nonce, "marks": marks})

    return responding(content)


def raw(text):
    return responding(lambda exchange: text.replace("NONCE", exchange.nonce))


def body(value):
    return lambda exchange: exchange.json(value)


def envelope(**changes):
    def respond(exchange):
        choice = {"message": {"content": exchange.content()}, "finish_reason": "stop"}
        exchange.json({"choices": [choice], **changes})

    return respond


def close_in_response(exchange):
    exchange.cut(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"choices": [')


def chunked(exchange):
    choice = {"message": {"content": exchange.content()}, "finish_reason": "stop"}
    text = json.dumps({"choices": [choice]}).encode()
    handler = exchange.handler
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    for start in range(0, len(text), 7):
        part = text[start : start + 7]
        handler.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
    handler.wfile.write(b"0\r\n\r\n")


def compressed(exchange):
    text = gzip.compress(b"{}" + b" " * 100_000)
    exchange.send(200, text, {"Content-Encoding": "gzip"})


def streamed(exchange):
    text = b'data: {"choices":[{"delta":{"content":"{"}}]}\n\ndata: [DONE]\n\n'
    exchange.send(200, text, {"Content-Type": "text/event-stream"})


def twice(exchange):
    return exchange.content() + exchange.content()


def two_ids(exchange):
    marks = [*exchange.marks(), {"id": "p2", "score": 1.0}]
    return json.dumps({"nonce": exchange.nonce, "marks": marks})


VALID = [
    pytest.param(Exchange.succeed, 1, id="valid"),
    pytest.param(responding(lambda e: f"\n  {e.content()} \n"), 1, id="surrounding-whitespace"),
    pytest.param(responding(Exchange.content, finish=None), 1, id="no-finish-reason"),
    pytest.param(responding(Exchange.content, usage=False), 1, id="no-usage"),
    pytest.param(responding(Exchange.content, refusal=None), 1, id="null-refusal"),
    pytest.param(envelope(system_fingerprint="f", error=None), 1, id="unknown-keys"),
    pytest.param(chunked, 1, id="chunked"),
    pytest.param(first(3, status(429)), 4, id="429-three-times"),
    pytest.param(first(1, status(500)), 2, id="500-once"),
    pytest.param(first(1, status(503, headers={"Retry-After": "7"})), 2, id="503-with-retry-after"),
    pytest.param(first(1, status(529)), 2, id="529-once"),
    pytest.param(first(1, Exchange.cut), 2, id="closed-before-response-once"),
    pytest.param(first(1, close_in_response), 2, id="closed-in-response-once"),
    pytest.param(responding(lambda e: f"```json\n{e.content()}\n```"), 1, id="code-fence"),
    pytest.param(responding(lambda e: f"<think>It is {{1}}.\n</think>\n\n{e.content()}"), 1, id="thinking"),
    pytest.param(responding(lambda e: f"<think>a</think>```json\n{e.content()}\n```"), 1, id="thinking-and-code-fence"),
    pytest.param(first(1, changed(nonce="0" * 32)), 2, id="wrong-nonce-once"),
]  # fmt: skip

INVALID = [
    pytest.param(status(429), MAX_ATTEMPTS, "HTTP 429", id="429-always"),
    pytest.param(status(500), MAX_ATTEMPTS, "HTTP 500", id="500-always"),
    pytest.param(Exchange.cut, MAX_ATTEMPTS, "connection failed", id="closed-before-response-always"),
    pytest.param(close_in_response, MAX_ATTEMPTS, "connection failed", id="closed-in-response-always"),
    pytest.param(status(429, {"error": {"code": "insufficient_quota"}}), 1, "HTTP 429", id="quota-exhausted"),
    pytest.param(status(400), 1, "HTTP 400", id="400"),
    pytest.param(status(307, headers={"Location": "http://169.254.169.254/"}), 1, "redirects are not followed", id="redirect-to-metadata-address"),
    pytest.param(lambda e: e.send(204, b""), 1, "HTTP 204", id="204"),
    pytest.param(lambda e: e.send(200, b""), 1, "the response is not a JSON object", id="empty-body"),
    pytest.param(lambda e: e.send(200, b"[" * 100_000), 1, "nesting exceeds the limit of 50 levels", id="deeply-nested-body"),
    pytest.param(lambda e: e.send(200, b"\xff\xfe{}"), 1, "the response is not a JSON object", id="not-utf-8"),
    pytest.param(lambda e: e.send(200, b"[]"), 1, "not a JSON object: the top level is not an object", id="array-body"),
    pytest.param(lambda e: e.send(200, b" " * ((1 << 20) + 1)), 1, "exceeds the limit of 1,048,576 bytes", id="body-too-large"),
    pytest.param(compressed, 1, "compressed", id="compressed"),
    pytest.param(streamed, 1, "the response is not a JSON object", id="event-stream"),
    pytest.param(body({"error": {"message": "no"}}), 1, "the endpoint returned an error", id="error-with-status-200"),
    pytest.param(body({"choices": []}), 1, "exactly one choice", id="no-choices"),
    pytest.param(body({"choices": [{"message": {"content": "{}"}}] * 2}), 1, "exactly one choice", id="two-choices"),
    pytest.param(body({"choices": [{"finish_reason": "stop"}]}), 1, "does not contain a message", id="no-message"),
    pytest.param(responding(Exchange.content, finish="length"), 1, "truncated at the token limit", id="truncated-by-length"),
    pytest.param(responding(Exchange.content, finish="content_filter"), 1, "the content filter of the endpoint blocked the response", id="content-filter"),
    pytest.param(responding(Exchange.content, finish="tool_calls"), 1, "unexpected finish reason", id="tool-call"),
    pytest.param(responding(Exchange.content, finish={"x": 1}), 1, "unexpected finish reason", id="object-as-finish-reason"),
    pytest.param(responding(Exchange.content, refusal="I cannot"), 1, "the model refused to respond", id="refusal"),
    pytest.param(responding(lambda _: None), 1, "the message content is empty or not a string", id="null-content"),
    pytest.param(responding(lambda e: [{"type": "text", "text": e.content()}]), 1, "the message content is empty or not a string", id="content-parts"),
    pytest.param(responding(lambda e: f"```json\n{e.content()}"), 2, "the response is not a JSON object", id="unclosed-code-fence"),
    pytest.param(responding(lambda e: f"```\n```json\n{e.content()}\n```\n```"), 2, "the response is not a JSON object", id="two-code-fences"),
    pytest.param(responding(lambda e: f"<think>a</think><think>b</think>{e.content()}"), 2, "the response is not a JSON object", id="two-thoughts"),
    pytest.param(responding(lambda e: f"<think>{e.content()}"), 2, "the response is not a JSON object", id="unclosed-thought"),
    pytest.param(responding(lambda e: f"<think>a</think>{e.content(nonce='x')}"), 2, "does not contain the nonce", id="wrong-nonce-after-thinking"),
    pytest.param(responding(lambda e: f"Sure! {e.content()}"), 2, "the response is not a JSON object", id="text-before"),
    pytest.param(responding(twice), 2, "the response is not a JSON object", id="two-objects"),
    pytest.param(responding(lambda e: e.content()[:-5]), 2, "the response is not a JSON object", id="incomplete-content"),
    pytest.param(responding(lambda e: f"[{e.content()}]"), 2, "not a JSON object: the top level is not an object", id="array-content"),
    pytest.param(raw("0.9"), 2, "not a JSON object: the top level is not an object", id="number-content"),
    pytest.param(raw('{"score": 1}'), 2, "does not contain the nonce", id="no-nonce"),
    pytest.param(responding(lambda e: json.dumps(e.data)), 2, "does not contain the nonce", id="echo-of-data"),
    pytest.param(changed(comment="fine"), 2, "does not have the requested structure", id="unknown-key"),
    pytest.param(changed(marks={"p1": 0.9}), 2, "does not have the requested structure", id="marks-as-an-object"),
    pytest.param(changed(marks=[]), 2, "expected 1 grade, got 0", id="no-marks"),
    pytest.param(one_mark(score=1.7), 2, "a score is not between 0 and 1", id="score-above-one"),
    pytest.param(one_mark(score=-0.1), 2, "a score is not between 0 and 1", id="negative-score"),
    pytest.param(one_mark(score="0.9"), 2, "a score is not a number", id="score-string"),
    pytest.param(one_mark(score=True), 2, "a score is not a number", id="score-true"),
    pytest.param(one_mark(id=1), 2, "does not have the requested structure", id="id-number"),
    pytest.param(one_mark(id="p9"), 2, "duplicate or unknown id", id="unknown-id"),
    pytest.param(responding(two_ids), 2, "duplicate or unknown id", id="extra-mark"),
    pytest.param(responding(lambda e: e.content(marks=e.marks() * 2)), 2, "duplicate or unknown id", id="duplicate-id"),
    pytest.param(raw('{"nonce": "NONCE", "marks": [{"id": "p1", "score": NaN}]}'), 2, "the response is not a JSON object", id="nan"),
    pytest.param(raw('{"nonce": "NONCE", "marks": [{"id": "p1", "score": 1e999}]}'), 2, "a score is not between 0 and 1", id="infinite-score"),
    pytest.param(raw('{"nonce": "x", "nonce": "NONCE", "marks": [{"id": "p1", "score": 1}]}'), 2, "the response is not a JSON object", id="duplicate-nonce"),
    pytest.param(raw('{"nonce": "NONCE", "marks": ' + "[" * 1000 + "]" * 1000 + "}"), 2, "nesting exceeds the limit of 50 levels", id="deeply-nested-content"),
    pytest.param(raw('{"nonce": "NONCE", "marks": [{"id": "p1", "score": ' + "9" * 5000 + "}]}"), 2, "the response is not a JSON object", id="score-with-5000-digits"),
]  # fmt: skip


@pytest.mark.parametrize(("script", "attempts"), VALID)
def test_valid_response_is_a_similarity(script, attempts):
    with serving(script) as server:
        answer = similarity(server)
    assert answer in {0.9, 1.0, 0.0}
    assert server.attempts == attempts


@pytest.mark.parametrize(("script", "attempts", "note"), INVALID)
def test_invalid_response_is_an_error_and_never_a_similarity(script, attempts, note):
    with serving(script) as server:
        answer = similarity(server)
    assert isinstance(answer, Comparison)
    assert answer.failed
    assert note in answer.note
    assert server.attempts == attempts


@pytest.mark.parametrize(
    "slow",
    [
        pytest.param(lambda server: lambda _: server.wait(TIMEOUT), id="no-response"),
        pytest.param(lambda server: respond_slowly(server, 0.02), id="one-byte-at-a-time"),
    ],
)
def test_timeout_is_retried(delays, slow):
    with serving() as server:
        server.script = slow(server)
        answer = similarity(server, timeout=0.25)
    assert answer.failed
    # The server may see fewer requests: a slow machine can reach the timeout before it connects.
    assert answer.note.endswith(f"no response within 0.25 s ({MAX_ATTEMPTS} attempts)")
    assert len(delays) == MAX_ATTEMPTS - 1


def test_response_after_a_timeout_is_a_similarity(monkeypatch):
    hanging = threading.Event()

    def expire_when_hanging(futures, _):
        """Let the time limit expire as soon as the server hangs."""
        assert eventually(lambda: hanging.is_set() or futures[0].done())
        hanging.clear()
        return wait(futures, 0)

    def hang(exchange):
        hanging.set()
        server.wait(TIMEOUT)
        exchange.cut()

    monkeypatch.setattr(retry, "wait", expire_when_hanging)
    with serving(first(1, hang)) as server:
        assert similarity(server) == 0.9
    assert server.attempts == 2


def test_refused_connection_is_retried(delays):
    with serving() as server:
        pass
    answer = similarity(server)
    assert answer.failed
    assert "4 attempts" in answer.note
    assert len(delays) == 3


@pytest.mark.parametrize(
    ("retry_after", "waited"),
    [
        pytest.param("7", 7.25, id="seconds"),
        pytest.param("3600", 60.25, id="capped-at-a-minute"),
        pytest.param("soon", 0.25, id="text"),
        pytest.param("-5", 0.25, id="negative-number"),
        pytest.param("Wed, 21 Oct 2015 07:28:00 GMT", 0.25, id="past-date"),
    ],
)
def test_retry_after_is_respected_up_to_a_limit(delays, retry_after, waited):
    with serving(first(1, status(429, headers={"Retry-After": retry_after}))) as server:
        similarity(server)
    assert delays == [waited]


def test_failed_batch_is_split_to_find_the_failing_pair():
    pairs = [(f"text {n}", f"words {n}") for n in range(8)]
    failing = "words 5"

    def respond(exchange):
        texts = {
            text for pair in exchange.data["pairs"] for text in (pair["first"], pair["second"])
        }
        exchange.respond("I refuse" if failing in texts else exchange.content(0.7))

    with serving(respond) as server:
        answers = provider(server).similarities(pairs)
    assert [answer for answer in answers if answer == 0.7] == [0.7] * 7
    assert answers[5].failed
    assert server.attempts == 8  # 8, then 4 4, 2 2, 1 1 1


def test_pairs_are_sent_in_batches_and_returned_in_order():
    pairs = [(f"text {n}", f"words {n}") for n in range(25)]

    def respond(exchange):
        numbers = [int(pair["first"].split()[-1]) for pair in exchange.data["pairs"]]
        scores = dict(zip(exchange.ids, (number / 100 for number in numbers), strict=True))
        exchange.succeed(scores)

    with serving(respond) as server:
        answers = provider(server, batch=10, concurrency=3).similarities(pairs)
    assert answers == [number / 100 for number in range(25)]
    assert server.attempts == 3


# --- response formats -------------------------------------------------------------------------------


def refusing(*formats):
    """Refuse response formats as endpoints do that do not support them."""

    def respond(exchange):
        used = exchange.body.get("response_format", {}).get("type")
        if used in formats:
            message = f"'response_format' of type '{used}' is not supported with this model"
            exchange.json({"error": {"message": message}}, 400)
        else:
            exchange.succeed()

    return respond


def formats(server):
    return [request.get("response_format", {}).get("type") for request in server.requests]


@pytest.mark.parametrize(
    ("refused", "requested"),
    [
        pytest.param([], ["json_schema", "json_schema"], id="json-schema"),
        pytest.param(["json_schema"], ["json_schema", "json_object", "json_object"], id="json-object"),
        pytest.param(["json_schema", "json_object"], ["json_schema", "json_object", None, None], id="text"),
    ],
)  # fmt: skip
def test_strictest_supported_response_format_is_used_in_all_further_calls(refused, requested):
    with serving(refusing(*refused)) as server:
        openai = provider(server)
        assert openai.similarities([("a b", "c d")]) == [0.9]
        assert openai.similarities([("e f", "g h")]) == [0.9]
    assert formats(server) == requested


def test_concurrent_refusals_of_one_format_do_not_skip_the_next_one():
    both = threading.Barrier(2, timeout=TIMEOUT)

    def respond(exchange):
        if exchange.body["response_format"]["type"] == "json_schema":
            both.wait()
        refusing("json_schema")(exchange)

    with serving(respond) as server:
        openai = provider(server, batch=1, concurrency=2)
        assert openai.similarities([("a b", "c d"), ("e f", "g h")]) == [0.9, 0.9]
    assert sorted(formats(server)) == ["json_object"] * 2 + ["json_schema"] * 2


def test_response_format_that_was_set_is_the_only_one():
    with serving(refusing("json_schema")) as server:
        answer = similarity(server, reply_format="json_schema")
    assert "is not supported with this model" in answer.note
    assert formats(server) == ["json_schema"]


def test_schema_asks_for_the_reason_before_the_score():
    with serving() as server:
        provider(server, reasons=True).similarities([("a b", "c d")])
    content = server.requests[0]["response_format"]["json_schema"]
    mark = content["schema"]["properties"]["marks"]["items"]
    assert list(mark["properties"]) == mark["required"] == ["id", "reason", "score"]
    assert content["strict"] is True


# --- prompts ----------------------------------------------------------------------------------------


def test_error_quotes_an_invalid_response_without_its_line_breaks():
    with serving(responding(lambda _: "I would\n say 0.9")) as server:
        assert similarity(server).note.endswith(": 'I would say 0.9'")


def test_prompt_explains_levels_and_names_no_score_in_its_example():
    with serving() as server:
        provider(server).similarities([("a b", "c d")])
    prompt = server.requests[0]["messages"][-1]["content"]
    for level in ("1", "0.9", "0.6", "0.3", "0"):
        assert f"\n- {level}: " in prompt
    example = prompt[prompt.index("Reply with exactly") :]
    assert '"score": <number>' in example


def test_reason_of_a_similarity_is_the_note_of_the_comparison():
    with serving() as server:
        explaining = provider(server, reasons=True, cache=True)
        (answer,) = explaining.similarities([("a b", "c d")])
        (cached,) = explaining.similarities([("a b", "c d")])
        compared = Semantic(provider=explaining).compare("a b", "c d")
    assert (answer.similarity, answer.note) == (0.9, "because")
    assert (cached, server.attempts) == (answer, 1)
    assert (compared.matched, compared.score, compared.note) == (True, 0.9, "because")


def test_model_is_told_the_path_and_the_description_of_a_field():
    fields = [
        {"path": "item.name", "match": "semantic", "description": "What was sold."},
        {"path": "note", "match": "semantic"},
    ]
    document = {"item": {"name": "a b"}, "note": "c d"}
    other = {"item": {"name": "e f"}, "note": "g h"}
    with serving() as server:
        options = {"type": "openai", "model": "m", "base_url": server.url}
        rules = {"provider": options, "fields": fields}
        run = fm.score([{"expected": document, "candidate": other}], rules=rules)
        data = [Exchange(None, 0, "", request).data for request in server.requests]
    told = sorted((each["field"], each.get("description")) for each in data)
    assert told == [("item.name", "What was sold."), ("note", None)]
    assert [each["requests"] for each in run.summary.spent["asked"]] == [2]


def test_description_of_a_schema_is_part_of_the_rule():
    schema = {
        "properties": {
            "note": {
                "type": "string",
                "description": "Remarks of the clerk.",
                "x-fieldmark": {"match": "semantic"},
            }
        }
    }
    assert 'description: "Remarks of the clerk"' in str(fm.rules_from(schema))


def test_description_changes_the_convention_of_a_language_model_only():
    def hash_of(description, kind):
        provider = {"type": kind, **({"model": "m"} if kind == "openai" else {})}
        rule = {"path": "note", "match": "semantic", "description": description}
        rules = read_rules({"provider": provider, "fields": [rule]}).rules
        return described(rules.fields[0].comparator)

    assert hash_of("a", "openai") != hash_of("b", "openai")
    assert hash_of("a", "lexical") == hash_of("b", "lexical")


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        pytest.param(
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            "set request: {max_tokens: null, max_completion_tokens: 2048} for this model",
            id="max_tokens",
        ),
        pytest.param(
            "Unsupported value: 'temperature' does not support 0 with this model.",
            "set request: {temperature: null} for this model",
            id="temperature",
        ),
        pytest.param("max_tokens is too large: 2048", "", id="supported"),
        pytest.param("Unsupported parameter: 'top_k'", "", id="other-parameter"),
    ],
)
def test_the_error_for_a_rejected_parameter_names_the_option_that_changes_it(message, hint):
    with serving(status(400, {"error": {"message": message}})) as server:
        note = similarity(server, reply_format="none").note
    assert note.endswith(hint) if hint else "set request" not in note
    assert message in note.replace('\\"', '"')


def test_no_option_is_proposed_that_is_already_set():
    error = {"error": {"message": "'max_tokens' is not supported"}}
    with serving(status(400, error)) as server:
        request = {"max_tokens": None, "max_completion_tokens": 9}
        note = similarity(server, request=request, reply_format="none").note
    assert "set request" not in note
