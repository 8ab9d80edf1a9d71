"""The response cache, budgets and rate limits of calls to models."""

from __future__ import annotations

import json
import re
import sqlite3
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from edges.llm_server import Exchange, first, isolate, serving, status
from fieldmark.judges import retry
from fieldmark.judges.llm_judge import LlmJudge
from fieldmark.judges.openai_providers import OpenAi, OpenAiEmbeddings
from fieldmark.judges.retry import Clock, shared_rate_limiter
from fieldmark.model.case import Case
from fieldmark.model.comparison import Comparison
from fieldmark.values.records import to_json
from waiting import TIMEOUT

PAIRS = [(f"the first text {n}", f"another text {n}") for n in range(5)]
PRICES = {"input_price": 2.0, "output_price": 8.0}


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    isolate(monkeypatch, tmp_path / "cache")
    return tmp_path / "cache" / "llm.sqlite3"


def provider(server, **options):
    return OpenAi(**{"model": "m", "base_url": server.url, "retries": 0, **options})


def test_usage_is_the_same_with_cached_responses():
    with serving() as server:
        original, cached = provider(server, **PRICES), provider(server, **PRICES)
        original.similarities(PAIRS)
        cached.similarities(PAIRS)
    assert original.usage() == cached.usage()
    usage = original.usage()
    assert usage.pop("seconds") >= 0
    assert usage == {
        "calls": 1,
        "input_tokens": 100,
        "output_tokens": 10,
        "cost": pytest.approx(0.00028),
        "estimated_calls": 0,
        "models": ["served-1"],
    }
    assert original.spent()["requests"] == 1
    assert cached.spent()["requests"] == 0
    assert cached.spent()["replayed_calls"] == 1
    assert cached.spent()["replayed_cost"] == original.spent()["cost"]
    assert original.spent()["replayed_calls"] == 0


def test_only_new_pairs_are_sent():
    with serving() as server:
        provider(server).similarities(PAIRS)
        provider(server).similarities([*PAIRS, ("one more", "and another")])
    assert [len(Exchange(None, 0, "", r).data["pairs"]) for r in server.requests] == [5, 1]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"model": "another"}, id="model"),
        pytest.param({"temperature": 0.5}, id="temperature"),
        pytest.param({"seed": 1}, id="seed"),
        pytest.param({"aspect": "form"}, id="prompt"),
        pytest.param({"reply_format": "none"}, id="response-format"),
        pytest.param({"max_reply_tokens": 99}, id="response-length"),
        pytest.param({"request": {"top_p": 0.5}}, id="request-parameter"),
        pytest.param({"batch": 5}, id="batch-size"),
        pytest.param({"field": "note"}, id="field"),
        pytest.param({"description": "Remarks."}, id="description"),
        pytest.param({"reasons": True}, id="reasons"),
    ],
)
def test_cache_key_depends_on(change):
    with serving() as server:
        provider(server).similarities(PAIRS)
        provider(server, **change).similarities(PAIRS)
    assert server.attempts == 2


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"timeout": 9}, id="timeout"),
        pytest.param({"concurrency": 1}, id="concurrency"),
        pytest.param({"max_calls": 9}, id="budget"),
        pytest.param({"api_key_env": "OTHER_KEY"}, id="key"),
    ],
)
def test_cache_key_does_not_depend_on(change):
    with serving() as server:
        provider(server).similarities(PAIRS)
        provider(server, **change).similarities(PAIRS)
    assert server.attempts == 1


def test_cache_key_depends_on_the_endpoint():
    with serving() as one, serving(lambda e: e.succeed(0.2)) as other:
        provider(one).similarities(PAIRS)
        assert provider(other).similarities(PAIRS) == [0.2] * 5


def test_cache_key_depends_on_the_order_of_a_pair():
    with serving() as server:
        provider(server).similarities([("a b", "c d")])
        provider(server).similarities([("c d", "a b")])
    assert server.attempts == 2


def test_offline_uses_only_cached_responses(cache):
    with serving() as server:
        provider(server).similarities(PAIRS)
    offline = provider(server, offline=True)
    assert offline.unready() is None
    answers = offline.similarities([*PAIRS, ("not", "cached")])
    assert answers[:5] == [0.9] * 5
    assert "offline" in answers[5].note
    assert server.attempts == 1


def test_every_pair_is_an_error_offline_without_a_cache(cache):
    with serving() as server:
        answers = provider(server, offline=True).similarities(PAIRS)
    assert all(answer.failed and "offline, and the cache file" in answer.note for answer in answers)
    assert str(provider(server, offline=True).unready()).endswith("llm.sqlite3 does not exist")
    assert not cache.exists()


def test_failures_are_not_cached():
    with serving(first(1, status(400))) as server:
        assert provider(server).similarities(PAIRS)[0].failed
        assert provider(server).similarities(PAIRS) == [0.9] * 5


def test_only_the_owner_can_read_the_cache(cache):
    with serving() as server:
        provider(server).similarities(PAIRS)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o600


def test_compared_strings_are_not_stored(cache):
    with serving() as server:
        provider(server).similarities(PAIRS)
    rows = sqlite3.connect(cache)
    stored = json.dumps(rows.execute("SELECT * FROM answers").fetchall())
    rows.close()
    assert "text" not in stored


@pytest.mark.parametrize(
    "corrupt",
    [
        pytest.param(lambda file: file.write_bytes(b"not a database" * 1000), id="not-a-database"),
        pytest.param(lambda file: file.mkdir(), id="directory"),
    ],
)
def test_unusable_cache_is_an_error(cache, corrupt):
    cache.parent.mkdir(parents=True)
    corrupt(cache)
    with serving() as server:
        answers = provider(server).similarities(PAIRS)
    assert all(isinstance(answer, Comparison) and answer.failed for answer in answers)
    assert server.attempts == 0


PROGRAM = """
import sys
from fieldmark.judges.openai_providers import OpenAi
pairs = [(f"the first text {n}", f"another text {n}") for n in range(40)]
print(OpenAi(model="m", base_url=sys.argv[1], batch=1, concurrency=2).similarities(pairs))
"""


def test_two_processes_share_the_cache_and_agree():
    scores = iter(range(1, 1000))
    lock = threading.Lock()

    def respond(exchange):
        with lock:
            score = next(scores) / 1000
        exchange.succeed(score)

    with serving(respond) as server:
        command = [sys.executable, "-c", PROGRAM, server.url]
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        outputs = [process.communicate(timeout=TIMEOUT)[0] for process in running]
        third = provider(server, batch=1).similarities(
            [(f"the first text {n}", f"another text {n}") for n in range(40)]
        )
    assert [process.returncode for process in running] == [0, 0]
    assert outputs[0] == outputs[1] == f"{third}\n"
    assert 40 <= server.attempts <= 80


def test_judge_uses_cached_responses():
    case = Case(id="1", expected={"a": "one text"}, candidate={"a": "another text"})
    with serving() as server:
        scores = []
        for _ in range(2):
            judge = LlmJudge(model="m", base_url=server.url, rubric="Right?", samples=3)
            with judge.opened() as score_case:
                scores.append(to_json(score_case(case)))
    assert scores[0] == scores[1]
    assert server.attempts == 3


def test_embeddings_are_cached_per_string():
    def respond(exchange):
        vectors = [[float(len(text)), 1.0] for text in exchange.body["input"]]
        data = [{"index": n, "embedding": vector} for n, vector in enumerate(vectors)]
        exchange.json({"data": data, "usage": {"prompt_tokens": 5, "total_tokens": 5}})

    with serving(respond) as server:
        embeddings = OpenAiEmbeddings(model="e", base_url=server.url)
        one = embeddings.similarities([("aa", "bbb")])
        two = OpenAiEmbeddings(model="e", base_url=server.url).similarities([("aa", "c")])
        again = OpenAiEmbeddings(model="e", base_url=server.url).similarities([("aa", "bbb")])
    assert one == again
    assert two != one
    assert [request["input"] for request in server.requests] == [["aa", "bbb"], ["c"]]
    assert embeddings.usage()["output_tokens"] == 0


@pytest.mark.parametrize(
    ("budget", "calls", "note"),
    [
        pytest.param({"max_calls": 2}, 2, "the budget of 2 calls is used up", id="calls"),
        pytest.param({"max_calls": 0}, 0, "the budget of 0 calls is used up", id="zero-calls"),
        pytest.param({"max_total_tokens": 10}, 0, r"budget of 10 tokens: it reserves up to [\d,]+, and 10 are left", id="tokens-below-one-call"),
        pytest.param({"max_total_tokens": 4_500}, 2, r"budget of 4,500 tokens: it reserves up to [\d,]+, and 1,500 are left", id="tokens"),
        pytest.param({"max_cost": 0.000_1, **PRICES}, 0, r"budget of 0.0001: it reserves up to 0\.00\d+, and 0.0001 is left", id="cost-below-one-call"),
        pytest.param({"max_cost": 0.018, **PRICES}, 2, "budget of 0.018", id="cost"),
    ],
)  # fmt: skip
def test_budget_is_checked_before_each_call(budget, calls, note):
    def respond(exchange):
        usage = {"prompt_tokens": 1_000, "completion_tokens": 500}
        choice = {"message": {"content": exchange.content()}, "finish_reason": "stop"}
        exchange.json({"choices": [choice], "usage": usage})

    with serving(respond) as server:
        openai = provider(server, batch=1, concurrency=1, max_reply_tokens=500, **budget)
        answers = openai.similarities(PAIRS)
    assert server.attempts == calls
    assert [answer == 0.9 for answer in answers] == [True] * calls + [False] * (5 - calls)
    assert all(re.search(note, answer.note) for answer in answers[calls:])


def test_call_waits_until_a_call_in_flight_releases_its_reservation():
    """The maximum of a call is 40 % of the budget, so that only two of four may be in flight."""
    with serving() as server:
        openai = provider(
            server, batch=1, max_cost=0.01, input_price=0.4, output_price=1.6, timeout=TIMEOUT
        )
        answers = openai.similarities([(f"one {n}", f"other {n}") for n in range(20)])
    assert answers == [0.9] * 20
    assert server.attempts == 20
    assert openai.spent()["cost"] == pytest.approx(20 * 0.000_056)


def test_unusable_responses_are_paid_for():
    with serving(lambda e: e.respond("no")) as server:
        openai = provider(server, **PRICES)
        assert openai.similarities(PAIRS[:1])[0].failed
    assert (openai.usage()["calls"], openai.spent()["requests"]) == (0, server.attempts)
    assert openai.spent()["cost"] == pytest.approx(0.00028 * server.attempts)


def test_failed_attempts_count_as_calls():
    with serving(status(500)) as server:
        (answer,) = provider(server, retries=9, max_calls=3).similarities(PAIRS[:1])
    assert server.attempts == 3
    assert "budget of 3 calls" in answer.note


def test_maximum_usage_is_assumed_if_the_endpoint_reports_none():
    def respond(exchange):
        exchange.respond(exchange.content(), usage=False)

    with serving(respond) as server:
        openai = provider(server)
        openai.similarities(PAIRS)
    usage = openai.usage()
    assert usage["estimated_calls"] == 1
    assert usage["output_tokens"] == openai.max_reply_tokens
    assert usage["input_tokens"] >= len(json.dumps(server.requests[0]["messages"])) // 2


def test_concurrent_calls_to_an_endpoint_are_limited():
    inside, most = 0, 0
    lock, two = threading.Lock(), threading.Barrier(2, timeout=TIMEOUT)

    def respond(exchange):
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        two.wait()
        with lock:
            inside -= 1
        exchange.succeed()

    with serving(respond) as server:
        one = provider(server, batch=1, concurrency=2, cache=False, timeout=TIMEOUT)
        other = replace(one)
        threads = [
            threading.Thread(target=each.similarities, args=(PAIRS,)) for each in (one, other)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert server.attempts == 10
    assert most == 2


def test_rate_limit_is_shared_by_all_providers_of_an_endpoint(monkeypatch):
    now, waited = 100.0, []

    def sleep(seconds):
        nonlocal now
        waited.append(round(seconds, 6))
        now += seconds

    monkeypatch.setattr(retry, "SYSTEM_CLOCK", Clock(now=lambda: now, sleep=sleep))
    with serving() as server:
        for _ in range(2):
            openai = provider(server, batch=1, concurrency=1, per_minute=30, cache=False)
            openai.similarities(PAIRS[:2])
    assert waited == [0.0, 2.0, 2.0, 2.0]
    assert shared_rate_limiter("a") is shared_rate_limiter("a") is not shared_rate_limiter("b")


def test_cache_location(monkeypatch, tmp_path):
    monkeypatch.delenv("FIELDMARK_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert OpenAi(model="m").cache_file() == tmp_path / "xdg" / "fieldmark" / "llm.sqlite3"
    assert OpenAi(model="m", cache="here.sqlite3").cache_file() == Path("here.sqlite3")
    assert OpenAi(model="m", cache=False).cache_file() is None
