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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Final, NamedTuple, TypeVar, cast

from fieldmark.align.greedy import Greedy
from fieldmark.align.index import Index
from fieldmark.data.inputs import Coverage
from fieldmark.data.pairing import ReadStatistics, ToleratedFaults
from fieldmark.data.partitions import BlockRange, LineRange, Partition
from fieldmark.errors import ConfigError, DataError, Location, StorageError
from fieldmark.metrics.case_sample import CaseSample, CaseSums, SampledCase
from fieldmark.metrics.identity import canonical_sha256
from fieldmark.metrics.tally import RunSums
from fieldmark.model.alignment import Aligner
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import CELL_BITS
from fieldmark.model.outcomes import Attribute, AttributeTable
from fieldmark.model.rule import Rules
from fieldmark.run.case_processor import GroupTotals, RunTotals
from fieldmark.run.partition_worker import NumberedPartition, PartitionResult, Task
from fieldmark.run.run_options import RunOptions, slice_keys
from fieldmark.run.settings import Settings
from fieldmark.store.disk import DISK, PART, write_atomic
from fieldmark.values.json_text import pretty_json, strict_json
from fieldmark.version import VERSION
from fieldmark.wire.json_fields import FORMAT, JsonFields, check_format, read_document
from fieldmark.wire.manifest import ManifestInput

__all__ = ["RunPlan", "read_plan", "read_result", "result_exists", "write_plan", "write_result"]

PLAN: Final = "plan.json"
_CHUNK: Final = 8 << 20
_STARTS: Final = re.compile(rb'\s*\{\s*"plan"\s*:\s*"([0-9a-f]{64})"')
_START_BYTES: Final = 256
_EXACT: Final = 1 << 53
"""Larger integers are written as hexadecimal strings, because JSON parsers may round them."""
_Tuple = TypeVar("_Tuple", bound=tuple[object, ...])


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """A run that is divided into partitions; `options` are those of a saved run.

    `names` are the inputs as they were given, `seeds` the attributes with small numbers in rows.
    """

    path: Path
    partitions: int
    segment_size: int
    options: JsonObject
    names: tuple[str, ...]
    inputs: tuple[ManifestInput, ...]
    convention: JsonObject
    seeds: tuple[Attribute, ...]

    @property
    def id(self) -> str:
        """The hash of everything that determines the results."""
        return canonical_sha256(_plan_to_json(self))

    def partition(self, number: int) -> Task:
        """Return the segments of a partition with their numbers."""
        if not 0 <= number < self.partitions:
            last = self.partitions - 1
            raise ConfigError.of(f"partition must be from 0 to {last}, got {number}")
        path = _file(self.path, "partitions", number, "json")
        return _parsed(path, self._task)

    def _task(self, fields: JsonFields) -> Task:
        self._check_own(fields)
        first = fields.integer("first")
        return [
            (first + place, _partition(each)) for place, each in enumerate(fields.array("segments"))
        ]

    def _check_own(self, fields: JsonFields) -> None:
        if fields.text("plan") != self.id:
            raise ValueError("belongs to another plan")


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
        segments: list[JsonValue] = [
            [
                list(each.truth),
                list(each.candidate)
                if isinstance(each.candidate, LineRange | BlockRange)
                else None,
                each.cases,
            ]
            for _, each in own
        ]
        document = {"plan": plan.id, "first": own[0][0], "segments": segments}
        write_atomic(_file(plan.path, "partitions", number, "json"), strict_json(document))
    write_atomic(plan.path / PLAN, pretty_json(_plan_to_json(plan)))


def _plan_to_json(plan: RunPlan) -> JsonObject:
    return {
        "format": FORMAT,
        "fieldmark": VERSION,
        "partitions": plan.partitions,
        "segment_size": plan.segment_size,
        "options": plan.options,
        "names": list(plan.names),
        "inputs": [
            {key: value for key, value in each._asdict().items() if value is not None}
            for each in plan.inputs
        ],
        "convention": plan.convention,
        "seeds": [list(astuple(each)) for each in plan.seeds],
    }


def read_plan(path: Path) -> RunPlan:
    """Read a plan that was made with the same version."""

    def parsed(fields: JsonFields) -> RunPlan:
        check_format(fields.value)
        if fields.text("fieldmark") != VERSION:
            raise ValueError(f"was made with fieldmark {fields.text('fieldmark')}, not {VERSION}")
        return RunPlan(
            path=path,
            partitions=fields.integer("partitions"),
            segment_size=fields.integer("segment_size"),
            options=fields.json_object("options"),
            names=fields.texts("names"),
            inputs=tuple(
                ManifestInput(
                    name=each.text("name"),
                    bytes=each.optional(each.integer, "bytes", None),
                    sha256=each.optional(each.text, "sha256", None),
                    version=each.optional(each.text, "version", None),
                )
                for each in fields.array_of_objects("inputs")
            ),
            convention=fields.json_object("convention"),
            seeds=tuple(map(_attribute, fields.array("seeds"))),
        )

    return _parsed(path / PLAN, parsed)


# --- results --------------------------------------------------------------------------------------


class _Rows(NamedTuple):
    """The rows of a result: their file, size and hash."""

    path: Path
    size: int
    sha256: str


def result_exists(plan: RunPlan, number: int) -> bool:
    """Return whether the result of a partition is complete."""
    # Files are complete when they have their name, so the start of one is enough.
    with suppress(OSError), _file(plan.path, "results", number, "json").open("rb") as file:
        found = _STARTS.match(file.read(_START_BYTES))
        return found is not None and found[1].decode() == plan.id
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
    document: JsonObject = {
        "plan": plan.id,
        "rows": {"bytes": size, "sha256": digest.hexdigest()},
        **_result_to_json(result, rules),
    }
    write_atomic(path.with_suffix(".json"), strict_json(document))


def read_result(
    plan: RunPlan, number: int, settings: Settings, options: RunOptions
) -> PartitionResult:
    """Read the result of a partition; its rows are read when they are consumed."""
    path = _file(plan.path, "results", number, "json")
    rows_path = path.with_suffix(".jsonl")

    def parsed(fields: JsonFields) -> PartitionResult:
        plan._check_own(fields)  # noqa: SLF001 - the same module
        own = fields.object("rows")
        rows = _Rows(rows_path, own.integer("bytes"), own.text("sha256"))
        result = _result_from_json(fields, settings, options)
        return result._replace(rows=_read_rows(rows))

    return _parsed(path, parsed)


def _read_rows(rows: _Rows) -> Iterator[bytes]:
    """Yield the rows in large parts; other bytes than those written are an error."""
    digest, size = hashlib.sha256(), 0
    try:
        with rows.path.open("rb") as file:
            while part := file.read(_CHUNK):
                digest.update(part)
                size += len(part)
                yield part
    except OSError as error:
        raise DataError(f"cannot read file: {error.strerror}", Location(str(rows.path))) from None
    if size != rows.size or digest.hexdigest() != rows.sha256:
        raise DataError("the rows do not belong to their sums", Location(str(rows.path)))


def _result_to_json(result: PartitionResult, rules: Rules) -> JsonObject:
    totals, aligners = result.totals, _aligners(rules)
    statistics = result.statistics
    document: dict[str, object] = {
        "number": result.number,
        "after": result.after,
        "size": result.size,
        "coverage": asdict(statistics.coverage),
        "tolerated": _plain(statistics.tolerated),
        "lists": {path: aligners.index(aligner) for path, aligner in result.lists.items()},
        "attributes": [[number, *astuple(each)] for number, each in result.attributes],
        "table": list(map(astuple, totals.tally.table.attributes)),
        **_totals_to_json(totals),
        "warnings": totals.warnings.state(),
        "ids": list(result.ids),
    }
    if totals.slices is not None:
        slices = totals.slices.slices.items()
        document["slices"] = {name: _totals_to_json(each) for name, each in slices}
    return cast("JsonObject", document)


def _totals_to_json(totals: GroupTotals) -> JsonObject:
    _, cells, sums = totals.tally.__getstate__()
    document: dict[str, object] = {
        "cells": list(cells.items()),
        "sums": _plain(sums),
        "sample": None if totals.sample is None else _sample_to_json(totals.sample),
        "confidence": None if totals.confidence is None else totals.confidence.state(),
    }
    return cast("JsonObject", document)


def _restore_totals(totals: GroupTotals, fields: JsonFields, table: AttributeTable) -> None:
    cells: Counter[int] = Counter()
    for cell, times in (_numbers(each, 2) for each in fields.array("cells")):
        cells[cell] += times
    _check_cells(cells, table)
    totals.tally.__setstate__((table, cells, _rebuilt(RunSums(), fields.value["sums"])))
    if fields.value["sample"] is not None:
        totals.sample = _sample_from_json(fields.object("sample"), table)
    if fields.value["confidence"] is not None:
        from fieldmark.metrics.confidence import ConfidenceTally  # not needed by most runs

        totals.confidence = ConfidenceTally.restored(fields.array("confidence"))


def _result_from_json(
    fields: JsonFields, settings: Settings, options: RunOptions
) -> PartitionResult:
    aligners = _aligners(settings.rules)
    table = AttributeTable()
    for each in fields.array("table"):
        table.add(_attribute(each))
    totals = RunTotals(
        table,
        values=options["values"],
        sampled=False,
        rule_sets=settings.rule_sets,
        by=slice_keys(options),
        confidences=settings.confidence is not None,
    )
    _restore_totals(totals, fields, table)
    totals.warnings.restore(fields.array("warnings"))
    if totals.slices is not None:
        for name, own in fields.objects("slices"):
            _restore_totals(totals.slices.totals(name), own, table)
    coverage = fields.object("coverage")
    return PartitionResult(
        number=fields.integer("number"),
        after=fields.integer("after"),
        totals=totals,
        statistics=ReadStatistics(
            Coverage(**{name: coverage.integer(name) for name in asdict(Coverage())}),
            tuple(_rebuilt(ToleratedFaults(0, 0), each) for each in fields.array("tolerated")),
        ),
        lists={
            path: aligners[_integer(each)] for path, each in fields.json_object("lists").items()
        },
        attributes=[
            (_integer(number), _attribute(each))
            for number, *each in map(_list, fields.array("attributes"))
        ],
        size=fields.integer("size"),
        ids=fields.texts("ids"),
    )


def _sample_to_json(sample: CaseSample) -> JsonObject:
    _, cases, limit, bits, kept = sample.__getstate__()
    rows = [
        [each.draw, each.id, list(each.cells), list(each.times), _plain(each.sums)] for each in kept
    ]
    return cast("JsonObject", {"cases": cases, "limit": limit, "bits": bits, "kept": rows})


def _sample_from_json(fields: JsonFields, table: AttributeTable) -> CaseSample:
    kept: list[SampledCase] = []
    for each in fields.array("kept"):
        match each:
            case [int(draw), str(case_id), [*cells], [*times], sums]:
                counted = array("q", map(_integer, cells)), array("q", map(_integer, times))
                _check_cells(counted[0], table)
                kept.append(SampledCase(draw, case_id, *counted, _rebuilt(CaseSums(), sums)))
            case _:
                raise ValueError("a sampled case must have a draw, an id, cells, times and sums")
    sample = CaseSample(table)
    cases, limit, bits = map(fields.integer, ("cases", "limit", "bits"))
    sample.__setstate__((table, cases, limit, bits, kept))
    return sample


def _check_cells(cells: Iterable[int], table: AttributeTable) -> None:
    if not all(0 <= cell >> CELL_BITS < len(table) for cell in cells):
        raise ValueError("unknown attribute")


def _aligners(rules: Rules) -> list[Aligner]:
    """Return all aligners that a plan with these rules may use."""
    own = [rule.aligner for rule in rules.fields if rule.aligner is not None]
    return [rules.aligner or Greedy(), Index(), *own]


# --- JSON -----------------------------------------------------------------------------------------

_Parsed = TypeVar("_Parsed")


def _file(directory: Path, kind: str, number: int, suffix: str) -> Path:
    return directory / kind / f"{number:05}.{suffix}"


def _parsed(path: Path, parse: Callable[[JsonFields], _Parsed]) -> _Parsed:
    """Parse a JSON file; an invalid one is an error that names it."""
    try:
        return parse(JsonFields(read_document(path.read_bytes())))
    except FileNotFoundError:
        raise DataError("file not found", Location(str(path))) from None
    except OSError as error:
        raise DataError(f"cannot read file: {error.strerror}", Location(str(path))) from None
    except (ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
        raise DataError(f"invalid: {error}", Location(str(path))) from None


def _plain(value: object) -> JsonValue:
    """Return integers, strings and tuples of them as JSON."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return (
        hex(value) if isinstance(value, int) and abs(value) >= _EXACT else cast("JsonValue", value)
    )


def _rebuilt(like: _Tuple, stored: JsonValue) -> _Tuple:
    """Return a named tuple like another one from the output of `_plain`."""
    values = _list(stored, len(like))
    own: list[object] = []
    for value, each in zip(values, like, strict=True):
        if isinstance(each, tuple):
            own.append(_rebuilt(each, value))
        elif isinstance(each, str):
            if not isinstance(value, str):
                raise TypeError("expected a string")
            own.append(value)
        else:
            own.append(int(value, 16) if isinstance(value, str) else _integer(value))
    return cast("Callable[..., _Tuple]", type(like))(*own)


def _partition(stored: JsonValue) -> Partition:
    truth, candidate, cases = _list(stored, 3)
    other = None if candidate is None else _range(candidate)
    return Partition(_range(truth), other, _integer(cases))


def _range(stored: JsonValue) -> LineRange | BlockRange:
    """Return lines by their offsets, or if there are more numbers, by the block they start in."""
    blocks = isinstance(stored, list) and len(stored) == len(BlockRange._fields)
    kind = BlockRange if blocks else LineRange
    return kind(*_numbers(stored, len(kind._fields)))


def _attribute(stored: JsonValue) -> Attribute:
    match stored:
        case [str(path), str(comparator), float() | int() as weight, bool(required), bool(own)]:
            return Attribute(
                path=path,
                comparator=comparator,
                weight=float(weight),
                required=required,
                configured=own,
            )
        case _:
            raise ValueError("an attribute must have a path, a comparator, a weight and two flags")


def _numbers(stored: JsonValue, length: int) -> tuple[int, ...]:
    return tuple(map(_integer, _list(stored, length)))


def _list(stored: JsonValue, length: int | None = None) -> list[JsonValue]:
    if not isinstance(stored, list) or length not in (None, len(stored)):
        raise ValueError(f"expected a list of {length} values" if length else "expected a list")
    return stored


def _integer(stored: JsonValue) -> int:
    if type(stored) is not int:
        raise ValueError("expected an integer")
    return stored
