"""The sample of a run is bounded, and does not depend on order or partition of its cases."""

from __future__ import annotations

import pickle

import pytest
from metrics_cells import block_of
from sampled_runs import Run, drawn

from fieldmark.metrics.case_sample import STEP, CaseSample, Threshold, steps
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.conventions import DEFAULT_CONVENTION
from fieldmark.model.outcome import CELL_BITS
from fieldmark.model.outcomes import AttributeTable


def test_parts_with_a_shared_threshold_contain_the_sample_of_the_whole():
    cases = drawn(900)
    whole = Run(cases, limit=64)
    parts = [Run(cases[start : start + 100], limit=64) for start in range(0, 900, 100)]
    shared = Threshold(64)
    merged, sent = CaseSample(AttributeTable(), limit=64), 0
    for part in parts:
        sample = CaseSample(part.table, threshold=shared)
        sample.merge(part.sample)
        sent += len(sample.rows())
        merged.merge(pickle.loads(pickle.dumps(sample)))  # noqa: S301 - made in this line
    assert [row.id for row in merged.rows()] == [row.id for row in whole.sample.rows()]
    assert merged.cases == 900
    assert sent < 5 * 64


def test_cases_are_added_one_by_one_or_many_at_a_time():
    run = Run(drawn(900), limit=64)
    counter = CaseCounter(run.convention, run.table)
    blocks = [block_of(fields, run.table) for _, fields in drawn(900)]
    sample = CaseSample(run.table, limit=64)
    for start in range(0, 900, 300):
        part = slice(start, start + 300)
        ids = [name for name, _ in drawn(900)[part]]
        sample.add_all(ids, blocks[part], [*map(counter.stats, blocks[part])])
    assert sample.cases == 900
    assert sample.rows() == run.sample.rows()


def test_long_case_is_sampled_whether_or_not_its_cells_were_counted():
    table = AttributeTable()
    counted, other = (block_of([("a", "match"), ("b", "wrong")] * 40, table) for _ in range(2))
    stats = CaseCounter(DEFAULT_CONVENTION, table).stats(counted)
    samples = [CaseSample(table), CaseSample(table)]
    for sample, block in zip(samples, (counted, other), strict=True):
        sample.add("case", block, stats)
    [row], [other_row] = (sample.rows() for sample in samples)
    assert row == other_row
    assert row.times.tolist() == [40, 40]


def test_merged_sample_keeps_the_attributes_of_its_cases():
    sample = Run([("1", [("a", "match"), ("b", "wrong")])]).sample
    sample.merge(Run([("2", [("b", "match"), ("c", "wrong")])]).sample)
    paths = [attribute.path for attribute in sample.table.attributes]
    assert {row.id: [paths[cell >> CELL_BITS] for cell in row.cells] for row in sample.rows()} == {
        "1": ["a", "b"],
        "2": ["b", "c"],
    }


def test_sample_is_bounded_and_contains_small_runs_completely():
    assert len(Run(drawn(64), limit=64).sample.rows()) == 64
    sample = Run(drawn(2000), limit=64).sample
    assert 16 <= len(sample.rows()) <= 64
    assert sample.cases == 2000


def test_rows_are_in_random_order():
    draws = [row.draw for row in Run(drawn(64), limit=64).sample.rows()]
    assert draws == sorted(draws)


def test_equal_ids_empty_the_sample_without_an_error():
    run = Run([("same", [("a", "match")])] * 100, limit=10)
    assert len(run.sample.rows()) <= 100
    run.intervals()


def test_ids_with_lone_surrogates_are_sampled():
    assert len(Run([("\ud800", [("a", "match")]), ("b", [("a", "match")])]).sample.rows()) == 2


@pytest.mark.parametrize("score", [0.8, 1 / 3, 0.1 + 0.2, 1.0, 0.0])
def test_steps_of_a_score_are_as_fine_as_scores_are_compared(score):
    assert steps(score) / STEP == pytest.approx(score, abs=1e-12)
