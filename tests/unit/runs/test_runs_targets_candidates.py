"""Candidates are produced in the order of the cases, a few ahead, with retries."""

from __future__ import annotations

import json
import threading
import time
import tracemalloc
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pytest

from fieldmark.data.json_parser import JsonDialect, Role
from fieldmark.judges.retry import Backoff
from fieldmark.model.case import Case, CaseContext, CaseInput
from fieldmark.model.json import MISSING
from fieldmark.rules.target_settings import Target
from fieldmark.runs.targets import candidates as module
from fieldmark.runs.targets.candidates import (
    TargetCache,
    ThreadPool,
    produce_candidates,
    target_request,
)
from fieldmark.runs.targets.python import PythonTarget
from fieldmark.runs.targets.target import TargetResponse
from loopback_server import Answer, loopback, replied
from waiting import TIMEOUT, eventually

AT_ONCE = Backoff(first=0.0, longest=0.0, longest_retry_after=0.0)


@dataclass
class Scripted:
    """A source whose responses come from a function, and that records the requests."""

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


def failure_of(case):
    return case.note if case.input is CaseInput.FAILED else ""


def made(source, some, **options):
    options.setdefault("backoff", AT_ONCE)
    settings = {
        name: options.pop(name) for name in ("timeout", "retries", "concurrency") if name in options
    }
    return produce_candidates(Target(type="scripted", source=source, **settings), some, **options)


def produced_case(answer, case=None, **options):
    case = case or Case("a", {"total": 1}, MISSING, CaseInput.MISSING)
    (case,) = made(Scripted(lambda _: answer), [case], **options)
    return case


@pytest.mark.parametrize("concurrency", [1, 3, 16])
def test_cases_keep_their_order(concurrency):
    def answer(request):
        time.sleep(0.01 if int(request["case_id"]) % 3 == 0 else 0)
        return TargetResponse(value={"n": int(request["case_id"])})

    source = Scripted(answer)
    produced = list(made(source, cases(40), concurrency=concurrency))
    assert [case.candidate for case in produced] == [{"n": n} for n in range(40)]
    assert [case.id for case in produced] == [str(n) for n in range(40)]
    assert source.busiest <= concurrency
    assert source.closed


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
    # The responses to 600 cases are 6 MB; how many of them wait at a time depends on the threads.
    assert peak(600) < peak(60) + 2_000_000


def test_time_limit_reaches_the_target():
    source = Scripted(lambda _: TargetResponse(value=1))
    list(made(source, cases(1), timeout=1.5))
    assert source.opened_for == [1.5]


@pytest.mark.parametrize(
    ("answer", "candidate", "read", "parsed_from"),
    [
        pytest.param(TargetResponse(value={"a": 1}), {"a": 1}, CaseInput.OK, "", id="value"),
        pytest.param(TargetResponse(value=None), None, CaseInput.OK, "", id="null"),
        pytest.param(TargetResponse(text='{"a": 1}'), {"a": 1}, CaseInput.OK, "", id="json-as-text"),
        pytest.param(TargetResponse(text='Here:\n```json\n{"a": 1}\n```'), {"a": 1}, CaseInput.OK, "fence", id="json-in-a-fence"),
        pytest.param(TargetResponse(text='```json\n{"a": 1}'), {"a": 1}, CaseInput.OK, "text", id="json-in-an-unclosed-fence"),
        pytest.param(TargetResponse(text='It is {"a": 1}.'), {"a": 1}, CaseInput.OK, "text", id="json-in-text"),
        pytest.param(TargetResponse(text="I cannot."), MISSING, CaseInput.PARSE_ERROR, "", id="no-json"),
        pytest.param(TargetResponse(text=""), MISSING, CaseInput.PARSE_ERROR, "", id="nothing"),
        pytest.param(TargetResponse(text='{"a": 1} {"a": 2}'), MISSING, CaseInput.PARSE_ERROR, "", id="two-values"),
        pytest.param(TargetResponse(text='{"a": 1, "a": 2}'), MISSING, CaseInput.PARSE_ERROR, "", id="one-duplicate-key"),
    ],
)  # fmt: skip
def test_response_becomes_the_candidate(answer, candidate, read, parsed_from):
    case = produced_case(answer)
    assert (case.candidate, case.input, case.parsed_from) == (candidate, read, parsed_from)
    assert bool(case.note) == (read is CaseInput.PARSE_ERROR)
    assert case.context.text == answer.text


def test_response_for_a_string_truth_is_a_string():
    case = Case("a", "yes", MISSING, CaseInput.MISSING)
    assert produced_case(TargetResponse(text='{"a": 1}'), case).candidate == '{"a": 1}'


def test_non_finite_numbers_are_counted():
    dialect = JsonDialect(role=Role.CANDIDATE)
    produced_case(TargetResponse(text='{"a": NaN}'), dialect=dialect)
    assert dialect.non_finite == 1


def test_context_of_a_case_is_preserved():
    context = CaseContext(input="q", metadata={"m": 1})
    case = Case("a", {}, MISSING, CaseInput.MISSING, tags=("t",), context=context)
    produced = produced_case(TargetResponse(text="{}"), case)
    assert (produced.tags, produced.context) == (("t",), context._replace(text="{}"))


def test_failed_case_has_no_candidate_and_a_note():
    case = Case("a", {}, MISSING, CaseInput.MISSING)
    failed = case._replace(input=CaseInput.FAILED, note="it broke")
    assert produced_case(TargetResponse(failure="it broke"), case) == failed


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(Case("a", {}, {"own": 1}), id="with-a-candidate-of-its-own"),
        pytest.param(Case("a", {}, None), id="with-null-as-its-candidate"),
        pytest.param(Case("a", {}, MISSING, CaseInput.PARSE_ERROR, "bad"), id="unparseable-candidate"),
        pytest.param(Case("a", None, MISSING, CaseInput.INVALID_TRUTH, "bad"), id="invalid-truth"),
    ],
)  # fmt: skip
def test_case_that_needs_no_candidate_is_unchanged(case):
    source = Scripted(lambda _: pytest.fail("case"))
    assert list(made(source, [case])) == [case]


def test_request_never_contains_the_truth():
    context = CaseContext(input={"file": "a.pdf"}, metadata={"page": 1}, text="sentinel")
    request = target_request(Case("a", {"sentinel": 1}, context=context))
    assert request == {
        "case_id": "a",
        "input": {"file": "a.pdf"},
        "question": '{"file": "a.pdf"}',
        "metadata": {"page": 1},
    }


@pytest.mark.parametrize(
    ("transient", "retries", "times", "message"),
    [
        pytest.param(True, 2, 3, "busy (3 attempts)", id="transient"),
        pytest.param(True, 0, 1, "busy", id="unless-it-must-not-be"),
        pytest.param(False, 2, 1, "busy", id="what-stays-is-not"),
    ],
)
def test_only_transient_failures_are_retried(transient, retries, times, message):
    source = Scripted(lambda _: TargetResponse(failure="busy", transient=transient))
    (case,) = made(source, cases(1), retries=retries)
    assert failure_of(case) == message
    assert len(source.requests) == times


def test_response_after_a_retry_is_used():
    answers = iter([TargetResponse(failure="busy", transient=True), TargetResponse(value=7)])
    (case,) = made(Scripted(lambda _: next(answers)), cases(1))
    assert (case.input, case.note, case.candidate) == (CaseInput.OK, "", 7)


def test_exception_in_a_target_is_a_failure_of_its_case():
    def answer(request):
        if request["case_id"] == "1":
            raise RuntimeError("bug")
        return TargetResponse(value=1)

    produced = list(made(Scripted(answer), cases(3)))
    assert [failure_of(case) for case in produced] == [
        "",
        "the target raised RuntimeError: bug",
        "",
    ]


def workers(before):
    """Return the running threads of targets that were started since then."""
    return [thread for thread in set(threading.enumerate()) - before if "target-" in thread.name]


def test_interrupted_run_does_not_wait_for_calls():
    over, before = threading.Event(), set(threading.enumerate())

    def answer(request):
        if request["case_id"] == "0":
            return TargetResponse(value=1)
        over.wait(TIMEOUT)
        return TargetResponse(failure="busy", transient=True)

    source = Scripted(answer)
    running = made(source, cases(50), concurrency=2, backoff=Backoff())
    next(running)
    assert eventually(lambda: source.busy == 2)
    running.close()
    assert source.busy == 2
    assert source.closed
    sent = len(source.requests)
    over.set()
    assert eventually(lambda: not workers(before))
    assert len(source.requests) == sent


def test_interrupt_ends_the_backoff():
    paused = threading.Event()

    def task():
        paused.set()
        return TargetResponse(value=pool.wait_for_stop(60))

    with closing(ThreadPool(1)) as pool:
        assert not pool.wait_for_stop(0)
        answer = pool.submit(task)
        paused.wait(TIMEOUT)
    assert answer.result(TIMEOUT) == TargetResponse(value=True)


def test_interrupted_run_does_not_retry():
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
    from fieldmark.runs.targets.http import HttpTarget

    return Target(type="http", source=HttpTarget(url=server.url), retries=2, timeout=TIMEOUT)


@pytest.mark.parametrize(
    ("answers", "times", "failure"),
    [
        pytest.param([Answer(status=500), Answer(status=503), replied({})], 3, "", id="two-failures-then-success"),
        pytest.param([Answer(status=502)], 3, "HTTP 502: {} (3 attempts)", id="permanent-failure"),
        pytest.param([Answer(status=400), replied({})], 1, "HTTP 400: {}", id="bad-request-is-not-retried"),
    ],
)  # fmt: skip
def test_transient_http_failures_are_retried(answers, times, failure):
    with loopback(*answers) as server:
        (case,) = produce_candidates(http(server), cases(1), backoff=AT_ONCE)
        assert len(server.received) == times
    assert failure in failure_of(case)
    assert bool(failure_of(case)) == bool(failure)


def test_interrupted_run_closes_its_connections():
    def script(received, _):
        return replied({}, after=0 if received.value["case_id"] == "0" else TIMEOUT)

    with loopback(script=script) as server:
        target = http(server)
        running = produce_candidates(replace(target, concurrency=3), cases(20))
        next(running)
        assert eventually(lambda: server.busy)
        running.close()
        assert server.busy


def test_retry_after_header_is_honored():
    backoff = Backoff(first=0.0, longest=0.0, longest_retry_after=0.3)
    with loopback(Answer(status=429, headers={"Retry-After": "3600"}), replied({})) as server:
        started = time.monotonic()
        (case,) = produce_candidates(http(server), cases(1), backoff=backoff)
        assert time.monotonic() - started >= 0.3
    assert failure_of(case) == ""


def test_python_functions_are_called_concurrently(tmp_path):
    (tmp_path / "extract.py").write_text(
        "import threading\n"
        f"together = threading.Barrier(3, timeout={TIMEOUT})\n"
        "def run(case):\n"
        "    together.wait()\n"
        "    return {'id': case['case_id']}\n",
        "utf-8",
    )
    source = PythonTarget(function="extract.py:run", cwd=tmp_path)
    target = Target(type="python", source=source, concurrency=3, timeout=TIMEOUT)
    candidates = [case.candidate for case in produce_candidates(target, cases(6))]
    assert candidates == [{"id": str(n)} for n in range(6)]


def test_nothing_is_sent_for_a_while_after_ten_cases_in_a_row_have_failed():
    source = Scripted(lambda _: TargetResponse(failure="down", transient=True))
    target = Target(type="scripted", source=source, retries=1, concurrency=1)
    cases = [Case(id=str(n), expected={}) for n in range(30)]
    produced = list(produce_candidates(target, cases, backoff=AT_ONCE))
    assert len(source.requests) == 20
    assert produced[9].note == "down (2 attempts)"
    assert produced[29].note == "not sent, because 10 requests in a row failed: down"
    assert all(case.input is CaseInput.FAILED for case in produced)


# --- cached responses -----------------------------------------------------------------------------

REQUEST = {"case_id": "a", "input": 1}


class Counting:
    def __init__(self, *answers):
        self.answers = list(answers)
        self.times = 0

    def __call__(self, _):
        self.times += 1
        return self.answers[min(self.times, len(self.answers)) - 1]


def asking(directory, ask, identity=None, warnings=None):
    warn = pytest.fail if warnings is None else warnings.append
    return TargetCache(directory, identity or {}, warn).cached(ask)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(TargetResponse(text="Total: ä"), id="text"),
        pytest.param(TargetResponse(text=""), id="no-string"),
        pytest.param(TargetResponse(text="\ud800"), id="half-a-character"),
        pytest.param(TargetResponse(value={"a": [1, 1.5, None, True]}), id="value"),
        pytest.param(TargetResponse(value=None), id="null"),
        pytest.param(TargetResponse(value=12345678901234567890123), id="long-integer"),
    ],
)
def test_cached_response_is_returned_unchanged(tmp_path, answer):
    ask = Counting(answer)
    for _ in range(3):
        assert asking(tmp_path / "cache", ask)(REQUEST) == answer
    assert ask.times == 1


@pytest.mark.parametrize(
    ("identity", "request_"),
    [
        pytest.param({"model": "a"}, {"case_id": "b", "input": 1}, id="another-case"),
        pytest.param({"model": "a"}, {"case_id": "a", "input": 1.0}, id="number-written-otherwise"),
        pytest.param({"model": "a"}, {"case_id": "a", "input": True}, id="boolean-for-a-number"),
        pytest.param({"model": "a"}, {"case_id": "a", "input": "1"}, id="text-for-a-number"),
        pytest.param({"model": "b"}, REQUEST, id="another-option"),
    ],
)  # fmt: skip
def test_other_request_is_sent(tmp_path, identity, request_):
    ask = Counting(TargetResponse(value=1))
    asking(tmp_path, ask, {"model": "a"})(REQUEST)
    asking(tmp_path, ask, identity)(request_)
    assert ask.times == 2


def test_order_of_keys_does_not_change_the_cache_key(tmp_path):
    ask = Counting(TargetResponse(value=1))
    asking(tmp_path, ask)(REQUEST)
    asking(tmp_path, ask)(dict(reversed(REQUEST.items())))
    assert ask.times == 1


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(TargetResponse(failure="down"), id="failure"),
        pytest.param(TargetResponse(failure="busy", transient=True), id="failure-that-may-pass"),
        pytest.param(TargetResponse(value={"a": float("nan")}), id="non-finite-number"),
    ],
)
def test_responses_that_are_not_cached(tmp_path, answer):
    ask = Counting(answer, TargetResponse(value=1))
    first = asking(tmp_path, ask)(REQUEST)
    assert first is answer
    assert asking(tmp_path, ask)(REQUEST) == TargetResponse(value=1)
    assert ask.times == 2


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(lambda _: b"", id="empty"),
        pytest.param(lambda whole: whole[: len(whole) // 2], id="truncated"),
        pytest.param(lambda whole: b"\xff" + whole, id="no-string"),
        pytest.param(lambda _: b"[]", id="no-entry"),
        pytest.param(lambda whole: whole.replace(b'"format":1', b'"format":2'), id="another-format"),
        pytest.param(lambda whole: whole.replace(b'"key":"', b'"key":"0'), id="other-key"),
        pytest.param(lambda whole: whole.replace(b'"value":', b'"other":'), id="without-a-response"),
        pytest.param(lambda whole: whole.replace(b'"value":1', b'"text":1'), id="text-that-is-none"),
        pytest.param(lambda whole: whole.replace(b'"value":1', b'"value":1,"text":"1"'), id="two-responses"),
    ],
)  # fmt: skip
def test_corrupt_entry_is_requested_again_with_a_warning(tmp_path, broken):
    ask = Counting(TargetResponse(value=1))
    asking(tmp_path, ask)(REQUEST)
    (entry,) = tmp_path.rglob("*.json")
    whole = entry.read_bytes()
    entry.write_bytes(broken(whole))
    warnings = []
    assert asking(tmp_path, ask, warnings=warnings)(REQUEST) == TargetResponse(value=1)
    assert ask.times == 2
    assert len(warnings) == 1
    assert f"{entry}: invalid cached response, requested again" in warnings[0]
    assert entry.read_bytes() == whole


def test_entries_are_written_atomically(tmp_path, monkeypatch):
    written = []
    real = module.write_atomic
    monkeypatch.setattr(module, "write_atomic", lambda *a: (written.append(a[0]), real(*a)))
    asking(tmp_path, Counting(TargetResponse(value=1)))(REQUEST)
    (entry,) = tmp_path.rglob("*.json")
    assert written == [entry]
    assert json.loads(entry.read_bytes()) == {"format": 1, "key": entry.stem, "value": 1}


def test_unwritable_cache_directory_is_one_warning(tmp_path):
    (tmp_path / "file").touch()
    warnings = []
    ask = asking(tmp_path / "file" / "cache", Counting(TargetResponse(value=1)), warnings=warnings)
    for name in "abc":
        assert ask({"case_id": name}) == TargetResponse(value=1)
    assert sum("responses are no longer cached" in warning for warning in warnings) == 1


def test_new_cache_directory_has_a_gitignore(tmp_path):
    asking(tmp_path / "new", Counting(TargetResponse(value=1)))(REQUEST)
    assert (tmp_path / "new" / ".gitignore").read_text("utf-8") == "*\n"
    asking(tmp_path, Counting(TargetResponse(value=1)))(REQUEST)
    assert not (tmp_path / ".gitignore").exists()


@pytest.mark.parametrize("turn", range(10))
def test_first_entries_can_be_written_concurrently(tmp_path, turn):
    together = threading.Barrier(8, timeout=TIMEOUT)

    def ask(_):
        together.wait()
        return TargetResponse(value=turn)

    cached = asking(tmp_path / "new", ask)
    threads = [threading.Thread(target=cached, args=({"case_id": n},)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list((tmp_path / "new").rglob("*.json"))) == 8


@pytest.fixture
def waiting(monkeypatch):
    """Counts the threads that wait for the response to another request."""
    values = []

    class Watched(Future):
        def result(self, timeout=None):
            values.append(1)
            return super().result(timeout)

    monkeypatch.setattr(module, "Future", Watched)
    return values


@pytest.mark.parametrize("fails", [False, True], ids=["response", "exception"])
def test_identical_concurrent_requests_are_sent_once(tmp_path, waiting, fails):
    under_way, over = threading.Event(), threading.Event()
    times, results = [], []

    def ask(_):
        times.append(1)
        under_way.set()
        over.wait(TIMEOUT)
        if fails:
            raise RuntimeError("bug")
        return TargetResponse(value=len(times))

    cached = asking(tmp_path, ask)

    def work():
        try:
            results.append(cached(REQUEST))
        except RuntimeError as error:
            results.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
        under_way.wait(TIMEOUT)
    assert eventually(lambda: len(waiting) == 5)
    over.set()
    for thread in threads:
        thread.join(TIMEOUT)
    assert results == ["bug" if fails else TargetResponse(value=1)] * 6
    assert len(times) == 1


def test_repeated_run_uses_only_cached_responses(tmp_path):
    (tmp_path / "extract.py").write_text(
        "import pathlib\n"
        "log = pathlib.Path(__file__).with_name('log')\n"
        "def run(case):\n"
        "    with log.open('a') as file: file.write('x')\n"
        "    return '```json\\n{\"q\": \"%s\"}\\n```' % case['question']\n",
        "utf-8",
    )
    source = PythonTarget(function="extract.py:run", cwd=tmp_path)
    target = Target(type="python", source=source, cache=tmp_path / "cache", concurrency=2)
    cases = [
        Case(str(n), {}, MISSING, CaseInput.MISSING, context=CaseContext(input=f"q{n}"))
        for n in range(5)
    ]
    first = list(produce_candidates(target, cases))
    assert first[3].candidate == {"q": "q3"}
    assert list(produce_candidates(target, cases)) == first
    assert (tmp_path / "log").read_text("utf-8") == "x" * 5
