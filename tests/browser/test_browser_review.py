"""The review of a run in a real browser: by keyboard, by mouse, and on a read-only server."""

from __future__ import annotations

import pytest

import fieldmark as fm
from fieldmark.analyses.report import write_report
from fieldmark.runs.reviews import read_reviews
from unit.web.live_server import write_jsonl

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
READY = ".review-context .review-field", "#effect table"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workspace")
    write_jsonl(folder / "truth.jsonl", TRUTH)
    write_jsonl(folder / "one.jsonl", CANDIDATES)
    write_jsonl(folder / "two.jsonl", [CANDIDATES[0], TRUTH[1], TRUTH[2]])
    for name in ("one", "two"):
        fm.score(folder / "truth.jsonl", folder / f"{name}.jsonl", out=folder / "runs" / name)
    return folder


def wait_until_decided(page, number):
    page.wait_for_text(".review-progress", f"{number} decided")


def test_review_by_keyboard_and_mouse(workspace, visit, serve, open_page):
    run = workspace / "runs" / "one"
    page = visit(serve(workspace, write=True), "/runs/one/review", *READY)
    assert "0 decided" in page.text(".review-progress")
    highlighted = page.attribute(".review-context .review-field", "data-path")
    assert highlighted == page.text("#review-title")
    # One decision of each kind by keyboard; the page goes on to the next undecided field.
    for number, key in enumerate("tb", 1):
        page.press(key)
        wait_until_decided(page, number)
    page.press("e")
    assert page.run("document.activeElement.id") == "correction"
    page.click("[data-value=json]")
    page.type("#correction", "{12")
    page.press("Enter", 13)
    assert "Not valid JSON" in page.text("#correction-note")
    page.type("#comment", "typed")
    page.type("#correction", "12345678901234567891")
    page.press("Enter", 13)
    wait_until_decided(page, 3)
    page.click("#accept_candidate")
    wait_until_decided(page, 4)
    page.wait("document.querySelectorAll('#decisions tbody tr').length === 4")
    reviews = read_reviews(run)
    assert [review.decision for review in reviews] == [
        "accept_truth", "ambiguous", "correction", "accept_candidate",
    ]  # fmt: skip
    assert reviews[2].values == (12345678901234567891,)
    assert reviews[2].comment == "typed"
    assert len({review.field for review in reviews}) == 4
    assert "Micro F1" in page.text("#effect")
    # Undo withdraws the last decision; the address opens the same field again.
    page.press("u")
    wait_until_decided(page, 3)
    assert read_reviews(run)[-1].decision == "undo"
    place = page.run("location.search")
    page.navigate("/runs/one/review", *READY)
    assert page.run("location.search") == place  # it goes on where it stopped
    page.press("k")
    assert page.run("location.search") != place
    assert page.violations() == []
    # Another queue, with the values of another run, and a filter by attribute.
    page.click("[data-value=disagreement]")
    page.wait_for(".review-runs input")
    page.click(".review-runs input")
    page.wait_for(".review-votes")
    assert "two" in page.text(".review-votes")
    assert "queue=disagreement" in page.run("location.search")
    page.choose(".controls select", "total")
    page.wait_for_text(".review-progress", "of 1")
    # The report shows the same decisions.
    report = open_page(write_report(run))
    assert report.count("#review tbody tr") == 3
    assert "truth accepted" in report.text("#review")


def test_read_only_server_says_so_before_the_first_decision(workspace, visit, serve):
    narrow = {"width": 390, "height": 844, "mobile": True}
    page = visit(serve(workspace), "/runs/two/review", *READY, **narrow)
    assert "read-only" in page.text("#read-only")
    assert page.is_disabled("#accept_truth")
    page.press("t")
    assert page.text(".review-progress").endswith("0 decided")
    assert not page.is_wider_than_the_screen()
    assert page.violations() == []
