"""The gate for Python objects: documents of callers, copied into plain JSON types.

Libraries are recognized by their protocols and by the names of their classes, because the core
does not import them. Names are looked up in classes and never in instances, which may answer to
any name.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from enum import Enum
from itertools import islice
from math import isfinite, isnan, nan
from typing import Final, Protocol, TypeAlias, cast

from fieldmark.errors import DataError, FieldmarkError, InputTypeError, LimitError, with_hint
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.equality import canonical_text
from fieldmark.values.json_text import LIMITS, Limits, check_paths
from fieldmark.values.paths import join
from fieldmark.values.text import shorten

_SHOWN: Final = 200
_STEP: Final = 12
"""More than the characters of a step of a path without its key."""
_ACCEPTED: Final = (
    "accepted are JSON types, pydantic models, dataclasses, attrs classes, named tuples, sets, "
    "Decimal, date, time, UUID, Enum, and numpy and pandas values"
)
_TABLE_HINT: Final = "a data frame or table is a data set; pass it to fm.score by itself"
_TABLES: Final = frozenset(
    {("pandas", "DataFrame"), ("polars", "DataFrame"), ("datasets", "Dataset")}
)
_SERIES: Final = frozenset({("pandas", "Series"), ("polars", "Series")})
_SCALARS: Final = frozenset({str, int, float, bool, type(None), Decimal, date})
"""Frequent types that contain no other values."""
_DOUBLE: Final = 8
_MICROSECONDS: Final = 6
_NANOSECONDS: Final = 9

_Fields: TypeAlias = Iterable[tuple[object, object]]
"""Fields with their names, which are strings unless a mapping has other keys."""
_Reader: TypeAlias = Callable[[object], _Fields]


class _Type(Protocol):
    """A data type of numpy."""

    kind: str
    itemsize: int


class _Array(Protocol):
    """An array or a scalar of numpy, or a series of pandas."""

    ndim: int
    dtype: _Type

    def item(self) -> object: ...


class _Model(Protocol):
    """A model of pydantic."""

    def model_dump(self) -> object: ...


def plain_json(
    value: object, limits: Limits = LIMITS, *, path: Sequence[str | int] = ()
) -> JsonValue:
    """Copy a Python object as JSON; see `copy_json`.

    >>> from datetime import date
    >>> plain_json({"issued": date(2024, 5, 3), "lines": (1, 2)})
    {'issued': '2024-05-03', 'lines': [1, 2]}
    """
    return copy_json(value, limits, path=path)[0]


def copy_json(
    value: object,
    limits: Limits = LIMITS,
    *,
    path: Sequence[str | int] = (),
    finite: bool = False,
    nan_is_null: bool = False,
) -> tuple[JsonValue, int]:
    """Copy a Python object as JSON within the limits of files; return also the number of NaNs.

    Models, dataclasses and named tuples become objects, tuples and sets become lists, dates become
    ISO text, decimals the number that a JSON file would contain, and members of an `Enum` their
    values. Instances of subclasses of JSON types become instances of the JSON types, so that no
    code of a caller runs when the copy is compared. Other types, and objects that raise an
    exception when they are read, raise `InputTypeError`. An object that occurs several times counts
    each time, and a cycle exceeds the depth limit. With `finite`, NaN and infinite numbers are
    errors; with `nan_is_null`, NaN is null. Messages name the place of a value below `path`.
    """
    copier = _Copier(limits, path, finite=finite, nan_is_null=nan_is_null)
    try:
        copied = copier.copy(value)
    except (FieldmarkError, MemoryError):
        raise
    except RecursionError:
        raise LimitError("depth", "nested too deeply for the available stack") from None
    except Exception as error:
        # Code of the caller may raise anything.
        message = f"{copier.place()}reading the value raised {type(error).__name__}"
        raise InputTypeError(message) from error
    # No path is longer than all keys together.
    longest = copier.text + _STEP * limits.depth
    if copier.text > limits.key_characters or copier.values * longest > limits.path_characters:
        check_paths(copied, limits)
    return copied, copier.non_finite


class _Copier:
    __slots__ = (
        "_finite", "_limits", "_nan_is_null", "_path", "_prefix", "non_finite", "text", "values",
    )  # fmt: skip

    def __init__(
        self, limits: Limits, prefix: Sequence[str | int], *, finite: bool, nan_is_null: bool
    ) -> None:
        self._limits = limits
        self._prefix = prefix
        self._finite = finite
        self._nan_is_null = nan_is_null
        self._path: list[str | int] = []
        self.values = 0
        self.text = 0
        self.non_finite = 0

    def copy(self, value: object) -> JsonValue:
        self.values += 1
        if self.values > self._limits.nodes:
            raise self._too_many_values()
        kind = type(value)
        if kind is str:
            return self._string(cast("str", value))
        if kind is dict:
            return self._object(list(cast("dict[object, object]", value).items()))
        if kind is int:
            return self._integer(cast("int", value))
        if kind is float:
            return self._float(cast("float", value))
        if value is None or kind is bool:
            return cast("bool | None", value)
        if kind is list:
            return self._list(cast("list[object]", value).copy())
        return self._converted(value, kind)

    def _converted(self, value: object, kind: type) -> JsonValue:
        """Return a value of a type that is not a JSON type itself."""
        if issubclass(kind, Enum):
            return self.copy(cast("Enum", value).value)
        # The methods of the JSON types, because a subclass may have others.
        if issubclass(kind, str):
            return self._string(cast("str", value))
        if issubclass(kind, int):
            return self._integer(cast("int", value))
        if issubclass(kind, float):
            return self._float(cast("float", value))
        if issubclass(kind, Decimal):
            return self._decimal(cast("Decimal", value))
        if issubclass(kind, date | time):
            if value != value:  # noqa: PLR0124 - only NaT, which is a date, does not equal itself
                return None
            return self._text(cast("date | time", value).isoformat())
        if issubclass(kind, list):
            return self._list(list.copy(cast("list[object]", value)))
        if issubclass(kind, set):
            return self._set(set.__iter__(cast("set[object]", value)))
        if issubclass(kind, frozenset):
            return self._set(frozenset.__iter__(cast("frozenset[object]", value)))
        reader = record_reader(kind)
        if reader is _model_fields:
            return self.copy(self._dump(cast("_Model", value)))
        if reader is not None:
            return self._object(reader(value))
        if issubclass(kind, tuple):
            return self._list(tuple.__iter__(cast("tuple[object, ...]", value)))
        names = class_names(kind)
        if ("uuid", "UUID") in names:
            return self._text(str(value))
        if ("pandas", "NAType") in names:
            return None
        if defines(kind, "dtype", "ndim"):
            return self._array(cast("_Array", value))
        raise self._refusal(kind)

    def _object(self, items: _Fields) -> JsonObject:
        self._check_depth()
        made: JsonObject = {}
        for key, inner in items:
            text = self._string(key) if type(key) is str else self._key(key)
            if text in made:
                raise DataError(f"{self.place()}duplicate key {shorten(text, _SHOWN)!r}")
            self._path.append(text)
            made[text] = self.copy(inner)
            self._path.pop()
        return made

    def _key(self, key: object) -> str:
        kind = type(key)
        if issubclass(kind, str):
            return self._string(cast("str", key))
        text: JsonValue = None
        if issubclass(kind, Enum | date | time) or ("uuid", "UUID") in class_names(kind):
            text = self.copy(key)
        if not isinstance(text, str):
            shown = shorten(repr(key), _SHOWN)
            raise InputTypeError(f"{self.place()}key {shown} is not a string")
        return text

    def _list(self, items: Iterable[object]) -> list[JsonValue]:
        self._check_depth()
        made: list[JsonValue] = []
        for index, inner in enumerate(items):
            self._path.append(index)
            made.append(self.copy(inner))
            self._path.pop()
        return made

    def _set(self, items: Iterable[object]) -> list[JsonValue]:
        """Return the items in an order that does not depend on their hashes."""
        return sorted(self._list(items), key=canonical_text)

    def _string(self, text: str) -> str:
        self.text += str.__len__(text)
        if self.text > self._limits.document_bytes:
            limit = self._limits.document_bytes
            raise LimitError("document_bytes", f"document exceeds the limit of {limit:,} bytes")
        return str.__str__(text)

    def _text(self, text: object) -> str:
        """Return the result of a method of a caller, which must be a string."""
        if not issubclass(type(text), str):
            raise self._refusal(type(text))
        return self._string(cast("str", text))

    def _integer(self, value: int) -> int:
        number = int.__int__(value)
        digits = self._limits.integer_digits
        # A digit has more than three bits.
        if number.bit_length() > 3 * digits and abs(number) >= cast("int", 10**digits):
            raise self._too_many_digits()
        return number

    def _float(self, value: float) -> float | None:
        number = float.__float__(value)
        if not isfinite(number):
            if self._nan_is_null and isnan(number):
                return None
            if self._finite:
                named = "NaN" if isnan(number) else number
                raise DataError(f"{self.place()}{named} is not a finite number")
            self.non_finite += 1
        return number

    def _decimal(self, value: Decimal) -> int | float | None:
        """Return the number that a JSON file with these digits contains; an integer stays exact."""
        if not Decimal.is_finite(value):
            return self._float(nan if Decimal.is_nan(value) else Decimal.__float__(value))
        _, _, exponent = Decimal.as_tuple(value)
        if cast("int", exponent) < 0:
            number = Decimal.__float__(value)
            if Decimal.to_integral_value(value) != value or Decimal(number) == value:
                return self._float(number)
        if Decimal.is_zero(value):
            return 0
        if Decimal.adjusted(value) >= self._limits.integer_digits:
            raise self._too_many_digits()
        return Decimal.__int__(value)

    def _array(self, value: _Array) -> JsonValue:
        """Return an array as a list, and a scalar of numpy as the number or text that it is."""
        if value.ndim:
            return self._list(cast("Iterable[object]", value))
        kind = value.dtype.kind
        if kind == "M":
            text = _trim_fraction(str(value))
            return None if text == "NaT" else self._string(text)
        if kind == "f" and value.dtype.itemsize < _DOUBLE:
            # With its shortest digits: 0.1, not 0.10000000149011612.
            return self._float(float(str(value)))
        item = value.item() if kind in tuple("biufU") else None
        if type(item) not in (bool, int, float, str):
            raise self._refusal(type(value))
        return self.copy(item)

    def _dump(self, model: _Model) -> object:
        """Return what `model_dump` of pydantic returns, unless it would have too many values.

        The limits are checked first, because pydantic copies an object each time that it occurs.
        """
        pending: list[tuple[object, int]] = [(model, len(self._path))]
        count = self.values
        while pending:
            item, depth = pending.pop()
            count += 1
            if count > self._limits.nodes:
                raise self._too_many_values()
            if depth > self._limits.depth:
                raise self._too_deep()
            if type(item) in _SCALARS:
                continue
            reader = record_reader(type(item))
            inner: Iterable[object] = ()
            if reader is not None:
                inner = (member for _, member in reader(item))
            elif isinstance(item, list | tuple | set | frozenset | deque):
                inner = item
            pending.extend((item, depth + 1) for item in islice(inner, self._limits.nodes))
        return model.model_dump()

    def _check_depth(self) -> None:
        if len(self._path) >= self._limits.depth:
            raise self._too_deep()

    def _too_deep(self) -> LimitError:
        limit = self._limits.depth
        return LimitError("depth", f"nesting exceeds the limit of {limit} levels")

    def _too_many_values(self) -> LimitError:
        return LimitError("nodes", f"too many values (limit {self._limits.nodes:,})")

    def _too_many_digits(self) -> LimitError:
        digits = self._limits.integer_digits
        message = f"{self.place()}integer has too many digits (limit {digits:,})"
        return LimitError("integer_digits", message)

    def _refusal(self, kind: type) -> InputTypeError:
        message = f"{self.place()}{kind.__name__} is not a JSON value"
        return InputTypeError(with_hint(message, _TABLE_HINT if is_table(kind) else _ACCEPTED))

    def place(self) -> str:
        """Return the current path with a colon, or an empty string for the whole document."""
        text = ""
        for step in (*self._prefix, *self._path):
            text = join(text, step) if isinstance(step, str) else f"{text}[{step}]"
        return f"{shorten(text, _SHOWN)}: " if text else ""


def may_be_document(kind: type) -> bool:
    """Return whether instances of a class become objects or lists, rather than scalars."""
    return (
        issubclass(kind, list | tuple | set | frozenset)
        or record_reader(kind) is not None
        or defines(kind, "dtype", "ndim")
    )


def is_table(kind: type) -> bool:
    """Return whether instances of a class are data frames, Arrow tables or data sets."""
    names = class_names(kind)
    known = not _TABLES.isdisjoint(names)
    return known or (defines(kind, "__arrow_c_stream__") and not is_series(kind))


def is_series(kind: type) -> bool:
    """Return whether instances of a class are columns of a data frame."""
    return not _SERIES.isdisjoint(class_names(kind))


def record_reader(kind: type) -> _Reader | None:
    """Return the function that reads the fields of a record, or `None` for other classes.

    Records are mappings, pydantic models, dataclasses, and instances of attrs classes and named
    tuples.
    """
    if issubclass(kind, Mapping):
        return _items
    if issubclass(kind, tuple):
        return _tuple_fields if defines(kind, "_fields") else None
    return next((reader for names, reader in _RECORDS if defines(kind, *names)), None)


def defines(kind: type, *names: str) -> bool:
    """Return whether a class has all these attributes, without running its code."""
    return all(any(name in vars(base) for base in kind.__mro__) for name in names)


def class_names(kind: type) -> set[tuple[str, str]]:
    """Return the names of a class and its base classes, each with its package.

    >>> sorted(class_names(bool))
    [('builtins', 'bool'), ('builtins', 'int'), ('builtins', 'object')]
    """
    return {(str(base.__module__).partition(".")[0], base.__name__) for base in kind.__mro__}


def _items(record: object) -> _Fields:
    if isinstance(record, dict):
        return list(dict.items(record))
    return cast("Mapping[object, object]", record).items()


def _tuple_fields(record: object) -> _Fields:
    names = cast("Iterable[object]", getattr(record, "_fields", ()))
    return zip(names, tuple.__iter__(cast("tuple[object, ...]", record)), strict=True)


def _dataclass_fields(record: object) -> _Fields:
    fields = dataclasses.fields(type(record))  # type: ignore[arg-type]
    return ((field.name, getattr(record, field.name)) for field in fields)


def _attrs_fields(record: object) -> _Fields:
    fields = cast("Iterable[dataclasses.Field[object]]", getattr(record, "__attrs_attrs__", ()))
    return ((field.name, getattr(record, field.name)) for field in fields)


def _model_fields(record: object) -> _Fields:
    extra = getattr(record, "__pydantic_extra__", None)
    return [*vars(record).items(), *(extra or {}).items()]


_RECORDS: Final[tuple[tuple[tuple[str, ...], _Reader], ...]] = (
    (("__pydantic_serializer__", "model_dump"), _model_fields),
    (("__dataclass_fields__",), _dataclass_fields),
    (("__attrs_attrs__",), _attrs_fields),
)
"""The attributes of classes of records, and how their fields are read."""


def _trim_fraction(text: str) -> str:
    """Return an ISO time of numpy with the digits that `datetime` writes: none, six or nine."""
    whole, point, fraction = text.partition(".")
    digits = fraction.rstrip("0")
    if not point or len(digits) > _NANOSECONDS:
        return text
    width = _MICROSECONDS if len(digits) <= _MICROSECONDS else _NANOSECONDS
    return f"{whole}.{digits.ljust(width, '0')}" if digits else whole
