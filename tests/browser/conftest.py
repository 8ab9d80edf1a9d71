"""A real browser, and reports for it to open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fieldmark as fm
from browser.chromium import Browser
from fieldmark.api.report import write_report

SAMPLE = Path(fm.__file__).parent / "sample"

INVOICES = [
    {
        "id": "moved",
        "tags": ["hard"],
        "expected": {
            "vendor": {"name": "Acme Tools Ltd"},
            "total": 30,
            "items": [{"text": "Bolts", "amount": 10}, {"text": "Nuts", "amount": 20}],
            "stamp": {"bbox": [10, 10, 60, 40]},
        },
        "candidate": {
            "vendor": {"name": "Acme Tool Ltd"},
            "total": 30.0,
            "items": [{"text": "Nuts", "amount": 20}, {"text": "Washers", "amount": 7}],
            "stamp": {"bbox": [30, 10, 90, 40]},
        },
    },
    {
        "id": "fine",
        "tags": ["easy"],
        "expected": {
            "vendor": {"name": "Globex"},
            "items": [{"text": "Pins", "amount": 5}],
            "total": 5,
        },
        "candidate": {
            "vendor": {"name": "Globex"},
            "items": [{"text": "Pins", "amount": 5}],
            "total": 5,
        },
    },
    {
        "id": "empty",
        "tags": ["hard", "scan"],
        "expected": {"vendor": {"name": "Initech"}, "total": 7, "items": []},
        "candidate": {"vendor": {"name": None}, "total": "7 EUR", "items": []},
    },
]
EVAL = """\
name: invoices
cases: invoices.jsonl
rules:
  fields:
    - {path: items, align: optimal, match_fields: [text]}
    - {path: stamp.bbox, match: iou, threshold: 0.5}
evaluators:
  - {name: header, type: field_accuracy, fields: [{path: vendor.name}, {path: total}]}
  - {name: sums, type: constraints, rules: ["sum(items[].amount) == total"]}
gates: {min: {micro_f1: 0.9}, max: {hallucination: 0.9}}
"""


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def open_page(browser):
    """Opens a report in a page of its own; in the end it must have behaved."""
    pages = []

    def opened(path, **size):
        page = browser.page(**size)
        pages.append((page, path))
        page.media()
        page.open(path)
        return page

    yield opened
    for page, path in pages:
        assert page.dialogs == []
        assert page.complaints == []
        assert page.files == {path.name}
        page.close()


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    """The report of the bundled sample, against that of another model."""
    folder = tmp_path_factory.mktemp("sample")
    for name in ("candidate", "candidate-claude"):
        fm.score(
            SAMPLE / "truth.jsonl", SAMPLE / f"{name}.jsonl", align="optimal", out=folder / name
        )
    return write_report(folder / "candidate", folder / "sample.html")


@pytest.fixture(scope="session")
def versus(sample):
    folder = sample.parent
    return write_report(
        folder / "candidate-claude", folder / "versus.html", against=folder / "candidate"
    )


@pytest.fixture(scope="session")
def invoices(tmp_path_factory):
    """The report of an eval file with tags, gates, evaluators, line items and a box."""
    folder = tmp_path_factory.mktemp("invoices")
    rows = "".join(f"{json.dumps(row)}\n" for row in INVOICES)
    (folder / "invoices.jsonl").write_text(rows, "utf-8")
    (folder / "invoices.eval.yaml").write_text(EVAL, "utf-8")
    fm.evaluate(folder / "invoices.eval.yaml", out=folder / "run")
    return write_report(folder / "run")


@pytest.fixture(scope="session")
def valueless(tmp_path_factory):
    folder = tmp_path_factory.mktemp("valueless")
    pairs = [(row["expected"], row["candidate"]) for row in INVOICES]
    fm.score(pairs, values=False, out=folder / "run")
    return write_report(folder / "run")
