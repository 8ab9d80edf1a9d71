"""Times of day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.compare.time import TimeMatch
from fieldmark.model.outcome import Reason


@pytest.mark.parametrize(
    ("expected", "candidate", "matched", "ambiguous"),
    [
        pytest.param("14:30", "2:30 PM", True, False, id="half-of-the-day"),
        pytest.param("14:30", "2:30 p.m.", True, False, id="half-with-dots"),
        pytest.param("14:00", "2 pm", True, False, id="hour-alone"),
        pytest.param("00:15", "12:15 am", True, False, id="midnight-is-twelve"),
        pytest.param("12:15", "12:15 pm", True, False, id="noon-is-twelve"),
        pytest.param("14:30", "14.30 Uhr", True, False, id="german"),
        pytest.param("14:30", "14h30", True, False, id="french"),
        pytest.param("12:00", "noon", True, False, id="word"),
        pytest.param("00:00", "24:00", True, False, id="end-of-the-day"),
        pytest.param("14:30", "14:30:00", True, False, id="no-seconds"),
        pytest.param("14:30", "14:30:15", False, False, id="other-seconds"),
        pytest.param("14:30:00.5", "14:30:00,50", True, False, id="parts-of-a-second"),
        pytest.param("14:30", "02:30", False, False, id="other-half"),
        pytest.param("14:30+02:00", "12:30Z", True, False, id="same-instant-in-two-zones"),
        pytest.param("23:30-02:00", "01:30 UTC", True, False, id="same-instant-past-midnight"),
        pytest.param("14:30+02:00", "14:30Z", False, False, id="same-reading-in-two-zones"),
        pytest.param("14:30 UTC+2", "14:30+0200", True, False, id="zone-in-two-forms"),
        pytest.param("14:30", "14:30Z", True, True, id="same-reading-without-a-zone"),
        pytest.param("14:30+02:00", "12:30", False, False, id="without-a-zone-only-the-reading"),
    ],
)
def test_times(expected, candidate, matched, ambiguous):
    for comparison in (
        TimeMatch().compare(expected, candidate),
        TimeMatch().compare(candidate, expected),
    ):
        assert (comparison.matched, comparison.ambiguous) == (matched, ambiguous)
        assert not comparison.wrong_kind


@pytest.mark.parametrize(
    "value",
    ["soon", "25:00", "24:01", "14:60", "13:00 am", "10:30-12:00", "1430", "", 14, None, ["14:30"]],
)
def test_other_values_cannot_be_read(value):
    comparison = TimeMatch().compare("14:30", value)
    assert (comparison.reason, comparison.wrong_kind) == (Reason.UNPARSEABLE, True)
    assert not TimeMatch().compare(value, "14:30").matched
    assert not TimeMatch().compare(value, value).matched


@given(st.datetimes(), st.integers(-11 * 4, 14 * 4))
def test_a_time_in_another_zone_is_the_same_instant(moment, quarters):
    zone = timezone(timedelta(minutes=15 * quarters))
    moment = datetime.combine(datetime(2024, 5, 3), moment.time())  # noqa: DTZ001
    here = moment.replace(tzinfo=zone)
    there = here.astimezone(UTC)
    assert TimeMatch().compare(here.timetz().isoformat(), there.timetz().isoformat()).matched
