"""Runs that any scheduler can divide: plan once, work on each partition, merge once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from fieldmark.analyses.run_result import RunResult, run_result
from fieldmark.analyses.score import prepare_score, score_sources
from fieldmark.data.partitions import Partition, PartitionOpener, partition, why_indivisible
from fieldmark.errors import ConfigError, DataError, Location
from fieldmark.model.outcomes import Attribute
from fieldmark.plan import compile_plan
from fieldmark.runs.attribute_table import RowNumbers
from fieldmark.runs.gc_tuning import relaxed_gc
from fieldmark.runs.manifest import hash_inputs
from fieldmark.runs.part_files import (
    RunPlan,
    read_plan,
    read_result,
    result_exists,
    write_plan,
    write_result,
)
from fieldmark.runs.partition_worker import PartitionResult, WorkerJob, open_worker
from fieldmark.runs.run_options import (
    JSONL,
    RunOptions,
    complete_options,
    restored_options,
    slice_keys,
    stored_options,
)
from fieldmark.runs.session import PreparedRun, Progress
from fieldmark.values.records import to_json

_NAMED: Final = 5
"""The maximum number of missing partitions that are named."""
_IRREGULAR: Final = "lines must be read one by one, because of blank or irregular lines"
_BY_ID: Final = "plan with --by-id, or score the files with one process"


def plan_run(options: RunOptions, path: Path, partitions: int, *, by_id: bool = False) -> RunPlan:
    """Divide a run into partitions and write them to a directory.

    Rows are assumed to be in the same order, which is checked by each partition. With `by_id`, the
    ids are read: predictions must be in the order of the ground truth, but some may be missing.
    """
    stored = stored_options(options, "score")
    if stored is None:
        message = "the inputs must be files, or URLs without credentials and queries"
        raise ConfigError.of(f"the run cannot be planned: {message}")
    prepared = prepare_score(options)
    stream, settings = prepared.stream, prepared.settings
    try:
        reason = why_indivisible(stream)
        if not (reason or prepared.providers.are_local):
            reason = "a comparator calls a model"
        if settings.safety is not None:
            reason = "safety is judged"
        divided = None if reason else partition(stream, prepared.segment_size, careful=by_id)
        parts = [] if divided is None else list(enumerate(divided))
        if divided is None or not divided.whole:
            reason = reason or ("" if divided is None else divided.reason) or _IRREGULAR
            raise ConfigError.of(f"the run cannot be planned: {reason}")
        if partitions > len(parts):
            message = f"partitions must be at most {len(parts)}, got {partitions}"
            raise ConfigError.of(message, hint="a partition has at least one segment")
        names = [side.source.name for side in stream.sides]
        seeds = _first_seeds(prepared, divided.opener, parts[0][1])
    finally:
        stream.close()
    plan = RunPlan(
        path=path,
        partitions=partitions,
        segment_size=prepared.segment_size,
        options={**stored, "by_id": by_id},
        names=tuple(names),
        inputs=tuple(hash_inputs(score_sources(options))),
        convention=to_json(settings.applied),
        seeds=seeds,
    )
    write_plan(plan, parts)
    return plan


def work_on(path: Path, number: int) -> bool:
    """Process a partition of a plan; return false if its result already exists."""
    plan = read_plan(path)
    task = plan.partition(number)
    if result_exists(plan, number):
        return False
    options = complete_options(**restored_options(plan.options))
    prepared = _prepare(plan, options)
    stream, settings = prepared.stream, prepared.settings
    partitions = partition(stream, plan.segment_size)
    stream.close()
    if partitions is None:
        raise ConfigError.of(f"the run cannot be divided: {why_indivisible(stream)}")
    partitions.opener.check_readable()
    job = WorkerJob(
        opener=partitions.opener,
        settings=settings,
        seeds=plan.seeds,
        values=options["values"],
        sampled=True,
        by=slice_keys(options),
    )
    with relaxed_gc(), open_worker(job) as worker:

        def work(write: Callable[[list[bytes]], object]) -> PartitionResult:
            result = worker.work(task, write)
            if not (plan.options.get("by_id") or result.in_step):
                message = "the predictions are not in the order of the ground truth"
                raise DataError(f"{message}; {_BY_ID}", Location(plan.names[-1]))
            return result

        write_result(plan, number, work, settings.rules)
    return True


def merge_plan(
    path: Path, out: str | Path, *, results: str = JSONL, progress: Progress | None = None
) -> RunResult:
    """Merge the results of all partitions into one run, the same as without a plan."""
    plan = read_plan(path)
    missing = [number for number in range(plan.partitions) if not result_exists(plan, number)]
    if missing:
        more = ", …" if len(missing) > _NAMED else ""
        named = ", ".join(map(str, missing[:_NAMED]))
        message = f"{len(missing)} of {plan.partitions} partitions have no result: {named}{more}"
        raise ConfigError.of(
            f"{path}: {message}", hint="run `fieldmark parts work` for each of them"
        )
    changed: RunOptions = {
        **restored_options(plan.options),
        "out": out,
        "intervals": True,
        "results": results,
    }
    options = complete_options(**changed)
    prepared = _prepare(plan, options)
    parts = _results(plan, prepared, options)
    return run_result(replace(prepared, parts=parts), options, progress=progress)


def _results(
    plan: RunPlan, prepared: PreparedRun, options: RunOptions
) -> Iterator[PartitionResult]:
    after = 0
    for number in range(plan.partitions):
        result = read_result(plan, number, prepared.settings, options)
        if result.number != after:
            message = f"partition {number} starts at segment {result.number}, expected {after}"
            raise DataError(message, Location(str(plan.path)))
        after = result.after
        if number == 0:
            result = result._replace(attributes=[*enumerate(plan.seeds), *result.attributes])
        yield result


def _prepare(plan: RunPlan, options: RunOptions) -> PreparedRun:
    """Prepare the run of a plan; other rules, other inputs and another version are errors."""
    prepared = prepare_score(options, inputs=plan.inputs)
    sizes = [side.source.bytes_total for side in prepared.stream.sides]
    if to_json(prepared.settings.applied) != plan.convention:
        prepared.stream.close()
        raise ConfigError.of(f"{plan.path}: the rules have changed since the run was planned")
    if sizes != [planned.bytes for planned in plan.inputs] or any(
        planned.version != (side.source.version or None)
        for planned, side in zip(plan.inputs, prepared.stream.sides, strict=True)
    ):
        prepared.stream.close()
        raise ConfigError.of(f"{plan.path}: the inputs have changed since the run was planned")
    prepared.stream.rename(plan.names)
    return prepared


def _first_seeds(
    prepared: PreparedRun, opener: PartitionOpener, first: Partition
) -> tuple[Attribute, ...]:
    """Return the attributes of the first segment, which have small numbers in all rows."""
    rules = compile_plan(prepared.settings.rules)
    numbers = RowNumbers(rules.table)
    job = WorkerJob(opener=opener, settings=prepared.settings)
    with open_worker(job, plan=rules, numbers=numbers) as worker:
        worker.work([(0, first)], lambda _: None)
    return tuple(numbers.seeds or ())
