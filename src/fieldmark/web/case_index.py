"""An index of the cases of a run: the data for lists, and the offset of each row of results.

Each row is read once for its head, without its documents, and many rows have the same record. A
case is then opened by seeking to its row. Other data, such as values, are searched in the rows:
part by part, and only once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Final, NamedTuple, cast

from fieldmark.errors import DataError, Location
from fieldmark.metrics.counts import ERROR_TABLE, ErrorCounts
from fieldmark.model.json import JsonObject
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, FACTS, Outcome
from fieldmark.runs.attribute_table import StoredAttributes
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.case_rows import divide_row, record_to_row
from fieldmark.runs.run_directory import RESULTS
from fieldmark.runs.stored_run import StoredRun, parse_row, read_row
from fieldmark.values.records import EXCLUDED, to_json
from fieldmark.web.api_errors import ApiError, ErrorCode

_MAX_SELECTIONS: Final = 8
_MAX_SEARCHES: Final = 8
_MAX_TAGS: Final = 500
_SEARCHED_BYTES: Final = 4 << 20
"""The size of the rows that one request searches, so that it is answered at once."""
_MAX_ALIKE: Final = 16_384
_BUFFER: Final = 1 << 18
IS_MISTAKE: Final = tuple(
    any(row) or fact.outcome is Outcome.ERROR for row, fact in zip(ERROR_TABLE, FACTS, strict=True)
)
"""Whether a fact is a mistake or an error, by its code."""


class CaseHead(NamedTuple):
    """One case in a list: its score, verdict, mistakes and tags.

    `mistakes` are the different cells of the row with a mistake or an error, and `offset` is where
    the row begins.
    """

    number: int
    id: str
    score: float | None
    verdict: str | None
    status: str
    input: str
    tags: tuple[str, ...]
    errors_by_type: ErrorCounts
    vacuous: bool
    mistakes: Annotated[frozenset[int], EXCLUDED]
    offset: Annotated[int, EXCLUDED]

    def to_dict(self) -> JsonObject:
        """Return the data for lists as JSON."""
        return to_json(self)


@dataclass(slots=True)
class RowSearch:
    """The numbers of the cases found so far, and how many of them all have been searched."""

    total: int
    searched: int = 0
    found: list[int] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether all cases have been searched."""
        return self.searched == self.total


class CaseIndex:
    """The heads of all cases, with random access to the cases."""

    def __init__(self, run: StoredRun) -> None:
        self._run = run
        self._results = run.path / RESULTS
        self._lock = threading.Lock()
        self._selections: dict[Hashable, list[CaseHead]] = {}
        self._searches: dict[Hashable, RowSearch] = {}
        self._search_lock = threading.Lock()
        self._wrong_attributes: dict[frozenset[int], frozenset[str]] = {}
        self.heads: list[CaseHead] = []

    def read(self) -> None:
        """Read the heads once; concurrent callers wait. An incomplete last row is ignored."""
        with self._lock:
            if self.heads:
                return
            known: dict[frozenset[int], frozenset[int]] = {}
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
                            head = _head(number, offset, row, known)
                        except (ValueError, TypeError, KeyError, AttributeError) as error:
                            message = f"invalid result row: {error!r}"
                            raise DataError(message, location) from error
                        if parts and len(alike) < _MAX_ALIKE:
                            alike[parts[2]] = head
                    heads.append(head)
                    offset += len(line)
            self.heads = heads

    def select(self, key: Hashable, choose: Callable[[], list[CaseHead]]) -> list[CaseHead]:
        """Return a selection of the heads; the most recent selections are cached by key."""
        found = self._selections.get(key)
        if found is None:
            found = self._selections[key] = choose()
            while len(self._selections) > _MAX_SELECTIONS:
                self._selections.pop(next(iter(self._selections)), None)
        return found

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """The first tags of all cases in alphabetical order."""
        return tuple(sorted({tag for head in self.heads for tag in head.tags})[:_MAX_TAGS])

    @property
    def run(self) -> StoredRun:
        """The run of the cases."""
        return self._run

    def wrong_attributes(self, head: CaseHead) -> frozenset[str]:
        """Return the paths of the attributes with mistakes in a case."""
        found = self._wrong_attributes.get(head.mistakes)
        if found is None:
            attributes = self._run.attributes
            found = frozenset(attributes[cell >> CELL_BITS].path for cell in head.mistakes)
            self._wrong_attributes[head.mistakes] = found
        return found

    def search(
        self, key: Hashable, test: Callable[[bytes, Location], bool], *, whole: bool = False
    ) -> RowSearch:
        """Continue a search for the rows that pass a test, by part or to its end.

        The most recent searches are kept by key, so that no row is read twice for the same search.
        """
        with self._search_lock:
            search = self._searches.pop(key, None) or RowSearch(len(self.heads))
            self._searches[key] = search
            while len(self._searches) > _MAX_SEARCHES:
                self._searches.pop(next(iter(self._searches)))
            if search.complete:
                return search
            left = _SEARCHED_BYTES
            with self._results.open("rb") as file:
                file.seek(self.heads[search.searched].offset)
                for line in file:
                    if search.searched == search.total or (left <= 0 and not whole):
                        break
                    search.searched += 1
                    left -= len(line)
                    if test(line, Location(self._results.name, search.searched)):
                        search.found.append(search.searched)
            return search

    def case(self, number: int) -> CaseResult:
        """Read one case; a number beyond the last case is an error of the request."""
        if number > len(self.heads):
            raise ApiError(ErrorCode.NOT_FOUND, "Case not found.")
        (found,) = self.open([number])
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
    """Return the parts of a row besides its documents; `None` if they are incomplete."""
    try:
        return None if parts is None else record_to_row(parts[2], parts[0])
    except ValueError:
        return None


def _head(
    number: int, offset: int, row: JsonObject, known: dict[frozenset[int], frozenset[int]]
) -> CaseHead:
    """Return the head of a row; decoding the whole case would take several times longer."""
    score, verdict = row["score"], row["verdict"]
    errors = ErrorCounts(**cast("dict[str, int]", row["errors_by_type"]))
    status = str(row["status"])
    cells = cast("list[int]", row["cells"]) if any(errors) or status != "ok" else []
    mistakes = frozenset(cell for cell in cells if IS_MISTAKE[cell & FACT_MASK])
    return CaseHead(
        number=number,
        id=str(row["case_id"]),
        score=None if score is None else float(cast("float", score)),
        verdict=None if verdict is None else str(verdict),
        status=status,
        input=str(row.get("input", "ok")),
        tags=tuple(cast("list[str]", row.get("tags", []))),
        errors_by_type=errors,
        vacuous=row.get("vacuous") is True,
        # Many cases have the same mistakes.
        mistakes=known.setdefault(mistakes, mistakes),
        offset=offset,
    )
