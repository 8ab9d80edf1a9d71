from __future__ import annotations

from metrics_cells import histogram

from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.metrics.counts import cost_table, total
from fieldmark.metrics.taxonomy import ERROR_TABLE, ErrorCounts, truth_fields


def test_mistakes_by_type():
    facts = histogram(
        "match omission omission-null extra-key extra-for-null format wrong "
        "wrong null-null absent-null ignored ignored-omission error"
    )
    assert total(facts, ERROR_TABLE) == ErrorCounts(
        omission=2, hallucination=2, format_error=1, wrong_value=2
    )


def test_truth_fields_are_matches_omissions_or_wrong():
    facts = histogram("match match omission wrong format extra-key null-null ignored error")
    correct = total(facts, cost_table(CONVENTIONS["taxonomy"].counting)).tp
    assert correct == 2
    assert truth_fields(correct, total(facts, ERROR_TABLE)) == 5
