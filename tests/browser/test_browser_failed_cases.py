"""The pages of a run with failed cases in Chromium: no metric stands without its mark."""

from __future__ import annotations

import pytest

import fieldmark as fm
from fieldmark.analyses.report import write_report

CASES = 12
FAILED = 6
ROWS = [{"id": f"c{number:02}", "n": number, "vendor": "Acme"} for number in range(CASES)]
SCHEMES = "light", "dark"


def vendor(expected, candidate):
    if candidate == "down":
        raise ConnectionError("not reachable")
    return expected == candidate


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with a failed gate, in whose failed cases another field is wrong too."""
    out = tmp_path_factory.mktemp("failed") / "runs" / "outage"
    found = [{**row, "n": -1, "vendor": "down"} if row["n"] >= FAILED else row for row in ROWS]
    fm.score(ROWS, found, rules={"vendor": {"match": vendor}}, min={"micro_f1": 0.9}, out=out)
    return out


def assert_marked(page):
    assert page.text(".verdict-panel .headline").startswith(f"{FAILED} of {FAILED} scored cases")
    assert f"{FAILED} of {CASES} cases failed" in page.text(".verdict-panel .notice")
    notes = page.texts("#attributes tbody .tile-note")
    assert sorted(notes) == ["with failed cases 0.500", "with failed cases 0.500 to 1.000"]
    assert "RQS with failed cases" in page.text("#quality .notice")
    assert page.count("#advice .advice") == 0
    assert [line.strip() for line in page.texts("#mistakes tbody td:nth-child(3)")] == [f"{FAILED}"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_report_marks_the_metrics_of_a_run_with_failed_cases(open_page, run, scheme):
    page = open_page(write_report(run))
    page.media(scheme=scheme)
    assert_marked(page)


def test_run_page_marks_the_metrics_of_a_run_with_failed_cases(run, visit, serve):
    page = visit(
        serve(run.parents[1]), "/runs/outage", "#attributes tbody tr", "#mistakes tbody tr"
    )
    assert_marked(page)


def test_list_of_runs_names_failed_cases_beside_a_failed_gate(run, visit, serve):
    page = visit(serve(run.parents[1]), "/runs", "tbody .bad")
    row = page.text("tbody tr")
    assert "fail" in row
    assert f"{FAILED} of {CASES} cases with errors" in row


def test_page_of_a_failed_case_has_the_bounds_of_its_score(run, visit, serve):
    page = visit(serve(run.parents[1]), f"/runs/outage/cases/{CASES}", ".case-score")
    assert "– from 0.000 to 0.500" in page.text(".case-score")
