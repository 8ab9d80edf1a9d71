"""Which slices a case belongs to, and what slices may be grouped by."""

from __future__ import annotations

import pytest
from hypothesis import given

from fieldmark.errors import ConfigError, OptionError
from fieldmark.metrics.slices import (
    MAX_SLICES,
    check_slice_count,
    parse_slice_keys,
    slice_text,
    value_texts,
)
from fieldmark.model.case import Case, CaseContext
from fieldmark.model.json import MISSING
from json_strategies import any_json

CASE = Case(
    "1",
    {"vendor": {"country": "DE"}, "tag": "x", "a.b": 1, "lines": [{"x": 1}], "codes": ["q", "r"]},
    tags=("scan", "paid"),
    context=CaseContext(metadata={"fold": 2, "source": {"batch": "b1"}, "vendor": "Bolt"}),
)


@pytest.mark.parametrize(
    ("key", "names"),
    [
        pytest.param("tag", ["tag=scan", "tag=paid"], id="every-tag"),
        pytest.param("metadata.fold", ["metadata.fold=2"], id="metadata"),
        pytest.param("metadata.source.batch", ["metadata.source.batch=b1"], id="nested-metadata"),
        pytest.param("vendor.country", ["vendor.country=DE"], id="path"),
        pytest.param('["tag"]', ['["tag"]=x'], id="a-path-that-is-a-keyword"),
        pytest.param("a.b", ["a.b=1"], id="a-key-with-a-dot"),
        pytest.param("codes", ["codes=q", "codes=r"], id="every-item-of-a-list"),
        pytest.param("lines", ["lines="], id="a-list-of-objects-is-no-value"),
        pytest.param("vendor", ["vendor="], id="an-object-is-no-value"),
        pytest.param("vendor.name", ["vendor.name="], id="absent"),
        pytest.param("metadata.other", ["metadata.other="], id="absent-metadata"),
    ],
)
def test_slices_of_a_case(key, names):
    [parsed] = parse_slice_keys([key])
    assert parsed.names(CASE) == names


@pytest.mark.parametrize("key", ["tag", "metadata.fold", "vendor"])
def test_case_without_data_is_in_the_slice_without_a_value(key):
    [parsed] = parse_slice_keys([key])
    assert parsed.names(Case("1", None)) == [f"{key}="]


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        pytest.param("Acme", ["Acme"], id="text"),
        pytest.param(2024.0, ["2024"], id="equal-numbers-are-the-same"),
        pytest.param(0.5, ["0.5"], id="fraction"),
        pytest.param(False, ["false"], id="false-is-a-value"),
        pytest.param(0, ["0"], id="zero-is-a-value"),
        pytest.param(["a", "a", None, "b"], ["a", "b"], id="list-without-duplicates"),
        pytest.param(" ", [], id="blank"),
        pytest.param(None, [], id="null"),
        pytest.param(MISSING, [], id="absent"),
        pytest.param({"a": 1}, [], id="object"),
    ],
)
def test_names_of_values(value, texts):
    assert value_texts(value) == texts


def test_long_values_are_shortened():
    [text] = value_texts("x" * 10_000)
    assert len(text) <= 200


@given(any_json)
def test_every_value_has_distinct_short_names(value):
    texts = value_texts(value)
    assert len(set(texts)) == len(texts)
    assert all(text and len(text) <= 400 for text in texts)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        pytest.param(["a", "a"], "duplicate 'a'", id="duplicate"),
        pytest.param(["a..b"], "two dots", id="malformed-path"),
        pytest.param([""], "must not be empty", id="empty"),
        pytest.param(["metadata."], "must not be empty", id="empty-metadata-key"),
        pytest.param(["lines[].x"], "must name one field, without wildcards", id="wildcard"),
    ],
)
def test_invalid_keys_are_rejected(keys, message):
    with pytest.raises(OptionError, match="by: ") as error:
        parse_slice_keys(keys)
    assert message in error.value.message


def test_too_many_slices_name_the_key_with_the_most():
    keys = parse_slice_keys(["tag", "number"])
    names = ["tag=a", *(f"number={n}" for n in range(MAX_SLICES - 1))]
    check_slice_count(names, keys)
    with pytest.raises(ConfigError, match=r"more than 1,000 slices, most of them by 'number'"):
        check_slice_count([*names, "tag=b"], keys)


def test_slice_without_a_value_has_a_name_for_people():
    assert slice_text("vendor", "") == "vendor = (none)"
