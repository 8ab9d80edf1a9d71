"""Product pages: precision, recall and F1 as published by the authors of the data.

The ground truth of a field is a list of accepted values, prices are decimal numbers, and a wrong value
is a false positive and a false negative. extruct predicted one SKU that is a single space. The authors
count it as a wrong value, so the rules file sets `empty_blanks: false`.
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


def score(predictions, *options):
    truth = PRODUCTS / "ground-truth.json"
    return scored(truth, predictions, "--rules", RULES, *options)["attributes"]


def assert_published(got, want):
    assert {name: got[name] for name in COUNTS} == {name: want[name] for name in COUNTS}
    assert [got[name] for name in RATES] == pytest.approx(
        [want[name] for name in RATES], abs=1e-12, rel=0
    )


@pytest.fixture(scope="module")
def systems():
    """The authors count an undefined rate of a resample as 0."""
    return {
        name: score(PRODUCTS / "predictions" / f"{name}.json", "--set", "zero=zero")
        for name in PUBLISHED
    }


@pytest.mark.parametrize(
    ("system", "attribute"),
    [(system, attribute) for system, attributes in PUBLISHED.items() for attribute in attributes],
)
def test_metrics_equal_the_published_metrics(systems, system, attribute):
    assert_published(systems[system][attribute], PUBLISHED[system][attribute])


PUBLISHED_DEVIATIONS = [
    (system, attribute, rate)
    for system, attributes in PUBLISHED.items()
    for attribute, metrics in attributes.items()
    for rate in RATES
    if metrics.get(f"{rate}_std") is not None
]


@pytest.mark.parametrize(("system", "attribute", "rate"), PUBLISHED_DEVIATIONS)
def test_bootstrap_deviations_equal_the_published_ones(systems, system, attribute, rate):
    """Both are estimated from 1,000 resamples of 140 pages."""
    found = systems[system][attribute]
    want = PUBLISHED[system][attribute][f"{rate}_std"]
    assert found["deviation"][rate] == pytest.approx(want, abs=0.005)
    low, high = found["interval"][rate]
    assert low <= found[rate] <= high


def test_blank_string_is_an_omission_by_default(tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES.read_text("utf-8").replace("empty_blanks: false", ""), "utf-8")
    sku = scored(
        PRODUCTS / "ground-truth.json", PRODUCTS / "predictions" / "extruct.json", "--rules", rules
    )["attributes"]["sku"]
    assert sku["fp"] == PUBLISHED["extruct"]["sku"]["fp"] - 1
    assert sku["fn"] == PUBLISHED["extruct"]["sku"]["fn"]
