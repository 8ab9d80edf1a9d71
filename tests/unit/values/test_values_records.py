"""The JSON form of records: declared once, written, read and described by the declaration."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, ClassVar, NamedTuple

import pytest

from fieldmark.errors import OptionError
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.values.annotations import Description, Length, Range
from fieldmark.values.records import (
    ARRAY,
    EXACT_ARRAY,
    EXCLUDED,
    INLINE,
    OMIT_DEFAULT,
    OPTIONAL,
    Inline,
    InvalidRecord,
    Key,
    computed_field,
    from_json,
    json_schema,
    to_json,
)


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


class Point(NamedTuple):
    x: float
    y: float = 0.0


class Shape(NamedTuple):
    name: str
    center: Point
    corners: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Everything(Base):
    color: Color
    share: Annotated[float | None, Range(ge=0, le=1)]
    passed: Annotated[bool, Key("pass")]
    words: tuple[str, ...]
    interval: tuple[float, float] | None
    point: Point
    points: Mapping[str, Point]
    shape: Annotated[Shape, ARRAY]
    colors: frozenset[Color] = frozenset()
    either: int | str = 1
    anything: JsonValue = None
    options: JsonObject = field(default_factory=dict)
    note: Annotated[str, OMIT_DEFAULT] = ""
    known: Annotated[bool, OMIT_DEFAULT] = True
    value: JsonValue | Missing = MISSING
    hint: Annotated[str, OPTIONAL] = "none"
    secret: Annotated[object, EXCLUDED] = None

    @property
    @computed_field(after="passed")
    def failed(self) -> bool:
        return not self.passed


WHOLE = Everything(
    size=3,
    color=Color.RED,
    share=0.5,
    passed=True,
    words=("a", "b"),
    interval=(0.0, 1.0),
    point=Point(1, 2.5),
    points={"p": Point(3)},
    shape=Shape("s", Point(1), (Point(2),)),
    colors=frozenset({Color.BLUE}),
    anything=[{"x": None}],
    options={"a": 1},
)
DOCUMENT = {
    "size": 3,
    "color": "red",
    "share": 0.5,
    "pass": True,
    "failed": False,
    "words": ["a", "b"],
    "interval": [0.0, 1.0],
    "point": {"x": 1, "y": 2.5},
    "points": {"p": {"x": 3, "y": 0.0}},
    "shape": ["s", [1, 0.0], [[2, 0.0]]],
    "colors": ["blue"],
    "either": 1,
    "anything": [{"x": None}],
    "options": {"a": 1},
    "hint": "none",
}


def test_record_is_written_in_the_order_of_its_fields():
    assert json.dumps(to_json(WHOLE)) == json.dumps(DOCUMENT)


def test_record_is_read_as_written():
    assert from_json(Everything, json.loads(json.dumps(DOCUMENT))) == WHOLE


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        pytest.param({"note": "odd"}, {"note"}, id="not-the-default"),
        pytest.param({"known": False}, {"known"}, id="true-is-the-default"),
        pytest.param({"value": None}, {"value"}, id="null-is-not-missing"),
        pytest.param({"secret": 1}, set(), id="excluded"),
    ],
)
def test_defaults_and_missing_values_are_omitted(changes, keys):
    values = {name: getattr(WHOLE, name) for name in Everything.__dataclass_fields__}
    record = Everything(**{**values, **changes})
    written = to_json(record)
    assert written.keys() - DOCUMENT.keys() == keys
    read = from_json(Everything, written, secret=record.secret)
    assert read == record


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        pytest.param(["size"], "3", "size must be an integer", id="text-for-an-integer"),
        pytest.param(["size"], True, "size must be an integer", id="boolean-for-an-integer"),
        pytest.param(["size"], 1.0, "size must be an integer", id="number-for-an-integer"),
        pytest.param(["size"], 1 << 63, "size must be an integer of at most 64 bits", id="too-large"),
        pytest.param(["size"], ..., "size is missing", id="missing-of-a-base-class"),
        pytest.param(["color"], "green", "color must be one of: red, blue", id="no-member"),
        pytest.param(["color"], ["red"], "color must be one of: red, blue", id="list-for-a-member"),
        pytest.param(["share"], "x", "share must be a number or null", id="text-for-a-number"),
        pytest.param(["share"], float("nan"), "share must be a number or null", id="nan"),
        pytest.param(["share"], 10**400, "share must be a number or null", id="long-integer"),
        pytest.param(["share"], 2, "share must be a number from 0 to 1, got 2", id="range"),
        pytest.param(["pass"], 1, "pass must be true or false", id="integer-for-a-boolean"),
        pytest.param(["words"], "ab", "words must be an array", id="text-for-an-array"),
        pytest.param(["words", 1], 2, "words must be an array of strings", id="integer-for-a-word"),
        pytest.param(["interval"], [1], "interval must be an array of two numbers or null", id="one"),
        pytest.param(["point"], [1, 2], "point must be an object", id="array-for-an-object"),
        pytest.param(["point", "x"], None, "point.x must be a number", id="null-for-a-number"),
        pytest.param(["point", "y"], ..., "point.y is missing", id="default-is-no-reason-to-miss"),
        pytest.param(["points", "p", "x"], "", "points.p.x must be a number", id="nested"),
        pytest.param(["shape", 2, 0], [], "shape[2][0] must be an array of 2 values", id="place"),
        pytest.param(["either"], None, "either must be an integer or a string", id="union"),
        pytest.param(["options"], [], "options must be an object", id="array-for-options"),
        pytest.param(["note"], 1, "note must be a string", id="wrong-type-of-an-omitted-field"),
    ],
)  # fmt: skip
def test_problem_has_the_path(path, value, problem):
    document = json.loads(json.dumps(DOCUMENT))
    place = document
    for step in path[:-1]:
        place = place[step]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    with pytest.raises(ValueError) as caught:
        from_json(Everything, document)
    assert str(caught.value) == problem


def test_unknown_keys_are_ignored_and_optional_ones_have_their_default():
    read = from_json(Everything, {**DOCUMENT, "later": 1, "hint": "x"})
    assert (read.hint, from_json(Everything, {**DOCUMENT, "hint": "none"})) == ("x", WHOLE)
    del (document := dict(DOCUMENT))["hint"]
    assert from_json(Everything, document) == WHOLE


@pytest.mark.parametrize("value", [None, [], "x", 1])
def test_document_must_be_an_object(value):
    with pytest.raises(InvalidRecord, match="the document must be an object"):
        from_json(Point, value)


@dataclass(frozen=True)
class Stored:
    FORMAT: ClassVar[int] = 2

    name: str


@pytest.mark.parametrize(
    ("version", "advice"),
    [(3, "update fieldmark"), (1, "score the inputs again"), (None, "score the inputs again")],
)
def test_document_with_another_format_is_rejected(version, advice):
    assert to_json(Stored("x")) == {"format": 2, "name": "x"}
    with pytest.raises(
        ValueError, match=rf"^has format {version}, but .* reads format 2; {advice}$"
    ):
        from_json(Stored, {"format": version})


class Figures(NamedTuple):
    fields: int
    targets: Annotated[Mapping[str, Point], Inline(lambda key: key.startswith("0."))]
    last: str


@dataclass(frozen=True)
class Pooled:
    pooled: Annotated[Figures, INLINE]
    spread: Annotated[Point | None, INLINE, OMIT_DEFAULT] = None
    rest: Annotated[Mapping[str, int], Inline({"z"}.__contains__)] = field(default_factory=dict)


def test_keys_of_an_inlined_record_are_those_of_its_parent():
    record = Pooled(Figures(3, {"0.9": Point(1)}, "x"))
    document = {"fields": 3, "0.9": {"x": 1, "y": 0.0}, "last": "x"}
    assert to_json(record) == document
    assert list(to_json(record)) == list(document)
    assert from_json(Pooled, document) == Pooled(record.pooled, None, {})
    with pytest.raises(ValueError, match=r"^0\.9\.x must be a number$"):
        from_json(Pooled, {**document, "0.9": {"x": "", "y": 1}})
    with_spread = Pooled(record.pooled, Point(1, 2))
    assert from_json(Pooled, to_json(with_spread)) == with_spread


class Place(NamedTuple):
    at: Point | str


@pytest.mark.parametrize(
    ("at", "written"),
    [
        pytest.param(Point(1, 2), {"x": 1, "y": 2}, id="record"),
        pytest.param("home", "home", id="text"),
    ],
)
def test_one_of_several_types_is_written_as_its_type(at, written):
    assert to_json(Place(at)) == {"at": written}


class Counted:
    """Not a dataclass: only computed fields."""

    @cached_property
    @computed_field(key="items")
    def _items(self) -> Sequence[Point]:
        return [Point(1, 1)]

    @property
    @computed_field()
    def usage(self) -> Annotated[JsonObject | None, OMIT_DEFAULT]:
        return {}

    @property
    def hidden(self) -> int:
        return 1


def test_computed_fields_are_written_as_their_return_type_says():
    assert to_json(Counted()) == {"items": [{"x": 1, "y": 1}]}


@dataclass(frozen=True)
class Checked:
    name: Annotated[str, Length(ge=1)]

    def __post_init__(self):
        if self.name == "bad":
            raise OptionError("name", "must not be bad")


class Holder(NamedTuple):
    checked: tuple[Checked, ...]


@pytest.mark.parametrize(
    ("name", "problem"), [("bad", "must not be bad"), ("", "must not be empty")]
)
def test_record_that_refuses_its_values_is_a_problem_with_a_path(name, problem):
    with pytest.raises(ValueError, match=rf"^checked\[0\]\.name {problem}$"):
        from_json(Holder, {"checked": [{"name": name}]})


@dataclass(frozen=True)
class Wider(Checked):
    more: int = 1


def test_subclass_is_written_as_the_declared_type():
    assert to_json(Holder((Wider("x"),))) == {"checked": [{"name": "x"}]}
    assert to_json(Wider("x")) == {"name": "x", "more": 1}


class Described(NamedTuple):
    name: Annotated[str, Description("The name.")]
    color: Color | None
    score: Annotated[float | None, Range(ge=0, le=1)]
    tags: tuple[str, ...]
    counts: Annotated[Mapping[str, int], OMIT_DEFAULT] = {}
    point: Annotated[Point | None, INLINE, OMIT_DEFAULT] = None
    anything: JsonValue = None


def test_mapping_is_written_as_an_object():
    record = Described("x", None, None, (), counts=MappingProxyType({"a": 1}))
    assert json.loads(json.dumps(to_json(record)))["counts"] == {"a": 1}


def test_schema_says_what_is_written():
    assert json_schema(Described) == {
        "type": "object",
        "required": ["name", "color", "score", "tags", "anything"],
        "properties": {
            "name": {"type": "string", "description": "The name."},
            "color": {"enum": ["red", "blue", None]},
            "score": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
            "tags": {"type": "array", "items": {"type": "string"}},
            "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
            "x": {"type": "number"},
            "y": {"type": "number"},
            "anything": {},
        },
    }
    assert json_schema(tuple[Annotated[Point, ARRAY], ...]) == {
        "type": "array",
        "items": {"type": "array"},
    }


class Sums(NamedTuple):
    large: int
    rate: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    sums: Annotated[Sums, EXACT_ARRAY]


@pytest.mark.parametrize(
    ("number", "written"),
    [
        pytest.param(0, 0, id="zero"),
        pytest.param(2**53 - 1, 2**53 - 1, id="largest-number-that-floats-distinguish"),
        pytest.param(2**53, "0x20000000000000", id="larger-number"),
        pytest.param(-(2**53), "-0x20000000000000", id="negative-number"),
        pytest.param(1 - 2**53, 1 - 2**53, id="smallest-number-that-floats-distinguish"),
    ],
)
def test_large_numbers_of_an_exact_array_are_hexadecimal(number, written):
    total = Total(sums=Sums(number, 0.5))
    assert to_json(total) == {"sums": [written, 0.5]}
    assert from_json(Total, {"sums": [written, 0.5]}) == total


@pytest.mark.parametrize("value", ["0xg", "", None, 1.5, True])
def test_invalid_numbers_of_an_exact_array(value):
    with pytest.raises(InvalidRecord, match="must be a"):
        from_json(Total, {"sums": [value, 0.5]})
