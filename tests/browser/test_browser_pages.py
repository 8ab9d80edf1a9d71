"""The page beside the fields, leftover items and blank values, in a real browser."""

from __future__ import annotations

import pytest

import fieldmark as fm
from fieldmark.analyses.report import write_report
from page_files import pdf, png
from unit.web.live_server import write_jsonl

LINES = [
    {"text": "Bolts M6", "code": "INV-2024-000123", "bbox": [10, 10, 60, 30], "page": 1},
    {"text": "Washers", "code": "INV-2024-000124", "bbox": [10, 40, 60, 60], "page": 1},
    {"text": "Nuts", "code": "INV-2024-000125", "bbox": [20, 20, 70, 40], "page": 2},
]
EXPECTED = {"empty": "", "spaces": "  \t", "none": None, "word": "null", "key": "a", "lines": LINES}
FOUND = {
    "empty": "x",
    "spaces": "y",
    "none": "null",
    "word": "null",
    "lines": [
        {**LINES[0], "bbox": [0.1, 0.1, 0.6, 0.3]},
        {**LINES[2], "code": "INV-2024-000126", "bbox": [0.2, 0.25, 0.7, 0.4]},
        {"text": "Waschers", "code": "INV-2024-0O0124", "bbox": [0.3, 0.7, 0.5, 0.9], "page": 1},
    ],
}


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    base = tmp_path_factory.mktemp("base")
    scans = base / "scans"
    (scans / "two").mkdir(parents=True)
    for number in (1, 2):
        (scans / "two" / f"{number}.png").write_bytes(png(100, 100))
    (scans / "document.pdf").write_bytes(pdf(1))
    rows = [
        {"id": "two", "expected": EXPECTED, "candidate": FOUND, "metadata": {}},
        {"id": "document", "expected": {"box": [20, 10, 100, 50]}, "candidate": {}},
    ]
    write_jsonl(base / "rows.jsonl", rows)
    box = {"match": "iou", "candidate_scale": [100, 100]}
    rules = [
        {"path": "lines[*].bbox", **box},
        {"path": "lines", "align": "greedy", "match_fields": ["text"], "threshold": 0.95},
    ]
    run = base / "work" / "runs" / "one"
    fm.score(base / "rows.jsonl", rules={"fields": rules}, pages=scans, out=run)
    return run


def linked(page):
    """The regions and rows that are marked."""
    return page.run(
        "[...document.querySelectorAll('.linked')].map((each) => each.dataset.region || each.dataset.path)"
    )


def test_page_stands_beside_the_fields_and_is_linked_to_them(scored, visit, serve):
    server = serve(scored.parents[1], pages={"scans": scored.parents[2] / "scans"})
    page = visit(server, "/runs/one/cases/1", "[data-region]", width=1400)

    # Regions of the first page are drawn in the units of their side, and can be told apart.
    assert page.text(".page-tools").count("detected: pixels of the image and fractions") == 1
    points = page.run(
        "[...document.querySelectorAll('.region-ours, .region-theirs')]"
        ".map((each) => [each.getAttribute('class'), each.getAttribute('points')])"
    )
    assert ["region-ours", "10,10 60,10 60,30 10,30"] in points
    assert ["region-theirs", "30,70 50,70 50,90 30,90"] in points
    dashes = "getComputedStyle(document.querySelector('%s')).strokeDasharray"
    assert page.run(dashes % ".region-ours") == "none"
    assert page.run(dashes % ".region-theirs") != "none"
    names = page.run(
        "[...document.querySelectorAll('[data-region]')].map((each) => each.getAttribute('aria-label'))"
    )
    assert names[0] == "lines[0].bbox: match (expected and predicted)"
    assert "lines[1].bbox: missing (expected)" in names
    assert len(names) == 3

    # From a region to its row, by mouse and by keyboard; from a row to its region.
    page.click('[data-region="lines[0].bbox"]')
    assert linked(page) == ["lines[0].bbox", "lines[0].bbox"]
    focused = "document.activeElement.getAttribute('aria-label')"
    assert page.run(focused) == "Show lines[0].bbox on the page"
    page.press("Enter", 13)
    assert page.run("document.activeElement.dataset.region") == "lines[0].bbox"
    assert page.text(".region-caption") == "lines[0].bbox: match (expected and predicted)"
    page.run(
        "document.querySelector('td[data-path=\"lines[1].text\"]')"
        ".dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))"
    )
    assert set(linked(page)) == {"lines[1].bbox"}

    # A region of another page opens that page; page, zoom and units are in the URL.
    page.click('td[data-path="lines[2].bbox"]:not([data-extra]) .to-page')
    page.wait("document.activeElement.dataset?.region === 'lines[2].bbox'")
    assert page.run("location.search") == "?page=2"
    page.focus(".page-scroll")
    page.press("+")
    assert page.attribute("svg.page", "width") == "150%"
    assert page.run("location.search") == "?page=2&zoom=1.5"
    page.navigate(page.run("location.href"), "[data-region]")
    assert page.attribute("[data-region]", "data-region") == "lines[2].bbox"
    # The box matches, but its object has a wrong code.
    wrong = '.region-wrong[aria-label*="bbox: match"][aria-label$=", code: wrong value"]'
    assert page.count(wrong) == 1
    assert page.attribute("svg.page", "width") == "150%"
    page.press("-")
    page.choose(".page-tools label:last-child select", "thousandths")
    page.wait("document.querySelector('.region-ours')?.getAttribute('points').startsWith('2,2 ')")

    # Leftover items stand together with their differences marked.
    rows = page.run("[...document.querySelectorAll('tr.item')].map((each) => each.dataset.path)")
    assert rows == ["lines[0]", "lines[1]", "lines[2]", "lines[2]"]
    near = page.run(
        "[...document.querySelectorAll('tr.near')].map((each) => [...each.querySelectorAll('del, ins')]"
        ".map((part) => part.innerText).join('|'))"
    )
    assert near[0].startswith("0|")
    assert near[1].startswith("c|O|")

    # Blank values are visible, and codes do not break.
    sides = page.run(
        "Object.fromEntries([...document.querySelectorAll('.field')].map((each) =>"
        " [each.dataset.path, [...each.querySelectorAll('.side')].map((side) => side.innerText.replace(/\\s+/g, ' '))]))"
    )
    assert sides["empty"] == ["empty string", "x"]
    assert sides["spaces"] == ["␣␣⇥ only 2 spaces, 1 tab", "y"]
    assert sides["none"] == ["null null", "null string"]
    assert sides["word"] == ["null", "null"]
    assert sides["key"] == ["a", "absent"]
    assert "INV-2024-000123" in page.texts(".unbroken")
    assert page.violations() == []
    page.send("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)  # fmt: skip
    assert page.run("document.documentElement.scrollWidth") == 390


def test_report_contains_pages_on_request(scored, open_page, tmp_path):
    scans = scored.parents[2] / "scans"
    assert b"data:image" not in write_report(scored, tmp_path / "plain.html").read_bytes()
    write_report(scored, tmp_path / "pages.html", pages=scans)
    page = open_page(tmp_path / "pages.html")
    title = "document.getElementById('case-title')"
    for rank in (1, 2):
        page.run(f"void (location.hash = 'case-{rank}')")
        page.wait(f"{title} && document.querySelector('.page-scroll svg image')")
        if page.run(f"{title}.innerText") == "document":
            assert "points (72 per inch)" in page.text(".page-tools")
            corners = "document.querySelector('.region-ours').getAttribute('points')"
            assert page.run(corners) == "20,10 100,10 100,50 20,50"
    assert page.violations() == []
