"""The limits of documents."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from fieldmark.errors import LimitError, OptionError
from fieldmark.values.json_text import Limits, check_paths, paths_exceed


def test_default_limits_are_the_documented_ones():
    assert asdict(Limits()) == {
        "document_bytes": 64 * 1024**2,
        "line_bytes": 16 * 1024**2,
        "depth": 200,
        "nodes": 1_000_000,
        "integer_digits": 1_000,
        "key_characters": 4_000,
        "path_characters": 250_000,
    }


@pytest.mark.parametrize(("depth", "valid"), [(0, False), (1, True), (200, True), (201, False)])
def test_depth_limit_is_within_the_abilities_of_the_parsers(depth, valid):
    if valid:
        assert Limits(depth=depth).depth == depth
    else:
        with pytest.raises(OptionError, match="must be between 1 and 200"):
            Limits(depth=depth)


@pytest.mark.parametrize(
    ("value", "characters", "text", "values"),
    [
        pytest.param("text", 0, 4, 1, id="scalar"),
        pytest.param({"abc": None}, 4, 3, 2, id="key-with-its-dot"),
        pytest.param([None], 3, 0, 2, id="index-in-brackets"),
        pytest.param([None] * 11, 10 * 3 + 4, 0, 12, id="longer-index"),
        pytest.param({"a": [None]}, 2 + 5, 1, 3, id="path-of-each-level"),
        pytest.param({"a": {"b": {"c": 1}}}, 2 + 4 + 6, 3, 4, id="nested-objects"),
        pytest.param([["text"]], 3 + 6, 4, 3, id="nested-lists"),
    ],
)
def test_limit_of_all_paths_grows_with_the_text_and_the_values(value, characters, text, values):
    least = characters - 16 * text - 256 * values
    check_paths(value, Limits(path_characters=least))
    assert not paths_exceed(value, 4_000, least)
    assert paths_exceed(value, 4_000, least - 1)
    with pytest.raises(
        LimitError, match=rf"have {characters} characters \(limit {characters - 1}\)"
    ):
        check_paths(value, Limits(path_characters=least - 1))


@pytest.mark.parametrize(("length", "valid"), [(10, True), (11, False)])
def test_length_of_keys(length, valid):
    assert paths_exceed([{"k" * length: 1}], 10, 250_000) is not valid
