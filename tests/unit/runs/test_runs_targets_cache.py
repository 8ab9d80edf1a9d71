"""Cached responses: their keys, no failures, and corrupt entries are replaced."""

from __future__ import annotations

import json
import threading
from concurrent.futures import Future

import pytest

from fieldmark.model.case import Case, CaseContext, CaseInput
from fieldmark.model.json import MISSING
from fieldmark.rules.target_settings import Target
from fieldmark.runs.targets import candidates as module
from fieldmark.runs.targets.candidates import TargetCache, produce_candidates
from fieldmark.runs.targets.python import PythonTarget
from fieldmark.runs.targets.target import TargetResponse
from waiting import TIMEOUT, eventually

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
    found = []

    class Watched(Future):
        def result(self, timeout=None):
            found.append(1)
            return super().result(timeout)

    monkeypatch.setattr(module, "Future", Watched)
    return found


def test_identical_concurrent_requests_are_sent_once(tmp_path, waiting):
    under_way, over = threading.Event(), threading.Event()
    times = []

    def ask(_):
        times.append(1)
        under_way.set()
        over.wait(TIMEOUT)
        return TargetResponse(value=len(times))

    cached = asking(tmp_path, ask)
    got = []
    threads = [threading.Thread(target=lambda: got.append(cached(REQUEST))) for _ in range(6)]
    for thread in threads:
        thread.start()
    under_way.wait(TIMEOUT)
    assert eventually(lambda: len(waiting) == 5)
    over.set()
    for thread in threads:
        thread.join()
    assert got == [TargetResponse(value=1)] * 6
    assert len(times) == 1


def test_exception_is_raised_for_all_waiting_requests(tmp_path, waiting):
    under_way, over = threading.Event(), threading.Event()

    def ask(_):
        under_way.set()
        over.wait(TIMEOUT)
        raise RuntimeError("bug")

    cached = asking(tmp_path, ask)
    got = []

    def work():
        try:
            cached(REQUEST)
        except RuntimeError as error:
            got.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
        under_way.wait(TIMEOUT)
    assert eventually(lambda: len(waiting) == 2)
    over.set()
    for thread in threads:
        thread.join(TIMEOUT)
    assert got == ["bug"] * 3


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
