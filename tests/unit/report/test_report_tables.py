"""The figures of a run as tables: worst first, undefined as a dash, numbers never cut."""

from __future__ import annotations

import csv
import io

import pytest

import fieldmark as fm
from fieldmark.report.notebook import case_html, rows_html
from fieldmark.report.tables import attribute_rows, number
from fieldmark.report.terminal import as_text, run_view
from fieldmark.report.text_tables import csv_table, markdown_summary

PAIRS = [
    ({"good": 1, "bad": 1, "half": 1, "gone": 1, "none": None, "worse": 1},
     {"good": 1, "bad": 2, "half": 1, "none": None, "worse": 2, "new": 1}),
    ({"good": 1, "bad": None, "half": 1, "none": None, "worse": 1},
     {"good": 1, "half": 2, "none": None, "worse": 3}),
]  # fmt: skip


@pytest.fixture(scope="module")
def run():
    return fm.score(PAIRS, at_least={"micro.f1": 0.9}, at_most={"hallucination": 0.5})


def test_the_worst_attribute_comes_first(run):
    assert [row.attribute for row in attribute_rows(run.summary)] == [
        "worse", "bad", "gone", "new", "half", "good", "none",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param(None, "–", id="undefined"),
        pytest.param(0.0, "0.000", id="zero-is-not-undefined"),
        pytest.param(2 / 3, "0.667", id="rounded"),
    ],
)
def test_a_figure_for_people(value, shown):
    assert number(value) == shown


def test_csv_has_full_precision_and_an_empty_cell_for_undefined(run):
    rows = {row["attribute"]: row for row in csv.DictReader(io.StringIO(csv_table(run.summary)))}
    assert rows["half"]["f1"] == "0.5"
    assert rows["none"]["f1"] == ""
    assert rows["worse"]["wrong_value"] == "2"


def test_markdown_has_headline_gates_and_table(run):
    text = markdown_summary(run.summary, top=2)
    assert text.startswith("**macro F1 ")
    assert "- gate **failed**: `micro.f1`" in text
    assert "- gate passed: `hallucination`" in text
    assert "| worse | 0 | 0 | 2 | 2 | 0.000 | 0.000 | – |" in text
    assert "… and 5 more attributes." in text


def test_the_terminal_view_has_everything(run):
    text = as_text(run_view(run.summary, ["paired by position"], top=3))
    assert text.startswith("· paired by position\nAttribute")
    assert "… and 4 more attributes: --top 0 shows them all" in text
    assert "micro (all fields pooled)" in text
    assert "2 cases, 2 scored, 0 perfect; verdicts: 0 pass, 2 partial, 0 fail" in text
    assert "gate FAIL: micro.f1 = " in text
    assert "gate pass: hallucination = " in text


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
def test_a_narrow_terminal_cuts_names_and_never_numbers(width):
    long = {"a_rather_long_name_of_an_attribute.with_parts[]": 1}
    summary = fm.score([(long, dict.fromkeys(long, 2))] * 12345).summary
    text = as_text(run_view(summary), width=width)
    if width >= 60:
        assert text.count("12345") >= 2
    assert "wrong value" in text


def test_one_case_is_a_case():
    assert "1 case, 1 scored" in as_text(run_view(fm.score([({"a": 1}, {"a": 1})]).summary))


def test_a_notebook_table_is_escaped():
    html = rows_html([{"<b>": "<script>", "n": None, "x": 0.5}])
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "<td>–</td><td>0.500</td>" in html
    assert rows_html([]) == "<p>nothing to show</p>"


def test_a_case_in_a_notebook_shows_both_values():
    html = case_html(fm.compare({"a": "<x>"}, {"b": 1}).to_dict())
    assert "&lt;x&gt;" in html
    assert "omission" in html
    assert "hallucination" in html
