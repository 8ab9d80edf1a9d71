"""The engines of a run: what processes its partitions, in worker processes or on a cluster.

Each engine yields the same results in the same order, so the files of a run do not depend on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fieldmark.run.partition_worker import Job, NumberedPartition, PartitionResult
from fieldmark.run.run_options import PROCESSES, RunOptions, most_tasks, worker_count

__all__ = ["run_partitions"]


def run_partitions(
    options: RunOptions,
    job: Job,
    partitions: Iterable[NumberedPartition],
    *,
    files: Sequence[int] = (),
) -> Iterator[PartitionResult]:
    """Yield the results of all partitions in order, computed by the engine of the options.

    `files` are file descriptors that forked processes must close.
    """
    if options["engine"] == PROCESSES:
        from fieldmark.run.process_pool import run_in_processes

        return run_in_processes(job, partitions, workers=worker_count(options), files=files)
    from fieldmark.run.ray_engine import run_on_ray

    return run_on_ray(job, partitions, engine=options["engine"], workers=most_tasks(options))
