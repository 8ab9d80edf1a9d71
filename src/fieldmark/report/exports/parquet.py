"""Parquet export of outcomes: one row per field of each case."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from fieldmark.errors import MissingExtra
from fieldmark.report.exports.common import atomic_path, field_columns, field_rows
from fieldmark.report.frames import arrow_schema, record_batches
from fieldmark.report.shown_run import ShownRun

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

__all__ = ["write_parquet"]

_ROW_GROUP: Final = 50_000


def write_parquet(run: ShownRun, out: Path) -> None:
    """Write one row per field; both values are JSON strings, or null if absent.

    The results of evaluators are a JSON string in the first row of each case.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra("writing Parquet", "tables") from error
    columns = field_columns(values=run.has_values, evaluators=bool(run.summary.evaluators))
    schema = arrow_schema(columns, run.summary)
    with (
        atomic_path(out) as path,
        pq.ParquetWriter(str(path), schema, compression="zstd") as writer,
    ):
        batches: list[pa.RecordBatch] = []
        for batch in record_batches(schema, columns, field_rows(run)):
            batches.append(batch)
            if sum(each.num_rows for each in batches) >= _ROW_GROUP:
                writer.write_table(pa.Table.from_batches(batches, schema))
                batches = []
        if batches:
            writer.write_table(pa.Table.from_batches(batches, schema))
