"""Parquet export of outcomes: one row per field of each case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fieldmark.errors import MissingExtra
from fieldmark.model.json import MISSING
from fieldmark.report.exports.common import (
    EVALUATOR_RESULTS,
    Cell,
    atomic_path,
    field_columns,
    field_rows,
    json_text,
)
from fieldmark.report.shown_run import ShownRun

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

__all__ = ["write_parquet", "write_parquet_shards"]

_ROW_GROUP: Final = 50_000
_SHARD_GROUPS: Final = 20
"""The number of row groups in a file of several."""
_BATCH: Final = 2_000
"""Rows converted to columns at once; small, because documents may be long."""

_JSON: Final = frozenset({"expected", "candidate", EVALUATOR_RESULTS})
_NUMBERS: Final = frozenset({"score", "similarity", "weight"})


def write_parquet(run: ShownRun, out: Path) -> None:
    """Write one row per field; both values are JSON strings, or null if absent.

    The results of evaluators are a JSON string in the first row of each case.
    """
    schema = _schema(run)
    _write(out, schema, _row_groups(run, schema))


def write_parquet_shards(run: ShownRun, directory: Path) -> None:
    """Write the rows of `write_parquet` to several files in a new directory, in order.

    A file has about a million rows.
    """
    schema = _schema(run)
    groups = _row_groups(run, schema)
    directory.mkdir(exist_ok=True)
    for number, first in enumerate(groups):
        shard = chain([first], islice(groups, _SHARD_GROUPS - 1))
        _write(directory / f"{number:05}.parquet", schema, shard)


def _schema(run: ShownRun) -> pa.Schema:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtra("writing Parquet", "tables") from error
    evaluators = bool(run.summary.evaluators)
    types = {
        name: pa.string() for name in field_columns(values=run.has_values, evaluators=evaluators)
    }
    types |= {name: pa.float64() for name in _NUMBERS} | {"required": pa.bool_()}
    # Read as `schema.metadata`; a column would repeat the name in every row.
    metadata = {"convention": run.summary.convention.name}
    return pa.schema(list(types.items()), metadata)


def _row_groups(run: ShownRun, schema: pa.Schema) -> Iterator[pa.Table]:
    import pyarrow as pa

    rows = field_rows(run)
    batches: list[pa.RecordBatch] = []
    while batch := list(islice(rows, _BATCH)):
        columns = [
            pa.array([_cell(each.name, row.get(each.name, MISSING)) for row in batch], each.type)
            for each in schema
        ]
        batches.append(pa.RecordBatch.from_arrays(columns, schema=schema))
        if sum(each.num_rows for each in batches) >= _ROW_GROUP:
            yield pa.Table.from_batches(batches, schema)
            batches = []
    if batches:
        yield pa.Table.from_batches(batches, schema)


def _write(out: Path, schema: pa.Schema, groups: Iterable[pa.Table]) -> None:
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    with (
        atomic_path(out) as path,
        pq.ParquetWriter(str(path), schema, compression="zstd") as writer,
    ):
        for group in groups:
            writer.write_table(group)


def _cell(name: str, value: Cell) -> Cell:
    """Return the value of a cell; text that UTF-8 cannot encode is escaped."""
    if value is MISSING or name in _JSON:
        return None if value is MISSING else json_text(value)
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode()
    return value
