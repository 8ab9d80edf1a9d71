"""The scripts of pages are modules whose imports the server provides."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import fieldmark as fm
from fieldmark.report.html.page import module_order
from fieldmark.web import pages

STATIC = Path(fm.__file__).parent / "web" / "static"
SHARED = Path(fm.__file__).parent / "report" / "html" / "assets"
ENTRIES = ["header.js", *re.findall(r'script="(\w+\.js)"', Path(pages.__file__).read_text("utf-8"))]


def read_asset(name):
    return pages.asset(name).content


@pytest.mark.parametrize("entry", sorted(set(ENTRIES)))
def test_every_import_of_a_page_is_served(entry):
    assert module_order(entry, read_asset)[-1] == entry


def test_every_script_is_used_by_a_page():
    used = {name for entry in ENTRIES for name in module_order(entry, read_asset)}
    assert {path.name for path in STATIC.glob("*.js")} <= used


def test_scripts_of_pages_and_of_reports_have_different_names():
    assert not {path.name for path in STATIC.iterdir()} & {path.name for path in SHARED.iterdir()}
