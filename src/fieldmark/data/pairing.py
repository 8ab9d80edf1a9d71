"""Pairing of truth and candidates into a stream of cases, in the order of the truth."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, cast

import orjson

from fieldmark.data.cell_types import TypeTree, read_cells, type_tree
from fieldmark.data.document_forms import (
    PLAIN,
    DocumentForms,
    detect_candidate_form,
    detect_forms,
    warn_deviating,
    warn_other_cells,
)
from fieldmark.data.input_files import STDIN, FileState
from fieldmark.data.input_warnings import (
    check_pairs,
    first_non_finite,
    warn_confidences,
    warn_non_finite,
    warn_unreadable_sides,
)
from fieldmark.data.inputs import Coverage, InputLike, Inputs
from fieldmark.data.json_parser import JsonDialect, Role, parse_lines
from fieldmark.data.json_rows import JsonlSource, spill_to_lines
from fieldmark.data.model_text import REPAIRED, candidate_reader, read_expected, warn_repaired
from fieldmark.data.row_layout import (
    DuplicateIds,
    Layout,
    RatedDocument,
    RowFault,
    SideBatch,
    SideCursor,
    SideValue,
    apply_layout,
)
from fieldmark.data.rows import RowBlock, RowSource
from fieldmark.data.sides import (
    InputSide,
    OpenedInputs,
    make_dialect,
    open_candidate_input,
    open_inputs,
    open_single_input,
)
from fieldmark.data.sources import DirectorySource
from fieldmark.errors import DataError, Location, with_hint
from fieldmark.model.case import Case, CaseContext, CaseInput, UnparsedDocuments
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.kernel import COMPILED, DOCUMENTS, unparsed
from fieldmark.model.reader import ReadExport
from fieldmark.values.arrays import np
from fieldmark.values.json_text import all_finite
from fieldmark.values.text import plural
from fieldmark.values.value_confidences import ConfidenceReader

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_WAITING: Final = 4096
_MAX_WAITING_BYTES: Final = 8 << 20
_MIN_WAITING: Final = 64
_PULL_ROWS: Final = 256
_MAX_CANDIDATE_NAMES: Final = 3


class UnmatchedCandidates(NamedTuple):
    """The number of candidates without ground truth, and the ids of the first few."""

    total: int
    names: list[str]


class CandidateLookup(Protocol):
    """Candidates by id; each candidate is returned once."""

    @property
    def without_id(self) -> list[tuple[int, SideValue]]:
        """The positions and values of rows without a readable id."""
        ...

    def fetch(self, ids: list[str | None]) -> list[SideValue]:
        """Return the candidates with these ids, `MISSING` if there is none."""
        ...

    def unmatched(self, truth: DuplicateIds) -> UnmatchedCandidates:
        """Return the candidates that are left after all ids of the truth were fetched."""
        ...


def open_lookup(source: RowSource, blocks: Iterator[RowBlock], layout: Layout) -> CandidateLookup:
    """Return the fastest lookup that the source supports."""
    if not source.has_lines and isinstance(source, DirectorySource):
        return DirectoryCandidates(source, layout)
    if source.in_memory:
        return InMemoryCandidates(source, blocks, layout)
    return StreamedCandidates(source, blocks, layout)


class InMemoryCandidates:
    """Candidates in memory."""

    __slots__ = ("_by_id", "without_id")

    def __init__(self, source: RowSource, blocks: Iterator[RowBlock], layout: Layout) -> None:
        self._by_id: dict[str, SideValue] = {}
        self.without_id: list[tuple[int, SideValue]] = []
        duplicates = DuplicateIds(source, layout)
        for block in blocks:
            batch = apply_layout(block, layout)
            duplicates.add(batch.ids)
            self.without_id += batch.rows_without_id()
            named = zip(batch.ids, batch.values, strict=True)
            self._by_id.update((name, value) for name, value in named if name is not None)
        duplicates.check()

    def fetch(self, ids: list[str | None]) -> list[SideValue]:
        """Return the candidates with these ids."""
        return [MISSING if name is None else self._by_id.pop(name, MISSING) for name in ids]

    def unmatched(self, truth: DuplicateIds) -> UnmatchedCandidates:
        """Return the candidates that were not fetched."""
        del truth
        return UnmatchedCandidates(len(self._by_id), list(self._by_id)[:_MAX_CANDIDATE_NAMES])


class DirectoryCandidates:
    """Candidates in a directory, read when they are fetched."""

    __slots__ = ("_layout", "_numbers", "_source")

    def __init__(self, source: DirectorySource, layout: Layout) -> None:
        self._source = source
        self._layout = layout
        self._numbers = {name: number for number, name in enumerate(source.ids())}

    @property
    def without_id(self) -> list[tuple[int, SideValue]]:
        """Always empty: the id is the file name."""
        return []

    def fetch(self, ids: list[str | None]) -> list[SideValue]:
        """Return the documents with these ids."""
        values: list[SideValue] = [MISSING] * len(ids)
        known = [index for index, name in enumerate(ids) if name in self._numbers]
        names = [str(ids[index]) for index in known]
        numbers = [self._numbers.pop(name) for name in names]
        rows = [self._source.read(number) for number in numbers]
        batch = apply_layout(RowBlock(rows, numbers, names), self._layout)
        for index, value in zip(known, batch.values, strict=True):
            values[index] = value
        return values

    def unmatched(self, truth: DuplicateIds) -> UnmatchedCandidates:
        """Return the files that were not fetched."""
        del truth
        return UnmatchedCandidates(len(self._numbers), list(self._numbers)[:_MAX_CANDIDATE_NAMES])


class _OutOfOrderError(Exception):
    """The two sides are in different orders."""


class StreamedCandidates:
    """Candidates that are read in parallel with the truth, or with an index if the order differs.

    A limited number of candidates is held in memory until its truth is read. Beyond this limit, an
    index of the whole file is used, which contains no documents.
    """

    __slots__ = ("_cursor", "_duplicates", "_index", "_layout", "_source", "_waiting")

    def __init__(self, source: RowSource, blocks: Iterator[RowBlock], layout: Layout) -> None:
        self._source = source
        self._layout = layout
        self._duplicates = DuplicateIds(source, layout)
        self._cursor = SideCursor(blocks, layout, self._duplicates)
        self._waiting: dict[str | None, SideValue] = {}
        self._index: OffsetIndex | None = None

    @property
    def without_id(self) -> list[tuple[int, SideValue]]:
        """The positions and values of rows without a readable id."""
        return self._cursor.without_id if self._index is None else self._index.without_id

    def fetch(self, ids: list[str | None]) -> list[SideValue]:
        """Return the candidates with these ids."""
        if self._index is None:
            try:
                return self._fetch_in_order(ids)
            except _OutOfOrderError:
                self._waiting.clear()
                lines = spill_to_lines(self._source)
                if lines is self._source:
                    # Its rows are read from the start again, so the counts start again.
                    lines.dialect.non_finite = lines.dialect.repeated_keys = 0
                self._index = OffsetIndex(lines, self._layout, self._duplicates)
        return self._index.fetch(ids)

    def _fetch_in_order(self, ids: list[str | None]) -> list[SideValue]:
        waiting = self._waiting
        if not waiting:
            next_ids, values = self._cursor.take(len(ids))
            if next_ids == ids and None not in ids:
                return values
            waiting.update(zip(next_ids, values, strict=True))
            waiting.pop(None, None)
        return [
            waiting.pop(name) if name in waiting else self._pull(name) if name else MISSING
            for name in ids
        ]

    def _pull(self, name: str) -> SideValue:
        """Read until the candidate with this id is found."""
        waiting = self._waiting
        while name not in waiting:
            ids, values = self._cursor.take(_PULL_ROWS)
            if not ids:
                return MISSING
            waiting.update(zip(ids, values, strict=True))
            waiting.pop(None, None)
            row_bytes = self._source.bytes_read // max(1, self._cursor.rows)
            limit = min(_MAX_WAITING, _MAX_WAITING_BYTES // max(1, row_bytes))
            if len(waiting) > max(_MIN_WAITING, limit):
                raise _OutOfOrderError
        return waiting.pop(name)

    def unmatched(self, truth: DuplicateIds) -> UnmatchedCandidates:
        """Return the candidates that are unread or waiting."""
        if self._index is not None:
            return self._index.unmatched(truth)
        names = [name for name in self._waiting if name is not None]
        count = len(names)
        names = names[:_MAX_CANDIDATE_NAMES]
        while ids := self._cursor.take(_PULL_ROWS)[0]:
            known = [name for name in ids if name is not None]
            count += len(known)
            names += known[: _MAX_CANDIDATE_NAMES - len(names)]
        self._duplicates.check()
        return UnmatchedCandidates(count, names)


class OffsetIndex:
    """An index of a JSONL file by the hash of the id, with twenty bytes per row."""

    __slots__ = ("_end", "_hashes", "_layout", "_order", "_source", "_starts", "without_id")

    def __init__(self, source: JsonlSource, layout: Layout, duplicates: DuplicateIds) -> None:
        self._source = source
        self._layout = layout
        self.without_id: list[tuple[int, SideValue]] = []
        self._starts = array("q")
        self._end = 0
        duplicates.restart()
        for block in source.line_blocks():
            parsed = source.parse(block)
            lengths = [len(line) + 1 for line in block.raw.split(b"\n")]
            offsets = list(accumulate(lengths, initial=block.offset))
            self._starts.extend(offsets[position - block.first] for position in parsed.positions)
            batch = apply_layout(parsed, layout)
            self.without_id += batch.rows_without_id()
            duplicates.add(batch.ids)
            self._end = block.offset + len(block.raw)
        duplicates.check()
        hashes = np.frombuffer(duplicates.hashes, dtype=np.int64)
        self._order: NDArray[np.uint32] = np.argsort(hashes, kind="stable").astype(np.uint32)
        self._hashes: NDArray[np.int64] = hashes[self._order]
        duplicates.restart()

    def fetch(self, ids: list[str | None]) -> list[SideValue]:
        """Return the documents with these ids, read in the order of the file."""
        wanted = np.fromiter(map(hash, ids), dtype=np.int64, count=len(ids))
        candidates = np.minimum(np.searchsorted(self._hashes, wanted), len(self._hashes) - 1)
        matching = np.flatnonzero(self._hashes[candidates] == wanted)
        rows = self._order[candidates[matching]]
        values: list[SideValue] = [MISSING] * len(ids)
        in_file_order = np.argsort(rows)
        batch = self._read_rows(rows[in_file_order].tolist())
        for name, value, index in zip(
            batch.ids, batch.values, matching[in_file_order].tolist(), strict=True
        ):
            if name is not None and name == ids[index]:
                values[index] = value
        return values

    def _read_rows(self, rows: list[int]) -> SideBatch:
        starts, last = self._starts, len(self._starts) - 1
        lines = [
            self._source.line_at(starts[row], starts[row + 1] if row < last else self._end)
            for row in rows
        ]
        dialect = self._source.dialect
        counted = dialect.non_finite, dialect.repeated_keys
        parsed = parse_lines(b"\n".join(lines), lines, dialect)
        dialect.non_finite, dialect.repeated_keys = counted
        return apply_layout(RowBlock(parsed, rows), self._layout)

    def unmatched(self, truth: DuplicateIds) -> UnmatchedCandidates:
        """Return the rows whose id is not in the truth."""
        known = np.isin(self._hashes, np.frombuffer(truth.hashes, dtype=np.int64))
        rows = np.sort(self._order[~known])
        first = self._read_rows(rows[: _MAX_CANDIDATE_NAMES + len(self.without_id)].tolist())
        names = [name for name in first.ids if name]
        return UnmatchedCandidates(len(rows) - len(self.without_id), names[:_MAX_CANDIDATE_NAMES])


_BATCH_CASES: Final = 512
_MAX_NAMES: Final = 3
_SAMPLE_ROWS: Final = 16
"""The number of rows from which the size of cases is estimated."""
_PLAIN_TYPES: Final[frozenset[type]] = frozenset((dict, list, int, float, bool, type(None)))
"""Types of documents that need no parsing."""
_make_case: Final[Callable[[Iterable[object]], Case]] = partial(tuple.__new__, Case)


def open_pairs(
    truth: InputLike,
    candidate: InputLike | None = None,
    options: Inputs | None = None,
    *,
    quotes: bool = True,
) -> PairStream:
    """Open two inputs, or one with both sides in each row, as a stream of cases.

    Without `quotes`, warnings do not quote the content of documents.

    >>> pairs = open_pairs([{"id": 1, "expected": {"a": 1}}], [{"id": 1, "candidate": {"a": 2}}])
    >>> [case.candidate for batch in pairs.batches() for case in batch]
    [{'a': 2}]
    """
    options = Inputs() if options is None else options
    if candidate is None:
        opened = open_single_input(truth, options)
    else:
        opened = open_inputs(truth, candidate, options)
    return PairStream(opened, options, quotes=quotes)


class PairedFiles(NamedTuple):
    """Input files that can be read again, as long as they have not changed."""

    truth: InputLike
    candidate: InputLike | None
    options: Inputs
    states: tuple[FileState, ...]

    @classmethod
    def of(
        cls, truth: InputLike, candidate: InputLike | None, options: Inputs
    ) -> PairedFiles | None:
        """Return the inputs as they are now; `None` unless they are regular files."""
        states: list[FileState] = []
        for source in (truth, candidate):
            if source is None:
                continue
            is_path = isinstance(source, str | Path) and str(source) != STDIN
            state = FileState.of(cast("str | Path", source)) if is_path else None
            if state is None:
                return None
            states.append(state)
        return cls(truth=truth, candidate=candidate, options=options, states=tuple(states))

    def open(self) -> PairStream:
        """Open the inputs again."""
        self.check()
        return open_pairs(self.truth, self.candidate, self.options)

    def check(self) -> None:
        """Raise an error if a file has changed."""
        for state in self.states:
            if not state.is_current:
                message = "the file has changed since it was scored, and cases were not saved"
                hint = "save runs with out=DIRECTORY"
                raise DataError(with_hint(message, hint), Location(state.name))


def open_truth(
    truth: InputLike, options: Inputs | None = None, *, unique_ids: bool = True
) -> PairStream:
    """Open one input as a stream of cases, without candidates unless its rows have them.

    Without `unique_ids`, a duplicate id is no error.

    >>> [case.candidate for batch in open_truth([{"a": 1}]).batches() for case in batch]
    [MISSING]
    """
    options = Inputs() if options is None else options
    stream = PairStream(open_single_input(truth, options, truth_alone=True), options)
    stream.unique_ids = unique_ids
    return stream


def open_candidates(
    source: InputLike, options: Inputs, coverage: Coverage | None = None
) -> Iterator[list[Case]]:
    """Yield predictions as cases without ground truth, and add their counts to the `coverage`."""
    side = open_candidate_input(source, options)
    builder = CaseBuilder(side.source, side.dialect, options)
    builder.forms = detect_candidate_form(side, options)
    try:
        for block in side.blocks:
            batch = apply_layout(block, side.layout)
            nothing: list[SideValue] = [{} for _ in range(len(batch))]
            yield builder.build(SideBatch(batch.ids, nothing, batch.positions), batch.values)
    finally:
        side.source.close()
        if coverage is not None:
            coverage.add(builder.coverage)


class ToleratedFaults(NamedTuple):
    """How many deviations from JSON were accepted on one side, and where the first NaN is."""

    repeated_keys: int
    non_finite: int
    first_non_finite: str = ""

    def joined(self, following: ToleratedFaults) -> ToleratedFaults:
        """Return the deviations of this part and the following one together."""
        return ToleratedFaults(
            self.repeated_keys + following.repeated_keys,
            self.non_finite + following.non_finite,
            self.first_non_finite or following.first_non_finite,
        )


class ReadStatistics(NamedTuple):
    """Counts of rows and confidences in a part of the input."""

    coverage: Coverage
    tolerated: tuple[ToleratedFaults, ...]

    def joined(self, following: ReadStatistics) -> ReadStatistics:
        """Return the statistics of this part and the following one together."""
        self.coverage.add(following.coverage)
        sides = zip(self.tolerated, following.tolerated, strict=True)
        tolerated = tuple(part.joined(next_part) for part, next_part in sides)
        return ReadStatistics(self.coverage, tolerated)


class PairStream:
    """Cases in the order of the truth, which can be read once.

    `coverage`, `warnings` and `structural` warnings (the documents are probably not where they are
    read from) are complete when the batches are exhausted; `notes` about how the input is read are
    available immediately. `before` is the number of cases before this part, and `forms` is how the
    documents of the whole are read.
    """

    def __init__(
        self,
        opened: OpenedInputs,
        options: Inputs,
        *,
        quotes: bool = True,
        before: int = 0,
        forms: DocumentForms | None = None,
    ) -> None:
        self.quotes = quotes
        self.options = options
        self.unique_ids = True
        self.format_in = options.format_in
        self._truth = opened.truth
        self._candidate = opened.candidate
        self.by_id = opened.by_id
        self.sides = [side for side in (opened.truth, opened.candidate) if side is not None]
        self._truth.layout = self._truth.layout._replace(context=options.context)
        self._builder = CaseBuilder(
            self._truth.source, self.sides[-1].dialect, options, before=before
        )
        self.notes: list[str] = opened.notes
        if forms is None:
            forms, notes = detect_forms(opened, options)
            self.notes += notes
        self.forms = self._builder.forms = forms
        self.warnings: list[str] = opened.warnings
        self.structural: list[str] = opened.structural
        self._ids = opened.ids
        self._is_part = opened.is_part
        self._first_non_finite = ""
        for side in self.sides:
            self.warnings += side.source.warnings
        for side in self.sides:
            self.notes += side.source.notes
        self._compare_as_text(opened)

    def _compare_as_text(self, opened: OpenedInputs) -> None:
        """Decide whether numbers and booleans are compared as strings, as with a CSV file."""
        if opened.candidate is None:
            return
        truth, candidate = opened.truth, opened.candidate
        documents = [side.layout.value_key is None for side in (truth, candidate)]
        texts = [side.source for side in (truth, candidate) if side.source.text_cells]
        if len(texts) == len(self.sides):
            self._builder.as_text = any(documents) and not all(documents)
            self._builder.text_sources = texts if all(documents) else ()
        elif texts:
            text_side = truth if truth.source.text_cells else candidate
            self._builder.as_text = text_side.layout.value_key is None
            self._builder.candidate_as_text = truth.source.text_cells
            others = "other " if self.forms.types else ""
            self.notes.append(
                f"one input is CSV; {others}numbers and booleans are compared as strings"
            )

    @property
    def coverage(self) -> Coverage:
        """The counts so far."""
        return self._builder.coverage

    @property
    def exports(self) -> tuple[ReadExport, ...]:
        """The exports of tools among the inputs, and what was left out of them so far."""
        return tuple(filter(None, (side.source.read_export() for side in self.sides)))

    @property
    def non_finite(self) -> bool:
        """Whether any number read so far is NaN or infinite."""
        return any(side.dialect.non_finite for side in self.sides)

    @property
    def bytes_total(self) -> int:
        """The size of the inputs in bytes, or 0 if it is unknown."""
        return sum(side.source.bytes_total for side in self.sides)

    @property
    def bytes_read(self) -> int:
        """The number of bytes read so far."""
        sources = [side.source for side in self.sides]
        return sum(min(source.bytes_read, source.bytes_total) for source in sources)

    @property
    def case_bytes(self) -> int:
        """The size of a case as JSON in bytes, estimated from the first rows."""
        total = 0
        for side in self.sides:
            rows = side.sample.rows[:_SAMPLE_ROWS]
            try:
                size = len(orjson.dumps(rows))
            except TypeError:  # not JSON
                size = len(repr(rows))
            total += size // max(1, len(rows))
        return total

    def keep_unparsed(self) -> None:
        """Leave the documents of JSONL files unparsed, if the kernel is available.

        The caller must be able to process them. The first rows, which were parsed to find out how
        rows are read, are read again if the file can be.
        """
        sides = [(side.source, side.layout) for side in self.sides]
        if not COMPILED or self.options.context or self.options.confidences is not None:
            return
        if not self.forms.is_plain:
            return
        for source, layout in sides:
            if not isinstance(source, JsonlSource) or layout.partner_key is not None:
                return
        for side in self.sides:
            source = cast(JsonlSource, side.source)
            source.unparsed = side.layout
            if source.is_seekable:
                side.blocks = source.blocks()
                side.dialect.repeated_keys = side.dialect.non_finite = 0
        self._builder.keeps_unparsed = True

    def batches(self) -> Iterator[list[Case]]:
        """Yield the cases, a few hundred at a time."""
        truth = self._truth_batches()
        if self._candidate is None:
            pairs = self._pairs_of_one_input(truth)
        elif self.by_id:
            pairs = self._pairs_by_id(truth, self._candidate)
        else:
            pairs = self._pairs_by_position(truth, self._candidate)
        try:
            for batch, candidates in pairs:
                cases = self._builder.build(batch, candidates)
                if self.non_finite and not self._first_non_finite:
                    self._first_non_finite = first_non_finite(cases)
                for start in range(0, len(cases), _BATCH_CASES):
                    yield cases[start : start + _BATCH_CASES]
        finally:
            self.close()
        self._add_final_warnings()

    def _truth_batches(self) -> Iterator[SideBatch]:
        contexts = self._truth.source.contexts
        for block in self._truth.blocks:
            batch = apply_layout(block, self._truth.layout)
            if contexts:
                batch.contexts = [contexts.get(name or "") for name in batch.ids]
            yield batch

    def absorb(self, parts: Iterable[ReadStatistics]) -> None:
        """Take the statistics of parts that were read by other processes.

        The first rows were also read here, to find out how rows are read.
        """
        for side in self.sides:
            side.dialect.repeated_keys = side.dialect.non_finite = 0
        for part in parts:
            self.coverage.add(part.coverage)
            for side, tolerated in zip(self.sides, part.tolerated, strict=True):
                side.dialect.repeated_keys += tolerated.repeated_keys
                side.dialect.non_finite += tolerated.non_finite
                self._first_non_finite = self._first_non_finite or tolerated.first_non_finite
        self._add_final_warnings()

    def read_statistics(self) -> ReadStatistics:
        """Return the statistics of this part."""
        dialects = [side.dialect for side in self.sides]
        first = self._first_non_finite
        tolerated = tuple(
            ToleratedFaults(dialect.repeated_keys, dialect.non_finite, first)
            for dialect in dialects
        )
        return ReadStatistics(self.coverage, tolerated)

    def _add_final_warnings(self) -> None:
        unreadable = warn_unreadable_sides(self.coverage, self.sides)
        if self._candidate is not None and not self._is_part:
            ids = self._ids if self.by_id else None
            check_pairs(self.coverage, self.options.pair, ids, unreadable)
        self.structural += unreadable
        if self.coverage.repaired:
            self.warnings.append(warn_repaired(self.coverage.repaired))
        self.warnings += warn_confidences(self.coverage)
        if self.coverage.deviating:
            self.warnings.append(warn_deviating(self.coverage.deviating))
        if self.coverage.other_cells:
            self.warnings.append(warn_other_cells(self.coverage.other_cells))
        for side in self.sides:
            name = side.source.name
            if side.dialect.repeated_keys:
                self.warnings.append(f"{name}: duplicate keys; the last value was used")
            if number := side.dialect.non_finite:
                self.warnings.append(warn_non_finite(name, number, self._first_non_finite))

    def rename(self, names: Sequence[str]) -> None:
        """Name the inputs in messages by their original names."""
        for side, name in zip(self.sides, names, strict=True):
            side.source.path = side.source.path or side.source.name
            side.source.name = name

    def check_unchanged(self) -> None:
        """Raise an error if a remote input has changed since it was opened."""
        for side in self.sides:
            side.source.check_unchanged()

    def close(self) -> None:
        """Close the inputs, as at the end of the batches."""
        for side in self.sides:
            side.source.close()

    def _pairs_of_one_input(
        self, batches: Iterator[SideBatch]
    ) -> Iterator[tuple[SideBatch, list[SideValue]]]:
        named = self._truth.has_ids and self.unique_ids
        ids = DuplicateIds(self._truth.source, self._truth.layout)
        for batch in batches:
            if named:
                ids.add(batch.ids)
            if self._truth.dialect.non_finite:
                for index, value in enumerate(batch.values):
                    if isinstance(value, float | list | dict) and not all_finite(value):
                        batch.values[index] = RowFault("NaN or infinite number")
                        batch.plain = False
            partners = batch.partners
            yield batch, [MISSING] * len(batch) if partners is None else partners
        ids.check()

    def _pairs_by_position(
        self, batches: Iterator[SideBatch], candidate: InputSide
    ) -> Iterator[tuple[SideBatch, list[SideValue]]]:
        cursor = SideCursor(candidate.blocks, candidate.layout)
        for batch in batches:
            values = cursor.take(len(batch))[1]
            yield batch, values + [MISSING] * (len(batch) - len(values))
        extra = 0
        while more := len(cursor.take(_BATCH_CASES)[1]):
            extra += more
        self._add_unmatched(extra, [])

    def _pairs_by_id(
        self, batches: Iterator[SideBatch], candidate: InputSide
    ) -> Iterator[tuple[SideBatch, list[SideValue]]]:
        lookup = open_lookup(candidate.source, candidate.blocks, candidate.layout)
        ids = DuplicateIds(self._truth.source, self._truth.layout)
        for batch in batches:
            ids.add(batch.ids)
            yield batch, lookup.fetch(batch.ids)
        ids.check()
        self._add_unmatched(*lookup.unmatched(ids))
        without_id = lookup.without_id
        self.coverage.unexpected += len(without_id)
        for position, value in without_id[:_MAX_NAMES]:
            reason = value.reason if isinstance(value, RowFault) else "no id"
            why = f": {reason}" if self.quotes else ""
            where = candidate.source.describe(position)
            self.warnings.append(f"{where}: row not paired{why}")
        more = len(without_id) - _MAX_NAMES
        if more > 0:
            self.warnings.append(f"{plural(more, 'more row')} not paired")

    def _add_unmatched(self, total: int, names: list[str]) -> None:
        self.coverage.unexpected += total
        if total:
            more = ", …" if total > len(names) else ""
            shown = f" ({', '.join(names)}{more})" if any(names) else ""
            self.warnings.append(f"{plural(total, 'prediction')} without ground truth{shown}")


class CaseBuilder:
    """Builds cases from the rows of both sides, and counts rows that cannot be read.

    Cases without an id are numbered, starting after `before`. With `keeps_unparsed`, cases contain
    their documents as `unparsed`, which some of them may be. With `as_text`, numbers and booleans
    of both sides are strings; with `candidate_as_text`, only in candidates whose expected value is
    a string. If both sides are `text_sources`, numbers in JSON cells are strings, as numbers in
    other cells are. Documents are read as their `forms` say, and candidates are separated from
    their confidences if the options say so.
    """

    __slots__ = (
        "_before",
        "_confidences",
        "_forms",
        "_keep_context",
        "_read_candidate",
        "_truth",
        "_truth_dialect",
        "_types",
        "as_text",
        "candidate_as_text",
        "coverage",
        "keeps_unparsed",
        "text_sources",
    )

    def __init__(
        self, truth: RowSource, dialect: JsonDialect, options: Inputs, *, before: int = 0
    ) -> None:
        self._truth = truth
        self._truth_dialect = make_dialect(Role.TRUTH, options)
        self._read_candidate = candidate_reader(options, dialect)
        self._keep_context = options.context
        self._confidences = None
        if options.confidences is not None:
            self._confidences = ConfidenceReader(options.confidences)
        self._before = before
        self._forms = PLAIN
        self._types: TypeTree | None = None
        self.coverage = Coverage()
        self.as_text = False
        self.candidate_as_text = False
        self.text_sources: Sequence[RowSource] = ()
        self.keeps_unparsed = False

    @property
    def forms(self) -> DocumentForms:
        """How the documents of both sides are read."""
        return self._forms

    @forms.setter
    def forms(self, forms: DocumentForms) -> None:
        self._forms = forms
        self._types = type_tree(forms.types) if forms.types else None

    def build(self, batch: SideBatch, candidates: list[SideValue]) -> list[Case]:
        """Return the cases of some rows of the truth and their candidates."""
        ids = _case_ids(batch.ids, self._before + self.coverage.total + 1)
        self.coverage.total += len(batch)
        tags = batch.tags if batch.tags is not None else repeat(())
        contexts = batch.contexts if batch.contexts is not None else repeat(None)
        self.as_text = self.as_text or any(source.json_cells for source in self.text_sources)
        as_text = self.as_text or self.candidate_as_text
        plain = _PLAIN_TYPES | DOCUMENTS if self.keeps_unparsed else _PLAIN_TYPES
        parsed = plain.issuperset(map(type, batch.values)) and plain.issuperset(
            map(type, candidates)
        )
        rows = zip(ids, batch.values, candidates, batch.positions, tags, strict=False)
        as_they_are = not as_text and self._confidences is None and self._forms.is_plain
        if batch.plain and as_they_are:
            documents: tuple[Iterable[object], ...] = batch.values, candidates, repeat(None)
            if self.keeps_unparsed:
                pairs = zip(batch.values, candidates, strict=True)
                documents = repeat(None), repeat(MISSING), pairs
            expected, candidate, both = documents
            read = repeat(CaseInput.OK), repeat(""), repeat("")
            columns = zip(
                ids, expected, candidate, *read, tags, contexts, both, repeat(MISSING), strict=False
            )
            cases = list(map(_make_case, columns))
            if parsed:
                return cases
            for index, row in enumerate(rows):
                if type(row[1]) not in plain or type(row[2]) not in plain:
                    cases[index] = self._build_one(*row)
        else:
            cases = [self._build_one(*row) for row in rows]
        if self._keep_context or self._truth.contexts:
            for index, (context, prediction) in enumerate(zip(contexts, candidates, strict=False)):
                document = prediction
                if isinstance(prediction, RatedDocument):
                    document = prediction.document
                text = document if isinstance(document, str) else None
                full = context if text is None else (context or CaseContext())._replace(text=text)
                cases[index] = cases[index]._replace(context=full)
        return cases

    def _build_one(
        self,
        name: str,
        expected: SideValue,
        candidate: SideValue,
        position: int,
        tags: tuple[str, ...],
    ) -> Case:
        where = self._truth.describe(position)
        name = name or where
        if isinstance(expected, str):
            try:
                expected = read_expected(expected, self._truth_dialect)
            except DataError as error:
                expected = RowFault(error.message)
        if isinstance(expected, RowFault) or expected is MISSING:
            self.coverage.invalid_truth += 1
            reason = expected.reason if isinstance(expected, RowFault) else "no ground truth"
            note = f"{where}: {reason}"
            return Case(name, None, MISSING, CaseInput.INVALID_TRUTH, note, "", tags)
        read, parsed_from = (CaseInput.OK, ""), ""
        rated: JsonValue | Missing = MISSING
        if isinstance(candidate, RatedDocument):
            candidate, rated = candidate
        if candidate is MISSING:
            self.coverage.unpaired += 1
            candidate = RowFault("", CaseInput.MISSING)
        elif isinstance(candidate, str):
            # An unparsed document is an object, which is all that matters here.
            document = cast("JsonValue", expected)
            truth = document if unparsed(document) is None else {}
            try:
                candidate, parsed_from = self._read_candidate(truth, candidate)
            except DataError as error:
                candidate = RowFault(error.message)
            self.coverage.repaired += parsed_from == REPAIRED
        if isinstance(candidate, RowFault):
            if candidate.input is CaseInput.MISSING:
                self.coverage.missing += 1
            else:
                self.coverage.unparseable += 1
            read, candidate = (candidate.input, candidate.reason), MISSING
        if self.keeps_unparsed:
            both = cast("UnparsedDocuments", (expected, candidate))
            return Case(name, None, MISSING, *read, parsed_from, tags, unparsed=both)
        documents = cast("tuple[JsonValue, JsonValue | Missing]", (expected, candidate))
        truth, prediction = documents  # neither is unparsed
        confidences: JsonValue | Missing = MISSING
        envelopes = self._forms
        separated = envelopes.expected.separate(truth, prediction)
        self.coverage.deviating += separated.deviates
        if self._confidences is not None and not isinstance(prediction, Missing):
            prediction, confidences = self.coverage.separated(
                self._confidences.read(prediction, rated, envelope=envelopes.candidate, other=truth)
            )
        elif envelopes.candidate and not isinstance(prediction, Missing):
            prediction, _, deviates = envelopes.candidate.separate(prediction, truth)
            self.coverage.deviating += deviates
        candidate_as_text = self.as_text or (self.candidate_as_text and isinstance(truth, str))
        truth = self._read_cells(separated.document, as_text=self.as_text)
        if not isinstance(prediction, Missing):
            whole = candidate_as_text and not isinstance(prediction, str)
            prediction = self._read_cells(prediction, as_text=whole)
        case = Case(name, truth, prediction, *read, parsed_from, tags)
        return case if confidences is MISSING else case._replace(confidences=confidences)

    def _read_cells(self, document: JsonValue, *, as_text: bool) -> JsonValue:
        """Return a document with the types of cells, or with text in place of other values."""
        if self._types is None and not as_text:
            return document
        others: list[str] = []
        read = read_cells(document, self._types, others, as_text=as_text)
        self.coverage.other_cells += len(others)
        return read


def _case_ids(ids: list[str | None], first: int) -> list[str]:
    """Return the ids, or row numbers if there are none; an unreadable id is empty."""
    if None not in ids:
        return cast("list[str]", ids)
    if any(ids):
        return [name or "" for name in ids]
    return [str(number) for number in range(first, first + len(ids))]
