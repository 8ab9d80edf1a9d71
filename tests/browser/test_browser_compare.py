"""The comparison of runs in a real browser: conclusion, charts, changed cases, one case in all runs."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

import pytest

import fieldmark as fm
from fieldmark.analyses.report import write_report
from unit.web.live_server import live

HOSTILE = '<img src=x onerror=alert(1)>&b=second#?.["x"]\u202e'
CASES = 80
TRUTH = [
    {
        "id": HOSTILE if n == 1 else f"case-{n}",
        "region": "north" if n % 2 else "south",
        "total": n,
        "vendor": {"name": f"Vendor {n}"},
        "items": [{"text": "Bolts", "amount": n}, {"text": "Nuts", "amount": n + 1}],
        'odd "key".': "same",
    }
    for n in range(CASES)
]


def predictions(*, totals, names, items=(), odd=()):
    """Return predictions that are wrong in the given cases, by attribute."""
    rows = json.loads(json.dumps(TRUTH))
    for n, row in enumerate(rows):
        if n in totals:
            row["total"] = -1
        if n in names:
            row["vendor"]["name"] += "x"
        if n in items:
            row["items"][1]["amount"] = 0
            row["items"].append({"text": "Pins", "amount": 5})
        if n in odd:
            row['odd "key".'] = "other"
    return rows


RUNS = {
    "first": predictions(totals=range(40), names=range(3), odd=[1]),
    "second": predictions(totals=range(1, 4), names=range(2, 8), items=[1, 2]),
    "third": predictions(totals=range(20), names=(), items=[2]),
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    workspace = tmp_path_factory.mktemp("workspace")
    for name, rows in RUNS.items():
        fm.score(TRUTH, rows, by=["region"], out=workspace / "runs" / name)
    return workspace


@pytest.fixture(scope="module")
def server(workspace):
    with live(workspace) as server:
        yield server


def check_accessibility(page, *schemes):
    """The page has no serious violation in a color scheme."""
    for scheme in schemes:
        page.media(scheme=scheme)
        assert page.violations() == [], scheme


def test_weak_slices_of_either_run_are_named(tmp_path, visit, serve):
    truth = [{"id": str(n), "region": "north" if n % 2 else "south", "total": n} for n in range(80)]
    northern = [{**row, "total": -1} if row["region"] == "north" else row for row in truth]
    early = [{**row, "total": -1} if n < 40 else row for n, row in enumerate(truth)]
    for name, rows in {"early": early, "north": northern}.items():
        fm.score(truth, rows, out=tmp_path / "runs" / name)
    server = serve(tmp_path)
    for runs, row in (
        ("a=early&b=north", ["region = north", "40", "not weak", "0.500", "new"]),
        ("a=north&b=early", ["region = north", "40", "0.500", "not weak", "no longer weak"]),
    ):
        page = visit(server, f"/diff?{runs}", "#weak-slices tbody td")
        cells = page.texts("#weak-slices tbody tr > *")
        assert [cell.split("\n")[0] for cell in cells] == row
    page.click("#weak-slices tbody a")
    page.wait("location.pathname === '/runs/north' && document.querySelector('#cases tbody a')")
    assert page.text("#cases [role=status]").startswith("40 of 80 cases")


def test_two_runs_are_compared_by_attribute_slice_and_case(visit, server):
    page = visit(server, "/diff?a=first&b=second", "#changed tbody a")
    assert page.text("#conclusion").startswith("Better overall: total is better (0.")
    assert page.text("#evidence").startswith("Macro F1 by attribute 0.")
    assert "95% CI +0." in page.text("#evidence")
    check_accessibility(page, "dark")
    page.media(medium="print")
    assert re.match(r"Before: first, .* UTC\nAfter: second, .* UTC", page.text(".printed-only"))
    page.media()
    # The chart names every changed attribute; a thick line is significant.
    names = page.texts("#attributes .row-names a")
    others = {"vendor.name", "items[].amount", "items[].text", '["odd \\"key\\"."]'}
    assert set(names) == {"total", *others}
    changes = [text.split()[0] for text in page.texts("#attributes tbody .change")]
    assert changes == sorted(changes, key="▼▲=".index)  # what got worse comes first
    assert page.count("#attributes .dumbbell.better") == 1
    assert page.count("#slices .dumbbell") == 2
    assert page.text("#changed [role=status]") == "40 changed cases"
    # A link of the chart, used by keyboard, shows the changed cases of the attribute.
    page.run("document.querySelectorAll('#attributes .row-names a')[1].focus()")
    attribute = page.run("document.activeElement.textContent")
    page.press("Enter", 13)
    page.wait("location.hash === '#changed' && document.querySelector('#changed tbody a')")
    assert page.value("#changed-attribute") == attribute
    page.settle()
    assert 0 <= page.run("document.querySelector('#changed').getBoundingClientRect().top") < 200
    # The attributes of the headline are links as well; rows show the values of changed fields.
    page.click("#conclusion a")
    page.wait("location.search.endsWith('attribute=total&direction=improved')")
    page.wait_for("#changed .changed-values")
    assert page.text("#changed .changed-values").split()[::2] == ["expected", "before", "after"]
    page.choose("#changed-direction", "")
    for filtered, value, number in (
        ("attribute", "vendor.name", 7),
        ("direction", "worse", 5),
        ("slice", "region=south", 2),
    ):
        page.choose(f"#changed-{filtered}", value)
        page.wait_for_text("#changed [role=status]", f"{number} changed cases")
    page.wait("location.search.includes('slice=region%3Dsouth')")
    # A field opens its case; the filters are kept for the next case.
    page.click("#changed tbody li a")
    page.wait_for(".sides")
    path = page.run("new URLSearchParams(location.search).get('path')")
    assert page.run("document.activeElement.dataset.path") == path
    assert page.text(".case-place") == "1 of 2"
    page.press("j")
    page.wait_for_text(".case-place", "2 of 2")
    page.press("Escape", 27)
    page.wait("document.activeElement.closest('#changed tbody')")  # the row of the case
    assert page.value("#changed-direction") == "worse"


def test_a_case_shows_the_truth_and_all_predictions(visit, server):
    page = visit(server, "/diff?a=first&b=second&b=third", "#changed tbody a")
    assert sorted(page.texts("#attributes thead th")[1:4]) == ["first", "second", "third"]
    check_accessibility(page, "light")
    page.type("#changed-text", "onerror")
    page.wait("document.querySelectorAll('#changed tbody tr').length === 1")
    page.click("#changed tbody a")
    page.wait_for(".sides")
    assert page.run("new URLSearchParams(location.search).get('case')") == HOSTILE
    assert "onerror" in page.text("#case-title")
    assert page.run("document.querySelectorAll('img').length") == 0
    part = "[...cell.querySelectorAll('.glyph, .value')].map((each) => each.textContent).join(' ')"
    rows = page.run(
        "Object.fromEntries([...document.querySelectorAll('.side-row')].map((row) => [row.dataset.path,"
        f" [...row.querySelectorAll('td')].map((cell) => {part} || cell.textContent)]))"
    )
    assert rows["total"] == ["1", "≠ -1", "≠ -1", "≠ -1"]
    assert rows["vendor.name"][1:] == ["≠ Vendor 1x", "✓ Vendor 1", "✓ Vendor 1"]
    assert rows["items[1].amount"][1:] == ["✓ 2", "≠ 0", "✓ 2"]
    assert rows["items[2].text"] == ["absent", "not compared", "+ Pins", "not compared"]
    assert rows['["odd \\"key\\"."]'][1] == "≠ other"
    assert page.text(".sides [data-path='vendor.name'] .side-change") == "↔ other outcome"
    check_accessibility(page, "dark", "light")
    page.click(".documents-head [data-value=differences]")
    assert "show=differences" in page.run("location.search")
    assert page.count(".side-row:not(.has-difference)") == 0
    page.navigate(f"/diff/case?a=first&b=second&case={quote(HOSTILE)}", ".sides")
    assert page.text(".side-row[data-path='vendor.name'] .side-change") == "▲ fixed"
    assert page.text(".side-row[data-path='items[1].amount'] .side-change") == "▼ worse"
    same = ".side-row[data-path=total]"  # the same mistake in both runs
    assert (page.count(same), page.count(f"{same} .side-change")) == (1, 0)
    page.navigate("/diff/case?a=first&b=second&case=nothing", ".problem")
    assert page.text(".problem") == "None of the runs has this case."


def test_narrow_screens_and_reports_show_the_same(workspace, visit, server, open_page, tmp_path):
    narrow = {"width": 390, "height": 844, "mobile": True}
    page = visit(server, "/diff/case?a=first&b=second&case=case-2", ".sides", **narrow)
    assert not page.is_wider_than_the_screen()
    page.navigate("/diff?a=first&b=second", "#changed tbody a")
    assert not page.is_wider_than_the_screen()
    conclusion = page.text("#conclusion"), page.text("#attributes .table tbody")
    runs = workspace / "runs"

    report = write_report(runs / "second", tmp_path / "report.html", against=runs / "first")
    page = open_page(report, **narrow)
    table = page.text("#comparison-attributes .table tbody")
    assert (page.text("#conclusion"), table) == conclusion
    assert page.text("#comparison-changed [role=status]") == "40 changed cases"
    page.run(
        "[...document.querySelectorAll('#comparison-attributes .row-names a')].find((each) => each.textContent === 'vendor.name').click()"
    )
    page.wait_for_text("#comparison-changed [role=status]", "7 changed cases")
    assert page.value("#changed-attribute") == "vendor.name"
    page.click("#comparison-changed tbody li a")
    page.wait_for(".sides")
    assert page.run("location.hash").startswith("#diff-")
    assert page.count(".side-row.highlighted") == 1
    assert not page.is_wider_than_the_screen()
    check_accessibility(page, "light")
    page.press("Escape", 27)
    assert not page.run("document.getElementById('report').hidden")
    assert page.run("document.activeElement.hash").startswith("#diff-")  # the row of the case
    assert page.count("#charts .histogram-bar") > 0
    assert page.count("#charts .plot-picture a:not([tabindex])") == 4  # attributes with mistakes


def test_a_run_has_charts_whose_points_open_cases(visit, server):
    page = visit(server, "/runs/first", ".histogram-bar", "#run-trend a")
    tables = "[...document.querySelectorAll('#charts figure')].map((each) => each.querySelectorAll('.behind tbody tr').length)"
    assert page.run(tables) == [20, 3, 3]
    check_accessibility(page, "dark")
    point = "#charts .plot-picture a:not([tabindex])"
    label = "total: precision 0.500, recall 0.500, 40 mistakes"
    assert page.attribute(point, "aria-label") == label
    page.focus(point)
    page.press("Enter", 13)
    page.wait("location.search.includes('attribute=total')")
    page.wait_for("#cases tbody a")
    page.click("#charts a:has(.histogram-bar)")
    page.wait("location.search.startsWith('?score=')")
    page.wait_for_text(".filter-chip", "score: ")
