"""An index of the cases of a run: the data for lists, and the offset of each row of results.

Each row is read once for its head, without its documents, and many rows have the same record. A
case is then opened by seeking to its row.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, cast

from fieldmark.errors import DataError, Location
from fieldmark.metrics.taxonomy import ERROR_TABLE, ErrorCounts
from fieldmark.model.json import JsonObject
from fieldmark.model.outcome import CELL_BITS, FACT_MASK
from fieldmark.store.reader import StoredRun, parse_row, read_row
from fieldmark.store.writer import RESULTS
from fieldmark.wire.attributes import StoredAttributes
from fieldmark.wire.case_result import CaseResult
from fieldmark.wire.cases import divide_row, record_to_row

__all__ = ["UNLISTED", "CaseHead", "CaseIndex"]

_MAX_SELECTIONS: Final = 8
_MAX_ALIKE: Final = 16_384
_BUFFER: Final = 1 << 18
UNLISTED: Final = frozenset({"wrong_attributes", "offset"})
"""The fields of a head that lists do not show."""
_IS_ERROR: Final = tuple(any(row) for row in ERROR_TABLE)


class CaseHead(NamedTuple):
    """The data of a case in lists, its attributes with mistakes, and the offset of its row."""

    number: int
    id: str
    score: float | None
    verdict: str | None
    status: str
    input: str
    tags: tuple[str, ...]
    errors_by_type: ErrorCounts
    vacuous: bool
    wrong_attributes: frozenset[str]
    offset: int

    def to_dict(self) -> JsonObject:
        """Return the data for lists as JSON."""
        return {
            **{name: getattr(self, name) for name in self._fields if name not in UNLISTED},
            "tags": list(self.tags),
            "errors_by_type": dict(self.errors_by_type._asdict()),
        }


class CaseIndex:
    """The heads of all cases, with random access to the cases."""

    def __init__(self, run: StoredRun) -> None:
        self._run = run
        self._results = run.path / RESULTS
        self._lock = threading.Lock()
        self._selections: dict[Hashable, list[CaseHead]] = {}
        self.heads: list[CaseHead] = []

    def read(self) -> None:
        """Read the heads once; concurrent callers wait. An incomplete last row is ignored."""
        with self._lock:
            if self.heads:
                return
            paths = {number: each.path for number, each in self._run.attributes.items()}
            heads: list[CaseHead] = []
            alike: dict[bytes, CaseHead] = {}
            offset = 0
            with self._results.open("rb", buffering=_BUFFER) as file:
                for number, line in enumerate(file, 1):
                    if not line.endswith(b"\n"):
                        break
                    parts = divide_row(line)
                    like = alike.get(parts[2]) if parts else None
                    if parts and like:
                        head = CaseHead(number, parts[0], *like[2:-1], offset)
                    else:
                        location = Location(self._results.name, number)
                        row = _without_documents(parts) or parse_row(line, location)
                        try:
                            head = _head(number, offset, row, paths)
                        except (ValueError, TypeError, KeyError, AttributeError) as error:
                            message = f"invalid result row: {error!r}"
                            raise DataError(message, location) from error
                        if parts and len(alike) < _MAX_ALIKE:
                            alike[parts[2]] = head
                    heads.append(head)
                    offset += len(line)
            self.heads = heads

    def select(
        self, key: Hashable, choose: Callable[[list[CaseHead]], list[CaseHead]]
    ) -> list[CaseHead]:
        """Return a selection of the heads; the most recent selections are cached by key."""
        found = self._selections.get(key)
        if found is None:
            found = self._selections[key] = choose(self.heads)
            while len(self._selections) > _MAX_SELECTIONS:
                self._selections.pop(next(iter(self._selections)), None)
        return found

    def open(self, numbers: Iterable[int]) -> Iterator[CaseResult]:
        """Read the cases with the given numbers, which start at 1."""
        attributes = StoredAttributes(self._run.attributes)
        with self._results.open("rb") as file:
            for number in numbers:
                file.seek(self.heads[number - 1].offset)
                location = Location(self._results.name, number)
                row = parse_row(file.readline(), location)
                yield read_row(row, attributes, self._run.convention, location)


def _without_documents(parts: tuple[str, int | None, bytes, int] | None) -> JsonObject | None:
    """Return what the parts of a row say besides its documents; `None` if that is not complete."""
    try:
        return None if parts is None else record_to_row(parts[2], parts[0])
    except ValueError:
        return None


def _head(number: int, offset: int, row: JsonObject, paths: Mapping[int, str]) -> CaseHead:
    """Return the head of a row; decoding the whole case would take several times longer."""
    score, verdict = row["score"], row["verdict"]
    errors = ErrorCounts(**cast("dict[str, int]", row["errors_by_type"]))
    cells = cast("list[int]", row["cells"]) if any(errors) else []
    wrong = (cell >> CELL_BITS for cell in cells if _IS_ERROR[cell & FACT_MASK])
    return CaseHead(
        number=number,
        id=str(row["case_id"]),
        score=None if score is None else float(cast("float", score)),
        verdict=None if verdict is None else str(verdict),
        status=str(row["status"]),
        input=str(row.get("input", "ok")),
        tags=tuple(cast("list[str]", row.get("tags", []))),
        errors_by_type=errors,
        vacuous=row.get("vacuous") is True,
        wrong_attributes=frozenset(paths[attribute] for attribute in wrong),
        offset=offset,
    )
