"""A run in which nothing was scored passes no gate."""

from __future__ import annotations

import pytest

import fieldmark as fm

PAIR = [({"total": 5}, {"total": 5})]


@pytest.mark.parametrize(
    "figure", ["macro_f1_by_attribute", "macro_f1_by_case", "mean_score", "micro.f1", "rqs"]
)
@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({"rules": {"scope": "configured", "fields": [{"path": "totl"}]}}, id="typo"),
        pytest.param({"match": "ignore"}, id="everything-ignored"),
    ],
)
def test_a_perfect_figure_over_nothing_passes_no_gate(asked, figure):
    run = fm.score(PAIR, at_least={figure: 0.5}, **asked)
    assert not run.passed
    assert run.summary.gates[0].note in ("nothing was scored", "undefined")


def test_a_run_that_scored_something_passes():
    assert fm.score(PAIR, at_least={"macro_f1_by_attribute": 1, "mean_score": 1}).passed


def test_only_configured_fields_and_none_configured_is_refused():
    with pytest.raises(fm.FieldmarkError, match="there are none"):
        fm.score(PAIR, scope="configured")


def test_the_stamp_says_what_was_used():
    options = fm.score(PAIR, scope="truth", match="fuzzy", align="index").summary.convention.options
    assert (options["scope"], options["comparator"], options["aligner"]) == (
        "truth",
        "fuzzy",
        "index",
    )


def test_a_case_scores_by_attribute_whatever_places_rules_name():
    expected = {"rows": [{"a": 1}, {"a": 2}, {"a": 3}]}
    candidate = {"rows": [{"a": 1}, {"a": 2}, {"a": 4}]}
    rules = {"rows[0].a": {"match": "exact", "weight": 2}, "rows": {"align": "index"}}
    assert fm.compare(expected, candidate, rules=rules).score == pytest.approx(2 / 3)
