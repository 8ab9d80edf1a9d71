"""Confidences of values in all shapes that extractors write."""

from __future__ import annotations

from math import inf, nan

import pytest
from hypothesis import given

from fieldmark.errors import OptionError
from fieldmark.values.envelopes import Envelope
from fieldmark.values.value_confidences import (
    ConfidenceOptions,
    ConfidenceReader,
    confidence_of,
    least_confidence,
)
from json_strategies import any_json

AUTO = ConfidenceReader(ConfidenceOptions())
NAMED = ConfidenceReader(ConfidenceOptions(value="text", confidence="p"))


@pytest.mark.parametrize(
    ("value", "scale", "confidence"),
    [
        pytest.param(0.98, 1, 0.98, id="from 0 to 1"),
        pytest.param(98.7, 100, 0.987, id="from 0 to 100"),
        pytest.param(1, 1, 1.0, id="an integer"),
        pytest.param("98.70%", 1, 0.987, id="a percentage has its own scale"),
        pytest.param("98.70 %", 100, 0.987, id="a percentage with a blank"),
        pytest.param("0.5", 1, 0.5, id="a number in a cell of a table"),
        pytest.param("1e-3", 1, 0.001, id="a number with an exponent"),
        *[
            pytest.param(each, 1, None, id=f"none: {each!r}")
            for each in (None, "", " ", "N/A", "n/a", "-", "None", "null", "NaN")
        ],
    ],
)
def test_a_confidence_is_a_number_a_percentage_or_missing(value, scale, confidence):
    assert confidence_of(value, scale) == confidence


@pytest.mark.parametrize(
    "value", [True, "high", "1,5", "--1", -0.1, 1.5, "101%", nan, inf, 10**400, [], {}]
)
def test_anything_else_is_no_confidence(value):
    with pytest.raises(ValueError, match=r"confidence|finite"):
        confidence_of(value)


@pytest.mark.parametrize(
    ("document", "given", "plain", "confidences"),
    [
        pytest.param({"a": {"value": 1, "confidence": 0.9}}, None, {"a": 1}, {"a": 0.9}, id="value"),
        pytest.param(
            {"a": {"content": "x", "score": 0.9}, "b": {"value": "y", "probability": "7%"}},
            None,
            {"a": "x", "b": "y"},
            {"a": 0.9, "b": 0.07},
            id="other names of both keys",
        ),
        pytest.param(
            {"a": {"value": {"x": 1, "y": {"value": 2, "confidence": 0.5}}, "confidence": 0.9}},
            None,
            {"a": {"x": 1, "y": 2}},
            {"a": {"x": 0.9, "y": 0.5}},
            id="an object has one for all values without their own",
        ),
        pytest.param(
            {"a": {"value": 1, "confidence": 87.5}, "b": {"value": 2, "confidence": 0.5}},
            None,
            {"a": 1, "b": 2},
            {"a": 0.875, "b": 0.005},
            id="a number above 1 means that all are percentages",
        ),
        pytest.param(
            {"a": {"value": 1, "confidence": 1.5}, "b": {"value": 2, "confidence": 1}},
            None,
            {"a": 1, "b": 2},
            {"a": 0.015, "b": 0.01},
            id="percentages may be small",
        ),
        pytest.param(
            {"a": {"value": 1, "confidence": 0.9, "page": 2, "boundingBox": [1]}},
            None,
            {"a": 1},
            {"a": 0.9},
            id="other metadata",
        ),
        pytest.param(
            {"a": {"value": 1, "confidence": 0.9, "currency": "EUR"}},
            None,
            {"a": {"value": 1, "confidence": 0.9, "currency": "EUR"}},
            {"a": {"value": None, "confidence": None, "currency": None}},
            id="an object with other keys is not recognized",
        ),
        pytest.param(
            {"a": {"value": 1, "confidence": "high"}},
            None,
            {"a": {"value": 1, "confidence": "high"}},
            {"a": {"value": None, "confidence": None}},
            id="an object without a confidence is a document",
        ),
        pytest.param(
            {"a": 1, "l": [{"x": 1}, {"x": 2}], "e": []},
            {"a": 0.5, "l": [{"x": 0.25}, 0.75]},
            {"a": 1, "l": [{"x": 1}, {"x": 2}], "e": []},
            {"a": 0.5, "l": [{"x": 0.25}, {"x": 0.75}], "e": None},
            id="a document of confidences",
        ),
        pytest.param("x", 0.5, "x", 0.5, id="one confidence for a document that is a value"),
        pytest.param({"a": "two words"}, {"a": [0.9, 0.4]}, {"a": "two words"}, {"a": 0.4}, id="words"),
        pytest.param(
            {"a": 1}, {"a": {"confidence": 0.9, "page": 1}}, {"a": 1}, {"a": 0.9}, id="with details"
        ),
    ],
)  # fmt: skip
def test_a_document_is_separated_from_its_confidences(document, given, plain, confidences):
    read = AUTO.read(document) if given is None else AUTO.read(document, given)
    assert read[:2] == (plain, confidences)


def test_named_keys_are_read_beside_other_keys():
    read = NAMED.read({"a": {"text": "x", "p": 0.5, "page": 1}, "b": {"value": 1, "confidence": 1}})
    assert read.document == {"a": "x", "b": {"value": 1, "confidence": 1}}
    assert read.confidences == {"a": 0.5, "b": {"value": None, "confidence": None}}


def test_a_key_of_values_is_named_without_a_key_of_confidences():
    reader = ConfidenceReader(ConfidenceOptions(value="text"))
    read = reader.read({"a": {"text": "x", "unit": 1}, "b": {"text": "y", "score": 0.5}})
    assert read[:2] == ({"a": "x", "b": "y"}, {"a": None, "b": 0.5})


@pytest.mark.parametrize(
    ("document", "confidences"),
    [
        pytest.param({"a": 1, "a_confidence": 0.9}, {"a": 0.9}, id="of a sibling"),
        pytest.param({"a": 1, "b": [2], "_confidence": 0.9}, {"a": 0.9, "b": [0.9]}, id="of all"),
        pytest.param({"a": 1, "b": 2, "_confidence": {"a": 0.9}}, {"a": 0.9, "b": None}, id="of each"),
    ],
)  # fmt: skip
def test_confidences_are_read_from_metadata_next_to_values(document, confidences):
    envelope = Envelope(suffixes=("_confidence",), keys=("_confidence",))
    assert AUTO.read(document, envelope=envelope).confidences == confidences


def test_what_cannot_be_read_is_counted():
    read = AUTO.read({"a": 1, "b": 2}, {"a": "high", "b": -3})
    assert (read.confidences, read.unreadable) == ({"a": None, "b": None}, 2)
    assert AUTO.read({"a": {"value": 1, "confidence": 0.5, "unit": "m"}}).other_keys == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": "c"}, "must be set together with confidence"),
        ({"value": "v", "confidence": "v"}, "must not be the key of the value"),
        ({"key": ""}, "must not be empty"),
        ({"scale": 10}, "must be one of: 1, 100"),
        ({"precision": ()}, "must not be empty"),
        ({"precision": (1.0,)}, "must be between 0 and 1"),
        ({"precision": (0.9, 0.9)}, "twice"),
    ],
)
def test_invalid_options_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        ConfidenceOptions(**options)


@given(any_json, any_json)
def test_confidences_have_the_structure_of_their_document(document, confidences):
    read = AUTO.read(document, confidences)

    def check(value, rated):
        if isinstance(value, dict) and value:
            assert value.keys() == rated.keys()
            for key in value:
                check(value[key], rated[key])
        elif isinstance(value, list) and value:
            assert len(value) == len(rated)
            for one, other in zip(value, rated, strict=True):
                check(one, other)
        else:
            assert rated is None or 0 <= rated <= 1

    check(read.document, read.confidences)


@given(any_json)
def test_a_document_is_not_changed_if_nothing_is_recognized(document):
    text = str(document)
    if "confidence" not in text and "score" not in text and "probability" not in text:
        assert AUTO.read(document).document == document


@pytest.mark.parametrize(
    ("confidences", "least"),
    [(0.5, 0.5), ({"a": 0.9, "b": [0.4]}, 0.4), ({"a": 0.9, "b": None}, None), ([], None)],
)
def test_a_value_that_is_compared_as_a_whole_has_the_lowest_confidence(confidences, least):
    assert least_confidence(confidences) == least
