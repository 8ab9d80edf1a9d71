from __future__ import annotations

import pytest

from fieldmark.compare.date import DateMatch
from fieldmark.errors import OptionError
from fieldmark.model.outcome import Reason

DIFFERENT, UNPARSEABLE, TYPE = Reason.DIFFERENT, Reason.UNPARSEABLE_DATE, Reason.TYPE_MISMATCH


@pytest.mark.parametrize(
    ("formats", "expected", "candidate", "matched", "ambiguous"),
    [
        pytest.param(None, "2024-01-31", "31-JAN-2024", True, False, id="one-day-in-two-formats"),
        pytest.param(None, "2024-01-31", "2024-01-31T23:59:59Z", True, False, id="times-are-left-aside"),
        pytest.param(None, "2024-01-31T23:00-11:00", "2024-01-31T01:00+14:00", True, False, id="offsets-are-left-aside"),
        pytest.param(None, "2024-01-31", "2024-02-01", False, False, id="another-day"),
        pytest.param(None, "2024-03-04", "03/04/2024", True, True, id="us-order-for-an-ambiguous-date"),
        pytest.param(None, "2024-04-03", "03/04/2024", False, True, id="the-other-order-does-not-match"),
        pytest.param(None, "03/04/2024", "03/04/2024", True, True, id="equal-texts-can-be-ambiguous"),
        pytest.param(["DD/MM/YYYY", "ISO"], "2024-04-03", "03/04/2024", True, False, id="formats-settle-the-order"),
        pytest.param(["DD/MM/YYYY"], "03/04/2024", " 03/04/2024", True, False, id="trimmed"),
    ],
)  # fmt: skip
def test_the_same_day_matches(formats, expected, candidate, matched, ambiguous):
    comparison = DateMatch(formats=formats).compare(expected, candidate)
    assert (comparison.matched, comparison.ambiguous) == (matched, ambiguous)
    assert comparison.score == float(matched)


@pytest.mark.parametrize(
    ("formats", "expected", "candidate", "reason", "wrong_kind"),
    [
        pytest.param(None, "2024-01-31", "2024-02-01", DIFFERENT, False, id="another-day"),
        pytest.param(None, "2024-01-31", "31-FEB-2024", UNPARSEABLE, True, id="no-such-day"),
        pytest.param(None, "2024-01-31", "soon", UNPARSEABLE, True, id="no-date"),
        pytest.param(None, "2024-01-31", 20240131, UNPARSEABLE, True, id="a-number"),
        pytest.param(None, "soon", "soon", UNPARSEABLE, True, id="equal-texts-that-are-no-dates"),
        pytest.param(None, "soon", "2024-01-31", UNPARSEABLE, False, id="an-expected-text-that-is-no-date"),
        pytest.param(None, 5, "2024-01-31", TYPE, True, id="an-expected-number"),
        pytest.param(["ISO"], "2024-01-31", "01/31/2024", UNPARSEABLE, True, id="formats-hold-for-the-candidate"),
        pytest.param(["ISO"], "01/31/2024", "2024-01-31", UNPARSEABLE, False, id="formats-hold-for-the-truth"),
    ],
)  # fmt: skip
def test_why_dates_do_not_match(formats, expected, candidate, reason, wrong_kind):
    comparison = DateMatch(formats=formats).compare(expected, candidate)
    assert not comparison.matched
    assert (comparison.reason, comparison.wrong_kind) == (reason, wrong_kind)


@pytest.mark.parametrize("formats", [[], ["DD.MM"], "ISO"])
def test_formats_that_are_refused(formats):
    with pytest.raises(OptionError):
        DateMatch(formats=formats)


def test_formats_become_a_tuple_so_that_the_comparator_can_be_a_key():
    assert hash(DateMatch(formats=["ISO"])) == hash(DateMatch(formats=("ISO",)))
