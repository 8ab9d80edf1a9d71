"""Properties of all lists of outcomes: counts add up, parts merge, metrics stay in bounds."""

from __future__ import annotations

from math import isfinite
from operator import add

from hypothesis import given
from hypothesis import strategies as st

from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.conventions import CONVENTIONS, CountingOptions, RqsForm, RqsWeights
from fieldmark.metrics.counts import ERROR_TABLE, cost_table, total, truth_fields
from fieldmark.metrics.quality import QualityCounts, bucket_table, quality
from fieldmark.metrics.rates import ExactSum, macro_mean
from fieldmark.metrics.summary import summarize
from fieldmark.metrics.tally import Tally
from fieldmark.model.case import CaseInput
from fieldmark.model.comparison import Comparison
from fieldmark.model.counts import Counts
from fieldmark.model.outcome import CELL_BITS, FACTS, Outcome, Presence
from fieldmark.model.outcomes import Attribute, AttributeTable, Outcomes
from laws.possible_facts import IGNORED, POSSIBLE

FACT_CODES = [*POSSIBLE, *IGNORED]
WITHOUT_ERRORS = [code for code in FACT_CODES if FACTS[code].outcome is not Outcome.ERROR]
PATHS = ("a", "b", "items[].x", "items[].y", "z")

conventions = st.sampled_from(sorted(CONVENTIONS)).map(CONVENTIONS.__getitem__)
attributes = st.tuples(st.sampled_from([0.0, 0.1, 1.0, 2.5]), st.booleans())
tables = st.lists(attributes, min_size=len(PATHS), max_size=len(PATHS))
facts = st.sampled_from(FACT_CODES)
fields = st.tuples(st.integers(0, len(PATHS) - 1), facts)
case_fields = st.lists(fields, max_size=12)
runs = st.lists(case_fields, max_size=8)
inputs = st.sampled_from([CaseInput.OK, CaseInput.OK, CaseInput.MISSING, CaseInput.PARSE_ERROR])


def table_of(settings, order=PATHS):
    by_path = dict(zip(PATHS, settings, strict=True))
    table = AttributeTable()
    for path in order:
        weight, required = by_path[path]
        table.add(Attribute(path=path, comparator="exact", weight=weight, required=required))
    return table


def tally_of(run, convention, settings, order=PATHS):
    table = table_of(settings, order)
    counter, tally = CaseCounter(convention, table), Tally(table)
    for case in run:
        number = {path: place for place, path in enumerate(order)}
        cells = [number[PATHS[place]] << CELL_BITS | fact for place, fact in case]
        block = Outcomes(cells=cells)
        tally.add(block, counter.stats(block))
    return tally


def content(tally):
    return tally.facts(), tally.sums()


def counted(codes):
    numbers = {}
    for code in codes:
        numbers[code] = numbers.get(code, 0) + 1
    return numbers


@given(conventions, st.lists(facts), st.lists(facts))
def test_counting_two_halves_equals_counting_the_whole(convention, left, right):
    for table in (cost_table(convention.counting), ERROR_TABLE):
        parts = total(counted(left), table), total(counted(right), table)
        assert parts[0] + parts[1] == total(counted(left + right), table)
    buckets = bucket_table(convention.counting.ignore_scope)
    parts = total(counted(left), buckets), total(counted(right), buckets)
    assert QualityCounts(*map(add, *parts)) == total(counted(left + right), buckets)


@given(conventions, tables, runs, st.integers(0, 8), st.permutations(PATHS))
def test_any_partition_of_a_run_merges_into_the_same_tally(convention, settings, run, cut, order):
    whole = tally_of(run, convention, settings)
    merged = tally_of(run[:cut], convention, settings)
    merged.merge(tally_of(run[cut:], convention, settings, order))
    assert content(merged) == content(whole)
    assert summarize(merged, convention) == summarize(whole, convention)


@given(conventions, tables, runs, runs, runs)
def test_merging_is_associative_and_commutative(convention, settings, one, two, three):
    def tally(run):
        return tally_of(run, convention, settings)

    left, tail = tally(one), tally(two)
    left.merge(tally(two))
    left.merge(tally(three))
    tail.merge(tally(three))
    right = tally(one)
    right.merge(tail)
    backwards = tally(three)
    backwards.merge(tally(two))
    backwards.merge(tally(one))
    assert content(left) == content(right) == content(backwards)


@given(conventions, tables, runs)
def test_merging_an_empty_tally_changes_nothing(convention, settings, run):
    tally = tally_of(run, convention, settings)
    tally.merge(Tally(AttributeTable()))
    assert content(tally) == content(tally_of(run, convention, settings))


@given(st.sampled_from(["confusion", "taxonomy"]), st.lists(facts))
def test_each_scored_truth_field_is_a_true_positive_or_a_false_negative(name, codes):
    counts = total(counted(codes), cost_table(CONVENTIONS[name].counting))
    scored = [
        code
        for code in codes
        if FACTS[code].expected is Presence.VALUE
        and FACTS[code].outcome not in {Outcome.IGNORED, Outcome.ERROR}
    ]
    assert counts.tp + counts.fn == len(scored)
    assert truth_fields(counts.tp, total(counted(codes), ERROR_TABLE)) == len(scored)


@given(st.lists(facts))
def test_every_key_falls_into_exactly_one_bucket(codes):
    buckets = total(counted(codes), bucket_table(CountingOptions().ignore_scope))
    nowhere = [c for c in codes if not FACTS[c].expected and not FACTS[c].candidate]
    assert buckets.distinct == len(codes) - len(nowhere)


@given(conventions, tables, runs)
def test_attributes_add_up_to_the_pooled_counts(convention, settings, run):
    summary = summarize(tally_of(run, convention, settings), convention)
    for name in ("tp", "tn", "fp", "fn"):
        parts = sum(getattr(each, name) for each in summary.attributes.values())
        assert parts == getattr(summary.micro, name)
    for name in summary.errors_by_type._fields:
        parts = sum(getattr(each.errors_by_type, name) for each in summary.attributes.values())
        assert parts == getattr(summary.errors_by_type, name)


@given(conventions, tables, case_fields, inputs, st.data())
def test_scores_are_finite_and_between_zero_and_one(convention, settings, case, read, data):
    cells = [place << CELL_BITS | fact for place, fact in case]
    similarities = data.draw(st.lists(st.floats(0, 1), min_size=len(cells), max_size=len(cells)))
    comparisons = {
        position: Comparison.graded(similarity, 0.0)
        for position, (cell, similarity) in enumerate(zip(cells, similarities, strict=True))
        if FACTS[cell & 0x7F].outcome is Outcome.MATCH
    }
    block = Outcomes(cells=cells, comparisons=comparisons)
    counter = CaseCounter(convention, table_of(settings))
    stats = counter.stats(block, unreadable=read is not CaseInput.OK)
    for metric in (stats.precision, stats.recall, stats.f1, stats.score):
        assert metric is None or (isfinite(metric) and 0 <= metric <= 1)
    failed = any(FACTS[cell & 0x7F].outcome is Outcome.ERROR for cell in cells)
    assert (stats.score is None) is (stats.verdict is None) is failed


@given(tables, st.lists(st.tuples(st.integers(0, 4), st.sampled_from(WITHOUT_ERRORS)), max_size=30))
def test_fast_macro_f1_of_a_case_is_the_mean_over_its_attributes(settings, case):
    convention = CONVENTIONS["confusion"]
    block = Outcomes(cells=[place << CELL_BITS | fact for place, fact in case])
    stats = CaseCounter(convention, table_of(settings)).stats(block)
    costs = cost_table(convention.counting)
    groups = [
        total(counted(fact for place, fact in case if place == number), costs)
        for number in range(len(PATHS))
    ]
    mean = macro_mean(groups, convention.counting)
    assert stats.score == mean.f1
    assert stats.counts == sum(groups, Counts())


@given(
    st.lists(facts),
    st.builds(
        RqsWeights,
        **{name: st.floats(0, 2) for name in RqsWeights.__dataclass_fields__},
    ),
    st.sampled_from(RqsForm),
    st.none() | st.floats(0, 1),
)
def test_response_quality_never_exceeds_its_maximum(codes, weights, form, safety):
    counting = CountingOptions(rqs_weights=weights, rqs_form=form)
    metrics = quality(total(counted(codes), bucket_table(counting.ignore_scope)), counting, safety)
    known = [metric for metric in metrics[:5] if metric is not None]
    assert all(0 <= metric <= 1 for metric in known)
    assert metrics.rqs is None or metrics.rqs <= metrics.rqs_max
    assert metrics.rqs_max <= 1
    failed = any(FACTS[code].outcome is Outcome.ERROR for code in codes)
    assert failed or len(known) == len(metrics[:5])


@given(st.lists(st.floats(0, 1), min_size=1), st.randoms())
def test_exact_mean_does_not_depend_on_the_order(values, random):
    shuffled = list(values)
    random.shuffle(shuffled)
    whole = ExactSum.of((value, 1) for value in values)
    parts = sum((ExactSum.of([(value, 1)]) for value in shuffled), ExactSum())
    assert whole == parts
    assert min(values) <= whole.mean <= max(values)
