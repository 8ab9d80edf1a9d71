from collections.abc import Callable, Hashable
from typing import TypeAlias

from fieldmark.model.alignment import ItemPair
from fieldmark.model.json import JsonValue

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
def rows(partners: list[int | None], similarities: dict[int, float], /) -> list[ItemPair]: ...
