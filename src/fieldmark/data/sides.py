"""Opening both sides of a comparison, and detecting rows, keys and pairing.

A key that a row does not have is a path into the row (`sample.output_text`), or for the id,
several keys separated by commas (`invoice,page`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from fieldmark.data.file_names import find_name_patterns
from fieldmark.data.input_files import is_stream
from fieldmark.data.input_warnings import (
    describe_ids,
    warn_nested_documents,
    warn_truth_as_predictions,
)
from fieldmark.data.inputs import (
    InputLike,
    Inputs,
    Pairing,
    ParsedFile,
    RowsAre,
    is_name_pattern,
)
from fieldmark.data.json_parser import JsonDialect, Role, UnreadableRow, parse_text
from fieldmark.data.json_rows import ValueSource, can_be_keyed, ensure_documents, is_record
from fieldmark.data.row_layout import (
    Layout,
    detect_layout,
    detect_paired_layout,
    id_text,
    paired_keys,
)
from fieldmark.data.rows import ID_KEYS, RowBlock, RowSource
from fieldmark.data.sources import DirectorySource, open_source
from fieldmark.errors import (
    DataError,
    Location,
    OptionError,
    OptionHint,
    OptionPhrase,
    OptionText,
    with_location,
)
from fieldmark.values.plain_json import is_table


@dataclass(slots=True, eq=False)
class InputSide:
    """One side of a comparison: its rows, a `sample` of the first rows, and their layout."""

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
        source = self.source
        return isinstance(source, ValueSource) and source.rows_are is RowsAre.DOCUMENT


@dataclass(slots=True, eq=False)
class OpenedInputs:
    """The sides of a comparison and their pairing; without candidate, rows contain both sides.

    `structural` are warnings that the documents are probably not where they are read from. `ids`
    describes the ids of both sides if they seem to have none in common. `is_part` says that other
    parts of the inputs are read elsewhere.
    """

    truth: InputSide
    candidate: InputSide | None = None
    by_id: bool = False
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    structural: list[str] = field(default_factory=list)
    ids: str = ""
    is_part: bool = False


def make_dialect(role: Role, options: Inputs) -> JsonDialect:
    """Return the JSON dialect of a side."""
    return JsonDialect(role=role, duplicates=options.duplicates, limits=options.limits)


def open_single_input(
    pairs: InputLike, options: Inputs, *, truth_alone: bool = False
) -> OpenedInputs:
    """Open an input with both sides in each row, or with `truth_alone`, possibly only the truth."""
    dialect = make_dialect(Role.CANDIDATE, options)
    source: RowSource
    if options.format_in is not None:
        from fieldmark.data.presets import coco_truth  # only for such files

        source = coco_truth(pairs, dialect)
    else:
        source = open_source(_pairs_as_rows(pairs), dialect, side="", sheet=options.sheet)
    with ExitStack() as on_error:
        on_error.callback(source.close)
        _check_tables([source], options)
        if options.preset is not None:
            roles = (Role.TRUTH,) if truth_alone else tuple(Role)
            source, options = _read_preset(source, options, *roles)
        if isinstance(source, ValueSource):
            _settle_single(source, options)
        source = _derive(
            source, options, options.expected_key, options.candidate_key, options.confidence_key
        )
        side = _read_sample(source, dialect)
        try:
            layout, notes = detect_paired_layout(side.sample, options, name=source.name)
        except DataError:
            if not truth_alone:
                raise
            row = side.sample.rows[0]
            if len(side.sample.rows) == 1 and isinstance(row, str):
                # Text that is not JSON can be model output, but not ground truth.
                try:
                    parse_text(row, make_dialect(Role.TRUTH, options))
                except DataError as error:
                    raise with_location(error, Location(source.name)) from None
            layout, notes = detect_layout(side.sample, Role.TRUTH, options, name=source.name)
        side.layout = layout if side.sample.ids is None else layout._replace(id_key=None)
        on_error.pop_all()
        structural = [] if layout.partner_key is None else warn_nested_documents(side, None)
        return OpenedInputs(side, notes=notes, structural=structural)


def open_candidate_input(candidate: InputLike, options: Inputs) -> InputSide:
    """Open an input with predictions only."""
    dialect = make_dialect(Role.CANDIDATE, options)
    label = Role.CANDIDATE.label
    source: RowSource = open_source(candidate, dialect, side=label, text=True, sheet=options.sheet)
    with ExitStack() as on_error:
        on_error.callback(source.close)
        _check_tables([source], options)
        if options.preset is not None:
            source, options = _read_preset(source, options, Role.CANDIDATE)
        if isinstance(source, ValueSource) and options.rows is not None:
            source.settle(RowsAre(options.rows))
        source = _derive(source, options, options.candidate_key, options.confidence_key)
        side = _read_sample(source, dialect)
        layout, _ = detect_layout(side.sample, Role.CANDIDATE, options, name=source.name)
        side.layout = layout if side.sample.ids is None else layout._replace(id_key=None)
        on_error.pop_all()
        return side


def _pairs_as_rows(pairs: InputLike) -> InputLike:
    """Convert pairs of Python objects to rows with both sides."""
    if isinstance(pairs, str | Path | ParsedFile):
        return pairs
    if is_table(type(pairs)) or is_record(pairs) or is_stream(pairs):
        return pairs
    return (
        {"expected": row[0], "candidate": row[1]}
        if isinstance(row, tuple) and len(row) == 2 and not is_record(row)  # noqa: PLR2004 - a pair
        else row
        for row in ensure_documents(pairs, "")
    )


def open_inputs(truth: InputLike, candidate: InputLike, options: Inputs) -> OpenedInputs:
    """Open two inputs, one for each side."""
    dialects = make_dialect(Role.TRUTH, options), make_dialect(Role.CANDIDATE, options)
    with ExitStack() as on_error:
        sources: tuple[RowSource, RowSource]
        keys: tuple[Inputs, Inputs]
        notes: list[str]
        if options.format_in is not None:
            from fieldmark.data.presets import coco_candidate, coco_truth  # only for such files

            images = coco_truth(truth, dialects[0])
            sources = images, coco_candidate(candidate, dialects[1], images)
            keys, notes = (options, options), []
        else:
            label, sheet = Role.TRUTH.label, options.sheet
            first = open_source(truth, dialects[0], side=label, sheet=sheet)
            on_error.callback(first.close)
            label = Role.CANDIDATE.label
            second = open_source(candidate, dialects[1], side=label, text=True, sheet=sheet)
            on_error.callback(second.close)
            sources = first, second
            _check_tables(sources, options)
            notes = _name_files(sources, options)
            sources, keys, more_notes = _read_presets(sources, options)
            notes += more_notes
            notes += _settle(sources, options)
            sources = (
                _derive(sources[0], keys[0], keys[0].expected_key),
                _derive(sources[1], keys[1], keys[1].candidate_key, options.confidence_key),
            )
        sides = list(map(_read_sample, sources, dialects))
        for side, role, named in zip(sides, Role, keys, strict=True):
            layout, layout_notes = detect_layout(side.sample, role, named, name=side.source.name)
            side.layout = layout if side.sample.ids is None else layout._replace(id_key=None)
            notes += layout_notes
        opened = OpenedInputs(sides[0], sides[1], notes=notes)
        opened.structural = warn_nested_documents(*sides)
        if options.candidate_key is None:
            paths = [Path(side) for side in (truth, candidate) if isinstance(side, str | Path)]
            same_file = (
                len(paths) > 1
                and paths[0].resolve() == paths[1].resolve()
                and sides[0].layout == sides[1].layout
            )
            opened.structural += warn_truth_as_predictions(sides[1], same_file=same_file)
        opened.ids = describe_ids(*sides)
        _decide_pairing(opened, options)
        on_error.pop_all()
        return opened


def _name_files(sources: tuple[RowSource, RowSource], options: Inputs) -> list[str]:
    """Take ids from the names of files, as the options or the names of both directories say."""
    directories = [source for source in sources if isinstance(source, DirectorySource)]
    if options.pair is not None and is_name_pattern(options.pair):
        if not directories:
            raise OptionError("pair", "a pattern of names is for directories of files")
        directories[-1].name_rows(options.pair)
        return [f"files paired by their names: {options.pair}"]
    if options.pair is not None or len(directories) < len(sources):
        return []
    names, other_names = (directory.ids() for directory in directories)
    if not set(names).isdisjoint(other_names):
        return []
    patterns = find_name_patterns(names, other_names)
    if patterns is None:
        return []
    for directory, pattern in zip(directories, patterns, strict=True):
        directory.name_rows(pattern)
    return [f"files paired by their names: {patterns.expected}.json and {patterns.candidate}.json"]


def _read_presets(
    sources: tuple[RowSource, RowSource], options: Inputs
) -> tuple[tuple[RowSource, RowSource], tuple[Inputs, Inputs], list[str]]:
    """Read the inputs that are exports of the named tool, which must be at least one."""
    if options.preset is None:
        return sources, (options, options), []
    read: list[tuple[RowSource, Inputs]] = []
    notes: list[str] = []
    error: DataError | None = None
    for source, role in zip(sources, Role, strict=True):
        if source.read_once:
            read.append((source, options))
            continue
        try:
            read.append(_read_preset(source, options, role))
            notes.append(f"{source.name}: read as an export of {options.preset}")
        except DataError as refused:
            error = refused
            read.append((source, options))
    if not notes:
        message = f"no input is a file that --from {options.preset} can read"
        raise error or DataError(message)
    return (read[0][0], read[1][0]), (read[0][1], read[1][1]), notes


def _read_preset(source: RowSource, options: Inputs, *roles: Role) -> tuple[RowSource, Inputs]:
    """Return the rows of an export, and the options with the keys of the sides that it has."""
    from fieldmark.data.presets import read_preset  # only for such files

    converted = read_preset(source, options.preset or "")
    sample = next(converted.blocks(), None)
    rows = [] if sample is None else [row for row in sample.rows if isinstance(row, dict)]
    expected, candidate = options.expected_key, options.candidate_key
    if candidate is None and any("candidate" in row for row in rows):
        candidate = "candidate"
    if expected is None and any("expected" in row for row in rows):
        expected = "expected"
    elif expected is None and roles == (Role.TRUTH,):
        expected, candidate = candidate, None  # the response of a service as ground truth
    missing = "the export has no {}; give {} as the {} input"
    if expected is None and Role.TRUTH in roles:
        raise DataError(missing.format("ground truth", "it", "first"), Location(source.name))
    if candidate is None and Role.CANDIDATE in roles:
        raise DataError(missing.format("predictions", "them", "second"), Location(source.name))
    return converted, replace(options, expected_key=expected, candidate_key=candidate)


def _check_tables(sources: Iterable[RowSource], options: Inputs) -> None:
    """Raise an error if an option is for tables, but no input is one."""
    sources = list(sources)
    if options.group_by is not None and not any(source.is_table for source in sources):
        raise OptionError("group_by", "no input is a table (CSV, Excel, Parquet or a data frame)")
    if options.sheet is not None and not any(source.is_workbook for source in sources):
        raise OptionError("sheet", "no input is an Excel workbook")


def _derive(source: RowSource, options: Inputs, *value_keys: str | None) -> RowSource:
    """Return the rows of a source grouped, and with nested and composite keys looked up."""
    grouped = options.group_by is not None and source.is_table
    id_key = options.id_key if _may_be_derived(options.id_key) else None
    nested = tuple(key for key in value_keys if key is not None and _may_be_derived(key))
    if not (grouped or id_key or nested):
        return source
    from fieldmark.data.derived_rows import GroupedSource, KeyedSource  # rarely needed

    if grouped:
        key = options.id_key or ID_KEYS[0]
        source = GroupedSource(source.name, source, options.group_by or "", key)
    if id_key is None and not nested:
        return source
    keyed = KeyedSource(source.name, source, id_key, nested)
    # The ids of files are not in their rows, so rows cannot be read out of order from a copy.
    keyed.in_memory = keyed.in_memory or isinstance(source, DirectorySource)
    return keyed


def _may_be_derived(key: str | None) -> bool:
    """Return whether a key may be a path or consist of several keys."""
    return key is not None and any(character in key for character in ".[,")


def _read_sample(source: RowSource, dialect: JsonDialect) -> InputSide:
    blocks = source.blocks()
    sample = next(blocks, None)
    if sample is None:
        raise DataError("no rows; expected one row per case", Location(source.name))
    return InputSide(source, dialect, chain([sample], blocks), sample)


def _settle_single(source: ValueSource, options: Inputs) -> None:
    """Determine the content of a JSON file with both sides, from the options or its structure."""
    if options.rows is not None:
        source.settle(RowsAre(options.rows))
    elif can_be_keyed(source.value) and not paired_keys(source.value, options):
        rows = source.value.values()
        if set.intersection(*(set(row) if isinstance(row, dict) else set() for row in rows)):
            source.settle(RowsAre.KEYED)


def _settle(sources: tuple[RowSource, RowSource], options: Inputs) -> list[str]:
    """Determine what JSON files contain: documents by id if the other side has the same ids."""
    values = [source for source in sources if isinstance(source, ValueSource)]
    if options.rows is not None:
        for source in values:
            source.settle(RowsAre(options.rows))
        return []
    keyed = [
        source
        for source, other in zip(sources, sources[::-1], strict=True)
        if isinstance(source, ValueSource)
        and can_be_keyed(source.value)
        and _shares_ids(set(source.value), other, options)
    ]
    for source in keyed:
        source.settle(RowsAre.KEYED)
    return [
        *(f"{source.name}: read as documents by id" for source in keyed),
        *(
            f"{source.name}: read as one document"
            for source in values
            if source.rows_are is RowsAre.DOCUMENT
        ),
    ]


def _shares_ids(keys: set[str], other: RowSource, options: Inputs) -> bool:
    """Return whether any of the keys is an id of the other side."""
    rows: Iterable[object] = ()
    if isinstance(other, DirectorySource):
        return not keys.isdisjoint(other.ids())
    if isinstance(other, ValueSource):
        if isinstance(other.value, dict):
            return can_be_keyed(other.value) and not keys.isdisjoint(other.value)
        if isinstance(other.value, list):
            rows = other.value
    elif not other.read_once:
        sample = next(other.blocks(), None)
        rows = () if sample is None else sample.rows
    names = (options.id_key,) if options.id_key else ID_KEYS
    ids = {
        id_text(row[name]) for row in rows if isinstance(row, dict) for name in names if name in row
    }
    return not keys.isdisjoint(ids - {None})


def _decide_pairing(opened: OpenedInputs, options: Inputs) -> None:
    """Pair by id if both sides have ids, otherwise by position.

    An id that only one side has names the case and is not a field. In a pair of single documents,
    an id is a field like any other because it is not used for pairing.
    """
    truth, candidate = opened.truth, opened.candidate
    assert candidate is not None  # noqa: S101 - two sides
    documents = truth.is_document or candidate.is_document
    by_id = options.pair != Pairing.POSITION and not documents
    opened.by_id = by_id and truth.has_ids and candidate.has_ids
    if opened.by_id:
        opened.notes.append("rows paired by id")
        return
    if options.pair == Pairing.ID:
        without = candidate if truth.has_ids else truth
        message = "the rows have no ids to pair them by; "
        hint = OptionHint(OptionPhrase.SET_KEY, "id")
        raise DataError(OptionText(message, hint), Location(without.source.name))
    opened.notes.append("rows paired by position")
    without = candidate if truth.has_ids else truth
    readable = any(not isinstance(row, UnreadableRow) for row in without.sample.rows)
    if truth.has_ids != candidate.has_ids and not documents and readable:
        opened.warnings.append(
            f"{without.source.name}: rows have no ids, so they are paired by position; "
            "the ids of the other input are not compared"
        )
    for side in (truth, candidate):
        if not documents:
            side.layout = side.layout._replace(id_needed=False)
        elif side.layout.value_key is None:
            side.layout = side.layout._replace(id_key=None)
