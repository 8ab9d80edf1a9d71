"""Requests of workers to judges and providers, without a cluster."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest

from fieldmark.compare.semantic import Semantic
from fieldmark.evaluators.base import Score
from fieldmark.judges.llm.usage_log import LlmCall, UsageLog, llm_threads
from fieldmark.model.case import Case
from fieldmark.model.rule import Rules
from fieldmark.runs import ray_engine
from fieldmark.runs.partition_worker import WorkerJob
from fieldmark.runs.ray_engine import Services, _Request, _RequestQueue, _Response
from fieldmark.runs.settings import resolve_settings

CASE = Case("a", {}, {})


class Responses:
    """An actor that keeps the responses by number."""

    def __init__(self):
        self.found = {}
        self.arrived = threading.Condition()
        self.respond = SimpleNamespace(remote=self._keep)
        self.check = SimpleNamespace(remote=lambda: None)

    def _keep(self, number, response):
        with self.arrived:
            self.found[number] = response
            self.arrived.notify_all()

    def to(self, number):
        with self.arrived:
            assert self.arrived.wait_for(lambda: number in self.found, 60)
        return self.found[number]


class Embeddings:
    """A provider that is not local, and counts its calls."""

    name = "embeddings"
    approximate = False
    calls = 0

    def similarities(self, pairs):
        self.calls += 1
        return [0.5] * len(pairs)


@pytest.fixture
def responses():
    return Responses()


def opened(responses, scorers=(), rules=None):
    job = WorkerJob(opener=None, settings=resolve_settings(rules=rules), scorers=scorers)
    return Services(job, responses)


def send(services, responses, number, request):
    services._start(request).add_done_callback(services._sender(number))
    return responses.to(number)


def test_request_of_a_repeated_task_is_answered_without_another_call(responses, monkeypatch):
    monkeypatch.setattr("ray.get", lambda _: None)
    calls = []

    def judge(case):
        calls.append(case.id)
        return Score(score=1.0, verdict=None)

    services = opened(responses, [judge])
    request = _Request(0, CASE, CASE.id)
    first, again = (send(services, responses, number, request) for number in (1, 2))
    assert first == again == _Response(Score(score=1.0, verdict=None))
    assert calls == ["a"]
    services.settle(result(after=1, ids=["a"]))
    send(services, responses, 3, request)
    assert calls == ["a", "a"]


def result(*, after, ids=()):
    return SimpleNamespace(after=after, ids=ids)


def used(log):
    return log.usage(lambda _: None)["calls"]


def test_responses_count_when_the_results_of_their_task_have_arrived(responses, monkeypatch):
    """A resumed run repeats the other tasks, and asks again."""
    monkeypatch.setattr("ray.get", lambda _: None)
    log = UsageLog()

    def judge(case):
        log.record_response(LlmCall(case.id, "m", 1, 1))
        with llm_threads(1) as pool:
            pool.submit(log.record_response, LlmCall(f"{case.id} again", "m", 1, 1)).result()
        return Score(score=1.0, verdict=None)

    services = opened(responses, [judge])
    for number, task in enumerate((0, 2, 4)):
        send(services, responses, number, _Request(0, Case(str(task), {}, {}), str(task), task))
    assert used(log) == 0
    services.settle(result(after=2))
    assert used(log) == 2
    services.settle(result(after=4))
    assert used(log) == 4
    # The same request of a worker that was lost, whose task another one repeated.
    send(services, responses, 9, _Request(0, Case("late", {}, {}), "late", 2))
    assert used(log) == 6
    services.close()
    assert used(log) == 8


def test_task_of_a_request_is_the_one_that_the_worker_started(monkeypatch):
    monkeypatch.setattr(ray_engine, "_task", 0)
    ray_engine.start_task(12)
    queue = SimpleNamespace(call=SimpleNamespace(remote=lambda request: request))
    sent = []

    def get(request):
        sent.append(request)
        return _Response("done")

    monkeypatch.setattr("ray.get", get)
    assert ray_engine._call(queue, _Request(0, CASE, CASE.id)) == "done"
    assert sent == [_Request(0, CASE, CASE.id, task=12)]


@pytest.mark.parametrize(
    ("judge", "error"),
    [
        pytest.param(lambda _: {}["missing"], KeyError("missing"), id="exception"),
        pytest.param(lambda _: threading.Lock(), RuntimeError("cannot pickle"), id="unpicklable"),
    ],
)
def test_failure_is_the_response(judge, error, responses):
    response = send(opened(responses, [judge]), responses, 1, _Request(0, CASE, CASE.id))
    assert type(response.error) is type(error)
    assert str(error) in str(response.error)


def test_provider_is_called_where_the_run_was_started(responses, monkeypatch):
    provider = Embeddings()
    rules = Rules(default=Semantic(provider=provider))
    services = opened(responses, rules=rules)
    comparator = services.job.settings.rules.default
    assert comparator == rules.default
    sent = []

    def get(request):
        sent.append(request)
        return send(services, responses, 1, request)

    monkeypatch.setattr("ray.get", get)
    responses.call = SimpleNamespace(remote=lambda request: request)
    pairs = [("one text", "another"), ("a", "b c")]
    assert [pair.similarity for pair in comparator.ask(pairs)] == [0.5, 0.5]
    assert [pair.similarity for pair in comparator.ask(pairs[:1])] == [0.5]
    assert provider.calls == 1
    assert sent == [_Request(0, pairs)]


def test_requests_wait_for_their_responses():
    async def exchange():
        queue = _RequestQueue()
        sent = [asyncio.ensure_future(queue.call(_Request(0, name))) for name in "ab"]
        taken = []
        while len(taken) < len(sent):
            taken += await queue.take()
        for number, request in reversed(taken):
            await queue.respond(number, _Response(request.argument.upper()))
        await queue.respond(99, _Response("not requested"))
        return [(await message).value for message in sent]

    assert asyncio.run(exchange()) == ["A", "B"]
