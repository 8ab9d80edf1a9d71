"""Python objects become plain JSON: each type as a table, then what is refused, and hostile objects."""

from __future__ import annotations

import datetime as dt
import enum
import math
import sys
import uuid
from collections import OrderedDict, UserDict, deque, namedtuple
from dataclasses import InitVar, dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypedDict
from unittest.mock import MagicMock, Mock

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel, computed_field, field_serializer
from pydantic.dataclasses import dataclass as pydantic_dataclass

from fieldmark.errors import DataError, InputTypeError, LimitError
from fieldmark.values.json_text import Limits
from fieldmark.values.plain_json import copy_json, plain_json

ISSUED = dt.date(2024, 5, 3)
MOMENT = dt.datetime(2024, 5, 3, 4, 5, 6)  # noqa: DTZ001
ZONE = dt.timezone(dt.timedelta(hours=2))
NAME = uuid.UUID("12345678-1234-5678-1234-567812345678")


class Line(BaseModel):
    sku: str = Field(default="s", alias="SKU", validation_alias="sku")
    amount: Decimal = Decimal("1.50")


class Invoice(BaseModel):
    issued: dt.date = ISSUED
    lines: list[Line] = [Line()]
    tags: set[str] = {"b", "a"}
    secret: str = Field(default="x", exclude=True)

    @computed_field
    def count(self) -> int:
        return len(self.lines)


class Formatted(BaseModel):
    issued: dt.date = ISSUED

    @field_serializer("issued")
    def as_printed(self, issued: dt.date) -> str:
        return issued.strftime("%d.%m.%Y")


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int = 1


@dataclass
class Point:
    x: object = 1
    y: object = None
    shared: ClassVar[int] = 5
    given: InitVar[int] = 0
    hidden: int = field(default=3, repr=False, compare=False)


@dataclass(slots=True, frozen=True)
class Slotted:
    x: object = 1


@pydantic_dataclass
class Checked:
    x: int = 1


@attrs.define
class Place:
    x: object = 1
    _y: int = 2


class Pair(NamedTuple):
    x: object = 1
    y: object = None


class Typed(TypedDict):
    x: int


class Color(enum.Enum):
    RED = "red"
    MIXED = (1, {"a": 2})


class Size(enum.IntEnum):
    BIG = 10


class Whole(int):
    pass


class Word(enum.StrEnum):
    YES = "yes"


class Coded(str, enum.Enum):  # noqa: UP042 - as in older code
    A = "code", "value"

    def __new__(cls, code, value):
        made = str.__new__(cls, code)
        made._value_ = value
        return made


OldPair = namedtuple("OldPair", "x y")  # noqa: PYI024

CONVERTED = [
    pytest.param(Invoice(), {"issued": "2024-05-03", "lines": [{"sku": "s", "amount": 1.5}], "tags": ["a", "b"], "count": 1}, id="pydantic-as-model-dump"),
    pytest.param(Formatted(), {"issued": "03.05.2024"}, id="pydantic-serializer"),
    pytest.param(Open(b=[Open()]), {"a": 1, "b": [{"a": 1}]}, id="pydantic-extra-fields"),
    pytest.param(RootModel[list[int]]([1, 2]), [1, 2], id="pydantic-root-model"),
    pytest.param(Point(), {"x": 1, "y": None, "hidden": 3}, id="dataclass"),
    pytest.param(Point(x=[Point(x=ISSUED)]), {"x": [{"x": "2024-05-03", "y": None, "hidden": 3}], "y": None, "hidden": 3}, id="nested-dataclass"),
    pytest.param(Slotted(x=Line()), {"x": {"sku": "s", "amount": 1.5}}, id="slots-and-a-model-inside"),
    pytest.param(Checked(), {"x": 1}, id="pydantic-dataclass"),
    pytest.param(Place(x=Place()), {"x": {"x": 1, "_y": 2}, "_y": 2}, id="attrs"),
    pytest.param(Pair(x=Pair()), {"x": {"x": 1, "y": None}, "y": None}, id="named-tuple"),
    pytest.param(OldPair(1, 2), {"x": 1, "y": 2}, id="named-tuple-of-collections"),
    pytest.param(Typed(x=1), {"x": 1}, id="typed-dict"),
    pytest.param(OrderedDict(a=1), {"a": 1}, id="ordered-dict"),
    pytest.param(UserDict(a=1), {"a": 1}, id="mapping"),
    pytest.param((1, (2,)), [1, [2]], id="tuples"),
    pytest.param({3, 1, 2}, [1, 2, 3], id="set"),
    pytest.param(frozenset({"b", "a"}), ["a", "b"], id="frozenset"),
    pytest.param({Pair(1, "b"), Pair(1, "a")}, [{"x": 1, "y": "a"}, {"x": 1, "y": "b"}], id="set-of-records"),
    pytest.param(ISSUED, "2024-05-03", id="date"),
    pytest.param(MOMENT, "2024-05-03T04:05:06", id="datetime"),
    pytest.param(MOMENT.replace(tzinfo=ZONE, microsecond=7), "2024-05-03T04:05:06.000007+02:00", id="time-zone"),
    pytest.param(dt.time(4, 5), "04:05:00", id="time"),
    pytest.param(NAME, str(NAME), id="uuid"),
    pytest.param(Color.RED, "red", id="enum"),
    pytest.param(Color.MIXED, [1, {"a": 2}], id="enum-with-a-container"),
    pytest.param(Size.BIG, 10, id="int-enum"),
    pytest.param(Word.YES, "yes", id="str-enum"),
    pytest.param(Whole(7), 7, id="type-of-integers"),
    pytest.param(Coded.A, "value", id="enum-whose-value-is-not-its-text"),
    pytest.param({Color.RED: 1, ISSUED: 2, NAME: 3, Word.YES: 4}, {"red": 1, "2024-05-03": 2, str(NAME): 3, "yes": 4}, id="keys"),
    pytest.param(np.bool_(True), True, id="numpy-bool"),  # noqa: FBT003
    pytest.param(np.uint64(2**63), 2**63, id="numpy-integer"),
    pytest.param(np.float64(0.1), 0.1, id="numpy-double"),
    pytest.param(np.float32(0.1), 0.1, id="numpy-single"),
    pytest.param(np.float16(0.1), 0.1, id="numpy-half"),
    pytest.param(np.str_("a"), "a", id="numpy-text"),
    pytest.param(np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]], id="numpy-array"),
    pytest.param(np.array(5), 5, id="numpy-array-without-dimensions"),
    pytest.param(np.array("a"), "a", id="numpy-text-without-dimensions"),
    pytest.param(np.array([{"a": ISSUED}, None], dtype=object), [{"a": "2024-05-03"}, None], id="numpy-objects"),
    pytest.param(np.array([0.1], dtype="f4"), [0.1], id="numpy-array-of-singles"),
    pytest.param(np.datetime64("2024-05-03"), "2024-05-03", id="numpy-day"),
    pytest.param(np.datetime64("2024-05-03T04:05:06", "ns"), "2024-05-03T04:05:06", id="numpy-moment"),
    pytest.param(np.datetime64("2024-05-03T04:05:06.5", "ns"), "2024-05-03T04:05:06.500000", id="numpy-microseconds"),
    pytest.param(np.datetime64("2024-05-03T04:05:06.000000007", "ns"), "2024-05-03T04:05:06.000000007", id="numpy-nanoseconds"),
    pytest.param(np.datetime64("1970-01-02T04:05:06.000000007", "ps"), "1970-01-02T04:05:06.000000007", id="numpy-picoseconds-up-to-nine-digits"),
    pytest.param(np.array(["2024-05-03", "NaT"], dtype="M8[ns]"), ["2024-05-03T00:00:00", None], id="numpy-array-of-moments"),
    pytest.param(pd.Timestamp(MOMENT), "2024-05-03T04:05:06", id="pandas-timestamp"),
    pytest.param(pd.Timestamp("2024-05-03T04:05:06.000000007Z"), "2024-05-03T04:05:06.000000007+00:00", id="pandas-nanoseconds"),
    pytest.param(pd.NaT, None, id="pandas-nat"),
    pytest.param(pd.NA, None, id="pandas-na"),
    pytest.param(pd.Series([1, 2]), [1, 2], id="pandas-series"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "expected"), CONVERTED)
def test_objects_become_json(given, expected):
    copied = plain_json({"x": given})["x"]
    assert copied == expected
    assert type(copied) is type(expected)
    assert plain_json(copied) == copied


DECIMALS = [
    pytest.param("12", 12, id="integer"),
    pytest.param("1E+3", 1000, id="integer-with-exponent"),
    pytest.param(str(10**30), 10**30, id="long-integer"),
    pytest.param("10.00", 10.0, id="zeros-behind-the-point"),
    pytest.param("0.1", 0.1, id="fraction"),
    pytest.param("-0.0", -0.0, id="negative-zero"),
    pytest.param("0E+5000", 0, id="zero-with-exponent"),
    pytest.param(f"{10**30}.00", 10**30, id="long-integer-with-zeros-behind-the-point"),
    pytest.param("0.1234567890123456789012345", 0.12345678901234568, id="more-digits-than-a-json-number"),
    pytest.param("1E-400", 0.0, id="too-small"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), DECIMALS)
def test_decimal_is_the_number_of_a_json_file(text, expected):
    copied = plain_json(Decimal(text))
    assert (copied, type(copied)) == (expected, type(expected))
    if "E+" not in text:
        assert copied == float(text) or isinstance(copied, int)


def test_decimal_beyond_the_digit_limit_is_not_computed():
    for text in ("1E+1000", "1E+999999999", "-1E+1000"):
        with pytest.raises(LimitError) as caught:
            plain_json({"a": Decimal(text)})
        assert caught.value.limit == "integer_digits"
    assert plain_json(Decimal("1E+999")) == 10**999


def test_decimal_that_is_not_finite_is_handled_like_a_float():
    for text in ("NaN", "sNaN"):
        assert math.isnan(plain_json(Decimal(text)))
    assert plain_json(Decimal("-Infinity")) == -math.inf
    with pytest.raises(DataError, match=r"^a: NaN is not a finite number$"):
        copy_json({"a": Decimal("sNaN")}, finite=True)


def test_nan_is_null_if_asked():
    assert copy_json([math.nan, {"a": np.float32("nan")}, 1.5], finite=True, nan_is_null=True) == (
        [None, {"a": None}, 1.5],
        0,
    )
    assert copy_json([math.inf], nan_is_null=True) == ([math.inf], 1)


class Hashed(str):
    """A string with any hash."""

    __slots__ = ("number",)

    def __hash__(self):
        return self.number

    __eq__ = str.__eq__


def hashed(text, number):
    made = Hashed(text)
    made.number = number
    return made


def test_order_of_a_set_does_not_depend_on_hashes():
    words = ["b", "a", "d", "c"]
    sets = [
        {hashed(word, factor * n % 7) for n, word in enumerate(words)} for factor in range(1, 7)
    ]
    assert len({tuple(map(str, each)) for each in sets}) > 1
    assert {tuple(plain_json(each)) for each in sets} == {("a", "b", "c", "d")}
    mixed = plain_json({"x", 10, 2.5, None, ("y",), frozenset({"q", "p"})})
    assert mixed == ["x", 10, 2.5, ["p", "q"], ["y"], None]


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        b"x",
        bytearray(b"x"),
        memoryview(b"x"),
        len,
        Point,
        Line,
        1j,
        Fraction(1, 2),
        object(),
        range(3),
        deque([1]),
        (each for each in [1]),
        Path("x"),
        dt.timedelta(1),
        np.timedelta64(5, "ns"),
        np.complex64(1),
        np.longdouble(1),
        np.bytes_(b"x"),
        np.zeros(1, dtype=[("a", int)])[0],
        pd.Timedelta(1),
        pd.Period("2024"),
        Exception("x"),
        sys,
    ],
    ids=lambda given: type(given).__name__,
)
def test_other_objects_raise_type_error_with_the_path_and_what_is_accepted(given):
    with pytest.raises(TypeError) as caught:
        plain_json({"a": [given]})
    assert isinstance(caught.value, DataError)
    name = type(given).__name__
    text = (
        f"a[0]: {name} is not a JSON value; accepted are JSON types, pydantic models, dataclasses"
    )
    assert str(caught.value).startswith(text)


def test_table_inside_a_document_is_refused_with_a_hint():
    for table in (pd.DataFrame({"a": [1]}), pl.DataFrame({"a": [1]})):
        with pytest.raises(InputTypeError, match=r"pass it to fm\.score by itself$"):
            plain_json({"rows": table})


@pytest.mark.parametrize("key", [1, None, b"a", (1,), 1.5, Size.BIG, Color.MIXED])
def test_other_keys_are_refused(key):
    with pytest.raises(TypeError, match=r"^a: key .* is not a string$"):
        plain_json({"a": {key: 1}})


def test_keys_that_become_equal_are_refused():
    with pytest.raises(DataError, match=r"^duplicate key 'red'$"):
        plain_json({"red": 1, Color.RED: 2})


# --- limits ---------------------------------------------------------------------------------------


def bomb(wrap, levels=20):
    value = wrap(None)
    for _ in range(levels):
        value = wrap([value, value])
    return value


def cycle(wrap, attribute):
    value = wrap(None)
    setattr(value, attribute, [value])
    return value


class Node(BaseModel):
    inner: Any = None


@attrs.define
class Knot:
    inner: object = None


@dataclass
class Link:
    inner: object = None


WRAPPERS = [
    pytest.param(lambda inner: Node(inner=inner), id="pydantic"),
    pytest.param(lambda inner: Open(other=inner), id="pydantic-extra-fields"),
    pytest.param(Link, id="dataclass"),
    pytest.param(Knot, id="attrs"),
    pytest.param(lambda inner: Pair(inner, 1), id="named-tuple"),
    pytest.param(lambda inner: UserDict(inner=inner), id="mapping"),
    pytest.param(lambda inner: Node(inner=Link(Knot((inner,)))), id="mixed"),
    pytest.param(lambda inner: Node(inner=deque([inner])), id="pydantic-converts-it"),
]


@pytest.mark.parametrize("wrap", WRAPPERS)
def test_shared_objects_count_each_time(wrap):
    with pytest.raises(LimitError) as caught:
        plain_json(bomb(wrap), Limits(nodes=10_000))
    assert caught.value.limit == "nodes"


class NeverDumped(Node):
    def model_dump(self, **_kwargs):
        raise AssertionError("pydantic would copy each shared object each time")


@pytest.mark.parametrize("wrap", WRAPPERS)
def test_models_are_checked_before_they_are_dumped(wrap):
    with pytest.raises(LimitError) as caught:
        plain_json(NeverDumped(inner=bomb(wrap)), Limits(nodes=10_000))
    assert caught.value.limit == "nodes"


@pytest.mark.parametrize("wrap", WRAPPERS[:-1])
def test_nesting_is_limited(wrap):
    value = wrap(1)
    for _ in range(201):
        value = wrap(value)
    with pytest.raises(LimitError) as caught:
        plain_json(value)
    assert caught.value.limit == "depth"


@pytest.mark.parametrize("wrap", [Node, Link, Knot])
def test_cycle_exceeds_the_depth(wrap):
    with pytest.raises(LimitError) as caught:
        plain_json(cycle(lambda inner: wrap(inner=inner), "inner"))
    assert caught.value.limit == "depth"


def test_text_of_converted_values_counts():
    with pytest.raises(LimitError) as caught:
        plain_json([ISSUED] * 5, Limits(document_bytes=40))
    assert caught.value.limit == "document_bytes"


# --- hostile objects ------------------------------------------------------------------------------


class Boom(Exception):
    """An exception of a caller."""


def explode(*_args, **_kwargs):
    raise Boom("boom")


@dataclass
class Raising:
    x: int = 1

    def __getattribute__(self, name):
        if name == "x":
            explode()
        return object.__getattribute__(self, name)


class RaisingModel(BaseModel):
    def model_dump(self, **_kwargs):
        explode()


class AnswersEverything:
    def __getattr__(self, name):
        return self

    def __call__(self, *_args, **_kwargs):
        return self


class EndlessMapping(UserDict):
    def items(self):
        number = 0
        while True:
            number += 1
            yield str(number), number


class EndlessArray:
    dtype = np.dtype("i8")
    ndim = 1

    def __iter__(self):
        while True:
            yield 1


class Liar:
    @property
    def __class__(self):
        return dict


class RaisingClass:
    @property
    def __class__(self):
        explode()


class WrongDate(dt.date):
    def isoformat(self):
        return 5


class RaisingDate(dt.date):
    isoformat = explode


class Repeating(enum.Enum):
    SELF = 1

    @property
    def value(self):
        return self


class BadFields:
    __dataclass_fields__ = 5


class BadAttrs:
    __attrs_attrs__ = ("x",)


class BadTuple(tuple):
    __slots__ = ()
    _fields = ("a", "b", "c")


class BadName:
    __attrs_attrs__ = (Mock(),)


class RaisingKey:
    __hash__ = object.__hash__

    def __repr__(self):
        explode()


class Meta(type):
    def __getattr__(cls, name):
        return cls


class WrongModule:
    __module__ = 5


HOSTILE = {
    "module-that-is-no-name": WrongModule,
    "model-with-an-endless-mapping": lambda: Node(inner=EndlessMapping()),
    "property-that-raises": Raising,
    "dump-that-raises": RaisingModel,
    "answers-everything": AnswersEverything,
    "class-answers-everything": Meta("AnswersOnTheClass", (), {}),
    "mock": Mock,
    "magic-mock": MagicMock,
    "mock-of-a-dict": lambda: Mock(spec=dict),
    "lying-class": Liar,
    "class-that-raises": RaisingClass,
    "date-without-text": lambda: WrongDate(2024, 1, 1),
    "date-that-raises": lambda: RaisingDate(2024, 1, 1),
    "enum-of-itself": lambda: Repeating.SELF,
    "endless-mapping": EndlessMapping,
    "endless-array": EndlessArray,
    "fields-that-are-none": BadFields,
    "attributes-that-are-none": BadAttrs,
    "attribute-without-name": BadName,
    "tuple-with-other-names": lambda: BadTuple((1,)),
    "key-that-raises": lambda: {RaisingKey(): 1},
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_hostile_objects_are_errors_of_this_package(make):
    for given in (make(), {"a": [make()]}):
        with pytest.raises((InputTypeError, LimitError)) as caught:
            plain_json(given, Limits(nodes=10_000))
        assert len(str(caught.value)) < 1_000


def test_conversion_without_end_exceeds_the_depth():
    with pytest.raises(LimitError) as caught:
        plain_json(Repeating.SELF)
    assert caught.value.limit == "depth"


def test_lack_of_memory_is_no_error_of_the_object():
    class Large(UserDict):
        def items(self):
            raise MemoryError

    with pytest.raises(MemoryError):
        plain_json(Large())


def test_error_names_the_place_and_keeps_the_cause():
    with pytest.raises(TypeError, match=r"^a\[0\]\.x: reading the value raised Boom$") as caught:
        plain_json({"a": [{"x": RaisingModel()}]})
    assert isinstance(caught.value.__cause__, Boom)


def test_paths_of_many_values_below_a_long_key_are_limited():
    with pytest.raises(LimitError, match="the paths of all values have"):
        plain_json({"k" * 3_900: [0] * 3_000})
    assert plain_json({"k" * 3_900: [0] * 50})
