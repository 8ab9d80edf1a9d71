from __future__ import annotations

import pickle

import pytest
from metrics_cells import EXACT_PAIR, FACTS_BY_WORD, block_of, tally_of

from fieldmark.metrics import tally as tally_module
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.metrics.counts import ErrorCounts
from fieldmark.metrics.tally import CaseTotals, Tally, VerdictCounts
from fieldmark.model.case import CaseInput, Verdict
from fieldmark.model.counts import Counts
from fieldmark.model.outcomes import AttributeTable, Outcomes

MATCH, WRONG = FACTS_BY_WORD["match"], FACTS_BY_WORD["wrong"]


PERFECT = (("a", "match"), ("b", "null-null"))
PARTLY = (("a", "match"), ("b", "wrong"))
BROKEN = (("a", "match"), ("b", "error"))
WRONG_ALONE = (("a", "wrong"),)


def test_cases_by_status():
    sums = tally_of(PERFECT, PERFECT, PARTLY, BROKEN, WRONG_ALONE).sums()
    assert sums.cases == CaseTotals(total=5, scored=4, perfect=2, errors=1)
    assert sums.verdicts == VerdictCounts(passed=2, partial=1, failed=1)


@pytest.mark.parametrize(
    ("changed", "perfect"),
    [
        pytest.param({}, True, id="match"),
        pytest.param({"errors": ErrorCounts(omission=1)}, False, id="optional-field-is-missing"),
        pytest.param({"misses": 1}, False, id="miss"),
        pytest.param({"failing": True}, False, id="failing-evaluator-without-weight"),
        pytest.param({"errors_count": 1}, False, id="error"),
        pytest.param({"score": None}, False, id="no-score"),
        pytest.param({"verdict": Verdict.FAIL}, False, id="fail"),
        pytest.param({"vacuous": True}, True, id="evaluators-with-nothing-to-score"),
        pytest.param({"counts": Counts(), "hits": 0}, True, id="evaluator-without-fields"),
        pytest.param({"counts": Counts(), "hits": 0, "vacuous": True}, False, id="nothing-at-all"),
        pytest.param({"counts": Counts(tn=1), "vacuous": True}, True, id="empty-on-both-sides"),
    ],
)
def test_perfect_case(changed, perfect):
    table = AttributeTable()
    block = block_of((("a", "match"),), table)
    stats = CaseCounter(CONVENTIONS["confusion"], table).stats(block)._replace(**changed)
    tally = Tally(table)
    tally.add(block, stats)
    assert (stats.perfect, tally.sums().cases.perfect) == (perfect, int(perfect))


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        pytest.param(CaseInput.MISSING, CaseTotals(total=1, scored=1, missing=1), id="missing"),
        pytest.param(
            CaseInput.PARSE_ERROR, CaseTotals(total=1, scored=1, unparseable=1), id="unparseable"
        ),
    ],
)
def test_case_without_a_readable_candidate_is_scored_and_never_perfect(read, expected):
    assert tally_of((("a", "null-absent"),), read=read).sums().cases == expected


def test_quality_metrics_of_an_evaluator_are_means_by_case():
    table = AttributeTable()
    counter = CaseCounter(CONVENTIONS["confusion"], table)
    tally = Tally(table)
    for fields, rqs in ((PERFECT, 0.5), (PERFECT, 0.5), (PARTLY, 0.2)):
        block = block_of(fields, table)
        tally.add(block, counter.stats(block)._replace(rqs=rqs))
    assert tally.sums().qualities.means() == {
        "completeness": 1.0,
        "hallucination": 0.0,
        "accuracy": pytest.approx((1 + 1 + 0.5) / 3),
        "rqs": pytest.approx(1.2 / 3),
    }


def test_unscored_cases_are_counted():
    tally = tally_of()
    tally.add_invalid_truth()
    tally.add_failed("a", Outcomes(), {})
    tally.add_unexpected(2)
    assert tally.sums().cases == CaseTotals(total=2, errors=1, invalid_truth=1, unexpected=2)


def test_facts_by_attribute_are_sorted_by_path():
    facts = tally_of((("b", "wrong"), ("a", "match"), ("a", "match"))).facts()
    assert facts == {"a": {MATCH: 2}, "b": {WRONG: 1}}
    assert list(facts) == ["a", "b"]


def test_failed_case_is_excluded_from_means_and_counts():
    tally = tally_of(PERFECT, BROKEN)
    assert tally.sums().scores.number == 1
    assert tally.sums().f1s.number == 1
    assert tally.facts()["a"] == {MATCH: 1}
    assert tally.all_facts()["a"] == {MATCH: 2}
    assert list(tally.errors()) == ["b"]


def test_tally_can_be_pickled():
    tally = tally_of(PERFECT, EXACT_PAIR)
    there = pickle.loads(pickle.dumps(tally))  # noqa: S301 - trusted bytes
    assert (there.facts(), there.sums()) == (tally.facts(), tally.sums())
    there.merge(tally_of(PERFECT))
    assert there.sums().cases.total == 3


def test_buffered_cases_are_counted_in_batches(monkeypatch):
    monkeypatch.setattr(tally_module, "_BATCH", 2)
    tally = tally_of(PERFECT, PARTLY, PERFECT)
    assert len(tally._stats) == 1
    assert tally.sums().cases.total == 3
    assert not tally._stats


@pytest.mark.parametrize("fields", [1, 62, 63, 200])
def test_repeated_cases_count_as_often_as_they_occur(fields):
    table = AttributeTable()
    counter = CaseCounter(CONVENTIONS["confusion"], table)
    tally = Tally(table)
    block = block_of([("a", "match")] * fields + [("b", "wrong")] * 2, table)
    stats = counter.stats(block)
    for _ in range(3):
        tally.add(block, stats)
    assert tally.facts() == {"a": {MATCH: 3 * fields}, "b": {FACTS_BY_WORD["wrong"]: 6}}


def test_buffer_holds_fewer_cases_with_long_lists(monkeypatch):
    counter = CaseCounter(CONVENTIONS["confusion"], AttributeTable())
    cases = [Outcomes([number] * 100) for number in range(40)]
    stats = [counter.stats(block) for block in cases]
    sums = []
    for held, longest in ((1_000, 9), (1 << 18, 40)):
        monkeypatch.setattr(tally_module, "_BATCH_CELLS", held)
        tally = Tally(AttributeTable())
        most = 0
        for block, own in zip(cases, stats, strict=True):
            tally.add(block, own)
            most = max(most, len(tally._waiting))
        assert most == longest
        sums.append((dict(tally.cells()), tally.sums()))
    assert sums[0] == sums[1]


def test_safety_is_the_mean_over_the_cases_that_have_it():
    table = AttributeTable()
    counter = CaseCounter(CONVENTIONS["four_phase"], table)
    tally = Tally(table)
    block = block_of((("a", "match"),), table)
    tally.add(block, counter.stats(block, safety=0.5))
    tally.add(block, counter.stats(block))
    assert tally.sums().safety.mean == 0.5
