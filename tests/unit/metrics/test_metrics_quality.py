from __future__ import annotations

import random

import numpy as np
import pytest
from metrics_cells import STRATEGY_PAIR, histogram

from fieldmark.errors import OptionError
from fieldmark.metrics.conventions import CountingOptions, IgnoreScope, RqsForm, RqsWeights
from fieldmark.metrics.quality import (
    QualityCounts,
    QualityFigures,
    bucket_table,
    quality,
    quality_counts,
    quality_figures,
)

LITERAL = CountingOptions(graded=False)


def counted(words, scope=IgnoreScope.ACCURACY):
    return quality_counts(histogram(words), bucket_table(scope))


@pytest.mark.parametrize(
    ("word", "bucket"),
    [
        pytest.param("null-absent", {"both_null": 1}, id="null-in-truth-and-no-key-is-skipped"),
        pytest.param("null-null", {"both_null": 1}, id="null-on-both-sides-is-skipped"),
        pytest.param("null-blank", {"both_null": 1}, id="blank-is-null"),
        pytest.param("invented-for-null", {"unexpected": 1}, id="a-value-for-null-is-hallucinated"),
        pytest.param("invented-for-blank", {"unexpected": 1}, id="a-value-for-blank-too"),
        pytest.param("invented-key", {"extra": 1}, id="an-unknown-key-is-hallucinated"),
        pytest.param("absent-null", {"extra": 1}, id="an-unknown-key-with-null-too"),
        pytest.param("absent-blank", {"extra": 1}, id="an-unknown-key-with-blank-too"),
        pytest.param("absent-absent", {}, id="a-field-that-neither-has-is-no-key"),
        pytest.param("omission", {"missing": 1}, id="a-missing-key-is-a-loss"),
        pytest.param("omission-null", {"missing": 1}, id="a-null-candidate-is-a-loss"),
        pytest.param("match", {"both_non_null": 1, "matched": 1}, id="a-match-is-accurate"),
        pytest.param("wrong", {"both_non_null": 1}, id="a-wrong-value-is-not"),
        pytest.param("format", {"both_non_null": 1}, id="nor-is-one-of-the-wrong-kind"),
        pytest.param("ignored", {"both_non_null": 1, "ignored": 1}, id="ignored-still-is-there"),
        pytest.param("ignored-omission", {"missing": 1}, id="ignored-can-still-be-missing"),
        pytest.param("ignored-invented-key", {"extra": 1}, id="ignored-can-still-be-invented"),
        pytest.param("error", {"both_non_null": 1, "failed": 1}, id="an-error-still-is-there"),
    ],
)
def test_a_bucket_follows_from_the_presences(word, bucket):
    assert counted(word) == QualityCounts(**bucket)


@pytest.mark.parametrize("word", ["ignored", "ignored-omission", "ignored-invented-key"])
def test_ignored_keys_can_be_left_out_everywhere(word):
    assert counted(word, IgnoreScope.ALL) == QualityCounts()


def test_the_walk_through():
    figures = quality(counted(" ".join(word for _, word in STRATEGY_PAIR)), LITERAL)
    assert figures.completeness == 0.75
    assert figures.hallucination == pytest.approx(1 / 3, abs=1e-9)
    assert figures.accuracy == 1.0
    assert figures.rqs == pytest.approx(0.7375, abs=1e-9)
    assert figures.rqs_max == pytest.approx(0.85)
    assert figures.flags == {"safety": ("not_evaluated",)}


def test_the_buckets_of_the_walk_through():
    assert counted(" ".join(word for _, word in STRATEGY_PAIR)).buckets()._asdict() == {
        "extra_keys": 1,
        "gt_null_aio_has_value": 1,
        "gt_non_null": 4,
        "aio_missing_or_null": 1,
        "both_non_null": 3,
        "both_null": 0,
    }


@pytest.mark.parametrize(
    ("words", "figure", "value", "flags"),
    [
        pytest.param("invented-key", "completeness", 1.0, ("vacuous",), id="nothing-expected"),
        pytest.param("omission", "completeness", 0.0, None, id="all-lost"),
        pytest.param("wrong", "completeness", 1.0, None, id="a-wrong-value-is-complete"),
        pytest.param("", "hallucination", 0.0, ("vacuous",), id="no-keys-at-all"),
        pytest.param("null-null", "hallucination", 0.0, None, id="null-keys-are-keys"),
        pytest.param("invented-key null-null", "hallucination", 0.5, None, id="one-of-two-keys"),
        pytest.param("omission", "accuracy", 1.0, ("vacuous",), id="nothing-to-compare"),
        pytest.param("ignored", "accuracy", 1.0, ("vacuous",), id="only-ignored"),
        pytest.param("match wrong ignored", "accuracy", 0.5, None, id="ignored-not-in-denominator"),
        pytest.param("match error", "accuracy", 1.0, ("partial",), id="errors-make-it-partial"),
        pytest.param("error", "accuracy", 1.0, ("vacuous", "partial"), id="only-errors"),
    ],
)
def test_edges_of_the_figures(words, figure, value, flags):
    figures = quality(counted(words), LITERAL)
    assert getattr(figures, figure) == value
    assert figures.flags.get(figure) == flags


@pytest.mark.parametrize(
    ("words", "options", "safety", "rqs"),
    [
        pytest.param("match", {}, None, 0.85, id="perfect-cannot-exceed-its-maximum"),
        pytest.param(
            "match", {"rqs_form": RqsForm.COMPLEMENT}, None, 1.0, id="the-complement-reaches-one"
        ),
        pytest.param("match", {}, 0.0, 0.70, id="safety-counts"),
        pytest.param(
            "invented-key",
            {"rqs_weights": RqsWeights(accuracy=0, completeness=0, safety=0, hallucination=1)},
            None,
            0.0,
            id="never-below-zero",
        ),
        pytest.param(
            "match", {"rqs_weights": RqsWeights(accuracy=5)}, None, 1.0, id="never-above-one"
        ),
    ],
)
def test_response_quality_score(words, options, safety, rqs):
    figures = quality(counted(words), CountingOptions(**options), safety)
    assert figures.rqs == pytest.approx(rqs, abs=1e-9)
    assert figures.rqs <= figures.rqs_max


def test_an_evaluated_safety_is_not_flagged():
    assert "safety" not in quality(counted("match"), LITERAL, 0.5).flags


@pytest.mark.parametrize("weight", [-0.1, float("nan"), float("inf")])
def test_a_weight_that_is_none_is_refused(weight):
    with pytest.raises(OptionError, match=r"rqs_weights\.accuracy"):
        RqsWeights(accuracy=weight)


@pytest.mark.parametrize("form", RqsForm)
@pytest.mark.parametrize("safety", [0.0, 0.4, 1.0])
def test_the_quality_of_many_draws_is_that_of_each(form, safety):
    chance = random.Random(5)
    counting = CountingOptions(rqs_form=form)
    rows = [QualityCounts()] + [
        QualityCounts(*(chance.randrange(4) for _ in range(3)), 9, chance.randrange(3), 1, 2, 3)
        for _ in range(40)
    ]
    found = quality_figures(QualityCounts(*np.array(rows, np.float64).T), counting, safety)
    for place, row in enumerate(rows):
        known = quality(row, counting, safety)
        for name in QualityFigures._fields:
            assert getattr(found, name)[place] == getattr(known, name)
