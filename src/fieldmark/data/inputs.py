"""What a caller may say about the input, what bounds it, and what was found in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeAlias

from fieldmark.errors import OptionError

__all__ = [
    "LIMITS",
    "Coverage",
    "Duplicates",
    "InputFormat",
    "InputLike",
    "Inputs",
    "Limits",
    "Parse",
    "Role",
    "RowsAre",
]

InputLike: TypeAlias = "str | Path | Mapping[str, object] | Iterable[object]"
"""A path, `-` for standard input, an open file, one JSON object, or rows."""

_MEGABYTE: Final = 1 << 20
_DEEPEST: Final = 200
"""Above this depth the parsers' own recursion would come into play."""


class Role(StrEnum):
    """Which side of a pair some bytes hold."""

    TRUTH = "truth"
    CANDIDATE = "candidate"


class Parse(StrEnum):
    """How model text is read: `strict` takes nothing but JSON."""

    LENIENT = "lenient"
    STRICT = "strict"


class Duplicates(StrEnum):
    """What becomes of an object that has a key twice."""

    REFUSE = "refuse"
    LAST = "last"


class InputFormat(StrEnum):
    """Formats of other tools, which are read as rows: `coco` is object detection."""

    COCO = "coco"


class RowsAre(StrEnum):
    """What a JSON file is: one document, an object of documents by id, or a list of rows."""

    DOCUMENT = "document"
    KEYED = "keyed"
    LIST = "list"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of the input; what lies beyond them is refused, never cut."""

    document_bytes: int = 64 * _MEGABYTE
    line_bytes: int = 16 * _MEGABYTE
    depth: int = _DEEPEST
    nodes: int = 1_000_000
    integer_digits: int = 1_000

    def __post_init__(self) -> None:
        if not 1 <= self.depth <= _DEEPEST:
            raise OptionError("depth", f"must be between 1 and {_DEEPEST}")


LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """How the rows are to be read.

    A key that is `None` is looked for under its usual names. An empty `id_key` pairs by position
    even where rows have ids. With `context`, cases keep what rows say beside the two documents.
    """

    id_key: str | None = None
    expected_key: str | None = None
    candidate_key: str | None = None
    rows: RowsAre | str | None = None
    parse: Parse | str = Parse.LENIENT
    duplicates: Duplicates | str = Duplicates.REFUSE
    context: bool = False
    format_in: InputFormat | str | None = None
    limits: Limits = LIMITS

    def __post_init__(self) -> None:
        closed: tuple[tuple[str, type[StrEnum]], ...] = (
            ("rows", RowsAre),
            ("parse", Parse),
            ("duplicates", Duplicates),
            ("format_in", InputFormat),
        )
        for option, words in closed:
            value = getattr(self, option)
            if value is not None and value not in list(words):
                raise OptionError(option, f"must be one of {', '.join(words)}, not {value!r}")
        if self.format_in is not None and self.rows is not None:
            raise OptionError("rows", f"{self.format_in} files are not rows: leave it out")
        for option in ("expected_key", "candidate_key"):
            if getattr(self, option) == "":
                raise OptionError(option, "must not be empty")


@dataclass(slots=True, kw_only=True)
class Coverage:
    """How many cases there are and how many of them could not be read or paired.

    `total` counts the rows of the truth. `unexpected` counts candidates that belong to none.
    """

    total: int = 0
    missing: int = 0
    unparseable: int = 0
    invalid_truth: int = 0
    unexpected: int = 0

    def add(self, other: Coverage) -> None:
        """Count what another part of the input holds too."""
        for name in ("total", "missing", "unparseable", "invalid_truth", "unexpected"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
