from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fieldmark.errors import OptionError
from fieldmark.metrics.agreement import (
    JudgeAgreement,
    JudgedPair,
    ThresholdTarget,
    agreement_at,
    auc,
    base_rate,
    best_threshold,
    cross_validate,
    sweep,
    threshold_between,
    threshold_for,
)
from reference import agreement_oracle as oracle


def right(similarity):
    return JudgedPair(similarity=similarity, right=True)


def wrong(similarity):
    return JudgedPair(similarity=similarity, right=False)


@pytest.mark.parametrize(
    ("counts", "share", "kappa", "interval"),
    [
        pytest.param((20, 5, 10, 15), 0.7, 0.4, (0.151, 0.649), id="textbook-example"),
        pytest.param((10, 0, 0, 10), 1.0, 1.0, (0.599, 1.0), id="full-agreement-is-no-point"),
        pytest.param((0, 10, 10, 0), 0.0, -1.0, (-1.0, -0.599), id="no-agreement-is-no-point"),
        pytest.param((5, 5, 5, 5), 0.5, 0.0, (-0.438, 0.438), id="chance-agreement"),
        pytest.param((10, 0, 0, 0), 1.0, None, None, id="only-matches-on-both-sides"),
        pytest.param((0, 0, 0, 0), None, None, None, id="no-pairs"),
    ],
)
def test_agreement_and_kappa(counts, share, kappa, interval):
    agreement = JudgeAgreement(0.5, *counts)
    assert agreement.share == share
    assert agreement.kappa == (None if kappa is None else pytest.approx(kappa))
    rounded = None if interval is None else pytest.approx(interval, abs=1e-3)
    assert agreement.kappa_interval == rounded


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


@pytest.mark.parametrize(
    ("below", "level", "threshold"),
    [
        pytest.param(None, 0.123456, 0.123456, id="lowest-similarity"),
        pytest.param(0.1, 0.9, 0.5, id="middle"),
        pytest.param(0.412, 0.437, 0.42, id="two-decimals"),
        pytest.param(0.42, 0.43, 0.43, id="rounded-up-to-the-level"),
        pytest.param(0.421, 0.424, 0.422, id="three-decimals"),
        pytest.param(0.4211, 0.4219, 0.4215, id="four-decimals"),
        pytest.param(0.4211111, 0.4211119, 0.4211119, id="at-most-six-decimals"),
        pytest.param(0.5, 0.5 + 1e-12, 0.5 + 1e-12, id="no-decimals-between"),
    ],
)
def test_threshold_has_as_few_decimals_as_possible(below, level, threshold):
    assert threshold_between(below, level) == threshold


# --- against definitions --------------------------------------------------------------------------


@given(st.tuples(*[st.integers(1, 60)] * 4))
def test_kappa_and_its_interval_equal_the_delta_method(counts):
    both, judge_only, people_only, neither = counts
    table = [[both, judge_only], [people_only, neither]]
    agreement = JudgeAgreement(0.5, *counts)
    assert agreement.kappa == pytest.approx(oracle.kappa(table))
    assert agreement.kappa_interval == pytest.approx(oracle.kappa_interval(table), abs=1e-6)


JUDGED_PAIRS = st.lists(
    st.builds(JudgedPair, st.integers(0, 20).map(lambda n: n / 20), st.booleans()), max_size=40
)


@given(JUDGED_PAIRS)
def test_sweep_returns_the_agreement_at_each_threshold(judged):
    rows = sweep(judged)
    found = [oracle.confusion(judged, row.threshold) for row in rows]
    assert [row[1:] for row in rows] == found
    assert len(set(found)) == len(rows)
    accepted = {tuple(similarity >= level for similarity, _ in judged) for level, _ in judged}
    assert len(rows) == len(accepted) + bool(judged and max(judged).similarity < 1)


@given(JUDGED_PAIRS)
@example([right(0.1), wrong(0.5), *[right(0.9)] * 3, wrong(0.95)])
@example([*[right(0.1)] * 3, *[right(0.9)] * 6, wrong(0.1), wrong(0.1)])
def test_best_threshold_has_the_highest_agreement_and_then_the_highest_kappa(judged):
    best, rows = best_threshold(judged), sweep(judged)
    if not judged:
        assert best is None
        return
    ranks = [(row.share, row.kappa or 0.0) for row in rows]
    low = high = ranks.index(max(ranks))
    assert best.agreement == rows[low]
    share = best.agreement.share
    error = (share * (1 - share) / len(judged)) ** 0.5
    near = [share - row.share <= error + 1e-9 for row in rows]
    while low > 0 and near[low - 1]:
        low -= 1
    while high + 1 < len(rows) and near[high + 1]:
        high += 1
    assert best.interval == (rows[low].threshold, rows[high].threshold)


@given(JUDGED_PAIRS)
def test_auc_is_the_share_of_ordered_pairs(judged):
    expected = oracle.auc(judged)
    assert auc(judged) == (None if expected is None else pytest.approx(expected))


@given(JUDGED_PAIRS, st.sampled_from([0.5, 0.8, 0.95, 1.0]))
def test_threshold_for_a_precision_has_the_highest_recall(judged, precision):
    found = threshold_for(judged, ThresholdTarget("precision", precision))
    expected = oracle.best_recall(judged, precision) if any(r for _, r in judged) else None
    if expected is None:
        assert found is None or found.rates.recall in (None, 0.0)
    else:
        assert found.rates.precision >= precision - 1e-9
        assert found.rates.recall == pytest.approx(expected)
        assert found[1:] == oracle.confusion(judged, found.threshold)


def test_threshold_for_a_recall_has_the_highest_precision():
    judged = [right(0.9), wrong(0.7), right(0.6), wrong(0.5), wrong(0.2)]
    found = threshold_for(judged, ThresholdTarget("recall", 1.0))
    assert (found.rates.recall, found.rates.precision) == (1.0, pytest.approx(2 / 3))
    assert threshold_for(judged, ThresholdTarget("recall", 0.5)).rates.precision == 1.0


def test_no_threshold_reaches_a_precision_without_matches_at_the_top():
    assert threshold_for([wrong(0.9), right(0.9)], ThresholdTarget("precision", 0.95)) is None


def test_rates_of_accepted_pairs():
    assert JudgeAgreement(0.5, 6, 2, 4, 8).rates == (0.75, 0.6, pytest.approx(2 / 3))
    assert JudgeAgreement(0.5, 0, 0, 4, 8).rates.precision is None


@pytest.mark.parametrize(
    "text", ["precision", "precision=1.2", "f1=0.9", "recall=x", "precision=nan"]
)
def test_invalid_targets_are_rejected(text):
    with pytest.raises(OptionError, match=r"expected precision or recall and a number up to 1"):
        ThresholdTarget.parse(text)


def test_held_out_labels_do_not_choose_their_threshold():
    # Every fold must find the threshold for the pairs at 0.5 in the other folds.
    judged = [wrong(0.1)] * 10 + [right(0.5)] * 10
    found = cross_validate(judged)
    assert (found.folds, found.held_out[1:]) == (5, (10, 0, 0, 10))
    noise = [JudgedPair(n / 100, n % 2 == 0) for n in range(60)]
    assert cross_validate(noise).held_out.share < best_threshold(noise).agreement.share


@given(JUDGED_PAIRS, st.randoms(use_true_random=False))
def test_cross_validation_uses_every_label_once_in_any_order(judged, random):
    found = cross_validate(judged, ThresholdTarget("precision", 0.9))
    fewest = min(sum(each.right is wanted for each in judged) for wanted in (True, False))
    assert (found is None) is (fewest < 2)
    if found is not None:
        assert found.folds == min(5, fewest)
        assert found.held_out.pairs == len(judged)
        shuffled = random.sample(judged, len(judged))
        assert cross_validate(shuffled, ThresholdTarget("precision", 0.9)) == found


def test_fold_without_a_threshold_for_the_target_accepts_nothing():
    found = cross_validate(
        [wrong(0.9), wrong(0.9), right(0.5), right(0.5)], ThresholdTarget("precision", 1)
    )
    assert (found.low, found.high, found.held_out.both) == (None, None, 0)


@pytest.mark.parametrize(
    ("judged", "rate"),
    [([], None), ([right(1)] * 3 + [wrong(1)], 0.75), ([wrong(1)] * 3 + [right(1)], 0.75)],
)
def test_base_rate_is_the_share_of_the_more_frequent_verdict(judged, rate):
    assert base_rate(judged) == rate
