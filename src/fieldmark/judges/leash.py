"""Holds the programs of one run, and ends them all when the run ends or is interrupted."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from fieldmark.judges.escapees import kill_marked

__all__ = ["Leash", "Stopped"]


class Stopped(Exception):
    """Nothing more may be started: the run is over."""


class Leash:
    """A mark that every program of a run carries, and the word to stop.

    Leaving the context stops whatever is still at work in other threads, waits until it is gone,
    and then looks once more for anything that carries the mark.
    """

    __slots__ = ("_change", "_held", "_mark", "_started", "_stop")

    def __init__(self) -> None:
        self._mark = secrets.token_hex(12)
        self._started = 0
        self._held = 0
        self._stop = False
        self._change = threading.Condition()

    @property
    def stopped(self) -> bool:
        """Whether everything has to end now."""
        return self._stop

    def stop(self) -> None:
        """Let nothing more begin, and let what is at work end soon."""
        with self._change:
            self._stop = True

    def new_mark(self) -> str:
        """The mark of one more program."""
        with self._change:
            self._started += 1
            return f"{self._mark}.{self._started}."

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Work that has to be over before the run is; refused when the run has been stopped."""
        with self._change:
            if self._stop:
                raise Stopped
            self._held += 1
        try:
            yield
        finally:
            with self._change:
                self._held -= 1
                self._change.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        try:
            with self._change:
                self._change.wait_for(lambda: not self._held)
        finally:
            if self._started:
                kill_marked(self._mark)
