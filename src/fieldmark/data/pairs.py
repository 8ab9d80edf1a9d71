"""Pairs of truth and candidate, streamed: driven by the truth, joined by id or by position."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import add
from typing import Final, NamedTuple

import orjson

from fieldmark.data import opening
from fieldmark.data.cases import PLAIN_OR_LINE, CaseMaker, is_finite
from fieldmark.data.entries import Entries, Fault, Value, entries_of
from fieldmark.data.inputs import Coverage, Inputs
from fieldmark.data.jsonl import JsonlSource
from fieldmark.data.known_lines import LineReader, line_readers
from fieldmark.data.opening import Opened, Side, open_both, open_single
from fieldmark.data.partners import Cursor, partner_of
from fieldmark.data.seen import Leftover, Seen
from fieldmark.data.sources import Given
from fieldmark.data.suspicions import strangers, unread
from fieldmark.model.case import Case
from fieldmark.model.json import MISSING
from fieldmark.model.lines import DEEPEST_ROW

__all__ = ["PairStream", "PartRead", "open_pairs", "open_truth"]

_BATCH: Final = 512
_NAMED: Final = 3
_TYPICAL: Final = 16
"""Rows that tell how large the others are."""


def open_pairs(
    truth: Given,
    candidate: Given | None = None,
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


def open_truth(truth: Given, options: Inputs | None = None) -> PairStream:
    """Open one input as a stream of cases without candidates, unless its rows hold both sides.

    >>> [case.candidate for batch in open_truth([{"a": 1}]).batches() for case in batch]
    [MISSING]
    """
    options = Inputs() if options is None else options
    return PairStream(opening.open_truth(truth, options), options)


class Leniency(NamedTuple):
    """What was let pass on one side, and how often."""

    repeated_keys: int
    non_finite: int


class PartRead(NamedTuple):
    """What was found while a part of the input was read."""

    coverage: Coverage
    leniency: tuple[Leniency, ...]

    def joined(self, following: PartRead) -> PartRead:
        """This part and the one that follows, as if they were one."""
        self.coverage.add(following.coverage)
        sides = zip(self.leniency, following.leniency, strict=True)
        leniency = tuple(Leniency(*map(add, one, other)) for one, other in sides)
        return PartRead(self.coverage, leniency)


class PairStream:
    """Cases in the order of the truth, read once.

    `coverage` and `warnings` are complete when the batches are exhausted; `notes` say at once how
    the input was understood.
    """

    def __init__(
        self, opened: Opened, options: Inputs, *, quotes: bool = True, before: int = 0
    ) -> None:
        self.quotes = quotes
        self.options = options
        self.format_in = options.format_in
        self._truth = opened.truth
        self._candidate = opened.candidate
        self.by_id = opened.by_id
        self.sides = [side for side in (opened.truth, opened.candidate) if side is not None]
        self._maker = CaseMaker(self._truth.source, self.sides[-1].grammar, options.parse)
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
        return any(side.grammar.non_finite for side in self.sides)

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

    def absorb(self, parts: Iterable[PartRead]) -> None:
        """Take over what was found where the stream was read in parts, by others."""
        for part in parts:
            self.coverage.add(part.coverage)
            for side, lenient in zip(self.sides, part.leniency, strict=True):
                side.grammar.repeated_keys += lenient.repeated_keys
                side.grammar.non_finite += lenient.non_finite
        self._finish()

    def part_read(self) -> PartRead:
        """What was found in a part, for the stream of the whole."""
        leniency = tuple(
            Leniency(side.grammar.repeated_keys, side.grammar.non_finite) for side in self.sides
        )
        return PartRead(self.coverage, leniency)

    def _finish(self) -> None:
        self.warnings += unread(self.coverage, self.sides)
        self._warn_of_leniency()

    def close(self) -> None:
        """Close the inputs; exhausting the batches does the same."""
        for side in self.sides:
            side.source.close()

    def _joined(self) -> Iterator[tuple[Entries, list[Value]]]:
        truth = self._truth
        entries = (entries_of(block, truth.layout) for block in truth.blocks)
        if self._candidate is None:
            return self._of_one_input(entries)
        if self.by_id:
            return self._joined_by_id(entries, self._candidate)
        return self._joined_by_position(entries, self._candidate)

    def _of_one_input(self, rows: Iterator[Entries]) -> Iterator[tuple[Entries, list[Value]]]:
        named = self._truth.has_ids
        seen = Seen(self._truth.source, self._truth.layout)
        for entries in rows:
            if named:
                seen.add(entries)
            if self._truth.grammar.non_finite:
                _refuse_non_finite(entries)
            partners = entries.partners
            yield entries, [MISSING] * len(entries) if partners is None else partners
        seen.check()

    def _joined_by_position(
        self, rows: Iterator[Entries], candidate: Side
    ) -> Iterator[tuple[Entries, list[Value]]]:
        cursor = Cursor(candidate.blocks, candidate.layout, None)
        for entries in rows:
            values = cursor.take(len(entries))[1]
            yield entries, values + [MISSING] * (len(entries) - len(values))
        extra = 0
        while more := len(cursor.take(_BATCH)[1]):
            extra += more
        self._unexpected(Leftover(extra, []))

    def _joined_by_id(
        self, rows: Iterator[Entries], candidate: Side
    ) -> Iterator[tuple[Entries, list[Value]]]:
        partner = partner_of(candidate.source, candidate.blocks, candidate.layout)
        seen = Seen(self._truth.source, self._truth.layout)
        asked: list[str] = []
        for entries in rows:
            seen.add(entries)
            asked += filter(None, entries.ids[: _NAMED - len(asked)])
            yield entries, partner.fetch(entries.ids)
        seen.check()
        leftover = partner.leftover(seen)
        self.warnings += strangers(self.coverage, asked, leftover)
        self._unexpected(leftover)
        self.coverage.unexpected += len(partner.lost)
        for place, value in partner.lost[:_NAMED]:
            reason = value.reason if isinstance(value, Fault) else "no id"
            why = f": {reason}" if self.quotes else ""
            where = candidate.source.phrase(place)
            self.warnings.append(f"{where}: no case gets this row{why}")
        if len(partner.lost) > _NAMED:
            self.warnings.append(f"… and {len(partner.lost) - _NAMED} more such rows")

    def _unexpected(self, leftover: Leftover) -> None:
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
            if side.grammar.repeated_keys:
                self.warnings.append(f"{name}: keys occur twice; the last value was taken")
            if side.grammar.non_finite:
                self.warnings.append(f"{name}: NaN or infinite numbers; each is an invalid number")


def _typical_bytes(rows: Sequence[object]) -> int:
    """The mean size of some rows as JSON, or as Python shows them where they are none."""
    try:
        return len(orjson.dumps(rows)) // max(1, len(rows))
    except TypeError:
        return len(repr(rows)) // max(1, len(rows))


def _refuse_non_finite(entries: Entries) -> None:
    """A truth that holds NaN or an infinite number is none."""
    for place, value in enumerate(entries.values):
        if isinstance(value, float | list | dict) and not is_finite(value):
            entries.values[place] = Fault("a number is not finite")
            entries.plain = False
