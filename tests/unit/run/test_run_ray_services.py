"""Questions of workers to judges and providers, without a cluster."""

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
from fieldmark.run import ray_services
from fieldmark.run.partition_worker import WorkerJob
from fieldmark.run.ray_services import Services, _Answer, _Mailbox, _Question
from fieldmark.run.settings import resolve_settings

CASE = Case("a", {}, {})


class Answers:
    """An actor that keeps the answers by number."""

    def __init__(self):
        self.found = {}
        self.arrived = threading.Condition()
        self.answer = SimpleNamespace(remote=self._keep)
        self.check = SimpleNamespace(remote=lambda: None)

    def _keep(self, number, answer):
        with self.arrived:
            self.found[number] = answer
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
def answers():
    return Answers()


def opened(answers, scorers=(), rules=None):
    job = WorkerJob(opener=None, settings=resolve_settings(rules), scorers=scorers)
    return Services(job, answers)


def ask(services, answers, number, question):
    services._start(question).add_done_callback(services._sender(number))
    return answers.to(number)


def test_question_of_a_repeated_task_is_answered_without_another_call(answers, monkeypatch):
    monkeypatch.setattr("ray.get", lambda _: None)
    calls = []

    def judge(case):
        calls.append(case.id)
        return Score(score=1.0, verdict=None)

    services = opened(answers, [judge])
    question = _Question(0, CASE, CASE.id)
    first, again = (ask(services, answers, number, question) for number in (1, 2))
    assert first == again == _Answer(Score(score=1.0, verdict=None))
    assert calls == ["a"]
    services.settle(result(after=1, ids=["a"]))
    ask(services, answers, 3, question)
    assert calls == ["a", "a"]


def result(*, after, ids=()):
    return SimpleNamespace(after=after, ids=ids)


def used(log):
    return log.usage(lambda _: None)["calls"]


def test_responses_count_when_the_results_of_their_task_have_arrived(answers, monkeypatch):
    """A resumed run repeats the other tasks, and asks again."""
    monkeypatch.setattr("ray.get", lambda _: None)
    log = UsageLog()

    def judge(case):
        log.record_response(LlmCall(case.id, "m", 1, 1))
        with llm_threads(1) as pool:
            pool.submit(log.record_response, LlmCall(f"{case.id} again", "m", 1, 1)).result()
        return Score(score=1.0, verdict=None)

    services = opened(answers, [judge])
    for number, task in enumerate((0, 2, 4)):
        ask(services, answers, number, _Question(0, Case(str(task), {}, {}), str(task), task))
    assert used(log) == 0
    services.settle(result(after=2))
    assert used(log) == 2
    services.settle(result(after=4))
    assert used(log) == 4
    # The same question of a worker that was lost, whose task another one repeated.
    ask(services, answers, 9, _Question(0, Case("late", {}, {}), "late", 2))
    assert used(log) == 6
    services.close()
    assert used(log) == 8


def test_task_of_a_question_is_the_one_that_the_worker_started(monkeypatch):
    monkeypatch.setattr(ray_services, "_task", 0)
    ray_services.start_task(12)
    mailbox = SimpleNamespace(ask=SimpleNamespace(remote=lambda question: question))
    asked = []

    def get(question):
        asked.append(question)
        return _Answer("done")

    monkeypatch.setattr("ray.get", get)
    assert ray_services._ask(mailbox, _Question(0, CASE, CASE.id)) == "done"
    assert asked == [_Question(0, CASE, CASE.id, task=12)]


@pytest.mark.parametrize(
    ("judge", "error"),
    [
        pytest.param(lambda _: {}["missing"], KeyError("missing"), id="exception"),
        pytest.param(lambda _: threading.Lock(), RuntimeError("cannot pickle"), id="unpicklable"),
    ],
)
def test_failure_is_the_answer(judge, error, answers):
    answer = ask(opened(answers, [judge]), answers, 1, _Question(0, CASE, CASE.id))
    assert type(answer.error) is type(error)
    assert str(error) in str(answer.error)


def test_provider_is_asked_where_the_run_was_started(answers, monkeypatch):
    provider = Embeddings()
    rules = Rules(default=Semantic(provider=provider))
    services = opened(answers, rules=rules)
    comparator = services.job.settings.rules.default
    assert comparator == rules.default
    asked = []

    def get(question):
        asked.append(question)
        return ask(services, answers, 1, question)

    monkeypatch.setattr("ray.get", get)
    answers.ask = SimpleNamespace(remote=lambda question: question)
    pairs = [("one text", "another"), ("a", "b c")]
    assert [each.similarity for each in comparator.ask(pairs)] == [0.5, 0.5]
    assert [each.similarity for each in comparator.ask(pairs[:1])] == [0.5]
    assert provider.calls == 1
    assert asked == [_Question(0, pairs)]


def test_questions_wait_for_their_answers():
    async def exchange():
        mailbox = _Mailbox()
        asked = [asyncio.ensure_future(mailbox.ask(_Question(0, name))) for name in "ab"]
        taken = []
        while len(taken) < len(asked):
            taken += await mailbox.take()
        for number, question in reversed(taken):
            await mailbox.answer(number, _Answer(question.argument.upper()))
        await mailbox.answer(99, _Answer("nobody asked"))
        return [(await each).value for each in asked]

    assert asyncio.run(exchange()) == ["A", "B"]
