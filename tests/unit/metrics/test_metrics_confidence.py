"""Figures about confidences: equal to those of scikit-learn, and thresholds keep their promise."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from fieldmark.metrics.confidence import (
    ConfidenceTally,
    confidence_figures,
    rounded_confidence,
    summarize_confidence,
)
from fieldmark.model.outcome import CELL_BITS, Outcome, Presence, fact
from fieldmark.model.outcomes import Attribute, AttributeTable, Outcomes
from fieldmark.values.value_confidences import ConfidenceOptions
from proving import PROVING

RATED = st.lists(
    st.tuples(st.one_of(st.none(), st.sampled_from([0.0, 0.2, 0.5, 0.99, 1.0])), st.booleans()),
    max_size=60,
)


def counts_of(confidences, correct):
    return Counter(zip(confidences.tolist(), correct.tolist(), strict=True))


@pytest.mark.parametrize("decimals", [8, 1], ids=["no ties", "many ties"])
@pytest.mark.parametrize("fields", [60, 1_000])
def test_figures_equal_those_of_scikit_learn(fields, decimals):
    from sklearn.calibration import calibration_curve
    from sklearn.metrics import brier_score_loss, roc_auc_score

    draw = np.random.default_rng(fields)
    confidences = draw.beta(4, 1, fields).round(decimals)
    correct = draw.random(fields) < confidences**2
    found = confidence_figures(counts_of(confidences, correct))
    assert found.auroc == pytest.approx(roc_auc_score(correct, confidences))
    assert found.brier == pytest.approx(brier_score_loss(correct, confidences))
    assert found.mean_confidence == pytest.approx(confidences.mean())
    if decimals > 1:
        shares, means = calibration_curve(correct, confidences, n_bins=10, strategy="quantile")
        assert [each.precision for each in found.bins] == pytest.approx(shares.tolist())
        assert [each.confidence for each in found.bins] == pytest.approx(means.tolist())
        assert found.ece == pytest.approx(np.abs(shares - means).mean())


@given(RATED)
def test_bins_have_equal_sizes_and_keep_equal_confidences_together(rated):
    known = [confidence for confidence, _ in rated if confidence is not None]
    middles = {
        each: np.mean([n for n, c in enumerate(sorted(known)) if c == each]) for each in known
    }
    bins = {}
    for confidence, right in rated:
        if confidence is not None:
            place = int((middles[confidence] + 0.5) * 10 / len(known) + 1e-9)
            bins.setdefault(place, []).append((confidence, right))
    found = confidence_figures(Counter(rated))
    expected = [(len(bins[key]), *np.mean(bins[key], axis=0)) for key in sorted(bins)]
    assert [(each.fields, each.confidence, each.precision) for each in found.bins] == [
        pytest.approx(each) for each in expected
    ]
    if known:
        gaps = [number * abs(mean - share) for number, mean, share in expected]
        assert found.ece == pytest.approx(sum(gaps) / len(known))


@given(RATED)
@example([(1.0, True)] + [(0.5, True)] * 59)
def test_every_point_of_the_curve_is_what_its_threshold_accepts(rated):
    found = confidence_figures(Counter(rated))
    known = [(confidence, right) for confidence, right in rated if confidence is not None]
    assert found.fields == len(rated)
    assert found.without_confidence == len(rated) - len(known)
    assert found.wrong == sum(not right for _, right in known)
    assert [each.threshold for each in found.curve] == sorted({c for c, _ in known}, reverse=True)
    for threshold, coverage, precision in found.curve:
        accepted = [right for confidence, right in known if confidence >= threshold]
        assert coverage == pytest.approx(len(accepted) / len(rated))
        assert precision == pytest.approx(sum(accepted) / len(accepted))


@given(RATED)
def test_a_threshold_has_a_bound_that_reaches_the_precision(rated):
    target = confidence_figures(Counter(rated), [0.5]).targets["0.5"]
    if target.threshold is None:
        assert target.note in ("too few cases", "precision not reached")
        assert target.coverage is target.lower_bound is target.accepted is None
        return
    rows = [(-1 if confidence is None else confidence, right) for confidence, right in rated]
    known = [right for confidence, right in rows if confidence >= target.threshold]
    assert (target.accepted, target.wrong) == (len(known), known.count(False))
    assert target.coverage == len(known) / len(rated)
    uncorrected = binomtest(sum(known), len(known), 0.5, "greater").pvalue
    assert uncorrected <= 0.05
    assert 0.5 <= target.lower_bound + 1e-9 <= target.precision + 1e-9


def threshold_by_hand(confidences, correct, target):
    """Test every threshold from high to low, each with its own share of 5% and what is handed on."""
    total = len(confidences)
    boundaries = [int((confidences >= each).sum()) for each in sorted(set(confidences))[::-1]]
    tested = {min(n for n in boundaries if 100 * n >= percent * total) for percent in range(1, 101)}
    sizes = [-(-total * tenth // 10) for tenth in range(1, 11)]
    starts = [size for size in sizes if target**size <= 0.005] or [total]
    first = Counter(min(n for n in tested if n >= start) for start in starts)
    ordered, handed_on, found = np.argsort(-confidences, kind="stable"), 0.0, None
    for number in sorted(tested):
        level = handed_on + first[number] * 0.05 / len(starts)
        right = int(correct[ordered[:number]].sum())
        passed = level > 0 and binom.sf(right - 1, number, target) <= level
        handed_on = level if passed else 0.0
        found = confidences[ordered[number - 1]] if passed else found
    return found


@given(
    st.integers(0, 10_000),
    st.integers(1, 400),
    st.sampled_from([0.5, 0.7, 0.9]),
    st.sampled_from([1, 2, 4]),
)
def test_thresholds_equal_those_of_a_slow_search(seed, fields, target, decimals):
    draw = np.random.default_rng(seed)
    confidences = draw.beta(3, 1, fields).round(decimals)
    correct = draw.random(fields) < confidences ** draw.choice([0.2, 1.0])
    found = confidence_figures(counts_of(confidences, correct), [target]).targets[str(target)]
    assert found.threshold == threshold_by_hand(confidences, correct, target)


@pytest.mark.parametrize(
    ("correct", "wrong", "note"),
    [
        pytest.param(298, 0, "too few cases", id="one case less than 0.99 needs"),
        pytest.param(299, 0, "", id="exactly as many cases as 0.99 needs"),
        pytest.param(298, 1, "too few cases", id="one wrong value"),
        pytest.param(900, 100, "precision not reached", id="many wrong values"),
        pytest.param(0, 0, "too few cases", id="no case"),
        pytest.param(0, 400, "precision not reached", id="all wrong"),
    ],
)
def test_too_few_cases_are_said(correct, wrong, note):
    found = confidence_figures({(0.9, True): correct, (0.9, False): wrong}, [0.99])
    assert found.targets["0.99"].note == note
    assert (found.targets["0.99"].threshold is None) == bool(note)


def test_one_case_is_enough_for_a_precision_of_5_percent():
    found = confidence_figures({(0.9, False): 1}, [0.05])
    assert found.targets["0.05"].note == "precision not reached"


def test_curves_of_attributes_have_at_most_20_points():
    table, tally = AttributeTable(), ConfidenceTally()
    for number in range(1, 200):
        tally.add(*case(table, ("a", Outcome.MATCH, number / 200)))
    found = summarize_confidence(tally, ConfidenceOptions())
    assert len(found.attributes["a"].curve) == 20
    assert len(found.pooled.curve) == 100


def test_coverage_is_a_share_of_all_values_also_of_those_without_a_confidence():
    found = confidence_figures({(0.9, True): 300, (None, True): 100}, [0.99])
    assert (found.targets["0.99"].coverage, found.curve[-1].coverage) == (0.75, 0.75)


def test_undefined_figures_are_none():
    nothing = confidence_figures({})
    assert (nothing.precision, nothing.auroc, nothing.ece, nothing.brier) == (None,) * 4
    assert confidence_figures({(0.9, True): 3}).auroc is None
    assert confidence_figures({(None, True): 3}, [0.9]).targets["0.9"].coverage is None


def precision_of(kind, confidences):
    """Return the probability that a value is correct, by its confidence."""
    if kind == "calibrated":
        return confidences
    if kind == "overconfident":
        return confidences**2
    if kind == "just below the target":
        return np.full_like(confidences, 0.9499)
    return np.where(confidences > 0.9, 0.945, 0.96)  # worse at the top


@pytest.mark.parametrize(
    "kind",
    [
        "calibrated",
        *[
            pytest.param(kind, marks=pytest.mark.prove)
            for kind in ("overconfident", "just below the target", "worse at the top")
        ],
    ],
)
def test_the_chosen_threshold_reaches_the_precision_in_95_percent_of_simulations(kind):
    draw = np.random.default_rng(7)
    population = np.sort(draw.beta(20, 1, 400_000).round(3))
    right = precision_of(kind, population)
    # The precision of all values with at least a confidence.
    above = np.cumsum(right[::-1])[::-1] / np.arange(len(right), 0, -1)
    runs, fields, failed, chosen = 1_000, 800, 0, 0
    for _ in range(runs):
        confidences = draw.choice(population, fields)
        correct = draw.random(fields) < precision_of(kind, confidences)
        counts = Counter(zip(confidences.tolist(), correct.tolist(), strict=True))
        target = confidence_figures(counts, [0.95]).targets["0.95"]
        if target.threshold is not None:
            chosen += 1
            failed += above[np.searchsorted(population, target.threshold)] < 0.95
    assert failed <= 0.05 * runs
    if kind == "calibrated":
        assert chosen >= 0.9 * runs  # it must not keep its promise by promising nothing


def case(table, *fields):
    cells = [
        table.add(Attribute(path=path, comparator="exact")) << CELL_BITS
        | fact(outcome, Presence.VALUE, Presence.VALUE)
        for path, outcome, _ in fields
    ]
    return Outcomes(cells), table, {n: each[2] for n, each in enumerate(fields)}


def test_documents_pass_if_every_value_is_accepted():
    table, tally = AttributeTable(), ConfidenceTally()
    match, wrong, ignored = Outcome.MATCH, Outcome.WRONG_VALUE, Outcome.IGNORED
    for _ in range(100):
        tally.add(*case(table, ("a", match, 0.9), ("b", match, 0.99), ("c", ignored, 0.1)))
    tally.add(*case(table, ("a", match, 0.9), ("b", match, 0.5)))
    tally.add(*case(table, ("a", match, 0.9), ("b", match, None)))
    tally.add(*case(table, ("a", wrong, 0.9)))
    tally.add(Outcomes(), table, None)
    found = summarize_confidence(tally, ConfidenceOptions(precision=(0.95,)))
    target = found.pooled.targets["0.95"]
    assert (target.threshold, target.documents) == (0.5, (102, 102 / 104, 101))
    assert found.documents == 104
    assert found.pooled.without_confidence == 1
    assert "c" not in found.attributes


@given(RATED, st.integers(0, 60))
def test_parts_of_a_run_merge_exactly(rated, at):
    table, whole, parts = (
        AttributeTable(),
        ConfidenceTally(),
        (ConfidenceTally(), ConfidenceTally()),
    )
    outcomes = {True: Outcome.MATCH, False: Outcome.HALLUCINATION}
    for number, (confidence, right) in enumerate(rated):
        made = case(table, ("a" if right else "b", outcomes[right], confidence))
        whole.add(*made)
        parts[number >= at].add(*made)
    first, second = (ConfidenceTally.restored(each.state()) for each in parts)
    first.merge(second)
    assert (first.attributes, first.documents) == (whole.attributes, whole.documents)


def test_counts_of_a_partition_may_be_zero():
    tally = ConfidenceTally.restored([["", []], ["a", [[0.5, True, 0], [None, False, 2]]]])
    assert tally.attributes == {"a": {(0.5, True): 0, (None, False): 2}}


@pytest.mark.parametrize(
    "state", [[["", [[2.0, True, 1]]]], [["", [[0.5, 1, 1]]]], [["", [[0.5, True, -1]]]], [[1, []]]]
)
def test_invalid_counts_of_a_partition_are_refused(state):
    with pytest.raises(ValueError, match="confidence"):
        ConfidenceTally.restored(state)


@given(st.floats(0, 1), st.floats(0, 1))
def test_rounding_keeps_the_order_and_the_range(one, other):
    low, high = sorted((one, other))
    assert 0 <= rounded_confidence(low) <= rounded_confidence(high) <= 1
    assert rounded_confidence(rounded_confidence(one)) == rounded_confidence(one)
    assert abs(rounded_confidence(one) - one) <= 5e-5


def test_rounding_limits_the_number_of_confidences():
    steps = 3_000_000 if PROVING else 300_000
    rounded = {rounded_confidence(each / steps) for each in range(steps + 1)}
    assert len(rounded) <= 17_300
    assert rounded_confidence(0.999987654) == 0.9999877
