"""The encoding of document values for the page."""

from __future__ import annotations

import pytest

from fieldmark.model.json import MISSING
from fieldmark.report.html.value_encoding import encode_pair, encode_value


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        pytest.param("text", "text", id="string"),
        pytest.param("", "", id="empty-string"),
        pytest.param(True, True, id="boolean"),
        pytest.param(None, None, id="null"),
        pytest.param(12.5, 12.5, id="fraction"),
        pytest.param(3.0, {"d": "3.0"}, id="integral-float"),
        pytest.param(1e300, {"d": "1e+300"}, id="large-float"),
        pytest.param(2**53, {"d": "9007199254740992"}, id="integer-that-javascript-would-round"),
        pytest.param(2**53 - 1, 2**53 - 1, id="largest-exact-integer"),
        pytest.param(MISSING, {"m": 1}, id="absent"),
        pytest.param([1], {"j": "[1]"}, id="short-list"),
        pytest.param("x" * 4_001, {"t": "x" * 4_000, "n": 4_001}, id="long-string-is-truncated"),
    ],
)
def test_values_are_encoded_exactly(value, encoded):
    assert encode_value(value) == encoded


@pytest.mark.parametrize(
    ("expected", "candidate", "same"),
    [
        pytest.param("a", "a", True, id="equal-strings"),
        pytest.param(1, True, False, id="one-and-true"),
        pytest.param(1, 1.0, False, id="one-and-one-point-zero"),
        pytest.param([1], [1], True, id="equal-lists"),
        pytest.param(MISSING, MISSING, False, id="absent-on-both-sides"),
    ],
)
def test_an_equal_candidate_is_not_repeated(expected, candidate, same):
    assert (encode_pair(expected, candidate)[1] == {}) is same


def test_a_very_long_integer_is_encoded():
    assert encode_value(10**5_000)["d"].startswith("0x")
