"""Metrics and slices as people read them."""

from __future__ import annotations

from fieldmark.metrics.conventions import CountingOptions
from fieldmark.metrics.headline import HEADLINE_METRICS, QUALITY_METRICS
from fieldmark.report.metric_titles import METRIC_TITLES, rqs_formula, slice_text


def test_every_metric_has_a_title():
    assert METRIC_TITLES.keys() == {*HEADLINE_METRICS, *QUALITY_METRICS}


def test_formula_names_the_maximum_of_the_response_quality_score():
    minus = "\N{MINUS SIGN}"
    assert rqs_formula(CountingOptions()) == (
        f"RQS = 0.45 · accuracy + 0.25 · completeness + 0.15 · safety {minus} 0.15 · hallucination;"
        " at most 0.85"
    )


def test_slice_without_a_value_has_a_name_for_people():
    assert slice_text("vendor", "") == "vendor = (none)"
