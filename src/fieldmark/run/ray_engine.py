"""Partitions of a run, processed as tasks of a Ray cluster.

A task is stateless: it reports every attribute that its rows use, and nothing is written before its
result arrives. So Ray may repeat any task, also after the node with its result was lost.
"""

from __future__ import annotations

import logging
import os
import socket
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, cast

from fieldmark.errors import ConfigError, DataError, FieldmarkError
from fieldmark.run.gc_tuning import relaxed_gc
from fieldmark.run.partition_worker import (
    Job,
    NumberedPartition,
    PartitionResult,
    Task,
    group_tasks,
)
from fieldmark.run.process_pool import WorkersDiedError
from fieldmark.version import VERSION

if TYPE_CHECKING:
    from ray import ObjectRef

__all__ = ["run_on_ray"]

_Value = TypeVar("_Value")
_Result: TypeAlias = "tuple[ObjectRef[PartitionResult], ObjectRef[bytes]]"
"""The references of a result and its rows."""

_TASK_SEGMENTS: Final = 64
"""The maximum number of segments in a task."""
_TASK_BYTES: Final = 16 << 20
"""The input size in bytes at which a task is complete: about a second of work."""
_AHEAD: Final = 2
"""How many times as many tasks as may run have no consumed result."""
_MAX_RETRIES: Final = 5
"""How often a task is repeated after its worker or node was lost."""
_MAX_STARTS: Final = 5
"""How often it is tried to start a cluster on this machine."""
_SHARED: Final = "every worker must be able to read the inputs, for example on a shared file system"


def run_on_ray(
    job: Job,
    partitions: Iterable[NumberedPartition],
    *,
    engine: str,
    workers: int | str,
) -> Iterator[PartitionResult]:
    """Yield the results of all partitions, in order.

    At most `workers` tasks run at the same time, by default one for each core of the cluster. Only
    a limited number of tasks is submitted before their results are consumed, so that neither this
    process nor the object store of the cluster collects results.
    """
    import ray

    tasks = group_tasks(partitions, segments=_TASK_SEGMENTS, size=_TASK_BYTES)
    pending: deque[_Result] = deque()
    with _connection(engine, workers):
        work = ray.remote(num_returns=2, max_retries=_MAX_RETRIES)(_work)
        shared = ray.put(job)
        # Tasks that are left when the run ends early are not cancelled: they write nothing, are few
        # and short, and Ray may crash if a task is cancelled while it finishes.
        while True:
            most = _most_running(workers)
            waiting = _unfinished(pending)
            free = min(most - len(waiting), _AHEAD * most - len(pending))
            for task in islice(tasks, max(0, free)):
                pending.append(cast("_Result", work.remote(shared, VERSION, task)))
                waiting.append(pending[-1][0])
            if not pending:
                return
            result, rows = pending[0]
            if result in waiting:
                # Results are consumed in order, but any that is finished makes room.
                ray.wait(waiting, fetch_local=False)
                continue
            found = _fetched(result)
            yield found._replace(rows=_rows(rows) if job.keep_rows else ())
            pending.popleft()


def _work(job: Job, version: str, task: Task) -> tuple[PartitionResult, bytes]:
    """Process a task on a worker; its rows are one bytes object, which Ray does not copy."""
    if version != VERSION:
        message = f"the workers have fieldmark {VERSION}, but the run was started with {version}"
        raise ConfigError.of(message, hint="install the same version on all nodes")
    try:
        job.check_readable()
    except DataError as error:
        message = f"{error.message} on {socket.gethostname()}; {_SHARED}"
        raise DataError(message, error.location) from None
    rows: list[bytes] = []
    with relaxed_gc(), job.open() as worker:
        result = worker.work(task, rows.extend)
    return result, b"".join(rows)


def _rows(rows: ObjectRef[bytes]) -> Iterator[bytes]:
    yield _fetched(rows)


def _fetched(reference: ObjectRef[_Value]) -> _Value:
    """Wait for a value; an error of a task is raised as in this process."""
    import ray
    from ray.exceptions import RayError, RayTaskError

    try:
        return ray.get(reference)
    except RayTaskError as error:
        if isinstance(error.cause, FieldmarkError):
            raise error.cause from None
        raise
    except RayError as error:
        reason = str(error).strip().partition("\n")[0]
        message = f"a task failed {_MAX_RETRIES + 1} times because its worker was lost: {reason}"
        raise WorkersDiedError(message) from error


def _unfinished(pending: Iterable[_Result]) -> list[ObjectRef[PartitionResult]]:
    import ray

    results = [result for result, _ in pending]
    if not results:
        return []
    return ray.wait(results, num_returns=len(results), timeout=0, fetch_local=False)[1]


def _most_running(workers: int | str) -> int:
    """Return how many tasks may run at the same time; clusters may grow and shrink.

    A task for each core waits, so that no core is idle between two tasks and that a cluster grows.
    """
    import ray

    if isinstance(workers, int):
        return workers
    cores = ray.cluster_resources().get("CPU", 1)  # type: ignore[no-untyped-call]
    return 2 * max(1, int(cores))


@contextmanager
def _connection(engine: str, workers: int | str) -> Iterator[None]:
    """Join the cluster of the engine, or start one on this machine; keep an open connection."""
    # Nothing may leave this machine unless it is configured.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    if ray.is_initialized():
        yield
        return
    address = engine if "://" in engine else os.environ.get("RAY_ADDRESS", "")
    local: dict[str, Any] = {}
    if not address:
        local = {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
        local["num_cpus"] = workers if isinstance(workers, int) else None
    # Ray gives a node 30 seconds to start, which is too short on a busy machine.
    for attempt in range(1 if address else _MAX_STARTS, 0, -1):
        try:
            ray.init(address or "local", log_to_driver=False, logging_level=logging.ERROR, **local)
            break
        except Exception as error:
            ray.shutdown()
            if attempt == 1:
                reason = str(error).strip().partition("\n")[0]
                where = f"connect to {address}" if address else "start a cluster on this machine"
                raise ConfigError.of(f"engine ray: cannot {where}: {reason}") from error
    try:
        yield
    finally:
        ray.shutdown()
