"""Pairs of JSONL files cut into portions that can be read one without the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from fieldmark.data.files import is_compressed, open_file
from fieldmark.data.inputs import Inputs, Role
from fieldmark.data.json_lines import (
    JsonlSource,
    LineReader,
    line_readers,
)
from fieldmark.data.json_parser import JsonDialect, Row
from fieldmark.data.layout import Layout
from fieldmark.data.line_offsets import (
    IrregularLinesError,
    LineBlock,
    LineOffsets,
    nth_line_offsets,
    read_line_blocks,
    read_line_offsets,
)
from fieldmark.data.pairing import PairStream
from fieldmark.data.rows import RowBlock
from fieldmark.data.sides import InputSide, OpenedInputs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Partition", "PartitionOpener", "Partitions", "partition"]

_FIRST: Final = 64
"""Rows of each side from which a form of documents is learnt."""


class LineRange(NamedTuple):
    """Some lines of a file: where they begin and end, and the number of the first."""

    start: int
    end: int
    first: int


class Partition(NamedTuple):
    """Some cases: the lines of the truth, and those of the candidate where there is one.

    There are `cases` of them, or more; a blank line is none.
    """

    truth: LineRange
    candidate: LineRange | None = None
    cases: int = 0

    @property
    def size(self) -> int:
        """The bytes of both sides."""
        theirs = self.candidate
        return self.truth.end - self.truth.start + (theirs.end - theirs.start if theirs else 0)


@dataclass(slots=True)
class _PartitionSource(JsonlSource):
    """The rows of some lines of a file."""

    part: LineRange = field(default=LineRange(0, 0, 1))

    def line_blocks(self) -> Iterator[LineBlock]:
        """The lines, in the same small pieces as those of a whole file."""
        start, end, first = self.part
        if start == end:
            return
        opened = open_file(Path(self.name))
        try:
            opened.stream.seek(start)
            raw = opened.stream.read(end - start)
        finally:
            opened.close()
        self.bytes_read = end - start
        for block in read_line_blocks(BytesIO(raw), self.dialect.limits.line_bytes, self.name):
            yield LineBlock(block.raw, first + block.first - 1, start + block.offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SideOpener:
    path: str
    layout: Layout
    role: Role
    first_rows: tuple[Row, ...]

    def opened(self, part: LineRange, options: Inputs) -> InputSide:
        dialect = JsonDialect(role=self.role, duplicates=options.duplicates, limits=options.limits)
        source = _PartitionSource(self.path, dialect, part=part)
        return InputSide(source, dialect, source.blocks(), RowBlock([], []), self.layout)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionOpener:
    """How to open a portion anywhere: in this process or in another."""

    truth: _SideOpener
    candidate: _SideOpener | None
    by_id: bool
    options: Inputs
    quotes: bool

    def open(self, portion: Partition) -> PairStream:
        """The cases of a portion."""
        truth = self.truth.opened(portion.truth, self.options)
        candidate = None
        if self.candidate is not None and portion.candidate is not None:
            candidate = self.candidate.opened(portion.candidate, self.options)
        opened = OpenedInputs(truth, candidate, by_id=self.by_id)
        before = portion.truth.first - 1
        return PairStream(opened, self.options, quotes=self.quotes, before=before)

    def line_readers(self) -> Sequence[LineReader]:
        """Readers of lines for all portions, if their documents seem to have one form."""
        sides = [self.truth] if self.candidate is None else [self.truth, self.candidate]
        return line_readers([(side.layout, side.first_rows) for side in sides])


class Partitions:
    """The portions of a stream, found as they are asked for; `recipe` says how to open them.

    `whole` is whether the portions were all, when there are no more: where lines turn out to be
    of a kind that must be read from the top, they end before.
    """

    def __init__(self, opener: PartitionOpener, portions: Iterator[Partition]) -> None:
        self.opener = opener
        self.whole = False
        self._portions = portions

    def __iter__(self) -> Iterator[Partition]:
        try:
            yield from self._portions
        except IrregularLinesError:
            return
        self.whole = True


def partition(stream: PairStream, size: int, *, careful: bool = False) -> Partitions | None:
    """The portions of a stream, so many cases each; nothing if it must be read from the top.

    Both sides must be plain files of lines. They are taken to be in step without a look at their
    ids, unless `careful`: whoever reads the portions finds out. Then, where they are paired by id,
    the candidates must stand in the order of the truth; some may be missing.
    """
    sides = stream.sides
    if not all(_is_plain(side) for side in sides):
        return None
    recipes = [
        _SideOpener(
            path=side.source.name,
            layout=side.layout,
            role=side.dialect.role,
            first_rows=tuple(side.sample.rows[:_FIRST]),
        )
        for side in sides
    ]
    recipe = PartitionOpener(
        truth=recipes[0],
        candidate=recipes[1] if len(recipes) > 1 else None,
        by_id=stream.by_id,
        options=stream.options,
        quotes=stream.quotes,
    )
    if not careful:
        return Partitions(recipe, _in_step(stream, size))
    found = _measured(stream)
    if found is None:
        return None
    rulers, places = found
    candidate = rulers[1] if len(sides) > 1 else None
    return Partitions(recipe, iter(_portions(rulers[0], candidate, places, size)))


def _in_step(stream: PairStream, size: int) -> Iterator[Partition]:
    """Portions with as many lines of both sides; what one has more than the other comes last."""
    limit = stream.options.limits.line_bytes
    own, *other = (
        pairwise(nth_line_offsets(Path(side.source.name), size, limit)) for side in stream.sides
    )
    theirs = other[0] if other else None
    upcoming, first, end = next(own, None), 1, 0
    while upcoming is not None:
        mine, upcoming = upcoming, next(own, None)
        truth, candidate = LineRange(*mine, first), None
        if theirs is not None:
            begin, end = next(theirs, (end, end))
            if upcoming is None:
                end = max((further for _, further in theirs), default=end)
            candidate = LineRange(begin, end, first)
        yield Partition(truth, candidate, 0 if upcoming is None else size)
        first += size


def _measured(stream: PairStream) -> tuple[list[LineOffsets], NDArray[np.int64]] | None:
    """Where the rows of each side begin, and where in the truth each candidate belongs."""
    rulers = _rulers(stream, ids=stream.by_id)
    places = None if rulers is None else _places(rulers[0], rulers[-1])
    return None if rulers is None or places is None else (rulers, places)


def _rulers(stream: PairStream, *, ids: bool) -> list[LineOffsets] | None:
    rulers = [_ruler(side, stream.options, ids=ids) for side in stream.sides]
    return None if None in rulers else [ruler for ruler in rulers if ruler is not None]


def _is_plain(side: InputSide) -> bool:
    source = side.source
    if not isinstance(source, JsonlSource) or not source.from_path:
        return False
    return not is_compressed(Path(source.name))


def _ruler(side: InputSide, options: Inputs, *, ids: bool) -> LineOffsets | None:
    key = side.layout.id_key if ids else None
    if ids and key is None:
        return None
    return read_line_offsets(Path(side.source.name), key, options.limits.line_bytes)


def _places(truth: LineOffsets, candidate: LineOffsets) -> NDArray[np.int64] | None:
    """The place in the truth of every candidate; nothing if they are not in one order."""
    import numpy as np

    if truth.ids is None or candidate.ids is None:
        return np.arange(len(candidate)) if len(candidate) <= len(truth) else None
    order = np.argsort(truth.ids, kind="stable")
    ordered = truth.ids[order]
    if len(ordered) > 1 and (np.diff(ordered) == 0).any():
        return None
    found = np.minimum(np.searchsorted(ordered, candidate.ids), len(ordered) - 1)
    places: NDArray[np.int64] = order[found]
    in_order = bool((np.diff(places) > 0).all())
    return places if in_order and bool((ordered[found] == candidate.ids).all()) else None


def _portions(
    truth: LineOffsets, candidate: LineOffsets | None, places: NDArray[np.int64], size: int
) -> list[Partition]:
    import numpy as np

    edges = np.append(np.arange(0, len(truth), size), len(truth))
    theirs = np.searchsorted(places, edges)
    return [
        Partition(
            _slice(truth, int(edges[number]), int(edges[number + 1])),
            None
            if candidate is None
            else _slice(candidate, int(theirs[number]), int(theirs[number + 1])),
        )
        for number in range(len(edges) - 1)
    ]


def _slice(ruler: LineOffsets, first: int, end: int) -> LineRange:
    return LineRange(int(ruler.starts[first]), int(ruler.starts[end]), first + 1)
