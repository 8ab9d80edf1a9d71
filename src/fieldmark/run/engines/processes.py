"""Portions done by several processes of this machine."""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Final, NamedTuple

from fieldmark.errors import StorageError
from fieldmark.run.collector import patient_collector
from fieldmark.run.engines.crew import Crew, Errand
from fieldmark.run.portion_worker import Job, Numbered, PortionWorker, Shard, Task

__all__ = ["Processes"]

_TOGETHER: Final = 4
"""Segments that one process does before it answers, at most."""
_ENOUGH: Final = 4 << 20
"""Bytes of input that are enough for one task, however few segments they are."""
_AHEAD: Final = 4
"""Tasks for each process that are under way or wait to be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Processes:
    """So many processes on this machine; `files` are open here and of no concern to them."""

    workers: int
    files: tuple[int, ...] = ()

    def run(self, job: Job, portions: Iterable[Numbered]) -> Iterator[Shard]:
        """The shards in the order of their numbers."""
        tasks = _tasks(portions)
        begun: deque[Errand[Task, _Spooled]] = deque()
        with (
            tempfile.TemporaryDirectory(prefix="fieldmark-") as spools,
            Crew(self.workers, partial(_start, job, spools), self.files) as crew,
        ):
            while True:
                wanted = min(crew.wants, self.workers * _AHEAD - len(begun))
                for task in islice(tasks, max(0, wanted)):
                    begun.append(Errand(task))
                    crew.add(begun[-1])
                if not begun:
                    return
                crew.listen(patiently=begun[0].answer is None)
                answer = begun[0].answer
                if answer is not None:
                    begun.popleft()
                    yield answer.shard._replace(rows=answer.rows())


def _tasks(portions: Iterable[Numbered]) -> Iterator[Task]:
    """The portions in groups that are worth an answer."""
    task: list[Numbered] = []
    for numbered in portions:
        task.append(numbered)
        if len(task) == _TOGETHER or sum(portion.size for _, portion in task) >= _ENOUGH:
            yield task
            task = []
    if task:
        yield task


class _Spooled(NamedTuple):
    """A shard whose rows lie in a file: bytes that go through a pipe are copied thrice."""

    shard: Shard
    file: str
    size: int

    def rows(self) -> Iterator[bytes]:
        """The rows, all in one; the file goes when they are read."""
        if not self.size:
            return
        with Path(self.file).open("rb") as spool:
            # What has no name any more never need reach the disk.
            Path(self.file).unlink()
            rows = spool.read(self.size)
        if len(rows) != self.size:
            raise StorageError(f"{self.file} is shorter than what was put into it")
        yield rows


def _start(job: Job, spools: str) -> Callable[[Task], _Spooled]:
    """What one of several processes does: its tasks, with the rows of each in a file."""
    worker = PortionWorker(job)
    names = (str(Path(spools) / f"{os.getpid()}-{number}") for number in count())

    def work(task: Task) -> _Spooled:
        name, sizes = next(names), list[int]()
        with patient_collector():
            shard = worker.work(task, lambda rows: sizes.append(_written(name, rows)))
        return _Spooled(shard, name, sum(sizes))

    return work


def _written(name: str, rows: Iterable[bytes]) -> int:
    """Add rows to a file; how many bytes they are."""
    try:
        with Path(name).open("ab") as spool:
            return spool.write(b"".join(rows))
    except OSError as error:
        raise StorageError(f"cannot write {name}: {error.strerror}") from error
