"""A run read back: its manifest, its summary, and its rows one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeGuard

from fieldmark.errors import DataError, Location
from fieldmark.model.comparison import Comparison
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import CELL_BITS, Outcome, Reason, fact_of
from fieldmark.model.outcomes import Attribute, AttributeTable, ItemMark, Outcomes
from fieldmark.store.rows import FLAGS
from fieldmark.store.rundir import MANIFEST, RESULTS, SUMMARY
from fieldmark.store.segments import seeded
from fieldmark.values.json_text import read_json

__all__ = ["StoredCase", "StoredRun", "open_run"]

_LONGEST_ROW: Final = 256 << 20
"""Bytes of a row: both documents at their largest, with all that was found out about them."""
_HINT: Final = "name the folder of a run, as `fieldmark score --out` made it"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCase:
    """One row of results: what was found out about a case, and its documents if they were kept.

    `block` refers to the attributes of `table`, which grows as rows are read.
    """

    id: str
    score: float | None
    verdict: str | None
    status: str
    block: Outcomes
    table: AttributeTable
    expected: JsonValue | Missing = MISSING
    candidate: JsonValue | Missing = MISSING
    input: str = "ok"
    note: str = ""
    tags: tuple[str, ...] = ()
    row: JsonObject = field(default_factory=dict, repr=False)

    @property
    def segment(self) -> int | None:
        """The number of the segment that begins with this row, if one does."""
        match self.row.get("segment"):
            case [int(number), int()]:
                return number
            case _:
                return None

    @property
    def evaluator_results(self) -> list[JsonObject]:
        """What each evaluator said, as it was written."""
        found = self.row.get("evaluator_results")
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """The folder of a run. What is read from it is data: nothing in it is trusted to be right."""

    path: Path
    manifest: JsonObject
    summary: JsonObject | None

    @property
    def status(self) -> str:
        """Whether the run was finished: `running`, `complete`, `interrupted` or `failed`."""
        return str(self.manifest.get("status", "unknown"))

    def cases(self) -> Iterator[StoredCase]:
        """Every row in its order; a last line that was cut off is left out."""
        table = AttributeTable()
        for number, row in enumerate(_rows(self.path / RESULTS), 1):
            try:
                table = _described(row, table)
                yield _case(row, table)
            except (KeyError, TypeError, ValueError, IndexError) as error:
                place = Location(str(self.path / RESULTS), number)
                raise DataError(f"not a row of results: {error!r}", place) from error


def open_run(path: Path | str) -> StoredRun:
    """The run in a folder; what is missing or broken is said in one line."""
    folder = Path(path)
    manifest = _document(folder / MANIFEST)
    if manifest is None:
        raise DataError(f"holds no run; {_HINT}", Location(str(folder)))
    return StoredRun(path=folder, manifest=manifest, summary=_document(folder / SUMMARY))


def _document(path: Path) -> JsonObject | None:
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", Location(str(path))) from error
    value = _parsed(content, Location(str(path)))
    if not isinstance(value, dict):
        raise DataError("is not an object", Location(str(path)))
    return value


def _rows(path: Path) -> Iterator[JsonObject]:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", Location(str(path))) from error
    with file:
        number = 0
        while line := file.readline(_LONGEST_ROW):
            number += 1
            if not line.endswith(b"\n"):
                return
            yield _row(line, Location(str(path), number))


def _parsed(content: bytes, place: Location) -> JsonValue:
    try:
        return read_json(content)
    except ValueError as error:
        raise DataError(f"is not JSON: {error}", place) from error


def _row(line: bytes, place: Location) -> JsonObject:
    row = _parsed(line, place)
    if not isinstance(row, dict):
        raise DataError("is not an object", place)
    return row


def _described(row: JsonObject, table: AttributeTable) -> AttributeTable:
    """The table with the attributes that a row describes: from some number on, in place of others.

    The table that rows before this one were read with stays as it is.
    """
    found = row.get("attributes")
    if found is None:
        return table
    match found:
        case [int(start), [*fresh]] if 0 <= start <= len(table):
            return seeded([*table.attributes[:start], *map(_attribute, fresh)])
        case _:
            raise ValueError("attributes are a number and a list")


def _attribute(described: JsonValue) -> Attribute:
    match described:
        case [str(path), str(comparator), float() | int() as weight, bool(required), bool(own)]:
            return Attribute(
                path=path,
                comparator=comparator,
                weight=float(weight),
                required=required,
                configured=own,
            )
        case _:
            raise ValueError("an attribute is a path, a comparator, a weight and two flags")


def _case(row: JsonObject, table: AttributeTable) -> StoredCase:
    score, verdict, tags = row["score"], row.get("verdict"), row.get("tags")
    return StoredCase(
        id=str(row["case_id"]),
        score=float(score) if isinstance(score, int | float) else None,
        verdict=verdict if isinstance(verdict, str) else None,
        status=str(row.get("status", "ok")),
        block=_block(row, len(table)),
        table=table,
        expected=row.get("expected", MISSING),
        candidate=row.get("candidate", MISSING),
        input=str(row.get("input", "ok")),
        note=str(row.get("note", "")),
        tags=tuple(map(str, tags)) if isinstance(tags, list) else (),
        row=row,
    )


def _block(row: JsonObject, known: int) -> Outcomes:
    """The outcomes of a row; every cell must belong to an attribute that was described."""
    cells = row.get("cells", [])
    if not _are_cells(cells) or any(cell >> CELL_BITS >= known for cell in cells):
        raise ValueError("cells are whole numbers of attributes that were described")
    said = row.get("comparisons", [])
    items = row.get("items", [])
    return Outcomes(
        cells=cells,
        comparisons=dict(_comparison(each, cells) for each in said if isinstance(each, list))
        if isinstance(said, list)
        else {},
        items=[_item(each) for each in items] if isinstance(items, list) else [],
        fallback=row.get("fallback") is True,
    )


def _are_cells(cells: object) -> TypeGuard[list[int]]:
    return isinstance(cells, list) and all(type(cell) is int and cell >= 0 for cell in cells)


def _comparison(said: list[JsonValue], cells: list[int]) -> tuple[int, Comparison]:
    """What a comparator said, by position: the cell knows what came of it."""
    match said:
        case [int(position), similarity, float() | int() as score, reason, [*flags], *note]:
            outcome = fact_of(cells[position])[0]
            return position, Comparison(
                matched=outcome is Outcome.MATCH,
                score=float(score),
                similarity=float(similarity) if isinstance(similarity, int | float) else None,
                reason=Reason(reason) if isinstance(reason, str) else None,
                wrong_kind=outcome is Outcome.FORMAT_ERROR,
                failed=outcome is Outcome.ERROR,
                **{flag: flag in flags for flag in FLAGS},
                note=str(note[0]) if note else "",
            )
        case _:
            raise ValueError(
                "a comparison is a position, a similarity, a score, a reason and flags"
            )


def _item(mark: JsonValue) -> ItemMark:
    match mark:
        case [int(start), str(attribute), int() | None as ours, int() | None as theirs, alike]:
            similarity = float(alike) if isinstance(alike, int | float) else None
            return start, attribute, ours, theirs, similarity
        case _:
            raise ValueError("an item is a start, a list, two places and a similarity")
