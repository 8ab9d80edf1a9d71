"""Instants: days with times, in their time zones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.compare.timestamp import Timestamp
from fieldmark.model.outcome import Reason


@pytest.mark.parametrize(
    ("expected", "candidate", "matched", "ambiguous"),
    [
        pytest.param("2024-05-03T14:30:00+02:00", "2024-05-03T12:30:00Z", True, False, id="same-instant-in-two-zones"),
        pytest.param("2024-05-03T23:30-02:00", "4 May 2024 1:30 am UTC", True, False, id="same-instant-on-two-days"),
        pytest.param("2024-05-03T14:30+02:00", "2024-05-03T14:30Z", False, False, id="same-reading-in-two-zones"),
        pytest.param("2024-05-03T14:30", "2024-05-03T14:30Z", True, True, id="same-reading-without-a-zone"),
        pytest.param("2024-05-03T14:30+02:00", "2024-05-03T12:30", False, False, id="without-a-zone-only-the-reading"),
        pytest.param("2024-05-03 14:30", "May 3, 2024 2:30 PM", True, False, id="both-without-a-zone"),
        pytest.param("2024-05-03T14:30", "2024-05-04T14:30", False, False, id="other-day"),
        pytest.param("2024-05-03T14:30", "2024-05-03T14:31", False, False, id="other-minute"),
        pytest.param("2024-05-03T24:00", "2024-05-04T00:00", True, False, id="end-of-the-day"),
        pytest.param("2024-05-03", "3 May 2024", True, False, id="days-without-a-time"),
        pytest.param("2024-05-03", "2024-05-03T00:00", False, False, id="a-day-is-no-instant"),
        pytest.param("2024-05-03", "2024-05-04", False, False, id="other-day-without-a-time"),
        pytest.param("03/04/2024 10:00", "2024-03-04T10:00", True, True, id="order-of-the-day-is-unclear"),
    ],
)  # fmt: skip
def test_timestamps(expected, candidate, matched, ambiguous):
    for comparison in (
        Timestamp().compare(expected, candidate),
        Timestamp().compare(candidate, expected),
    ):
        assert (comparison.matched, comparison.ambiguous) == (matched, ambiguous)
        assert not comparison.wrong_kind


@pytest.mark.parametrize(
    ("options", "candidate"),
    [
        pytest.param({"order": "dmy"}, "03/04/2024 10:00", id="order"),
        pytest.param({"locales": ["de"]}, "3. April 2024 10:00", id="locale"),
        pytest.param({"two_digit_years": 1970}, "3 Apr 24, 10:00", id="two-digit-year"),
    ],
)
def test_days_are_read_as_by_date(options, candidate):
    comparison = Timestamp(**options).compare("2024-04-03T10:00", candidate)
    assert (comparison.matched, comparison.ambiguous, comparison.coerced) == (True, False, False)


@pytest.mark.parametrize("value", ["soon", "14:30", "2024-05-32T10:00", 1714746600, None])
def test_other_values_cannot_be_read(value):
    comparison = Timestamp().compare("2024-05-03T14:30", value)
    assert (comparison.reason, comparison.wrong_kind) == (Reason.UNPARSEABLE_DATE, True)
    assert not Timestamp().compare(value, "2024-05-03T14:30").matched
    assert not Timestamp().compare(value, value).matched


ZONES = st.integers(-11 * 4, 14 * 4).map(lambda quarter: timezone(timedelta(minutes=15 * quarter)))
MOMENTS = st.datetimes(datetime(1971, 1, 2), datetime(2069, 1, 2), timezones=ZONES)  # noqa: DTZ001


@given(MOMENTS, MOMENTS)
def test_timestamps_match_if_python_says_that_they_are_the_same_instant(one, other):
    assert Timestamp().compare(one.isoformat(), other.isoformat()).matched == (one == other)
    assert Timestamp().compare(one.isoformat(), one.astimezone(UTC).isoformat()).matched
