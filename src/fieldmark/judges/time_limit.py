"""Calls that may never return, waited for no longer than they may take."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Final, TypeVar

__all__ = ["MOST_LEFT_BEHIND", "OverdueError", "TimeLimit"]

MOST_LEFT_BEHIND: Final = 32
"""So many calls may be running beyond their time before no further one is started."""

_Answer = TypeVar("_Answer")


class OverdueError(Exception):
    """A call that took too long; it cannot be stopped and may still be running."""


class TimeLimit:
    """Gives each call its seconds, in a thread of its own that ends with the program."""

    __slots__ = ("_left_behind", "_lock", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._left_behind = 0
        self._lock = threading.Lock()

    def call(self, function: Callable[[], _Answer]) -> _Answer:
        """What the function returns or raises, if it does so in time."""
        if self._left_behind >= MOST_LEFT_BEHIND:
            raise OverdueError(f"not asked: {self._left_behind} calls run beyond their time limit")
        future: Future[_Answer] = Future()
        threading.Thread(target=_settle, args=(future, function), daemon=True).start()
        if not wait([future], self.seconds).done:
            self._count(1)
            future.add_done_callback(lambda _: self._count(-1))
            raise OverdueError(f"no answer within {self.seconds:g} s")
        return future.result()

    def _count(self, step: int) -> None:
        with self._lock:
            self._left_behind += step


def _settle(future: Future[_Answer], function: Callable[[], _Answer]) -> None:
    try:
        future.set_result(function())
    except BaseException as error:  # noqa: BLE001 - also what would end the thread is an answer
        future.set_exception(error)
