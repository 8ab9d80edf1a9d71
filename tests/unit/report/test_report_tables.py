"""Tables of a run: worst first, undefined as a dash, numbers never truncated."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import fieldmark as fm
from fieldmark.metrics.gates import GateKind, GateResult
from fieldmark.report.html.metrics import attribute_lines
from fieldmark.report.render import RichDocument, csv_table, document_text, markdown_summary
from fieldmark.report.run_document import run_document
from fieldmark.report.tables import attribute_rows, gate_text
from fieldmark.values.escape import html_table

PAIRS = [
    ({"good": 1, "bad": 1, "half": 1, "gone": 1, "none": None, "worse": 1},
     {"good": 1, "bad": 2, "half": 1, "none": None, "worse": 2, "new": 1}),
    ({"good": 1, "bad": None, "half": 1, "none": None, "worse": 1},
     {"good": 1, "half": 2, "none": None, "worse": 3}),
]  # fmt: skip


@pytest.fixture(scope="module")
def run():
    return fm.score(PAIRS, min={"micro.f1": 0.9}, max={"hallucination": 0.5})


def test_attributes_with_the_same_f1_have_the_same_order_in_all_reports():
    predictions = [{"wrong": 2, "extra": 1}] * 3
    summary = fm.score([{"wrong": 1, "extra": None}] * 3, predictions).summary
    assert {value.f1 for value in summary.attributes.values()} == {0.0}
    listed = [line["attribute"] for line in attribute_lines(summary, {})]
    assert [row.attribute for row in attribute_rows(summary)] == listed == ["extra", "wrong"]


def test_the_worst_attribute_comes_first(run):
    assert [row.attribute for row in attribute_rows(run.summary)] == [
        "worse", "bad", "gone", "new", "half", "good", "none",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        pytest.param({"value": 0.5}, "rqs is 0.5000, must be at least 0.9", id="minimum"),
        pytest.param({"value": 1.0, "kind": GateKind.MAX}, "rqs is 1.0000, must be at most 0.9", id="maximum"),
        pytest.param({"value": None, "note": "undefined"}, "rqs is undefined, must be at least 0.9", id="undefined"),
        pytest.param({"value": 1.0, "note": "nothing was scored"}, "rqs is 1.0000, must be at least 0.9 (nothing was scored)", id="vacuous"),
    ],
)  # fmt: skip
def test_a_gate_shows_metric_and_limit(result, shown):
    gate = {"name": "rqs", "limit": 0.9, "kind": GateKind.MIN, "passed": False, **result}
    assert gate_text(GateResult(**gate)) == shown


def test_csv_has_full_precision_and_empty_cells_for_undefined(run):
    rows = {row["attribute"]: row for row in csv.DictReader(io.StringIO(csv_table(run.summary)))}
    assert rows["half"]["f1"] == "0.5"
    assert rows["none"]["f1"] == ""
    assert rows["worse"]["wrong_value"] == "2"


def test_markdown_has_headline_gates_and_table(run):
    text = markdown_summary(run.summary, top=2)
    assert text.startswith("**macro F1 ")
    assert "- gate **failed**: `micro.f1`" in text
    assert "- gate passed: `hallucination`" in text
    assert "| worse | 0 | 0 | 2 | 2 | 0.000 | 0.000 | 0.000 |" in text
    assert "… and 5 more attributes\n" in text


def test_the_terminal_view_has_all_parts(run):
    text = document_text(run_document(run.summary, ["paired by position"], top=3))
    assert text.startswith("· paired by position\nAttribute")
    assert "… and 4 more attributes; --top 0 shows all" in text
    assert "micro (all fields pooled)" in text
    assert "2 cases, 2 scored, 0 perfect; verdicts: 0 pass, 2 partial, 0 fail" in text
    assert "gate failed: micro.f1 is " in text
    assert "gate passed: hallucination is " in text


LONG_NAME = "a_rather_long_name_of_an_attribute_with_parts"


@pytest.mark.parametrize("width", [40, 50, 60, 70, 80, 90, 100, 120])
def test_a_narrow_terminal_folds_names_and_truncates_nothing(width):
    long = {LONG_NAME: 1}
    summary = fm.score([(long, dict.fromkeys(long, 2))] * 12345).summary
    text = document_text(run_document(summary), width=width)
    table = text.partition("\n\n")[0].splitlines()[1:]
    assert "".join(line.split(" ")[0] for line in table) == LONG_NAME
    assert table[0].split().count("12345") >= 2
    assert "0.000" in text.partition("Scores")[2]
    assert "wrong value" in text


@pytest.mark.parametrize(
    ("width", "columns"),
    [
        pytest.param(90, "TP TN FP FN Precision Recall F1 Mistakes", id="all"),
        pytest.param(70, "TP TN FP FN Precision Recall F1 Mistakes", id="without-bar"),
        pytest.param(69, "TP TN FP FN Precision Recall F1", id="without-mistakes"),
        pytest.param(59, "TP FP FN Precision Recall F1", id="without-true-negatives"),
        pytest.param(49, "TP FP FN F1", id="without-rates"),
    ],
)
def test_a_narrow_terminal_has_fewer_columns(run, width, columns):
    text = document_text(run_document(run.summary), width=width).partition("\n\n")[0]
    assert text.splitlines()[0].split() == ["Attribute", *columns.split()]
    assert ("█" in text) is (width >= 90)


KEYS = st.text(alphabet="ab é[.\t漢", min_size=1, max_size=30) | st.sampled_from(["x", "y" * 70])
DOCUMENTS = st.dictionaries(KEYS, st.sampled_from([None, "", 1, 2, "a", "b"]), max_size=4)


@given(
    pairs=st.lists(st.tuples(DOCUMENTS, DOCUMENTS), min_size=1, max_size=4),
    width=st.sampled_from([60, 90, 120]),
    top=st.sampled_from([None, 1, 3]),
    convention=st.sampled_from(["confusion", "four_phase", "field_accuracy"]),
)
def test_plain_text_is_the_same_as_in_a_terminal(pairs, width, top, convention):
    run = fm.score(pairs, convention=convention, min={"micro.f1": 0.9})
    document = run_document(run.summary, run.notes, top=top)
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(RichDocument(document), crop=False)
    assert document_text(document, width=width) == console.file.getvalue()


def test_one_case_is_singular():
    assert "1 case, 1 scored" in document_text(
        run_document(fm.score([({"a": 1}, {"a": 1})]).summary)
    )


def test_a_notebook_table_is_escaped():
    html = html_table([{"<b>": "<script>", "n": None, "x": 0.5}])
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "<td>–</td><td>0.500</td>" in html
    assert html_table([]) == "<p>No rows.</p>"


def test_a_case_in_a_notebook_shows_both_values():
    html = fm.compare({"a": "<x>"}, {"b": 1})._repr_html_()
    assert "&lt;x&gt;" in html
    assert "omission" in html
    assert "hallucination" in html
