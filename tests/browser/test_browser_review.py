"""The review of a run in a real browser: by keyboard, by mouse, and on a read-only server."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from browser.test_browser_app import goto, new_page
from fieldmark.analyses.report import write_report
from fieldmark.runs.reviews import read_reviews
from unit.web.live_server import live, write_jsonl

HOSTILE = "<img src=x onerror=alert(1)>\u202e"
TRUTH = [
    {"id": HOSTILE, "vendor": "Acme", "total": 5, "items": [{"text": "Bolts", "count": 1}]},
    {"id": "b", "vendor": "Bolt", "total": 7, "items": []},
    {"id": "c", "vendor": "Cog", "total": 30, "items": []},
]
CANDIDATES = [
    {"id": HOSTILE, "vendor": HOSTILE, "total": 6, "items": [{"text": "Bolts", "count": 2}]},
    {"id": "b", "vendor": "Volt", "total": 7, "items": []},
    {"id": "c", "vendor": "Cog", "total": 12345678901234567890, "items": []},
]
READY = "document.querySelector('.review-context .review-field') && document.querySelector('#effect table')"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workspace")
    write_jsonl(folder / "truth.jsonl", TRUTH)
    write_jsonl(folder / "one.jsonl", CANDIDATES)
    write_jsonl(folder / "two.jsonl", [CANDIDATES[0], TRUTH[1], TRUTH[2]])
    for name in ("one", "two"):
        fm.score(folder / "truth.jsonl", folder / f"{name}.jsonl", out=folder / "runs" / name)
    return folder


def title(page):
    return page.text("#review-title")


def decided(page, number):
    page.wait(f"document.querySelector('.review-progress').innerText.includes('{number} decided')")


def test_review_by_keyboard_and_mouse(workspace, browser):
    run = workspace / "runs" / "one"
    with live(workspace, write=True) as server:
        page = new_page(server, browser)
        goto(page, f"{server.url}/runs/one/review", READY)
        fields = [title(page)]
        assert "0 decided" in page.text(".review-progress")
        highlighted = page.element(".review-context .review-field")
        assert page.run(f"{highlighted}.dataset.path") == fields[0]
        # One decision of each kind by keyboard; the page goes on to the next undecided field.
        for number, key in enumerate("tb", 1):
            page.press(key)
            decided(page, number)
            fields.append(title(page))
        page.press("e")
        assert page.run("document.activeElement.id") == "correction"
        page.click("[data-value=json]")
        page.type("#correction", "{12")
        page.press("Enter", 13)
        assert "Not valid JSON" in page.text("#correction-note")
        page.type("#correction", "12345678901234567891")
        page.type("#comment", "typed")
        page.type("#correction", "12345678901234567891")
        page.press("Enter", 13)
        decided(page, 3)
        page.click("#accept_candidate")
        decided(page, 4)
        page.wait("document.querySelectorAll('#decisions tbody tr').length === 4")
        reviews = read_reviews(run)
        assert [each.decision for each in reviews] == [
            "accept_truth", "ambiguous", "correction", "accept_candidate",
        ]  # fmt: skip
        assert reviews[2].values == (12345678901234567891,)
        assert reviews[2].comment == "typed"
        assert len({each.field for each in reviews}) == 4
        assert "Micro F1" in page.text("#effect")
        # Undo withdraws the last decision; the address opens the same field again.
        page.press("u")
        decided(page, 3)
        assert read_reviews(run)[-1].decision == "undo"
        place = page.run("location.search")
        goto(page, f"{server.url}/runs/one/review", READY)
        assert page.run("location.search") == place  # it goes on where it stopped
        page.press("k")
        assert page.run("location.search") != place
        assert page.violations() == []
        # Another queue, with the values of another run, and a filter by attribute.
        page.click("[data-value=disagreement]")
        page.wait("document.querySelector('.review-runs input')")
        page.click(".review-runs input")
        page.wait("document.querySelector('.review-votes')")
        assert "two" in page.text(".review-votes")
        assert "queue=disagreement" in page.run("location.search")
        page.choose(".controls select", "total")
        page.wait("document.querySelector('.review-progress').innerText.includes('of 1')")
        assert page.dialogs == page.errors == []
        page.close()
    # The report shows the same decisions.
    report = browser.page()
    report.open(write_report(run))
    assert report.count("#review tbody tr") == 3
    assert "truth accepted" in report.text("#review")
    assert report.dialogs == report.errors == []
    report.close()


def test_read_only_server_says_so_before_the_first_decision(workspace, browser):
    with live(workspace) as server:
        page = new_page(server, browser, width=390, height=844, mobile=True)
        goto(page, f"{server.url}/runs/two/review", READY)
        assert "read-only" in page.text("#read-only")
        assert page.run("document.getElementById('accept_truth').disabled")
        page.press("t")
        assert page.text(".review-progress").endswith("0 decided")
        assert json.loads(page.run("JSON.stringify(document.documentElement.scrollWidth)")) <= 390
        assert page.violations() == []
        assert page.dialogs == page.errors == []
        page.close()
