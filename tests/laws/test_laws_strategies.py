"""Strategies are values: their options determine whether they are equal and what they show."""

from __future__ import annotations

import pickle
import re
from dataclasses import fields

import pytest

from fieldmark.align.entries import Entries
from fieldmark.align.exact_methods import Key
from fieldmark.align.greedy import Greedy
from fieldmark.align.optimal import Optimal
from fieldmark.compare.auto import Auto
from fieldmark.compare.currency import Currency
from fieldmark.compare.date import DateMatch
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.numeric import Money, NumericTolerance
from fieldmark.compare.partial_date import PartialDate
from fieldmark.compare.providers import Recorded
from fieldmark.compare.semantic import Semantic
from fieldmark.compare.timestamp import Timestamp
from fieldmark.compare.token_sets import Name

STRATEGIES = {
    "auto": lambda: Auto(guards={"numbers": False}),
    "currency": lambda: Currency(currency="eur"),
    "date": lambda: DateMatch(formats={"expected": ["ISO"]}, order="dmy"),
    "date-locales": lambda: DateMatch(formats=["ISO"], locales=["de"]),
    "entries": lambda: Entries(match_fields=("a",), method="optimal"),
    "fuzzy": lambda: Fuzzy(algorithm="token_set", ignore=["accents"]),
    "greedy": lambda: Greedy(threshold=0.25),
    "key": lambda: Key(key=("a", "b")),
    "money": lambda: Money(tolerance=0.5),
    "name": lambda: Name(ignore=["white_space"]),
    "numeric_tolerance": lambda: NumericTolerance(tolerance=0.5, period=360),
    "optimal": lambda: Optimal(match_fields=("a",)),
    "partial_date": lambda: PartialDate(order="dmy", locales=["de"]),
    "recorded": lambda: Recorded(scores=[{"expected": "a", "candidate": "b", "similarity": 0.5}]),
    "semantic": lambda: Semantic(guards={"numbers": False}),
    "timestamp": lambda: Timestamp(two_digit_years=1950),
}


@pytest.mark.parametrize("make", STRATEGIES.values(), ids=STRATEGIES)
def test_strategies_with_the_same_options_are_equal(make):
    one, other = make(), make()
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.parametrize("make", STRATEGIES.values(), ids=STRATEGIES)
def test_strategies_can_be_sent_to_worker_processes(make):
    assert pickle.loads(pickle.dumps(make())) == make()  # noqa: S301


@pytest.mark.parametrize("make", STRATEGIES.values(), ids=STRATEGIES)
def test_strategy_shows_its_options_and_nothing_else(make):
    strategy = make()
    shown = re.findall(r"[(, ](\w+)=", repr(strategy))
    options = [field.name for field in fields(strategy) if field.init]
    assert [name for name in shown if name in options] == options
    assert not [name for name in shown if name.startswith("_")]


@pytest.mark.parametrize("make", STRATEGIES.values(), ids=STRATEGIES)
def test_options_are_given_by_name(make):
    with pytest.raises(TypeError, match="positional argument"):
        type(make())("a")
