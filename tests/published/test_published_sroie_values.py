"""Dates and totals of real receipts are read as printed."""

from __future__ import annotations

import csv
import re
from collections import Counter
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from dateutil import parser

from fieldmark.values.dates import DateOrder, DateReader, read_day
from fieldmark.values.numbers import NumberFormat, read_amount

HOME = Path(__file__).parents[1] / "data" / "sroie-receipts"
UNREAD = {
    "12/28/2017": "the month is first",
    "12/13/2016": "the month is first",
    "(06/12/2016)": "in parentheses",
}


@pytest.fixture(scope="module")
def receipts():
    with (HOME / "receipts.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_every_date_is_read_day_first_or_listed_with_the_reason(receipts):
    reader = DateReader(order=DateOrder.DMY)
    readings = {row["date"]: reader.read(row["date"]) for row in receipts}
    unread = Counter(row["date"] for row in receipts if readings[row["date"]] is None)
    assert len(receipts) == 626
    assert unread == dict.fromkeys(UNREAD, 1)
    assert not any(reading.ambiguous for reading in readings.values() if reading)


def test_days_are_those_of_dateutil(receipts):
    reader = DateReader(order=DateOrder.DMY)
    for text in {row["date"] for row in receipts} - set(UNREAD):
        # dateutil reads 2018-03-05 day first too, and knows no DDMMYYYY.
        day_first = not re.match(r"[0-9]{4}", text)
        if text == "25032018":
            continue
        days = {
            parser.parse(text, dayfirst=day_first, default=datetime(year, 1, 1)).date()  # noqa: DTZ001
            for year in (2001, 2002)
        }
        assert days == {reader.read(text).day}, text


def test_without_an_order_impossible_dates_are_read_and_ambiguous_ones_flagged(receipts):
    readings = [read_day(row["date"]) for row in receipts]
    flags = Counter("unread" if each is None else each.ambiguous for each in readings)
    assert flags["unread"] == 2  # one in parentheses, one of eight digits with the day first


def test_sum_of_all_totals(receipts):
    texts = [row["total"] for row in receipts if row["total"]]
    amounts = [read_amount(text, NumberFormat.US) for text in texts]
    assert len(amounts) == 625
    total = sum(amount.number for amount in amounts)
    assert total == sum(Decimal(re.sub(r"[^0-9.-]", "", text)) for text in texts)
    currencies = Counter(
        "MYR" if amount.currencies == {"MYR"} else "$" if amount.currencies else "none"
        for amount in amounts
    )
    assert total == Decimal("43359.38")
    assert currencies == {"none": 538, "MYR": 55, "$": 32}
