"""Answers are paid for once: kept, shared between processes, replayed without an endpoint."""

from __future__ import annotations

import json
import sqlite3
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

import fieldmark as fm
from edges.llm_server import Exchange, first, serving, status
from fieldmark.judges import rate_limiter
from fieldmark.judges.llm_judge import LlmJudge
from fieldmark.judges.providers.openai import OpenAi
from fieldmark.judges.providers.openai_embeddings import OpenAiEmbeddings
from fieldmark.judges.rate_limiter import Clock, shared_rate_limiter
from fieldmark.model.case import Case
from fieldmark.model.comparison import Comparison
from waiting import PATIENCE

PAIRS = [(f"the first text {n}", f"another text {n}") for n in range(5)]
PRICES = {"input_price": 2.0, "output_price": 8.0}


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setattr(rate_limiter, "SYSTEM_CLOCK", Clock(sleep=lambda _: None))
    monkeypatch.setenv("FIELDMARK_CACHE", str(tmp_path / "kept"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return tmp_path / "kept" / "llm.sqlite3"


def provider(server, **options):
    return OpenAi(**{"model": "m", "base_url": server.url, "retries": 0, **options})


def test_a_second_run_makes_no_call_and_gives_the_same_bytes(tmp_path):
    truth = [{"id": str(n), "note": want} for n, (want, _) in enumerate(PAIRS)]
    found = [{"id": str(n), "note": got} for n, (_, got) in enumerate(PAIRS)]
    with serving(lambda e: e.well(0.83)) as server:
        rules = {
            "provider": {"type": "openai", "model": "m", "base_url": server.url},
            "fields": [{"path": "note", "match": "semantic"}],
        }
        runs = [fm.score(truth, found, rules=rules, out=tmp_path / name) for name in ("a", "b")]
    assert server.attempts == 1
    assert runs[0].attributes["note"].tp == 5
    for file in ("results.jsonl", "summary.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_the_usage_behind_the_answers_is_the_same_in_a_replay():
    with serving() as server:
        asked, replayed = provider(server, **PRICES), provider(server, **PRICES)
        asked.similarities(PAIRS)
        replayed.similarities(PAIRS)
    assert asked.usage() == replayed.usage()
    assert asked.usage() == {
        "calls": 1,
        "input_tokens": 100,
        "output_tokens": 10,
        "cost": pytest.approx(0.00028),
        "estimated_calls": 0,
        "models": ["served-1"],
    }
    assert asked.spent()["requests"] == 1
    assert replayed.spent()["requests"] == 0
    assert replayed.spent()["replayed_answers"] == 5


def test_only_what_is_new_is_asked():
    with serving() as server:
        provider(server).similarities(PAIRS)
        provider(server).similarities([*PAIRS, ("one more", "and another")])
    assert [len(Exchange(None, 0, "", r).data["pairs"]) for r in server.requests] == [5, 1]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"model": "another"}, id="the-model"),
        pytest.param({"temperature": 0.5}, id="the-temperature"),
        pytest.param({"seed": 1}, id="the-seed"),
        pytest.param({"aspect": "form"}, id="the-prompt"),
        pytest.param({"reply_format": "none"}, id="the-form-of-the-reply"),
        pytest.param({"max_reply_tokens": 99}, id="the-length-of-the-reply"),
        pytest.param({"request": {"top_p": 0.5}}, id="another-parameter"),
    ],
)
def test_what_an_answer_depends_on_is_part_of_its_name(change):
    with serving() as server:
        provider(server).similarities(PAIRS)
        provider(server, **change).similarities(PAIRS)
    assert server.attempts == 2


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"timeout": 9}, id="the-time-limit"),
        pytest.param({"concurrency": 1}, id="the-number-at-once"),
        pytest.param({"batch": 2}, id="the-size-of-a-batch"),
        pytest.param({"max_calls": 9}, id="the-budget"),
        pytest.param({"api_key_env": "OTHER_KEY"}, id="the-key"),
    ],
)
def test_what_an_answer_does_not_depend_on_is_not(change):
    with serving() as server:
        provider(server).similarities(PAIRS)
        provider(server, **change).similarities(PAIRS)
    assert server.attempts == 1


def test_another_endpoint_gives_other_answers():
    with serving() as one, serving(lambda e: e.well(0.2)) as other:
        provider(one).similarities(PAIRS)
        assert provider(other).similarities(PAIRS) == [0.2] * 5


def test_the_side_of_a_text_is_part_of_the_question():
    with serving() as server:
        provider(server).similarities([("a b", "c d")])
        provider(server).similarities([("c d", "a b")])
    assert server.attempts == 2


def test_offline_replays_and_asks_nobody(cache):
    with serving() as server:
        provider(server).similarities(PAIRS)
    offline = provider(server, offline=True)
    assert offline.unready() is None
    answers = offline.similarities([*PAIRS, ("never", "asked")])
    assert answers[:5] == [0.9] * 5
    assert "offline" in answers[5].note
    assert server.attempts == 1


def test_offline_without_a_cache_is_an_error_for_every_pair(cache):
    with serving() as server:
        answers = provider(server, offline=True).similarities(PAIRS)
    assert all(answer.failed and "there is no cache" in answer.note for answer in answers)
    assert "there is no cache" in provider(server, offline=True).unready()
    assert not cache.exists()


def test_failures_are_never_kept():
    with serving(first(1, status(400))) as server:
        assert provider(server).similarities(PAIRS)[0].failed
        assert provider(server).similarities(PAIRS) == [0.9] * 5


def test_only_the_owner_can_read_what_is_kept(cache):
    with serving() as server:
        provider(server).similarities(PAIRS)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o600


def test_texts_are_not_kept(cache):
    with serving() as server:
        provider(server).similarities(PAIRS)
    rows = sqlite3.connect(cache)
    told = json.dumps(rows.execute("SELECT * FROM answers").fetchall())
    rows.close()
    assert "text" not in told


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda file: file.write_bytes(b"not a database" * 1000), id="another-file"),
        pytest.param(lambda file: file.mkdir(), id="a-folder"),
    ],
)
def test_a_cache_that_cannot_be_used_is_an_error_and_no_score(cache, spoil):
    cache.parent.mkdir(parents=True)
    spoil(cache)
    with serving() as server:
        answers = provider(server).similarities(PAIRS)
    assert all(isinstance(answer, Comparison) and answer.failed for answer in answers)
    assert server.attempts == 0


PROGRAM = """
import sys
from fieldmark.judges.providers.openai import OpenAi
pairs = [(f"the first text {n}", f"another text {n}") for n in range(40)]
print(OpenAi(model="m", base_url=sys.argv[1], batch=1, concurrency=2).similarities(pairs))
"""


def test_two_processes_share_the_answers_and_agree():
    scores = iter(range(1, 1000))
    lock = threading.Lock()

    def answer(exchange):
        with lock:
            score = next(scores) / 1000
        exchange.well(score)

    with serving(answer) as server:
        command = [sys.executable, "-c", PROGRAM, server.url]
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        said = [process.communicate(timeout=60)[0] for process in running]
        third = provider(server, batch=1).similarities(
            [(f"the first text {n}", f"another text {n}") for n in range(40)]
        )
    assert [process.returncode for process in running] == [0, 0]
    assert said[0] == said[1] == f"{third}\n"
    assert 40 <= server.attempts <= 80


def test_a_judge_is_replayed_too():
    case = Case(id="1", expected={"a": "one text"}, candidate={"a": "another text"})
    with serving() as server:
        scores = []
        for _ in range(2):
            judge = LlmJudge(model="m", base_url=server.url, rubric="Right?", samples=3)
            with judge.opened() as judging:
                scores.append(judging(case).to_dict())
    assert scores[0] == scores[1]
    assert server.attempts == 3


def test_vectors_are_kept_by_text():
    def answer(exchange):
        vectors = [[float(len(text)), 1.0] for text in exchange.body["input"]]
        data = [{"index": n, "embedding": vector} for n, vector in enumerate(vectors)]
        exchange.json({"data": data, "usage": {"prompt_tokens": 5, "total_tokens": 5}})

    with serving(answer) as server:
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
        pytest.param({"max_calls": 2}, 2, "budget of 2 calls is spent", id="calls"),
        pytest.param({"max_calls": 0}, 0, "budget of 0 calls is spent", id="no-calls-at-all"),
        pytest.param({"max_tokens": 10}, 0, "budget of 10 tokens", id="fewer-tokens-than-one-call-can-take"),
        pytest.param({"max_tokens": 4_500}, 2, "budget of 4500 tokens", id="tokens"),
        pytest.param({"max_cost": 0.000_1, **PRICES}, 0, "budget of 0.0001", id="less-money-than-one-call-can-take"),
        pytest.param({"max_cost": 0.018, **PRICES}, 2, "budget of 0.018", id="money"),
    ],
)  # fmt: skip
def test_a_budget_is_checked_before_anything_is_sent(budget, calls, note):
    def answer(exchange):
        usage = {"prompt_tokens": 1_000, "completion_tokens": 500}
        choice = {"message": {"content": exchange.content()}, "finish_reason": "stop"}
        exchange.json({"choices": [choice], "usage": usage})

    with serving(answer) as server:
        asked = provider(server, batch=1, concurrency=1, max_reply_tokens=500, **budget)
        answers = asked.similarities(PAIRS)
    assert server.attempts == calls
    assert [answer == 0.9 for answer in answers] == [True] * calls + [False] * (5 - calls)
    assert all(note in answer.note for answer in answers[calls:])


def test_attempts_that_fail_count_as_calls():
    with serving(status(500)) as server:
        (answer,) = provider(server, retries=9, max_calls=3).similarities(PAIRS[:1])
    assert server.attempts == 3
    assert "budget of 3 calls" in answer.note


def test_a_budget_holds_over_several_columns():
    with serving() as server:
        asked = provider(server, max_calls=1)
        asked.similarities(PAIRS[:1])
        (answer,) = asked.similarities(PAIRS[1:2])
    assert server.attempts == 1
    assert answer.failed


def test_an_endpoint_that_tells_no_usage_is_taken_to_cost_the_most_it_can():
    def answer(exchange):
        exchange.say(exchange.content(), usage=False)

    with serving(answer) as server:
        asked = provider(server)
        asked.similarities(PAIRS)
    usage = asked.usage()
    assert usage["estimated_calls"] == 1
    assert usage["output_tokens"] == asked.max_reply_tokens
    assert usage["input_tokens"] >= len(json.dumps(server.requests[0]["messages"])) // 2


def test_no_more_are_under_way_at_once_than_the_endpoint_gets():
    inside, most = 0, 0
    lock, two = threading.Lock(), threading.Barrier(2, timeout=PATIENCE)

    def answer(exchange):
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        two.wait()
        with lock:
            inside -= 1
        exchange.well()

    with serving(answer) as server:
        one = provider(server, batch=1, concurrency=2, cache=False, timeout=PATIENCE)
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


def test_a_rate_is_kept_by_all_who_ask_an_endpoint(monkeypatch):
    now, waited = 100.0, []

    def sleep(seconds):
        nonlocal now
        waited.append(round(seconds, 6))
        now += seconds

    monkeypatch.setattr(rate_limiter, "SYSTEM_CLOCK", Clock(now=lambda: now, sleep=sleep))
    with serving() as server:
        for _ in range(2):
            asked = provider(server, batch=1, concurrency=1, per_minute=30, cache=False)
            asked.similarities(PAIRS[:2])
    assert waited == [0.0, 2.0, 2.0, 2.0]
    assert shared_rate_limiter("a") is shared_rate_limiter("a") is not shared_rate_limiter("b")


def test_the_usual_place_can_be_named(monkeypatch, tmp_path):
    monkeypatch.delenv("FIELDMARK_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert OpenAi(model="m").cache_file() == tmp_path / "xdg" / "fieldmark" / "llm.sqlite3"
    assert OpenAi(model="m", cache="here.sqlite3").cache_file() == Path("here.sqlite3")
    assert OpenAi(model="m", cache=False).cache_file() is None
