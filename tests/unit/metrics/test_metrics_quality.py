from __future__ import annotations

import random

import numpy as np
import pytest
from metrics_cells import histogram

from fieldmark.errors import OptionError
from fieldmark.metrics.conventions import CountingOptions, IgnoreScope, RqsForm, RqsWeights
from fieldmark.metrics.counts import total
from fieldmark.metrics.quality import (
    QualityCounts,
    QualityMetrics,
    bucket_table,
    quality,
    quality_metrics,
    quality_score,
)

LITERAL = CountingOptions(graded=False)


def counted(words, scope=IgnoreScope.ACCURACY):
    return total(histogram(words), bucket_table(scope))


@pytest.mark.parametrize(
    ("word", "bucket"),
    [
        pytest.param("null-absent", {"both_null": 1}, id="null-in-truth-and-no-key-is-skipped"),
        pytest.param("null-null", {"both_null": 1}, id="null-on-both-sides-is-skipped"),
        pytest.param("null-blank", {"both_null": 1}, id="blank-is-null"),
        pytest.param("extra-for-null", {"unexpected": 1}, id="value-for-null-is-hallucinated"),
        pytest.param("extra-for-blank", {"unexpected": 1}, id="value-for-blank-is-hallucinated"),
        pytest.param("extra-key", {"extra": 1}, id="extra-key-is-hallucinated"),
        pytest.param("absent-null", {"extra": 1}, id="extra-key-with-null-is-hallucinated"),
        pytest.param("absent-blank", {"extra": 1}, id="extra-key-with-blank-is-hallucinated"),
        pytest.param("absent-absent", {}, id="field-absent-from-both-is-not-a-key"),
        pytest.param("omission", {"missing": 1}, id="missing-key-is-missing"),
        pytest.param("omission-null", {"missing": 1}, id="null-candidate-is-missing"),
        pytest.param("match", {"both_non_null": 1, "matched": 1}, id="match-is-accurate"),
        pytest.param("wrong", {"both_non_null": 1}, id="wrong-value-is-inaccurate"),
        pytest.param("format", {"both_non_null": 1}, id="wrong-type-is-inaccurate"),
        pytest.param("ignored", {"both_non_null": 1, "ignored": 1}, id="ignored-value-is-present"),
        pytest.param("ignored-omission", {"missing": 1}, id="ignored-value-can-be-missing"),
        pytest.param("ignored-extra-key", {"extra": 1}, id="ignored-value-can-be-extra"),
        pytest.param("error", {"both_non_null": 1, "failed": 1}, id="failed-comparison-is-present"),
    ],
)
def test_bucket_depends_on_presences(word, bucket):
    assert counted(word) == QualityCounts(**bucket)


@pytest.mark.parametrize("word", ["ignored", "ignored-omission", "ignored-extra-key"])
def test_ignored_keys_can_be_excluded_from_all_metrics(word):
    assert counted(word, IgnoreScope.ALL) == QualityCounts()


@pytest.mark.parametrize(
    ("words", "metric", "value", "flags"),
    [
        pytest.param("extra-key", "completeness", 1.0, ("vacuous",), id="nothing-expected"),
        pytest.param("omission", "completeness", 0.0, None, id="all-missing"),
        pytest.param("wrong", "completeness", 1.0, None, id="wrong-value-counts-as-complete"),
        pytest.param("", "hallucination", 0.0, ("vacuous",), id="no-keys-at-all"),
        pytest.param("null-null", "hallucination", 0.0, None, id="null-keys-are-keys"),
        pytest.param("extra-key null-null", "hallucination", 0.5, None, id="one-of-two-keys"),
        pytest.param("omission", "accuracy", 1.0, ("vacuous",), id="nothing-to-compare"),
        pytest.param("ignored", "accuracy", 1.0, ("vacuous",), id="only-ignored"),
        pytest.param("match wrong ignored", "accuracy", 0.5, None, id="ignored-not-in-denominator"),
        pytest.param("match error", "accuracy", None, ("error",), id="unknown-with-errors"),
        pytest.param("error", "accuracy", None, ("vacuous", "error"), id="only-errors"),
    ],
)
def test_edge_cases_of_the_metrics(words, metric, value, flags):
    metrics = quality(counted(words), LITERAL)
    assert getattr(metrics, metric) == value
    assert metrics.flags.get(metric) == flags


@pytest.mark.parametrize(
    ("words", "options", "safety", "rqs"),
    [
        pytest.param("match", {}, None, 0.85, id="perfect-reaches-the-maximum"),
        pytest.param(
            "match", {"rqs_form": RqsForm.COMPLEMENT}, None, 1.0, id="complement-reaches-one"
        ),
        pytest.param(
            "match",
            {"rqs_form": RqsForm.COMPLEMENT, "rqs_weights": RqsWeights(safety=0)},
            None,
            0.85,
            id="complement-without-safety",
        ),
        pytest.param("match", {}, 0.0, 0.70, id="safety-counts"),
        pytest.param(
            "extra-key",
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
    metrics = quality(counted(words), CountingOptions(**options), safety)
    assert metrics.rqs == pytest.approx(rqs, abs=1e-9)
    assert metrics.rqs_max == quality(counted("match"), CountingOptions(**options), 1.0).rqs
    assert metrics.flags.get("safety") == (("not_evaluated",) if safety is None else None)


@pytest.mark.parametrize("weight", [-0.1, float("nan"), float("inf")])
def test_invalid_weight_is_rejected(weight):
    with pytest.raises(OptionError, match="accuracy: must be a number of at least 0"):
        RqsWeights(accuracy=weight)


@pytest.mark.parametrize("form", RqsForm)
@pytest.mark.parametrize("safety", [0.0, 0.4, 1.0])
def test_quality_of_arrays_equals_quality_of_each_element(form, safety):
    chance = random.Random(5)
    counting = CountingOptions(rqs_form=form)
    rows = [QualityCounts()] + [
        QualityCounts(*(chance.randrange(4) for _ in range(3)), 9, chance.randrange(3), 1, 0, 3)
        for _ in range(40)
    ]
    found = quality_metrics(QualityCounts(*np.array(rows, np.float64).T))
    scores = quality_score(found, counting, safety)
    for place, row in enumerate(rows):
        known = quality(row, counting, safety)
        for name in QualityMetrics._fields:
            assert getattr(found, name)[place] == getattr(known, name)
        assert scores[place] == known.rqs
