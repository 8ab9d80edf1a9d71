from __future__ import annotations

import time
from datetime import date

import pytest

from fieldmark.errors import OptionError
from fieldmark.values.dates import is_iso_date, parse_formats, read_day

JANUARY_31 = date(2024, 1, 31)
MARCH_4 = date(2024, 3, 4)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        pytest.param("2024-01-31", JANUARY_31, id="iso-date"),
        pytest.param(" 2024-01-31\n", JANUARY_31, id="trimmed"),
        pytest.param("2024-01-31T23:59:59Z", JANUARY_31, id="iso-date-time"),
        pytest.param("2024-01-31 23:59", JANUARY_31, id="space-before-the-time"),
        pytest.param("2024-01-31T23:59:59.123456+05:30", JANUARY_31, id="fractions-and-offset"),
        pytest.param("2024-01-31T23:59:59-1100", JANUARY_31, id="offsets-are-not-applied"),
        pytest.param("2024-01-31t00:00:00z", JANUARY_31, id="small-letters"),
        pytest.param("31-JAN-2024", JANUARY_31, id="month-as-three-letters"),
        pytest.param("31-jan-2024", JANUARY_31, id="month-in-small-letters"),
        pytest.param("01/31/2024", JANUARY_31, id="us-order-with-slashes"),
        pytest.param("31/01/2024", JANUARY_31, id="day-first-with-slashes"),
        pytest.param("01-31-2024", JANUARY_31, id="us-order-with-dashes"),
        pytest.param("31-01-2024", JANUARY_31, id="day-first-with-dashes"),
        pytest.param("1/31/2024", JANUARY_31, id="leading-zero-may-be-missing"),
        pytest.param("29-FEB-2024", date(2024, 2, 29), id="leap-day"),
        pytest.param("31 Jan 2024", JANUARY_31, id="month-between-spaces"),
        pytest.param("31 January 2024", JANUARY_31, id="full-month-name-after-the-day"),
        pytest.param("Jan 31, 2024", JANUARY_31, id="month-first-with-comma"),
        pytest.param("January 31, 2024", JANUARY_31, id="full-month-name-first"),
        pytest.param("3 May 2024", date(2024, 5, 3), id="one-digit-day-before-the-month"),
        pytest.param("31/Jan/2024", JANUARY_31, id="month-name-with-slashes"),
        pytest.param("31.01.2024", JANUARY_31, id="dots-are-day-first"),
        pytest.param("2024/01/31", JANUARY_31, id="year-first-with-slashes"),
    ],
)
def test_day_is_read_in_every_common_format(text, day):
    assert read_day(text) == (day, False)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("31-FEB-2024", id="unknown-day"),
        pytest.param("29-FEB-2023", id="no-leap-year"),
        pytest.param("2024-13-01", id="unknown-month"),
        pytest.param("2024-00-10", id="month-zero"),
        pytest.param("0000-01-01", id="year-zero"),
        pytest.param("31-XYZ-2024", id="unknown-month-name"),
        pytest.param("31-JANUARY-2024", id="full-month-name"),
        pytest.param("31-MÄR-2024", id="month-of-another-language"),
        pytest.param("2024-01-31T25:00", id="unknown-hour"),
        pytest.param("2024-01-31T", id="time-without-digits"),
        pytest.param("2024-01-31 or so", id="more-than-a-date"),
        pytest.param("2024-1-31", id="iso-keeps-its-zeros"),
        pytest.param("01/31/24", id="two-digit-years"),
        pytest.param("01/31-2024", id="mixed-separators"),
        pytest.param("٣١/٠١/٢٠٢٤", id="digits-of-another-script"),
        pytest.param("January", id="nothing-is-filled-in-from-today"),
        pytest.param("", id="nothing"),
    ],
)
def test_text_that_is_not_a_date(text):
    assert read_day(text) is None


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        pytest.param("03/04/2024", (MARCH_4, True), id="slashes-us-order-flagged"),
        pytest.param("03-04-2024", (MARCH_4, True), id="dashes-us-order-flagged"),
        pytest.param("04/04/2024", (date(2024, 4, 4), False), id="both-orders-mean-one-day"),
        pytest.param("13/04/2024", (date(2024, 4, 13), False), id="only-day-first-is-possible"),
        pytest.param("2024-03-04", (MARCH_4, False), id="iso-is-never-ambiguous"),
        pytest.param("04-MAR-2024", (MARCH_4, False), id="named-months-are-never-ambiguous"),
    ],
)
def test_ambiguous_dates_are_read_month_first_and_flagged(text, reading):
    assert read_day(text) == reading


@pytest.mark.parametrize(
    ("formats", "text", "reading"),
    [
        pytest.param(["DD/MM/YYYY"], "03/04/2024", (date(2024, 4, 3), False), id="one-format-is-not-ambiguous"),
        pytest.param(["DD/MM/YYYY"], "04/13/2024", None, id="formats-are-enforced"),
        pytest.param(["DD/MM/YYYY"], "2024-04-13", None, id="even-iso-needs-to-be-listed"),
        pytest.param(["DD/MM/YYYY", "MM/DD/YYYY"], "03/04/2024", (MARCH_4, True), id="both-orders-listed"),
        pytest.param(["YYYY-MM-DD"], "2024-03-04", (MARCH_4, False), id="date"),
        pytest.param(["YYYY-MM-DD"], "2024-03-04T10:00", None, id="date-format-takes-no-time"),
        pytest.param(["ISO"], "2024-03-04T10:00", (MARCH_4, False), id="iso-takes-a-time"),
        pytest.param(["DD.MM.YYYY"], "4.3.2024", (MARCH_4, False), id="other-separators"),
        pytest.param(["DD.MM.YYYY"], "4x3x2024", None, id="separators-are-literal"),
        pytest.param(["YYYYMMDD"], "20240304", (MARCH_4, False), id="no-separators"),
        pytest.param(["YYYYMMDD"], "2024034", None, id="no-separators-needs-every-digit"),
        pytest.param(["MMM DD, YYYY"], "mar 4, 2024", (MARCH_4, False), id="month-name-first"),
        pytest.param(["YYYYMMDD", "DDMMYYYY"], "10112012", (date(2012, 11, 10), False), id="only-one-reading-is-a-day"),
    ],
)  # fmt: skip
def test_formats_are_enforced(formats, text, reading):
    assert read_day(text, parse_formats(formats)) == reading


@pytest.mark.parametrize(
    "formats",
    [
        pytest.param([], id="empty-list"),
        pytest.param("YYYY-MM-DD", id="text-instead-of-a-list"),
        pytest.param(["%Y-%m-%d"], id="another-language-of-formats"),
        pytest.param(["YY-MM-DD"], id="two-digit-years"),
        pytest.param(["YYYY-MM"], id="no-day"),
        pytest.param(["YYYY-MM-DD-DD"], id="two-days"),
        pytest.param(["YYYY-MM-MMM-DD"], id="two-months"),
        pytest.param(["yyyy-mm-dd"], id="small-letters"),
        pytest.param([""], id="empty-format"),
        pytest.param([5], id="number"),
    ],
)
def test_unknown_formats_are_rejected(formats):
    with pytest.raises(OptionError) as caught:
        parse_formats(formats)
    assert caught.value.option == "formats"


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        pytest.param("2024-01-31", True, id="date"),
        pytest.param("2024-01-31T10:00:00Z", True, id="date-and-time"),
        pytest.param("2024-02-31", False, id="unknown-day"),
        pytest.param("01/31/2024", False, id="another-format"),
    ],
)
def test_iso_dates_are_recognized(text, iso):
    assert is_iso_date(text) is iso


@pytest.fixture(params=["UTC", "Pacific/Kiritimati", "America/Los_Angeles"])
def time_zone(request, monkeypatch):
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("time_zone")
def test_day_does_not_depend_on_the_machines_time_zone():
    assert read_day("2024-01-31T23:59:59Z") == (JANUARY_31, False)
    assert read_day("2024-01-31") == (JANUARY_31, False)
