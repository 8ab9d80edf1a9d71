from __future__ import annotations

from dataclasses import replace

import pytest
from metrics_cells import EXACT_PAIR, STRATEGY_PAIR, block_of

from fieldmark.metrics.averages import MacroMean
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.metrics.summary import AppliedConvention, summarize
from fieldmark.metrics.tally import Tally
from fieldmark.model.outcomes import AttributeTable
from fieldmark.model.rule import Depth, Rules

ITEMS = (("id", "match"), ("items[].price", "match"), ("items[].price", "wrong"))
MISSED = (("id", "omission"), ("items[].price", "extra-key"))


def summary_of(*cases, convention="confusion", **more):
    table = AttributeTable()
    counter = CaseCounter(CONVENTIONS[convention], table)
    tally = Tally(table)
    for fields in cases:
        block = block_of(fields, table)
        tally.add(block, counter.stats(block))
    return summarize(tally, CONVENTIONS[convention], **more)


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
    assert summary.micro.tp == 1
    assert summary.macro.by_case == MacroMean(None, None, None, vacuous=True)
    assert summary.macro_f1_by_attribute == 1.0


def test_run_with_nothing_expected_is_vacuously_perfect():
    macro = summary_of((("a", "null-null"),)).macro
    assert macro.by_attribute == macro.by_case == MacroMean(None, None, 1.0, vacuous=True)


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
    assert summary_of(EXACT_PAIR, rules=Rules(depth=Depth.TOP)).quality.depth is Depth.TOP
    assert summary_of(EXACT_PAIR).quality.accuracy == pytest.approx(1 / 3)
