"""The process pool: one line per request, replaced workers, and protocol violations."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from fieldmark.errors import DataError
from fieldmark.evaluators.base import Status
from fieldmark.judges import code_judge
from fieldmark.judges.code_judge import CodeJudge
from fieldmark.judges.managed_process import ProcessLimits
from fieldmark.model.case import Case
from unit.judges.lab import (
    CASE,
    alive,
    asleep,
    judge,
    living,
    new_mark,
    open_files,
    time_is_over_when,
    zombies,
)
from waiting import PATIENCE, eventually


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = open_files()
    yield
    assert open_files() == before
    assert not zombies()


@pytest.fixture
def patient(monkeypatch):
    """A judge that is told that there are no more cases may take long to end."""
    monkeypatch.setattr(code_judge, "ProcessLimits", partial(ProcessLimits, grace=PATIENCE))


def staying(*behaviour, **options):
    return judge(*behaviour, protocol="lines", **options).opened()


def told(*words):
    return Case(" ".join(words), {}, " ".join(words))


def test_one_process_answers_all_cases_in_their_order():
    mark = new_mark()
    with staying("each_line", mark) as judging:
        said = [judging(Case(str(number), {}, {})) for number in range(20)]
        assert len(alive(mark)) == 1
    assert [score.details["case"] for score in said] == [str(number) for number in range(20)]
    assert [score.details["n"] for score in said] == list(range(1, 21))
    assert not living(mark)


def test_as_many_processes_as_there_may_be_and_no_more():
    with (
        staying("each_line", workers=3) as judging,
        ThreadPoolExecutor(8) as pool,
    ):
        said = list(pool.map(judging, [Case(str(number), {}, {}) for number in range(60)]))
    assert [score.details["case"] for score in said] == [str(number) for number in range(60)]
    assert 1 <= len({score.details["pid"] for score in said}) <= 3


def test_a_case_in_which_it_dies_is_tried_once_more(tmp_path):
    with staying("each_line", "as_the_case_says") as judging:
        first = judging(told("reply"))
        second = judging(told("once", str(tmp_path / "tried")))
        third = judging(told("reply"))
    assert [score.status for score in (first, second, third)] == [Status.OK] * 3
    assert first.details["pid"] != second.details["pid"] == third.details["pid"]


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        pytest.param("leave 7", r"died: ended \(exit code 7\).*the second time", id="it-leaves"),
        pytest.param("leave 0", r"died: ended \(exit code 0\)", id="it-leaves-content"),
        pytest.param("die 9", r"died: ended \(SIGKILL\)", id="it-is-killed"),
        pytest.param("crash", r"died: .*exit code 1.*a fault of the judge", id="it-crashes"),
        pytest.param(
            "desert", r"died: ended \(exit code 5\)", id="it-leaves-a-child-with-its-output"
        ),
        pytest.param("flood 1 y", "output_limit", id="it-never-stops-talking"),
        pytest.param("flood 2", "output_limit", id="it-never-stops-remarking"),
        pytest.param("close 1", "died", id="it-closes-its-output"),
        pytest.param("say hello\n", "bad_reply: .*begins: hello", id="it-says-something-else"),
        pytest.param('say {"score":2}\n', "bad_reply: .*between 0 and 1", id="it-says-too-much"),
        pytest.param("say \n", "bad_reply: there is no reply", id="it-says-nothing"),
    ],
)
def test_a_bad_case_is_an_error_and_the_next_is_not(behaviour, reason):
    mark = new_mark()
    with staying("each_line", "as_the_case_says", mark) as judging:
        bad = judging(Case("bad", {}, behaviour))
        good = judging(told("reply"))
    assert (bad.status, bad.score) == (Status.ERROR, None)
    assert re.search(reason, bad.reasoning, re.DOTALL), bad.reasoning
    assert good.status is Status.OK, good.reasoning
    assert not living(mark)


@pytest.mark.parametrize(
    ("behaviour", "late"),
    [
        pytest.param("sleep", lambda _, __: True, id="it-is-late"),
        pytest.param("child", lambda mark, _: asleep(mark), id="it-is-late-with-children"),
        pytest.param(
            "say_and touch {}", lambda _, file: file.exists(), id="it-does-not-end-its-line"
        ),
    ],
)
def test_a_late_case_is_an_error_and_the_next_is_not(behaviour, late, tmp_path):
    mark, file = new_mark(), tmp_path / "spoken"
    with staying("each_line", "as_the_case_says", mark, timeout=PATIENCE) as judging:
        with time_is_over_when(lambda: late(mark, file)):
            bad = judging(Case("bad", {}, behaviour.format(file)))
        good = judging(told("reply"))
    assert (bad.status, bad.score) == (Status.ERROR, None)
    assert bad.reasoning.startswith(f"timeout: no line after {PATIENCE:g} s")
    assert good.status is Status.OK, good.reasoning
    assert not living(mark)


def errors_of(*behaviour, cases):
    """What is wrong with each case, and with the whole in the end."""
    said = []
    try:
        with staying(*behaviour) as judging:
            said += [judging(CASE).reasoning for _ in range(cases)]
    except DataError as error:
        said.append(str(error))
    return [reason for reason in said if reason]


@pytest.mark.parametrize("cases", [1, 2, 5])
def test_two_lines_for_one_case_never_pass_unnoticed(cases, patient):
    errors = errors_of("each_line", "twice", cases=cases)
    assert errors
    assert all("out_of_step: wrote without being asked" in error for error in errors)


def test_who_was_out_of_step_is_not_believed_again(tmp_path):
    wanted, done = tmp_path / "wanted", tmp_path / "done"
    with staying("each_line", "later_once_more", str(wanted), str(done)) as judging:
        first = judging(CASE)
        wanted.touch()
        assert eventually(done.exists)
        others = [judging(CASE) for _ in range(3)]
    assert first.status is Status.OK
    assert {other.status for other in others} == {Status.ERROR}
    assert "out_of_step: wrote without being asked: just saying" in others[0].reasoning


def test_a_farewell_is_an_error_of_the_whole(patient):
    (error,) = errors_of("each_line_and", "say", "bye", cases=2)
    assert "cannot be trusted" in error
    assert "wrote without being asked: bye" in error


def test_a_greeting_is_an_error():
    errors = errors_of("greet", cases=1)
    assert "hello" in errors[0]
    assert re.search("bad_reply|out_of_step", errors[0])


def test_a_reply_to_another_case_is_an_error():
    with staying("each_line", "other_case") as judging:
        assert "for another case than 'invoice-1'" in judging(CASE).reasoning


def test_who_leaves_after_each_answer_is_started_again():
    with staying("each_line", "reply_and_leave") as judging:
        said = [judging(CASE) for _ in range(3)]
    assert [score.status for score in said] == [Status.OK] * 3
    assert len({score.details["pid"] for score in said}) == 3


def test_a_judge_that_reads_to_the_end_is_told_what_to_do():
    with staying("answer", timeout=0.3) as judging:
        assert "has to answer each line at once" in judging(CASE).reasoning


def test_who_never_reads_is_late():
    big = CASE._replace(candidate="x" * 2_000_000)
    with staying("sleep", timeout=0.3) as judging:
        assert judging(big).reasoning.startswith("timeout")


def test_who_answers_before_reading_all_is_out_of_step():
    big = CASE._replace(candidate="x" * 2_000_000)
    with staying("hasty") as judging:
        assert "out_of_step: answered before it had read" in judging(big).reasoning


def test_more_than_may_be_sent_is_not_sent():
    with staying("each_line") as judging:
        said = judging(CASE._replace(candidate="x" * (9 << 20)))
        assert said.reasoning.startswith("input_limit")
        assert judging(CASE).status is Status.OK


def test_who_cannot_be_started_is_an_error():
    missing = CodeJudge(script=("no-such-program",), protocol="lines")
    with missing.opened() as judging:
        assert judging(CASE).reasoning.startswith("not_started: no-such-program")


def test_who_ends_when_there_are_no_more_cases_is_not_killed(tmp_path, patient):
    farewell = tmp_path / "farewell"
    with staying("each_line_and", "touch", str(farewell)) as judging:
        judging(CASE)
    assert farewell.exists()


def test_who_does_not_end_is_ended():
    mark = new_mark()
    with staying("each_line_and", "stubborn", "child", mark) as judging:
        assert judging(CASE).status is Status.OK
    assert not living(mark)


def broken_off(mark, said):
    with staying("each_line", "as_the_case_says", mark) as judging:
        thread = threading.Thread(target=lambda: said.append(judging(told("child"))))
        thread.start()
        assert eventually(lambda: asleep(mark))
        raise KeyboardInterrupt


def test_a_run_that_is_broken_off_waits_for_nobody():
    mark, said = new_mark(), []
    with pytest.raises(KeyboardInterrupt):
        broken_off(mark, said)
    assert said[0].reasoning.startswith("interrupted")
    assert not living(mark)


def test_who_asks_when_the_run_is_over_is_told_so():
    with staying("each_line", new_mark(), workers=2) as judging:
        judging(CASE)
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(judging, CASE) for _ in range(3)]
        said = [each.result(PATIENCE) for each in asked]
    assert {score.reasoning.partition(":")[0] for score in said} == {"interrupted"}
