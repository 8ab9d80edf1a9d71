"""The page of a run in Chromium: what is wrong is shown without opening a case."""

from __future__ import annotations

import pytest

import fieldmark as fm
from fieldmark.analyses.report import write_report
from unit.web.live_server import write_jsonl

LOADED = "#heat", "#advice .advice", "#weak-slices .advice", "#cases tbody a"
VALUES = "#cases tbody tr:first-child .field-value"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("run_page")
    rows = []
    for number in range(80):
        expected = {
            "vendor": "Acme" if number < 30 else "Bolt",
            "date": f"2024-03-{1 + number % 9:02}",
        }
        swapped = f"2024-{1 + number % 9:02}-03"
        candidate = {**expected, "date": swapped if number < 30 else expected["date"]}
        rows.append({"id": f"case-{number}", "expected": expected, "candidate": candidate})
    write_jsonl(directory / "rows.jsonl", rows)
    fm.score(directory / "rows.jsonl", out=directory / "runs" / "swapped")
    return directory / "runs" / "swapped"


def test_run_page_shows_the_cause_of_a_weak_attribute_in_its_list(run, visit, serve):
    page = visit(serve(run.parents[1]), "/runs/swapped#cases", *LOADED)
    # The list stays in view although the sections above it were loaded later.
    page.wait("Math.abs(document.querySelector('#cases').getBoundingClientRect().top) < 200")
    assert "Input" not in page.texts("#cases thead th")
    assert page.text("#weak-slices li .tag").startswith("date wrong in ")
    order = page.run("[...document.querySelectorAll('#app section[id]')].map((each) => each.id)")
    wrong = ["mistakes", "advice", "weak-slices", "attributes", "charts"]
    assert [name for name in order if name in wrong] == wrong
    page.click("#repeated-errors a")
    page.wait("location.search === '?attribute=date&pattern=date_swapped'")
    page.wait_for(VALUES)
    expected, predicted = page.texts(VALUES)
    assert expected[:5] == predicted[:5] == "2024-"
    assert page.count("#cases tbody tr:first-child :is(del, ins)") >= 2
    assert " of 80 cases" in page.text("#cases .controls > [role=status]")
    assert page.violations() == []
    page.click("#advice h3 a")
    page.wait_for(".filter-chip")
    assert page.text(".filter-chip").startswith("pattern: day and month swapped")


def test_report_shows_the_values_of_the_selected_attribute(open_page, run):
    page = open_page(write_report(run))
    assert page.texts(VALUES) == []
    page.click("#overview .repeated a")
    page.wait_for(VALUES)
    expected, predicted = page.texts(VALUES)
    assert expected[:5] == predicted[:5] == "2024-"
    page.click("#clear-filters")
    assert page.texts(VALUES) == []


def test_strongest_finding_and_proposed_rules_are_shown(tmp_path, visit, serve):
    truth = [
        {"id": str(n), "country": "DE" if n % 3 == 0 else "FR", "date": f"2024-01-{n % 28 + 1:02}", "total": n}
        for n in range(120)
    ]  # fmt: skip
    wrong = [
        {**row, "date": f"{row['date'][8:]}/01/2024", "total": row["total"] * 100 + 7}
        if row["country"] == "DE" and int(row["id"]) % 2
        else row
        for row in truth
    ]
    fm.score(truth, wrong, out=tmp_path / "runs" / "run")
    for width in (1280, 420):
        page = visit(serve(tmp_path), "/runs/run", *LOADED, width=width)
        sentence = "total: 50% wrong where country = DE, 0% elsewhere (20 of 40 cases, 0 of 80)"
        assert sentence in page.text("#weak-slices")
        assert "50% wrong where country = DE, 0% elsewhere" in page.text("#strongest-finding")
        assert "{path: date, match: date, order: dmy}" in page.text("#advice .proposed-rule")
        assert not page.is_wider_than_the_screen()
        for scheme in ("dark", "light"):
            page.media(scheme=scheme)
            assert page.violations() == []
