"""CSV exports: same metrics as in the terminal, and no cell is a formula."""

from __future__ import annotations

import re

import fieldmark as fm
from fieldmark.report.exports.csv import AttributesCsv, OutcomesCsv
from fieldmark.report.render import csv_table
from unit.report.exported import CANDIDATES, FORMULAS, TRUTH, read_csv, shown

FORMULA = re.compile(r"[=+\-@\t\r]")

NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")


def test_attributes_are_those_that_score_prints(tmp_path):
    # Both attributes have the same F1, so mistakes determine their order.
    truth = [*TRUTH, {"id": "d", "expected": {"p": 1, "q": 1}}, {"id": "e", "expected": {"q": 1}}]
    candidates = [
        *CANDIDATES,
        {"id": "d", "candidate": {"p": 2, "q": None}},
        {"id": "e", "candidate": {}},
    ]
    result = fm.score(truth, candidates, out=tmp_path / "run")
    AttributesCsv().write(shown(tmp_path / "run"), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text("utf-8") == csv_table(result.summary)


def test_outcomes_have_one_row_per_field(ordinary, tmp_path):
    OutcomesCsv().write(ordinary, tmp_path / "o.csv")
    rows = read_csv(tmp_path / "o.csv")
    outcomes = [(row["case_id"], row["path"], row["outcome"]) for row in rows]
    assert outcomes == [
        ("a", "vendor", "wrong_value"),
        ("a", "total", "format_error"),
        ("a", "items[0].d", "wrong_value"),
        ("a", "items[0].q", "match"),
        ("b", "vendor", "match"),
        ("b", "total", "match"),
        ("b", "items", "match"),
        ("c", "vendor", "omission"),
        ("c", "total", "omission"),
        ("c", "items", "omission"),
    ]
    assert (rows[0]["expected"], rows[0]["candidate"]) == ("Acme GmbH", "Acme Gmbh")
    assert (rows[1]["expected"], rows[1]["reason"]) == ("12.5", "type_mismatch")
    assert (rows[6]["expected"], rows[6]["score"]) == ("[]", "1.0")
    assert (rows[7]["candidate"], rows[7]["score"]) == ("", "")


def test_no_cell_starts_like_a_formula(hostile, tmp_path):
    for write in (AttributesCsv().write, OutcomesCsv().write):
        write(hostile, tmp_path / "x.csv")
        texts = [cell for row in read_csv(tmp_path / "x.csv") for cell in row.values()]
        assert [text for text in texts if FORMULA.match(text) and not NUMBER.match(text)] == []
    for payload in FORMULAS:
        assert any(payload in text for text in texts), payload
