from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias, final

from fieldmark.model.alignment import ItemPair
from fieldmark.model.json import JsonObject, JsonValue, Missing
from fieldmark.model.outcomes import ItemMark

_Cells: TypeAlias = dict[str | tuple[str, ...], Hashable]
_Fields: TypeAlias = tuple[str, ...] | None

def pair(
    expected: list[JsonValue], candidate: list[JsonValue], /
) -> tuple[list[int | None], list[int], list[int], bool] | None: ...
def cells(
    items: list[JsonValue],
    fields: _Fields,
    longest: int,
    folded: Callable[[str], str],
    cells_of: Callable[[JsonValue, _Fields], _Cells],
    /,
) -> list[_Cells]: ...
def largest(items: list[_Cells], leaf: int, /) -> int: ...
def near(
    expected: list[_Cells],
    candidate: list[_Cells],
    share: float,
    unequal: float,
    most: int,
    tiny: int,
    /,
) -> list[tuple[int, int, int]] | None: ...
def plain(items: list[JsonValue], keys: tuple[str, ...], texts: bytes, /) -> bool: ...
def rows(partners: list[int | None], similarities: dict[int, float], /) -> list[ItemPair]: ...
def write_run(
    pairs: Sequence[ItemPair],
    place: int,
    path: str,
    twin: list[int],
    cells: list[int],
    marks: list[ItemMark],
    /,
) -> int: ...

@final
class Ways:
    def __new__(
        cls,
        keys: tuple[str, ...],
        known: bytes,
        agreed: tuple[AbstractSet[object], ...],
        match: tuple[int, ...],
        lost: tuple[int, ...],
        nulled: tuple[int, ...],
        missing: Missing,
        /,
    ) -> Ways: ...
    def write(
        self, expected: JsonObject, candidate: JsonObject, cells: list[int], /
    ) -> Sequence[tuple[int, int, JsonValue, JsonValue | Missing, bool]] | None: ...
