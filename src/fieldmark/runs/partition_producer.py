"""Division of a run into partitions, which an engine processes in several processes."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from fieldmark.data.partitions import Partitions, partition, single_row_group
from fieldmark.data.partitions import why_indivisible as why_stream_indivisible
from fieldmark.runs.evaluator_runner import has_judges
from fieldmark.runs.partition_worker import (
    NumberedPartition,
    PartitionResult,
    WorkerJob,
    open_worker,
)
from fieldmark.runs.run_options import PROCESSES, most_tasks, slice_keys, wants_intervals

if TYPE_CHECKING:
    from fieldmark.data.file_blocks import SearchMap
    from fieldmark.runs.session import Observer, PreparedRun, Session

LOCAL_FUNCTION: Final = (
    "the rules or evaluators contain a function that cannot be sent to other processes"
)
"""Why a run is not divided although its inputs could be."""
_NOT_JOINED: Final = "the rows of both files are not in the same order and cannot be joined"


def why_indivisible(prepared: PreparedRun, observers: Sequence[Observer], engine: str) -> str:
    """Return why a run cannot be divided by an engine; empty if it can."""
    settings, selection = prepared.settings, prepared.selection
    if prepared.target is not None:
        return "a target produces the predictions"
    if selection is not None and (selection.tags or selection.ids):
        return "cases are selected by tag or id"
    if prepared.own_evaluators or settings.own_rules:
        return "cases have evaluators of their own"
    if not prepared.stream.sides:
        return "the cases come from a saved run"
    if observers:
        return "the result of each case is reported while it runs"
    if settings.safety is not None:
        return "safety is judged"
    if engine == PROCESSES:
        # On a cluster, workers ask this process.
        if not prepared.providers.are_local:
            return "a comparator or an evaluator calls a model"
        if prepared.evaluators and has_judges(prepared.evaluators):
            return "an evaluator calls a program"

    try:
        # Rules may contain functions of the caller.
        pickle.dumps((settings, prepared.evaluators))
    except (pickle.PicklingError, TypeError, AttributeError):
        return LOCAL_FUNCTION
    reason = why_stream_indivisible(prepared.stream)
    # A run on this machine continues in one process, and a note says so.
    return reason if reason or engine == PROCESSES else single_row_group(prepared.stream)


def partition_results(session: Session) -> Generator[PartitionResult, None, bool]:
    """Process the files in several processes; return whether all cases were processed.

    The rows of both files are first assumed to be in the same order. If they are not, the ids are
    read, and processing continues with the next segment.
    """
    prepared, options = session.prepared, session.options
    engine, stream, size = options["engine"], session.stream, session.segment_size
    search_map: SearchMap | None = None
    joined: Callable[[], Partitions] | None = None
    not_joined = ""
    if engine != PROCESSES:
        from fieldmark.runs.ray_engine import join_on_ray, map_on_ray, why_not_joined

        search_map = partial(map_on_ray, workers=most_tasks(options))
        not_joined = why_not_joined(engine, stream)
        if not not_joined:
            joined = partial(join_on_ray, stream, size, workers=most_tasks(options))
    for careful in (False, True):
        partitions: Partitions | None
        if careful and joined is not None:
            partitions = joined()
        else:
            partitions = partition(stream, size, careful=careful, search_map=search_map)
        if partitions is None:
            if engine != PROCESSES:
                session.notes.append(f"compared in one process: {_NOT_JOINED}: {not_joined}")
            return False
        job = WorkerJob(
            opener=partitions.opener,
            settings=session.settings,
            evaluators=prepared.evaluators,
            scorers=() if session.runner is None else session.runner.scorers,
            concurrency=prepared.concurrency,
            values=options["values"],
            keep_rows=session.directory is not None,
            sampled=wants_intervals(options),
            by=slice_keys(options),
        )
        in_step = True
        with closing(_job_results(session, job, partitions)) as results:
            for result in results:
                in_step = careful or result.in_step
                if not in_step:
                    break
                yield result
        if in_step:
            if partitions.reason:
                session.notes.append(f"compared in one process: {partitions.reason}")
            if partitions.whole:
                session.finish_reading()
            return partitions.whole
        session.start_over()
    return False


def _job_results(
    session: Session, job: WorkerJob, partitions: Partitions
) -> Generator[PartitionResult, None, None]:
    """Yield the results in order; this process does the first segment, workers all others."""
    todo: Iterator[NumberedPartition] = islice(enumerate(partitions), session.next_segment, None)
    files: Sequence[int] = ()
    if session.directory is not None:
        numbers, stored = session.encoder.numbers, session.stored
        first = session.directory.whole.next_segment
        restore = None if stored is None else stored.restore
        with open_worker(job, plan=session.plan, numbers=numbers, restore=restore) as local:
            for number, part in todo:
                if number >= first and numbers.seeds is not None:
                    todo = chain([(number, part)], todo)
                    break
                rows: list[bytes] = []
                yield local.work([(number, part)], rows.extend)._replace(rows=rows)
            else:
                return
        job, files = replace(job, seeds=tuple(numbers.seeds)), session.directory.files
    from fieldmark.runs.process_engine import run_partitions  # loads multiprocessing

    if not job.scorers and session.prepared.providers.are_local:
        yield from run_partitions(session.options, job, todo, files=files)
        return
    from fieldmark.runs.ray_engine import open_services

    with open_services(job) as services:  # judges and models stay in this process
        for result in run_partitions(session.options, services.job, todo):
            services.settle(result)
            yield result
