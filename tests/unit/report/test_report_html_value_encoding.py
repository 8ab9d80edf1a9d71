"""Values of documents on their way to the page: nothing is lost, nothing is sent twice."""

from __future__ import annotations

import pytest

from fieldmark.model.json import MISSING
from fieldmark.report.html.value_encoding import encode_pair, encode_value


@pytest.mark.parametrize(
    ("value", "travels"),
    [
        pytest.param("text", "text", id="text"),
        pytest.param("", "", id="empty-text"),
        pytest.param(True, True, id="a-boolean"),
        pytest.param(None, None, id="null"),
        pytest.param(12.5, 12.5, id="a-plain-fraction"),
        pytest.param(3.0, {"d": "3.0"}, id="a-fraction-that-is-whole"),
        pytest.param(1e300, {"d": "1e+300"}, id="a-large-fraction"),
        pytest.param(2**53, {"d": "9007199254740992"}, id="a-whole-number-pages-cannot-hold"),
        pytest.param(2**53 - 1, 2**53 - 1, id="the-last-they-can"),
        pytest.param(MISSING, {"m": 1}, id="nothing"),
        pytest.param([1], {"j": "[1]"}, id="a-short-list-on-one-line"),
        pytest.param("x" * 4_001, {"t": "x" * 4_000, "n": 4_001}, id="a-long-text-is-cut"),
    ],
)
def test_a_value_travels_without_loss(value, travels):
    assert encode_value(value) == travels


@pytest.mark.parametrize(
    ("expected", "candidate", "same"),
    [
        pytest.param("a", "a", True, id="equal-texts"),
        pytest.param(1, True, False, id="one-is-not-true"),
        pytest.param(1, 1.0, False, id="one-is-not-one-point-zero"),
        pytest.param([1], [1], True, id="equal-lists"),
        pytest.param(MISSING, MISSING, False, id="nothing-on-both-sides"),
    ],
)
def test_what_is_the_same_is_not_sent_twice(expected, candidate, same):
    assert (encode_pair(expected, candidate)[1] == {}) is same


def test_a_very_long_number_does_not_stop_the_report():
    assert encode_value(10**5_000)["d"].startswith("0x")
