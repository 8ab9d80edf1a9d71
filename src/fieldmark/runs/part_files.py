"""The files of a plan: partitions of a run, and the results that any scheduler's tasks write.

A plan is a directory. `plan.json` describes the run, `partitions/00000.json` the lines of a
partition, `results/00000.jsonl` its rows and `results/00000.json` its exact sums. Everything is
strict JSON, so a result can be read without trusting who wrote it.
"""

from __future__ import annotations

import hashlib
import os
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Final, NamedTuple, TypeVar

from fieldmark.align.exact_methods import Index
from fieldmark.align.sequence import SEQUENCE, SIMILARITY
from fieldmark.data.inputs import Coverage
from fieldmark.data.pairing import ReadStatistics, ToleratedFaults
from fieldmark.data.partitions import LineList, Partition
from fieldmark.errors import ConfigError, DataError, Location, StorageError
from fieldmark.metrics.case_sample import CaseSample, SampledCase
from fieldmark.metrics.confidence import ConfidenceTally
from fieldmark.metrics.identity import canonical_sha256
from fieldmark.metrics.tally import FailedTally, RunSums, TallyState
from fieldmark.model.alignment import Aligner
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import CELL_BITS
from fieldmark.model.outcomes import Attribute, AttributeTable
from fieldmark.model.rule import Rules
from fieldmark.runs.case_processor import GroupTotals, RunTotals
from fieldmark.runs.disk import DISK, PART, write_atomic
from fieldmark.runs.manifest import ManifestInput
from fieldmark.runs.partition_worker import NumberedPartition, PartitionResult, Task
from fieldmark.runs.run_options import RunOptions, slice_keys
from fieldmark.runs.settings import Settings
from fieldmark.values.json_text import pretty_json, read_document, strict_json
from fieldmark.values.records import (
    ARRAY,
    EXACT_ARRAY,
    EXCLUDED,
    INLINE,
    OMIT_DEFAULT,
    from_json,
    to_json,
)
from fieldmark.version import RUN_FORMAT, VERSION

PLAN: Final = "plan.json"
_CHUNK: Final = 8 << 20
_STARTS: Final = re.compile(rb'\s*\{\s*"plan"\s*:\s*"([0-9a-f]{64})"')
_START_BYTES: Final = 256
_Parsed = TypeVar("_Parsed")
_Part = TypeVar("_Part", "_PartitionFile", "_ResultFile")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """A run that is divided into partitions; `options` are the options of a saved run.

    `names` are the inputs as they were given, `seeds` the attributes with small numbers in rows.
    """

    FORMAT: ClassVar[int] = RUN_FORMAT

    path: Annotated[Path, EXCLUDED]
    fieldmark: str = VERSION
    partitions: int
    segment_size: int
    options: JsonObject
    names: tuple[str, ...]
    inputs: tuple[ManifestInput, ...]
    convention: JsonObject
    seeds: tuple[Annotated[Attribute, ARRAY], ...]

    @property
    def id(self) -> str:
        """The hash of everything that determines the results."""
        return canonical_sha256(to_json(self))

    def partition(self, number: int) -> Task:
        """Return the segments of a partition with their numbers."""
        if not 0 <= number < self.partitions:
            last = self.partitions - 1
            raise ConfigError.of(f"partition must be from 0 to {last}, got {number}")
        stored = _parsed(
            _file(self.path, "partitions", number, "json"),
            lambda document: self.own(from_json(_PartitionFile, document)),
        )
        return list(enumerate(stored.segments, stored.first))

    def own(self, file: _Part) -> _Part:
        """Return a part of the plan; one of another plan is a `ValueError`."""
        if file.plan != self.id:
            raise ValueError("belongs to another plan")
        return file


class _PartitionFile(NamedTuple):
    """The segments of a partition; `first` is the number of the first one."""

    plan: str
    first: int
    segments: tuple[Annotated[Partition, ARRAY], ...]


def write_plan(plan: RunPlan, partitions: Sequence[NumberedPartition]) -> None:
    """Write a plan to a new directory; its partitions have about the same size."""
    try:
        DISK.make_directory(plan.path)
        if any(plan.path.iterdir()):
            raise ConfigError.of(f"{plan.path} is not empty", hint="use a new directory")
        for name in ("partitions", "results"):
            DISK.make_directory(plan.path / name)
    except OSError as error:
        raise StorageError(f"cannot use directory {plan.path}: {error.strerror}") from error
    edges = [len(partitions) * number // plan.partitions for number in range(plan.partitions + 1)]
    for number in range(plan.partitions):
        own = partitions[edges[number] : edges[number + 1]]
        # The lines of a candidate in any order are found by their ids.
        segments = [
            segment._replace(candidate=None) if isinstance(segment.candidate, LineList) else segment
            for _, segment in own
        ]
        file = _PartitionFile(plan.id, own[0][0], tuple(segments))
        write_atomic(_file(plan.path, "partitions", number, "json"), strict_json(to_json(file)))
    write_atomic(plan.path / PLAN, pretty_json(to_json(plan)))


def read_plan(path: Path) -> RunPlan:
    """Read a plan that was made with the same version."""

    def parsed(document: JsonObject) -> RunPlan:
        plan = from_json(RunPlan, document, path=path)
        if plan.fieldmark != VERSION:
            raise ValueError(f"was made with fieldmark {plan.fieldmark}, not {VERSION}")
        return plan

    return _parsed(path / PLAN, parsed)


# --- results --------------------------------------------------------------------------------------


class _Rows(NamedTuple):
    """The rows of a result: their size and hash."""

    bytes: int
    sha256: str


class _Sample(NamedTuple):
    """The cases of a run or a slice that intervals are computed from."""

    cases: int
    limit: int
    bits: int
    kept: tuple[Annotated[SampledCase, ARRAY], ...]


class _Sums(NamedTuple):
    """The exact sums of some cases; `cells` are cells with their number."""

    cells: tuple[tuple[int, int], ...]
    sums: Annotated[RunSums, EXACT_ARRAY]


class _Failed(NamedTuple):
    """The failed cases of a run or a slice, with their sums by completion."""

    ids: tuple[str, ...]
    unbounded: int
    completions: Mapping[str, _Sums]


class _Totals(NamedTuple):
    """The exact sums of a run or a slice; `errors` are the cells of failed fields."""

    cells: tuple[tuple[int, int], ...]
    sums: Annotated[RunSums, EXACT_ARRAY]
    sample: _Sample | None
    confidence: tuple[JsonValue, ...] | None
    errors: Annotated[tuple[tuple[int, int], ...], OMIT_DEFAULT] = ()
    failed: Annotated[_Failed | None, OMIT_DEFAULT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _ResultFile:
    """The result of a partition; `lists` has the number of the aligner of each list."""

    plan: str
    rows: _Rows
    number: int
    after: int
    size: int
    coverage: Coverage
    tolerated: tuple[Annotated[ToleratedFaults, EXACT_ARRAY], ...]
    lists: Mapping[str, int]
    attributes: tuple[tuple[int, Annotated[Attribute, ARRAY]], ...]
    table: tuple[Annotated[Attribute, ARRAY], ...]
    totals: Annotated[_Totals, INLINE]
    warnings: tuple[JsonValue, ...]
    ids: tuple[str, ...]
    slices: Annotated[Mapping[str, _Totals] | None, OMIT_DEFAULT] = None


def result_exists(plan: RunPlan, number: int) -> bool:
    """Return whether the result of a partition is complete."""
    # Files are complete when they have their name, so the start of one is enough.
    with suppress(OSError), _file(plan.path, "results", number, "json").open("rb") as file:
        start = _STARTS.match(file.read(_START_BYTES))
        return start is not None and start[1].decode() == plan.id
    return False


def write_result(
    plan: RunPlan,
    number: int,
    work: Callable[[Callable[[list[bytes]], object]], PartitionResult],
    rules: Rules,
) -> None:
    """Write the result of a partition; `work` computes it and writes rows with its argument.

    Rows and sums are renamed when they are complete, so a task can be repeated at any time, and
    several processes can work on the same partition.
    """
    path = _file(plan.path, "results", number, "jsonl")
    temporary = path.with_name(f".{path.name}.{os.getpid()}{PART}")
    digest, size = hashlib.sha256(), 0
    try:
        file = DISK.open_new(temporary)
        try:

            def write(rows: list[bytes]) -> None:
                nonlocal size
                content = b"".join(rows)
                digest.update(content)
                size += len(content)
                DISK.write(file, content)

            result = work(write)
            DISK.sync(file)
        finally:
            DISK.close(file)
        DISK.replace(temporary, path)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            DISK.remove(temporary)
    stored = _stored_result(plan, _Rows(size, digest.hexdigest()), result, rules)
    write_atomic(path.with_suffix(".json"), strict_json(to_json(stored)))


def read_result(
    plan: RunPlan, number: int, settings: Settings, options: RunOptions
) -> PartitionResult:
    """Read the result of a partition; its rows are read when they are consumed."""
    path = _file(plan.path, "results", number, "json")
    rows_path = path.with_suffix(".jsonl")

    def parsed(document: JsonObject) -> PartitionResult:
        stored = plan.own(from_json(_ResultFile, document))
        result = _restored_result(stored, settings, options)
        return result._replace(rows=_read_rows(rows_path, stored.rows))

    return _parsed(path, parsed)


def _read_rows(path: Path, rows: _Rows) -> Iterator[bytes]:
    """Yield the rows in large parts; bytes that were not written are an error."""
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while part := file.read(_CHUNK):
                digest.update(part)
                size += len(part)
                yield part
    except OSError as error:
        raise DataError(f"cannot read file: {error.strerror}", Location(str(path))) from None
    if size != rows.bytes or digest.hexdigest() != rows.sha256:
        raise DataError("the rows do not belong to their sums", Location(str(path)))


def _stored_result(
    plan: RunPlan, rows: _Rows, result: PartitionResult, rules: Rules
) -> _ResultFile:
    totals, aligners = result.totals, _aligners(rules)
    slices = None
    if totals.slices is not None:
        slices = {
            name: _stored_totals(slice_totals)
            for name, slice_totals in totals.slices.slices.items()
        }
    return _ResultFile(
        plan=plan.id,
        rows=rows,
        number=result.number,
        after=result.after,
        size=result.size,
        coverage=result.statistics.coverage,
        tolerated=result.statistics.tolerated,
        lists={path: aligners.index(aligner) for path, aligner in result.lists.items()},
        attributes=tuple(result.attributes),
        table=tuple(totals.tally.table.attributes),
        totals=_stored_totals(totals),
        warnings=tuple(totals.warnings.state()),
        ids=tuple(result.ids),
        slices=slices,
    )


def _stored_totals(totals: GroupTotals) -> _Totals:
    state = totals.tally.__getstate__()
    failed = None
    if state.failed is not None:
        completions = {
            completion.value: _Sums(tuple(tally.cells().items()), tally.sums())
            for completion, tally in state.failed.completions.items()
        }
        failed = _Failed(tuple(state.failed.ids), state.failed.unbounded, completions)
    sample = None
    if totals.sample is not None:
        _, cases, limit, bits, sampled = totals.sample.__getstate__()
        sample = _Sample(cases, limit, bits, tuple(sampled))
    confidence = None if totals.confidence is None else tuple(totals.confidence.state())
    cells, errors = (tuple(counted.items()) for counted in (state.cells, state.failed_cells))
    return _Totals(cells, state.sums, sample, confidence, errors, failed)


def _restore_totals(totals: GroupTotals, stored: _Totals, table: AttributeTable) -> None:
    failed = None
    if stored.failed is not None:
        failed = FailedTally(table)
        failed.ids, failed.unbounded = [*stored.failed.ids], stored.failed.unbounded
        for completion, tally in failed.completions.items():
            own = stored.failed.completions[completion.value]
            cells = _restored_cells(own.cells, table)
            tally.__setstate__(TallyState(table, cells, own.sums, Counter(), None))
    cells, errors = (_restored_cells(own, table) for own in (stored.cells, stored.errors))
    totals.tally.__setstate__(TallyState(table, cells, stored.sums, errors, failed))
    if stored.sample is not None:
        sampled: list[SampledCase] = []
        for case in stored.sample.kept:
            case_cells, times = array("q", case.cells), array("q", case.times)
            _check_cells(case_cells, table)
            sampled.append(case._replace(cells=case_cells, times=times))
        sample = totals.sample = CaseSample(table)
        cases, limit, bits, _ = stored.sample
        sample.__setstate__((table, cases, limit, bits, sampled))
    if stored.confidence is not None:
        totals.confidence = ConfidenceTally.restored(stored.confidence)


def _restored_cells(stored: Iterable[tuple[int, int]], table: AttributeTable) -> Counter[int]:
    cells: Counter[int] = Counter()
    for cell, count in stored:
        cells[cell] += count
    _check_cells(cells, table)
    return cells


def _restored_result(
    stored: _ResultFile, settings: Settings, options: RunOptions
) -> PartitionResult:
    aligners = _aligners(settings.rules)
    table = AttributeTable()
    for attribute in stored.table:
        table.add(attribute)
    totals = RunTotals(
        table,
        values=options["values"],
        sampled=False,
        rule_sets=settings.rule_sets,
        by=slice_keys(options),
        confidences=settings.confidence is not None,
    )
    _restore_totals(totals, stored.totals, table)
    totals.warnings.restore(stored.warnings)
    if totals.slices is not None:
        for name, own in (stored.slices or {}).items():
            _restore_totals(totals.slices.totals(name), own, table)
    return PartitionResult(
        number=stored.number,
        after=stored.after,
        totals=totals,
        statistics=ReadStatistics(stored.coverage, stored.tolerated),
        lists={path: aligners[number] for path, number in stored.lists.items()},
        attributes=list(stored.attributes),
        size=stored.size,
        ids=stored.ids,
    )


def _check_cells(cells: Iterable[int], table: AttributeTable) -> None:
    if not all(0 <= cell >> CELL_BITS < len(table) for cell in cells):
        raise ValueError("unknown attribute")


def _aligners(rules: Rules) -> list[Aligner]:
    """Return all aligners that a plan with these rules may use."""
    own = [rule.aligner for rule in rules.fields if rule.aligner is not None]
    return [rules.aligner or SIMILARITY, SIMILARITY, SEQUENCE, Index(), *own]


def _file(directory: Path, kind: str, number: int, suffix: str) -> Path:
    return directory / kind / f"{number:05}.{suffix}"


def _parsed(path: Path, parse: Callable[[JsonObject], _Parsed]) -> _Parsed:
    """Parse a JSON file; an invalid one is an error that names it."""
    try:
        return parse(read_document(path.read_bytes()))
    except FileNotFoundError:
        raise DataError("file not found", Location(str(path))) from None
    except OSError as error:
        raise DataError(f"cannot read file: {error.strerror}", Location(str(path))) from None
    except (ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
        raise DataError(f"invalid: {error}", Location(str(path))) from None
