"""The metrics of a case for its tabs, and the same sums of a run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.metrics.conventions import CountingOptions, RqsForm
from fieldmark.metrics.quality import QualityMetrics, quality_score, rqs_parts
from fieldmark.report.html.metric_tabs import case_metrics, run_quality
from fieldmark.report.shown_run import comparators_by_attribute
from fieldmark.runs.stored_run import open_run
from unit.evaluators.walk_through import CANDIDATE, EXPECTED
from unit.report.exported import rows_of

RULES = {"convention": "four_phase", "fields": {"name": "FUZZY", "bio": "SEMANTIC"}}
SHARE = st.floats(0, 1)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs") / "walk"
    pairs = [(EXPECTED, CANDIDATE), (EXPECTED, EXPECTED)]
    fm.score(pairs, rules=RULES, out=directory)
    return open_run(directory)


def test_stored_case_has_the_metrics_of_a_compared_pair(stored):
    pair = fm.compare(EXPECTED, CANDIDATE, rules=RULES)
    first, _ = stored.cases()
    assert case_metrics(first) == case_metrics(pair)


def test_every_key_of_a_case_is_listed_once(stored):
    first, second = map(case_metrics, stored.cases())
    keys, sizes = first["keys"], first["sizes"]
    assert keys == {
        "aio_missing_or_null": ["status"],
        "extra_keys": ["extra_field"],
        "gt_null_aio_has_value": ["internal_id"],
    }
    assert [field["path"] for field in rows_of(first["fields"])] == ["name", "email", "bio"]
    assert sizes == {
        "present": 3, "expected": 4, "extra": 2, "distinct": 6,
        "matched": first["sizes"]["matched"], "compared": 3,
    }  # fmt: skip
    assert second["keys"] == {}
    part = {"name": "accuracy", "weight": 0.45, "value": 1.0, "product": 0.45}
    assert second["parts"][0] == part
    assert (second["rqs"], second["rqs_max"]) == (0.85, 0.85)


def test_matches_are_left_out_before_mistakes():
    expected = {f"k{n}": n for n in range(10)}
    candidate = {**expected, "k9": 0, "k8": 0}
    result = case_metrics(fm.compare(expected, candidate), limit=3)
    assert [field["path"] for field in rows_of(result["fields"])] == ["k0", "k8", "k9"]
    assert result["more"] == {"fields": 7}
    assert result["strategies"] == [{"strategy": "exact", "matched": 8, "compared": 10}]
    missing = case_metrics(fm.compare(expected, {}), limit=3)
    assert (missing["keys"]["aio_missing_or_null"], missing["more"]) == (
        ["k0", "k1", "k2"], {"aio_missing_or_null": 7},
    )  # fmt: skip


def test_values_are_not_part_of_a_case_without_values(stored):
    first = next(iter(stored.cases())).without_values()
    assert "John" not in str(case_metrics(first))


def test_sums_of_a_run_are_those_of_its_cases(stored):
    quality = run_quality(
        stored.complete_summary, comparators_by_attribute(stored.compared_attributes)
    )
    cases = [case_metrics(case) for case in stored.cases()]
    for name in ("present", "expected", "extra", "distinct"):
        assert quality["sizes"][name] == sum(case["sizes"][name] for case in cases), name
    matched = sum(case["sizes"]["matched"] for case in cases)
    compared = sum(case["sizes"]["compared"] for case in cases)
    assert sum(row["matched"] for row in quality["strategies"]) == matched
    assert sum(row["compared"] for row in quality["strategies"]) == compared
    assert quality["accuracy"] == matched / compared
    assert sum(part["product"] for part in quality["parts"]) == pytest.approx(quality["rqs"])


@given(metrics=st.tuples(SHARE, SHARE, SHARE), safety=SHARE, form=st.sampled_from(RqsForm))
def test_score_is_the_sum_of_its_parts(metrics, safety, form):
    counting = CountingOptions(rqs_form=form)
    parts = rqs_parts(QualityMetrics(*metrics), counting, safety)
    total = min(1.0, max(0.0, sum(part.product for part in parts)))
    assert total == pytest.approx(quality_score(QualityMetrics(*metrics), counting, safety))
