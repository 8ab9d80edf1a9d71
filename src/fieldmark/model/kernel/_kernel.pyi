from array import array
from collections.abc import Callable
from typing import Final, final

from fieldmark.model.case import UnparsedDocuments
from fieldmark.model.comparison import Comparison
from fieldmark.model.json import JsonObject, JsonValue, Missing
from fieldmark.model.outcomes import ItemMark, Outcomes

CONSTANTS: Final[dict[str, float]]
"""The constants that the kernel has in common with the Python code."""

@final
class Document:
    @property
    def canonical(self) -> bytes | None: ...
    def value(self) -> JsonObject: ...

@final
class Walker:
    def __new__(
        cls,
        root: object,
        with_extras: bool,
        facts: bytes,
        describe: Callable[..., object],
        compare: Callable[..., None],
        classify: Callable[..., int],
        record: Callable[..., None],
        record_item: Callable[..., None],
        record_bare_item: Callable[..., None],
        similarity: Callable[[str, str], float],
        fold: Callable[[str], str],
        outcomes: type[Outcomes],
        matched: Comparison,
        different: Comparison,
        wrong_type: Comparison,
        missing: object,
        /,
    ) -> Walker: ...
    def compare(
        self, pairs: list[UnparsedDocuments], otherwise: Callable[[UnparsedDocuments], Outcomes], /
    ) -> list[Outcomes]: ...

def read(
    raw: bytes,
    id_key: str | None,
    value_key: str | None,
    depth: int,
    key_characters: int,
    path_characters: int,
    line_bytes: int,
    /,
) -> tuple[list[str | None], list[Document | bytes], list[int] | None]: ...
def is_strict(raw: bytes, depth: int, key_characters: int, path_characters: int, /) -> bool: ...
def document(raw: bytes, /) -> Document | None: ...
def find_document(
    documents: list[JsonValue | Missing | Document], start: int, keys: tuple[bytes, ...], /
) -> int: ...
def hash_ids(ids: list[str | None], greatest: str, /) -> tuple[bytes, bool] | None: ...
def count_lines(raw: bytes, /) -> int: ...
def count(cells: list[int], /) -> dict[int, int]: ...
def sum_cells(
    cells: list[int], plain: int, rows: bytes, effects: array[int], /
) -> tuple[bytes, list[int], int]: ...
def row(
    case_id: str,
    record: bytes,
    comparisons: dict[int, Comparison],
    items: list[ItemMark],
    numbers: dict[str, int],
    expected: JsonValue | Document,
    candidate: JsonValue | Missing | Document,
    /,
) -> bytes | None: ...
def divide_row(
    line: bytes, missing: Missing, /
) -> tuple[str, bytes, tuple[Document, Document | Missing]] | None: ...
