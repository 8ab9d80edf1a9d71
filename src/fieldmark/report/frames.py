"""The cases, fields and attributes of a run as tables that convert to data frames."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from fieldmark.errors import MissingExtra, with_hint
from fieldmark.metrics.summary import AttributeSummary, Summary
from fieldmark.model.json import JsonObject, Missing
from fieldmark.report.document import Align, Column, Document, Line, Table
from fieldmark.report.exports.common import (
    Cell,
    Columns,
    Scalar,
    case_columns,
    case_row,
    field_columns,
    field_row,
    json_text,
    row_cells,
    scalar,
)
from fieldmark.report.render import RichDocument, document_text
from fieldmark.report.run_document import attribute_table
from fieldmark.report.tables import (
    DASH,
    AttributeRow,
    ColumnType,
    attribute_columns,
    attribute_rows,
    number,
)
from fieldmark.runs.case_result import CaseResult, FieldResult
from fieldmark.values.escape import for_html, html_table
from fieldmark.values.records import to_json
from fieldmark.values.text import did_you_mean, plural

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa  # type: ignore[import-untyped]
    from rich.console import RenderableType


_BATCH: Final = 2_000
"""Rows converted to Arrow columns at once; small, because documents may be long."""
_MAX_IDS: Final = 10_000
"""The number of ids that are searched for a suggestion."""
_SHOWN_ROWS: Final = 10
_SHOWN_LENGTH: Final = 40
"""The rows, and the characters of a cell, that are shown of a table."""

_PANDAS: Final = {
    ColumnType.INTEGER: "int64",
    ColumnType.NUMBER: "float64",
    ColumnType.BOOLEAN: "bool",
}
"""The types of columns in pandas that are not strings."""


class CaseSource(Protocol):
    """Where the cases of a run are read from; every call reads them again."""

    def cases(self) -> Iterator[CaseResult]:
        """Yield all cases in order."""
        ...

    def find(self, case_id: str) -> CaseResult | None:
        """Return the case with this id, if there is one."""
        ...


class _Frame(ABC):
    """A table with typed columns.

    In all data frames, a list of words or tags is text and `expected`, `candidate` and
    `evaluator_results` are JSON text; an absent value is null.
    """

    __slots__ = ("_summary",)

    def __init__(self, summary: Summary) -> None:
        self._summary = summary

    @property
    @abstractmethod
    def columns(self) -> Columns:
        """The columns in order, with their types."""

    @abstractmethod
    def _rows(self) -> Iterator[Mapping[str, Cell]]: ...

    @abstractmethod
    def document(self) -> Document:
        """Return what is shown."""

    def __rich__(self) -> RenderableType:
        return RichDocument(self.document())

    def __repr__(self) -> str:
        return document_text(self.document()).rstrip("\n")

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table; the metadata of its schema name the convention of the run."""
        try:
            import pyarrow as pa
        except ImportError as error:
            raise MissingExtra("to_arrow", "tables") from error
        schema = arrow_schema(self.columns, self._summary)
        batches = record_batches(schema, self.columns, self._rows())
        return pa.Table.from_batches(list(batches), schema)

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas data frame: text is `string`, and an undefined number is NaN."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtra("to_pandas", "tables") from error
        types = self.columns
        cells = _by_column(types, self._rows())
        return pd.DataFrame(
            {
                name: pd.Series(cells[name], dtype=_PANDAS.get(kind, "string"))
                for name, kind in types.items()
            }
        )

    def to_polars(self) -> pl.DataFrame:
        """Return a polars data frame."""
        try:
            import polars as pl
        except ImportError as error:
            raise MissingExtra("to_polars", "tables") from error
        types = {
            ColumnType.INTEGER: pl.Int64(),
            ColumnType.NUMBER: pl.Float64(),
            ColumnType.BOOLEAN: pl.Boolean(),
        }
        schema = {name: types.get(kind, pl.String()) for name, kind in self.columns.items()}
        return pl.DataFrame(_by_column(self.columns, self._rows()), schema)


class _RecordFrame(_Frame):
    """A table of records that are read from the cases of a run."""

    __slots__ = ("_source",)
    _shown: ClassVar[tuple[str, ...]]
    """The columns in the view of a table."""

    def __init__(self, source: CaseSource, summary: Summary) -> None:
        super().__init__(summary)
        self._source = source

    @property
    @abstractmethod
    def _title(self) -> str: ...

    def _view(self) -> tuple[str, list[dict[str, str]], str]:
        """Return a title, the first rows as text, and whether there are more."""
        title = self._title
        if any(not case.has_values for case in islice(self._source.cases(), 1)):
            title += "; values were not saved"
        rows = [
            {name: _shown_text(self.columns[name], row[name]) for name in self._shown}
            for row in islice(self._rows(), _SHOWN_ROWS + 1)
        ]
        return title, rows[:_SHOWN_ROWS], "…" if len(rows) > _SHOWN_ROWS else ""

    def document(self) -> Document:
        """Return the first rows; long texts are cut."""
        title, rows, more = self._view()
        columns = [
            Column(
                name,
                name,
                align=Align.RIGHT
                if self.columns[name] in (ColumnType.INTEGER, ColumnType.NUMBER)
                else Align.LEFT,
                cuts=True,
            )
            for name in self._shown
        ]
        return Document(
            Line(title),
            Table(columns=columns, rows=rows),
            *([Line(more)] if more else ()),
        )

    def _repr_html_(self) -> str:
        title, rows, more = self._view()
        table = html_table(rows) if rows else ""
        return f"<p>{for_html(title)}</p>{table}" + (f"<p>{more}</p>" if more else "")


class CaseFrame(_RecordFrame):
    """The cases of a run: iterable, indexed by id, and a table with one row per case.

    >>> import fieldmark as fm
    >>> truth = [{"id": "a", "total": 1}, {"id": "b", "total": 2}]
    >>> run = fm.score(truth, [{"id": "a", "total": 1}, {"id": "b", "total": 3}])
    >>> [case.id for case in run.cases if case.score < 1], run.cases["b"].misses
    (['b'], ('total',))
    >>> run.cases.to_pandas()["fn"].tolist()
    [0, 1]
    """

    __slots__ = ()
    _shown = ("case_id", "score", "verdict", "status", "tp", "tn", "fp", "fn", "f1")

    @property
    def columns(self) -> Columns:
        """The columns in order, with their types: each evaluator has a column with its score."""
        return case_columns(self._summary.evaluators)

    @property
    def _title(self) -> str:
        return plural(len(self), "case")

    def _rows(self) -> Iterator[Mapping[str, Cell]]:
        return map(case_row, self)

    def __iter__(self) -> Iterator[CaseResult]:
        return self._source.cases()

    def __len__(self) -> int:
        totals = self._summary.cases
        return totals.total - totals.invalid_truth

    def __contains__(self, case_id: object) -> bool:
        return isinstance(case_id, str) and self._source.find(case_id) is not None

    def __getitem__(self, case_id: str) -> CaseResult:
        if not isinstance(case_id, str):
            raise TypeError(f"the id of a case is a string, got {type(case_id).__name__}")
        case = self._source.find(case_id)
        if case is None:
            ids = [case.id for case in islice(self, _MAX_IDS)]
            raise KeyError(with_hint(f"case {case_id!r} not found", did_you_mean(case_id, ids)))
        return case

    def to_dict(self) -> JsonObject:
        """Return all cases as JSON, by id."""
        return {case.id: _present(case_row(case), self.columns) for case in self}


class FieldFrame(_RecordFrame):
    """The fields of all cases of a run: iterable, and a table with one row per field.

    >>> import fieldmark as fm
    >>> run = fm.score([({"total": 1, "date": "2024"}, {"total": 2})])
    >>> [(field.case_id, field.path, field.outcome) for field in run.fields]
    [('1', 'total', 'wrong_value'), ('1', 'date', 'omission')]
    >>> run.fields.to_polars()["expected"].to_list()
    ['1', '"2024"']
    """

    __slots__ = ("_length",)
    _shown = ("case_id", "path", "outcome", "expected", "candidate", "similarity")

    def __init__(self, source: CaseSource, summary: Summary) -> None:
        super().__init__(source, summary)
        self._length: int | None = None

    @property
    def columns(self) -> Columns:
        """The columns in order, with their types."""
        return field_columns(confidence=self._summary.confidence is not None)

    @property
    def _title(self) -> str:
        return f"fields of {CaseFrame(self._source, self._summary)._title}"  # noqa: SLF001

    def _rows(self) -> Iterator[Mapping[str, Cell]]:
        cases = self._source.cases()
        return (field_row(case, field) for case in cases for field in case.iter_fields())

    def __iter__(self) -> Iterator[FieldResult]:
        return (field for case in self._source.cases() for field in case.iter_fields())

    def __len__(self) -> int:
        if self._length is None:
            self._length = sum(len(case.outcomes.cells) for case in self._source.cases())
        return self._length

    def to_dict(self) -> JsonObject:
        """Return all fields as JSON, by the id of their case; absent values are omitted."""
        columns = self.columns
        return {
            case.id: [_present(field_row(case, field), columns) for field in case.iter_fields()]
            for case in self._source.cases()
        }


class AttributeFrame(_Frame, Mapping[str, AttributeSummary]):
    """The metrics per attribute: a mapping by path, and a table with one row per attribute."""

    __slots__ = ()

    @property
    def columns(self) -> Columns:
        """The columns in order, with their types."""
        return attribute_columns(self._summary)

    def _rows(self) -> Iterator[Mapping[str, Cell]]:
        return (row.to_dict() for row in self.rows())

    def __getitem__(self, path: str) -> AttributeSummary:
        return self._summary.attributes[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._summary.attributes)

    def __len__(self) -> int:
        return len(self._summary.attributes)

    def rows(self) -> list[AttributeRow]:
        """Return one flat row per attribute, worst first."""
        return attribute_rows(self._summary)

    def to_dict(self) -> JsonObject:
        """Return all metrics as JSON, by path."""
        return {path: to_json(metrics) for path, metrics in self.items()}

    def document(self) -> Document:
        """Return one line per attribute, worst first."""
        return Document(attribute_table(self._summary))

    def _repr_html_(self) -> str:
        return html_table([row.to_dict() for row in self.rows()])


def arrow_schema(columns: Columns, summary: Summary) -> pa.Schema:
    """Return the Arrow types of columns, with the convention of a run in the metadata."""
    import pyarrow as pa

    types = {
        ColumnType.INTEGER: pa.int64(),
        ColumnType.NUMBER: pa.float64(),
        ColumnType.BOOLEAN: pa.bool_(),
    }
    # Read as `schema.metadata`; a column would repeat the name in every row.
    metadata = {"convention": summary.convention.name}
    return pa.schema(
        [(name, types.get(kind, pa.string())) for name, kind in columns.items()], metadata
    )


def record_batches(
    schema: pa.Schema, columns: Columns, rows: Iterator[Mapping[str, Cell]]
) -> Iterator[pa.RecordBatch]:
    """Yield rows as Arrow batches."""
    import pyarrow as pa

    while batch := list(islice(rows, _BATCH)):
        cells = _by_column(columns, batch)
        arrays = [
            pa.array(cells[name], kind) for name, kind in zip(columns, schema.types, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _by_column(columns: Columns, rows: Iterable[Mapping[str, Cell]]) -> dict[str, list[Scalar]]:
    """Return the cells of every column."""
    kinds = list(columns.values())
    cells: list[list[Scalar]] = [[] for _ in kinds]
    for row in rows:
        for kind, column, cell in zip(kinds, cells, row_cells(row, columns), strict=True):
            column.append(scalar(cell, kind))
    return dict(zip(columns, cells, strict=True))


def _present(row: Mapping[str, Cell], columns: Columns) -> JsonObject:
    """Return a row as JSON, without absent values."""
    cells = ((name, row.get(name)) for name in columns)
    return {name: cell for name, cell in cells if not isinstance(cell, Missing)}


def _shown_text(kind: ColumnType, cell: Cell) -> str:
    if cell is None or isinstance(cell, Missing):
        return DASH
    if kind is ColumnType.NUMBER and isinstance(cell, int | float):
        return number(cell)
    text = json_text(cell) if kind is ColumnType.JSON else str(cell)
    return text if len(text) <= _SHOWN_LENGTH else f"{text[: _SHOWN_LENGTH - 1]}…"
