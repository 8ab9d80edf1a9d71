"""The page of a run in Chromium: what is wrong is shown without opening a case."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from browser.test_browser_app import goto, new_page
from fieldmark.analyses.report import write_report
from unit.web.live_server import live

LOADED = (
    "document.querySelector('#heat') && document.querySelector('#advice .advice')"
    " && document.querySelector('#weak-slices .advice') && document.querySelector('#cases tbody a')"
)
VALUES = (
    "[...document.querySelector('#cases tbody tr').querySelectorAll('.field-value')]"
    ".map((cell) => cell.innerText)"
)
HEADS = "[...document.querySelectorAll('#cases thead th')].map((head) => head.innerText)"


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
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (directory / "rows.jsonl").write_text(text, "utf-8")
    fm.score(directory / "rows.jsonl", out=directory / "runs" / "swapped")
    return directory / "runs" / "swapped"


def test_run_page_shows_the_cause_of_a_weak_attribute_in_its_list(run, browser):
    with live(run.parents[1]) as server:
        page = new_page(server, browser)
        goto(page, f"{server.url}/runs/swapped#cases", LOADED)
        # The list stays in view although the sections above it were loaded later.
        page.wait("Math.abs(document.querySelector('#cases').getBoundingClientRect().top) < 200")
        assert "Input" not in page.run(HEADS)
        assert page.text("#weak-slices li .tag").startswith("date wrong in ")
        order = page.run(
            "[...document.querySelectorAll('#app section[id]')].map((each) => each.id)"
        )
        wrong = ["mistakes", "advice", "weak-slices", "attributes", "charts"]
        assert [each for each in order if each in wrong] == wrong
        page.click("#repeated-errors a")
        page.wait(
            f"location.search === '?attribute=date&pattern=date_swapped' && {VALUES}.length === 2"
        )
        expected, predicted = page.run(VALUES)
        assert expected[:5] == predicted[:5] == "2024-"
        assert page.count("#cases tbody tr:first-child :is(del, ins)") >= 2
        assert " of 80 cases" in page.text("#cases .controls > [role=status]")
        assert page.violations() == []
        page.click("#advice h3 a")
        page.wait("document.querySelector('.filter-chip')")
        assert page.text(".filter-chip").startswith("pattern: day and month swapped")
        assert page.errors == []
        page.close()


def test_report_shows_the_values_of_the_selected_attribute(open_page, run):
    page = open_page(write_report(run))
    assert page.run(VALUES) == []
    page.click("#overview .repeated a")
    page.wait(f"{VALUES}.length === 2")
    assert all(text.startswith("2024-") for text in page.run(VALUES))
    page.click("#clear-filters")
    assert page.run(VALUES) == []
