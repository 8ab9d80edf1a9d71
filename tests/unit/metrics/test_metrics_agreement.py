from __future__ import annotations

import pytest

from fieldmark.metrics.agreement import (
    JudgeAgreement,
    JudgedPair,
    agreement_at,
    best_threshold,
    sweep,
)


def right(similarity):
    return JudgedPair(similarity=similarity, right=True)


def wrong(similarity):
    return JudgedPair(similarity=similarity, right=False)


@pytest.mark.parametrize(
    ("counts", "share", "kappa"),
    [
        pytest.param((20, 5, 10, 15), 0.7, 0.4, id="textbook-example"),
        pytest.param((10, 0, 0, 10), 1.0, 1.0, id="full-agreement"),
        pytest.param((0, 10, 10, 0), 0.0, -1.0, id="no-agreement"),
        pytest.param((5, 5, 5, 5), 0.5, 0.0, id="chance-agreement"),
        pytest.param((10, 0, 0, 0), 1.0, None, id="only-matches-on-both-sides"),
        pytest.param((0, 0, 0, 0), None, None, id="no-pairs"),
    ],
)
def test_agreement_and_kappa(counts, share, kappa):
    agreement = JudgeAgreement(0.5, *counts)
    assert agreement.share == share
    assert agreement.kappa == (None if kappa is None else pytest.approx(kappa))


JUDGED = [
    right(0.95),
    right(0.9),
    wrong(0.7),
    wrong(0.4),
    wrong(0.2),
]


def test_similarity_at_the_threshold_is_accepted():
    assert agreement_at(JUDGED, 0.9)[1:] == (2, 0, 0, 3)
    assert agreement_at(JUDGED, 0.91)[1:] == (1, 0, 1, 3)


def test_best_threshold_separates_matches_from_the_others():
    best = best_threshold(JUDGED)
    assert best.agreement.share == 1.0
    assert best.agreement.threshold == 0.8
    assert (best.low, best.high) == (0.8, 0.8)


def test_best_threshold_is_not_the_one_without_agreement():
    assert best_threshold([right(0.2), wrong(0.8)]).agreement.share == 0.5


def test_interval_ends_at_thresholds_without_agreement():
    best = best_threshold([right(0.2), wrong(0.8), wrong(0.8)])
    assert best.low == best.agreement.threshold == best.high > 0.8
    best = best_threshold([right(0.2), right(0.2), wrong(0.8)])
    assert best.low == best.agreement.threshold == best.high <= 0.2


def test_best_threshold_has_the_highest_agreement_before_the_highest_kappa():
    judged = [*[right(0.1)] * 3, *[right(0.9)] * 6, wrong(0.1), wrong(0.1)]
    best = best_threshold(judged).agreement
    assert best.share == max(row.share for row in sweep(judged)) == pytest.approx(9 / 11)
    assert best.kappa == 0.0 < max(row.kappa for row in sweep(judged))


def test_best_threshold_if_there_is_no_agreement():
    best = best_threshold([wrong(1.0)])
    assert (best.agreement.share, best.low) == (0.0, best.high)


def test_best_threshold_among_equal_agreements_has_the_highest_kappa():
    judged = [right(0.1), wrong(0.5), *[right(0.9)] * 3, wrong(0.95)]
    best = best_threshold(judged).agreement
    assert best.share == sweep(judged)[0].share == pytest.approx(2 / 3)
    assert (best.kappa, sweep(judged)[0].kappa) == (0.25, 0.0)


def test_interval_contains_thresholds_within_one_standard_error():
    judged = [JudgedPair(n / 10, n > 4) for n in range(10)] + [right(0.35), wrong(0.65)]
    best = best_threshold(judged)
    assert best.low < best.high
    assert best.low <= best.agreement.threshold <= best.high


@pytest.mark.parametrize("judged", [JUDGED, JUDGED[:1], [wrong(1.0), right(1.0)], [wrong(0.0)]])
def test_sweep_returns_the_agreement_at_each_threshold(judged):
    rows = sweep(judged)
    assert [row[1:] for row in rows] == [agreement_at(judged, row.threshold)[1:] for row in rows]
    assert all(row.pairs == len(judged) for row in rows)


def test_no_best_threshold_without_labels():
    assert best_threshold([]) is None
