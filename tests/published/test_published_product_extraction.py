"""Product pages: precision, recall and F1 as the authors of the data published them.

The truth of a field is a list of right answers, prices are decimal numbers, and a wrong value is a
false positive and a false negative. One thing is read otherwise here: text of blanks only is empty.
One SKU that extruct found is a single blank; for the authors that is a wrong value, here it is an
omission, and one false positive less.
"""

from __future__ import annotations

import json

import pytest

from published.command_line import DATA, EXAMPLES, scored

PRODUCTS = DATA / "product-extraction"
RULES = EXAMPLES / "product-extraction.yaml"
PUBLISHED = json.loads((PRODUCTS / "published_metrics.json").read_text("utf-8"))
COUNTS = ("tp", "tn", "fp", "fn")
RATES = ("precision", "recall", "f1")
BLANK_SKU = "c9f80eb2d0f97dc954bc265169737c1c156b5ec027fbe62994f2018c1e0f67ed"


def score(predictions):
    return scored(PRODUCTS / "ground-truth.json", predictions, "--rules", RULES)["attributes"]


def assert_published(got, want):
    assert {name: got[name] for name in COUNTS} == {name: want[name] for name in COUNTS}
    assert [got[name] for name in RATES] == pytest.approx(
        [want[name] for name in RATES], abs=1e-12, rel=0
    )


@pytest.fixture(scope="module")
def systems():
    return {name: score(PRODUCTS / "predictions" / f"{name}.json") for name in PUBLISHED}


@pytest.mark.parametrize(
    ("system", "attribute"),
    [
        (system, attribute)
        for system, attributes in PUBLISHED.items()
        for attribute in attributes
        if (system, attribute) != ("extruct", "sku")  # has the blank: see below
    ],
)
def test_the_published_figures_are_met(systems, system, attribute):
    assert_published(systems[system][attribute], PUBLISHED[system][attribute])


def test_a_blank_text_is_an_omission_and_all_else_is_as_published(tmp_path):
    found = json.loads((PRODUCTS / "predictions" / "extruct.json").read_text("utf-8"))
    assert found[BLANK_SKU]["sku"] == " "
    want = PUBLISHED["extruct"]["sku"]

    blank = score(PRODUCTS / "predictions" / "extruct.json")["sku"]
    assert blank == {**blank, "tp": want["tp"], "fn": want["fn"], "fp": want["fp"] - 1}

    found[BLANK_SKU]["sku"] = "?"
    told = tmp_path / "extruct.json"
    told.write_text(json.dumps(found), "utf-8")
    assert_published(score(told)["sku"], want)
