"""LibreOffice finds no formulas in exports of hostile documents.

This requires LibreOffice and is slow, so it only runs with `make prove`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest

from fieldmark.report.exports.csv import AttributesCsv, OutcomesCsv
from fieldmark.report.exports.xlsx import Xlsx
from unit.report.exported import hostile_run

WRITERS = {"a.csv": AttributesCsv().write, "o.csv": OutcomesCsv().write, "x.xlsx": Xlsx().write}
FORMULA = re.compile(r"table:formula=|<text:a[ >]")


def converted(file, directory):
    """Return the file as one XML document, converted by LibreOffice."""
    program = shutil.which("soffice") or shutil.which("libreoffice")
    assert program, "this test requires LibreOffice: apt-get install libreoffice-calc"
    subprocess.run(
        [program, "--headless", "--convert-to", "fods", "--outdir", directory, file],
        check=True,
        capture_output=True,
        timeout=600,
        env={**os.environ, "HOME": str(directory)},
    )
    return (directory / f"{file.stem}.fods").read_text("utf-8")


@pytest.mark.prove
@pytest.mark.parametrize("name", WRITERS)
def test_libreoffice_finds_no_formula(tmp_path, name):
    WRITERS[name](hostile_run(tmp_path / "run"), tmp_path / name)
    sheet = converted(tmp_path / name, tmp_path / "out")
    assert "calc" in sheet
    assert not FORMULA.search(sheet)
