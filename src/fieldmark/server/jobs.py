"""Work that takes longer than a request: a bounded queue, progress, and a way to stop."""

from __future__ import annotations

import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, TypeAlias

from fieldmark.errors import FieldmarkError
from fieldmark.model.json import JsonObject
from fieldmark.server.api_errors import ApiError, ErrorCode, error_body, to_api_error

__all__ = ["BackgroundJob", "JobCancelled", "JobFunction", "JobQueue", "JobStatus"]


class JobStatus(StrEnum):
    """How far a job has come."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


_LOG: Final = logging.getLogger(__name__)
_OVER: Final = frozenset({JobStatus.DONE, JobStatus.CANCELLED, JobStatus.FAILED})


class JobCancelled(Exception):
    """Raised inside the work of a job that is to stop."""


@dataclass(slots=True, kw_only=True)
class BackgroundJob:
    """One piece of work. `version` grows with every change, so that a watcher sees each.

    `drop` gives back what the work holds if it is cancelled before it began.
    """

    id: str
    title: str
    state: JobStatus = JobStatus.WAITING
    cases: int = 0
    bytes_read: int = 0
    bytes_total: int | None = None
    result: JsonObject | None = None
    error: JsonObject | None = None
    made: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))
    version: int = 0
    stop: threading.Event = field(default_factory=threading.Event)
    drop: Callable[[], None] | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state in _OVER

    def tell(self, cases: int, bytes_read: int, bytes_total: int | None) -> None:
        """Note how far the work is; where it is to stop, this is where."""
        if self.stop.is_set():
            raise JobCancelled
        self.cases, self.bytes_read, self.bytes_total = cases, bytes_read, bytes_total
        self.version += 1

    def to_dict(self) -> JsonObject:
        """The job as JSON."""
        return {
            "id": self.id,
            "title": self.title,
            "state": self.state.value,
            "made": self.made,
            "cases": self.cases,
            "bytes_read": self.bytes_read,
            "bytes_total": self.bytes_total,
            "result": self.result,
            "error": self.error,
        }


JobFunction: TypeAlias = Callable[[BackgroundJob], JsonObject]


class JobQueue:
    """Runs jobs one after the other; beyond a number that wait, more are refused."""

    def __init__(
        self, *, waiting: int, kept: int, shown: Callable[[str], str], workers: int = 1
    ) -> None:
        self._most_waiting = waiting
        self._kept = kept
        self._shown = shown
        self._jobs: OrderedDict[str, BackgroundJob] = OrderedDict()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="fieldmark-job")

    def start(
        self, title: str, work: JobFunction, drop: Callable[[], None] | None = None
    ) -> BackgroundJob:
        """Take work on, or refuse it if too much waits already."""
        with self._lock:
            waiting = sum(job.state is JobStatus.WAITING for job in self._jobs.values())
            if waiting >= self._most_waiting:
                message = f"{waiting} jobs are waiting already; try again when some are done."
                raise ApiError(ErrorCode.TOO_MANY_JOBS, message, headers={"Retry-After": "5"})
            job = BackgroundJob(id=secrets.token_hex(16), title=title, drop=drop)
            self._jobs[job.id] = job
            self._forget_old()
        self._pool.submit(self._do, job, work)
        return job

    def find(self, name: str) -> BackgroundJob:
        """The job of an id."""
        job = self._jobs.get(name)
        if job is None:
            raise ApiError(ErrorCode.NOT_FOUND, "There is no such job.")
        return job

    def all(self) -> list[BackgroundJob]:
        """Every job that is remembered, the newest first."""
        with self._lock:
            return list(reversed(self._jobs.values()))

    def cancel(self, name: str) -> BackgroundJob:
        """Stop a job; one that waits is over at once, one that is over stays as it is."""
        job = self.find(name)
        job.stop.set()
        with self._lock:
            begun = job.state is not JobStatus.WAITING
            if not begun:
                self._end(job, JobStatus.CANCELLED)
        if not begun and job.drop is not None:
            job.drop()
        return job

    def close(self) -> None:
        """Stop everything."""
        for job in self.all():
            job.stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _do(self, job: BackgroundJob, work: JobFunction) -> None:
        with self._lock:
            if job.is_over:
                return
            job.state = JobStatus.RUNNING
            job.version += 1
        try:
            job.result = work(job)
            self._end(job, JobStatus.DONE)
        except JobCancelled:
            self._end(job, JobStatus.CANCELLED)
        except FieldmarkError as error:
            self._fail(job, to_api_error(error))
        except ApiError as api_error:
            self._fail(job, api_error)
        except Exception:  # noqa: BLE001
            # The worker must live on, and whoever waits must hear of it.
            _LOG.exception("a job failed")
            self._fail(job, ApiError(ErrorCode.INTERNAL, "Something went wrong in the server."))

    def _fail(self, job: BackgroundJob, api_error: ApiError) -> None:
        api_error.message = self._shown(api_error.message)
        error = error_body(api_error)["error"]
        job.error = error if isinstance(error, dict) else None
        self._end(job, JobStatus.FAILED)

    def _end(self, job: BackgroundJob, state: JobStatus) -> None:
        job.state = state
        job.version += 1

    def _forget_old(self) -> None:
        over = [name for name, job in self._jobs.items() if job.is_over]
        for name in over[: max(0, len(self._jobs) - self._kept)]:
            del self._jobs[name]
