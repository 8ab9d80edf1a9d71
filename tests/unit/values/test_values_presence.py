from __future__ import annotations

import pytest

from fieldmark.model.json import MISSING
from fieldmark.model.outcome import Presence
from fieldmark.values.presence import presence, presence_of

ABSENT, NULL, BLANK, VALUE = Presence


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(MISSING, ABSENT, id="unknown-key"),
        pytest.param(None, NULL, id="null"),
        pytest.param("", BLANK, id="empty-string"),
        pytest.param(" \t\n", BLANK, id="whitespace-only"),
        pytest.param("\u00a0", BLANK, id="no-break-space"),
        pytest.param("x", VALUE, id="text"),
        pytest.param("null", VALUE, id="word-null"),
        pytest.param(0, VALUE, id="zero-is-a-value"),
        pytest.param(False, VALUE, id="false-is-a-value"),
        pytest.param([], VALUE, id="empty-list-is-a-value"),
        pytest.param({}, VALUE, id="empty-object-is-a-value"),
    ],
)
def test_presence_of_values(value, expected):
    assert presence(value) is expected
    assert presence_of(frozenset(), containers=False)(value) is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("N/A", BLANK, id="token"),
        pytest.param("  n/a ", BLANK, id="token-untrimmed-in-another-case"),
        pytest.param("-", BLANK, id="another-token"),
        pytest.param("N/A yet", VALUE, id="text-that-only-begins-with-a-token"),
        pytest.param("", BLANK, id="blank-string"),
        pytest.param(None, NULL, id="null-stays-null"),
        pytest.param(MISSING, ABSENT, id="absent-stays-absent"),
        pytest.param([], VALUE, id="containers-are-untouched"),
        pytest.param(0, VALUE, id="zero-is-still-a-value"),
    ],
)
def test_empty_tokens_count_as_blank(value, expected):
    assert presence_of(frozenset({"N/A", "-"}), containers=False)(value) is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param([], BLANK, id="empty-list"),
        pytest.param({}, BLANK, id="empty-object"),
        pytest.param([None], VALUE, id="list-that-holds-nothing-but-null"),
        pytest.param({"a": ""}, VALUE, id="object-with-a-blank-value"),
        pytest.param(0, VALUE, id="zero-is-no-container"),
        pytest.param(False, VALUE, id="false-is-no-container"),
        pytest.param("", BLANK, id="empty-string"),
        pytest.param("x", VALUE, id="text"),
    ],
)
def test_empty_containers_can_count_as_blank(value, expected):
    assert presence_of(frozenset(), containers=True)(value) is expected
