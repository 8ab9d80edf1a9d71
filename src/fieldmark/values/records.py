"""The JSON form of records: one writer, one reader and one JSON Schema for all of them.

A record is a dataclass or a named tuple. Its annotations say how it is stored and sent:

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Check:
        FORMAT: ClassVar[int] = 1  # a document of its own, which starts with "format": 1

        name: str
        passed: Annotated[int, Key("pass")]
        share: Annotated[float | None, Range(ge=0, le=1)]
        note: Annotated[str, OMIT_DEFAULT] = ""

        @property
        @computed_field(after="share")
        def percent(self) -> float: ...

        def to_dict(self) -> JsonObject:
            return to_json(self)

`to_json(check)` writes the fields in order. `from_json(Check, document)` reads them, and raises
`ValueError` with the path of the problem: "checks[2].share must be a number or null".
`json_schema(Check)` describes them.

- The type of a field is a scalar, an enumeration, another record, an array (tuple, list, sequence
  or set), an object (mapping from strings), or one of these or None. `JsonValue` and `JsonObject`
  are passed on as they are.
- A field of the type `X | Missing` is written unless it is missing.
- When a record is read, every key must be there, except keys with `OMIT_DEFAULT` or `OPTIONAL`.
  Unknown keys are ignored, so that later versions may add some.
- A computed field is a property that is written and never read.
- A field is written as its annotation says: a subclass of its type has no additional keys.

The types are resolved once for each class, so what annotations name must be imported at run time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, partial
from operator import attrgetter
from types import NoneType
from typing import (
    Annotated,
    Final,
    NamedTuple,
    TypeAlias,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from fieldmark.errors import OptionError
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.values.annotations import (
    arms_of,
    constraints_of,
    description_of,
    metadata_of,
    problem_of,
    without_metadata,
)

_EXACT: Final = 1 << 53
"""JSON parsers may round larger integers."""
_MAX_INTEGER: Final = 1 << 63
"""Larger numbers are no counts, and other programs could not read them."""
_Record = TypeVar("_Record")
_Getter = TypeVar("_Getter", bound=Callable[..., object])
_Writer: TypeAlias = Callable[[object], JsonValue]
_Reader: TypeAlias = Callable[[JsonValue], object]


# --- declarations ---------------------------------------------------------------------------------


class _Marker(Enum):
    OMIT_DEFAULT = "omit default"
    OPTIONAL = "optional"
    EXCLUDED = "excluded"
    ARRAY = "array"
    EXACT_ARRAY = "exact array"


OMIT_DEFAULT: Final = _Marker.OMIT_DEFAULT
"""The field is written only if it is not its default; without a default, if it is not empty."""
OPTIONAL: Final = _Marker.OPTIONAL
"""The field is always written, and has its default if it is not there when a record is read."""
EXCLUDED: Final = _Marker.EXCLUDED
"""The field is neither written nor read."""
ARRAY: Final = _Marker.ARRAY
"""The record is the array of its values, and so are the records in it."""
EXACT_ARRAY: Final = _Marker.EXACT_ARRAY
"""Marks an array of integers of any size; large integers are written as hexadecimal strings."""


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a field whose name differs from it."""

    name: str


@dataclass(frozen=True, slots=True)
class Inline:
    """The keys of a record or a mapping become keys of the record that has it as a field.

    Of a mapping, only keys that are `accepted` are read.
    """

    accepted: Callable[[str], bool] = lambda _: True


INLINE: Final = Inline()


class _Computed(NamedTuple):
    key: str
    after: str


def computed_field(*, key: str = "", after: str = "") -> Callable[[_Getter], _Getter]:
    """Mark the getter below `@property` of a value that is written and never read.

    It follows the field or property named `after`, by default everything before it.
    """

    def mark(getter: _Getter) -> _Getter:
        getter.__dict__["computed_field"] = _Computed(key, after)
        return getter

    return mark


class InvalidRecord(ValueError):
    """A JSON value that is not the form of a record, and the path of the part that is wrong."""

    def __init__(self, problem: str, *path: str) -> None:
        location = ".".join(path).replace(".[", "[")
        super().__init__(f"{location or 'the document'} {problem}")
        self.problem = problem
        self.path = path

    def below(self, *steps: str) -> InvalidRecord:
        """Return the same problem in a part of a value."""
        return InvalidRecord(self.problem, *steps, *self.path)


@contextmanager
def within(*steps: str) -> Iterator[None]:
    """Read a part of a document at this path, which problems then have."""
    try:
        yield
    except InvalidRecord as error:
        raise error.below(*steps) from None


# --- fields ---------------------------------------------------------------------------------------


class RecordField(NamedTuple):
    """A field of a record, or a property that is written as well."""

    name: str
    key: str
    annotation: object
    default: object
    computed: bool
    omit_default: bool
    optional: bool
    inline: Inline | None
    write: _Writer | None
    read: _Reader

    def is_omitted(self, value: object) -> bool:
        """Return whether a value is not written."""
        if not self.omit_default or value is MISSING:
            return value is MISSING
        if self.default is NO_DEFAULT:
            return value is None or value in ("", (), [], {})
        return value == self.default


@cache
def record_fields(record: type, *, array: _Marker | None = None) -> tuple[RecordField, ...]:
    """Return the fields that are written, in order; `array` says how, if the record is one."""
    hints = _hints(record)
    shape = [
        _field(name, hints[name], default, array=array)
        for name, default in _defaults(record).items()
        if EXCLUDED not in metadata_of(hints[name])
    ]
    for name, getter in _getters(record):
        computed: _Computed = getter.__dict__["computed_field"]
        field = _field(name, _hints(getter)["return"], NO_DEFAULT, array=array)
        field = field._replace(key=computed.key or field.key, computed=True)
        names = [earlier.name for earlier in shape]
        shape.insert(names.index(computed.after) + 1 if computed.after else len(names), field)
    return tuple(shape)


def _field(name: str, hint: object, default: object, *, array: _Marker | None) -> RecordField:
    metadata = metadata_of(hint)
    if default is NO_DEFAULT and Missing in arms_of(hint):
        default = MISSING
    return RecordField(
        name=name,
        key=next((part.name for part in metadata if isinstance(part, Key)), name),
        annotation=hint,
        default=default,
        computed=False,
        omit_default=OMIT_DEFAULT in metadata,
        optional=OMIT_DEFAULT in metadata or OPTIONAL in metadata or default is MISSING,
        inline=next((part for part in metadata if isinstance(part, Inline)), None),
        write=_writer(hint, array=array),
        read=_reader(hint, array=array),
    )


def _defaults(record: type) -> dict[str, object]:
    if not is_dataclass(record):
        known: Mapping[str, object] = getattr(record, "_field_defaults", {})
        names: tuple[str, ...] = getattr(record, "_fields", ())
        return {name: known.get(name, NO_DEFAULT) for name in names}
    return {
        field.name: field.default
        if field.default_factory is NO_DEFAULT
        else field.default_factory()
        for field in fields(record)
        if field.init
    }


def _getters(record: type) -> Iterator[tuple[str, Callable[..., object]]]:
    """Yield the computed fields by name."""
    for base in reversed(record.__mro__):
        for name, member in vars(base).items():
            getter = getattr(member, "fget", None) or getattr(member, "func", None)
            if getter is not None and hasattr(getter, "computed_field"):
                yield name, getter


def _hints(record: object) -> dict[str, object]:
    # The JSON types are recursive, and any value may be one.
    local: dict[str, object] = {"JsonValue": object, "JsonObject": dict[str, object]}
    return get_type_hints(record, localns=local, include_extras=True)


def _array_of(annotation: object) -> _Marker | None:
    return next((part for part in metadata_of(annotation) if part in (ARRAY, EXACT_ARRAY)), None)


def is_record(annotation: object) -> bool:
    """Whether a type is a dataclass or a named tuple."""
    return isinstance(annotation, type) and (
        is_dataclass(annotation) or hasattr(annotation, "_fields")
    )


def _types_of(annotation: object) -> list[object]:
    """Return the alternative types of a value, besides None and missing values."""
    arms = [arm for arm in arms_of(annotation) if arm not in (NoneType, Missing)]
    # Any integer is a number.
    return [arm for arm in arms if arm is not int or float not in arms]


# --- writing --------------------------------------------------------------------------------------


def to_json(record: object, kind: type | None = None) -> JsonObject:
    """Return the JSON form of a record, or of its base class `kind`.

    >>> from fieldmark.model.counts import Counts
    >>> to_json(Counts(tp=1, fn=2))
    {'tp': 1, 'tn': 0, 'fp': 0, 'fn': 2}
    """
    return _write_object(kind or type(record), record)


def _write_object(kind: type, record: object) -> JsonObject:
    return _object_writer(kind)(record)


@cache
def _object_writer(kind: type) -> Callable[[object], JsonObject]:
    version = getattr(kind, "FORMAT", None)
    start: JsonObject = {} if version is None else {"format": version}
    shape = record_fields(kind)
    keys, get = [field.key for field in shape], attrgetter(*(field.name for field in shape))
    if len(shape) > 1 and not any(field.optional or field.inline or field.write for field in shape):
        # Most records are counts and rates.
        return lambda record: {**start, **dict(zip(keys, get(record), strict=True))}
    fields = [
        (
            field.name,
            field.key,
            field.write,
            field.is_omitted if field.optional else None,
            field.inline,
        )
        for field in shape
    ]

    def write(record: object) -> JsonObject:
        document = start.copy()
        for name, key, write_value, is_omitted, inline in fields:
            value = getattr(record, name)
            if is_omitted is not None and is_omitted(value):
                continue
            written = value if write_value is None else write_value(value)
            if inline is None:
                document[key] = written
            else:
                document |= cast("JsonObject", written)
        return document

    return write


def _write_array(kind: type, array: _Marker, record: object) -> list[JsonValue]:
    values = (
        (field.write, getattr(record, field.name)) for field in record_fields(kind, array=array)
    )
    return [value if write is None else write(value) for write, value in values]


def _write_by_type(array: _Marker | None, value: object) -> JsonValue:
    write = _writer(type(value), array=array)
    return cast("JsonValue", value) if write is None else write(value)


def _write_exact(value: object) -> JsonValue:
    number = cast("int", value)
    return hex(number) if abs(number) >= _EXACT else number


def _writer(annotation: object, *, array: _Marker | None) -> _Writer | None:
    """Return what writes the values of a type, or `None` if they are JSON already."""
    array = _array_of(annotation) or array
    kinds = _types_of(annotation)
    if len(kinds) != 1:
        plain = all(_writer(kind, array=array) is None for kind in kinds)
        return None if plain else partial(_write_by_type, array)
    write = _writer_of(kinds[0], array=array)
    if write is None or NoneType not in arms_of(annotation):
        return write
    return lambda value: None if value is None else write(value)


def _writer_of(kind: object, *, array: _Marker | None) -> _Writer | None:
    if get_origin(kind) is Annotated:
        return _writer(kind, array=array)
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if not isinstance(origin, type) or origin in (object, str):
        return None
    if origin is int and array is EXACT_ARRAY:
        return _write_exact
    if is_record(kind):
        return (
            partial(_write_object, origin)
            if array is None
            else partial(_write_array, origin, array)
        )
    if issubclass(origin, Enum):
        return lambda member: cast("Enum", member).value
    if not issubclass(origin, Iterable):
        return None
    if issubclass(origin, Mapping):
        write = _writer(inner[1], array=array) if inner else None
        if write is None:
            return None if origin is dict else cast("_Writer", dict)
        return lambda value: {
            str(key): write(item) for key, item in cast("Mapping[str, object]", value).items()
        }
    writers = [_writer(item, array=array) for item in inner if item is not ...]
    if not any(writers):
        return cast("_Writer", list)
    if len(writers) == 1:
        [item_writer] = cast("list[_Writer]", writers)
        return lambda items: [*map(item_writer, cast("Iterable[object]", items))]
    return lambda items: [
        item if write is None else write(item)
        for write, item in zip(writers, cast("Iterable[JsonValue]", items), strict=True)
    ]


# --- reading --------------------------------------------------------------------------------------


def from_json(record: type[_Record], value: JsonValue, **known: object) -> _Record:
    """Read a record from its JSON form; anything else raises `ValueError`.

    `known` are values of fields that are not part of it.

    >>> from fieldmark.model.counts import Counts
    >>> from_json(Counts, {"tp": "1", "tn": 0, "fp": 0, "fn": 0})
    Traceback (most recent call last):
    fieldmark.values.records.InvalidRecord: tp must be an integer
    """
    return cast("_Record", _read_object(record, value, **known))


def _read_object(kind: type, value: JsonValue, **known: object) -> object:
    if not isinstance(value, dict):
        raise InvalidRecord("must be an object")
    version = getattr(kind, "FORMAT", None)
    if version is not None:
        _check_format(value, version)
    for field in record_fields(kind):
        if field.computed:
            continue
        if field.inline is not None:
            part = _inlined(kind, field, value)
            if part or not field.optional:
                known[field.name] = field.read(part)
        elif field.key in value:
            try:
                known[field.name] = field.read(value[field.key])
            except InvalidRecord as error:
                raise error.below(field.key) from None
        elif not field.optional:
            raise InvalidRecord("is missing", field.key)
        elif field.default is MISSING:
            known[field.name] = MISSING
    try:
        return kind(**known)
    except OptionError as error:
        raise InvalidRecord(error.message, error.option) from None


def _inlined(kind: type, field: RecordField, value: JsonObject) -> JsonObject:
    """Return the keys of a value that belong to an inlined record or mapping."""
    records = [cast("type", arm) for arm in _types_of(field.annotation) if is_record(arm)]
    if records:
        # Another inlined record may be in this one.
        keys = {
            inner.key for record in records for inner in record_fields(record) if not inner.optional
        }
        return {} if keys.isdisjoint(value) else value
    others = {other.key for other in record_fields(kind) if other is not field}
    accepted = cast("Inline", field.inline).accepted
    return {key: item for key, item in value.items() if key not in others and accepted(key)}


def _check_format(document: JsonObject, version: int) -> None:
    stored = document.get("format")
    if stored == version:
        return
    newer = isinstance(stored, int) and stored > version
    advice = "update fieldmark" if newer else "score the inputs again"
    raise ValueError(
        f"has format {stored}, but this version of fieldmark reads format {version}; {advice}"
    )


def _read_array(kind: type, array: _Marker, value: JsonValue) -> object:
    shape = record_fields(kind, array=array)
    if not isinstance(value, list) or len(value) != len(shape):
        raise InvalidRecord(f"must be an array of {len(shape)} values")
    values: dict[str, object] = {}
    for position, (field, item) in enumerate(zip(shape, value, strict=True)):
        try:
            values[field.name] = field.read(item)
        except InvalidRecord as error:
            raise error.below(f"[{position}]") from None
    return kind(**values)


def _reader(annotation: object, *, array: _Marker | None) -> _Reader:
    """Return what reads the values of a type."""
    array = _array_of(annotation) or array
    kinds, nullable = _types_of(annotation), NoneType in arms_of(annotation)
    readers = [_reader_of(kind, array=array) for kind in kinds]
    constrained = bool(constraints_of(annotation))
    if len(readers) == 1 and not nullable and not constrained:
        return readers[0]

    def read(value: JsonValue) -> object:
        if nullable and value is None:
            return None
        problems: list[str] = []
        for read_arm in readers:
            try:
                result = read_arm(value)
                break
            except InvalidRecord as error:
                if error.path or not error.problem.startswith("must be "):
                    raise
                problems.append(error.problem.removeprefix("must be "))
        else:
            raise InvalidRecord("must be " + " or ".join([*problems, *["null"] * nullable]))
        if constrained and (problem := problem_of(annotation, result)):
            raise InvalidRecord(problem)
        return result

    return read


def _reader_of(kind: object, *, array: _Marker | None) -> _Reader:
    if get_origin(kind) is Annotated:
        return _reader(kind, array=array)
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if not isinstance(origin, type) or origin is object:
        return lambda value: value
    if origin is int and array is EXACT_ARRAY:
        return _read_exact
    if origin in _SCALARS:
        return _SCALARS[origin]
    if is_record(kind):
        return (
            partial(_read_object, origin) if array is None else partial(_read_array, origin, array)
        )
    if issubclass(origin, Enum):
        return partial(_read_member, origin)
    if issubclass(origin, Mapping):
        return partial(_read_mapping, _reader(inner[1] if inner else object, array=array))
    items = inner[: inner.index(...)] if ... in inner else inner
    readers = [_reader(item, array=array) for item in items] or [_reader_of(object, array=None)]
    length = len(items) if origin is tuple and ... not in inner else None
    make = origin if issubclass(origin, tuple | list | set | frozenset) else tuple
    return partial(_read_items, make, readers, length, _items_noun(items, length))


def _read_member(kind: type[Enum], value: JsonValue) -> Enum:
    if isinstance(value, str | int):
        for member in kind:
            if member.value == value:
                return member
    raise InvalidRecord(f"must be one of: {', '.join(str(member.value) for member in kind)}")


def _read_mapping(read: _Reader, value: JsonValue) -> dict[str, object]:
    if not isinstance(value, dict):
        raise InvalidRecord("must be an object")
    result: dict[str, object] = {}
    for key, item in value.items():
        try:
            result[key] = read(item)
        except InvalidRecord as error:
            raise error.below(key) from None
    return result


def _read_items(
    make: Callable[[Iterable[object]], object],
    readers: Sequence[_Reader],
    length: int | None,
    noun: str,
    value: JsonValue,
) -> object:
    if not isinstance(value, list) or length not in (None, len(value)):
        raise InvalidRecord(f"must be {noun}" if length else "must be an array")
    result: list[object] = []
    for position, item in enumerate(value):
        try:
            result.append(readers[position if length else 0](item))
        except InvalidRecord as error:
            if not (error.path or noun.endswith(("an array", "values"))):
                raise InvalidRecord(f"must be {noun}") from None
            raise error.below(f"[{position}]") from None
    return make(result)


_NOUNS: Final[Mapping[object, str]] = {
    str: "strings", int: "integers", float: "numbers", bool: "booleans",
}  # fmt: skip
_NUMBERS: Final = ("no", "one", "two", "three", "four")


def _items_noun(items: Sequence[object], length: int | None) -> str:
    """Return the words for an array of scalars in messages.

    >>> _items_noun([float, float], 2), _items_noun([str], None)
    ('an array of two numbers', 'an array of strings')
    """
    nouns = {_NOUNS.get(without_metadata(item), "") for item in items}
    noun = nouns.pop() if len(nouns) == 1 else ""
    if length is None:
        return f"an array of {noun}" if noun else "an array"
    number = _NUMBERS[length] if length < len(_NUMBERS) else str(length)
    return f"an array of {number} {noun or 'values'}"


def _read_integer(value: JsonValue) -> int:
    if type(value) is not int:  # a boolean is not an integer
        raise InvalidRecord("must be an integer")
    if not -_MAX_INTEGER < value < _MAX_INTEGER:
        raise InvalidRecord("must be an integer of at most 64 bits")
    return value


def _read_exact(value: JsonValue) -> int:
    if isinstance(value, str):
        try:
            return int(value, 16)
        except ValueError:
            raise InvalidRecord("must be a hexadecimal integer") from None
    return _read_integer(value)


def _read_number(value: JsonValue) -> float:
    """Return a finite number, as an integer if it is written so."""
    if type(value) is float and math.isfinite(value):
        return value
    if type(value) is int and -_MAX_INTEGER < value < _MAX_INTEGER:
        return value
    raise InvalidRecord("must be a number")


def _read_string(value: JsonValue) -> str:
    if type(value) is not str:
        raise InvalidRecord("must be a string")
    return value


def _read_boolean(value: JsonValue) -> bool:
    if type(value) is not bool:
        raise InvalidRecord("must be true or false")
    return value


_SCALARS: Final[Mapping[type, _Reader]] = {
    int: _read_integer,
    float: _read_number,
    str: _read_string,
    bool: _read_boolean,
}


# --- JSON Schema ----------------------------------------------------------------------------------

_JSON_TYPES: Final[Mapping[object, str]] = {
    str: "string", int: "integer", float: "number", bool: "boolean",
}  # fmt: skip


def json_schema(annotation: object) -> JsonObject:
    """Return the JSON Schema of a record, or of the values of another type.

    >>> json_schema(tuple[float | None, ...])
    {'type': 'array', 'items': {'type': ['number', 'null']}}
    """
    array = _array_of(annotation)
    schemas = [_schema_of(arm, array=array) for arm in _types_of(annotation)]
    schema: JsonObject = schemas[0] if len(schemas) == 1 else {"anyOf": [*schemas]}
    if NoneType in arms_of(annotation):
        if isinstance(schema.get("type"), str):
            schema = {**schema, "type": [schema["type"], "null"]}
        elif "enum" in schema:
            schema = {"enum": [*cast("list[JsonValue]", schema["enum"]), None]}
        elif schema:
            schema = {"anyOf": [schema, {"type": "null"}]}
    for constraint in constraints_of(annotation):
        schema = {**schema, **constraint.to_schema()}
    description = description_of(annotation)
    return {**schema, "description": description} if description else schema


def _schema_of(kind: object, *, array: _Marker | None) -> JsonObject:
    if get_origin(kind) is Annotated:
        return json_schema(kind)
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if not isinstance(origin, type) or origin is object:
        return {}
    if origin in _JSON_TYPES:
        return {"type": _JSON_TYPES[origin]}
    if issubclass(origin, Enum):
        return {"enum": [member.value for member in origin]}
    if is_record(kind) and array is None:
        return _record_schema(origin)
    if issubclass(origin, Mapping):
        items = json_schema(inner[1]) if inner else {}
        return {"type": "object", **({"additionalProperties": items} if items else {})}
    items = json_schema(inner[0]) if inner and len({*inner} - {...}) == 1 else {}
    return {"type": "array", **({"items": items} if items else {})}


def _record_schema(record: type) -> JsonObject:
    properties: JsonObject = {}
    required: list[JsonValue] = []
    for field in record_fields(record):
        schema = json_schema(field.annotation)
        needed: JsonValue = [field.key]
        if field.inline is None:
            properties[field.key] = schema
        else:
            properties |= cast("JsonObject", schema.get("properties", {}))
            needed = schema.get("required", [])
        required += [] if field.optional else cast("list[JsonValue]", needed)
    return {
        "type": "object",
        **({"required": required} if required else {}),
        "properties": properties,
    }
