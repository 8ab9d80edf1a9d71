"""Pairs of JSONL files cut into portions that can be read one without the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from fieldmark.data.exact import Grammar
from fieldmark.data.files import open_file
from fieldmark.data.inputs import Inputs, Role
from fieldmark.data.jsonl import JsonlSource, LineBlock, lines_of
from fieldmark.data.known_lines import LineReader, line_readers
from fieldmark.data.layout import Layout
from fieldmark.data.opening import Opened, Side
from fieldmark.data.packed import is_packed
from fieldmark.data.pairs import PairStream
from fieldmark.data.parsing import Row
from fieldmark.data.rows import RowBlock
from fieldmark.data.ruler import IrregularError, Ruler, marks, measured

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Cut", "Portion", "Recipe", "cut"]

_FIRST: Final = 64
"""Rows of each side from which a form of documents is learnt."""


class Slice(NamedTuple):
    """Some lines of a file: where they begin and end, and the number of the first."""

    start: int
    end: int
    first: int


class Portion(NamedTuple):
    """Some cases: the lines of the truth, and those of the candidate where there is one.

    There are `cases` of them, or more; a blank line is none.
    """

    truth: Slice
    candidate: Slice | None = None
    cases: int = 0

    @property
    def size(self) -> int:
        """The bytes of both sides."""
        theirs = self.candidate
        return self.truth.end - self.truth.start + (theirs.end - theirs.start if theirs else 0)


@dataclass(slots=True)
class _Sliced(JsonlSource):
    """The rows of some lines of a file."""

    part: Slice = field(default=Slice(0, 0, 1))

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
        for block in lines_of(BytesIO(raw), self.grammar.limits.line_bytes, self.name):
            yield LineBlock(block.raw, first + block.first - 1, start + block.offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SideRecipe:
    path: str
    layout: Layout
    role: Role
    first_rows: tuple[Row, ...]

    def opened(self, part: Slice, options: Inputs) -> Side:
        grammar = Grammar(role=self.role, duplicates=options.duplicates, limits=options.limits)
        source = _Sliced(self.path, grammar, part=part)
        return Side(source, grammar, source.blocks(), RowBlock([], []), self.layout)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How to open a portion anywhere: in this process or in another."""

    truth: _SideRecipe
    candidate: _SideRecipe | None
    by_id: bool
    options: Inputs
    quotes: bool

    def open(self, portion: Portion) -> PairStream:
        """The cases of a portion."""
        truth = self.truth.opened(portion.truth, self.options)
        candidate = None
        if self.candidate is not None and portion.candidate is not None:
            candidate = self.candidate.opened(portion.candidate, self.options)
        opened = Opened(truth, candidate, by_id=self.by_id)
        before = portion.truth.first - 1
        return PairStream(opened, self.options, quotes=self.quotes, before=before)

    def line_readers(self) -> Sequence[LineReader]:
        """Readers of lines for all portions, if their documents seem to have one form."""
        sides = [self.truth] if self.candidate is None else [self.truth, self.candidate]
        return line_readers([(side.layout, side.first_rows) for side in sides])


class Cut:
    """The portions of a stream, found as they are asked for; `recipe` says how to open them.

    `whole` is whether the portions were all, when there are no more: where lines turn out to be
    of a kind that must be read from the top, they end before.
    """

    def __init__(self, recipe: Recipe, portions: Iterator[Portion]) -> None:
        self.recipe = recipe
        self.whole = False
        self._portions = portions

    def __iter__(self) -> Iterator[Portion]:
        try:
            yield from self._portions
        except IrregularError:
            return
        self.whole = True


def cut(stream: PairStream, size: int, *, careful: bool = False) -> Cut | None:
    """The portions of a stream, so many cases each; nothing if it must be read from the top.

    Both sides must be plain files of lines. They are taken to be in step without a look at their
    ids, unless `careful`: whoever reads the portions finds out. Then, where they are paired by id,
    the candidates must stand in the order of the truth; some may be missing.
    """
    sides = stream.sides
    if not all(_is_plain(side) for side in sides):
        return None
    recipes = [
        _SideRecipe(
            path=side.source.name,
            layout=side.layout,
            role=side.grammar.role,
            first_rows=tuple(side.sample.rows[:_FIRST]),
        )
        for side in sides
    ]
    recipe = Recipe(
        truth=recipes[0],
        candidate=recipes[1] if len(recipes) > 1 else None,
        by_id=stream.by_id,
        options=stream.options,
        quotes=stream.quotes,
    )
    if not careful:
        return Cut(recipe, _in_step(stream, size))
    found = _measured(stream)
    if found is None:
        return None
    rulers, places = found
    candidate = rulers[1] if len(sides) > 1 else None
    return Cut(recipe, iter(_portions(rulers[0], candidate, places, size)))


def _in_step(stream: PairStream, size: int) -> Iterator[Portion]:
    """Portions with as many lines of both sides; what one has more than the other comes last."""
    limit = stream.options.limits.line_bytes
    own, *other = (pairwise(marks(Path(side.source.name), size, limit)) for side in stream.sides)
    theirs = other[0] if other else None
    upcoming, first, end = next(own, None), 1, 0
    while upcoming is not None:
        mine, upcoming = upcoming, next(own, None)
        truth, candidate = Slice(*mine, first), None
        if theirs is not None:
            begin, end = next(theirs, (end, end))
            if upcoming is None:
                end = max((further for _, further in theirs), default=end)
            candidate = Slice(begin, end, first)
        yield Portion(truth, candidate, 0 if upcoming is None else size)
        first += size


def _measured(stream: PairStream) -> tuple[list[Ruler], NDArray[np.int64]] | None:
    """Where the rows of each side begin, and where in the truth each candidate belongs."""
    rulers = _rulers(stream, ids=stream.by_id)
    places = None if rulers is None else _places(rulers[0], rulers[-1])
    return None if rulers is None or places is None else (rulers, places)


def _rulers(stream: PairStream, *, ids: bool) -> list[Ruler] | None:
    rulers = [_ruler(side, stream.options, ids=ids) for side in stream.sides]
    return None if None in rulers else [ruler for ruler in rulers if ruler is not None]


def _is_plain(side: Side) -> bool:
    source = side.source
    if not isinstance(source, JsonlSource) or not source.from_path:
        return False
    return not is_packed(Path(source.name))


def _ruler(side: Side, options: Inputs, *, ids: bool) -> Ruler | None:
    key = side.layout.id_key if ids else None
    if ids and key is None:
        return None
    return measured(Path(side.source.name), key, options.limits.line_bytes)


def _places(truth: Ruler, candidate: Ruler) -> NDArray[np.int64] | None:
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
    truth: Ruler, candidate: Ruler | None, places: NDArray[np.int64], size: int
) -> list[Portion]:
    import numpy as np

    edges = np.append(np.arange(0, len(truth), size), len(truth))
    theirs = np.searchsorted(places, edges)
    return [
        Portion(
            _slice(truth, int(edges[number]), int(edges[number + 1])),
            None
            if candidate is None
            else _slice(candidate, int(theirs[number]), int(theirs[number + 1])),
        )
        for number in range(len(edges) - 1)
    ]


def _slice(ruler: Ruler, first: int, end: int) -> Slice:
    return Slice(int(ruler.starts[first]), int(ruler.starts[end]), first + 1)
