"""Tables of the keys that an object in a file may have.

A table reads values, rejects unknown keys and describes the object as JSON Schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Generic, TypeVar, cast

from fieldmark import registry
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.rules.context import Context
from fieldmark.rules.located import Located
from fieldmark.rules.option_types import option_schema, read_option, type_schema
from fieldmark.values.text import did_you_mean
from fieldmark.values.value_types import describe

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class ConfigKey(Generic[T]):
    """A key with the type of its values, its default and its description.

    Keys with structured values have a `reader` and a `schema` instead of a `type`. Keys that depend
    on each other are read by the reader of the object.
    """

    name: str
    type: object = object
    description: str = ""
    _: KW_ONLY
    default: T = None  # type: ignore[assignment]
    schema: JsonObject | Callable[[], JsonObject] | None = None
    reader: Callable[[Located, Context], T | None] | None = None

    def read(self, owner: Located, context: Context) -> T:
        """Return the value of this key in an object, or the default."""
        given = owner.get(self.name)
        if given is None:
            return self.default
        if self.reader is not None:
            value = self.reader(given, context)
        else:
            value = cast("T | None", read_option(given, self.name, self.type, context))
        if value is None:
            return self.default
        return value

    def to_schema(self) -> JsonObject:
        """Describe the values of this key as JSON Schema."""
        schema = self.schema() if callable(self.schema) else self.schema
        shows_default = isinstance(self.default, bool | int | float)
        return {
            **(type_schema(self.type) if schema is None else schema),
            **({"default": cast("JsonValue", self.default)} if shows_default else {}),
            **({"description": self.description} if self.description else {}),
        }


class KeyTable:
    """The keys of one type of object, in the order of the documentation."""

    __slots__ = ("keys", "names")

    def __init__(self, *keys: ConfigKey[Any]) -> None:
        self.keys = keys
        self.names = tuple(key.name for key in keys)

    def __iter__(self) -> Iterator[ConfigKey[Any]]:
        return iter(self.keys)

    def refuse_unknown(self, located: Located, context: Context) -> None:
        """Record a problem for each unknown key."""
        refuse_unknown(located, self.names, context)

    def properties(self) -> JsonObject:
        """Describe the values of all keys as JSON Schema."""
        return {key.name: key.to_schema() for key in self.keys}

    def to_schema(self, *required: str) -> JsonObject:
        """Describe the object as JSON Schema, without additional keys."""
        needed: list[JsonValue] = [*required]
        return {
            "type": "object",
            **({"required": needed} if needed else {}),
            "additionalProperties": False,
            "properties": self.properties(),
        }


def option_keys(strategy: type) -> list[ConfigKey[Any]]:
    """Return a key for each option of a strategy."""
    return [
        ConfigKey(name, option.type, schema=partial(option_schema, strategy, option))
        for name, option in registry.options(strategy).items()
    ]


def expect_object(located: Located, what: str, context: Context, hint: str = "") -> bool:
    """Whether a value is an object; if not, record a problem."""
    if isinstance(located.value, dict):
        return True
    context.add(
        f"{what}: expected an object, got {describe(located.value)}", located.location, hint
    )
    return False


def refuse_unknown(
    located: Located,
    known: Iterable[str],
    context: Context,
    otherwise: Callable[[str], str] = lambda _: "",
) -> None:
    """Record a problem for each unknown key, with a suggestion or another hint."""
    words = list(known)
    for key in located.entries:
        if key not in words:
            hint = did_you_mean(key, words) or otherwise(key)
            context.add(f"unknown key {key!r}", located.key_location(key), hint)
