"""Background jobs: a bounded queue with progress and cancellation."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, TypeAlias

from fieldmark.errors import FieldmarkError, RunStopped
from fieldmark.model.json import JsonObject
from fieldmark.values.records import to_json
from fieldmark.web.api_errors import INTERNAL_ERROR, ApiError, ErrorCode, to_api_error

_LOG: Final = logging.getLogger(__name__)
_MAX_ANALYSES: Final = 16


class JobStatus(StrEnum):
    """The status of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


class JobKind(StrEnum):
    """The work of a job: score a batch, or analyze runs that exist."""

    BATCH = "batch"
    ANALYSIS = "analysis"


_FINISHED: Final = frozenset({JobStatus.DONE, JobStatus.CANCELLED, JobStatus.FAILED})


class JobCancelled(RunStopped):
    """Raised in a job that was cancelled."""


@dataclass(slots=True, kw_only=True)
class JobState:
    """A job with its progress and result. `result.run` is the id of the run that it created."""

    id: str
    title: str
    kind: JobKind = JobKind.BATCH
    state: JobStatus = JobStatus.WAITING
    created_at: str = field(
        default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds")
    )
    cases: int = 0
    bytes_read: int = 0
    bytes_total: int | None = None
    result: JsonObject | None = None
    error: JsonObject | None = None

    def to_dict(self) -> JsonObject:
        """Return the state as JSON."""
        return to_json(self, JobState)


@dataclass(slots=True, kw_only=True)
class BackgroundJob(JobState):
    """A job with its controls; `version` increases with every change.

    `on_drop` is called if the job is cancelled before it has started.
    """

    version: int = 0
    cancelled: threading.Event = field(default_factory=threading.Event)
    on_drop: Callable[[], None] | None = None

    @property
    def is_finished(self) -> bool:
        """Whether the job is done, cancelled or failed."""
        return self.state in _FINISHED

    def report_progress(self, cases: int, bytes_read: int, bytes_total: int | None) -> None:
        """Record progress, or raise `JobCancelled` if the job was cancelled."""
        if self.cancelled.is_set():
            raise JobCancelled
        self.cases, self.bytes_read, self.bytes_total = cases, bytes_read, bytes_total
        self.version += 1

    def set_state(self, state: JobStatus) -> None:
        """Change the status of the job."""
        self.state = state
        self.version += 1


_JobFunction: TypeAlias = Callable[[BackgroundJob], JsonObject]


class JobQueue:
    """Runs one job of each kind at a time; limits the waiting and the listed jobs.

    Analyses do not wait for batches. Their results can be large, so few of them are kept.
    """

    def __init__(
        self, *, max_waiting: int, max_listed: int, redact: Callable[[ApiError], None]
    ) -> None:
        self._max_waiting = max_waiting
        self._max_listed = max_listed
        self._redact = redact
        self._jobs: dict[str, BackgroundJob] = {}
        self._lock = threading.Lock()
        self._pools = {
            kind: ThreadPoolExecutor(1, thread_name_prefix=f"fieldmark-{kind}") for kind in JobKind
        }

    def start(
        self,
        title: str,
        function: _JobFunction,
        on_drop: Callable[[], None] | None = None,
        *,
        kind: JobKind = JobKind.BATCH,
    ) -> BackgroundJob:
        """Queue a job, or raise an error if too many of its kind are waiting."""
        with self._lock:
            own = [job for job in self._jobs.values() if job.kind is kind]
            waiting = sum(job.state is JobStatus.WAITING for job in own)
            if waiting >= self._max_waiting:
                message = f"Too many jobs are waiting (limit {self._max_waiting}). Try again later."
                raise ApiError(ErrorCode.TOO_MANY_JOBS, message, headers={"Retry-After": "5"})
            job = BackgroundJob(id=secrets.token_hex(16), title=title, kind=kind, on_drop=on_drop)
            self._jobs[job.id] = job
            most = self._max_listed if kind is JobKind.BATCH else _MAX_ANALYSES
            finished = [other.id for other in own if other.is_finished]
            for name in finished[: max(0, len(own) + 1 - most)]:
                del self._jobs[name]
        self._pools[kind].submit(self._run, job, function)
        return job

    def find(self, name: str) -> BackgroundJob:
        """Return the job with an id."""
        job = self._jobs.get(name)
        if job is None:
            raise ApiError(ErrorCode.NOT_FOUND, "Job not found.")
        return job

    def all(self) -> list[BackgroundJob]:
        """Return all jobs, newest first."""
        with self._lock:
            return list(reversed(self._jobs.values()))

    def cancel(self, name: str) -> BackgroundJob:
        """Cancel a job; a waiting job ends immediately, a finished one does not change."""
        job = self.find(name)
        job.cancelled.set()
        with self._lock:
            waiting = job.state is JobStatus.WAITING
            if waiting:
                job.set_state(JobStatus.CANCELLED)
        if waiting and job.on_drop is not None:
            job.on_drop()
        return job

    def close(self) -> None:
        """Cancel all jobs and wait for the running ones."""
        for job in self.all():
            job.cancelled.set()
        for pool in self._pools.values():
            pool.shutdown(wait=True, cancel_futures=True)

    def _run(self, job: BackgroundJob, function: _JobFunction) -> None:
        with self._lock:
            if job.is_finished:
                return
            job.set_state(JobStatus.RUNNING)
        try:
            job.result = function(job)
            job.set_state(JobStatus.DONE)
        except JobCancelled:
            job.set_state(JobStatus.CANCELLED)
        except (FieldmarkError, ApiError) as error:
            self._fail(job, to_api_error(error))
        except Exception:  # noqa: BLE001 - the worker thread must survive
            _LOG.exception("job failed")
            self._fail(job, ApiError(ErrorCode.INTERNAL, INTERNAL_ERROR))

    def _fail(self, job: BackgroundJob, error: ApiError) -> None:
        self._redact(error)
        job.error = error.details()
        job.set_state(JobStatus.FAILED)
