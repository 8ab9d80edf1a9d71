"""Parquet export of outcomes: one row per field of each case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from fieldmark.errors import MissingExtra
from fieldmark.report.exports.common import Columns, atomic_path, field_columns, field_rows
from fieldmark.report.frames import arrow_schema, record_batches
from fieldmark.report.shown_run import ShownRun

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]


_ROW_GROUP: Final = 50_000
_SHARD_GROUPS: Final = 20
"""The number of row groups in a file of several."""


@dataclass(frozen=True, slots=True)
class Parquet:
    """One row per field of each case, for data frames."""

    name: ClassVar[str] = "parquet"
    file: ClassVar[str] = "outcomes.parquet"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write one row per field; both values are JSON strings, or null if absent.

        The results of evaluators are a JSON string in the first row of each case.
        """
        schema = _schema(run)
        _write(out, schema, _row_groups(run, schema))


def write_parquet_shards(run: ShownRun, directory: Path) -> None:
    """Write the rows of a Parquet export to several files in a new directory, in order.

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
        return arrow_schema(_columns(run), run.summary)
    except ImportError as error:
        raise MissingExtra("writing Parquet", "tables") from error


def _columns(run: ShownRun) -> Columns:
    return field_columns(
        values=run.has_values,
        evaluators=bool(run.summary.evaluators),
        confidence=run.summary.confidence is not None,
    )


def _row_groups(run: ShownRun, schema: pa.Schema) -> Iterator[pa.Table]:
    import pyarrow as pa

    batches: list[pa.RecordBatch] = []
    for batch in record_batches(schema, _columns(run), field_rows(run)):
        batches.append(batch)
        if sum(collected.num_rows for collected in batches) >= _ROW_GROUP:
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
