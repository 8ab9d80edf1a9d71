"""The provider `lexical` on labelled pairs of field values.

The half that it was not tuned on measures its quality. Opposites, units and numbers that differ
never match, in tables of their own.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fieldmark.compare.semantic import Semantic

DATA = Path(__file__).resolve().parent.parent / "data" / "meaning"
MIN_ACCURACY = 0.75
MIN_PRECISION = 0.85


def read_pairs(name):
    lines = (DATA / name).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def verdicts(pairs):
    semantic = Semantic()
    return [
        (semantic.compare(pair["expected"], pair["candidate"]).matched, pair["label"])
        for pair in pairs
    ]


def accuracy(found):
    return sum(matched == label for matched, label in found) / len(found)


def precision(found):
    labels = [label for matched, label in found if matched]
    return sum(labels) / len(labels)


def test_unseen_pairs_are_judged_well():
    found = verdicts(read_pairs("held_out.jsonl"))
    assert accuracy(found) >= MIN_ACCURACY
    assert precision(found) >= MIN_PRECISION


def test_pairs_for_tuning_are_judged_better():
    found = verdicts(read_pairs("tune.jsonl"))
    assert accuracy(found) >= 0.90
    assert precision(found) >= 0.97


def test_no_pair_is_in_both_halves():
    tuned, unseen = (
        {(pair["expected"], pair["candidate"]) for pair in read_pairs(name)}
        for name in ("tune.jsonl", "held_out.jsonl")
    )
    assert tuned.isdisjoint(unseen)


NUMBERS = [
    ("5 years", "6 years"),
    ("fifteen days", "fifty days"),
    ("thirteen", "thirty"),
    ("one hundred units", "one thousand units"),
    ("1.5 million", "1.5 billion"),
    ("$1,200.00", "$1,200.10"),
    ("-$50", "$50"),
    ("5 %", "0.5 %"),
    ("1/2", "1/3"),
    ("2nd floor", "3rd floor"),
    ("net 30", "net 60"),
    ("5-7 days", "5-9 days"),
    ("Q1 2024", "Q2 2024"),
    ("3 May 2024", "3 May 2025"),
    ("8:15 am", "8:15 pm"),
    ("Type I", "Type II"),
    ("Section 4.1", "Section 4.10"),
    ("v1.2", "v1.20"),
    ("EUR 500", "USD 500"),
    ("No. 18, Elm Road", "No. 81, Elm Road"),
]
UNITS = [
    ("5 kg", "5 lb"),
    ("5 kg", "5 g"),
    ("10 days", "10 weeks"),
    ("10 days", "10 business days"),
    ("100 km", "100 miles"),
    ("20 °C", "20 °F"),
    ("12 V", "12 W"),
    ("8 GB", "8 TB"),
    ("5 %", "5 percentage points"),
    ("80 m²", "80 m"),
    ("1 gallon", "1 liter"),
    ("$9 per month", "$9 per year"),
    ("$9 each", "$9 per dozen"),
    ("60 minutes", "60 seconds"),
    ("S", "L"),
    ("XL", "XXL"),
    ("Shirt, size M", "Shirt, size S"),
]
OPPOSITES = [
    ("tax included", "tax excluded"),
    ("prices include delivery", "prices exclude delivery"),
    ("subletting is permitted", "subletting is prohibited"),
    ("parking is allowed", "parking is forbidden"),
    ("paid by the buyer", "paid by the seller"),
    ("the landlord is liable", "the tenant is liable"),
    ("lessor", "lessee"),
    ("employer", "employee"),
    ("licensor", "licensee"),
    ("payer", "payee"),
    ("north entrance", "south entrance"),
    ("eastbound", "westbound"),
    ("left knee", "right knee"),
    ("inbound freight", "outbound freight"),
    ("import license", "export license"),
    ("minimum of 10 seats", "maximum of 10 seats"),
    ("at least 10 seats", "at most 10 seats"),
    ("more than 10 seats", "less than 10 seats"),
    ("before delivery", "after delivery"),
    ("with sugar", "without sugar"),
    ("sugar-free tea", "tea with sugar"),
    ("refundable", "non-refundable"),
    ("eligible", "ineligible"),
    ("licensed driver", "unlicensed driver"),
    ("approved", "rejected"),
    ("passed", "failed"),
    ("active", "inactive"),
    ("credit note", "debit note"),
    ("gross weight", "net weight"),
    ("fixed rate", "variable rate"),
    ("in advance", "in arrears"),
    ("interior lights", "exterior lights"),
    ("junior analyst", "senior analyst"),
    ("full-time", "part-time"),
    ("The Bank pays the Fund", "The Fund pays the Bank"),
    ("from Oslo to Rome", "from Rome to Oslo"),
    ("20% now, 80% later", "80% now, 20% later"),
    ("Käufer", "Verkäufer"),
    ("mit Steuer", "ohne Steuer"),
]


@pytest.mark.parametrize(
    ("expected", "candidate"),
    [
        pytest.param(*pair, id=f"{name}-{pair[0]}-{pair[1]}")
        for name, pairs in (("numbers", NUMBERS), ("units", UNITS), ("opposites", OPPOSITES))
        for pair in pairs
    ],
)
def test_different_numbers_units_and_opposites_never_match(expected, candidate):
    semantic = Semantic()
    for one, other in ((expected, candidate), (candidate, expected)):
        assert not semantic.compare(one, other).matched
    long, longer = (
        f"It was agreed in writing by all parties: {text}" for text in (expected, candidate)
    )
    assert not semantic.compare(long, longer).matched
