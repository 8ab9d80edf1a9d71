"""Both sides opened, and how they are to be read: which rows, which keys, which pairing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Protocol

from fieldmark.data.coco import coco_candidate, coco_truth
from fieldmark.data.folders import FolderSource
from fieldmark.data.input_warnings import warn_nested_documents
from fieldmark.data.inputs import InputLike, Inputs, Role, RowsAre
from fieldmark.data.json_documents import ValueSource, can_be_keyed
from fieldmark.data.json_parser import JsonDialect, parse_text
from fieldmark.data.layout import (
    ID_KEYS,
    Layout,
    detect_layout,
    detect_paired_layout,
    id_text,
    paired_keys,
)
from fieldmark.data.rows import RowBlock, RowSource, with_location
from fieldmark.data.sources import is_stream, open_source
from fieldmark.errors import DataError, Location

__all__ = ["InputSide", "OpenedInputs", "open_both", "open_single", "open_truth"]


@dataclass(slots=True)
class InputSide:
    """One side, ready to be read: its rows from the first on, and where they keep what."""

    source: RowSource
    dialect: JsonDialect
    blocks: Iterator[RowBlock]
    sample: RowBlock
    layout: Layout = field(default_factory=Layout)

    @property
    def has_ids(self) -> bool:
        """Whether rows can be paired by id."""
        return self.sample.ids is not None or self.layout.id_key is not None

    @property
    def is_document(self) -> bool:
        """Whether the side is a single document."""
        return isinstance(self.source, ValueSource) and (self.source.rows_are is RowsAre.DOCUMENT)


@dataclass(slots=True)
class OpenedInputs:
    """The sides of a comparison and the decisions about them. Without candidate, rows hold both."""

    truth: InputSide
    candidate: InputSide | None = None
    by_id: bool = False
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class Decision(Protocol):
    """Says where the rows of a single input keep what."""

    def __call__(
        self, sample: RowBlock, options: Inputs, *, name: str
    ) -> tuple[Layout, list[str]]: ...


def open_single(given: InputLike, options: Inputs) -> OpenedInputs:
    """One input whose rows hold both sides."""
    return _open_one(given, options, detect_paired_layout)


def open_truth(given: InputLike, options: Inputs) -> OpenedInputs:
    """One input whose rows hold both sides or, if they do not, the truth alone."""
    return _open_one(given, options, _decide_truth)


def _open_one(given: InputLike, options: Inputs, decided: Decision) -> OpenedInputs:
    dialect = _grammar(Role.CANDIDATE, options)
    if options.format_in is not None:
        source: RowSource = coco_truth(given, dialect)
    else:
        source = open_source(_as_rows(given), dialect, side="")
    with _closing_on_error(source):
        if isinstance(source, ValueSource):
            _settle_single(source, options)
        side = _side(source, dialect)
        side.layout, notes = decided(side.sample, options, name=source.name)
        if side.sample.ids is not None:
            side.layout = replace(side.layout, id_key=None)
        return OpenedInputs(side, notes=notes)


def _decide_truth(sample: RowBlock, options: Inputs, *, name: str) -> tuple[Layout, list[str]]:
    try:
        return detect_paired_layout(sample, options, name=name)
    except DataError:
        _refuse_text(sample, options, name)
        return detect_layout(sample, Role.TRUTH, options, name=name)


def _refuse_text(sample: RowBlock, options: Inputs, name: str) -> None:
    """A whole file that is no JSON is the text of a model, which no truth can be."""
    row = sample.rows[0]
    if len(sample.rows) == 1 and isinstance(row, str):
        try:
            parse_text(row, _grammar(Role.TRUTH, options))
        except DataError as error:
            raise with_location(error, Location(name)) from None


def open_both(truth: InputLike, candidate: InputLike, options: Inputs) -> OpenedInputs:
    """Two inputs, one a side."""
    grammars = _grammar(Role.TRUTH, options), _grammar(Role.CANDIDATE, options)
    if options.format_in is not None:
        images = coco_truth(truth, grammars[0])
        return _opened_both(
            (images, coco_candidate(candidate, grammars[1], images)), grammars, options
        )
    first = open_source(truth, grammars[0], side="the truth")
    with _closing_on_error(first):
        second = open_source(candidate, grammars[1], side="the candidate")
        with _closing_on_error(second):
            return _opened_both((first, second), grammars, options)


def _opened_both(
    sources: tuple[RowSource, RowSource], grammars: tuple[JsonDialect, JsonDialect], options: Inputs
) -> OpenedInputs:
    notes = [] if options.format_in is not None else _settle(sources, options)
    sides = [_side(source, dialect) for source, dialect in zip(sources, grammars, strict=True)]
    opened = OpenedInputs(sides[0], sides[1], notes=notes)
    for side, role in zip(sides, Role, strict=True):
        side.layout, said = detect_layout(side.sample, role, options, name=side.source.name)
        if side.sample.ids is not None:
            side.layout = replace(side.layout, id_key=None)
        notes += said
    opened.warnings += warn_nested_documents(*sides)
    _decide_pairing(opened, options)
    return opened


@contextmanager
def _closing_on_error(*sources: RowSource) -> Iterator[None]:
    try:
        yield
    except BaseException:
        for source in sources:
            source.close()
        raise


def _grammar(role: Role, options: Inputs) -> JsonDialect:
    return JsonDialect(role=role, duplicates=options.duplicates, limits=options.limits)


def _as_rows(given: InputLike) -> InputLike:
    """Pairs of documents as rows that hold both."""
    if isinstance(given, str | Path | Mapping) or is_stream(given):
        return given
    return _pairs_as_rows(given)


def _pairs_as_rows(given: Iterable[object]) -> Iterator[object]:
    for row in given:
        if isinstance(row, tuple) and len(row) == 2:  # noqa: PLR2004 - a pair
            yield {"expected": row[0], "candidate": row[1]}
        else:
            yield row


def _side(source: RowSource, dialect: JsonDialect) -> InputSide:
    blocks = source.blocks()
    sample = next(blocks, None)
    if sample is None:
        raise DataError("holds no rows; expected one row a case", Location(source.name))
    return InputSide(source, dialect, chain([sample], blocks), sample)


def _settle_single(source: ValueSource, options: Inputs) -> None:
    if options.rows is not None:
        source.settle(RowsAre(options.rows))
    elif can_be_keyed(source.value) and isinstance(source.value, dict):
        if paired_keys(source.value, options):
            return
        rows = source.value.values()
        shared = set.intersection(*(set(row) if isinstance(row, dict) else set() for row in rows))
        if shared:
            source.settle(RowsAre.KEYED)


def _settle(sources: tuple[RowSource, RowSource], options: Inputs) -> list[str]:
    """Decide what JSON files are: as told, or by id where the other side has the same ids."""
    notes: list[str] = []
    keyed: list[ValueSource] = []
    for source, other in (sources, sources[::-1]):
        if not isinstance(source, ValueSource):
            continue
        if options.rows is not None:
            source.settle(RowsAre(options.rows))
        elif can_be_keyed(source.value) and _shares_ids(source.value, other, options):
            keyed.append(source)
    for source in keyed:
        source.settle(RowsAre.KEYED)
        notes.append(f"{source.name}: read as documents by id")
    if options.rows is None:
        notes += [
            f"{source.name}: read as one document"
            for source in sources
            if isinstance(source, ValueSource) and source.rows_are is RowsAre.DOCUMENT
        ]
    return notes


def _shares_ids(value: object, other: RowSource, options: Inputs) -> bool:
    """Whether the keys of an object are among the ids of the other side."""
    keys = set(value) if isinstance(value, dict) else set()
    if isinstance(other, FolderSource):
        return not keys.isdisjoint(other.ids())
    if isinstance(other, ValueSource) and isinstance(other.value, dict):
        return can_be_keyed(other.value) and not keys.isdisjoint(other.value)
    if isinstance(other, ValueSource) or not _can_be_peeked(other):
        rows = other.value if isinstance(other, ValueSource) else None
        return isinstance(rows, list) and not keys.isdisjoint(_ids_of(rows, options))
    sample = next(other.blocks(), None)
    return sample is not None and not keys.isdisjoint(_ids_of(sample.rows, options))


def _can_be_peeked(source: RowSource) -> bool:
    """Whether reading the beginning leaves the rest where it was."""
    objects = getattr(source, "objects", None)
    return objects is None or iter(objects) is not objects


def _ids_of(rows: Iterable[object], options: Inputs) -> set[str | None]:
    names = (options.id_key,) if options.id_key else ID_KEYS
    return {
        id_text(row[name]) for row in rows if isinstance(row, dict) for name in names if name in row
    } - {None}


def _decide_pairing(opened: OpenedInputs, options: Inputs) -> None:
    """By id where both sides have ids, else by position.

    The id of one side alone names the case or nothing; it is never a field. In a pair of single
    documents an id is a field like any other, for nothing is paired by it.
    """
    truth, candidate = opened.truth, opened.candidate
    assert candidate is not None  # noqa: S101 - two sides
    documents = truth.is_document or candidate.is_document
    opened.by_id = truth.has_ids and candidate.has_ids and options.id_key != "" and not documents
    if opened.by_id:
        opened.notes.append("paired by id")
        return
    opened.notes.append("paired by position")
    if truth.has_ids != candidate.has_ids and not documents:
        without = candidate if truth.has_ids else truth
        opened.warnings.append(
            f"{without.source.name}: the rows have no ids, so cases were paired by position; "
            "the ids of the other side are no fields"
        )
    for side in (truth, candidate):
        if not documents:
            side.layout = replace(side.layout, id_needed=False)
        elif side.layout.value_key is None:
            side.layout = replace(side.layout, id_key=None)
