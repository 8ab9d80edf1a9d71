"""Parquet export of outcomes: one row per field of each case."""

from __future__ import annotations

from itertools import islice
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

__all__ = ["write_parquet"]

_ROW_GROUP: Final = 50_000
_BATCH: Final = 2_000
"""Rows converted to columns at once; small, because documents may be long."""

_JSON: Final = frozenset({"expected", "candidate", EVALUATOR_RESULTS})
_NUMBERS: Final = frozenset({"score", "similarity", "weight"})


def write_parquet(run: ShownRun, out: Path) -> None:
    """Write one row per field; both values are JSON strings, or null if absent.

    The results of evaluators are a JSON string in the first row of each case.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra("writing Parquet", "tables") from error
    evaluators = bool(run.summary.evaluators)
    types = {
        name: pa.string() for name in field_columns(values=run.has_values, evaluators=evaluators)
    }
    types |= {name: pa.float64() for name in _NUMBERS} | {"required": pa.bool_()}
    # Read as `schema.metadata`; a column would repeat the name in every row.
    metadata = {"convention": run.summary.convention.name}
    schema = pa.schema(list(types.items()), metadata)
    rows = field_rows(run)
    with (
        atomic_path(out) as path,
        pq.ParquetWriter(str(path), schema, compression="zstd") as writer,
    ):
        batches: list[pa.RecordBatch] = []
        while batch := list(islice(rows, _BATCH)):
            columns = [
                pa.array([_cell(name, row.get(name, MISSING)) for row in batch], column_type)
                for name, column_type in types.items()
            ]
            batches.append(pa.RecordBatch.from_arrays(columns, schema=schema))
            if sum(each.num_rows for each in batches) >= _ROW_GROUP:
                writer.write_table(pa.Table.from_batches(batches, schema))
                batches = []
        if batches:
            writer.write_table(pa.Table.from_batches(batches, schema))


def _cell(name: str, value: Cell) -> Cell:
    """Return the value of a cell; text that UTF-8 cannot encode is escaped."""
    if value is MISSING or name in _JSON:
        return None if value is MISSING else json_text(value)
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode()
    return value
