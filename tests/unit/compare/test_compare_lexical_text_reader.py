from __future__ import annotations

import pytest

from fieldmark.compare.lexical import tokens
from fieldmark.compare.lexical.text_reader import read_text
from fieldmark.compare.lexical.tokens import Quantity, TextTokenKind, same_value

SAME = [
    pytest.param("1,200", "1200.00", id="thousands"),
    pytest.param("1.234,56 €", "EUR 1234.56", id="european-format"),
    pytest.param("₹ 2,50,000", "250,000 INR", id="indian-format"),
    pytest.param("CHF 1'500.-", "CHF 1500", id="swiss-format"),
    pytest.param("($340.00)", "-$340.00", id="accounting-negative"),
    pytest.param("minus 5 euros", "-5 EUR", id="minus-as-word"),
    pytest.param("1.5k USD", "$1,500", id="thousand-by-letter"),
    pytest.param("2 million", "2,000,000", id="million"),
    pytest.param("twenty-five", "25", id="hyphenated-number-word"),
    pytest.param("one thousand two hundred and five", "1205", id="long-number-word"),
    pytest.param("two and a half percent", "2.5%", id="half"),
    pytest.param("dreizehn", "13", id="german-number-word"),
    pytest.param("cinco", "5", id="spanish-number-word"),
    pytest.param("three quarters", "75 %", id="fraction-as-percent"),
    pytest.param("1/2", "0.5", id="fraction"),
    pytest.param("2½", "2.5", id="mixed-number"),
    pytest.param("3rd", "third", id="ordinal"),
    pytest.param("thirty (30) days", "30 days", id="number-in-words-and-digits"),
    pytest.param("18 months", "1.5 years", id="months-and-years"),
    pytest.param("2 weeks", "14 days", id="weeks-and-days"),
    pytest.param("5 ft 10 in", "5'10\"", id="feet-and-inches"),
    pytest.param("2 hrs 30 min", "2.5 hours", id="hours-and-minutes"),
    pytest.param("1,250 kg", "1.25 metric tons", id="tons"),
    pytest.param("10 lb", "4.54 kg", id="rounded-pounds"),
    pytest.param("98.6 °F", "37 °C", id="temperatures"),
    pytest.param("25 basis points", "0.25%", id="basis-points"),
    pytest.param("3 Mar 2024", "March 3rd, 2024", id="day"),
    pytest.param("10 de abril de 2024", "10/abr/2024", id="portuguese-month"),
    pytest.param("19.04.2024", "2024-04-19", id="day-of-numbers"),
    pytest.param("20240419", "19 April 2024", id="compact-day"),
    pytest.param("February 2024", "01 Feb 2024 - 29 Feb 2024", id="month-as-period"),
    pytest.param("H2 2022", "July-December 2022", id="half-year"),
    pytest.param("second quarter of 2023", "Q2 2023", id="quarter"),
    pytest.param("calendar year 2023", "1 Jan 2023 to 31 Dec 2023", id="year-as-period"),
    pytest.param("noon", "12:00", id="noon"),
    pytest.param("6 p.m.", "18:00", id="hour"),
    pytest.param("11:15 pm", "23:15", id="hour-after-20"),
    pytest.param("INV-2041", "inv2041", id="code"),
    pytest.param("978-3-16-148410-0", "9783161484100", id="digits-in-groups"),
    pytest.param("+1 (212) 555-0187", "212-555-0187", id="telephone-number"),
    pytest.param("XXL", "2X-Large", id="size"),
    pytest.param("purchaser", "buyer", id="synonym"),
    pytest.param("km", "kilometers", id="unit-without-a-number"),
]  # fmt: skip

DIFFERENT = [
    pytest.param("1.5 L", "15 L", id="decimal-point"),
    pytest.param("EUR 1.500", "EUR 1,5", id="thousands-and-decimals"),
    pytest.param("$5", "€5", id="currency"),
    pytest.param("30 days", "1 month", id="month-has-no-fixed-length"),
    pytest.param("5 days", "5 business days", id="business-days"),
    pytest.param("1 inch", "3 cm", id="too-much-rounding"),
    pytest.param("1.000 kg", "1.004 kg", id="no-rounding-without-conversion"),
    pytest.param("3 May 2024", "3 May 2025", id="year"),
    pytest.param("March 2024", "3 March 2024", id="month-is-not-a-day"),
    pytest.param("7:20 PM", "07:20", id="half-of-the-day"),
    pytest.param("2.10.0", "2.1.0", id="version"),
    pytest.param("XL", "L", id="size"),
]  # fmt: skip


def only_value(text):
    values = [token for token in read_text(text) if token.weight >= 1]
    assert len(values) == 1, values
    return values[0]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_equal_values_are_read_as_equal(one, other):
    assert same_value(only_value(one), only_value(other))
    assert same_value(only_value(other), only_value(one))


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_values_are_read_as_different(one, other):
    assert not same_value(only_value(one), only_value(other))


def described_key(key):
    if isinstance(key, Quantity):
        return f"{key.value} {key.measure}".strip()
    if isinstance(key, tuple):
        return " to ".join("-".join(str(part or "?") for part in day) for day in key)
    return str(key)


def described(text):
    """Describe the tokens of a text: `word:weight` or `kind(key or key)`.

    `|` separates segments, and `#` marks the words that name a value.
    """
    words, segment = [], 0
    for token in read_text(text):
        words += ["|"] * (token.segment - segment)
        segment = token.segment
        keys = " or ".join(sorted(map(described_key, token.keys)))
        weight = "" if token.weight == 1 else f":{token.weight:g}"
        word = f"{token.word}{weight}" if token.word else f"{token.kind}({keys})"
        words.append(f"#{word}" if token.label else word)
    return " ".join(words)


READINGS = [
    ("1,200", "number(1200)"),
    ("1.200", "number(1200 or 6/5)"),
    ("1.20", "number(6/5)"),
    ("0.125", "number(1/8)"),
    ("1 200", "number(1) number(200)"),
    ("1 200 EUR", "number(1200 EUR)"),
    ("€ 1.234", "number(1234 EUR)"),
    ("1'500 CHF", "number(1500 CHF)"),
    ("12,34,567", "number(1234567)"),
    ("-5", "number(-5)"),
    ("(340.00)", "number(-340)"),
    ("(EUR 340.00)", "number(-340 EUR)"),
    ("minus 5", "number(-5)"),
    ("3/4", "number(3/4)"),
    ("2 1/2", "number(5/2)"),
    ("2½ kg", "number(5/2 mass)"),
    ("3rd", "number(3)"),
    ("12th", "number(12)"),
    ("98.6 °F", "number(37 celsius or 493/5 fahrenheit)"),
    ("25%", "number(25 percent)"),
    ("5 kg", "number(5 mass)"),
    ("5kg", "number(5 mass)"),
    ("5-kg bag", "number(5 mass) bag"),
    ("5 KG", "number(5 mass)"),
    ("1.5k", "number(1500)"),
    ("2m", "number(2 length or 2000000)"),
    ("2m USD", "number(2000000 USD)"),
    ("2 million", "number(2000000)"),
    ("2 million USD", "number(2000000 USD)"),
    ("USD 1.5M", "number(1500000 USD)"),
    ("EUR 1.5m", "number(1500000 EUR)"),
    ("5 EUR per hour", "number(5 EUR) hourly"),
    ("Rs. 500", "number(500 INR or 500 LKR or 500 MUR or 500 NPR or 500 PKR or 500 SCR)"),
    ("500 kr", "number(500 DKK or 500 EEK or 500 ISK or 500 NOK or 500 SEK)"),
    ("5 in stock", "number(5) availabl"),
    ("5 in", "number(127/1000 length)"),
    ("5 in x 3 in", "number(127/1000 length) number(381/5000 length)"),
    ("5 ft 10 in", "number(889/500 length)"),
    ('6\'2"', "number(4699/2500 length)"),
    ('24"', "number(381/625 length)"),
    ("2 h 30 min", "number(9000 clock)"),
    ("1 year 6 months", "number(18 months)"),
    ("10 x 20 cm", "number(1/10 length or 10) number(1/5 length)"),
    ("6 x 500 ml", "number(3/500 volume or 6) number(1/2 volume)"),
    ("3 to 5 kg", "number(3 mass) to:0 number(5 mass)"),
    ("3-5 kg", "number(3 mass) number(5 mass)"),
    ("3 kg or 5", "number(3 mass) or:0 | number(5 mass)"),
    ("5 and 10 kg", "number(5 mass) and:0 | number(10 mass)"),
    ("5 / 10 kg", "number(1/2 mass)"),
    ("twenty-five", "number(25)"),
    ("twenty one", "number(21)"),
    ("one two", "number(1) number(2)"),
    ("one hundred and five", "number(105)"),
    ("two thousand three hundred", "number(2300)"),
    ("a hundred", "number(100)"),
    ("two and a half", "number(250 percent or 5/2)"),
    ("three quarters", "number(3/4 or 75 percent)"),
    ("half a kg", "number(1/2 mass)"),
    ("a dozen", "a:0 number(12)"),
    ("one third", "number(1/3 or 100/3 percent)"),
    ("third party", "third party"),
    ("twenty second", "number(22)"),
    ("third", "number(3)"),
    ("second quarter of 2023", "date(2023-4-1 to 2023-6-30)"),
    ("five kg", "number(5 mass)"),
    ("two million", "number(2000000)"),
    ("four (4) weeks", "number(2419200 clock)"),
    ("10+ years", "minimum:0.5 number(120 months)"),
    ("10 or less", "maximum:0.5 number(10)"),
    ("net 30", "net:0.12 number(2592000 clock)"),
    ("2/10 net 30", "number(2 percent) discount within:0 number(864000 clock) | net:0.12 number(2592000 clock)"),
    ("<= 5", "maximum:0.5 number(5)"),
    (">= 5", "minimum:0.5 number(5)"),
    ("over 5 kg", "more than:0.5 number(5 mass)"),
    ("about 10", "approximately:0.5 number(10)"),
    ("no. 5", "number:0.12 number(5)"),
    ("every 2 weeks", "biweekly"),
    ("every 3 months", "quarterly"),
    ("per month", "monthly"),
    ("Q8H", "every:0.12 number(28800 clock)"),
    ("2024-03-05", "date(2024-3-5 to 2024-3-5)"),
    ("20240305", "date(2024-3-5 to 2024-3-5)"),
    ("2024-03", "date(2024-3-1 to 2024-3-31)"),
    ("03/2024", "date(2024-3-1 to 2024-3-31)"),
    ("03/04/2024", "date(2024-3-4 to 2024-3-4 or 2024-4-3 to 2024-4-3)"),
    ("03.04.2024", "date(2024-4-3 to 2024-4-3)"),
    ("13/04/2024", "date(2024-4-13 to 2024-4-13)"),
    ("5.3.24", "date(2024-3-5 to 2024-3-5)"),
    ("3 Mar 2024", "date(2024-3-3 to 2024-3-3)"),
    ("3rd of March 2024", "date(2024-3-3 to 2024-3-3)"),
    ("March 3, 2024", "date(2024-3-3 to 2024-3-3)"),
    ("March 3", "date(?-3-3 to ?-3-3)"),
    ("Mar 2024", "date(2024-3-1 to 2024-3-31)"),
    ("March to May 2024", "date(2024-3-1 to 2024-5-31)"),
    ("Q2 2023", "date(2023-4-1 to 2023-6-30)"),
    ("2Q 2023", "date(2023-4-1 to 2023-6-30)"),
    ("2023 Q2", "date(2023-4-1 to 2023-6-30)"),
    ("H1 2023", "date(2023-1-1 to 2023-6-30)"),
    ("2023-H2", "date(2023-7-1 to 2023-12-31)"),
    ("first half of 2023", "date(2023-1-1 to 2023-6-30)"),
    ("calendar year 2023", "date(2023-1-1 to 2023-12-31)"),
    ("3 May 2024 to 5 June 2024", "date(2024-5-3 to 2024-6-5)"),
    ("3 May to 5 June 2024", "date(2024-5-3 to 2024-6-5)"),
    ("3 May 2024 and 5 June 2024", "date(2024-5-3 to 2024-5-3) and:0 | date(2024-6-5 to 2024-6-5)"),
    ("29 Feb", "date(?-2-29 to ?-2-29)"),
    ("30 Feb", "number(30) month 2"),
    ("3 Mar '24", "date(2024-3-3 to 2024-3-3)"),
    ("12:30", "time(750)"),
    ("12:30 am", "time(30)"),
    ("12:30 pm", "time(750)"),
    ("6 p.m.", "time(1080)"),
    ("6.30 uhr", "time(390)"),
    ("noon", "time(720)"),
    ("midnight", "time(0)"),
    ("INV-2041", "code(INV2041)"),
    ("AB12CD", "code(AB12CD)"),
    ("Room 12B", "#room code(12B)"),
    ("978-3-16-148410-0", "code(9783161484100)"),
    ("123-45-6789", "code(123456789)"),
    ("2016-2019", "number(2016) number(2019)"),
    ("1.2.3.4", "code(1234)"),
    ("1.234.567", "number(1234567)"),
    ("+49 89 1234567", "code(49891234567 or 891234567 or 91234567 or 9891234567)"),
    ("(212) 555-0187", "code(2125550187)"),
    ("**** 1234", "mask number(1234)"),
    ("xxxx-xxxx-1234", "mask number(1234)"),
    ("XXL", "2x larg"),
    ("3x large", "3x larg"),
    ("XS", "1x small"),
    ("v2.1.0", "#version:0.12 code(2.1.0)"),
    ("version 2", "version:0.12 number(2)"),
    ("Type II", "type:0.12 number(2)"),
    ("type ii", "type:0.12 ii"),
    ("Section 4.2", "#section:0.12 code(4.2)"),
    ("Chapter XII", "chapter number(12)"),
    ("12345678", "number(12345678 or 12345678)"),
    ("Smith & Sons", "smith | and:0 son:0"),
    ("w/o sugar", "not sugar"),
    ("n/a", "not applicabl"),
    ("AT&T", "at&t"),
    ("don't", "not"),
    ("uninsured", "not insur"),
    ("nonprofit", "not profit"),
    ("under", "under"),
    ("sugar-free", "not sugar"),
    ("installed", "instal"),
    ("stopped", "stop"),
    ("studies", "study"),
    ("boxes", "box"),
    ("buses", "bus"),
    ("classes", "class"),
    ("rolled", "roll"),
    ("rolls", "roll"),
    ("23:15", "time(1395)"),
    ("24:00", "time(1440)"),
    ("2:05 a.m.", "time(125)"),
    ("12:30:45", "time(750)"),
    ("up to 5 days", "maximum:0.5 number(432000 clock)"),
    ("not more than 5", "maximum:0.5 number(5)"),
    ("5 kg or more", "number(5 mass) minimum:0.5"),
    ("at least 5 %", "minimum:0.5 number(5 percent)"),
    ("5 USD", "number(5 USD)"),
    ("CHF 1500.-", "number(1500 CHF)"),
    ("1 1/2 cups", "number(3/2) cup"),
    ("5 (6)", "number(5) | number(6)"),
    ("0,5", "number(1/2)"),
    ("001,234", "number(617/500)"),
    ("1234,567", "number(1234567/1000)"),
    ("1,234,567.89", "number(123456789/100)"),
    ("1.234.567,89", "number(123456789/100)"),
    ("1'234.5", "number(2469/2)"),
    ("twenty-first", "number(21)"),
    ("two hundred twenty one thousand and five", "number(221000) and:0 | number(5)"),
    ("one hundred fifty", "number(150)"),
    ("and five", "and:0 | number(5)"),
    ("hundred", "hundred"),
    ("an hour", "hourly"),
    ("half", "half"),
    ("half of them", "number(1/2 or 50 percent) of:0 them:0"),
    ("half an hour", "number(1800 clock)"),
    ("dozen eggs", "dozen egg"),
    ("two thirds", "number(2/3 or 200/3 percent)"),
    ("one second", "number(1 clock)"),
    ("5 second", "number(5 clock)"),
    ("two and a third", "number(7/3 or 700/3 percent)"),
    ("three and a half kg", "number(7/2 mass)"),
    ("two million euros", "number(2000000 EUR)"),
    ("five m", "number(5 length)"),
    ("Tuesday, 5 March 2024", "tuesday:0.12 | date(2024-3-5 to 2024-3-5)"),
    ("Lot: 7", "#lot number(7)"),
    ("Width: 5 cm", "#width number(1/20 length)"),
    ("Order # 12", "#order:0.12 number(12)"),
    ("Part no. 12", "#part:0.12 number:0.12 number(12)"),
    ("Serial AB-12", "#serial:0.12 code(AB12)"),
    ("one two three AB-12", "number(1) number(2) number(3) code(AB12)"),
    ("HM Revenue & Customs (HMRC)", "hm revenu | and:0 custom"),
    ("WHO", "who"),
    ("Dr. John Smith", "dr:0.1 john smith"),
    ("J. Smith", "j:0.3 smith"),
    ("Mr. Lee", "mr:0.1 lee"),
    ("Acme Ltd.", "acme limited:0.12"),
    ("total", "total"),
    ("John, Mary; Sue", "john | mary | sue"),
    ("a/b", "a:0 | b"),
    ("b and c or d", "b and:0 | c or:0 | d:0"),
    ("Denver CO", "denver co"),
    ("Hauptstr. 5", "hauptstrass number(5)"),
    ("Lindenstr", "lindenstr"),
    ("isn't", "not"),
    ("non-smoking", "not smok"),
    ("underground", "underground"),
    ("unit", "unit"),
    ("install", "instal"),
    ("tell", "tell"),
    ("cancelled", "cancel"),
    ("running", "run"),
    ("passing", "pass"),
    ("falling", "fall"),
    ("bed", "bed"),
    ("thing", "thing"),
    ("singing", "sing"),
    ("companies", "company"),
    ("buzzes", "buzz"),
    ("churches", "church"),
    ("bus", "bus"),
    ("virus", "virus"),
    ("analysis", "analysis"),
    ("pass", "pass"),
    ("gas", "gas"),
    ("we", "we"),
    ("are", "are"),
    ("kg", "mass 1"),
    ("2.5 m2", "number(5/2 area)"),
    ("5b", "code(5B)"),
    ("5 k", "number(5) k"),
    ("5k", "number(5000)"),
    ("5 business days", "number(5 business days)"),
    ("every hour", "hourly"),
    ("each day", "daily"),
    ("every 5 days", "every:0.12 number(432000 clock)"),
    ("XXXX", "xxxx"),
    ("May 2024", "date(2024-5-1 to 2024-5-31)"),
    ("may", "may"),
    ("Dec 2024 to Jan 2024", "date(2024-12-1 to 2024-1-31)"),
    ("fourth quarter 2024", "date(2024-10-1 to 2024-12-31)"),
    ("skill", "skill"),
    ("1234567", "number(1234567 or 1234567)"),
    ("123456", "number(123456)"),
    ("Feb 2023", "date(2023-2-1 to 2023-2-28)"),
    ("Feb 2024", "date(2024-2-1 to 2024-2-29)"),
    ("5in", "number(127/1000 length)"),
    ("every 12 months", "annual"),
    ("every 6 months", "semiannual"),
    ("every month", "monthly"),
    ("every 14 days", "biweekly"),
    ("per week", "weekly"),
    ("every 24 hours", "daily"),
    ("every 60 minutes", "hourly"),
    ("every 2", "every:0.12 number(2)"),
    ("5k kg", "number(5000 mass)"),
    ("2 million kg", "number(2000000 mass)"),
    ("2k m", "number(2000 length)"),
    ("under 5", "less than:0.5 number(5)"),
    ("nearly 5", "approximately:0.5 number(5)"),
    ("over", "over"),
    ("Chapter 5", "chapter number(5)"),
    ("art. IV", "art number(4)"),
    ("1Q2024", "date(2024-1-1 to 2024-3-31)"),
    ("5 dozen", "number(60)"),
    ("5.000 EUR", "number(5000 EUR)"),
    ("5.000", "number(5 or 5000)"),
    ("5 - 10 USD", "number(5 USD) number(10 USD)"),
    ("3 x 4 x 5 cm", "number(3 or 3/100 length) number(1/25 length or 4) number(1/20 length)"),
    ("3 by 4 m", "number(3 length) by:0 number(4 length)"),
    ("from 3 May to 5 May", "from:0 date(?-5-3 to ?-5-5)"),
    ("May - June 2024", "date(2024-5-1 to 2024-6-30)"),
    ("5 lb 3 oz", "number(3764816671/1600000000 mass)"),
    ("2 km 300 m", "number(2300 length)"),
    ("1.5 h 20 min", "number(6600 clock)"),
]  # fmt: skip
"""Quantities are in seconds, months, metres, kilograms and cubic metres, times in minutes."""


@pytest.mark.parametrize(("text", "reading"), READINGS)
def test_values_and_words_of_a_text(text, reading):
    assert described(text) == reading


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("Acme Corp.", ["acme", "corporation"], id="company-form"),
        pytest.param("sold without batteries", ["sold", "not", "battery"], id="negation"),
        pytest.param("exclude", ["not", "includ"], id="negation-in-a-word"),
        pytest.param("uninsured", ["not", "insur"], id="negation-by-prefix"),
        pytest.param("United Nations", ["united", "nation"], id="prefix-without-negation"),
        pytest.param("it shall not exceed", ["it", "maximum"], id="bound"),
        pytest.param("World Health Organization (WHO)", ["world", "health", "organization"], id="acronym-beside-its-words"),
        pytest.param("sugar-free", ["not", "sugar"], id="free-of"),
    ],
)  # fmt: skip
def test_words_are_replaced_with_what_they_stand_for(text, words):
    assert [token.word for token in read_text(text) if token.word != "shall"] == words


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        pytest.param(
            "5 in boxes",
            [TextTokenKind.NUMBER, TextTokenKind.WORD, TextTokenKind.WORD],
            id="preposition-is-no-unit",
        ),
        pytest.param("may apply", [TextTokenKind.WORD, TextTokenKind.WORD], id="verb-is-no-month"),
        pytest.param("10 - 12", [TextTokenKind.NUMBER, TextTokenKind.NUMBER], id="range"),
        pytest.param(
            "2016-2019", [TextTokenKind.NUMBER, TextTokenKind.NUMBER], id="range-of-years"
        ),
        pytest.param("Room 12B", [TextTokenKind.WORD, TextTokenKind.CODE], id="code-with-a-letter"),
        pytest.param("", [], id="nothing"),
        pytest.param("!?", [], id="marks"),
    ],
)
def test_kinds_of_tokens(text, kinds):
    assert [token.kind for token in read_text(text)] == kinds


@pytest.mark.parametrize("text", ["x" * 9_000, "*" * 9_000, "1 " * 4_500, "1-" * 4_500, "a," * 4_500,
                                  "AB " * 3_000, "1" + " " * 9_000 + "x", "(" * 9_000, "\u6f22" * 9_000])  # fmt: skip
def test_hostile_text_is_read_in_reasonable_time(text):
    assert read_text(text) == read_text(text)


def test_amounts_of_many_currencies_are_compared_by_their_keys_only():
    """Otherwise, two texts with a hundred amounts would have a million pairs of quantities."""
    (amount,) = read_text("$1,240.00")
    assert len(amount.keys) > 10
    assert tokens._irregular(amount.keys) == ()


def test_short_word_in_capitals_may_be_a_code_with_another_meaning():
    assert [token.word for token in read_text("Denver CO")] == ["denver", "co"]
    assert "co" not in [token.word for token in read_text("Acme co")]
