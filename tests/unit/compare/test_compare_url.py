from __future__ import annotations

import pytest

from fieldmark.compare.url import Url
from fieldmark.model.outcome import Reason


@pytest.mark.parametrize(
    ("ignore", "expected", "candidate", "matched", "coerced"),
    [
        pytest.param([], "https://a.org", "HTTPS://A.ORG/", True, False, id="case-and-empty-path"),
        pytest.param([], "https://a.org", "https://a.org:443", True, False, id="default-port"),
        pytest.param([], "https://a.org", "https://a.org:80", False, False, id="other-port"),
        pytest.param([], "https://a.org/%7ejo", "https://a.org/~jo", True, False, id="encoded-letters"),
        pytest.param([], "https://a.org/%2f", "https://a.org/%2F", True, False, id="codes-in-capitals"),
        pytest.param([], "https://a.org/%2F", "https://a.org//", False, False, id="encoded-slash-is-no-slash"),
        pytest.param([], "https://a.org/%2F", "https://a.org/2F", False, False, id="encoded-slash-is-not-its-code"),
        pytest.param([], "https://a.org/b/../c/./d", "https://a.org/c/d", True, False, id="dot-segments"),
        pytest.param([], "https://a.org/b/c/..", "https://a.org/b/", True, False, id="last-dot-segments"),
        pytest.param([], "https://a.org/b/.", "https://a.org/b/", True, False, id="last-dot-segment"),
        pytest.param([], "https://a.org/b/..", "https://a.org/b", False, False, id="parent-is-another-address"),
        pytest.param([], "https://a.org/../../b", "https://a.org/b", True, False, id="no-parent-of-the-root"),
        pytest.param([], "https://bücher.de", "https://xn--bcher-kva.de", True, False, id="international-host"),
        pytest.param([], "http://localhost:8000/x", "http://LOCALHOST:8000/x", True, False, id="host-without-a-dot"),
        pytest.param([], "a.org", "https://a.org/", True, True, id="no-scheme-matches-any"),
        pytest.param([], "//a.org/x", "a.org/x", True, False, id="no-scheme-on-both-sides"),
        pytest.param([], "https://a.org", "http://a.org", False, False, id="other-scheme"),
        pytest.param([], "https://a.org/x", "https://a.org/X", False, False, id="case-of-the-path-counts"),
        pytest.param([], "https://a.org/x", "https://a.org/x/", False, False, id="trailing-slash-counts"),
        pytest.param([], "https://www.a.org", "https://a.org", False, False, id="www-counts"),
        pytest.param([], "https://a.org?b=1", "https://a.org?b=2", False, False, id="query-counts"),
        pytest.param([], "https://a.org#b", "https://a.org", False, False, id="fragment-counts"),
        pytest.param([], "https://jo@a.org", "https://a.org", False, False, id="user-counts"),
        pytest.param(["scheme"], "https://a.org:443", "http://a.org", True, False, id="ignore-scheme"),
        pytest.param(["www"], "https://www.a.org", "https://a.org", True, False, id="ignore-www"),
        pytest.param(["trailing_slash"], "https://a.org/x", "https://a.org/x/", True, False, id="ignore-slash"),
        pytest.param(["query"], "https://a.org?b=1", "https://a.org", True, False, id="ignore-query"),
        pytest.param(["fragment"], "https://a.org#b", "https://a.org", True, False, id="ignore-fragment"),
    ],
)  # fmt: skip
def test_equal_addresses_match(ignore, expected, candidate, matched, coerced):
    comparison = Url(ignore=ignore).compare(expected, candidate)
    assert (comparison.matched, comparison.coerced) == (matched, coerced)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("soon", id="word"),
        pytest.param("not a page", id="words"),
        pytest.param("inv.100", id="code"),
        pytest.param("mailto:jo@acme.org", id="no-host"),
        pytest.param("https://", id="empty-host"),
        pytest.param("https://a b.org", id="blank-in-host"),
        pytest.param(5, id="number"),
        pytest.param({}, id="object"),
    ],
)
def test_values_that_are_no_addresses(text):
    candidate = Url().compare("https://a.org", text)
    assert (candidate.reason, candidate.wrong_kind) == (Reason.UNPARSEABLE, True)
    assert not Url().compare(text, "https://a.org").matched
    assert not Url().compare(text, text).matched
