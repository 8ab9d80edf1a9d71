"""Days, months and years."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.compare.date import DateMatch
from fieldmark.compare.partial_date import PartialDate
from fieldmark.model.outcome import Reason


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "matched"),
    [
        pytest.param({}, "2024-05", "May 2024", True, id="month-and-its-name"),
        pytest.param({}, "2024-05", "05/2024", True, id="month-before-the-year"),
        pytest.param({}, "2024/5", "5.2024", True, id="month-of-one-digit"),
        pytest.param({}, "May, 2024", "2024 May", True, id="name-behind-the-year"),
        pytest.param({}, "2024-05", "2024-06", False, id="other-month"),
        pytest.param({}, "2024-05", "2023-05", False, id="month-of-another-year"),
        pytest.param({}, "2024", "2024", True, id="year"),
        pytest.param({}, "2024", "2025", False, id="other-year"),
        pytest.param({}, "2024", "2024-01", False, id="year-against-month"),
        pytest.param({}, "2024-05", "2024-05-01", False, id="month-against-day"),
        pytest.param({}, "2024", "2024-01-01", False, id="year-against-day"),
        pytest.param({}, "2024-05-03", "3 May 2024", True, id="days"),
        pytest.param({}, "2024-05-03", "4 May 2024", False, id="other-day"),
        pytest.param({"order": "dmy"}, "2024-05-03", "03/05/2024", True, id="order-of-days"),
        pytest.param({"locales": ["de"]}, "2024-03", "März 2024", True, id="month-in-another-language"),
        pytest.param({}, 2024, 2024, True, id="whole-numbers"),
        pytest.param({}, 2024, 2024.0, True, id="whole-numbers-as-written-by-programs"),
    ],
)  # fmt: skip
def test_dates_match_if_they_have_the_same_parts(options, expected, candidate, matched):
    comparison = PartialDate(**options).compare(expected, candidate)
    assert comparison.matched is matched
    assert (comparison.ambiguous, comparison.coerced) == (False, False)


@pytest.mark.parametrize(
    ("options", "expected", "candidate"),
    [
        pytest.param({}, 2024, "2024", id="number-and-text"),
        pytest.param({}, "12/25", "2025-12", id="two-digit-year"),
        pytest.param({}, "May '24", "2024-05", id="two-digit-year-behind-a-name"),
    ],
)
def test_guessed_parts_are_flagged(options, expected, candidate):
    comparison = PartialDate(**options).compare(expected, candidate)
    assert (comparison.matched, comparison.coerced) == (True, True)


def test_the_first_year_settles_two_digits():
    comparison = PartialDate(two_digit_years=1900).compare("1925-12", "12/25")
    assert (comparison.matched, comparison.coerced) == (True, False)


@pytest.mark.parametrize(
    "text",
    [
        "soon",
        "2024-13",
        "13/2024",
        "May",
        "24",
        "2024-05-32",
        "May 24",
        24,
        True,
        2024.5,
        1e300,
        float("inf"),
        float("nan"),
    ],
    ids=repr,
)
def test_other_values_cannot_be_read(text):
    assert PartialDate().compare("2024", text).reason is Reason.UNPARSEABLE_DATE
    assert PartialDate().compare(text, "2024").matched is False
    assert PartialDate().compare(text, text).matched is False


def test_a_note_names_the_parts_that_differ():
    assert PartialDate().compare("2024", "2024-05-01").note == "year vs. day"


@given(st.dates(), st.dates())
def test_days_are_compared_as_by_date(first, second):
    for expected, candidate in (
        (f"{first}", f"{second:%d %B %Y}"),
        (f"{first:%m/%d/%Y}", f"{second}"),
    ):
        partial = PartialDate().compare(expected, candidate)
        whole = DateMatch().compare(expected, candidate)
        assert (partial.matched, partial.ambiguous) == (whole.matched, whole.ambiguous)
