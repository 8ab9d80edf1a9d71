"""What holds for every pair of runs: figures agree with their owners, and nothing takes sides."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.metrics import difference
from fieldmark.metrics.bootstrap import CaseMatrix, ResampledFigures, run_intervals
from fieldmark.metrics.case_sample import CaseRow, CaseSample, row_means
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.conventions import CONVENTIONS, BothEmpty, OnError, WrongValue, ZeroRule
from fieldmark.metrics.difference import (
    CaseInRun,
    DiffVerdict,
    PairedCases,
    ResamplingOptions,
    paired_figures,
)
from fieldmark.metrics.patterns import BY_NAME, pattern_of
from fieldmark.metrics.quality import QualityCounts, QualityFigures
from fieldmark.metrics.rates import wilson
from fieldmark.metrics.significance import ALPHA, holm, mcnemar
from fieldmark.metrics.summary import summarise
from fieldmark.metrics.tally import Tally
from fieldmark.model.outcome import CELL_BITS, FACTS, Outcome, Presence
from fieldmark.model.outcomes import Attribute, AttributeTable, Outcomes
from json_strategies import any_json, document_pairs

VALUE = Presence.VALUE
BY_PRESENCE = {
    (True, True): {Outcome.MATCH, Outcome.WRONG_VALUE, Outcome.FORMAT_ERROR, Outcome.ERROR},
    (True, False): {Outcome.OMISSION},
    (False, True): {Outcome.HALLUCINATION},
    (False, False): {Outcome.BOTH_EMPTY},
}
POSSIBLE = [
    code
    for code, fact in enumerate(FACTS)
    if fact.outcome in BY_PRESENCE[fact.expected is VALUE, fact.candidate is VALUE]
]
PATHS = ("a", "b", "items[].x")
QUICK = ResamplingOptions(resamples=20, permutations=39)

conventions = st.sampled_from(sorted(CONVENTIONS)).map(CONVENTIONS.__getitem__)
cases = st.lists(st.tuples(st.sampled_from(PATHS), st.sampled_from(POSSIBLE)), max_size=8)
runs = st.lists(cases, min_size=1, max_size=8)
paired_runs = st.lists(st.tuples(cases, cases), min_size=1, max_size=8)
chances = st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=8)


class Counted:
    """Cases as a run counts them."""

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
        return summarise(self.tally, self.convention)


def compared(pairs_of_cases, convention, *, swap=False):
    before, after = Counted(convention), Counted(convention)
    pairs = PairedCases()
    for number, (one, other) in enumerate(pairs_of_cases):
        first, second = (other, one) if swap else (one, other)
        pairs.add(str(number), before.side(first), after.side(second))
    figures = paired_figures(pairs, before.table, after.table, convention.counting, QUICK)
    return figures, before.summary(), after.summary()


@given(runs, conventions)
def test_figures_that_are_drawn_are_those_of_the_summary(run, convention):
    counted = Counted(convention)
    rows = []
    for fields in run:
        side = counted.side(fields)
        row = CaseRow()
        row.add(side.block.times or {cell: side.block.cells.count(cell) for cell in side.block.cells},
                row_means(side.stats))  # fmt: skip
        rows.append(row)
    matrix = CaseMatrix(rows, counted.table, convention.counting)
    once, draws, summary = np.ones((1, len(rows))), ResampledFigures(1), counted.summary()
    for columns in matrix.blocks():
        f1s = draws.add_attributes(once @ columns.tp, once @ columns.fp, once @ columns.fn)
        for path, f1 in zip(columns.paths, f1s[0], strict=True):
            assert np.nan_to_num(f1) == pytest.approx(summary.attributes[path].f1 or 0.0)
    headline = draws.headline(once @ matrix.means)
    assert np.nan_to_num(headline["micro_f1"][0]) == pytest.approx(summary.micro.f1 or 0.0)
    if summary.mean_score is not None:
        assert headline["mean_score"][0] == pytest.approx(summary.mean_score, abs=1e-6)
    if summary.macro.by_case.f1 is not None and not summary.macro.by_case.vacuous:
        assert headline["macro_f1_by_case"][0] == pytest.approx(summary.macro_f1_by_case, abs=1e-6)
    if summary.cases.scored and not summary.macro.by_attribute.vacuous:
        macro = headline["macro_f1_by_attribute"][0]
        assert macro == pytest.approx(summary.macro_f1_by_attribute)
    buckets = QualityCounts(*(once @ matrix.buckets())[0].astype(int).tolist())
    assert buckets.buckets() == summary.quality.buckets


@given(runs, conventions)
def test_intervals_hold_their_figures_and_stay_in_bounds(run, convention):
    counted = Counted(convention)
    sample = CaseSample(counted.table)
    for number, fields in enumerate(run):
        side = counted.side(fields)
        sample.add(str(number), side.block, side.stats)
    summary = counted.summary()
    found = run_intervals(sample, summary, convention.counting, resamples=20)
    for path, (low, high) in found.attributes.items():
        assert 0 <= low <= summary.attributes[path].f1 <= high <= 1
    quality = summary.quality
    estimates = {
        "mean_score": summary.mean_score,
        "macro_f1_by_attribute": summary.macro_f1_by_attribute,
        "macro_f1_by_case": summary.macro_f1_by_case,
        "micro_f1": summary.micro.f1,
        "micro_precision": summary.micro.precision,
        "micro_recall": summary.micro.recall,
        **{name: getattr(quality, name) for name in QualityFigures._fields},
        "passed": summary.verdicts.passed / max(1, sum(summary.verdicts)),
        "perfect": summary.cases.perfect / max(1, summary.cases.scored),
    }
    assert found.figures.keys() <= estimates.keys()
    for name, (low, high) in found.figures.items():
        assert 0 <= low <= estimates[name] <= high <= 1


@given(runs, conventions)
def test_a_run_and_itself_are_no_difference(run, convention):
    figures, _, _ = compared([(fields, fields) for fields in run], convention)
    for each in (*figures.headline.values(), *figures.attributes.values()):
        assert each.word is DiffVerdict.SAME
        assert each.p == 1.0
        assert not each.delta


@given(paired_runs, conventions)
def test_exchanging_the_runs_turns_the_difference_round(pairs, convention):
    there, _, _ = compared(pairs, convention)
    back, _, _ = compared(pairs, convention, swap=True)
    for name, one in {**there.headline, **there.attributes}.items():
        other = {**back.headline, **back.attributes}[name]
        assert one.p == pytest.approx(other.p)
        assert (one.delta is None) == (other.delta is None)
        if one.delta is not None:
            assert one.delta == pytest.approx(-other.delta)


@given(paired_runs, conventions)
def test_before_and_after_are_the_figures_of_the_runs(pairs, convention):
    figures, before, after = compared(pairs, convention)
    for path, each in figures.attributes.items():
        for value, summary in ((each.before, before), (each.after, after)):
            known = summary.attributes.get(path)
            assert (value or 0.0) == pytest.approx((known.f1 if known else 0.0) or 0.0)


@given(paired_runs)
def test_shifts_are_the_same_found_by_order_or_by_path(pairs):
    counted = Counted(CONVENTIONS["confusion"])
    for one, other in pairs:
        # A path stands once in a document, unless it belongs to a list.
        sides = [counted.side(dict(fields).items()) for fields in (one, other)]
        old, new = (difference._outcomes(side) for side in sides)
        by_path = Counter(
            (old.get(place, "nothing"), new.get(place, "nothing")) for place in {**old, **new}
        )
        apart = Counter({pair: n for pair, n in by_path.items() if pair[0] != pair[1]})
        if not difference._same_fields(*sides):
            assert difference._outcome_changes(*sides) == apart
            continue
        found = difference._outcome_changes(*sides)
        changed_truth = any(a.expected_presence != b.expected_presence
                            for a, b in zip(*(s.block.records(s.table) for s in sides), strict=True))  # fmt: skip
        assert changed_truth or found == apart


@given(chances)
def test_many_tests_never_make_a_chance_smaller(found):
    adjusted = holm(found)
    assert set(adjusted) == set(found)
    for name, chance in found.items():
        assert chance <= adjusted[name] <= 1
    ranked = sorted(found, key=lambda name: (found[name], adjusted[name]))
    assert [adjusted[name] for name in ranked] == sorted(adjusted.values())


@given(st.integers(0, 60), st.integers(0, 60))
def test_changed_cases_take_no_side(fixed, broken):
    assert mcnemar(fixed, broken) == mcnemar(broken, fixed)
    assert 0 < mcnemar(fixed, broken) <= 1


@given(st.integers(0, 200), st.integers(0, 200))
def test_a_share_lies_in_its_interval(part, more):
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
        "both_empty": st.sampled_from([each.value for each in BothEmpty]),
        "on_error": st.sampled_from([each.value for each in OnError]),
        "graded": st.booleans(),
        "pass_threshold": st.sampled_from([None, 0.5, 0.9]),
    },
)


@given(st.lists(document_pairs(), min_size=1, max_size=4), COUNTINGS)
def test_a_run_counted_again_is_the_run_counted_like_that_from_the_start(
    tmp_path_factory, documents, options
):
    folder = tmp_path_factory.mktemp("rescored")
    run = fm.score(documents, out=folder / "run")
    again = fm.rescore(run, options=options, out=folder / "again")
    start = fm.score(documents, options=options, out=folder / "start")
    assert again.to_dict() == start.to_dict()
    for name in ("results.jsonl", "attributes.jsonl"):
        one, other = (folder / each / name for each in ("again", "start"))
        assert one.read_bytes() == other.read_bytes()
    assert fm.diff(folder / "again", folder / "start").word is DiffVerdict.SAME


def nulls():
    path = Path(__file__).parents[2] / "benchmarks" / "nulls.py"
    spec = importlib.util.spec_from_file_location("nulls", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_equal_runs_are_seldom_told_apart_and_a_shift_is_found():
    """A small slice; `python -m benchmarks.nulls` prints the rates of many trials."""
    simulated = nulls()
    overall, attribute, _ = simulated.alarms(simulated.USUAL, simulated.USUAL, 60, 25)
    assert max(overall, attribute) <= ALPHA + simulated.slack(25)
    _, _, found = simulated.alarms(simulated.USUAL, simulated.SHIFTED, 400, 5)
    assert found >= 0.8
