"""Values are read as Babel, dateutil and phonenumbers read and write them."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import phonenumbers
import pytest
from babel import Locale
from babel.dates import format_date
from babel.numbers import format_currency, format_decimal, parse_decimal
from dateutil import parser
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.compare.numeric import Money
from fieldmark.compare.phone import Phone
from fieldmark.values.dates import DateOrder, DateReader, date_words
from fieldmark.values.numbers import NumberFormat, as_number, read_amount

LANGUAGES = (
    "ar", "bg", "bn", "ca", "cs", "da", "de", "el", "en", "es", "et", "fa", "fi", "fil", "fr", "gl",
    "he", "hi", "hr", "hu", "hy", "id", "is", "it", "ja", "ka", "kk", "km", "ko", "ky", "lo", "lt",
    "lv", "mk", "ml", "mr", "ms", "my", "nb", "ne", "nl", "pa", "pl", "pt", "ro", "ru", "si", "sk",
    "sl", "sq", "sr", "sv", "sw", "ta", "te", "tr", "uk", "ur", "uz", "vi", "zh", "zu",
)  # fmt: skip
WINDOW = st.dates(date(1000, 1, 1), date(9999, 12, 31))
amounts = st.decimals(
    min_value=0, max_value=10**12, places=2, allow_nan=False, allow_infinity=False
)


@pytest.mark.parametrize("length", ["long", "full", "medium"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_dates_of_cldr_are_read_in_their_language(language, length):
    locale = Locale.parse(language)
    reader = DateReader(words=date_words((language,)), order=DateOrder.DMY)
    for month in range(1, 13):
        for number in (1, 25):
            day = date(2018, month, number)
            text = format_date(day, length, locale=locale)
            reading = reader.read(text)
            assert reading is not None, text
            assert reading.day == day, text


ENGLISH = (
    "%d %B %Y", "%d %b %Y", "%d-%b-%Y", "%d/%b/%Y", "%d%b%Y", "%B %d, %Y", "%b %d %Y", "%b. %d, %Y",
    "%A, %d %B %Y", "%a %d %b %Y", "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%Y-%b-%d",
    "%Y-%m-%dT%H:%M:%S", "%a, %d %b %Y %H:%M:%S", "%d %B %Y %I:%M %p", "%d %B %Y, %H:%M",
)  # fmt: skip


@pytest.mark.parametrize("form", ENGLISH)
@given(day=st.datetimes(datetime(1970, 1, 1), datetime(2068, 12, 31)))  # noqa: DTZ001
def test_dates_with_one_meaning_are_those_of_dateutil(form, day):
    text = day.strftime(form)
    reading = DateReader().read(text)
    assert reading == (day.date(), False, False)
    assert parser.parse(text).date() == reading.day


@pytest.mark.parametrize("mark", ["/", "-", "."])
@pytest.mark.parametrize(("order", "form"), [("dmy", "%d{0}%m{0}%Y"), ("mdy", "%m{0}%d{0}%Y")])
@given(day=WINDOW)
def test_dates_of_numbers_are_those_of_dateutil(order, form, mark, day):
    text = day.strftime(form.format(mark))
    if len(text) < 10:  # strftime writes no zeros before years
        return
    reading = DateReader(order=DateOrder(order)).read(text)
    assert reading == (day, False, False)
    assert parser.parse(text, dayfirst=order == "dmy").date() == day


@pytest.mark.parametrize(
    "text",
    ["31 February 2024", "2023-02-29", "31/04/2024", "32 Jan 2024", "Jan 0, 2024"],
)
def test_days_that_dateutil_does_not_know_are_not_read(text):
    assert DateReader(order=DateOrder.DMY).read(text) is None
    with pytest.raises(parser.ParserError):
        parser.parse(text, dayfirst=True)


@pytest.mark.parametrize(
    ("number_format", "language"),
    [("us", "en_US"), ("eu", "de_DE"), ("eu", "fr_FR"), ("ch", "de_CH"), ("in", "en_IN"), ("in", "hi_IN")],
)  # fmt: skip
@given(number=amounts)
def test_numbers_are_read_as_cldr_writes_them(number_format, language, number):
    for negative in (number, -number):
        text = format_decimal(negative, format=None, locale=language)
        assert as_number(text, NumberFormat(number_format)) == negative
        assert parse_decimal(text, locale=language, strict=True) == negative


@pytest.mark.parametrize("code", ["USD", "EUR", "MYR", "GBP", "JPY", "CHF", "INR", "SEK", "BRL", "PLN", "CZK", "ZAR", "KRW"])  # fmt: skip
@pytest.mark.parametrize(
    ("number_format", "language"),
    [("us", "en_US"), ("us", "ms_MY"), ("eu", "de_DE"), ("eu", "fr_FR"), ("eu", "pl_PL"), ("eu", "sv_SE"), ("in", "en_IN")],
)  # fmt: skip
def test_money_is_read_as_cldr_writes_it(number_format, language, code):
    for number in (Decimal("1234567.00"), Decimal("-12.00"), Decimal(0)):
        text = format_currency(number, code, locale=language)
        amount = read_amount(text, NumberFormat(number_format))
        assert amount is not None, text
        assert amount.number == number, text
        assert code in amount.currencies, text
        assert (
            Money(number_format=number_format, currency=code).compare(float(number), text).matched
        )


FORMATS = (
    phonenumbers.PhoneNumberFormat.E164,
    phonenumbers.PhoneNumberFormat.INTERNATIONAL,
    phonenumbers.PhoneNumberFormat.NATIONAL,
    phonenumbers.PhoneNumberFormat.RFC3966,
)


@pytest.mark.parametrize("region", sorted(phonenumbers.SUPPORTED_REGIONS))
def test_example_numbers_of_every_country_match_in_every_notation(region):
    number = phonenumbers.example_number(region)
    texts = [phonenumbers.format_number(number, form) for form in FORMATS]
    comparator = Phone(region=region)
    assert all(comparator.compare(texts[0], text).matched for text in texts), texts
