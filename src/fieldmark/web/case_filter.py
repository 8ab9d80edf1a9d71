"""The filters of a list of cases: those that a head decides, and those that need the row."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from operator import attrgetter
from typing import Final, cast

from fieldmark.errors import Location, OptionError
from fieldmark.metrics.counts import cost_table
from fieldmark.metrics.mistakes import MistakeClusters, MistakeReader
from fieldmark.metrics.rates import sortable
from fieldmark.metrics.slices import TAG, SliceKey, parse_slice_keys
from fieldmark.metrics.summary import case_sort_key
from fieldmark.model.case import Case
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, FACTS
from fieldmark.report.html.mistakes import value_key
from fieldmark.report.html.value_encoding import encode_pair
from fieldmark.runs.attribute_table import StoredAttributes
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.case_rows import case_of_row
from fieldmark.runs.stored_run import StoredRun, parse_row, read_row
from fieldmark.values.json_text import strict_json
from fieldmark.values.paths import PathError, covers, leaves, parse_path
from fieldmark.web.api_errors import ApiError, ErrorCode
from fieldmark.web.case_index import IS_MISTAKE, CaseHead, CaseIndex
from fieldmark.web.request_models import CaseQuery

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
        ranked = None if query.ranks is None else _ranked(index, query.ranks)
        test = _row_test(index.run, query, mistakes)
        self.searched: JsonObject | None = None
        heads, progress = index.heads, 0
        if test is not None:
            key = query.model_dump_json(exclude=set(_UNSORTED | _BY_HEAD))
            search = index.search(key, test, whole=whole)
            heads = [heads[number - 1] for number in search.found]
            progress = search.searched
            self.searched = {"cases": search.searched, "total": search.total}
            if query.text:
                self.searched["values"] = not index.heads or _has_values(index)

        def choose() -> list[CaseHead]:
            found = [
                head
                for head in heads
                if _passes(head, query)
                and (mistakes.needs_row or mistakes.passes(head.mistakes))
                and (ranked is None or head.number in ranked)
            ]
            found.sort(key=_SORT_KEYS[query.sort], reverse=query.descending)
            return found

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
        found = [
            field
            for cell, field in zip(case.outcomes.cells, case.iter_fields(), strict=True)
            if field.attribute in wanted
            and self._mistakes.has_outcome(cell)
            and _is_value(query.expected, field.expected, field.expected_presence)
            and _is_value(query.found, field.candidate, field.candidate_presence)
        ]
        if not found:
            return None
        expected, candidate = encode_pair(found[0].expected, found[0].candidate)
        return {
            "path": found[0].path,
            "expected": expected,
            "candidate": candidate,
            "more": len(found) - 1,
        }


def _has_values(index: CaseIndex) -> bool:
    (first,) = index.open([1])
    return first.has_values


def worst_first(index: CaseIndex) -> list[CaseHead]:
    """Return all cases, worst first."""
    return index.select("worst", lambda: sorted(index.heads, key=_SORT_KEYS["worst"]))


def _ranked(index: CaseIndex, ranks: str) -> set[int]:
    """Return the numbers of the cases at some places of the list of all cases, worst first."""
    first, last = map(int, ranks.split("-"))
    return {head.number for head in worst_first(index)[max(first - 1, 0) : last]}


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
    return (
        query.slice is None or not query.slice.startswith(f"{TAG}=") or _in_tag_slice(head, query)
    )


def _is_in_range(score: float | None, limits: str) -> bool:
    low, high = map(float, limits.split("-"))
    if score is None:
        return False
    value = sortable(score)
    return low <= value and (value < high or high == 1)


def _in_tag_slice(head: CaseHead, query: CaseQuery) -> bool:
    return query.slice in SliceKey(TAG).names(Case(head.id, None, tags=head.tags))


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
        return frozenset(number for number, each in known if each.path == wanted)
    try:
        pattern = parse_path(wanted)
        return frozenset(n for n, each in known if covers(pattern, parse_path(each.path)))
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
    named = {number for number, each in run.attributes.items() if needle in each.path.lower()}

    def test(line: bytes, location: Location) -> bool:
        raw = line.decode("utf-8", "replace").lower()
        # A row without the text has to be parsed only if it has escapes.
        if not named and written not in raw and "\\u" not in raw:
            return False
        row = parse_row(line, location)
        if named and any(cell >> CELL_BITS in named for cell in _cells(row)):
            return True
        return any(needle in each.lower() for each in _texts(case_of_row(row)))

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
    reader = MistakeReader()

    def test(line: bytes, location: Location) -> bool:
        row = parse_row(line, location)
        if not mistakes.passes(_cells(row)):
            return False
        case = read_row(row, attributes, run.convention, location)
        clusters = MistakeClusters()
        clusters.add(
            reader.read(case.outcomes, case.attributes, case.case, has_values=case.has_values)
        )
        return any(
            pattern in found and (attribute is None or path in wanted)
            for path, found in clusters.by_attribute.items()
        )

    return test
