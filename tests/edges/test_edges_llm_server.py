"""What an endpoint can do, and what becomes of it: a number only from a reply that is whole."""

from __future__ import annotations

import gzip
import json

import pytest

from edges.llm_server import Exchange, drip, first, saying, serving, status
from fieldmark.judges import rate_limiter
from fieldmark.judges.providers.openai import OpenAi
from fieldmark.judges.rate_limiter import Clock
from fieldmark.model.comparison import Comparison

PAIR = ("Paid within thirty days", "Payment is due in 30 days")
TRIES = 4
"""The first attempt and three more."""


@pytest.fixture(autouse=True)
def pauses(monkeypatch, tmp_path):
    """The seconds that would have been waited; the cache is the test's own."""
    waited: list[float] = []
    monkeypatch.setattr(
        rate_limiter, "SYSTEM_CLOCK", Clock(sleep=waited.append, chance=lambda: 0.5)
    )
    monkeypatch.setenv("FIELDMARK_CACHE", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-sentinel-0123456789")
    return waited


def provider(server, **options):
    return OpenAi(model="m", base_url=server.url, **{"timeout": 5.0, "cache": False, **options})


def judged(server, **options):
    (answer,) = provider(server, **options).similarities([PAIR])
    return answer


def changed(**changes):
    return saying(lambda exchange: exchange.content(**changes))


def one_mark(**entry):
    def content(exchange):
        marks = [{"id": exchange.ids[0], "score": 0.9, **entry}]
        return json.dumps({"nonce": exchange.nonce, "marks": marks})

    return saying(content)


def raw(text):
    return saying(lambda exchange: text.replace("NONCE", exchange.nonce))


def body(value):
    return lambda exchange: exchange.json(value)


def envelope(**changes):
    def answer(exchange):
        choice = {"message": {"content": exchange.content()}, "finish_reason": "stop"}
        exchange.json({"choices": [choice], **changes})

    return answer


def cut_in_the_middle(exchange):
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


ANSWERS = [
    pytest.param(Exchange.well, 1, id="a-good-reply"),
    pytest.param(saying(lambda e: f"\n  {e.content()} \n"), 1, id="blanks-around-the-object"),
    pytest.param(changed(score=1), 1, id="a-whole-number"),
    pytest.param(changed(score=0), 1, id="a-score-of-nought"),
    pytest.param(saying(Exchange.content, finish=None), 1, id="no-word-on-how-it-ended"),
    pytest.param(saying(Exchange.content, usage=False), 1, id="no-word-on-tokens"),
    pytest.param(saying(Exchange.content, refusal=None), 1, id="a-refusal-that-is-none"),
    pytest.param(envelope(system_fingerprint="f", error=None), 1, id="more-in-the-envelope"),
    pytest.param(chunked, 1, id="a-reply-in-chunks"),
    pytest.param(first(1, status(429)), 2, id="too-many-requests-once"),
    pytest.param(first(2, status(429)), 3, id="too-many-requests-twice"),
    pytest.param(first(3, status(429)), 4, id="too-many-requests-three-times"),
    pytest.param(first(1, status(500)), 2, id="an-internal-error-once"),
    pytest.param(first(1, status(502)), 2, id="a-bad-gateway-once"),
    pytest.param(first(1, status(503, headers={"Retry-After": "7"})), 2, id="unavailable-for-seven-seconds"),
    pytest.param(first(1, status(504)), 2, id="a-gateway-that-was-late-once"),
    pytest.param(first(1, status(408)), 2, id="a-request-that-was-late-once"),
    pytest.param(first(1, status(529)), 2, id="overloaded-once"),
    pytest.param(first(1, Exchange.cut), 2, id="cut-off-before-the-reply-once"),
    pytest.param(first(1, cut_in_the_middle), 2, id="cut-off-in-the-reply-once"),
]  # fmt: skip

FAILURES = [
    pytest.param(status(429), TRIES, "HTTP 429", id="too-many-requests-for-ever"),
    pytest.param(status(500), TRIES, "HTTP 500", id="internal-errors-for-ever"),
    pytest.param(status(503), TRIES, "HTTP 503", id="unavailable-for-ever"),
    pytest.param(Exchange.cut, TRIES, "connection failed", id="cut-off-for-ever"),
    pytest.param(cut_in_the_middle, TRIES, "connection failed", id="cut-off-in-every-reply"),
    pytest.param(status(429, {"error": {"code": "insufficient_quota"}}), 1, "HTTP 429", id="a-bill-that-is-not-paid"),
    pytest.param(status(400), 1, "HTTP 400", id="a-bad-request"),
    pytest.param(status(401), 1, "HTTP 401", id="a-wrong-key"),
    pytest.param(status(403), 1, "HTTP 403", id="not-allowed"),
    pytest.param(status(404), 1, "HTTP 404", id="no-such-model"),
    pytest.param(status(413), 1, "HTTP 413", id="too-large-a-request"),
    pytest.param(status(302, headers={"Location": "/v1/chat/completions"}), 1, "redirects", id="sent-elsewhere"),
    pytest.param(status(307, headers={"Location": "http://169.254.169.254/"}), 1, "redirects", id="sent-to-the-platform"),
    pytest.param(lambda e: e.send(204, b""), 1, "HTTP 204", id="no-content"),
    pytest.param(lambda e: e.send(200, b""), 1, "not JSON", id="an-empty-body"),
    pytest.param(lambda e: e.send(200, b"<html>busy</html>"), 1, "not JSON", id="a-web-page"),
    pytest.param(lambda e: e.send(200, b'{"choices": ['), 1, "not JSON", id="half-an-envelope"),
    pytest.param(lambda e: e.send(200, b"[" * 100_000), 1, "deep", id="a-deep-envelope"),
    pytest.param(lambda e: e.send(200, b"\xff\xfe{}"), 1, "not JSON", id="no-utf-8"),
    pytest.param(lambda e: e.send(200, b"[]"), 1, "no object", id="a-list-as-envelope"),
    pytest.param(lambda e: e.send(200, b" " * ((1 << 20) + 1)), 1, "larger than", id="a-megabyte-of-blanks"),
    pytest.param(compressed, 1, "compressed", id="a-compressed-reply"),
    pytest.param(streamed, 1, "not JSON", id="a-stream-of-events"),
    pytest.param(body({"error": {"message": "no"}}), 1, "endpoint says", id="an-error-with-the-status-of-success"),
    pytest.param(body({"choices": []}), 1, "one choice", id="no-choice"),
    pytest.param(body({}), 1, "one choice", id="nothing-in-the-envelope"),
    pytest.param(body({"choices": [{"message": {"content": "{}"}}] * 2}), 1, "one choice", id="two-choices"),
    pytest.param(body({"choices": [{"finish_reason": "stop"}]}), 1, "no message", id="no-message"),
    pytest.param(saying(Exchange.content, finish="length"), 1, "cut off", id="cut-off-by-length"),
    pytest.param(saying(Exchange.content, finish="content_filter"), 1, "refused", id="filtered"),
    pytest.param(saying(Exchange.content, finish="tool_calls"), 1, "ended with", id="a-call-of-a-tool"),
    pytest.param(saying(Exchange.content, finish={"x": 1}), 1, "ended with", id="an-object-as-ending"),
    pytest.param(saying(Exchange.content, refusal="I cannot"), 1, "refused", id="a-refusal"),
    pytest.param(saying(lambda _: None), 1, "empty", id="no-content-in-the-message"),
    pytest.param(saying(lambda _: " "), 1, "empty", id="a-blank-message"),
    pytest.param(saying(lambda e: [{"type": "text", "text": e.content()}]), 1, "empty", id="content-in-parts"),
    pytest.param(saying(lambda e: f"```json\n{e.content()}\n```"), 1, "no JSON", id="in-a-fence"),
    pytest.param(saying(lambda e: f"```json\n{e.content()}"), 1, "no JSON", id="in-an-unclosed-fence"),
    pytest.param(saying(lambda e: f"Sure! {e.content()}"), 1, "no JSON", id="with-a-word-before-it"),
    pytest.param(saying(lambda e: f"{e.content()} Done."), 1, "no JSON", id="with-a-word-after-it"),
    pytest.param(saying(twice), 1, "no JSON", id="two-objects"),
    pytest.param(saying(lambda e: e.content()[:-5]), 1, "no JSON", id="truncated"),
    pytest.param(saying(lambda e: f"[{e.content()}]"), 1, "no object", id="a-list"),
    pytest.param(raw("0.9"), 1, "no object", id="a-number-alone"),
    pytest.param(raw("I would say 0.9"), 1, "no JSON", id="a-sentence"),
    pytest.param(raw('{"score": 1}'), 1, "nonce", id="a-score-without-nonce"),
    pytest.param(changed(nonce="0" * 32), 1, "nonce", id="another-nonce"),
    pytest.param(changed(nonce=None), 1, "nonce", id="an-empty-nonce"),
    pytest.param(saying(lambda e: json.dumps(e.data)), 1, "nonce", id="an-echo-of-the-data"),
    pytest.param(saying(lambda e: e.data["pairs"][0]["second"]), 1, "no JSON", id="an-echo-of-a-text"),
    pytest.param(changed(comment="fine"), 1, "form", id="another-key"),
    pytest.param(changed(marks={"p1": 0.9}), 1, "form", id="marks-as-an-object"),
    pytest.param(changed(marks=[]), 1, "0 of 1", id="no-marks"),
    pytest.param(changed(marks=[0.9]), 1, "form", id="a-bare-number-as-mark"),
    pytest.param(one_mark(score=1.7), 1, "between", id="a-score-above-one"),
    pytest.param(one_mark(score=-0.1), 1, "between", id="a-negative-score"),
    pytest.param(one_mark(score=85), 1, "between", id="a-score-out-of-a-hundred"),
    pytest.param(one_mark(score="0.9"), 1, "no number", id="a-score-as-text"),
    pytest.param(one_mark(score=True), 1, "no number", id="true-as-score"),
    pytest.param(one_mark(score=None), 1, "no number", id="null-as-score"),
    pytest.param(one_mark(id=1), 1, "form", id="a-number-as-id"),
    pytest.param(one_mark(id="p9"), 1, "not asked", id="an-unknown-id"),
    pytest.param(one_mark(confidence=1), 1, "form", id="a-mark-with-another-key"),
    pytest.param(saying(two_ids), 1, "not asked", id="more-than-was-asked"),
    pytest.param(saying(lambda e: e.content(marks=e.marks() * 2)), 1, "twice", id="the-same-id-twice"),
    pytest.param(raw('{"nonce": "NONCE", "marks": [{"id": "p1", "score": NaN}]}'), 1, "no JSON", id="nan"),
    pytest.param(raw('{"nonce": "NONCE", "marks": [{"id": "p1", "score": 1e999}]}'), 1, "between", id="an-infinite-score"),
    pytest.param(raw('{"nonce": "NONCE", "marks": [{"id": "p1", "score": 0, "score": 1}]}'), 1, "no JSON", id="two-scores-in-one-mark"),
    pytest.param(raw('{"nonce": "x", "nonce": "NONCE", "marks": [{"id": "p1", "score": 1}]}'), 1, "no JSON", id="two-nonces"),
    pytest.param(raw('{"nonce": "NONCE", "marks": ' + "[" * 1000 + "]" * 1000 + "}"), 1, "deep", id="a-deep-reply"),
    pytest.param(raw('{"nonce": "NONCE", "marks": [{"id": "p1", "score": ' + "9" * 5000 + "}]}"), 1, "no JSON", id="a-score-of-five-thousand-digits"),
]  # fmt: skip


@pytest.mark.parametrize(("script", "attempts"), ANSWERS)
def test_a_reply_that_is_whole_is_a_number(script, attempts):
    with serving(script) as server:
        answer = judged(server)
    assert answer in {0.9, 1.0, 0.0}
    assert server.attempts == attempts


@pytest.mark.parametrize(("script", "attempts", "note"), FAILURES)
def test_whatever_else_comes_back_is_an_error_and_never_a_number(script, attempts, note):
    with serving(script) as server:
        answer = judged(server)
    assert isinstance(answer, Comparison)
    assert answer.failed
    assert note in answer.note
    assert server.attempts == attempts


def test_there_are_enough_behaviours():
    assert len(ANSWERS) + len(FAILURES) >= 40


@pytest.mark.parametrize(
    ("slow", "seconds", "attempts"),
    [
        pytest.param(lambda server: lambda _: server.wait(60), 0.25, TRIES, id="silent"),
        pytest.param(lambda server: drip(server, 0.02), 0.25, TRIES, id="a-byte-at-a-time"),
        pytest.param(lambda server: first(1, lambda _: server.wait(60)), 2.0, 2, id="silent-once"),
    ],
)
def test_an_endpoint_that_is_slow_is_asked_again(slow, seconds, attempts):
    with serving() as server:
        server.script = slow(server)
        answer = judged(server, timeout=seconds)
    assert server.attempts == attempts
    if attempts == TRIES:
        assert answer.failed
        assert "no answer within 0.25 s" in answer.note
    else:
        assert answer == 0.9


def test_nobody_is_there(pauses):
    with serving() as server:
        pass
    answer = judged(server)
    assert answer.failed
    assert "asked 4 times" in answer.note
    assert len(pauses) == 3


def test_pauses_grow_with_every_attempt(pauses):
    with serving(status(500)) as server:
        judged(server)
    assert pauses == [0.25, 0.5, 1.0]


@pytest.mark.parametrize(
    ("asked_for", "waited"),
    [
        pytest.param("7", 7.25, id="seconds"),
        pytest.param("3600", 60.25, id="an-hour-is-a-minute"),
        pytest.param("soon", 0.25, id="a-word"),
        pytest.param("-5", 0.25, id="a-negative-number"),
        pytest.param("Wed, 21 Oct 2015 07:28:00 GMT", 0.25, id="a-date-that-is-past"),
    ],
)
def test_what_an_endpoint_asks_for_is_honoured_within_bounds(pauses, asked_for, waited):
    with serving(first(1, status(429, headers={"Retry-After": asked_for}))) as server:
        judged(server)
    assert pauses == [waited]


def test_no_retries_if_none_are_wanted():
    with serving(status(500)) as server:
        judged(server, retries=0)
    assert server.attempts == 1


def test_one_odd_text_among_many_costs_nobody_else():
    pairs = [(f"text {n}", f"words {n}") for n in range(8)]
    odd = "words 5"

    def answer(exchange):
        texts = {
            text for pair in exchange.data["pairs"] for text in (pair["first"], pair["second"])
        }
        exchange.say("I refuse" if odd in texts else exchange.content(0.7))

    with serving(answer) as server:
        answers = provider(server).similarities(pairs)
    assert [answer for answer in answers if answer == 0.7] == [0.7] * 7
    assert answers[5].failed
    assert server.attempts == 7  # 8, then 4 4, 2 2, 1 1


def test_pairs_are_asked_in_batches_and_answered_in_order():
    pairs = [(f"text {n}", f"words {n}") for n in range(25)]

    def answer(exchange):
        numbers = [int(pair["first"].split()[-1]) for pair in exchange.data["pairs"]]
        scores = dict(zip(exchange.ids, (number / 100 for number in numbers), strict=True))
        exchange.well(scores)

    with serving(answer) as server:
        answers = provider(server, batch=10, concurrency=3).similarities(pairs)
    assert answers == [number / 100 for number in range(25)]
    assert server.attempts == 3
