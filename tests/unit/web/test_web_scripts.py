"""The scripts of a bundle can be parsed together."""

from __future__ import annotations

import subprocess

import pytest

from fieldmark.report.html import page
from fieldmark.web.pages import asset

BUNDLES = [name for name in vars(page) if name.endswith("SCRIPTS")]


def check(script, *, module):
    kind = "module" if module else "commonjs"
    command = ["node", "--check", f"--input-type={kind}", "-"]
    done = subprocess.run(command, input=script, capture_output=True, check=False)
    return done.stderr.decode()


@pytest.mark.parametrize("bundle", BUNDLES)
def test_bundles_of_reports_can_be_parsed(bundle):
    assert check(page.script(getattr(page, bundle)), module=False) == ""


def test_components_that_pages_import_can_be_parsed():
    assert check(asset("report.js").content, module=True) == ""


def test_two_scripts_of_a_bundle_that_declare_the_same_name_are_found():
    content = asset("report.js").content
    assert "already been declared" in check(content + b"\nconst ERROR_NAMES = 1;\n", module=True)
