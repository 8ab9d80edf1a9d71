"""SideBatch of both sides as cases, with every fault counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from operator import add
from typing import Final, NamedTuple, cast

import orjson

from fieldmark.data import sides
from fieldmark.data.candidate_lookup import SideCursor, UnmatchedCandidates, look_up_candidates
from fieldmark.data.duplicate_ids import DuplicateIds
from fieldmark.data.input_warnings import warn_no_common_ids, warn_unreadable_sides
from fieldmark.data.inputs import Coverage, InputLike, Inputs, Parse
from fieldmark.data.json_lines import JsonlSource, LineReader, line_readers
from fieldmark.data.json_parser import JsonDialect
from fieldmark.data.layout import RowFault, SideBatch, SideValue, apply_layout, id_text
from fieldmark.data.model_text import parse_model_text
from fieldmark.data.rows import RowSource
from fieldmark.data.sides import InputSide, OpenedInputs, open_both, open_single
from fieldmark.errors import DataError
from fieldmark.model.case import Case, CaseContext, CaseInput
from fieldmark.model.json import MISSING, JsonValue
from fieldmark.model.lines import DEEPEST_ROW, LINES
from fieldmark.values.numbers import all_finite

__all__ = [
    "PLAIN_OR_LINE",
    "CaseBuilder",
    "PairStream",
    "ReadStatistics",
    "as_text",
    "open_pairs",
    "open_truth",
]

_PLAIN: Final[frozenset[type]] = frozenset((dict, list, int, float, bool, type(None)))
PLAIN_OR_LINE: Final = _PLAIN | LINES
_case: Final[Callable[[Iterable[object]], Case]] = partial(tuple.__new__, Case)


def as_text(value: JsonValue) -> JsonValue:
    """A value with its numbers and booleans as the text that JSON writes for them."""
    if isinstance(value, dict):
        return {key: as_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_text(item) for item in value]
    return value if value is None else id_text(value)


class CaseBuilder:
    """Makes cases and counts what could not be read of them.

    `before` cases come before those of this part of the input: cases without an id are numbered.
    Candidates that are `plain` are documents as they stand.
    """

    __slots__ = (
        "_grammar",
        "_parse",
        "_truth",
        "before",
        "candidate_as_text",
        "coverage",
        "expected_as_text",
        "keep_context",
        "plain",
    )

    def __init__(self, truth: RowSource, dialect: JsonDialect, parse: Parse | str) -> None:
        self._truth = truth
        self._grammar = dialect
        self._parse = parse
        self.coverage = Coverage()
        self.expected_as_text = False
        self.candidate_as_text = False
        self.keep_context = False
        self.before = 0
        self.plain = _PLAIN

    def make(self, entries: SideBatch, candidates: list[SideValue]) -> list[Case]:
        """The cases of some entries of the truth and their candidates."""
        first = self.before + self.coverage.total + 1
        self.coverage.total += len(entries)
        ids = _names(entries.ids, first)
        tags = entries.tags if entries.tags is not None else repeat(())
        contexts = entries.contexts if entries.contexts is not None else repeat(None)
        texts = self.expected_as_text or self.candidate_as_text
        if entries.plain and not texts and self.plain.issuperset(map(type, candidates)):
            read = repeat(CaseInput.OK), repeat(""), repeat("")
            plain = zip(ids, entries.values, candidates, *read, tags, contexts, strict=False)
            return list(map(_case, plain))
        columns = zip(ids, entries.values, candidates, entries.places, tags, strict=False)
        cases = [self._one(*column) for column in columns]
        if not self.keep_context:
            return cases
        return list(map(_with_context, cases, contexts, candidates))

    def _one(
        self,
        name: str,
        expected: SideValue,
        candidate: SideValue,
        place: int,
        tags: tuple[str, ...],
    ) -> Case:
        where = self._truth.describe(place)
        if isinstance(expected, RowFault) or expected is MISSING:
            self.coverage.invalid_truth += 1
            reason = expected.reason if isinstance(expected, RowFault) else "no truth"
            note = f"{where}: {reason}"
            return Case(name or where, None, MISSING, CaseInput.INVALID_TRUTH, note, "", tags)
        name = name or where
        if self.expected_as_text:
            expected = as_text(cast("JsonValue", expected))
        if candidate is MISSING:
            candidate = RowFault("", CaseInput.MISSING)
        parsed_from = ""
        if isinstance(candidate, str) and not isinstance(expected, str):
            candidate, parsed_from = self._read(candidate)
        if isinstance(candidate, RowFault):
            if candidate.input is CaseInput.MISSING:
                self.coverage.missing += 1
            else:
                self.coverage.unparseable += 1
            read = candidate.input, candidate.reason
            return Case(name, cast("JsonValue", expected), MISSING, *read, "", tags)
        if self.candidate_as_text and not isinstance(candidate, str):
            candidate = as_text(cast("JsonValue", candidate))
        documents = cast("tuple[JsonValue, JsonValue]", (expected, candidate))
        return Case(name, *documents, CaseInput.OK, "", parsed_from, tags)

    def _read(self, text: str) -> tuple[JsonValue | RowFault, str]:
        try:
            found = parse_model_text(text, self._grammar, self._parse)
        except DataError as error:
            return RowFault(error.message), ""
        return found.value, found.parsed_from


def _with_context(case: Case, context: CaseContext | None, candidate: SideValue) -> Case:
    """The case with what came along, and with the candidate's own text if it was text."""
    if isinstance(candidate, str):
        context = (context or CaseContext())._replace(text=candidate)
    return case._replace(context=context)


def _names(ids: list[str | None], first: int) -> list[str]:
    """Ids, or the numbers of the rows where there are none; empty where an id is read_error."""
    if None not in ids:
        return ids  # type: ignore[return-value]
    if any(ids):
        return [name or "" for name in ids]
    return [str(number) for number in range(first, first + len(ids))]


_BATCH: Final = 512
_NAMED: Final = 3
_TYPICAL: Final = 16
"""Rows that tell how large the others are."""


def open_pairs(
    truth: InputLike,
    candidate: InputLike | None = None,
    options: Inputs | None = None,
    *,
    quotes: bool = True,
) -> PairStream:
    """Open two inputs, or one whose rows hold both sides, as a stream of cases.

    Without `quotes`, warnings say nothing of what the documents hold.

    >>> pairs = open_pairs([{"id": 1, "expected": {"a": 1}}], [{"id": 1, "candidate": {"a": 2}}])
    >>> [case.candidate for batch in pairs.batches() for case in batch]
    [{'a': 2}]
    """
    options = Inputs() if options is None else options
    if candidate is None:
        return PairStream(open_single(truth, options), options, quotes=quotes)
    return PairStream(open_both(truth, candidate, options), options, quotes=quotes)


def open_truth(truth: InputLike, options: Inputs | None = None) -> PairStream:
    """Open one input as a stream of cases without candidates, unless its rows hold both sides.

    >>> [case.candidate for batch in open_truth([{"a": 1}]).batches() for case in batch]
    [MISSING]
    """
    options = Inputs() if options is None else options
    return PairStream(sides.open_truth(truth, options), options)


class ToleratedFaults(NamedTuple):
    """What was let pass on one side, and how often."""

    repeated_keys: int
    non_finite: int


class ReadStatistics(NamedTuple):
    """What was found while a part of the input was read."""

    coverage: Coverage
    leniency: tuple[ToleratedFaults, ...]

    def joined(self, following: ReadStatistics) -> ReadStatistics:
        """This part and the one that follows, as if they were one."""
        self.coverage.add(following.coverage)
        sides = zip(self.leniency, following.leniency, strict=True)
        leniency = tuple(ToleratedFaults(*map(add, one, other)) for one, other in sides)
        return ReadStatistics(self.coverage, leniency)


class PairStream:
    """Cases in the order of the truth, read once.

    `coverage` and `warnings` are complete when the batches are exhausted; `notes` say at once how
    the input was understood.
    """

    def __init__(
        self, opened: OpenedInputs, options: Inputs, *, quotes: bool = True, before: int = 0
    ) -> None:
        self.quotes = quotes
        self.options = options
        self.format_in = options.format_in
        self._truth = opened.truth
        self._candidate = opened.candidate
        self.by_id = opened.by_id
        self.sides = [side for side in (opened.truth, opened.candidate) if side is not None]
        self._maker = CaseBuilder(self._truth.source, self.sides[-1].dialect, options.parse)
        self._maker.keep_context = options.context
        self._maker.before = before
        self._truth.layout = replace(self._truth.layout, context=options.context)
        self.notes: list[str] = opened.notes
        self.warnings: list[str] = opened.warnings
        for side in self.sides:
            self.warnings += side.source.warnings
        self._against_text()

    @property
    def coverage(self) -> Coverage:
        """What was found so far."""
        return self._maker.coverage

    @property
    def non_finite(self) -> bool:
        """Whether some number that was read so far is NaN or infinite."""
        return any(side.dialect.non_finite for side in self.sides)

    @property
    def bytes_total(self) -> int:
        """The size of the inputs, 0 where it is unknown."""
        return sum(side.source.bytes_total for side in self.sides)

    @property
    def bytes_read(self) -> int:
        """How much of the inputs has been read."""
        sources = [side.source for side in self.sides]
        return sum(min(source.bytes_read, source.bytes_total) for source in sources)

    @property
    def case_bytes(self) -> int:
        """How large a case is as JSON, about: as large as those that the input begins with."""
        return sum(_typical_bytes(side.sample.rows[:_TYPICAL]) for side in self.sides)

    def keep_lines(self, readers: Sequence[LineReader] | None = None) -> None:
        """Let documents of one form stay the lines they are, for those who can take them.

        The readers of such lines were made before, or are made for what the sides begin with.
        """
        sources = [side.source for side in self.sides]
        files = [source for source in sources if isinstance(source, JsonlSource)]
        shallow = self.options.limits.depth < DEEPEST_ROW
        if len(files) < len(sources) or self.options.context or shallow:
            return
        found = self.line_readers() if readers is None else readers
        for source, reader in zip(files, found, strict=False):
            source.reader = reader
        self._maker.plain = PLAIN_OR_LINE

    def line_readers(self) -> Sequence[LineReader]:
        """Readers for sides that begin with documents of one form; else none."""
        return line_readers([(side.layout, side.sample.rows) for side in self.sides])

    def batches(self) -> Iterator[list[Case]]:
        """The cases, a few hundred at a time."""
        try:
            for entries, candidates in self._joined():
                cases = self._maker.make(entries, candidates)
                for start in range(0, len(cases), _BATCH):
                    yield cases[start : start + _BATCH]
        finally:
            self.close()
        self._finish()

    def absorb(self, parts: Iterable[ReadStatistics]) -> None:
        """Take over what was found where the stream was read in parts, by others."""
        for part in parts:
            self.coverage.add(part.coverage)
            for side, lenient in zip(self.sides, part.leniency, strict=True):
                side.dialect.repeated_keys += lenient.repeated_keys
                side.dialect.non_finite += lenient.non_finite
        self._finish()

    def read_statistics(self) -> ReadStatistics:
        """What was found in a part, for the stream of the whole."""
        leniency = tuple(
            ToleratedFaults(side.dialect.repeated_keys, side.dialect.non_finite)
            for side in self.sides
        )
        return ReadStatistics(self.coverage, leniency)

    def _finish(self) -> None:
        self.warnings += warn_unreadable_sides(self.coverage, self.sides)
        self._warn_of_leniency()

    def close(self) -> None:
        """Close the inputs; exhausting the batches does the same."""
        for side in self.sides:
            side.source.close()

    def _joined(self) -> Iterator[tuple[SideBatch, list[SideValue]]]:
        truth = self._truth
        entries = (apply_layout(block, truth.layout) for block in truth.blocks)
        if self._candidate is None:
            return self._of_one_input(entries)
        if self.by_id:
            return self._joined_by_id(entries, self._candidate)
        return self._joined_by_position(entries, self._candidate)

    def _of_one_input(
        self, rows: Iterator[SideBatch]
    ) -> Iterator[tuple[SideBatch, list[SideValue]]]:
        named = self._truth.has_ids
        seen = DuplicateIds(self._truth.source, self._truth.layout)
        for entries in rows:
            if named:
                seen.add(entries.ids)
            if self._truth.dialect.non_finite:
                _refuse_non_finite(entries)
            partners = entries.partners
            yield entries, [MISSING] * len(entries) if partners is None else partners
        seen.check()

    def _joined_by_position(
        self, rows: Iterator[SideBatch], candidate: InputSide
    ) -> Iterator[tuple[SideBatch, list[SideValue]]]:
        cursor = SideCursor(candidate.blocks, candidate.layout, None)
        for entries in rows:
            values = cursor.take(len(entries))[1]
            yield entries, values + [MISSING] * (len(entries) - len(values))
        extra = 0
        while more := len(cursor.take(_BATCH)[1]):
            extra += more
        self._unexpected(UnmatchedCandidates(extra, []))

    def _joined_by_id(
        self, rows: Iterator[SideBatch], candidate: InputSide
    ) -> Iterator[tuple[SideBatch, list[SideValue]]]:
        partner = look_up_candidates(candidate.source, candidate.blocks, candidate.layout)
        seen = DuplicateIds(self._truth.source, self._truth.layout)
        asked: list[str] = []
        for entries in rows:
            seen.add(entries.ids)
            asked += filter(None, entries.ids[: _NAMED - len(asked)])
            yield entries, partner.fetch(entries.ids)
        seen.check()
        leftover = partner.leftover(seen)
        self.warnings += warn_no_common_ids(self.coverage, asked, leftover)
        self._unexpected(leftover)
        self.coverage.unexpected += len(partner.lost)
        for place, value in partner.lost[:_NAMED]:
            reason = value.reason if isinstance(value, RowFault) else "no id"
            why = f": {reason}" if self.quotes else ""
            where = candidate.source.describe(place)
            self.warnings.append(f"{where}: no case gets this row{why}")
        if len(partner.lost) > _NAMED:
            self.warnings.append(f"… and {len(partner.lost) - _NAMED} more such rows")

    def _unexpected(self, leftover: UnmatchedCandidates) -> None:
        self.coverage.unexpected += leftover.total
        if leftover.total:
            names = ", ".join(leftover.names)
            more = ", …" if leftover.names and leftover.total > len(leftover.names) else ""
            said = f" ({names}{more})" if names else ""
            self.warnings.append(f"candidates without truth: {leftover.total}{said}")

    def _against_text(self) -> None:
        """Where one side is CSV, let the other side's numbers and booleans be text too."""
        if self._candidate is None:
            return
        truth, candidate = self._truth, self._candidate
        if truth.source.text_cells == candidate.source.text_cells:
            return
        self._maker.candidate_as_text = truth.source.text_cells
        self._maker.expected_as_text = (
            candidate.source.text_cells and candidate.layout.value_key is None
        )
        self.notes.append("one side is CSV: numbers and booleans are compared by their text")

    def _warn_of_leniency(self) -> None:
        for side in self.sides:
            name = side.source.name
            if side.dialect.repeated_keys:
                self.warnings.append(f"{name}: keys occur twice; the last value was taken")
            if side.dialect.non_finite:
                self.warnings.append(f"{name}: NaN or infinite numbers; each is an invalid number")


def _typical_bytes(rows: Sequence[object]) -> int:
    """The mean size of some rows as JSON, or as Python shows them where they are none."""
    try:
        return len(orjson.dumps(rows)) // max(1, len(rows))
    except TypeError:
        return len(repr(rows)) // max(1, len(rows))


def _refuse_non_finite(entries: SideBatch) -> None:
    """A truth that holds NaN or an infinite number is none."""
    for place, value in enumerate(entries.values):
        if isinstance(value, float | list | dict) and not all_finite(value):
            entries.values[place] = RowFault("a number is not finite")
            entries.plain = False
