from collections.abc import Callable
from typing import final

from fieldmark.model.json import JsonObject

@final
class Document:
    @property
    def canonical(self) -> bytes | None: ...
    def value(self) -> JsonObject: ...
    def lacks(self, keys: tuple[str, ...], /) -> bool: ...

@final
class Walker:
    def __new__(
        cls,
        root: object,
        with_extras: bool,
        presence_facts: bytes,
        describe: Callable[..., object],
        compare: Callable[..., None],
        classify: Callable[..., int],
        record: Callable[..., None],
        record_item: Callable[..., None],
        record_bare_item: Callable[..., None],
        similarity: Callable[[str, str], float],
        matched: object,
        missing: object,
        /,
    ) -> Walker: ...
    def compare(
        self,
        expected: Document,
        candidate: Document,
        outcomes: object,
        cells: list[int],
        items: list[tuple[int, str, int | str | None, int | str | None, float | None]],
        /,
    ) -> bool: ...

def read(
    raw: bytes,
    id_key: str | None,
    value_key: str | None,
    depth: int,
    key_characters: int,
    path_characters: int,
    line_bytes: int,
    /,
) -> tuple[list[str | None], list[Document | bytes], list[int]]: ...
def is_strict(raw: bytes, depth: int, key_characters: int, path_characters: int, /) -> bool: ...
def document(raw: bytes, /) -> Document | None: ...
def count(cells: list[int], plain: int, /) -> tuple[dict[int, int], list[int]]: ...
