"""Where each case of a run stands in its results, and what is needed to choose among cases.

Rows are read once for their heads. A case is then opened by going to its row: a segment can be
read with its first row and the first row of all, which describe the attributes.
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

_CHOICES: Final = 8
_WRONG: Final = tuple(any(row) for row in ERROR_TABLE)


class CaseHead(NamedTuple):
    """What a list says of a case; `wrong` are the attributes with a mistake."""

    number: int
    id: str
    score: float | None
    verdict: str | None
    status: str
    input: str
    tags: tuple[str, ...]
    mistakes: tuple[int, ...]
    wrong: frozenset[str]


class CaseIndex:
    """The heads of all cases, and a way to open any of them."""

    def __init__(self, results: Path) -> None:
        self._results = results
        self._lock = threading.Lock()
        self._is_read = False
        self._offsets: list[int] = []
        self._segments: list[int] = []
        self._chosen: dict[Hashable, list[CaseHead]] = {}
        self.heads: list[CaseHead] = []

    def read(self) -> None:
        """Read the heads, once; others who ask meanwhile wait."""
        with self._lock:
            if not self._is_read:
                self._read()
                self._is_read = True

    def chosen(
        self, key: Hashable, choose: Callable[[list[CaseHead]], list[CaseHead]]
    ) -> list[CaseHead]:
        """Some heads in some order; the last few choices are remembered by their key."""
        found = self._chosen.get(key)
        if found is None:
            found = self._chosen[key] = choose(self.heads)
            while len(self._chosen) > _CHOICES:
                self._chosen.pop(next(iter(self._chosen)), None)
        return found

    def open(self, numbers: Iterable[int]) -> Iterator[StoredCase]:
        """The cases of some numbers, which count from 1 and ascend."""
        with self._results.open("rb") as file:
            for segment, own in groupby(numbers, key=self._segment_of):
                yield from self._of_segment(file, segment, list(own))

    def _segment_of(self, number: int) -> int:
        return bisect_right(self._segments, number - 1) - 1

    def _of_segment(
        self, file: IO[bytes], segment: int, numbers: Sequence[int]
    ) -> Iterator[StoredCase]:
        wanted = set(numbers)
        needed = sorted({1, self._segments[segment] + 1} | wanted)
        with tempfile.TemporaryDirectory() as folder:
            part = Path(folder) / RESULTS
            with part.open("wb") as rows:
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
                    error_body = row.get("attributes")
                    if error_body is not None:
                        start, fresh = cast("tuple[int, list[list[str]]]", error_body)
                        attributes = [*(shared or attributes)[:start], *(each[0] for each in fresh)]
                        shared = shared or attributes
                    if "segment" in row or number == 1:
                        self._segments.append(number - 1)
                    self.heads.append(_head(number, row, attributes))
                except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
                    place = Location(self._results.name, number)
                    raise DataError(f"not a row of results: {error!r}", place) from error
                self._offsets.append(offset)
                offset += len(line)


def _head(number: int, row: JsonObject, attributes: Sequence[str]) -> CaseHead:
    score, verdict, tags = row["score"], row.get("verdict"), row.get("tags")
    errors, cells = row.get("errors_by_type"), row.get("cells")
    mistakes = tuple(_count(errors, name) for name in ErrorCounts._fields)
    wrong = frozenset[str]()
    if any(mistakes) and isinstance(cells, list):
        wrong = frozenset(
            attributes[cell >> CELL_BITS]
            for cell in cells
            if isinstance(cell, int) and _WRONG[cell & FACT_MASK]
        )
    return CaseHead(
        number=number,
        id=str(row["case_id"]),
        score=float(score) if isinstance(score, int | float) else None,
        verdict=verdict if isinstance(verdict, str) else None,
        status=str(row.get("status", "ok")),
        input=str(row.get("input", "ok")),
        tags=tuple(map(str, tags)) if isinstance(tags, list) else (),
        mistakes=mistakes,
        wrong=wrong,
    )


def _count(errors: JsonValue, name: str) -> int:
    found = errors.get(name) if isinstance(errors, dict) else 0
    return found if isinstance(found, int) else 0
