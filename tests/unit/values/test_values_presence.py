from __future__ import annotations

import pytest

from fieldmark.model.json import MISSING
from fieldmark.model.outcome import Presence
from fieldmark.values.presence import presence, presence_of

ABSENT, NULL, BLANK, VALUE = Presence


@pytest.mark.parametrize(
    ("value", "by_default", "with_tokens", "with_containers"),
    [
        pytest.param(MISSING, ABSENT, ABSENT, ABSENT, id="unknown-key"),
        pytest.param(None, NULL, NULL, NULL, id="null"),
        pytest.param("", BLANK, BLANK, BLANK, id="empty-string"),
        pytest.param(" \t\n", BLANK, BLANK, BLANK, id="whitespace-only"),
        pytest.param("\u00a0", BLANK, BLANK, BLANK, id="no-break-space"),
        pytest.param("x", VALUE, VALUE, VALUE, id="text"),
        pytest.param("null", VALUE, VALUE, VALUE, id="word-null"),
        pytest.param(0, VALUE, VALUE, VALUE, id="zero-is-a-value"),
        pytest.param(False, VALUE, VALUE, VALUE, id="false-is-a-value"),
        pytest.param("N/A", VALUE, BLANK, VALUE, id="token"),
        pytest.param("  n/a ", VALUE, BLANK, VALUE, id="token-untrimmed-in-another-case"),
        pytest.param("-", VALUE, BLANK, VALUE, id="another-token"),
        pytest.param("N/A yet", VALUE, VALUE, VALUE, id="text-that-only-begins-with-a-token"),
        pytest.param([], VALUE, VALUE, BLANK, id="empty-list"),
        pytest.param({}, VALUE, VALUE, BLANK, id="empty-object"),
        pytest.param([None], VALUE, VALUE, VALUE, id="list-that-holds-nothing-but-null"),
        pytest.param({"a": ""}, VALUE, VALUE, VALUE, id="object-with-a-blank-value"),
    ],
)
def test_presence_of_values(value, by_default, with_tokens, with_containers):
    assert presence(value) is by_default
    assert presence_of(frozenset(), containers=False)(value) is by_default
    assert presence_of(frozenset({"N/A", "-"}), containers=False)(value) is with_tokens
    assert presence_of(frozenset(), containers=True)(value) is with_containers
