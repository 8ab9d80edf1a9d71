"""The bounds of a run with failed cases contain its metrics for every outcome they might have had."""

import copy
import itertools
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.conventions import CONVENTIONS, Convention, OnError
from fieldmark.metrics.summary import Summary, summarize, summary_from_json, summary_to_json
from fieldmark.metrics.tally import Tally
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, FACTS, Outcome, Presence, fact
from fieldmark.model.outcomes import Attribute, AttributeTable, Outcomes
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.failed_cases import add_results

V, N, A = Presence.VALUE, Presence.NULL, Presence.ABSENT
MATCH, WRONG, TYPE = (
    fact(o, V, V) for o in (Outcome.MATCH, Outcome.WRONG_VALUE, Outcome.FORMAT_ERROR)
)
OMITTED, EXTRA, EMPTY = (
    fact(Outcome.OMISSION, V, A),
    fact(Outcome.HALLUCINATION, A, V),
    fact(Outcome.BOTH_EMPTY, N, N),
)
FAILED = fact(Outcome.ERROR, V, V)
UNKNOWN, UNKNOWN_EMPTY = fact(Outcome.ERROR, V, A), fact(Outcome.ERROR, N, A)
COMPLETIONS = {
    FAILED: (MATCH, WRONG, TYPE),
    UNKNOWN: (MATCH, WRONG, TYPE, OMITTED),
    UNKNOWN_EMPTY: (fact(Outcome.BOTH_EMPTY, N, A), fact(Outcome.HALLUCINATION, N, V)),
}
ATTRIBUTES = 3
MOST_COMPLETIONS = 250

compared = st.sampled_from([MATCH, MATCH, WRONG, TYPE, OMITTED, EXTRA, EMPTY])
fields = st.lists(
    st.tuples(st.integers(0, ATTRIBUTES - 1), compared | st.just(FAILED)), min_size=1, max_size=4
)
unknown = st.lists(
    st.tuples(st.integers(0, ATTRIBUTES - 1), st.sampled_from([UNKNOWN, UNKNOWN_EMPTY])),
    min_size=1,
    max_size=3,
)
runs = st.lists(
    st.tuples(st.just(CaseInput.OK), fields) | st.tuples(st.just(CaseInput.FAILED), unknown),
    max_size=5,
)
conventions = st.sampled_from(sorted(CONVENTIONS)).map(CONVENTIONS.__getitem__)


def results_of(run: Sequence[tuple[CaseInput, list]], convention: Convention) -> list[CaseResult]:
    table = AttributeTable()
    for number in range(ATTRIBUTES):
        table.add(Attribute(path=f"a{number}", comparator="exact", weight=float(number)))
    counter = CaseCounter(convention, table)
    results = []
    for number, (read, own) in enumerate(run):
        outcomes = Outcomes([attribute << CELL_BITS | code for attribute, code in own])
        stats = counter.stats(outcomes)
        if read is CaseInput.FAILED:
            stats = stats._replace(
                score=None, verdict=None, errors_count=max(1, stats.errors_count)
            )
        case = Case(str(number), {}, {}, read)
        results.append(CaseResult(case, outcomes, stats, table, convention))
    return results


def counted(results: Sequence[CaseResult]) -> Tally:
    tally = Tally(results[0].attributes if results else AttributeTable())
    add_results(tally, results)
    return tally


def completions(results: Sequence[CaseResult]) -> Iterator[list[CaseResult]]:
    """Return the run with every combination of outcomes of its failed fields."""
    choices = [
        [(index, position, chosen) for chosen in COMPLETIONS[cell & FACT_MASK]]
        for index, result in enumerate(results)
        for position, cell in enumerate(result.outcomes.cells)
        if cell & FACT_MASK in COMPLETIONS
    ]
    for combination in itertools.islice(itertools.product(*choices), MOST_COMPLETIONS):
        completed = [copy.copy(result) for result in results]
        for index, position, chosen in combination:
            before = completed[index].outcomes.cells
            cells = [*before]
            cells[position] = cells[position] >> CELL_BITS << CELL_BITS | chosen
            completed[index].outcomes = Outcomes(cells)
        for result in completed:
            counter = CaseCounter(result.convention, result.attributes)
            result.stats = counter.stats(result.outcomes)
            result.case = result.case._replace(input=CaseInput.OK)
        yield completed


def assert_within(low: object, high: object, value: object, path: str) -> None:
    if isinstance(low, dict):
        assert isinstance(high, dict)
        assert isinstance(value, dict)
        for key in low:
            if key in value:
                assert_within(low[key], high[key], value[key], f"{path}.{key}")
    elif value is not None and not isinstance(value, bool):
        assert low is not None, path
        assert high is not None, path
        assert low - 1e-12 <= value <= high + 1e-12, path


@given(runs, conventions)
def test_every_completion_of_failed_cases_lies_within_the_bounds(run, convention):
    results = results_of(run, convention)
    summary = summarize(counted(results), convention)
    if not any(result.stats.failed for result in results):
        assert summary.bounds is None
        return
    assert summary.bounds is not None
    bounds = summary_to_json(summary)["bounds"]
    for completed in completions(results):
        own = summary_to_json(summarize(counted(completed), convention))
        assert_within(bounds["low"], bounds["high"], own, "")


@given(runs, conventions)
def test_failed_cases_are_in_no_metric(run, convention):
    results = results_of(run, convention)
    scored = [result for result in results if not result.stats.failed]
    summary = summary_to_json(summarize(counted(results), convention))
    alone = summary_to_json(summarize(counted(scored), convention))
    for name in ("verdicts", "micro", "macro", "mean_score", "errors_by_type"):
        assert summary[name] == alone[name]
    for path, metrics in alone["attributes"].items():
        assert {**summary["attributes"][path], "errors": 0} == metrics
    if scored:
        assert summary["quality"] == alone["quality"]
    assert summary["cases"]["errors"] == len(results) - len(scored)


@given(runs, conventions, st.integers(0, 5))
def test_parts_of_a_run_with_failed_cases_merge_into_the_whole(run, convention, cut):
    results = results_of(run, convention)
    whole = summarize(counted(results), convention)
    first, second = counted(results[:cut]), counted(results[cut:])
    merged = Tally(AttributeTable())
    for part in (first, second):
        merged.merge(copy.deepcopy(part))
    assert summary_to_json(summarize(merged, convention)) == summary_to_json(whole)


@given(runs, conventions)
def test_bounds_are_read_as_they_are_written(run, convention):
    summary: Summary = summarize(counted(results_of(run, convention)), convention)
    assert summary_from_json(summary_to_json(summary)).bounds == summary.bounds


@given(runs, conventions)
def test_an_error_that_scores_0_counts_as_a_wrong_value(run, convention):
    zero = convention.with_options({"on_error": OnError.ZERO})
    compared_only = [(read, own) for read, own in run if read is CaseInput.OK]
    summary = summarize(counted(results_of(compared_only, zero)), zero)
    wrong = [
        (read, [(attribute, WRONG if code == FAILED else code) for attribute, code in own])
        for read, own in compared_only
    ]
    expected = summarize(counted(results_of(wrong, zero)), zero)
    assert summary.bounds is None
    assert summary.micro == expected.micro
    failing = sum(any(code == FAILED for _, code in own) for _, own in compared_only)
    assert summary.cases.errors == failing
    assert summary.cases.scored == len(compared_only)


@pytest.mark.parametrize("code", COMPLETIONS)
def test_oracle_has_every_failed_fact(code):
    assert FACTS[code].outcome is Outcome.ERROR
