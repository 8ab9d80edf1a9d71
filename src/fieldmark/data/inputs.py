"""Options and limits for reading inputs, and counts of what was read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from fieldmark.data.json_parser import Duplicates, Role
from fieldmark.data.model_text import CandidateJson, Parse
from fieldmark.errors import OptionError, with_hint
from fieldmark.model.json import JsonValue
from fieldmark.values.json_limits import LIMITS, Limits
from fieldmark.values.text import did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

    from fieldmark.values.confidence import ConfidenceOptions, ReadConfidences

__all__ = [
    "LIMITS",
    "ArrowTable",
    "CandidateJson",
    "Coverage",
    "Duplicates",
    "InputFormat",
    "InputLike",
    "Inputs",
    "Limits",
    "Parse",
    "ParsedFile",
    "Preset",
    "Role",
    "RowsAre",
]


class ArrowTable(Protocol):
    """A data frame or another table with the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the table."""
        ...


InputLike: TypeAlias = (
    "str | Path | ParsedFile | Mapping[str, object] | ArrowTable | Iterable[object]"
)
"""A path, `-` for standard input, an open file, one JSON object, a table, or rows."""


class ParsedFile(NamedTuple):
    """A file that was parsed to one JSON value, as YAML files are."""

    name: str
    value: JsonValue


class InputFormat(StrEnum):
    """Formats of other tools: `coco` is for object detection."""

    COCO = "coco"


class Preset(StrEnum):
    """Tools and services whose exports can be read without a plug-in."""

    LANGSMITH = "langsmith"
    BRAINTRUST = "braintrust"
    OPENAI_EVALS = "openai-evals"
    PROMPTFOO = "promptfoo"
    INSPECT = "inspect"
    LABELSTUDIO = "labelstudio"
    TEXTRACT = "textract"
    AZURE_DI = "azure-di"
    GOOGLE_DOCAI = "google-docai"
    MINDEE = "mindee"


class RowsAre(StrEnum):
    """What a JSON file contains: one document, an object of documents by id, or a list of rows."""

    DOCUMENT = "document"
    KEYED = "keyed"
    LIST = "list"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Options for reading rows.

    A key that is `None` is detected from the standard names; a key can be a path, and `id_key` can
    be several keys separated by commas. An empty `id_key` pairs rows by position even if they have
    ids. `group_by` is the column by which rows of tables are grouped into documents, and `sheet`
    the sheet of Excel workbooks. A `preset` reads exports of another tool. With `repair`, model
    output that is almost JSON is repaired. With `context`, cases include the additional data of
    rows, and with `confidences` the confidences of predictions.
    """

    id_key: str | None = None
    expected_key: str | None = None
    candidate_key: str | None = None
    rows: RowsAre | str | None = None
    parse: Parse | str = Parse.LENIENT
    candidate_json: CandidateJson | str = CandidateJson.ONLY
    repair: bool = False
    duplicates: Duplicates | str = Duplicates.REFUSE
    context: bool = False
    format_in: InputFormat | str | None = None
    preset: Preset | str | None = None
    sheet: str | None = None
    group_by: str | None = None
    limits: Limits = LIMITS
    confidences: ConfidenceOptions | None = None

    def __post_init__(self) -> None:
        closed: tuple[tuple[str, type[StrEnum]], ...] = (
            ("rows", RowsAre),
            ("parse", Parse),
            ("candidate_json", CandidateJson),
            ("duplicates", Duplicates),
            ("format_in", InputFormat),
        )
        for option, words in closed:
            value = getattr(self, option)
            if value is not None and value not in list(words):
                raise OptionError(option, f"must be one of: {', '.join(words)}; got {value!r}")
        if self.preset is not None and self.preset not in list(Preset):
            from fieldmark import registry  # loads the names of plug-ins

            name = str(self.preset)  # the argument of a caller can be anything
            if registry.canonical(registry.Plugin.READERS, name) is None:
                known = registry.names(registry.Plugin.READERS)
                message = f"must be one of: {', '.join(known)}; got {self.preset!r}"
                raise OptionError("preset", with_hint(message, did_you_mean(name, known)))
        if self.parse == Parse.STRICT:
            for option, value in (
                ("candidate_json", self.candidate_json == CandidateJson.LAST),
                ("repair", self.repair),
            ):
                if value:
                    raise OptionError(option, "cannot be combined with strict parsing")
        if self.format_in is not None and self.rows is not None:
            raise OptionError("rows", f"cannot be combined with the format {self.format_in}")
        if self.preset is not None and not (self.rows is self.format_in is self.group_by is None):
            raise OptionError("preset", "cannot be combined with rows, format_in or group_by")
        for option in ("expected_key", "candidate_key", "group_by"):
            if getattr(self, option) == "":
                raise OptionError(option, "must not be empty")


@dataclass(slots=True, kw_only=True)
class Coverage:
    """The number of cases, and how many of them could not be read or paired.

    `total` is the number of rows of the truth, `unexpected` the number of unpaired candidates,
    `repaired` the number of candidates that were not JSON before their repair. The others count
    confidences that could not be read, values whose confidence was not recognized because of other
    keys next to it, and candidates with confidences from 0 to 1 and from 0 to 100.
    """

    total: int = 0
    missing: int = 0
    unparseable: int = 0
    invalid_truth: int = 0
    unexpected: int = 0
    repaired: int = 0
    unreadable_confidences: int = 0
    unrecognized_confidences: int = 0
    confidences_to_1: int = 0
    confidences_to_100: int = 0

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
        return read.document, read.confidences

    def add(self, other: Coverage) -> None:
        """Add the counts of another part of the input."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))
