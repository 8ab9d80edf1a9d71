"""An index of the cases of a run: what lists show, and where each row is in the results.

Every row is read once for its head. A case is then opened by seeking to its row.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from fieldmark.errors import DataError, Location
from fieldmark.metrics.taxonomy import ERROR_TABLE, ErrorCounts
from fieldmark.model.json import JsonObject
from fieldmark.model.outcome import CELL_BITS, FACT_MASK
from fieldmark.store.run_folder import RESULTS
from fieldmark.store.run_reader import StoredRun, parse_row, read_row
from fieldmark.wire.attributes import StoredAttributes
from fieldmark.wire.case_result import CaseResult

__all__ = ["CaseHead", "CaseIndex"]

_MAX_SELECTIONS: Final = 8
_IS_ERROR: Final = tuple(any(row) for row in ERROR_TABLE)


class CaseHead(NamedTuple):
    """What a list shows of a case, and the attributes with an error."""

    number: int
    id: str
    score: float | None
    verdict: str | None
    status: str
    input: str
    tags: tuple[str, ...]
    errors_by_type: ErrorCounts
    wrong_attributes: frozenset[str]

    def to_dict(self) -> JsonObject:
        """Return the head as JSON, without the attributes."""
        return {
            **{name: getattr(self, name) for name in self._fields[:-1]},
            "tags": list(self.tags),
            "errors_by_type": dict(self.errors_by_type._asdict()),
        }


class CaseIndex:
    """The heads of all cases, and access to any of them."""

    def __init__(self, run: StoredRun) -> None:
        self._run = run
        self._results = run.path / RESULTS
        self._lock = threading.Lock()
        self._is_read = False
        self._offsets: list[int] = []
        self._selections: dict[Hashable, list[CaseHead]] = {}
        self.heads: list[CaseHead] = []

    def read(self) -> None:
        """Read the heads once; concurrent callers wait."""
        with self._lock:
            if not self._is_read:
                self._read()
                self._is_read = True

    def select(
        self, key: Hashable, choose: Callable[[list[CaseHead]], list[CaseHead]]
    ) -> list[CaseHead]:
        """Return some heads in some order; the last few selections are cached by their key."""
        found = self._selections.get(key)
        if found is None:
            found = self._selections[key] = choose(self.heads)
            while len(self._selections) > _MAX_SELECTIONS:
                self._selections.pop(next(iter(self._selections)), None)
        return found

    def open(self, numbers: Iterable[int]) -> Iterator[CaseResult]:
        """Read the cases with some numbers, which count from 1."""
        attributes = StoredAttributes(self._run.attributes)
        with self._results.open("rb") as file:
            for number in numbers:
                file.seek(self._offsets[number - 1])
                location = Location(self._results.name, number)
                row = parse_row(file.readline(), location)
                yield read_row(row, attributes, self._run.convention, location)

    def _read(self) -> None:
        paths = {number: each.path for number, each in self._run.attributes.items()}
        offset = 0
        with self._results.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    return
                location = Location(self._results.name, number)
                row = parse_row(line, location)
                try:
                    self.heads.append(_head(number, row, paths))
                except (ValueError, TypeError, KeyError, AttributeError) as error:
                    raise DataError(f"not a row of results: {error!r}", location) from error
                self._offsets.append(offset)
                offset += len(line)


def _head(number: int, row: JsonObject, paths: Mapping[int, str]) -> CaseHead:
    score, verdict, tags = row["score"], row.get("verdict"), row.get("tags")
    counts, cells = row.get("errors_by_type"), row.get("cells")
    counted = counts if isinstance(counts, dict) else {}
    errors = ErrorCounts(
        *(
            count if isinstance(count := counted.get(name), int) else 0
            for name in ErrorCounts._fields
        )
    )
    wrong = frozenset[str]()
    if any(errors) and isinstance(cells, list):
        wrong = frozenset(
            paths[cell >> CELL_BITS]
            for cell in cells
            if isinstance(cell, int) and _IS_ERROR[cell & FACT_MASK]
        )
    return CaseHead(
        number=number,
        id=str(row["case_id"]),
        score=float(score) if isinstance(score, int | float) else None,
        verdict=verdict if isinstance(verdict, str) else None,
        status=str(row.get("status", "ok")),
        input=str(row.get("input", "ok")),
        tags=tuple(map(str, tags)) if isinstance(tags, list) else (),
        errors_by_type=errors,
        wrong_attributes=wrong,
    )
