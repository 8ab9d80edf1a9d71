"""The process pool: one line per request, restarted workers, and protocol violations."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from fieldmark.errors import DataError
from fieldmark.evaluators.base import Status
from fieldmark.judges import code_judge
from fieldmark.judges.code_judge import CodeJudge
from fieldmark.judges.program import ProcessLimits
from fieldmark.model.case import Case
from unit.judges.judge_processes import (
    CASE,
    judge,
    new_marker,
    open_files,
    remaining,
    running,
    sleeping,
    timeout_when,
    zombies,
)
from waiting import TIMEOUT, eventually


@pytest.fixture(autouse=True)
def no_leaked_resources():
    files, processes = open_files(), zombies()
    yield
    assert open_files() <= files
    assert zombies() <= processes


@pytest.fixture
def long_grace_period(monkeypatch):
    """Give a judge much time to exit after its last case."""
    monkeypatch.setattr(code_judge, "ProcessLimits", partial(ProcessLimits, grace=TIMEOUT))


def open_judge(*behavior, **options):
    return judge(*behavior, protocol="lines", **options).opened()


def case_for(*words):
    return Case(" ".join(words), {}, " ".join(words))


def test_one_process_judges_all_cases_in_order():
    marker = new_marker()
    with open_judge("each_line", marker) as score_case:
        results = [score_case(Case(str(number), {}, {})) for number in range(20)]
        assert len(running(marker)) == 1
    assert [score.details["case"] for score in results] == [str(number) for number in range(20)]
    assert [score.details["n"] for score in results] == list(range(1, 21))
    assert not remaining(marker)


def test_number_of_processes_is_limited():
    with (
        open_judge("each_line", workers=3) as score_case,
        ThreadPoolExecutor(8) as pool,
    ):
        results = list(pool.map(score_case, [Case(str(number), {}, {}) for number in range(60)]))
    assert [score.details["case"] for score in results] == [str(number) for number in range(60)]
    assert 1 <= len({score.details["pid"] for score in results}) <= 3


def test_case_is_retried_once_if_the_process_exits(tmp_path):
    with open_judge("each_line", "follow_candidate") as score_case:
        first = score_case(case_for("respond"))
        second = score_case(case_for("exit_once", str(tmp_path / "tried")))
        third = score_case(case_for("respond"))
    assert [score.status for score in (first, second, third)] == [Status.OK] * 3
    assert first.details["pid"] != second.details["pid"] == third.details["pid"]


@pytest.mark.parametrize(
    ("behavior", "reason"),
    [
        pytest.param(
            "exit_with 7",
            r"died: exited with code 7 before it responded.*\(2 attempts\)",
            id="nonzero-exit",
        ),
        pytest.param(
            "exit_with 0", "died: exited with code 0 before it responded", id="exit-code-0"
        ),
        pytest.param("kill_self 9", "died: terminated by SIGKILL before it responded", id="killed"),
        pytest.param(
            "crash", "died: exited with code 1.*internal error of the judge", id="exception"
        ),
        pytest.param(
            "exit_with_background_child",
            "died: exited with code 5",
            id="exit-with-background-child",
        ),
        pytest.param("flood 1 y", "output_limit", id="endless-stdout"),
        pytest.param("flood 2", "output_limit", id="endless-stderr"),
        pytest.param("close 1", "died", id="closes-stdout"),
        pytest.param("write hello\n", "bad_reply: .*; response starts with: hello", id="not-json"),
        pytest.param("write \n", "bad_reply: no response on standard output", id="empty-line"),
    ],
)
def test_failed_case_does_not_affect_the_next(behavior, reason):
    marker = new_marker()
    with open_judge("each_line", "follow_candidate", marker) as score_case:
        bad = score_case(Case("bad", {}, behavior))
        good = score_case(case_for("respond"))
    assert (bad.status, bad.score) == (Status.ERROR, None)
    assert re.search(reason, bad.reasoning, re.DOTALL), bad.reasoning
    assert good.status is Status.OK, good.reasoning
    assert not remaining(marker)


@pytest.mark.parametrize(
    ("behavior", "expired"),
    [
        pytest.param("start_child", lambda marker, _: sleeping(marker), id="no-response"),
        pytest.param("write_and touch {}", lambda _, file: file.exists(), id="no-newline"),
    ],
)
def test_timeout_does_not_affect_the_next_case(behavior, expired, tmp_path):
    marker, file = new_marker(), tmp_path / "written"
    with open_judge("each_line", "follow_candidate", marker) as score_case:
        with timeout_when(lambda: expired(marker, file)):
            bad = score_case(Case("bad", {}, behavior.format(file)))
        good = score_case(case_for("respond"))
    assert (bad.status, bad.score) == (Status.ERROR, None)
    assert bad.reasoning.startswith(f"timeout: no response within {TIMEOUT:g} s")
    assert good.status is Status.OK, good.reasoning
    assert not remaining(marker)


def errors_with(*behavior, cases):
    """Return the errors of all cases, and of the end of the run."""
    errors = []
    try:
        with open_judge(*behavior) as score_case:
            errors += [score_case(CASE).reasoning for _ in range(cases)]
    except DataError as error:
        errors.append(str(error))
    return [reason for reason in errors if reason]


@pytest.mark.parametrize("cases", [1, 2, 5])
def test_two_lines_for_one_case_are_detected(cases, long_grace_period):
    errors = errors_with("each_line", "respond_twice", cases=cases)
    assert errors
    assert all("out_of_step: unrequested output" in error for error in errors)


def test_no_scores_after_unrequested_output(tmp_path):
    trigger, done = tmp_path / "trigger", tmp_path / "done"
    with open_judge("each_line", "respond_then_write", str(trigger), str(done)) as score_case:
        first = score_case(CASE)
        trigger.touch()
        assert eventually(done.exists)
        others = [score_case(CASE) for _ in range(3)]
    assert first.status is Status.OK
    assert {other.status for other in others} == {Status.ERROR}
    assert "out_of_step: unrequested output: unrequested" in others[0].reasoning


def test_unrequested_output_at_the_end_fails_the_run(long_grace_period):
    (error,) = errors_with("each_line_and", "write", "bye", cases=2)
    assert "cannot be trusted" in error
    assert "unrequested output: bye" in error


def test_output_before_the_first_request_is_an_error():
    errors = errors_with("write_first", cases=1)
    assert "hello" in errors[0]
    assert re.search("bad_reply|out_of_step", errors[0])


def test_response_for_another_case_is_an_error():
    with open_judge("each_line", "respond_for_other_case") as score_case:
        assert (
            "the response is for another case, expected 'invoice-1'" in score_case(CASE).reasoning
        )


def test_process_that_exits_after_each_response_is_restarted():
    with open_judge("each_line", "respond_and_exit") as score_case:
        results = [score_case(CASE) for _ in range(3)]
    assert [score.status for score in results] == [Status.OK] * 3
    assert len({score.details["pid"] for score in results}) == 3


def test_timeout_of_a_judge_that_reads_to_the_end_explains_the_protocol():
    with open_judge("echo", timeout=0.3) as score_case:
        assert "a judge must respond to each line immediately" in score_case(CASE).reasoning


def test_judge_that_never_reads_times_out():
    big = CASE._replace(candidate="x" * 2_000_000)
    with open_judge("sleep", timeout=0.3) as score_case:
        assert score_case(big).reasoning.startswith("timeout")


def test_response_before_the_whole_request_is_read_is_an_error():
    big = CASE._replace(candidate="x" * 2_000_000)
    with open_judge("respond_after_one_byte") as score_case:
        assert (
            "out_of_step: responded before it had read the whole request"
            in score_case(big).reasoning
        )


def test_request_above_the_limit_is_not_sent():
    with open_judge("each_line") as score_case:
        result = score_case(CASE._replace(candidate="x" * (9 << 20)))
        assert result.reasoning.startswith("input_limit")
        assert score_case(CASE).status is Status.OK


def test_program_that_cannot_be_started_is_an_error():
    missing = CodeJudge(script=("no-such-program",), protocol="lines")
    with missing.opened() as score_case:
        assert score_case(CASE).reasoning.startswith("not_started: cannot start no-such-program")


def test_process_may_exit_by_itself_at_the_end(tmp_path, long_grace_period):
    file = tmp_path / "file"
    with open_judge("each_line_and", "touch", str(file)) as score_case:
        score_case(CASE)
    assert file.exists()


def test_process_that_does_not_exit_is_killed():
    marker = new_marker()
    with open_judge("each_line_and", "ignore_sigterm", "start_child", marker) as score_case:
        assert score_case(CASE).status is Status.OK
    assert not remaining(marker)


def interrupted_run(marker, executor, pending):
    with open_judge("each_line", "follow_candidate", marker) as score_case:
        pending.append(executor.submit(score_case, case_for("start_child")))
        assert eventually(lambda: sleeping(marker))
        raise KeyboardInterrupt


def test_interrupted_run_kills_all_processes():
    marker, pending = new_marker(), []
    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(KeyboardInterrupt):
            interrupted_run(marker, executor, pending)
        assert pending[0].result(TIMEOUT).reasoning.startswith("interrupted")
    assert not remaining(marker)


def test_request_after_the_run_is_an_error():
    with open_judge("each_line", new_marker(), workers=2) as score_case:
        score_case(CASE)
    with ThreadPoolExecutor(3) as pool:
        futures = [pool.submit(score_case, CASE) for _ in range(3)]
        results = [each.result(TIMEOUT) for each in futures]
    assert {score.reasoning.partition(":")[0] for score in results} == {"interrupted"}
