"""Read the options of strategies in files, and describe them as JSON Schema."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from enum import Enum
from functools import cache, partial
from typing import Any, Final, Generic, TypeVar, cast

from fieldmark import registry
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.model.comparison import Comparator, Provider
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.model.rule import Rule
from fieldmark.rules.calibration import CALIBRATED
from fieldmark.rules.config_values import Context, Located
from fieldmark.values.annotations import arms_of, is_command_line, without_metadata
from fieldmark.values.text import did_you_mean
from fieldmark.values.value_types import (
    InvalidValueError,
    any_of,
    describe,
    is_json_object,
    plain,
    read_value,
    value_schema,
)


def read_option(located: Located, name: str, annotation: object, context: Context) -> object | None:
    """Read the value of an option; a value that does not fit is a problem and gives `None`."""
    try:
        return read_value(annotation, located.value)
    except InvalidValueError as error:
        context.add(f"{name}: {error}", located.location)
        return None


# --- JSON Schema ----------------------------------------------------------------------------------

_DEFINITIONS: Final[Mapping[object, str]] = {
    Comparator: "match",
    Provider: "provider",
    tuple[Rule, ...]: "fields",
    tuple[ConfiguredEvaluator, ...]: "evaluators",
}
"""Types with their own definitions in the schemas."""
_FILE: Final[JsonObject] = {
    "type": "string",
    "description": "A file below the directory of this file.",
}


def ref(name: str) -> JsonObject:
    """Return a reference to a definition."""
    return {"$ref": f"#/$defs/{name}"}


def type_schema(annotation: object) -> JsonObject:
    """Describe the values of the type of an option as JSON Schema."""
    return value_schema(annotation, _special_schema)


def _special_schema(annotation: object) -> JsonObject | None:
    if is_command_line(annotation):
        return {"type": "array", "items": {"type": "string"}}
    kind = without_metadata(annotation)
    if kind in _DEFINITIONS:
        return ref(_DEFINITIONS[kind])
    if is_json_object(kind):
        arms = (arm if arm in (bool, type(None)) else dict[str, object] for arm in arms_of(kind))
        return any_of([*map(value_schema, arms), _FILE])
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return {
            "type": "object",
            "description": summary_of(kind),
            "additionalProperties": False,
            **options_schema(cast("type", kind)),
        }
    return None


def options_schema(strategy: type) -> JsonObject:
    """Return the `properties` of a strategy, and which of them are `required`."""
    needed = required_options(strategy)
    properties: JsonObject = {**option_schemas(strategy)}
    return {"properties": properties, **({"required": needed} if needed else {})}


def required_options(strategy: type) -> list[JsonValue]:
    """Return the names of the required options of a strategy."""
    return [
        name for name, option in registry.options(strategy).items() if option.default is MISSING
    ]


def option_schemas(strategy: type) -> dict[str, JsonObject]:
    """Describe each option of a strategy as JSON Schema."""
    options = registry.options(strategy)
    return {name: option_schema(strategy, option) for name, option in options.items()}


def option_schema(strategy: type, option: registry.Option) -> JsonObject:
    """Describe an option as JSON Schema, with its description and default."""
    schema = type_schema(option.type)
    of_comparator = hasattr(strategy, "compare") or hasattr(strategy, "comparator")
    if option.name == "pass_threshold" or (option.name == "threshold" and of_comparator):
        schema = any_of([schema, {"const": CALIBRATED}])
    description = _description_of(strategy, option.name, option.type)
    default = _default_as_json(option.default)
    return {
        **schema,
        **({"description": description} if description else {}),
        **({"default": default} if default is not None else {}),
    }


def _default_as_json(default: object) -> JsonValue:
    """Return a default as JSON, or `None` if it has no JSON form."""
    if isinstance(default, Enum):
        return str(default.value) if default is not MISSING else None
    if isinstance(default, bool | int | float | str):
        return default
    if isinstance(default, Decimal):
        return float(default)
    if isinstance(default, tuple) and all(isinstance(item, str) for item in default):
        return list(default)
    return None


# --- descriptions from docstrings -----------------------------------------------------------------

_SENTENCE_END: Final = re.compile(r"(?<=[.?!])\s+(?=[A-Z`])")


@cache
def summary_of(kind: type) -> str:
    """Return the first paragraph of a docstring."""
    return _paragraphs(kind)[0] if _paragraphs(kind) else ""


@cache
def _description_of(kind: type, option: str, annotation: object) -> str:
    """Return the sentences about an option in the docstrings of its class and base classes.

    An enumeration that they do not mention is described by the docstring of its type.

    >>> from fieldmark.compare.regex import Regex
    >>> _description_of(Regex, "search", bool)
    'The whole string must match, or with `search` any part of it.'
    """
    word = re.compile(rf"`{re.escape(option)}(?:`|: )")
    for owner in kind.__mro__:
        sentences = [
            sentence for text in _paragraphs(owner) for sentence in _SENTENCE_END.split(text)
        ]
        about = [sentence for sentence in sentences if word.search(sentence)]
        if about:
            return " ".join(about)
    inner = plain(annotation)
    return summary_of(inner) if isinstance(inner, type) and issubclass(inner, Enum) else ""


@cache
def _paragraphs(kind: type) -> tuple[str, ...]:
    """Return the prose paragraphs of a docstring, each on one line."""
    parts = re.split(r"\n\s*\n", inspect.cleandoc(kind.__doc__ or ""))
    return tuple(" ".join(part.split()) for part in parts if part and not part.startswith(">>>"))


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
        located = owner.get(self.name)
        if located is None:
            return self.default
        if self.reader is not None:
            value = self.reader(located, context)
        else:
            value = cast("T | None", read_option(located, self.name, self.type, context))
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
