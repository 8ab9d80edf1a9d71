"""Parquet of outcomes: one row a field of a case, for data frames and query engines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fieldmark.errors import MissingExtra
from fieldmark.model.json import JsonValue, Missing
from fieldmark.report.exports.hiding import shown_with
from fieldmark.report.exports.outcomes import VALUES, OutcomeRow, outcome_rows
from fieldmark.report.exports.text import json_text, well_formed
from fieldmark.report.exports.whole import whole_file
from fieldmark.report.html.shown import ShownRun

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

__all__ = ["write_parquet"]

_ROW_GROUP: Final = 50_000
_PIECE: Final = 2_000
"""Rows that are turned into columns at once: documents may be long."""

_JSON: Final = frozenset({"expected", "candidate"})
_NUMBERS: Final = frozenset({"score", "similarity", "weight"})


def write_parquet(run: ShownRun, out: Path, *, values: bool = True) -> None:
    """Every field with its outcome; the two values are JSON text, null where there is none."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra("writing Parquet", "tables") from error
    shown = shown_with(run, values=values)
    schema = _schema(values=values)
    rows = chain.from_iterable(map(outcome_rows, shown.cases()))
    with (
        whole_file(out) as beside,
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


def _batches(rows: Iterator[OutcomeRow], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    while piece := list(islice(rows, _PIECE)):
        columns = dict(zip(OutcomeRow._fields, zip(*piece, strict=True), strict=True))
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(_column(name, columns[name]), schema.field(name).type)
                for name in schema.names
            ],
            schema=schema,
        )


def _column(name: str, values: tuple[JsonValue | Missing, ...]) -> list[JsonValue | Missing]:
    if name in _JSON:
        return [json_text(value) for value in values]
    return [well_formed(value) if isinstance(value, str) else value for value in values]


def _schema(*, values: bool) -> pa.Schema:
    import pyarrow as pa

    def kind(name: str) -> pa.DataType:
        if name in _NUMBERS:
            return pa.float64()
        return pa.bool_() if name == "required" else pa.string()

    names = [name for name in OutcomeRow._fields if values or name not in VALUES]
    return pa.schema([(name, kind(name)) for name in names])
