"""Parquet of outcomes: one row for each field of each case, for data frames and query engines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fieldmark.errors import MissingExtra
from fieldmark.model.json import MISSING
from fieldmark.report.exports.common import (
    Cell,
    atomic_path,
    field_columns,
    field_row,
    json_text,
)
from fieldmark.report.shown_run import ShownRun

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

__all__ = ["write_parquet"]

_ROW_GROUP: Final = 50_000
_BATCH: Final = 2_000
"""Rows that are turned into columns at once: documents may be long."""

_JSON: Final = frozenset({"expected", "candidate"})
_NUMBERS: Final = frozenset({"score", "similarity", "weight"})


def write_parquet(run: ShownRun, out: Path) -> None:
    """Every field with its outcome; the two values are JSON text, null where there is none."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra("writing Parquet", "tables") from error
    schema = _schema(values=run.has_values)
    rows = (field_row(case.id, field) for case in run.cases() for field in case.iter_fields())
    with (
        atomic_path(out) as beside,
        pq.ParquetWriter(str(beside), schema, compression="zstd") as writer,
    ):
        held: list[pa.RecordBatch] = []
        for batch in _batches(rows, schema):
            held.append(batch)
            if sum(each.num_rows for each in held) >= _ROW_GROUP:
                writer.write_table(pa.Table.from_batches(held, schema))
                held = []
        if held:
            writer.write_table(pa.Table.from_batches(held, schema))


def _schema(*, values: bool) -> pa.Schema:
    import pyarrow as pa

    def column_type(name: str) -> pa.DataType:
        if name in _NUMBERS:
            return pa.float64()
        return pa.bool_() if name == "required" else pa.string()

    return pa.schema([(name, column_type(name)) for name in field_columns(values=values)])


def _batches(rows: Iterator[dict[str, Cell]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    while batch := list(islice(rows, _BATCH)):
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([_cell(name, row[name]) for row in batch], schema.field(name).type)
                for name in schema.names
            ],
            schema=schema,
        )


def _cell(name: str, value: Cell) -> Cell:
    """A cell of a column; text that UTF-8 cannot hold is escaped."""
    if name in _JSON:
        return None if value is MISSING else json_text(value)
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode()
    return value
