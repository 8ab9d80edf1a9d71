"""Options and limits for reading inputs, and counts of rows and confidences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple, Protocol, TypeAlias

from fieldmark.data.json_parser import Duplicates
from fieldmark.data.model_text import CandidateJson, Parse
from fieldmark.errors import OptionError
from fieldmark.model.json import JsonValue
from fieldmark.model.rule import Rules
from fieldmark.registry import Plugin, canonical, names
from fieldmark.values.annotations import Choices, Length
from fieldmark.values.declared_options import Opt, declared_options
from fieldmark.values.json_text import LIMITS, Limits
from fieldmark.values.option_groups import OptionGroup
from fieldmark.values.value_confidences import ConfidenceOptions, ReadConfidences


class ArrowTable(Protocol):
    """A data frame or another table with the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the table."""
        ...


class ParsedFile(NamedTuple):
    """A file that was parsed to one JSON value, as YAML files are."""

    name: str
    value: JsonValue


InputLike: TypeAlias = (
    str | Path | ParsedFile | Mapping[str, object] | ArrowTable | Iterable[object]
)
"""A path, `-` for standard input, an open file, one JSON object, a table, or rows."""


class InputFormat(StrEnum):
    """Formats of other tools: `coco` is for object detection."""

    COCO = "coco"


class RowsAre(StrEnum):
    """The content of a JSON file: one document, an object of documents by id, or a list of rows."""

    DOCUMENT = "document"
    KEYED = "keyed"
    LIST = "list"


class Envelopes(StrEnum):
    """Whether values are read without the metadata that a service wrote around or next to them."""

    UNWRAP = "unwrap"
    KEEP = "keep"


class Cells(StrEnum):
    """Whether the cells of columns of numbers and booleans are read as such, or all as text."""

    TYPED = "typed"
    TEXT = "text"


class Pairing(StrEnum):
    """How the rows of two inputs belong together, unless a pattern of file names says so."""

    ID = "id"
    POSITION = "position"


def is_name_pattern(text: str) -> bool:
    """Whether a text is a pattern of file names, which contains the id once."""
    return text.count("{id}") == 1


_reading = partial(Opt, group=OptionGroup.INPUT, stored="always")
_rare = partial(Opt, group=OptionGroup.RARE, stored="always")


EnvelopesOption: TypeAlias = Annotated[
    str,
    _rare(
        "Values with metadata of an extraction service, such as citations: {names}.",
        default=Envelopes.UNWRAP,
        metavar="HOW",
        in_file="file",
        http=True,
        mcp=True,
    ),
    Choices(Envelopes),
]
"""The option of rows, and of `compare`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Options for reading rows.

    Args:
        id_key: The key of the id in each row. A key that is `None` is detected from the standard
            names.
        pair: How the rows of two inputs belong together: `id`, `position`, or a pattern of the
            names of prediction files such as `{id}_pred.json`. With `None`, rows pair by id if both
            inputs have ids, or by position if both have equally many rows, and the files of two
            directories by what their names have in common.
        expected_key: The key of the ground truth in each row.
        candidate_key: The key of the prediction in each row.
        rows: The content of `.json` files: `document`, `keyed` or `list`; `None` detects it.
        parse: Whether JSON is extracted from model output (`lenient`) or must be the whole of it.
        candidate_json: Whether model output has `only` one JSON value, or the `last` one counts.
        repair: Whether model output that is almost JSON is repaired.
        duplicates: Whether duplicate keys are refused, or the `last` value counts.
        envelopes: Whether values are read from objects with metadata (`unwrap`), or these objects
            are compared (`keep`).
        cells: Whether cells of CSV files with numbers and booleans are read as such (`typed`), or
            all as `text`.
        context: Whether cases include the input and the metadata of rows.
        format_in: The format of another tool, such as `coco`.
        preset: The tool whose exports are read.
        sheet: The sheet of Excel workbooks; by default the first.
        group_by: The columns whose equal values make rows of a table one document.
        limits: The limits on the size of documents.
        confidences: How the confidences of predictions are read; `None` reads none.
        cell_rules: The rules of the run, which may require that cells of CSV files are text.
    """

    id_key: Annotated[
        str | None,
        _reading(
            "Key of the id in each row; a key can be a path such as sample.id.",
            place=1,
            metavar="KEY[,KEY]",
            alias="id",
            in_file="cases",
            http=True,
            mcp=True,
        ),
        Length(ge=1),
    ] = None
    pair: Annotated[
        str | None,
        _reading(
            "Pair rows by id or position, or files by a pattern such as '{{id}}_pred.json'.",
            default_note="detect",
            place=1,
            metavar="HOW",
            in_file="cases",
            http=True,
            mcp=True,
        ),
    ] = None
    expected_key: Annotated[
        str | None,
        _reading(
            "Key of the ground truth in each row.",
            place=1,
            metavar="KEY",
            alias="expected",
            in_file="cases",
            http=True,
            mcp=True,
        ),
        Length(ge=1),
    ] = None
    candidate_key: Annotated[
        str | None,
        _reading(
            "Key of the prediction in each row.",
            place=1,
            metavar="KEY",
            alias="candidate",
            in_file="cases",
            http=True,
            mcp=True,
        ),
        Length(ge=1),
    ] = None
    rows: Annotated[
        str | None,
        _rare(
            "Layout of .json files: {names}.",
            default_note="detect",
            metavar="LAYOUT",
            in_file="cases",
            http=True,
            mcp=True,
        ),
        Choices(RowsAre),
    ] = None
    parse: Annotated[
        str,
        _rare(
            "Parsing of model output: lenient (extract JSON from text) or strict.",
            metavar="MODE",
            in_file="file",
            http=True,
        ),
        Choices(Parse),
    ] = Parse.LENIENT
    candidate_json: Annotated[
        str,
        _rare(
            "JSON to read from model output: only (exactly one), or last.",
            metavar="WHICH",
            in_file="file",
            http=True,
        ),
        Choices(CandidateJson),
    ] = CandidateJson.ONLY
    repair: Annotated[
        bool,
        _rare(
            "Repair model output that is almost JSON; such predictions are counted and marked.",
            in_file="file",
            http=True,
        ),
    ] = False
    duplicates: Annotated[
        str,
        _rare(
            "Duplicate keys in objects: refuse, or last (use the last value).",
            metavar="POLICY",
            in_file="cases",
            http=True,
        ),
        Choices(Duplicates),
    ] = Duplicates.REFUSE
    envelopes: EnvelopesOption = Envelopes.UNWRAP
    cells: Annotated[
        str,
        _rare(
            "Numbers and booleans in CSV files: {names}.",
            metavar="HOW",
            in_file="file",
            http=True,
        ),
        Choices(Cells),
    ] = Cells.TYPED
    context: bool = False
    format_in: Annotated[
        str | None,
        _rare(
            "Format of another tool: coco (annotations in TRUTH, detections in PREDICTIONS).",
            metavar="FORMAT",
        ),
        Choices(InputFormat),
    ] = None
    preset: Annotated[
        str | None,
        _reading(
            "Read exports of a tool: {names}.",
            metavar="TOOL",
            alias="from",
            in_file="cases",
            http=True,
            mcp=True,
        ),
        Choices(partial(names, Plugin.READERS), partial(canonical, Plugin.READERS)),
    ] = None
    sheet: Annotated[
        str | None,
        _rare(
            "Sheet of Excel workbooks.",
            default_note="the first",
            metavar="NAME",
            in_file="cases",
            http=True,
        ),
        Length(ge=1),
    ] = None
    group_by: Annotated[
        str | None,
        _rare(
            "Columns of CSV, Excel and Parquet files with one row per line item; rows with "
            "the same value are one document.",
            metavar="KEY[,KEY]",
            in_file="cases",
            http=True,
        ),
        Length(ge=1),
    ] = None
    limits: Limits = LIMITS
    confidences: ConfidenceOptions | None = None
    cell_rules: tuple[Rules, ...] = ()

    def __post_init__(self) -> None:
        for option in declared_options(Inputs).values():
            if problem := option.problem(getattr(self, option.name)):
                raise OptionError(option.name, problem)
        if self.pair not in (None, *Pairing) and not is_name_pattern(str(self.pair)):
            message = "must be id, position, or a pattern of file names with one {id}"
            raise OptionError("pair", message, hint="such as '{id}_pred.json'")
        if self.parse == Parse.STRICT:
            for name, value in (
                ("candidate_json", self.candidate_json == CandidateJson.LAST),
                ("repair", self.repair),
            ):
                if value:
                    raise OptionError(name, "cannot be combined with strict parsing")
        if self.format_in is not None and self.rows is not None:
            raise OptionError("rows", f"cannot be combined with the format {self.format_in}")
        if self.preset is not None and not (self.rows is self.format_in is self.group_by is None):
            raise OptionError("preset", "cannot be combined with rows, format_in or group_by")

    @property
    def confidence_key(self) -> str | None:
        """The key of a row with the confidences of its prediction, if they are read."""
        return None if self.confidences is None else self.confidences.key


@dataclass(slots=True, kw_only=True)
class Coverage:
    """The number of cases, and how many of them could not be read or paired.

    `total` is the number of rows of the truth, `unpaired` how many of them have no row on the
    other side, `unexpected` the number of unpaired candidates, `repaired` the number of candidates
    that were not JSON before their repair. The other fields count confidences that could not be
    read, values whose confidence was not recognized because of other keys next to it, candidates
    with confidences from 0 to 1 and from 0 to 100, documents without the metadata of the others,
    and cells that have another type than their column.
    """

    total: int = 0
    missing: int = 0
    unparseable: int = 0
    invalid_truth: int = 0
    unpaired: int = 0
    unexpected: int = 0
    repaired: int = 0
    unreadable_confidences: int = 0
    unrecognized_confidences: int = 0
    confidences_to_1: int = 0
    confidences_to_100: int = 0
    deviating: int = 0
    other_cells: int = 0

    @property
    def confidence_scale(self) -> int | None:
        """The scale of all confidences, if they have the same."""
        if bool(self.confidences_to_1) == bool(self.confidences_to_100):
            return None
        return 1 if self.confidences_to_1 else 100

    def separated(self, read: ReadConfidences) -> tuple[JsonValue, JsonValue]:
        """Return a candidate and its confidences, and count what could not be read."""
        self.unreadable_confidences += read.unreadable
        self.unrecognized_confidences += read.other_keys
        self.confidences_to_1 += read.scale == 1
        self.confidences_to_100 += read.scale > 1
        self.deviating += read.deviates
        return read.document, read.confidences

    def add(self, other: Coverage) -> None:
        """Add the counts of another part of the input."""
        for count in fields(self):
            setattr(self, count.name, getattr(self, count.name) + getattr(other, count.name))
