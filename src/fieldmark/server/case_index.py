"""An index of the cases of a run: what lists show, and where each row is in the results.

Every row is read once for its head. A case is then opened by seeking to its row: a segment can be
read from its first row and the first row of all, which describe the attributes.
"""

from __future__ import annotations

import tempfile
import threading
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import IO, Final, NamedTuple, cast

from fieldmark.errors import DataError, Location
from fieldmark.metrics.taxonomy import ERROR_TABLE, ErrorCounts
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import CELL_BITS, FACT_MASK
from fieldmark.store.reader import StoredCase, StoredRun
from fieldmark.store.rundir import RESULTS
from fieldmark.values.json_text import read_json

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

    def __init__(self, results: Path) -> None:
        self._results = results
        self._lock = threading.Lock()
        self._is_read = False
        self._offsets: list[int] = []
        self._segments: list[int] = []
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

    def open(self, numbers: Iterable[int]) -> Iterator[StoredCase]:
        """Read the cases with some numbers, which count from 1 and ascend."""
        with self._results.open("rb") as file:
            for segment, members in groupby(
                numbers, key=lambda number: bisect_right(self._segments, number - 1) - 1
            ):
                yield from self._read_segment(file, segment, set(members))

    def _read_segment(
        self, file: IO[bytes], segment: int, wanted: set[int]
    ) -> Iterator[StoredCase]:
        needed = sorted({1, self._segments[segment] + 1} | wanted)
        with tempfile.TemporaryDirectory() as folder:
            with (Path(folder) / RESULTS).open("wb") as rows:
                for number in needed:
                    file.seek(self._offsets[number - 1])
                    rows.write(file.readline())
            run = StoredRun(path=Path(folder), manifest={}, summary=None)
            for number, case in zip(needed, run.cases(), strict=True):
                if number in wanted:
                    yield case

    def _read(self) -> None:
        shared: list[str] = []
        attributes: list[str] = []
        offset = 0
        with self._results.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    return
                try:
                    row = cast("JsonObject", read_json(line))
                    described = row.get("attributes")
                    if described is not None:
                        start, fresh = cast("tuple[int, list[list[str]]]", described)
                        attributes = [*(shared or attributes)[:start], *(each[0] for each in fresh)]
                        shared = shared or attributes
                    if "segment" in row or number == 1:
                        self._segments.append(number - 1)
                    self.heads.append(_head(number, row, attributes))
                except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
                    location = Location(self._results.name, number)
                    raise DataError(f"not a row of results: {error!r}", location) from error
                self._offsets.append(offset)
                offset += len(line)


def _head(number: int, row: JsonObject, attributes: Sequence[str]) -> CaseHead:
    score, verdict, tags = row["score"], row.get("verdict"), row.get("tags")
    counts, cells = row.get("errors_by_type"), row.get("cells")
    counted = counts if isinstance(counts, dict) else {}
    errors = ErrorCounts(*(_integer(counted.get(name)) for name in ErrorCounts._fields))
    wrong = frozenset[str]()
    if any(errors) and isinstance(cells, list):
        wrong = frozenset(
            attributes[cell >> CELL_BITS]
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


def _integer(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0
