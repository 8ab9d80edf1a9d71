"""Programs that stay: each is asked one line at a time, and replaced when it dies."""

from __future__ import annotations

import queue
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from fieldmark.errors import DataError
from fieldmark.judges.contained import Contained
from fieldmark.judges.leash import Leash, Stopped
from fieldmark.judges.limits import ProcessLimits
from fieldmark.judges.process import Failure, Finished, failed, not_started
from fieldmark.judges.secrecy import Secrets
from fieldmark.judges.streams import Pumped, Streams

__all__ = ["Crew", "Post"]

_SHOWN: Final = 200
_ONE_LINE: Final = "standard output is for one line a case, remarks go to standard error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """What the workers of a crew are: a program, its folder, its environment, its limits."""

    argv: Sequence[str]
    cwd: Path | None
    env: Mapping[str, str]
    limits: ProcessLimits


class _Worker:
    """One living program."""

    __slots__ = ("_leash", "_post", "_program", "_secrets", "_streams")

    def __init__(self, post: Post, leash: Leash) -> None:
        self._post = post
        self._leash = leash
        self._secrets = Secrets.of(post.env)
        self._program = Contained(
            post.argv, cwd=post.cwd, env=post.env, limits=post.limits, mark=leash.new_mark()
        )
        try:
            self._streams = Streams(self._program, post.limits)
        except BaseException:
            self._program.close()
            raise

    @property
    def gone(self) -> bool:
        """Whether it has ended, or no longer listens or speaks."""
        return self._program.exited() or not (self._streams.listening and self._streams.heard)

    def unasked(self) -> Finished | None:
        """What is wrong with it if it is out of step with the cases."""
        self._streams.drain()
        if self._streams.output:
            spoken = bytes(self._streams.output[:_SHOWN]).decode("utf-8", "replace").split()
            told = f"wrote without being asked: {' '.join(spoken)}; {_ONE_LINE}"
            return self._failed(Failure.OUT_OF_STEP, told)
        if self._streams.sending:
            return self._failed(Failure.OUT_OF_STEP, "answered before it had read the whole line")
        return None

    def ask(self, request: bytes) -> Finished:
        """Its reply to one line, or why there is none."""
        self._streams.send(request + b"\n", last=False)
        deadline = time.monotonic() + self._post.limits.seconds
        pumped = self._streams.until_line(deadline, self._leash)
        if pumped is Pumped.DONE:
            line = self._streams.take_line()
            return self.unasked() or Finished(stdout=line, stderr=self._remarks())
        if pumped is Pumped.ENDED:
            self._program.end()
            self._streams.drain()
        failure, told = self._reasons()[pumped]
        return self._failed(failure, told)

    def _reasons(self) -> Mapping[Pumped, tuple[Failure, str]]:
        limits, program = self._post.limits, self._program
        how = program.signal or f"exit code {program.code}"
        late = f"no line after {limits.seconds:g} s; a judge has to answer each line at once"
        return {
            Pumped.ENDED: (Failure.DIED, f"ended ({how}) before it answered"),
            Pumped.LATE: (Failure.TIMEOUT, late),
            Pumped.FLOODED: (Failure.OUTPUT_LIMIT, limits.flood),
            Pumped.STOPPED: (Failure.INTERRUPTED, "the run was interrupted"),
        }

    def _failed(self, failure: Failure, told: str) -> Finished:
        return failed(failure, self._secrets.hidden(told), self._remarks())

    def _remarks(self) -> str:
        return self._secrets.hidden(self._streams.tail) if self._streams.remarked else ""

    def dismiss(self) -> None:
        """Tell it that there are no more cases."""
        self._streams.send(b"", last=True)

    def close(self, *, politely: bool = False) -> Finished | None:
        """End it, politely after it had time to end by itself; what it said that nobody asked."""
        try:
            if politely:
                self._program.wait(self._post.limits.patience)
            self._program.end()
            return self.unasked()
        finally:
            self._program.close()
            self._streams.close()


class Crew:
    """As many workers as there may be, started when they are needed; safe to ask from threads.

    A worker that fails is replaced. A case in which one dies is tried once more, by a fresh one.
    Once a worker was out of step, nobody can tell which line answers which case: from then on
    there are no more answers, and if that shows only at the end, leaving is an error.
    """

    __slots__ = ("_leash", "_out_of_step", "_post", "_seats")

    def __init__(self, post: Post, size: int, leash: Leash) -> None:
        self._post = post
        self._leash = leash
        self._out_of_step: Finished | None = None
        self._seats: queue.LifoQueue[_Worker | None] = queue.LifoQueue(size)
        for _ in range(size):
            self._seats.put(None)

    def ask(self, request: bytes) -> Finished:
        """The line that answers one request, or why there is none."""
        limit = self._post.limits.input_bytes
        if len(request) > limit:
            told = f"the request has {len(request):,} bytes, at most {limit:,} are sent"
            return failed(Failure.INPUT_LIMIT, told)
        worker = self._seats.get()
        try:
            with self._leash.holding():
                worker, finished = self._attempt(worker, request)
        except Stopped:
            return failed(Failure.INTERRUPTED, "the run was interrupted")
        except (OSError, ValueError) as error:
            worker = None
            return not_started(self._post.argv[0], error)
        finally:
            self._seats.put(worker)
        return finished

    def _attempt(self, worker: _Worker | None, request: bytes) -> tuple[_Worker | None, Finished]:
        worker, finished = self._answer(worker, request)
        if finished.failure is not Failure.DIED:
            return worker, finished
        worker, again = self._answer(None, request)
        if again.failure is not Failure.DIED:
            return worker, again
        return None, replace(again, reason=f"{again.reason} (the second time)")

    def _answer(self, worker: _Worker | None, request: bytes) -> tuple[_Worker | None, Finished]:
        if self._out_of_step is not None:
            return worker, self._out_of_step
        worker = self._present(worker)
        finished = worker.unasked() or worker.ask(request)
        if finished.failure is None:
            return worker, finished
        if finished.failure is Failure.OUT_OF_STEP:
            self._out_of_step = finished
        worker.close()
        return None, finished

    def _present(self, worker: _Worker | None) -> _Worker:
        if worker is not None and worker.gone:
            worker.close()
            worker = None
        return _Worker(self._post, self._leash) if worker is None else worker

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leash.stop()
        present = [self._seats.get() for _ in range(self._seats.maxsize)]
        for _ in present:
            # Whoever still asks gets a seat, and is told that the run is over.
            self._seats.put(None)
        workers = [worker for worker in present if worker is not None]
        for worker in workers:
            worker.dismiss()
        surplus = [worker.close(politely=kind is None) for worker in workers]
        told = next((finished.reason for finished in surplus if finished is not None), None)
        if kind is None and told is not None and self._out_of_step is None:
            raise DataError(f"the scores of {self._post.argv[0]} cannot be trusted: {told}")
