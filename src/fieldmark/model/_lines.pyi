from typing import TypeAlias, final

from fieldmark.model.lines import LineKind

_Open: TypeAlias = tuple[int, int, bytes | None, bytes | None, int]

@final
class Form:
    def __new__(
        cls, fields: tuple[tuple[bytes, int, Form | None], ...], places: int, /
    ) -> Form: ...

@final
class Line:
    @property
    def kind(self) -> LineKind: ...
    def bytes(self, place: int, /) -> bytes | None: ...

def read(form: Form, raw: bytes, kind: LineKind, /) -> list[Line] | None: ...
def compare(
    expected: list[Line],
    candidate: list[Line],
    known: bytes,
    match: tuple[int, ...],
    absent: tuple[int, ...],
    null: tuple[int, ...],
    /,
) -> list[tuple[int, list[int], list[_Open] | None]]: ...
def texts(lines: list[Line], place: int, /) -> list[str] | None: ...
