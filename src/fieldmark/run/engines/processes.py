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
from typing import Final, NamedTuple, TypeAlias

from fieldmark.errors import StorageError
from fieldmark.run.collector import patient_collector
from fieldmark.run.engines import Numbered
from fieldmark.run.engines.crew import Crew, Errand
from fieldmark.run.portion_worker import Job, PortionWorker, Shard

__all__ = ["Processes"]

_TOGETHER: Final = 2
"""Segments that one process does before it answers."""
_AHEAD: Final = 4
"""Tasks for each process that are under way or wait to be read."""

_Task: TypeAlias = list[Numbered]


@dataclass(frozen=True, slots=True, kw_only=True)
class Processes:
    """So many processes on this machine; `files` are open here and of no concern to them."""

    workers: int
    files: tuple[int, ...] = ()

    def run(self, job: Job, portions: Iterable[Numbered]) -> Iterator[Shard]:
        """The shards in the order of their numbers."""
        remaining = iter(portions)
        begun: deque[Errand[_Task, _Spooled]] = deque()
        with (
            tempfile.TemporaryDirectory(prefix="fieldmark-") as spools,
            Crew(self.workers, partial(_start, job, spools), self.files) as crew,
        ):
            while True:
                while crew.wants > 0 and len(begun) < self.workers * _AHEAD:
                    task = list(islice(remaining, _TOGETHER))
                    if not task:
                        break
                    begun.append(Errand(task))
                    crew.add(begun[-1])
                if not begun:
                    return
                crew.listen(patiently=begun[0].answer is None)
                answer = begun[0].answer
                if answer is not None:
                    begun.popleft()
                    yield from answer.taken()


class _Spooled(NamedTuple):
    """Shards whose rows lie in a file: bytes that go through a pipe are copied thrice."""

    shards: list[Shard]
    sizes: list[int]
    file: str

    def taken(self) -> Iterator[Shard]:
        """The shards with their rows; the file goes with the last."""
        if not any(self.sizes):
            yield from self.shards
            return
        with Path(self.file).open("rb") as spool:
            # What has no name any more never need reach the disk.
            Path(self.file).unlink()
            for shard, size in zip(self.shards, self.sizes, strict=True):
                rows = spool.read(size)
                if len(rows) != size:
                    raise StorageError(f"{self.file} is shorter than what was put into it")
                yield shard._replace(rows=rows)


def _start(job: Job, spools: str) -> Callable[[_Task], _Spooled]:
    """What one of several processes does: its tasks, with the rows of each in a file."""
    worker = PortionWorker(job)
    names = (str(Path(spools) / f"{os.getpid()}-{number}") for number in count())

    def work(task: _Task) -> _Spooled:
        with patient_collector():
            shards = [worker.work(*numbered) for numbered in task]
        name = next(names)
        _write(name, [shard.rows for shard in shards])
        sizes = [len(shard.rows) for shard in shards]
        return _Spooled([shard._replace(rows=b"") for shard in shards], sizes, name)

    return work


def _write(name: str, parts: Iterable[bytes]) -> None:
    content = b"".join(parts)
    if not content:
        return
    try:
        Path(name).write_bytes(content)
    except OSError as error:
        raise StorageError(f"cannot write {name}: {error.strerror}") from error
