"""A browser, and pages and reports to open in it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

import fieldmark as fm
from browser.chromium import Browser
from fieldmark.analyses.report import write_report
from unit.web.live_server import live, write_jsonl

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
    """Open reports in pages of their own; pages with dialogs, errors or other requests fail."""
    pages = []

    def open_report(path, **size):
        page = browser.page(**size)
        pages.append((page, path))
        page.media()
        page.open(path)
        return page

    yield open_report
    for page, path in pages:
        assert page.dialogs == []
        assert page.errors == []
        assert page.files == {path.name}
        page.close()


@pytest.fixture
def serve():
    """Serve workspaces until the end of the test."""
    with ExitStack() as servers:
        yield lambda workspace, **settings: servers.enter_context(live(workspace, **settings))


@pytest.fixture
def visit(browser, serve):
    """Open pages of servers with a session and empty storage.

    Dialogs, errors and requests to other servers fail.
    """
    visited = []

    def open_page(server, path="/", *ready, **size):
        page = browser.page(**size)
        visited.append((page, server.url))
        page.origin = server.url
        page.media()
        page.keep_notices()
        page.send("Storage.clearDataForOrigin", origin=server.url, storageTypes="local_storage")
        page.navigate(server.listener.start_address)
        page.navigate(path, *ready)
        return page

    yield open_page
    for page, origin in visited:
        assert page.dialogs == []
        assert [text for text in page.errors if "Failed to load resource" not in text] == []
        assert [
            url for url in page.requests if not url.startswith((origin, "data:", "blob:"))
        ] == []
        page.close()


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    """The report of the bundled sample."""
    directory = tmp_path_factory.mktemp("sample")
    for name in ("candidate", "candidate-claude"):
        fm.score(
            SAMPLE / "truth.jsonl", SAMPLE / f"{name}.jsonl", align="optimal", out=directory / name
        )
    return write_report(directory / "candidate", directory / "sample.html")


@pytest.fixture(scope="session")
def compared(sample):
    directory = sample.parent
    return write_report(
        directory / "candidate-claude",
        directory / "comparison.html",
        against=directory / "candidate",
    )


@pytest.fixture(scope="session")
def invoices(tmp_path_factory):
    """The report of an eval file with tags, gates, evaluators, line items and a box."""
    directory = tmp_path_factory.mktemp("invoices")
    write_jsonl(directory / "invoices.jsonl", INVOICES)
    (directory / "invoices.eval.yaml").write_text(EVAL, "utf-8")
    fm.evaluate(directory / "invoices.eval.yaml", out=directory / "run")
    return write_report(directory / "run")


@pytest.fixture(scope="session")
def valueless(tmp_path_factory):
    directory = tmp_path_factory.mktemp("valueless")
    pairs = [(row["expected"], row["candidate"]) for row in INVOICES]
    fm.score(pairs, values=False, out=directory / "run")
    return write_report(directory / "run")
