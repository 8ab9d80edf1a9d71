"""The plug-in protocols of readers, which turn files of other tools into rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, ClassVar, Final, NamedTuple, Protocol

from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["ExportReader", "FileReader", "LeftOut", "ReadExport"]

_MAX_NOUNS: Final = 50
_MAX_NOUN: Final = 60
_OTHERS: Final = "other part"


@dataclass(slots=True)
class LeftOut:
    """Counts what a reader does not read from an export.

    Nouns are in the singular, and may contain words of the export, so their number and length are
    limited.

    >>> left_out = LeftOut()
    >>> left_out.add("signature", 2)
    >>> left_out.counts
    {'signature': 2}
    """

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, noun: str, number: int = 1) -> None:
        """Count some parts of a kind."""
        if number:
            noun = noun[:_MAX_NOUN]
            if noun not in self.counts and len(self.counts) >= _MAX_NOUNS:
                noun = _OTHERS
            self.counts[noun] = self.counts.get(noun, 0) + number


class ReadExport(NamedTuple):
    """An export of a tool that was read: its file, and how many parts were left out, by noun."""

    file: str
    tool: str
    left_out: Mapping[str, int]


class ExportReader(Protocol):
    """Reads exports that are JSON, selected by `--from`; a frozen dataclass.

    A row has the keys `id`, `expected` and `candidate`, as far as the export has them; a null in
    `expected` is no ground truth. Everything that a reader skips is counted in `left_out`. A value
    that is not such an export raises `DataError`.

    A reader may have a class variable `rules`, a tuple of `Rule`, for fields that it makes in every
    export, such as boxes. They apply before the rules of the user.
    """

    name: ClassVar[str]

    def rows(self, value: JsonValue, left_out: LeftOut) -> Sequence[JsonObject]:
        """Return the rows of an export."""
        ...


class FileReader(Protocol):
    """Reads files of another format, selected by their suffix; a frozen dataclass."""

    name: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]

    def read(self, file: BinaryIO) -> Iterable[object]:
        """Yield the rows of a file: documents, or objects as in a JSONL file."""
        ...
