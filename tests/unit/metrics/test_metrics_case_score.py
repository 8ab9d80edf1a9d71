from __future__ import annotations

import pytest
from metrics_cells import EXACT_PAIR, FACTS_BY_WORD, STRATEGY_PAIR, block_of

from fieldmark.metrics import case_score
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.model.case import Verdict
from fieldmark.model.comparison import Comparison
from fieldmark.model.counts import Counts
from fieldmark.model.outcome import CELL_BITS, Reason
from fieldmark.model.outcomes import Attribute, AttributeTable, Outcomes

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
    ("convention", "fields", "counts", "f1"),
    [
        pytest.param("confusion", EXACT_PAIR, (1, 0, 4, 3), 2 / 9, id="exact-union"),
        pytest.param("taxonomy", EXACT_PAIR, (1, 0, 4, 3), 2 / 9, id="taxonomy-table"),
        pytest.param("taxonomy_code", EXACT_PAIR, (1, 0, 4, 1), 2 / 7, id="taxonomy-code"),
        pytest.param("confusion", STRATEGY_PAIR, (3, 0, 2, 1), 2 / 3, id="with-strategies"),
    ],
)
def test_walkthrough_pair(convention, fields, counts, f1):
    stats = stats_of(convention, fields)
    assert stats.counts == Counts(*counts)
    assert stats.f1 == pytest.approx(f1, abs=1e-9)


def test_quality_of_the_walkthrough_pair():
    stats = stats_of("four_phase", STRATEGY_PAIR)
    assert stats.score == pytest.approx(0.7375, abs=1e-9)
    assert (stats.hits, stats.misses, stats.verdict) == (3, 3, PARTIAL)


@pytest.mark.parametrize(
    ("fields", "score", "vacuous"),
    [
        pytest.param([("a", "match"), ("b", "wrong")], 0.5, False, id="mean-over-attributes"),
        pytest.param([("a", "match"), ("b", "null-null")], 1.0, False, id="negatives-excluded"),
        pytest.param([("a", "match"), ("b", "ignored")], 1.0, False, id="ignored-excluded"),
        pytest.param([("a", "null-null")], 1.0, True, id="only-negatives-are-vacuous"),
        pytest.param([], 1.0, True, id="empty-case-is-vacuous"),
        pytest.param([("a", "omission")], 0.0, False, id="undefined-f1-is-zero"),
        pytest.param(
            [("i[].x", "match"), ("i[].x", "match"), ("i[].x", "wrong"), ("b", "match")],
            (2 / 3 + 1) / 2,
            False,
            id="items-are-pooled-by-attribute",
        ),
        pytest.param(
            [("i[].x", "match"), ("i[].x", "null-null")], 1.0, False, id="match-and-a-negative"
        ),
    ],
)
def test_confusion_scores_macro_f1_by_attribute(fields, score, vacuous):
    stats = stats_of("confusion", fields)
    assert stats.score == pytest.approx(score)
    assert stats.vacuous is vacuous


@pytest.mark.parametrize(
    ("fields", "metrics", "vacuous"),
    [
        pytest.param([("a", "omission"), ("b", "omission")], (0, 0, 0), False, id="empty-results"),
        pytest.param([("a", "match"), ("b", "match")], (1, 1, 1), False, id="perfect-extraction"),
        pytest.param([("a", "null-null")], (0, 0, 0), True, id="all-empty-is-zero-and-vacuous"),
        pytest.param([("a", "extra-key")], (0, 0, 0), False, id="no-truth-fields"),
    ],
)
@pytest.mark.parametrize("convention", ["taxonomy", "taxonomy_code"])
def test_taxonomies_score_f1_with_zero_for_undefined(convention, fields, metrics, vacuous):
    stats = stats_of(convention, fields)
    assert (stats.precision, stats.recall, stats.f1) == metrics
    assert (stats.score, stats.vacuous) == (metrics[2], vacuous)


single_field = pytest.mark.parametrize(
    ("word", "score", "vacuous"),
    [
        pytest.param("null-null", 1.0, True, id="nothing-expected"),
        pytest.param("omission", 0.0, False, id="one-missing"),
        pytest.param("match", 1.0, False, id="one-match"),
    ],
)


@single_field
def test_undefined_f1_counts_in_a_mean_unless_there_is_nothing_to_count(word, score, vacuous):
    stats = stats_of("confusion", [("a", word)], options={"f1_when_no_match": "undefined"})
    assert stats.f1_in_mean == (None if vacuous else score)


@pytest.mark.parametrize("zero", ["zero", "undefined"])
@single_field
def test_by_case_with_an_undefined_f1_without_a_match(word, score, vacuous, zero):
    options = {"zero": zero, "both_empty": "true_negative", "f1_when_no_match": "undefined"}
    stats = stats_of("taxonomy", [("a", word)], options=options)
    vacuous_score = 1.0 if zero == "undefined" else 0.0
    assert (stats.score, stats.vacuous) == (vacuous_score if vacuous else score, vacuous)


@single_field
def test_by_case_with_undefined_rates(word, score, vacuous):
    options = {"zero": "undefined", "both_empty": "true_negative"}
    stats = stats_of("taxonomy", [("a", word)], options=options)
    assert (stats.score, stats.vacuous) == (score, vacuous)


@pytest.mark.parametrize(
    ("fields", "score", "lists"),
    [
        pytest.param(
            [("match", 1.0, True), ("wrong", 0.5, True), ("match", 0.8, True)],
            1.8 / 2.3,
            (2, 1, 0),
            id="weighted-average",
        ),
        pytest.param([("match", 0.0, True)], 0.0, (1, 0, 0), id="all-weights-zero"),
        pytest.param(
            [("match", 0.0, True), ("omission", 1.0, False)],
            1.0,
            (1, 0, 1),
            id="all-weighted-fields-neutral",
        ),
        pytest.param(
            [("match", 1.0, True), ("omission", 1.0, False)], 1.0, (1, 0, 1), id="optional-missing"
        ),
        pytest.param(
            [("match", 1.0, True), ("omission-null", 1.0, False)],
            1.0,
            (1, 0, 1),
            id="optional-null",
        ),
        pytest.param(
            [("match", 1.0, True), ("omission-blank", 1.0, False)],
            1.0,
            (1, 0, 1),
            id="optional-blank",
        ),
        pytest.param([("omission", 1.0, False)], 1.0, (0, 0, 1), id="all-neutral"),
        pytest.param([("wrong", 1.0, False)], 0.0, (0, 1, 0), id="optional-and-wrong"),
        pytest.param([("omission", 1.0, True)], 0.0, (0, 1, 0), id="required-and-missing"),
        pytest.param(
            [("null-null", 1.0, False)], 1.0, (1, 0, 0), id="optional-both-empty-is-a-hit"
        ),
        pytest.param(
            [("match", 1.0, True), ("extra-key", 1.0, True)],
            1.0,
            (1, 0, 1),
            id="no-expected-value",
        ),
        pytest.param([("match", 1.0, True), ("ignored", 1.0, True)], 1.0, (1, 0, 0), id="ignored"),
        pytest.param([("ignored", 1.0, True)], 1.0, (0, 0, 0), id="only-ignored"),
    ],
)
def test_field_accuracy(fields, score, lists):
    stats = weighted(*fields)
    assert stats.score == pytest.approx(score)
    assert (stats.hits, stats.misses, stats.skipped) == lists


@pytest.mark.parametrize(
    ("fields", "vacuous"),
    [
        pytest.param([("omission", 1.0, False)], True, id="all-neutral"),
        pytest.param([("match", 0.0, True), ("omission", 1.0, False)], True, id="weight-neutral"),
        pytest.param([("match", 0.0, True)], False, id="no-weight"),
        pytest.param([("match", 1.0, True)], False, id="something-scored"),
    ],
)
def test_field_accuracy_is_vacuous_if_nothing_was_scored(fields, vacuous):
    assert weighted(*fields).vacuous is vacuous


def test_field_accuracy_is_graded():
    scores = {0: Comparison.graded(0.9, 0.8)}
    fields = [("match", 1.0, True), ("match", 1.0, True)]
    assert weighted(*fields, scores=scores).score == pytest.approx(0.95)
    flat = weighted(*fields, scores=scores, options={"graded": False})
    assert flat.score == 1.0


def test_comparison_of_two_empty_values_does_not_change_the_hit():
    remark = Comparison(matched=False, reason=Reason.INVALID_PATH)
    assert weighted(("null-null", 1.0, True), scores={0: remark}).score == 1.0


def test_partial_scores_are_not_shared_between_cases_with_the_same_cells():
    table = AttributeTable()
    counter = CaseCounter(CONVENTIONS["field_accuracy"], table)
    plain = block_of([("a", "match")], table)
    fuzzy = block_of([("a", "match")], table, {0: Comparison.graded(0.9, 0.8)})
    assert [counter.stats(block).score for block in (plain, fuzzy, plain)] == [1.0, 0.9, 1.0]


@pytest.mark.parametrize(
    ("words", "score", "verdict", "vacuous"),
    [
        pytest.param(("match", "match"), 1.0, PASS, False, id="all"),
        pytest.param(("match", "wrong"), 0.0, FAIL, False, id="one-miss-scores-zero"),
        pytest.param(("extra-key",), 1.0, PASS, True, id="nothing-scored"),
    ],
)
def test_all_or_nothing(words, score, verdict, vacuous):
    fields = [(word, 1.0, True) for word in words]
    stats = weighted(*fields, options={"aggregation": "all_or_nothing"})
    assert (stats.score, stats.verdict, stats.vacuous) == (score, verdict, vacuous)


def test_all_or_nothing_depends_on_matches_not_scores():
    stats = weighted(
        ("match", 1.0, True),
        options={"aggregation": "all_or_nothing"},
        scores={0: Comparison.graded(0.9, 0.8)},
    )
    assert stats.score == 1.0


@pytest.mark.parametrize("convention", sorted(CONVENTIONS))
def test_failed_comparison_has_no_score(convention):
    stats = stats_of(convention, [("a", "match"), ("b", "error")])
    assert (stats.score, stats.verdict, stats.errors_count) == (None, None, 1)
    assert stats.counts.tp == 1


@pytest.mark.parametrize("convention", sorted(CONVENTIONS))
def test_failed_comparison_scores_zero_if_configured(convention):
    stats = stats_of(convention, [("a", "match"), ("b", "error")], options={"on_error": "zero"})
    assert (stats.score, stats.verdict, stats.errors_count) == (0.0, FAIL, 1)


@pytest.mark.parametrize("convention", sorted(CONVENTIONS))
@pytest.mark.parametrize("word", ["omission", "null-absent"])
def test_unreadable_candidate_scores_zero(convention, word):
    stats = stats_of(convention, [("a", word)], unreadable=True)
    assert (stats.score, stats.verdict, stats.vacuous) == (0.0, FAIL, False)


def test_optional_fields_of_an_unreadable_candidate_are_misses():
    assert weighted(("omission", 1.0, False), unreadable=True).misses == 1


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
        pytest.param("field_accuracy", [("a", "match"), ("b", "extra-key")], PASS, id="skipped"),
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
