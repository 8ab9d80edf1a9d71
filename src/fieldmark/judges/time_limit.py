"""A time limit for calls that cannot be interrupted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Final, TypeVar

MAX_OVERDUE: Final = 32
"""No call is started while this many calls are overdue."""

_Result = TypeVar("_Result")


class OverdueError(Exception):
    """A call exceeded its time limit; it cannot be stopped and may still be running."""


class TimeLimit:
    """Runs each call in a daemon thread and waits at most `seconds` for it."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._overdue = 0
        self._lock = threading.Lock()

    def call(self, function: Callable[[], _Result]) -> _Result:
        """Call a function; raise OverdueError if it does not finish in time."""
        if self._overdue >= MAX_OVERDUE:
            raise OverdueError(f"not called: {self._overdue} overdue calls are still running")
        future: Future[_Result] = Future()

        def run() -> None:
            try:
                future.set_result(function())
            except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
                future.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        if not wait([future], self.seconds).done:
            self._count_overdue(1)
            future.add_done_callback(lambda _: self._count_overdue(-1))
            raise OverdueError(f"no response within {self.seconds:g} s")
        return future.result()

    def _count_overdue(self, step: int) -> None:
        with self._lock:
            self._overdue += step
