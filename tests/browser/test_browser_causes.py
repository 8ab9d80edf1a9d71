"""From a number to its cause in Chromium: links to cases, filters in the URL, highlighted fields."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from fieldmark.analyses.report import write_report
from unit.web.live_server import write_jsonl

IDS = "[...document.querySelectorAll('#cases tbody a')].map((a) => a.innerText)"
STATES = ("paid", "open", "late")


def documents(number):
    """Return a case of which every third has the wrong state and every fourth a wrong item."""
    state = STATES[number % 3]
    items = [{"text": f"Item {n}", "amount": n} for n in range(3)]
    expected = {"vendor": {"name": f"Vendor {number}"}, "state": state, "items": items}
    candidate = json.loads(json.dumps(expected))
    if number % 3 == 2:
        candidate["state"] = "open"
    if number % 4 == 0:
        candidate["items"][1]["amount"] = 100
        del candidate["vendor"]["name"]
    return {"id": f"case-{number}", "tags": [f"tag-{number % 2}"], "expected": expected, "candidate": candidate}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("causes")
    write_jsonl(directory / "rows.jsonl", map(documents, range(1, 13)))
    fm.score(directory / "rows.jsonl", by=["tag"], align="index", out=directory / "runs" / "causes")
    return directory / "runs" / "causes"


@pytest.fixture(scope="module")
def report(run):
    return write_report(run)


def cases(page):
    return sorted(page.run(IDS))


def test_report_links_every_figure_to_its_cases(open_page, report):
    page = open_page(report)
    wrong_state = ["case-11", "case-2", "case-5", "case-8"]
    page.click("#mistakes tbody tr:first-child th a")
    assert cases(page) == wrong_state
    assert "attribute=state" in page.run("location.hash")
    page.click("#attributes a[href*='attribute=items']")
    assert cases(page) == ["case-12", "case-4", "case-8"]
    page.choose("#case-tag", "tag-1")
    assert cases(page) == []
    page.click("#clear-filters")
    assert len(cases(page)) == 12
    page.click("#values td a")
    assert cases(page) == wrong_state
    assert page.count(".filter-chip") == 2
    page.click("#advice h3 a")
    assert page.run("location.hash").startswith("#cases?pattern=")
    assert 0 < len(cases(page)) < 12
    page.click("#overview .bars a[href*='error=omission']")
    assert cases(page) == ["case-12", "case-4", "case-8"]
    # The filters of a shared link are those of the list, and j and k follow them.
    page.run("void (location.hash = 'case-1?attribute=state&tag=tag-0&path=state')")
    page.wait("document.querySelector('#single .highlighted')")
    assert page.text("#case-title") == "case-8"
    assert page.run("document.querySelector('.highlighted').dataset.path") == "state"
    assert page.text(".case-place").startswith("1 of 2 filtered cases")
    page.press("j")
    page.wait("document.querySelector('#case-title').innerText === 'case-2'")
    assert page.count(".highlighted") == 1
    assert "default of the convention confusion" in page.text(".explanation")
    assert "1 false positive, 1 false negative" in page.text(".explanation")
    assert {"expected", "predicted"} <= set(page.text(".explanation").split())
    page.press("Escape", 27)
    assert cases(page) == ["case-2", "case-8"]
    assert page.run("document.activeElement.innerText") == "case-2"


def test_heat_map_is_used_by_keyboard(open_page, report):
    page = open_page(report)
    page.run("document.querySelector('.heat-scroll').focus()")
    page.press("ArrowDown", 40)
    page.press("ArrowRight", 39)
    attribute = page.run(
        "JSON.parse(document.getElementById('run').textContent).heat.attributes[1]"
    )
    assert page.text(".heat-status").startswith(attribute)
    page.press("Enter", 13)
    page.wait("location.hash.startsWith('#case-2?attribute=')")
    assert page.count("#single .tree") == 1


def test_run_page_links_to_cases_and_a_case_shows_the_field(visit, serve, run):
    page = visit(serve(run.parents[1]), "/runs/causes", "#heat", "#cases tbody a")
    page.choose("#case-verdict", "pass")
    page.wait(f"location.search.includes('verdict=pass') && {IDS}.length === 6")
    page.choose("#case-verdict", "")
    page.wait(f"{IDS}.length === 12")
    page.click("#values td.pair-worse a")
    page.wait(f"location.search.includes('found=') && {IDS}.length === 4")
    page.click("#mistakes td.example a")
    page.wait_for(".highlighted")
    page.navigate("/runs/causes", "#heat", "#cases tbody a")
    page.click("#attributes a[href*='attribute=state']")
    page.wait(f"location.search === '?attribute=state' && {IDS}.length === 4")
    page.choose("#case-tag", "tag-0")
    page.wait(f"location.search.includes('tag=tag-0') && {IDS}.length === 2")
    page.click("#cases tbody a")
    page.wait_for(".highlighted")
    assert page.attribute(".highlighted", "data-path") == "state"
    assert "1 of 2 filtered cases" in page.text(".case-nav")
    page.press("j")
    page.wait_for_text("#case-title", "case-2")
    page.press("k")
    page.wait_for_text("#case-title", "case-8")
    page.press("Escape", 27)
    page.wait(f"location.pathname === '/runs/causes' && {IDS}.length === 2")
    page.wait_for(".advice li")
    page.navigate("/runs/causes?text=vendor%2012", "#cases tbody a")
    assert page.run(IDS) == ["case-12"]
    assert page.text("#searched") == "Ids, tags, paths and values of 12 cases searched."
    page.navigate("/runs/causes/cases/4?path=items%5B1%5D.amount", ".highlighted", ".explanation")
    assert page.attribute(".highlighted", "data-attribute") == "items[].amount"
    assert "1 false positive, 1 false negative" in page.text(".explanation")
    assert "items[]: expected [1], predicted [1]" in page.text(".explanation")
    page.click("[data-path=state] a.field-link")
    page.wait_for(".highlighted[data-path=state]")
    page.wait_for_text(".explanation", "match")
    for path in ("/runs/causes?attribute=state", "/runs/causes/cases/4?path=vendor.name"):
        page.navigate(path, ".explanation, #cases tbody a")
        assert page.violations() == [], path


def test_long_list_has_only_the_rows_in_view_and_sorts_most_mistakes_first(open_page, tmp_path):
    pairs = [({"a": n, "b": n % 7}, {"a": n, "b": 0}) for n in range(1200)]
    fm.score(pairs, out=tmp_path / "run")
    page = open_page(write_report(tmp_path / "run"))
    page.click("#cases .more button:last-child")
    assert page.run("document.querySelector('#cases table').ariaRowCount") == "1201"
    assert page.count("#cases tbody tr") < 100
    page.run("document.querySelector('#cases .table-scroll').scrollTop = 1e9")
    page.wait_for("#cases tbody tr[aria-rowindex='1201']")
    assert page.count("#cases tbody tr") < 100
    page.run(
        "[...document.querySelectorAll('#cases .sort')].find((each) => each.innerText === 'Mistakes').click()"
    )
    assert page.text("#cases [aria-sort=descending]").startswith("Mistakes")
    page.wait_for("#cases tbody tr:nth-child(2)[aria-rowindex='2']")
    assert "partial" in page.text("#cases tbody tr:nth-child(2)")
    assert page.violations() == []
