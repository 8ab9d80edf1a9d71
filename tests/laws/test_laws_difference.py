"""Properties of all pairs of runs: metrics agree with the summaries, and swapping runs is symmetric."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.metrics import difference
from fieldmark.metrics.bootstrap import CaseMatrix, ResampledMetrics, run_intervals
from fieldmark.metrics.case_sample import CaseRow, CaseSample, case_sums
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.conventions import (
    CONVENTIONS,
    BothEmpty,
    F1WhenNoMatch,
    OnError,
    WrongValue,
    ZeroRule,
)
from fieldmark.metrics.counts import total
from fieldmark.metrics.difference import (
    CaseInRun,
    DiffVerdict,
    PairedCases,
    ResamplingOptions,
    paired_metrics,
)
from fieldmark.metrics.patterns import BY_NAME, pattern_of
from fieldmark.metrics.quality import QualityCounts, QualityMetrics, bucket_table
from fieldmark.metrics.rates import wilson
from fieldmark.metrics.significance import ALPHA, holm, mcnemar
from fieldmark.metrics.summary import Resampling, summarize
from fieldmark.metrics.tally import Tally
from fieldmark.model.outcome import CELL_BITS, FACTS, Outcome, Presence
from fieldmark.model.outcomes import Attribute, AttributeTable, Outcomes
from json_strategies import any_json, document_pairs
from laws.possible_facts import POSSIBLE

PATHS = ("a", "b", "items[].x")
QUICK = ResamplingOptions(resamples=20, permutations=39)

NO_MATCH_UNDEFINED = CONVENTIONS["confusion"].with_options({"f1_when_no_match": "undefined"})
conventions = st.sampled_from([*CONVENTIONS.values(), NO_MATCH_UNDEFINED])
# Failed cases are not compared.
COMPARED = [code for code in POSSIBLE if FACTS[code].outcome is not Outcome.ERROR]
cases = st.lists(st.tuples(st.sampled_from(PATHS), st.sampled_from(COMPARED)), max_size=8)
runs = st.lists(cases, min_size=1, max_size=8)
paired_runs = st.lists(st.tuples(cases, cases), min_size=1, max_size=8)
chances = st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=8)


class Counted:
    """Cases counted as in a run."""

    def __init__(self, convention):
        self.convention = convention
        self.table = AttributeTable()
        self.counter = CaseCounter(convention, self.table)
        self.tally = Tally(self.table)

    def side(self, fields):
        cells = [
            self.table.add(Attribute(path=path, comparator="exact")) << CELL_BITS | code
            for path, code in fields
        ]
        block = Outcomes(cells=cells)
        stats = self.counter.stats(block)
        self.tally.add(block, stats)
        return CaseInRun(block=block, stats=stats, table=self.table)

    def summary(self):
        return summarize(self.tally, self.convention)


def compared(pairs_of_cases, convention, *, swap=False, margin=QUICK.margin):
    before, after = Counted(convention), Counted(convention)
    pairs = PairedCases()
    for number, (one, other) in enumerate(pairs_of_cases):
        first, second = (other, one) if swap else (one, other)
        pairs.add(str(number), before.side(first), after.side(second))
    effort = replace(QUICK, margin=margin)
    metrics = paired_metrics(pairs, before.table, after.table, convention.counting, effort)
    return metrics, before.summary(), after.summary()


def _reported(f1, convention):
    """Return an F1 of an array as a summary reports it."""
    if not np.isnan(f1) and (f1 or convention is not NO_MATCH_UNDEFINED):
        return f1
    return 0.0 if convention.counting.zero is ZeroRule.ZERO else None


@given(runs, conventions)
def test_first_resample_has_the_metrics_of_the_summary(run, convention):
    counted = Counted(convention)
    rows = []
    for fields in run:
        side = counted.side(fields)
        row = CaseRow()
        row.add(side.block, case_sums(side.stats))
        rows.append(row)
    matrix = CaseMatrix(rows, counted.table, convention.counting)
    once, draws, summary = (
        np.ones((1, len(rows))),
        ResampledMetrics(1),
        counted.summary(),
    )
    for columns in matrix.blocks():
        f1s = draws.add_attributes(once @ columns.tp, once @ columns.fp, once @ columns.fn)
        for path, f1 in zip(columns.paths, f1s[0], strict=True):
            assert _reported(f1, convention) == pytest.approx(summary.attributes[path].f1)
    headline = draws.metrics(once @ matrix.sums, convention.counting, by_case=False)
    micro = _reported(headline["micro_f1"][0], convention)
    assert micro == pytest.approx(summary.micro.f1)
    if summary.mean_score is not None and "mean_score" not in summary.flags:
        assert headline["mean_score"][0] == pytest.approx(summary.mean_score, abs=1e-6)
    if summary.macro.by_case.f1 is not None and not summary.macro.by_case.vacuous:
        assert headline["macro_f1_by_case"][0] == pytest.approx(summary.macro_f1_by_case, abs=1e-6)
    if summary.cases.scored and not summary.macro.by_attribute.vacuous:
        macro = headline["macro_f1_by_attribute"][0]
        assert macro == pytest.approx(summary.macro_f1_by_attribute)
    for name in ("completeness", "hallucination", "accuracy", "rqs"):
        if "vacuous" not in summary.flags.get(name, ()):
            assert headline[name][0] == pytest.approx(getattr(summary.quality, name))
    # The sum over cases equals the sum over all fields.
    fields = Counter(code for fields in run for _, code in fields)
    buckets = (
        total(fields, bucket_table(convention.counting.ignore_scope)) if fields else QualityCounts()
    )
    assert buckets.buckets() == summary.quality.buckets


@given(runs, conventions)
def test_intervals_contain_their_metrics_and_stay_in_bounds(run, convention):
    counted = Counted(convention)
    sample = CaseSample(counted.table)
    for number, fields in enumerate(run):
        side = counted.side(fields)
        sample.add(str(number), side.block, side.stats)
    summary = counted.summary()
    found = run_intervals(sample, summary, convention.counting, Resampling(resamples=20))
    for path, variations in found.attributes.items():
        rates = zip(variations.interval._fields, *variations, strict=True)
        for rate, interval, deviation in rates:
            if interval is not None:
                low, high = interval
                assert 0 <= low <= getattr(summary.attributes[path], rate) <= high <= 1
            assert deviation is None or 0 <= deviation <= 1
    quality = summary.quality
    estimates = {
        "mean_score": summary.mean_score,
        "macro_f1_by_attribute": summary.macro_f1_by_attribute,
        "macro_f1_by_case": summary.macro_f1_by_case,
        "micro_f1": summary.micro.f1,
        "micro_precision": summary.micro.precision,
        "micro_recall": summary.micro.recall,
        **{name: getattr(quality, name) for name in (*QualityMetrics._fields, "rqs")},
        "passed": summary.verdicts.passed / max(1, sum(summary.verdicts)),
        "perfect": summary.cases.perfect / max(1, summary.cases.scored),
    }
    assert found.metrics.keys() <= estimates.keys()
    for name, (low, high) in found.metrics.items():
        assert 0 <= low <= estimates[name] <= high <= 1


@given(runs, conventions)
def test_run_does_not_differ_from_itself(run, convention):
    metrics, _, _ = compared([(fields, fields) for fields in run], convention)
    for each in (*metrics.headline.values(), *metrics.attributes.values()):
        assert each.word is DiffVerdict.TOO_FEW
        assert each.p == 1.0
        assert not each.delta


@given(paired_runs, conventions)
def test_swapping_the_runs_negates_the_difference(pairs, convention):
    there, _, _ = compared(pairs, convention)
    back, _, _ = compared(pairs, convention, swap=True)
    for name, one in {**there.headline, **there.attributes}.items():
        other = {**back.headline, **back.attributes}[name]
        assert one.p == pytest.approx(other.p)
        assert (one.delta is None) == (other.delta is None)
        if one.delta is not None:
            assert one.delta == pytest.approx(-other.delta)


@given(paired_runs, conventions)
def test_before_and_after_are_the_metrics_of_the_runs(pairs, convention):
    metrics, before, after = compared(pairs, convention)
    for path, each in metrics.attributes.items():
        for value, summary in ((each.before, before), (each.after, after)):
            known = summary.attributes.get(path)
            assert (value or 0.0) == pytest.approx((known.f1 if known else 0.0) or 0.0)


@given(paired_runs)
def test_outcome_changes_by_order_equal_those_by_path(pairs):
    counted = Counted(CONVENTIONS["confusion"])
    for one, other in pairs:
        # A path occurs once in a document, unless it belongs to a list.
        sides = [counted.side(dict(fields).items()) for fields in (one, other)]
        before, after = sides
        records = [list(side.block.records(side.table)) for side in sides]
        old, new = (
            {(r.path, r.expected_presence is Presence.ABSENT): r.outcome.label for r in side}
            for side in records
        )
        pairs_of_outcomes = (
            (old.get(place, "absent"), new.get(place, "absent")) for place in {**old, **new}
        )
        apart = Counter(pair for pair in pairs_of_outcomes if pair[0] != pair[1])
        other_table = after._replace(table=copy(after.table))
        assert by_outcomes(difference._outcome_changes(before, other_table)) == apart
        changed_truth = any(
            a.expected_presence != b.expected_presence for a, b in zip(*records, strict=False)
        )
        assert changed_truth or by_outcomes(difference._outcome_changes(before, after)) == apart


def by_outcomes(changes):
    return Counter((change.before, change.after) for change in changes)


@given(chances)
def test_holm_adjustment_never_lowers_a_p_value(found):
    adjusted = holm(found)
    assert set(adjusted) == set(found)
    for name, chance in found.items():
        assert chance <= adjusted[name] <= 1
    ranked = sorted(found, key=lambda name: (found[name], adjusted[name]))
    assert [adjusted[name] for name in ranked] == sorted(adjusted.values())


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_symmetric(fixed, regressed):
    assert mcnemar(fixed, regressed) == mcnemar(regressed, fixed)
    assert 0 < mcnemar(fixed, regressed) <= 1


@given(st.integers(0, 200), st.integers(0, 200))
def test_share_lies_in_its_interval(part, more):
    whole = part + more
    interval = wilson(part, whole)
    assert (interval is None) == (whole == 0)
    if interval is not None:
        assert 0 <= interval[0] <= part / whole <= interval[1] <= 1


@given(any_json, any_json)
def test_every_pair_of_values_has_a_pattern(expected, candidate):
    assert pattern_of(expected, candidate) in BY_NAME


COUNTINGS = st.fixed_dictionaries(
    {},
    optional={
        "wrong_value": st.sampled_from([each.value for each in WrongValue]),
        "zero": st.sampled_from([each.value for each in ZeroRule]),
        "f1_when_no_match": st.sampled_from([each.value for each in F1WhenNoMatch]),
        "both_empty": st.sampled_from([each.value for each in BothEmpty]),
        "on_error": st.sampled_from([each.value for each in OnError]),
        "graded": st.booleans(),
        "pass_threshold": st.sampled_from([None, 0.5, 0.9]),
    },
)


@given(st.lists(document_pairs(), min_size=1, max_size=4), COUNTINGS)
def test_recounted_run_equals_the_run_counted_with_that_convention(
    tmp_path_factory, documents, options
):
    directory = tmp_path_factory.mktemp("rescored")
    run = fm.score(documents, out=directory / "run")
    again = fm.rescore(run, options=options, out=directory / "again")
    start = fm.score(documents, options=options, out=directory / "start")
    assert again.to_dict() == start.to_dict()
    for name in ("results.jsonl", "attributes.jsonl"):
        one, other = (directory / each / name for each in ("again", "start"))
        assert one.read_bytes() == other.read_bytes()
    assert fm.diff(directory / "again", directory / "start").main.differing == 0


@st.composite
def paired_samples(draw):
    """Cases of two runs: few or many, of few kinds, so that many of them are ties."""
    kinds = draw(st.lists(st.tuples(cases, cases), min_size=1, max_size=4))
    times = draw(st.lists(st.integers(1, 15), min_size=len(kinds), max_size=len(kinds)))
    return [kind for kind, number in zip(kinds, times, strict=True) for _ in range(number)]


@given(paired_samples(), conventions, st.sampled_from([0.0, 0.01, 0.3]))
def test_interval_p_value_and_verdict_never_contradict_each_other(pairs, convention, margin):
    metrics, _, _ = compared(pairs, convention, margin=margin)
    families = (metrics.headline, metrics.attributes)
    for change in (change for family in families for change in family.values()):
        if change.delta is None:
            assert (change.interval, change.word) == (None, DiffVerdict.TOO_FEW)
            continue
        low, high = change.interval
        assert -1 <= low <= change.delta <= high <= 1
        assert low < high or change.delta in (-1, 1)
        assert (low <= 0 <= high) is (change.adjusted > ALPHA)
        assert change.p <= change.adjusted
        if change.p > ALPHA:
            assert low <= 0 <= high
        if max(-low, high) <= margin:
            assert change.word is DiffVerdict.EQUIVALENT
        elif change.adjusted <= ALPHA:
            assert change.word is (DiffVerdict.BETTER if change.gain > 0 else DiffVerdict.WORSE)
        else:
            assert change.word in (DiffVerdict.NOT_PROVEN, DiffVerdict.TOO_FEW)
        if 2 ** (1 - change.differing) > ALPHA:
            assert change.word in (DiffVerdict.TOO_FEW, DiffVerdict.EQUIVALENT)
        elif change in metrics.headline.values():
            assert change.word is not DiffVerdict.TOO_FEW
        assert (change.cases_needed or 10**9) > 0


def nulls():
    path = Path(__file__).parents[2] / "benchmarks" / "nulls.py"
    spec = importlib.util.spec_from_file_location("nulls", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # for its dataclass
    spec.loader.exec_module(module)
    return module


def test_equal_runs_rarely_differ_and_a_shift_is_significant():
    """A few trials; `python -m benchmarks.nulls` prints the rates of many."""
    simulated = nulls()
    overall, attribute, _ = simulated.significant_shares(simulated.USUAL, simulated.USUAL, 60, 25)
    assert max(overall, attribute) <= ALPHA + simulated.slack(25)
    _, _, found = simulated.significant_shares(simulated.USUAL, simulated.SHIFTED, 400, 5)
    assert found >= 0.8


@pytest.mark.parametrize("population", ["usual", "easy", "some fail", "optional"])
@pytest.mark.parametrize("cases", [4, 8, 20])
def test_intervals_of_few_cases_contain_the_true_metrics(monkeypatch, population, cases):
    """A few trials: resamples without a further case would contain the truth in 62% of them."""
    simulated = nulls()
    monkeypatch.setattr(simulated, "TRUTH_CASES", 3_000)
    covered = simulated.coverage(simulated.POPULATIONS[population], cases, 60)
    assert len(covered) == 17
    assert min(covered.values()) >= 1 - ALPHA - simulated.slack(60)


def test_intervals_of_differences_contain_the_true_differences(monkeypatch):
    simulated = nulls()
    monkeypatch.setattr(simulated, "TRUTH_CASES", 3_000)
    covered = simulated.difference_coverage(simulated.USUAL, simulated.SHIFTED, 12, 60)
    assert min(covered.values()) >= 1 - ALPHA - simulated.slack(60)
