"""Values with metadata of extraction services, in all shapes that services write."""

from __future__ import annotations

import pytest
from hypothesis import given

from fieldmark.values.envelopes import NO_ENVELOPE, NO_METADATA, VALUE_KEYS, Envelope, recognized
from json_strategies import any_json

BARE = {"total": 12.5, "items": [{"name": "a"}], "vendor": {"city": "B"}}


def wrapped(key="value", **metadata):
    def wrap(value):
        return {key: value, **metadata}

    return {
        "total": wrap(12.5),
        "items": [{"name": wrap("a")}],
        "vendor": {"city": wrap("B")},
    }


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(wrapped(citations=[{"page": 1, "content": "12.5"}]), id="reducto"),
        pytest.param(wrapped("extracted_value", confidence=0.9, sourceQuote="x"), id="quotation"),
        pytest.param(wrapped("content", boundingRegions=[], spans=[], confidence=0.9), id="azure"),
        pytest.param(wrapped(page_id=0, polygon=[], raw="12.50", confidence=0.9), id="mindee"),
        pytest.param(wrapped("text", bbox=[0, 0, 1, 1], score=0.9), id="text with box"),
        pytest.param(wrapped("answer", reasoning="see total", page=1), id="reasoning"),
        pytest.param(wrapped(page=1) | {"notes": None, "taxes": []}, id="null and empty values"),
        pytest.param(wrapped(page=1) | {"total": {"value": 12.5}}, id="a value without metadata"),
        pytest.param({"value": BARE, "metadata": {"total": {"citations": []}}}, id="extend"),
        pytest.param(
            {"total": {"value": 12.5, "page": 1}, "items": {"value": BARE["items"], "page": 1}},
            id="a list with metadata",
        ),
    ],
)
def test_values_are_separated_from_metadata_around_them(document):
    separated = recognized([document], [BARE]).separate(document, BARE)
    assert not separated.deviates
    bare = {key: value for key, value in separated.document.items() if value}
    assert bare == {key: BARE[key] for key in bare}
    assert bare["total"] == 12.5


@pytest.mark.parametrize(
    ("document", "other"),
    [
        pytest.param(
            {"total": {"value": 12.5, "page": 1}},
            {"total": {"value": 12.5, "page": 1}},
            id="the other side has the same structure",
        ),
        pytest.param(
            {"total": {"value": 12.5, "source": "x"}},
            {"total": {"value": 12.5, "unit": "m"}},
            id="the other side has the key of the value",
        ),
        pytest.param(
            {"value": {"x": 1}, "page": 1},
            {"value": {"x": 1}},
            id="a field with the key of a value",
        ),
        pytest.param(
            {"total": {"value": 12.5, "currency": "EUR"}}, {"total": 12.5}, id="a key that is data"
        ),
        pytest.param({"total": {"value": 12.5}}, {"total": 12.5}, id="no metadata"),
        pytest.param(
            {"total": {"value": 12.5, "page": 1}, "vendor": "ACME"},
            {"total": 12.5, "vendor": "ACME"},
            id="a value outside of an envelope",
        ),
        pytest.param({"total": {"value": 12.5, "page": 1}}, {"sum": 12.5}, id="nothing in common"),
        pytest.param(
            {"total": {"value": {"x": 1}, "page": 1}}, {"total": 12.5}, id="values of other kinds"
        ),
        pytest.param({"event": 1, "event_location": 2}, {"event": 1}, id="a sibling that is data"),
        pytest.param(
            {"total": 1, "total_page": 2}, {"total": 1, "total_page": 2}, id="a field of both sides"
        ),
        pytest.param(
            {"total": 1, "total_page": 2},
            {"total": 1, "tax": 1, "tax_page": 2},
            id="such a field of the other side",
        ),
        pytest.param({"x": 1, "x_page": 2}, {"total": 1}, id="a sibling that is unknown"),
        pytest.param({"page": 1, "_meta": 1}, {"page": 1, "_meta": 1}, id="a prefix of both"),
        pytest.param({"_total": 1}, {"total": 1}, id="a prefixed key that is no metadata"),
        pytest.param({"_source": {"a": 1}, "_score": 1}, {"a": 1}, id="a document of a search"),
        pytest.param([], {}, id="nothing"),
    ],
)
def test_documents_without_envelopes_stay_as_they_are(document, other):
    assert recognized([document], [other]) == NO_ENVELOPE


@pytest.mark.parametrize(
    ("document", "names"),
    [
        pytest.param({"total_citations": [1]}, ("_citations",), id="citations"),
        pytest.param({"total_confidence": 0.9}, ("_confidence",), id="confidence"),
        pytest.param({"totalConfidence": 0.9}, ("Confidence",), id="camel case"),
        pytest.param({"total_page_number": 1}, ("_page_number",), id="two words"),
        pytest.param({"_meta": {"model": "x"}}, ("_meta",), id="meta"),
        pytest.param({"_confidence": 0.9, "_page": 1}, ("_confidence", "_page"), id="prefix"),
    ],
)
def test_metadata_next_to_values_is_separated(document, names):
    envelope = recognized([{"total": 12.5, **document}], [{"total": 12.5}])
    assert (*envelope.suffixes, *envelope.keys) == names
    separated = envelope.separate({"total": 12.5, **document})
    assert separated.document == {"total": 12.5}
    assert separated.metadata


def test_metadata_is_at_the_place_of_its_value():
    envelope = Envelope("value", suffixes=("_page",), keys=("_meta",))
    document = {
        "a": [{"value": {"b": {"value": 1, "page": 2}}, "quote": "q"}],
        "a_page": 3,
        "_meta": 4,
    }
    read = envelope.separate(document)
    assert read.document == {"a": [{"b": 1}]}
    assert read.metadata.own == {"meta": 4}
    of_list = read.metadata.parts["a"]
    assert of_list.own == {"page": 3}
    assert of_list.parts[0].own == {"quote": "q"}
    assert of_list.parts[0].parts["b"].own == {"page": 2}


def test_most_documents_decide_and_others_stay_as_they_are():
    usual, other = {"total": {"value": 1, "page": 1}}, {"total": {"value": 1, "page": 1}, "x": 2}
    bare = [{"total": 1}] * 3
    assert recognized([usual, usual, other], bare).value == "value"
    assert recognized([usual, other], bare) == NO_ENVELOPE
    envelope = Envelope("value")
    assert envelope.separate(other) == (other, NO_METADATA, True)
    truth = {"total": {"value": 1}}
    assert envelope.separate(usual, truth).deviates
    assert envelope.separate(usual, truth).document == usual


def test_without_another_side_the_documents_decide():
    assert recognized([{"total": {"value": 1, "page": 1}}]).value == "value"
    assert recognized([{"total": 1, "total_confidence": 1}]).suffixes == ("_confidence",)


@given(any_json, any_json)
def test_a_document_is_separated_or_stays_as_it_is(document, other):
    for envelope in (recognized([document], [other]), *map(Envelope, VALUE_KEYS)):
        separated = envelope.separate(document, other)
        if separated.deviates or not envelope:
            assert separated == (document, NO_METADATA, separated.deviates)


@given(any_json)
def test_a_document_of_its_own_truth_is_never_separated(document):
    assert recognized([document], [document]).separate(document, document).document == document


@given(any_json)
def test_wrapped_values_are_read_as_they_are(document):
    def wrap(value):
        if isinstance(value, dict):
            return {key: wrap(part) for key, part in value.items()}
        if isinstance(value, list):
            return [wrap(part) for part in value]
        return value if value is None else {"value": value, "page": 1}

    assert Envelope("value").separate(wrap(document)).document == document
