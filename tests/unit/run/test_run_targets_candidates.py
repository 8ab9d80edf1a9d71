"""Candidates are produced in the order of the cases, a few ahead, with retries."""

from __future__ import annotations

import threading
import time
import tracemalloc
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pytest

from fieldmark.config.eval_spec import Target
from fieldmark.data.inputs import Role
from fieldmark.data.json_parser import JsonDialect
from fieldmark.judges import http_client
from fieldmark.judges.retry import Backoff
from fieldmark.judges.time_limit import OverdueError, TimeLimit
from fieldmark.model.case import Case, CaseContext, CaseInput
from fieldmark.model.json import MISSING
from fieldmark.run.targets.candidates import (
    ProducedCase,
    ThreadPool,
    produce_candidates,
    target_request,
)
from fieldmark.run.targets.python import PythonTarget
from fieldmark.run.targets.target import TargetResponse
from loopback_server import Answer, loopback, replied
from waiting import PATIENCE, eventually

AT_ONCE = Backoff(first=0.0, longest=0.0, longest_retry_after=0.0)


@dataclass
class Scripted:
    """A source that answers by a function, and tells what it was asked."""

    answer: object
    name: ClassVar[str] = "scripted"
    requests: list = field(default_factory=list)
    busy: int = 0
    busiest: int = 0
    opened_for: list = field(default_factory=list)
    closed: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def opened(self, timeout):
        self.opened_for.append(timeout)
        try:
            yield self.ask
        finally:
            self.closed = True

    def ask(self, request):
        with self.lock:
            self.requests.append(request)
            self.busy += 1
            self.busiest = max(self.busiest, self.busy)
        try:
            return self.answer(request)
        finally:
            with self.lock:
                self.busy -= 1


def cases(number):
    return (Case(str(n), {"n": n}, MISSING, CaseInput.MISSING) for n in range(number))


def made(source, some, **options):
    options.setdefault("backoff", AT_ONCE)
    settings = {
        name: options.pop(name) for name in ("timeout", "retries", "concurrency") if name in options
    }
    return produce_candidates(Target(type="scripted", source=source, **settings), some, **options)


def one(answer, case=None, **options):
    case = case or Case("a", {"total": 1}, MISSING, CaseInput.MISSING)
    (asked,) = made(Scripted(lambda _: answer), [case], **options)
    return asked


@pytest.mark.parametrize("concurrency", [1, 3, 16])
def test_cases_keep_their_order_whatever_is_finished_first(concurrency):
    def answer(request):
        time.sleep(0.01 if int(request["case_id"]) % 3 == 0 else 0)
        return TargetResponse(value={"n": int(request["case_id"])})

    source = Scripted(answer)
    got = list(made(source, cases(40), concurrency=concurrency))
    assert [asked.case.candidate for asked in got] == [{"n": n} for n in range(40)]
    assert [asked.case.id for asked in got] == [str(n) for n in range(40)]
    assert source.busiest <= concurrency
    assert source.closed


def test_as_many_are_asked_side_by_side_as_may_be():
    together = threading.Barrier(4, timeout=PATIENCE)

    def answer(_):
        together.wait()
        return TargetResponse(value=1)

    assert [asked.failure for asked in made(Scripted(answer), cases(8), concurrency=4)] == [""] * 8


def test_only_a_few_cases_are_read_ahead():
    read = []

    def watched():
        for case in cases(1000):
            read.append(case.id)
            yield case

    running = made(Scripted(lambda _: TargetResponse(value=1)), watched(), concurrency=2)
    next(running)
    assert len(read) <= 8
    for _ in range(10):
        next(running)
    assert len(read) <= 18
    running.close()


def test_memory_does_not_grow_with_the_number_of_cases():
    def peak(number):
        source = Scripted(lambda _: TargetResponse(text='{"a": "' + "x" * 10_000 + '"}'))
        tracemalloc.start()
        for _ in made(source, cases(number), concurrency=2):
            source.requests.clear()
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(20)
    assert peak(600) < peak(60) * 2 + 200_000


def test_the_time_limit_reaches_the_target():
    source = Scripted(lambda _: TargetResponse(value=1))
    list(made(source, cases(1), timeout=1.5))
    assert source.opened_for == [1.5]


@pytest.mark.parametrize(
    ("answer", "candidate", "read", "parsed_from"),
    [
        pytest.param(TargetResponse(value={"a": 1}), {"a": 1}, CaseInput.OK, "", id="a-value"),
        pytest.param(TargetResponse(value=None), None, CaseInput.OK, "", id="null"),
        pytest.param(TargetResponse(text='{"a": 1}'), {"a": 1}, CaseInput.OK, "", id="json-as-text"),
        pytest.param(TargetResponse(text='Here:\n```json\n{"a": 1}\n```'), {"a": 1}, CaseInput.OK, "fence", id="json-in-a-fence"),
        pytest.param(TargetResponse(text='```json\n{"a": 1}'), {"a": 1}, CaseInput.OK, "text", id="json-in-an-unclosed-fence"),
        pytest.param(TargetResponse(text='It is {"a": 1}.'), {"a": 1}, CaseInput.OK, "text", id="json-in-text"),
        pytest.param(TargetResponse(text="I cannot."), MISSING, CaseInput.PARSE_ERROR, "", id="no-json"),
        pytest.param(TargetResponse(text=""), MISSING, CaseInput.PARSE_ERROR, "", id="nothing"),
        pytest.param(TargetResponse(text='{"a": 1} {"a": 2}'), MISSING, CaseInput.PARSE_ERROR, "", id="two-values"),
        pytest.param(TargetResponse(text='{"a": 1, "a": 2}'), MISSING, CaseInput.PARSE_ERROR, "", id="one-key-twice"),
    ],
)  # fmt: skip
def test_an_answer_becomes_the_candidate(answer, candidate, read, parsed_from):
    case, failure = one(answer)
    assert (case.candidate, case.input, case.parsed_from) == (candidate, read, parsed_from)
    assert bool(case.note) == (read is CaseInput.PARSE_ERROR)
    assert case.context.text == answer.text
    assert failure == ""


def test_where_the_truth_is_text_the_answer_is_compared_as_text():
    case = Case("a", "yes", MISSING, CaseInput.MISSING)
    assert one(TargetResponse(text='{"a": 1}'), case).case.candidate == '{"a": 1}'


def test_numbers_that_json_does_not_have_are_counted():
    dialect = JsonDialect(role=Role.CANDIDATE)
    one(TargetResponse(text='{"a": NaN}'), dialect=dialect)
    assert dialect.non_finite == 1


def test_what_came_with_a_case_stays_with_it():
    context = CaseContext(input="q", metadata={"m": 1})
    case = Case("a", {}, MISSING, CaseInput.MISSING, tags=("t",), context=context)
    got = one(TargetResponse(text="{}"), case).case
    assert (got.tags, got.context) == (("t",), context._replace(text="{}"))


def test_a_failure_leaves_the_case_without_a_candidate_and_says_why():
    case = Case("a", {}, MISSING, CaseInput.MISSING)
    assert one(TargetResponse(failure="it broke"), case) == ProducedCase(case, "it broke")


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(Case("a", {}, {"own": 1}), id="with-a-candidate-of-its-own"),
        pytest.param(Case("a", {}, None), id="with-null-as-its-candidate"),
        pytest.param(Case("a", {}, MISSING, CaseInput.PARSE_ERROR, "bad"), id="with-one-that-cannot-be-read"),
        pytest.param(Case("a", None, MISSING, CaseInput.INVALID_TRUTH, "bad"), id="whose-truth-cannot-be-read"),
    ],
)  # fmt: skip
def test_a_case_is_passed_on_as_it_is(case):
    source = Scripted(lambda _: pytest.fail("asked"))
    assert list(made(source, [case])) == [ProducedCase(case)]


def test_a_target_never_sees_the_truth():
    context = CaseContext(input={"file": "a.pdf"}, metadata={"page": 1}, text="sentinel")
    request = target_request(Case("a", {"sentinel": 1}, context=context))
    assert request == {
        "case_id": "a",
        "input": {"file": "a.pdf"},
        "question": '{"file": "a.pdf"}',
        "metadata": {"page": 1},
    }


@pytest.mark.parametrize(
    ("transient", "retries", "times", "said"),
    [
        pytest.param(True, 2, 3, "busy (asked 3 times)", id="what-may-pass-is-asked-again"),
        pytest.param(True, 0, 1, "busy", id="unless-it-must-not-be"),
        pytest.param(False, 2, 1, "busy", id="what-stays-is-not"),
    ],
)
def test_a_failure_is_tried_again_only_if_it_may_pass(transient, retries, times, said):
    source = Scripted(lambda _: TargetResponse(failure="busy", transient=transient))
    (asked,) = made(source, cases(1), retries=retries)
    assert asked.failure == said
    assert len(source.requests) == times


def test_an_answer_after_a_failure_counts():
    answers = iter([TargetResponse(failure="busy", transient=True), TargetResponse(value=7)])
    (asked,) = made(Scripted(lambda _: next(answers)), cases(1))
    assert asked == ProducedCase(asked.case)
    assert asked.case.candidate == 7


def test_a_source_that_crashes_costs_its_case_only():
    def answer(request):
        if request["case_id"] == "1":
            raise RuntimeError("bug")
        return TargetResponse(value=1)

    got = list(made(Scripted(answer), cases(3)))
    assert [asked.failure for asked in got] == ["", "the target crashed: RuntimeError: bug", ""]


def workers(before):
    """The threads of targets that were started since then and still run."""
    return [thread for thread in set(threading.enumerate()) - before if "target-" in thread.name]


def test_a_run_that_is_broken_off_does_not_wait():
    over, before = threading.Event(), set(threading.enumerate())

    def answer(request):
        if request["case_id"] == "0":
            return TargetResponse(value=1)
        over.wait(PATIENCE)
        return TargetResponse(failure="busy", transient=True)

    source = Scripted(answer)
    running = made(source, cases(50), concurrency=2, backoff=Backoff())
    next(running)
    assert eventually(lambda: source.busy == 2)
    running.close()
    assert source.busy == 2
    assert source.closed
    asked = len(source.requests)
    over.set()
    assert eventually(lambda: not workers(before))
    assert len(source.requests) == asked


def test_a_pause_ends_when_the_run_is_broken_off():
    paused = threading.Event()

    def task():
        paused.set()
        return TargetResponse(value=pool.wait_for_stop(60))

    with closing(ThreadPool(1)) as pool:
        assert not pool.wait_for_stop(0)
        answer = pool.submit(task)
        paused.wait(PATIENCE)
    assert answer.result(PATIENCE) == TargetResponse(value=True)


def test_nothing_is_asked_again_when_the_run_is_broken_off():
    before = set(threading.enumerate())
    source = Scripted(lambda _: TargetResponse(failure="busy", transient=True, retry_after=60))
    running = made(
        source, [Case("a", {}, 1), *cases(4)], concurrency=1, backoff=Backoff(), retries=5
    )
    next(running)
    running.close()
    assert eventually(lambda: not workers(before))
    assert len(source.requests) <= 1


def http(server):
    from fieldmark.run.targets.http import HttpTarget

    return Target(type="http", source=HttpTarget(url=server.url), retries=2, timeout=PATIENCE)


@pytest.mark.parametrize(
    ("answers", "times", "failure"),
    [
        pytest.param([Answer(status=429), replied({})], 2, "", id="too-many-requests-then-an-answer"),
        pytest.param([Answer(status=500), Answer(status=503), replied({})], 3, "", id="down-twice-then-an-answer"),
        pytest.param([Answer(hang_up=True), replied({})], 2, "", id="hung-up-then-an-answer"),
        pytest.param([Answer(status=502)], 3, "HTTP 502: {} (asked 3 times)", id="down-for-good"),
        pytest.param([Answer(status=400), replied({})], 1, "HTTP 400: {}", id="a-bad-request-stays-bad"),
        pytest.param([Answer(status=302, headers={"Location": "/"}), replied({})], 1, "redirects", id="a-redirect-stays-one"),
    ],
)  # fmt: skip
def test_an_endpoint_is_asked_again_if_it_may_answer(answers, times, failure):
    with loopback(*answers) as server:
        (asked,) = produce_candidates(http(server), cases(1), backoff=AT_ONCE)
        assert len(server.received) == times
    assert failure in asked.failure
    assert bool(asked.failure) == bool(failure)


def test_an_endpoint_that_was_too_slow_is_asked_again(monkeypatch):
    calls = []

    class FirstCallIsOverdue(TimeLimit):
        def call(self, function):
            calls.append(super().call(function))
            if len(calls) == 1:
                raise OverdueError
            return calls[-1]

    monkeypatch.setattr(http_client, "TimeLimit", FirstCallIsOverdue)
    with loopback(replied({"reply": 1}), replied({"reply": 2})) as server:
        (asked,) = produce_candidates(http(server), cases(1), backoff=AT_ONCE)
        assert len(server.received) == 2
    assert (asked.failure, asked.case.candidate) == ("", {"reply": 2})


def test_a_run_that_is_broken_off_ends_its_connections():
    def script(received, _):
        return replied({}, after=0 if received.value["case_id"] == "0" else PATIENCE)

    with loopback(script=script) as server:
        target = http(server)
        running = produce_candidates(replace(target, concurrency=3), cases(20))
        next(running)
        assert eventually(lambda: server.busy)
        running.close()
        assert server.busy


def test_an_endpoint_says_when_to_come_again():
    backoff = Backoff(first=0.0, longest=0.0, longest_retry_after=0.3)
    with loopback(Answer(status=429, headers={"Retry-After": "3600"}), replied({})) as server:
        started = time.monotonic()
        (asked,) = produce_candidates(http(server), cases(1), backoff=backoff)
        assert time.monotonic() - started >= 0.3
    assert asked.failure == ""


def test_functions_of_python_are_called_side_by_side(tmp_path):
    (tmp_path / "extract.py").write_text(
        "import threading\n"
        "together = threading.Barrier(3, timeout=20)\n"
        "def run(case):\n"
        "    together.wait()\n"
        "    return {'id': case['case_id']}\n",
        "utf-8",
    )
    source = PythonTarget(function="extract.py:run", cwd=tmp_path)
    target = Target(type="python", source=source, concurrency=3)
    got = [asked.case.candidate for asked in produce_candidates(target, cases(6))]
    assert got == [{"id": str(n)} for n in range(6)]
