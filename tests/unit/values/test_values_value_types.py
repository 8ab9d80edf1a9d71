"""One table for the values of each type: what is accepted, what it becomes, and the messages."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import jsonschema_rs
import numpy as np
import pytest

from fieldmark.model.json import JsonValue
from fieldmark.values.annotations import (
    CommandLine,
    Distinct,
    Length,
    NonNegativeInt,
    NotBlank,
    Pattern,
    PositiveFloat,
    Range,
    Share,
)
from fieldmark.values.value_types import (
    InvalidValueError,
    describe,
    element_of,
    read_value,
    value_schema,
)


class Color(StrEnum):
    RED = "red"
    DARK_BLUE = "dark_blue"


Scale = Annotated[tuple[Annotated[float, Range(gt=0)], ...], Length(ge=2, le=2, noun="number")]
Version = Annotated[str, Pattern("[0-9A-Za-z.-]+", "must be a version")]
Fields = Annotated[
    tuple[Annotated[str, Length(ge=1)], ...], Length(ge=1, noun="field"), Distinct(noun="field")
]


@pytest.mark.parametrize(
    ("annotation", "value", "read"),
    [
        pytest.param(bool, True, True, id="flag"),
        pytest.param(int, 3, 3, id="integer"),
        pytest.param(int, np.int64(3), 3, id="integer-of-numpy"),
        pytest.param(float, 3, 3, id="integer-as-number"),
        pytest.param(float, Decimal("0.5"), Decimal("0.5"), id="decimal-as-number"),
        pytest.param(float, np.float32(0.5), 0.5, id="number-of-numpy"),
        pytest.param(Decimal, 0.1, Decimal("0.1"), id="number-as-exact-decimal"),
        pytest.param(float | None, None, None, id="null-for-an-optional-number"),
        pytest.param(Share | None, None, None, id="null-for-an-optional-share"),
        pytest.param(Annotated[float | None, Range(ge=0)], None, None, id="null-inside-a-range"),
        pytest.param(Color, "red", Color.RED, id="word"),
        pytest.param(Color, "Dark-Blue", Color.DARK_BLUE, id="word-in-another-spelling"),
        pytest.param(Literal["POST", "PUT"], "put", "PUT", id="literal-in-another-case"),
        pytest.param(tuple[str, ...], ["a", "b"], ("a", "b"), id="list-as-tuple"),
        pytest.param(tuple[str, ...], "ab", ("ab",), id="string-as-list-of-one"),
        pytest.param(tuple[float, ...], np.array([1.5]), (1.5,), id="array-as-tuple"),
        pytest.param(
            tuple[Color, ...], ["dark_blue", "red", "red"], (Color.RED, Color.DARK_BLUE),
            id="words-once-and-in-order",
        ),
        pytest.param(Mapping[str, int], {"a": 1}, {"a": 1}, id="object"),
        pytest.param(bool | str, "a", "a", id="second-type-of-a-union"),
        pytest.param(JsonValue, [{"a": None}], [{"a": None}], id="any-json"),
        pytest.param(Path | None, "a/b", Path("a/b"), id="string-as-path"),
        pytest.param(Callable[..., object], len, len, id="function"),
        pytest.param(object(), "anything", "anything", id="unknown-type"),
    ],
)  # fmt: skip
def test_a_value_is_read_as_its_type(annotation, value, read):
    found = read_value(annotation, value)
    assert found == read
    assert type(found) is type(read)


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        pytest.param(bool, 1, "expected true or false, got 1", id="number-as-flag"),
        pytest.param(bool, None, "expected true or false, got null", id="null-as-flag"),
        pytest.param(int, True, "expected an integer, got true", id="flag-as-integer"),
        pytest.param(int, 1.0, "expected an integer, got 1.0", id="number-as-integer"),
        pytest.param(float, "0.8", "expected a number, got '0.8'", id="string-as-number"),
        pytest.param(float, math.inf, "number out of range", id="infinity"),
        pytest.param(float, 10**400, "number out of range", id="too-large"),
        pytest.param(tuple[float, ...], [1, math.inf], "[1]: number out of range", id="infinity-in-a-list"),
        pytest.param(str, 1, "expected a string, got 1", id="number-as-string"),
        pytest.param(Share, 1.1, "must be a number from 0 to 1, got 1.1", id="above-a-range"),
        pytest.param(Share | None, -1, "must be a number from 0 to 1, got -1", id="optional-share"),
        pytest.param(Share, 2**120 - 1, f"must be a number from 0 to 1, got {2**120 - 1}", id="longest-number-that-is-shown"),
        pytest.param(Share, 2**120, "must be a number from 0 to 1, got a long number", id="long-number"),
        pytest.param(Share, math.nan, "must be a number from 0 to 1, got nan", id="nan"),
        pytest.param(NonNegativeInt, -1, "must be a number of at least 0, got -1", id="negative"),
        pytest.param(PositiveFloat, 0, "must be a number greater than 0, got 0", id="zero"),
        pytest.param(
            Color, "redd", "must be one of: red, dark_blue; got 'redd'; did you mean 'red'?",
            id="misspelled-word",
        ),
        pytest.param(Color, 3, "must be one of: red, dark_blue; got 3", id="number-as-word"),
        pytest.param(Literal["a"], "b", "must be one of: a; got 'b'", id="another-literal"),
        pytest.param(tuple[str, ...], 1, "expected a list, got 1", id="number-as-list"),
        pytest.param(tuple[str, ...], {}, "expected a list, got an object", id="object-as-list"),
        pytest.param(tuple[str, ...], [1], "expected a string, got 1", id="number-in-a-list"),
        pytest.param(Scale, [1], "must have exactly 2 numbers", id="wrong-length"),
        pytest.param(
            Scale, [1, 0], "[1]: must be a number greater than 0, got 0", id="zero-in-a-list"
        ),
        pytest.param(Fields, [], "must contain at least one field", id="empty-list"),
        pytest.param(Fields, [""], "[0]: must not be empty", id="empty-string-in-a-list"),
        pytest.param(Fields, ["a", "a"], "must not contain duplicate fields", id="duplicates"),
        pytest.param(Mapping[str, int], [], "expected an object, got a list", id="list-as-object"),
        pytest.param(
            Mapping[str, int], {"a": "b"}, "expected an integer, got 'b'", id="value-of-an-object"
        ),
        pytest.param(Annotated[str, NotBlank()], " ", "must not be blank", id="blank"),
        pytest.param(Annotated[str, NotBlank()] | None, " ", "must not be blank", id="optional-blank"),
        pytest.param(Version, "1.0 beta", "must be a version", id="another-pattern"),
        pytest.param(Path, 1, "expected a path, got 1", id="number-as-path"),
        pytest.param(Callable[..., object], 1, "must be a function, got 1", id="not-a-function"),
        pytest.param(
            Annotated[tuple[str, ...], CommandLine()], [""], "must name a program", id="no-program"
        ),
        pytest.param(
            Annotated[tuple[str, ...], CommandLine()], ["a", "\0"],
            "must not contain NUL characters", id="nul-in-an-argument",
        ),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_an_error(annotation, value, message):
    with pytest.raises(InvalidValueError) as caught:
        read_value(annotation, value)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        pytest.param(Share, {"type": "number", "minimum": 0, "maximum": 1}, id="range"),
        pytest.param(PositiveFloat, {"type": "number", "exclusiveMinimum": 0}, id="open-range"),
        pytest.param(
            Annotated[str, Length(ge=1, le=9)],
            {"type": "string", "minLength": 1, "maxLength": 9},
            id="length-of-a-string",
        ),
        pytest.param(
            Annotated[Sequence[int], Length(ge=1)],
            {"type": "array", "items": {"type": "integer"}, "minItems": 1},
            id="length-of-a-list",
        ),
        pytest.param(Color, {"enum": ["red", "dark_blue", "dark-blue"]}, id="words"),
        pytest.param(Path, {"type": "string"}, id="path"),
        pytest.param(JsonValue, {}, id="any-json"),
    ],
)
def test_schema_of_a_type(annotation, schema):
    assert value_schema(annotation) == schema


@pytest.mark.parametrize(
    ("annotation", "values"),
    [
        pytest.param(Share | None, [0, 1, 0.5, None, -0.1, 1.1, "1", True], id="share"),
        pytest.param(NonNegativeInt, [0, 7, -1, 0.5, None], id="integer"),
        pytest.param(Scale, [[1, 2], [1], [1, 0], [1, 2, 3], None, "a"], id="scale"),
        pytest.param(Fields, [["a"], "a", [], [""], ["a", "a"], [1]], id="fields"),
        pytest.param(Color, ["red", "dark-blue", "blue", 1], id="words"),
        pytest.param(Annotated[str, NotBlank()], ["a", " a ", "", " ", 1], id="not-blank"),
        pytest.param(Version, ["1.0", "1.0-b", "", "1 0", "1.0\n"], id="pattern"),
        pytest.param(Mapping[str, Share], [{}, {"a": 1}, {"a": 2}, []], id="object"),
    ],
)
def test_the_schema_accepts_what_is_read(annotation, values):
    validator = jsonschema_rs.validator_for(value_schema(annotation))
    for value in values:
        try:
            read_value(annotation, value)
        except InvalidValueError:
            assert not validator.is_valid(value), value
        else:
            assert validator.is_valid(value), value


def test_only_a_tuple_of_any_length_has_elements_of_one_type():
    assert element_of(tuple[int, ...] | None) is int
    assert element_of(tuple[int, int]) is None


def test_functions_and_long_values_are_described_briefly():
    assert describe(describe) == "the function fieldmark.values.value_types:describe"
    assert describe("x" * 50) == "a long string"
    assert describe(10**50) == "a long number"
    assert describe({}) == "an object"
