"""Tasks are done by processes that may die, answer with an error, or be stopped half way."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import partial

import pytest

from fieldmark.errors import DataError, FieldmarkError
from fieldmark.run.engines.crew import Crew, Errand, WorkersDiedError


def doubling():
    return lambda number: 2 * number


def dying_once(marker):
    """Dies at its third task, unless somebody has done so before."""

    def work(number):
        if number == 3 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid()

    return work


def dying():
    return lambda _: os._exit(1)


def dying_at_once():
    os._exit(1)


class Unspeakable(Exception):
    def __init__(self):
        super().__init__("held something")
        self.held = lambda: None


def failing(error):
    def work(_):
        raise error

    return work


def failing_unspeakably():
    def work(_):
        raise Unspeakable

    return work


def done(crew, tasks):
    errands = [Errand(task) for task in tasks]
    for errand in errands:
        crew.add(errand)
    while any(errand.answer is None for errand in errands):
        crew.listen(patiently=True)
    return [errand.answer for errand in errands]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_every_task_has_its_own_answer(size):
    with Crew(size, doubling) as crew:
        assert done(crew, range(1, 20)) == [2 * number for number in range(1, 20)]


def test_it_works_beside_other_threads_too():
    stop = threading.Event()
    other = threading.Thread(target=stop.wait)
    other.start()
    try:
        with Crew(2, doubling_elsewhere) as crew:
            assert done(crew, [1, 2, 3]) == [2, 4, 6]
    finally:
        stop.set()
        other.join()


def doubling_elsewhere():
    return double


def double(number):
    return 2 * number


def test_one_that_is_killed_is_replaced_and_its_tasks_are_redone(tmp_path):
    with Crew(2, partial(dying_once, tmp_path / "died")) as crew:
        answers = done(crew, range(10))
    assert (tmp_path / "died").exists()
    assert None not in answers
    assert len(set(answers)) > 1


@pytest.mark.parametrize(
    "start",
    [pytest.param(dying, id="at-every-task"), pytest.param(dying_at_once, id="when-they-start")],
)
def test_processes_that_die_again_and_again_end_the_run(start):
    with Crew(2, start) as crew, pytest.raises(WorkersDiedError, match="--workers 1"):
        done(crew, range(10))


@pytest.mark.parametrize(
    ("start", "error", "said"),
    [
        pytest.param(
            partial(failing, DataError("unreadable")), DataError, "unreadable", id="as-it-is"
        ),
        pytest.param(
            failing_unspeakably,
            FieldmarkError,
            "Unspeakable: held something",
            id="in-words-where-it-cannot-leave-its-process",
        ),
    ],
)
def test_an_error_is_raised_where_the_task_was_given(start, error, said):
    with Crew(2, start) as crew, pytest.raises(error, match=said):
        done(crew, [1])


def test_nobody_is_left_when_it_ends():
    with Crew(3, doubling) as crew:
        done(crew, [1, 2, 3])
        processes = [member.process.pid for member in crew._members]
    for number in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)


def test_it_ends_at_once_in_the_middle_of_a_task():
    errand = Errand(60)
    with Crew(2, sleeping) as crew:
        crew.add(errand)
    assert errand.answer is None


def sleeping():
    return time.sleep
