from __future__ import annotations

import pickle
import sys
import time
from datetime import date

import pytest

from fieldmark.errors import MissingExtra, OptionError
from fieldmark.values.dates import (
    DateOrder,
    DateReader,
    date_words,
    is_iso_date,
    parse_formats,
    read_day,
)

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
        pytest.param("31-jan-2024", JANUARY_31, id="month-in-small-letters"),
        pytest.param("1/31/2024", JANUARY_31, id="leading-zero-may-be-missing"),
        pytest.param("29-FEB-2024", date(2024, 2, 29), id="leap-day"),
        pytest.param("3 May 2024", date(2024, 5, 3), id="one-digit-day-before-the-month"),
        pytest.param("2024-1-31", JANUARY_31, id="year-first-without-zeros"),
        pytest.param("2024. 1. 31.", JANUARY_31, id="year-first-with-dots-and-blanks"),
        pytest.param("31. 1. 2024", JANUARY_31, id="blanks-after-dots"),
        pytest.param("31-JANUARY-2024", JANUARY_31, id="full-month-name-with-dashes"),
        pytest.param("1 Sept 2024", date(2024, 9, 1), id="sept"),
        pytest.param("Sept. 1, 2024", date(2024, 9, 1), id="abbreviation-with-dot"),
        pytest.param("31st January 2024", JANUARY_31, id="ordinal"),
        pytest.param("January 31st, 2024", JANUARY_31, id="ordinal-after-the-month"),
        pytest.param("31st of January, 2024", JANUARY_31, id="ordinal-of-month"),
        pytest.param("31/01/2024 (WED)", JANUARY_31, id="weekday-behind"),
        pytest.param("31/01/2024 11:05:16 AM", JANUARY_31, id="time-of-a-receipt"),
        pytest.param("31-01-2024 23:05", JANUARY_31, id="time-without-seconds"),
        pytest.param("31/01/2024, 9:05pm", JANUARY_31, id="time-after-a-comma"),
        pytest.param("31 Jan 2024 (Wed) 3 p.m.", JANUARY_31, id="weekday-and-hour"),
        pytest.param("31 Jan 2024 at 14:30 UTC", JANUARY_31, id="time-with-a-word"),
    ],
)  # fmt: skip
def test_day_is_read_in_every_common_format(text, day):
    assert read_day(text) == (day, False, False)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("31-FEB-2024", id="unknown-day"),
        pytest.param("29-FEB-2023", id="no-leap-year"),
        pytest.param("2024-13-01", id="unknown-month"),
        pytest.param("2024-00-10", id="month-zero"),
        pytest.param("0000-01-01", id="year-zero"),
        pytest.param("31-XYZ-2024", id="unknown-month-name"),
        pytest.param("31-MÄR-2024", id="month-of-another-language"),
        pytest.param("2024-01-31T25:00", id="unknown-hour"),
        pytest.param("2024-01-31T", id="time-without-digits"),
        pytest.param("2024-01-31 or so", id="more-than-a-date"),
        pytest.param("01/31-2024", id="mixed-separators"),
        pytest.param("٣١/٠١/٢٠٢٤", id="digits-of-another-script"),
        pytest.param("January", id="nothing-is-filled-in-from-today"),
        pytest.param("31 January", id="no-year-is-filled-in"),
        pytest.param("January 2024", id="no-day-is-filled-in"),
        pytest.param("01/2024", id="no-day-in-numbers"),
        pytest.param("14:30", id="time-without-a-date"),
        pytest.param("Wednesday", id="weekday-without-a-date"),
        pytest.param("Jan 312024", id="day-and-year-in-one-number"),
        pytest.param("31 Jan 20245", id="year-of-five-digits"),
        pytest.param("31/01/024", id="year-of-three-digits"),
        pytest.param("1/2/3", id="year-of-one-digit"),
        pytest.param("20240231", id="eight-digits-that-are-no-day"),
        pytest.param("31012024", id="eight-digits-day-first-need-an-order"),
        pytest.param("01.31.2024", id="dots-mean-that-the-day-is-first"),
        pytest.param("31/01/2024 25:00", id="unknown-hour-after-a-date"),
        pytest.param("31/01/2024 and more", id="more-words"),
        pytest.param("(31/01/2024)", id="in-parentheses"),
        pytest.param("31 Januar 2024", id="month-of-another-language-needs-locales"),
        pytest.param("31 Jan 2024" + " " * 200 + ".", id="longer-than-any-date"),
        pytest.param("", id="nothing"),
    ],
)
def test_text_that_is_not_a_date(text):
    assert read_day(text) is None


@pytest.mark.parametrize(
    ("order", "text", "day", "ambiguous"),
    [
        pytest.param(None, "03/04/2024", MARCH_4, True, id="slashes-us-order-flagged"),
        pytest.param(None, "03-04-2024", MARCH_4, True, id="dashes-us-order-flagged"),
        pytest.param(None, "04.03.2024", MARCH_4, False, id="dots-are-never-ambiguous"),
        pytest.param(None, "04/04/2024", date(2024, 4, 4), False, id="both-orders-mean-one-day"),
        pytest.param(None, "13/04/2024", date(2024, 4, 13), False, id="only-day-first-is-possible"),
        pytest.param(None, "04/13/2024", date(2024, 4, 13), False, id="only-month-first-is-possible"),
        pytest.param(None, "2024-03-04", MARCH_4, False, id="iso-is-never-ambiguous"),
        pytest.param(None, "2024/03/04", MARCH_4, False, id="year-first-is-never-ambiguous"),
        pytest.param(None, "04-MAR-2024", MARCH_4, False, id="named-months-are-never-ambiguous"),
        pytest.param(None, "25/12/18", date(2018, 12, 25), True, id="short-year-may-be-first"),
        pytest.param(None, "99/12/18", date(1999, 12, 18), False, id="only-year-first-is-possible"),
        pytest.param("mdy", "03/04/2024", MARCH_4, False, id="mdy"),
        pytest.param("dmy", "04/03/2024", MARCH_4, False, id="dmy"),
        pytest.param("dmy", "04-03-24", MARCH_4, False, id="dmy-with-short-year"),
        pytest.param("ymd", "24/03/04", MARCH_4, False, id="ymd"),
        pytest.param("mdy", "03.04.2024", MARCH_4, False, id="order-settles-dots-too"),
        pytest.param("dmy", "2024/03/04", MARCH_4, False, id="four-digits-are-the-year"),
        pytest.param("dmy", "Mar 4, 2024", MARCH_4, False, id="order-is-for-numbers-only"),
        pytest.param("dmy", "04032024", MARCH_4, False, id="eight-digits-day-first"),
        pytest.param("mdy", "03042024", MARCH_4, False, id="eight-digits-month-first"),
        pytest.param("dmy", "20121011", date(2012, 10, 11), False, id="eight-digits-that-could-be-day-first"),
        pytest.param("dmy", "12/28/2017", None, False, id="impossible-in-this-order"),
        pytest.param("ymd", "04/03/2024", None, False, id="year-last-is-not-ymd"),
    ],
)  # fmt: skip
def test_order_of_numbers(order, text, day, ambiguous):
    reading = DateReader(order=order and DateOrder(order)).read(text)
    assert (reading and reading[:2]) == (day and (day, ambiguous))


@pytest.mark.parametrize(
    ("first_year", "text", "year", "coerced"),
    [
        pytest.param(None, "31.01.69", 2069, True, id="last-year-by-default"),
        pytest.param(None, "31.01.70", 1970, True, id="first-year-by-default"),
        pytest.param(1950, "31.01.49", 2049, False, id="last-year-of-window"),
        pytest.param(1950, "31.01.50", 1950, False, id="first-year-of-window"),
        pytest.param(1999, "31.01.99", 1999, False, id="window-inside-a-century"),
        pytest.param(1950, "31 Jan '49", 2049, False, id="named-month-and-apostrophe"),
        pytest.param(None, "31 JAN 18", 2018, True, id="named-month-by-default"),
        pytest.param(None, "31.01.2018", 2018, False, id="four-digits-are-not-coerced"),
    ],
)
def test_two_digit_years(first_year, text, year, coerced):
    reading = DateReader(first_year=first_year).read(text)
    assert reading == (date(year, 1, 31), False, coerced)


@pytest.mark.parametrize(
    ("locales", "text", "day"),
    [
        pytest.param(["de"], "4. März 2024", MARCH_4, id="german"),
        pytest.param(["de"], "Montag, 4. MÄRZ 2024", MARCH_4, id="german-weekday-and-capitals"),
        pytest.param(["fr"], "4 mars 2024", MARCH_4, id="french"),
        pytest.param(["fr"], "1er FEVRIER 2024", date(2024, 2, 1), id="french-without-accents"),
        pytest.param(["es"], "4 de marzo de 2024", MARCH_4, id="spanish-with-particles"),
        pytest.param(["pt-BR"], "4 de março de 2024", MARCH_4, id="locale-with-a-dash"),
        pytest.param(["tr"], "30 KASIM 2024", date(2024, 11, 30), id="dotless-i"),
        pytest.param(["ja"], "2024年3月4日", MARCH_4, id="japanese"),
        pytest.param(["de", "fr"], "4 mars 2024", MARCH_4, id="several-languages"),
        pytest.param(["de"], "March 4, 2024", MARCH_4, id="english-stays"),
    ],
)
def test_month_names_of_other_languages(locales, text, day):
    reading = DateReader(words=date_words(tuple(locales))).read(text)
    assert reading == (day, False, False)


def test_month_name_with_two_meanings_is_ambiguous():
    croatian_first = DateReader(words=date_words(("hr", "pl")))
    assert croatian_first.read("1 listopad 2024") == (date(2024, 10, 1), True, False)
    polish_first = DateReader(words=date_words(("pl", "hr")))
    assert polish_first.read("1 listopad 2024") == (date(2024, 11, 1), True, False)


def test_missing_locale_data_names_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "babel", None)
    with pytest.raises(MissingExtra, match=r'pip install "fieldmark\[locales\]"'):
        date_words.__wrapped__(("sv",))  # other tests may have read and cached them


def test_readers_can_be_sent_to_other_processes():
    reader = pickle.loads(pickle.dumps(DateReader(words=date_words(("de",)))))  # noqa: S301
    assert reader.read("4. März 2024") == (MARCH_4, False, False)
    assert pickle.loads(pickle.dumps(DateReader())).read("04/03/2024 -") is None  # noqa: S301


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
        pytest.param(["DD.MM.YY"], "4.3.24", (MARCH_4, False), id="two-digit-year"),
        pytest.param(["DD.MM.YY"], "4.3.2024", None, id="two-digit-year-is-enforced"),
        pytest.param(["DD MMMM YYYY"], "4 March 2024", (MARCH_4, False), id="full-name"),
        pytest.param(["DD MMMM YYYY"], "4 May 2024", (date(2024, 5, 4), False), id="short-full-name"),
        pytest.param(["DD MMMM YYYY"], "4 Mar 2024", None, id="full-name-is-enforced"),
        pytest.param(["DD MMM YYYY"], "4 March 2024", None, id="abbreviation-is-enforced"),
    ],
)  # fmt: skip
def test_formats_are_enforced(formats, text, reading):
    found = read_day(text, parse_formats(formats))
    assert (found and found[:2]) == reading


def test_formats_use_the_words_and_years_of_the_reader():
    reader = DateReader(
        formats=parse_formats(["DD MMM YY"]), words=date_words(("de",)), first_year=1900
    )
    assert reader.read("4 Mär 24") == (date(1924, 3, 4), False, False)
    default = DateReader(formats=parse_formats(["DD MMM YY"]))
    assert default.read("4 Mar 24") == (MARCH_4, False, True)


@pytest.mark.parametrize(
    "formats",
    [
        pytest.param([], id="empty-list"),
        pytest.param("YYYY-MM-DD", id="text-instead-of-a-list"),
        pytest.param(["%Y-%m-%d"], id="another-language-of-formats"),
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
    assert read_day("2024-01-31T23:59:59Z") == (JANUARY_31, False, False)
    assert read_day("2024-01-31") == (JANUARY_31, False, False)
