"""Some threads that work side by side, and are not waited for when nobody wants the answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TypeAlias

from fieldmark.run.targets.asking import Produced

__all__ = ["Crew", "crew_of"]

_Task: TypeAlias = tuple[Future[Produced], Callable[[], Produced]]


class Crew:
    """Threads that take tasks in order; they end with the program if one of them hangs."""

    __slots__ = ("_over", "_tasks")

    def __init__(self, size: int) -> None:
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._over = threading.Event()
        for number in range(size):
            threading.Thread(target=self._work, name=f"target-{number}", daemon=True).start()

    def start(self, task: Callable[[], Produced]) -> Future[Produced]:
        """Have a task done as soon as a thread is free."""
        future: Future[Produced] = Future()
        self._tasks.put((future, task))
        return future

    def interrupted(self, seconds: float) -> bool:
        """Wait; if the crew is dismissed meanwhile, say so at once."""
        return self._over.wait(seconds)

    def dismiss(self) -> None:
        """Start no further task."""
        self._over.set()
        self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None and not self._over.is_set():
            future, function = task
            try:
                future.set_result(function())
            except BaseException as error:  # noqa: BLE001 - raised where the answer is wanted
                future.set_exception(error)
        self._tasks.put(None)  # for the next thread to see that all is over


@contextmanager
def crew_of(size: int) -> Iterator[Crew]:
    """A crew for as long as it is needed."""
    crew = Crew(size)
    try:
        yield crew
    finally:
        crew.dismiss()
