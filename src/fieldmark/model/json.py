"""JSON values as Python objects, and the marker of an absent value."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Final, TypeAlias

__all__ = [
    "MISSING",
    "JsonObject",
    "JsonValue",
    "Kind",
    "Missing",
    "kind_of",
]

JsonValue: TypeAlias = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]
JsonObject: TypeAlias = dict[str, JsonValue]


class Missing(Enum):
    """The type of `MISSING`: a key or an item that does not exist."""

    MISSING = "missing"

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing.MISSING


class Kind(StrEnum):
    """The JSON types; a boolean is never a number."""

    NULL = "null"
    BOOLEAN = "boolean"
    NUMBER = "number"
    STRING = "string"
    ARRAY = "array"
    OBJECT = "object"


_KINDS: Final = {
    type(None): Kind.NULL,
    bool: Kind.BOOLEAN,
    int: Kind.NUMBER,
    float: Kind.NUMBER,
    str: Kind.STRING,
    list: Kind.ARRAY,
    dict: Kind.OBJECT,
}


def kind_of(value: JsonValue) -> Kind:
    """Return the JSON type of a value."""
    return _KINDS[type(value)]
