"""The kinds of values that decide which comparator is proposed."""

from __future__ import annotations

import pytest

from fieldmark.analyses.value_kinds import ValueKind, kind_of_value

WORDS = "lorem " * 15


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        pytest.param("x" * 120, ValueKind.TEXT, id="longest-text"),
        pytest.param("x" * 121, ValueKind.LONG_TEXT, id="long-text"),
        pytest.param(WORDS, ValueKind.TEXT, id="most-words-of-text"),
        pytest.param(f"{WORDS} ipsum", ValueKind.LONG_TEXT, id="words-of-long-text"),
        pytest.param("x" * 39 + "1", ValueKind.CODE, id="longest-code"),
        pytest.param("x" * 40 + "1", ValueKind.TEXT, id="too-long-for-a-code"),
    ],
)
def test_kind_of_text_by_its_length(value, kind):
    assert kind_of_value(value) is kind
