from __future__ import annotations

from dataclasses import replace

import pytest
from metrics_cells import EXACT_PAIR, STRATEGY_PAIR, tally_of

from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.metrics.counts import ErrorCounts
from fieldmark.metrics.rates import MacroMean
from fieldmark.metrics.summary import (
    NO_USAGE,
    AppliedConvention,
    AttributeSummary,
    applied_convention,
    case_sort_key,
    summarize,
    total_usage,
    worst_attributes,
)
from fieldmark.model.rule import Depth, Rules

ITEMS = (("id", "match"), ("items[].price", "match"), ("items[].price", "wrong"))
MISSED = (("id", "omission"), ("items[].price", "extra-key"))


def summary_of(*cases, convention="confusion", **more):
    return summarize(tally_of(*cases, convention=convention), CONVENTIONS[convention], **more)


@pytest.mark.parametrize(
    ("change", "comparable"),
    [
        pytest.param({}, True, id="same"),
        pytest.param({"options": {"depth": "top"}}, True, id="hashes-stand-for-options"),
        pytest.param({"version": 3}, False, id="another-version"),
        pytest.param({"comparison_sha256": "x"}, False, id="another-comparison"),
        pytest.param({"counting_sha256": "x"}, False, id="another-counting"),
    ],
)
def test_comparable_conventions(change, comparable):
    convention = AppliedConvention(
        name="confusion", version=2, options={}, comparison_sha256="a", counting_sha256="b"
    )
    assert convention.is_comparable(replace(convention, **change)) is comparable


def test_both_macro_means():
    summary = summary_of(ITEMS, MISSED)
    assert summary.macro_f1_by_attribute == pytest.approx((2 / 3 + 0.4) / 2)
    assert summary.macro_f1_by_case == pytest.approx((2 / 3 + 0.0) / 2)
    assert summary.mean_score == pytest.approx(((1 + 0.5) / 2 + 0.0) / 2)
    assert summary.macro.by_case.precision == pytest.approx((2 / 3 + 0.0) / 2)


def test_primary_score_of_a_taxonomy_is_the_mean_by_case():
    summary = summary_of(ITEMS, MISSED, (("id", "null-null"),), convention="taxonomy")
    assert summary.mean_score == summary.macro_f1_by_case == pytest.approx(2 / 9)


def test_errors_are_counted_separately():
    summary = summary_of((("a", "error"), ("b", "match")))
    assert summary.attributes["a"].errors == 1
    assert summary.attributes["a"].accuracy is None
    assert summary.mean_score is None
    assert summary.micro.tp == 0
    assert summary.macro.by_case == MacroMean(None, None, None, vacuous=True)
    assert summary.macro_f1_by_attribute is None
    assert summary.quality[:5] == (None,) * 5
    assert (summary.bounds.failed, summary.bounds.of) == (1, 1)
    assert summary.bounds.of_metric("micro_f1") == (0.5, 1.0)
    assert summary.bounds.of_metric("accuracy") == (0.5, 1.0)
    assert summary.bounds.of_attribute("a", "f1") == (0.0, 1.0)
    assert summary.bounds.of_attribute("b", "f1") == (1.0, 1.0)


def test_run_with_nothing_expected_is_vacuously_perfect():
    macro = summary_of((("a", "null-null"),)).macro
    assert macro.by_attribute == macro.by_case == MacroMean(None, None, 1.0, vacuous=True)


NOTHING = (("a", "null-null"),)
MEANS = {"mean_score", "macro_f1_by_attribute", "macro_f1_by_case"}


@pytest.mark.parametrize(
    ("cases", "convention", "flags"),
    [
        pytest.param([(("a", "match"),), NOTHING], "taxonomy", set(), id="something-compared"),
        pytest.param([NOTHING], "taxonomy", {*MEANS, "micro_f1"}, id="zero-for-nothing"),
        pytest.param([NOTHING], "confusion", MEANS, id="one-for-nothing-and-no-micro-f1"),
        pytest.param([NOTHING, (("a", "error"), ("b", "match"))], "confusion", MEANS, id="failed-case-is-left-out"),
    ],
)  # fmt: skip
def test_headline_metrics_with_nothing_behind_them_are_flagged(cases, convention, flags):
    summary = summary_of(*cases, convention=convention)
    assert summary.flags.keys() & summary.headline.keys() == flags


def test_run_without_a_scored_case_has_no_score():
    summary = summary_of()
    assert (summary.macro_f1_by_attribute, summary.macro_f1_by_case) == (None, None)
    assert summary.mean_score is None


def test_quality_pools_the_keys_of_all_cases():
    quality = summary_of(STRATEGY_PAIR, STRATEGY_PAIR, convention="four_phase").quality
    assert quality.rqs == pytest.approx(0.7375, abs=1e-9)
    assert quality.buckets.gt_non_null == 8
    assert quality.depth is Depth.TOP


def test_every_convention_reports_quality_of_its_own_fields():
    assert summary_of(EXACT_PAIR).quality.depth is Depth.LEAF
    by_key = applied_convention(CONVENTIONS["confusion"], Rules(depth=Depth.TOP))
    assert summary_of(EXACT_PAIR, applied=by_key).quality.depth is Depth.TOP
    assert by_key.options["depth"] == "top"
    assert summary_of(EXACT_PAIR).quality.accuracy == pytest.approx(1 / 3)


def test_means_over_groups_are_those_of_slices_with_a_value():
    slices = {
        "fold=1": summary_of((("a", "match"),)),
        "fold=2": summary_of((("a", "wrong"),)),
        "fold=3": summary_of((("a", "null-null"),)),  # nothing to score, so it is in no mean
        "fold=": summary_of((("a", "wrong"),)),
        "fold=x=7": summary_of((("a", "match"),)),
    }
    summary = replace(summary_of(), by=("fold", "fold=x"), slices=slices)
    assert {key: list(values) for key, values in summary.slice_groups().items()} == {
        "fold": ["1", "2", "3", ""],
        "fold=x": ["7"],
    }
    fold, other = summary.group_means().values()
    assert (fold.slices, fold.mean["mean_score"]) == (3, 0.5)
    assert fold.deviation["mean_score"] == pytest.approx(0.5**0.5)
    assert (other.slices, other.mean["mean_score"], "mean_score" in other.deviation) == (
        1,
        1,
        False,
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(("b", 0.2, 1, 0), ("a", 0.5, 9, 0), id="lower-f1-comes-first"),
        pytest.param(("b", 0.5, 3, 0), ("a", 0.5, 2, 0), id="then-more-mistakes"),
        pytest.param(("a", 0.5, 2, 0), ("b", 0.5, 2, 0), id="then-the-path"),
        pytest.param(("b", 0.0, 1, 0), ("a", 0.1, 1, 0), id="nothing-matched-is-worst"),
        pytest.param(("b", None, 1, 0), ("a", 0.1, 1, 0), id="undefined-with-mistakes-is-worst"),
        pytest.param(("b", None, 0, 1), ("a", 0.1, 1, 0), id="undefined-with-errors-is-worst"),
        pytest.param(
            ("b", 0.7375, 3, 0), ("a", 0.7374999999999999, 2, 0), id="float-noise-is-a-tie"
        ),
    ],
)
def test_order_of_attributes(first, second):
    found = dict(attribute(*row) for row in (second, first))
    assert [path for path, _ in worst_attributes(found)] == [first[0], second[0]]


@pytest.mark.parametrize("f1", [None, 0.0])
def test_attribute_with_nothing_to_count_comes_last(f1):
    nothing = attribute("a", f1, 0, 0, tp=0)
    perfect = attribute("b", 1.0, 0, 0)
    assert [path for path, _ in worst_attributes(dict([nothing, perfect]))] == ["b", "a"]


def attribute(path, f1, mistakes, errors, *, tp=1):
    """Return an attribute with more false positives, the fewer mistakes it has."""
    return path, AttributeSummary(
        tp=tp, tn=0, fp=tp * (9 - mistakes), fn=0, precision=None, recall=None, f1=f1, accuracy=None,
        errors=errors, errors_by_type=ErrorCounts(wrong_value=mistakes),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param((0.2, 1, 7), (0.5, 9, 0), id="lower-score-comes-first"),
        pytest.param((0.5, 3, 7), (0.5, 2, 0), id="then-more-mistakes"),
        pytest.param((0.5, 2, 0), (0.5, 2, 7), id="then-the-order-of-the-run"),
        pytest.param((None, 0, 7), (0.0, 9, 0), id="no-score-is-worst"),
        pytest.param((0.7375, 2, 0), (0.7374999999999999, 2, 7), id="float-noise-is-a-tie"),
    ],
)
def test_order_of_cases(first, second):
    assert case_sort_key(*first) < case_sort_key(*second)


OPENAI = {
    "name": "openai",
    "model": "m",
    "calls": 2,
    "input_tokens": 80,
    "cost": 0.5,
    "seconds": 1.5,
}
LOCAL = {
    "name": "local",
    "model": "n",
    "calls": 1,
    "output_tokens": 9,
    "cost": None,
    "seconds": 0.5,
}


@pytest.mark.parametrize(
    ("providers", "totals"),
    [
        pytest.param([], (0, 0, 0, 0, 0.0, 0.0), id="no-providers-cost-nothing"),
        pytest.param([OPENAI, OPENAI], (4, 160, 0, 0, 1.0, 3.0), id="usage-is-added"),
        pytest.param(
            [OPENAI, LOCAL], (3, 80, 9, 0, None, 2.0), id="one-unknown-cost-makes-the-total-unknown"
        ),
        pytest.param(
            [{"estimated_calls": 3}], (0, 0, 0, 3, None, None), id="missing-cost-is-unknown"
        ),
    ],
)
def test_totals_over_providers(providers, totals):
    names = ("calls", "input_tokens", "output_tokens", "estimated_calls", "cost", "seconds")
    assert total_usage(providers) == {**dict(zip(names, totals, strict=True)), "asked": providers}


def test_empty_usage_has_all_keys():
    assert total_usage([]) == NO_USAGE
