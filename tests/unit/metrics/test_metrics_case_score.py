from __future__ import annotations

import pytest
from metrics_cells import EXACT_PAIR, FACTS_BY_WORD, block_of

from fieldmark.metrics import case_score
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.model.case import Verdict
from fieldmark.model.comparison import Comparison
from fieldmark.model.outcome import CELL_BITS, Reason
from fieldmark.model.outcomes import Attribute, AttributeTable, Outcomes
from pure_python import with_and_without_kernel

__all__ = ["with_and_without_kernel"]
PASS, PARTIAL, FAIL = Verdict


def stats_of(convention, fields, *, options=None, comparisons=None, **reading):
    table = AttributeTable()
    block = block_of(fields, table, comparisons)
    counter = CaseCounter(CONVENTIONS[convention].with_options(options or {}), table)
    return counter.stats(block, **reading)


def weighted(*fields, options=None, scores=None, **reading):
    """Return the field accuracy of fields given as (fact name, weight, required)."""
    table = AttributeTable()
    cells = []
    for number, (word, weight, required) in enumerate(fields):
        attribute = Attribute(
            path=f"f{number}", comparator="exact", weight=weight, required=required
        )
        cells.append(table.add(attribute) << CELL_BITS | FACTS_BY_WORD[word])
    block = Outcomes(cells=cells, comparisons=dict(scores or {}))
    convention = CONVENTIONS["field_accuracy"].with_options(options or {})
    return CaseCounter(convention, table).stats(block, **reading)


@pytest.mark.parametrize(
    ("fields", "score", "vacuous"),
    [
        pytest.param([("a", "match"), ("b", "wrong")], 0.5, False, id="mean-over-attributes"),
        pytest.param([("i[].x", "match"), ("i[].x", "wrong")], 0.5, False, id="items-are-pooled"),
        pytest.param([("a", "null-null")], 1.0, True, id="only-negatives"),
        pytest.param([], 1.0, True, id="no-fields"),
    ],
)
def test_confusion_scores_macro_f1_by_attribute(fields, score, vacuous):
    stats = stats_of("confusion", fields)
    assert (stats.score, stats.vacuous) == (score, vacuous)


@pytest.mark.parametrize("f1_when_no_match", ["zero", "undefined"])
@pytest.mark.parametrize("zero", ["zero", "undefined"])
@pytest.mark.parametrize(
    ("word", "score"),
    [
        pytest.param("null-null", None, id="nothing-to-count"),
        pytest.param("omission", 0.0, id="one-missing"),
        pytest.param("match", 1.0, id="one-match"),
    ],
)
def test_undefined_f1_is_0_in_means_unless_there_is_nothing_to_count(
    word, score, zero, f1_when_no_match
):
    options = {"f1_when_no_match": f1_when_no_match, "both_empty": "true_negative"}
    by_case = stats_of("taxonomy", [("a", word)], options={**options, "zero": zero})
    if score is None:
        assert (by_case.score, by_case.vacuous) == (1.0 if zero == "undefined" else 0.0, True)
    else:
        assert (by_case.score, by_case.vacuous) == (score, False)
    assert stats_of("confusion", [("a", word)], options=options).in_means.f1 == score


RIGHT = ("match", 1.0, True)
ASIDE = ("match", 0.0, True)
OPTIONAL = ("omission", 1.0, False)


@pytest.mark.parametrize(
    ("fields", "score", "lists", "vacuous"),
    [
        pytest.param([RIGHT, ("wrong", 0.5, True), ("match", 0.8, True)], 1.8 / 2.3, (2, 1, 0), False, id="weighted-average"),
        pytest.param([ASIDE], 0.0, (1, 0, 0), False, id="all-weights-zero"),
        pytest.param([ASIDE, OPTIONAL], 1.0, (1, 0, 1), True, id="all-weighted-fields-neutral"),
        pytest.param([RIGHT, OPTIONAL], 1.0, (1, 0, 1), False, id="optional-and-missing"),
        pytest.param([OPTIONAL], 1.0, (0, 0, 1), True, id="all-neutral"),
        pytest.param([("wrong", 1.0, False)], 0.0, (0, 1, 0), False, id="optional-and-wrong"),
        pytest.param([("omission", 1.0, True)], 0.0, (0, 1, 0), False, id="required-and-missing"),
        pytest.param([("null-null", 1.0, False)], 1.0, (1, 0, 0), False, id="optional-both-empty-is-a-hit"),
        pytest.param([RIGHT, ("extra-key", 1.0, True)], 0.5, (1, 1, 0), False, id="value-that-the-truth-lacks"),
        pytest.param([RIGHT, ("absent-null", 1.0, True)], 1.0, (1, 0, 1), False, id="no-expected-value"),
        pytest.param([RIGHT, ("ignored", 1.0, True)], 1.0, (1, 0, 0), False, id="ignored"),
        pytest.param([("ignored", 1.0, True)], 1.0, (0, 0, 0), True, id="only-ignored"),
    ],
)  # fmt: skip
def test_field_accuracy(fields, score, lists, vacuous):
    stats = weighted(*fields)
    assert stats.score == pytest.approx(score)
    assert (stats.hits, stats.misses, stats.skipped) == lists
    assert stats.vacuous is vacuous


def test_field_accuracy_is_graded():
    scores = {0: Comparison.graded(0.9, 0.8)}
    assert weighted(RIGHT, RIGHT, scores=scores).score == pytest.approx(0.95)
    assert weighted(RIGHT, RIGHT, scores=scores, options={"graded": False}).score == 1.0


@pytest.mark.parametrize(
    ("fields", "score", "verdict", "vacuous"),
    [
        pytest.param([RIGHT, RIGHT], 1.0, PASS, False, id="matches-not-full-scores"),
        pytest.param([RIGHT, ("wrong", 1.0, True)], 0.0, FAIL, False, id="one-miss-scores-zero"),
        pytest.param(
            [RIGHT, ("extra-key", 1.0, True)], 0.0, FAIL, False, id="value-that-the-truth-lacks"
        ),
        pytest.param([("absent-null", 1.0, True)], 1.0, PASS, True, id="nothing-scored"),
    ],
)
def test_all_or_nothing(fields, score, verdict, vacuous):
    scores = {0: Comparison.graded(0.9, 0.8)} if fields[0] is RIGHT else {}
    stats = weighted(*fields, options={"aggregation": "all_or_nothing"}, scores=scores)
    assert (stats.score, stats.verdict, stats.vacuous) == (score, verdict, vacuous)


def test_comparison_of_two_empty_values_does_not_change_the_hit():
    remark = Comparison(matched=False, reason=Reason.INVALID_PATH)
    assert weighted(("null-null", 1.0, True), scores={0: remark}).score == 1.0


def test_partial_scores_are_not_shared_between_cases_with_the_same_cells():
    table = AttributeTable()
    counter = CaseCounter(CONVENTIONS["field_accuracy"], table)
    plain = block_of([("a", "match")], table)
    fuzzy = block_of([("a", "match")], table, {0: Comparison.graded(0.9, 0.8)})
    assert [counter.stats(block).score for block in (plain, fuzzy, plain)] == [1.0, 0.9, 1.0]


@pytest.mark.parametrize("convention", sorted(CONVENTIONS))
@pytest.mark.parametrize(
    ("options", "score", "verdict"),
    [
        pytest.param({}, None, None, id="has-no-score"),
        pytest.param({"on_error": "zero"}, 0.0, FAIL, id="scores-zero-if-configured"),
    ],
)
def test_failed_comparison(convention, options, score, verdict):
    stats = stats_of(convention, [("a", "match"), ("b", "error")], options=options)
    assert (stats.score, stats.verdict, stats.errors_count) == (score, verdict, 1)
    assert stats.counts.tp == 1


@pytest.mark.parametrize("convention", sorted(CONVENTIONS))
@pytest.mark.parametrize("word", ["omission", "null-absent"])
def test_unreadable_candidate_scores_zero(convention, word):
    stats = stats_of(convention, [("a", word)], unreadable=True)
    assert (stats.score, stats.verdict, stats.vacuous) == (0.0, FAIL, False)


def test_readable_case_does_not_share_the_record_of_an_unreadable_one():
    table = AttributeTable()
    counter = CaseCounter(CONVENTIONS["confusion"], table)
    block = block_of([("a", "null-absent")], table)
    assert counter.stats(block, unreadable=True).score == 0.0
    assert counter.stats(block).score == 1.0
    assert counter.stats(block, unreadable=True).score == 0.0


@pytest.mark.parametrize(
    ("convention", "fields", "verdict"),
    [
        pytest.param("confusion", [("a", "match"), ("b", "match")], PASS, id="no-misses"),
        pytest.param("confusion", [("a", "match"), ("b", "wrong")], PARTIAL, id="some"),
        pytest.param("confusion", [("a", "wrong")], FAIL, id="no-hits"),
        pytest.param("confusion", [], PASS, id="neither"),
        pytest.param("field_accuracy", [("a", "match"), ("b", "extra-key")], PARTIAL, id="extra"),
        pytest.param("field_accuracy", [("a", "match"), ("b", "absent-null")], PASS, id="skipped"),
    ],
)
def test_verdict_of_a_case(convention, fields, verdict):
    assert stats_of(convention, fields).verdict is verdict


def test_pass_threshold_determines_the_verdict():
    fields = [("a", "match"), ("b", "wrong")]
    assert stats_of("confusion", fields, options={"pass_threshold": 0.5}).verdict is PASS
    assert stats_of("confusion", fields, options={"pass_threshold": 0.6}).verdict is FAIL


def test_safety_judge_changes_the_score():
    assert stats_of("four_phase", [("a", "match")], safety=0.0).score == pytest.approx(0.70)
    assert stats_of("four_phase", [("a", "match")], safety=0.0).safety == 0.0


def test_cases_with_the_same_cells_share_one_record():
    table = AttributeTable()
    counter = CaseCounter(CONVENTIONS["confusion"], table)
    first, second = (block_of(EXACT_PAIR, table) for _ in range(2))
    assert counter.stats(first) is counter.stats(second)


def test_memo_is_bounded(monkeypatch):
    monkeypatch.setattr(case_score, "_MEMO_LIMIT", 3)
    table = AttributeTable()
    counter = CaseCounter(CONVENTIONS["confusion"], table)
    for number in range(10):
        counter.stats(block_of([(f"a{each}", "match") for each in range(number)], table))
    assert len(counter._cases) <= 3
    assert len(counter._sums) <= 3


# --- means over cases -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("convention", "fields", "score", "f1"),
    [
        pytest.param("confusion", [("a", "match")], 1.0, 1.0, id="right"),
        pytest.param("confusion", [("a", "wrong")], 0.0, 0.0, id="wrong"),
        pytest.param("confusion", [("a", "null-null")], None, None, id="vacuous"),
        pytest.param("confusion", [("a", "error")], None, None, id="failed"),
        pytest.param(
            "field_accuracy", [("a", "absent-absent")], None, None, id="vacuous-with-zero"
        ),
        pytest.param("taxonomy", [("a", "null-null")], 0.0, 0.0, id="vacuous-in-taxonomy"),
        pytest.param("four_phase", [], None, None, id="vacuous-quality"),
    ],
)
def test_cases_in_means(convention, fields, score, f1):
    means = stats_of(convention, fields).in_means
    assert (means.score, means.f1) == (score, f1)


@pytest.mark.parametrize(
    ("further", "means"),
    [
        pytest.param({"score": 0.9}, (None, 0.0), id="compared-fields-beside-vacuous-evaluators"),
        pytest.param({"score": None}, (None, None), id="failed-evaluator"),
        pytest.param({"score": 0.0}, (0.0, 0.0), id="vacuous-score-of-0"),
    ],
)
def test_cases_in_means_with_evaluators(further, means):
    stats = stats_of("confusion", [("a", "wrong")])._replace(vacuous=True, **further)
    assert (stats.in_means.score, stats.in_means.f1) == means


def test_f1_of_an_evaluator_counts_in_a_vacuous_case():
    stats = stats_of("taxonomy", [])._replace(score=0.5, vacuous=True)
    assert stats.in_means.f1 is None
    assert stats._replace(evaluator_rates=True).in_means.f1 == 0.0


@pytest.mark.parametrize(
    ("rqs", "extra", "mean"), [(0.85, 0, None), (0.85, 1, 0.85), (0.0, 0, 0.0)]
)
def test_quality_without_keys_is_not_in_means(rqs, extra, mean):
    own = stats_of("confusion", [])
    stats = own._replace(quality=own.quality._replace(extra=extra), rqs=rqs)
    assert stats.in_means.rqs == mean
