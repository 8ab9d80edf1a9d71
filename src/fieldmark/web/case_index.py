"""An index of the cases of a run for lists of cases, and the filters of these lists.

The index has the data for lists, and the offset of each row of results.

Each row is read once for its head, without its documents, and many rows have the same record. A
case is then opened by seeking to its row. Other data, such as values, are searched in the rows:
part by part, and only once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Annotated, Final, NamedTuple, cast

from fieldmark.errors import DataError, Location, OptionError
from fieldmark.metrics.counts import ERROR_TABLE, ErrorCounts, cost_table
from fieldmark.metrics.mistakes import MistakeClusters, MistakeReader
from fieldmark.metrics.rates import sortable
from fieldmark.metrics.slices import TAG, SliceKey, parse_slice_keys
from fieldmark.metrics.summary import case_sort_key
from fieldmark.model.case import Case
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, FACTS, Outcome
from fieldmark.report.html.mistakes import value_key
from fieldmark.report.html.value_encoding import encode_pair
from fieldmark.runs.attribute_table import StoredAttributes
from fieldmark.runs.case_result import CaseResult, date_orders
from fieldmark.runs.case_rows import case_of_row, divide_row, record_to_row
from fieldmark.runs.run_directory import RESULTS
from fieldmark.runs.stored_run import StoredRun, parse_row, read_row
from fieldmark.values.json_text import strict_json
from fieldmark.values.paths import PathError, covers, leaves, parse_path
from fieldmark.values.records import EXCLUDED, to_json
from fieldmark.web.api_errors import ApiError, ErrorCode
from fieldmark.web.request_models import CaseQuery

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
    numbers: list[int] = field(default_factory=list)


class CaseIndex:
    """The heads of all cases, with random access to the cases."""

    def __init__(self, run: StoredRun) -> None:
        self.run = run
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
        heads = self._selections.get(key)
        if heads is None:
            heads = self._selections[key] = choose()
            while len(self._selections) > _MAX_SELECTIONS:
                self._selections.pop(next(iter(self._selections)), None)
        return heads

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """The first tags of all cases in alphabetical order."""
        return tuple(sorted({tag for head in self.heads for tag in head.tags})[:_MAX_TAGS])

    def wrong_attributes(self, head: CaseHead) -> frozenset[str]:
        """Return the paths of the attributes with mistakes in a case."""
        wrong = self._wrong_attributes.get(head.mistakes)
        if wrong is None:
            attributes = self.run.attributes
            wrong = frozenset(attributes[cell >> CELL_BITS].path for cell in head.mistakes)
            self._wrong_attributes[head.mistakes] = wrong
        return wrong

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
            if search.searched == search.total:
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
                        search.numbers.append(search.searched)
            return search

    def case(self, number: int) -> CaseResult:
        """Read one case; a number beyond the last case is an error of the request."""
        if number > len(self.heads):
            raise ApiError(ErrorCode.NOT_FOUND, "Case not found.")
        (result,) = self.open([number])
        return result

    def open(self, numbers: Iterable[int]) -> Iterator[CaseResult]:
        """Read the cases with the given numbers, which start at 1."""
        attributes = StoredAttributes(self.run.attributes)
        with self._results.open("rb") as file:
            for number in numbers:
                file.seek(self.heads[number - 1].offset)
                location = Location(self._results.name, number)
                row = parse_row(file.readline(), location)
                yield read_row(row, attributes, self.run.convention, location)


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


_SORT_KEYS: Final[dict[str, Callable[[CaseHead], tuple[object, ...]]]] = {
    "worst": lambda head: case_sort_key(head.score, head.errors_by_type.total, head.number),
    "number": lambda head: (head.number,),
    "id": lambda head: (head.id, head.number),
    "score": lambda head: case_sort_key(head.score, 0, head.number),
    "mistakes": lambda head: (head.errors_by_type.total, head.number),
}
_UNSORTED: Final = frozenset({"offset", "limit", "sort", "descending"})
_BY_HEAD: Final = frozenset({"verdict", "tag", "input", "score"})
_ABSENT: Final = "absent"
_RowTest = Callable[[bytes, Location], bool]


class SelectedCases:
    """The cases of a run that pass all filters, in order.

    `searched` says how many rows have been searched, if the filters need more than the heads. The
    next request for the same filters continues the search; with `whole`, it goes to the end.
    """

    def __init__(self, index: CaseIndex, query: CaseQuery, *, whole: bool = False) -> None:
        mistakes = _CellFilter(index.run, query)
        ranked: set[int] | None = None
        if query.ranks is not None:
            first, last = map(int, query.ranks.split("-"))
            ranked = {head.number for head in worst_first(index)[max(first - 1, 0) : last]}
        test = _row_test(index.run, query, mistakes)
        self.searched: JsonObject | None = None
        heads, progress = index.heads, 0
        if test is not None:
            key = query.model_dump_json(exclude=set(_UNSORTED | _BY_HEAD))
            search = index.search(key, test, whole=whole)
            heads = [heads[number - 1] for number in search.numbers]
            progress = search.searched
            self.searched = {"cases": search.searched, "total": search.total}
            if query.text:
                self.searched["values"] = not index.heads or _has_values(index)

        def choose() -> list[CaseHead]:
            chosen = [
                head
                for head in heads
                if _passes(head, query)
                and (mistakes.needs_row or mistakes.passes(head.mistakes))
                and (ranked is None or head.number in ranked)
            ]
            chosen.sort(key=_SORT_KEYS[query.sort], reverse=query.descending)
            return chosen

        selection: Hashable = query.model_dump_json(exclude={"offset", "limit"}), progress
        self.heads = index.select(selection, choose)
        self._index, self._query, self._mistakes = index, query, mistakes

    def page(self) -> list[JsonObject]:
        """Return the requested cases; if an attribute is selected, with the first field of it.

        Only these cases are opened, and only if the run has values.
        """
        query = self._query
        heads = self.heads[query.offset : query.offset + query.limit]
        rows = [head.to_dict() for head in heads]
        if query.attribute is not None and heads and _has_values(self._index):
            opened = self._index.open([head.number for head in heads])
            for row, case in zip(rows, opened, strict=True):
                row["field"] = self._first_field(case)
        return rows

    def _first_field(self, case: CaseResult) -> JsonObject | None:
        """Return the first field that the filters select, and how many more there are."""
        query, wanted = self._query, self._mistakes.paths
        if not case.has_values:
            return None
        fields = [
            field
            for cell, field in zip(case.outcomes.cells, case.iter_fields(), strict=True)
            if field.attribute in wanted
            and self._mistakes.has_outcome(cell)
            and _is_value(query.expected, field.expected, field.expected_presence)
            and _is_value(query.found, field.candidate, field.candidate_presence)
        ]
        if not fields:
            return None
        expected, candidate = encode_pair(fields[0].expected, fields[0].candidate)
        return {
            "path": fields[0].path,
            "expected": expected,
            "candidate": candidate,
            "more": len(fields) - 1,
        }


def _has_values(index: CaseIndex) -> bool:
    (first,) = index.open([1])
    return first.has_values


def worst_first(index: CaseIndex) -> list[CaseHead]:
    """Return all cases, worst first."""
    return index.select("worst", lambda: sorted(index.heads, key=_SORT_KEYS["worst"]))


def _passes(head: CaseHead, query: CaseQuery) -> bool:
    if query.verdict == "error" and head.status != "error":
        return False
    if query.verdict not in {None, "error", head.verdict}:
        return False
    if query.tag is not None and query.tag not in head.tags:
        return False
    if query.input not in {None, head.input}:
        return False
    if query.score is not None and not _is_in_range(head.score, query.score):
        return False
    if query.slice is None or not query.slice.startswith(f"{TAG}="):
        return True
    return query.slice in SliceKey(TAG).names(Case(head.id, None, tags=head.tags))


def _is_in_range(score: float | None, limits: str) -> bool:
    low, high = map(float, limits.split("-"))
    if score is None:
        return False
    value = sortable(score)
    return low <= value and (value < high or high == 1)


class _CellFilter:
    """The filter by attribute and outcome, which apply to the same field."""

    def __init__(self, run: StoredRun, query: CaseQuery) -> None:
        self.attributes = None if query.attribute is None else _attributes(run, query.attribute)
        costs = cost_table(run.convention.counting)
        if query.error is None:
            facts = {code for code in range(FACT_MASK + 1) if IS_MISTAKE[code]}
        elif query.error in Counts._fields:
            count = attrgetter(query.error)
            facts = {code for code, cost in enumerate(costs) if count(cost)}
        else:
            facts = {code for code, fact in enumerate(FACTS) if fact.outcome.label == query.error}
        self._facts = frozenset(facts)
        # A value of an attribute may be found without a mistake.
        by_value = query.expected is not None or query.found is not None
        self._applies = query.error is not None or (query.attribute is not None and not by_value)
        self.paths = frozenset(run.attributes[number].path for number in self.attributes or ())
        self.needs_row = self._applies and not all(IS_MISTAKE[code] for code in facts)

    def has_outcome(self, cell: int) -> bool:
        """Whether a cell has the outcome, if the filter is by outcome."""
        return not self._applies or cell & FACT_MASK in self._facts

    def passes(self, cells: frozenset[int] | list[int]) -> bool:
        """Whether one of the cells has the attribute and the outcome."""
        if not self._applies:
            return True
        attributes, facts = self.attributes, self._facts
        return any(
            cell & FACT_MASK in facts and (attributes is None or cell >> CELL_BITS in attributes)
            for cell in cells
        )


def _attributes(run: StoredRun, wanted: str) -> frozenset[int]:
    """Return the stored numbers of an attribute; `vendor.**` selects all below a key."""
    known = run.attributes.items()
    if not wanted.endswith("**"):
        return frozenset(number for number, attribute in known if attribute.path == wanted)
    try:
        pattern = parse_path(wanted)
        return frozenset(
            number for number, attribute in known if covers(pattern, parse_path(attribute.path))
        )
    except PathError:
        return frozenset()


def _row_test(run: StoredRun, query: CaseQuery, mistakes: _CellFilter) -> _RowTest | None:
    """Return the test of a row for the filters that need it, if there are any."""
    tests: list[_RowTest] = []
    if query.text:
        tests.append(_text_test(run, query.text))
    if mistakes.needs_row:
        tests.append(lambda line, where: mistakes.passes(_cells(parse_row(line, where))))
    if query.slice is not None and not query.slice.startswith(f"{TAG}="):
        tests.append(_slice_test(run, query.slice))
    if query.expected is not None or query.found is not None:
        tests.append(_value_test(run, query, mistakes))
    if query.pattern is not None:
        tests.append(_pattern_test(run, query.pattern, query.attribute, mistakes))
    if not tests:
        return None
    return lambda line, where: all(test(line, where) for test in tests)


def _cells(row: JsonObject) -> list[int]:
    return cast("list[int]", row["cells"])


def _text_test(run: StoredRun, text: str) -> _RowTest:
    """Find text in ids, tags, paths of compared fields and values, ignoring case."""
    needle = text.lower()
    written = strict_json(needle).decode()[1:-1]
    named = {
        number for number, attribute in run.attributes.items() if needle in attribute.path.lower()
    }

    def test(line: bytes, location: Location) -> bool:
        raw = line.decode("utf-8", "replace").lower()
        # A row without the text has to be parsed only if it has escapes.
        if not named and written not in raw and "\\u" not in raw:
            return False
        row = parse_row(line, location)
        if named and any(cell >> CELL_BITS in named for cell in _cells(row)):
            return True
        return any(needle in text.lower() for text in _texts(case_of_row(row)))

    return test


def _texts(case: Case) -> Iterator[str]:
    yield case.id
    yield from case.tags
    for document in (case.expected, case.candidate):
        for _, value in leaves(document) if document not in (MISSING, None) else ():
            if isinstance(value, str):
                yield value
            elif not isinstance(value, dict | list):
                yield strict_json(value).decode()


def _slice_test(run: StoredRun, name: str) -> _RowTest:
    known = () if run.summary is None else run.summary.by
    text = next((key for key in known if name.startswith(f"{key}=")), name.partition("=")[0])
    try:
        (key,) = parse_slice_keys([text])
    except OptionError as error:
        raise ApiError(ErrorCode.INVALID_DATA, f"slice: {error.message}") from error
    return lambda line, where: name in key.names(case_of_row(parse_row(line, where)))


def _value_test(run: StoredRun, query: CaseQuery, mistakes: _CellFilter) -> _RowTest:
    """Find fields with these values, of the attribute if one is given."""
    attributes = StoredAttributes(run.attributes)
    wanted = mistakes.paths

    def test(line: bytes, location: Location) -> bool:
        case = read_row(parse_row(line, location), attributes, run.convention, location)
        return case.has_values and any(
            (query.attribute is None or field.attribute in wanted)
            and _is_value(query.expected, field.expected, field.expected_presence)
            and _is_value(query.found, field.candidate, field.candidate_presence)
            for field in case.iter_fields()
        )

    return test


def _is_value(wanted: str | None, value: JsonValue | Missing, presence: str) -> bool:
    return wanted is None or value_key(value, presence) == ("" if wanted == _ABSENT else wanted)


def _pattern_test(
    run: StoredRun, pattern: str, attribute: str | None, mistakes: _CellFilter
) -> _RowTest:
    """Find mistakes with a pattern, of the attribute if one is given."""
    attributes = StoredAttributes(run.attributes)
    wanted = mistakes.paths
    reader, orders = MistakeReader(), date_orders(run.cases)

    def test(line: bytes, location: Location) -> bool:
        row = parse_row(line, location)
        if not mistakes.passes(_cells(row)):
            return False
        case = read_row(row, attributes, run.convention, location)
        clusters = MistakeClusters(orders)
        clusters.add(
            reader.read(case.outcomes, case.attributes, case.case, has_values=case.has_values)
        )
        return any(
            pattern in patterns and (attribute is None or path in wanted)
            for path, patterns in clusters.by_attribute.items()
        )

    return test
