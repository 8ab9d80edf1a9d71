from __future__ import annotations

import pytest

from fieldmark.compare.email import Email
from fieldmark.model.outcome import Reason


@pytest.mark.parametrize(
    ("expected", "candidate", "matched"),
    [
        pytest.param("jo@acme.org", " JO@Acme.ORG ", True, id="case-and-blanks"),
        pytest.param("jo@acme.org", "mailto:jo@acme.org", True, id="mailto"),
        pytest.param("jo@acme.org", "Jo Doe <jo@acme.org>", True, id="display-name"),
        pytest.param("jo@bücher.de", "jo@xn--bcher-kva.de", True, id="international-domain"),
        pytest.param("jo@acme.org", "jo@acme.org.", True, id="dot-at-the-end-of-the-domain"),
        pytest.param("jo@acme.org", "joe@acme.org", False, id="other-name"),
        pytest.param("jo@acme.org", "jo@acme.com", False, id="other-domain"),
        pytest.param("j.o@acme.org", "jo@acme.org", False, id="dots-count"),
        pytest.param("jo+tag@acme.org", "jo@acme.org", False, id="tags-count"),
    ],
)
def test_equal_addresses_match(expected, candidate, matched):
    assert Email().compare(expected, candidate).matched is matched


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("soon", id="word"),
        pytest.param("jo@localhost", id="no-domain"),
        pytest.param("jo@acme@org.com", id="two-signs"),
        pytest.param("jo doe@acme.org", id="blank"),
        pytest.param("a@b.org, c@d.org", id="two-addresses"),
        pytest.param("@acme.org", id="no-name"),
        pytest.param("a" * 2000 + "@b.org", id="too-long"),
        pytest.param(5, id="number"),
        pytest.param(["a@b.org"], id="list"),
    ],
)
def test_values_that_are_no_addresses(text):
    candidate = Email().compare("jo@acme.org", text)
    assert (candidate.reason, candidate.wrong_kind) == (Reason.UNPARSEABLE, True)
    assert not Email().compare(text, "jo@acme.org").matched
    assert not Email().compare(text, text).matched
