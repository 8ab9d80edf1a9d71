"""Right results that once looked wrong because of how data are read, through all interfaces."""

from __future__ import annotations

import csv
import json
import sys

import pytest

import fieldmark as fm
from fieldmark.errors import ConfigError, DataError
from row_files import write_rows

TRUTH = [{"id": f"{n}", "total": n + 0.5, "vendor": f"Vendor {n}"} for n in range(50)]
CITED = [
    {
        "id": row["id"],
        **{key: {"value": row[key], "citations": [{"page": 1}]} for key in ("total", "vendor")},
    }
    for row in TRUTH
]
BESIDE = [
    {**row, "total_citations": [{"page": 1}], "_meta": {"model": "m"}, "_confidence": 0.9}
    for row in TRUTH
]
EVAL = """
cases: truth.jsonl
{candidates}
evaluators:
  - {{name: header, type: field_confusion, fields: [{{path: total}}, {{path: vendor}}]}}
"""
SHAPES = [pytest.param(CITED, id="around-values"), pytest.param(BESIDE, id="next-to-values")]


def without_id(row):
    return {key: value for key, value in row.items() if key != "id"}


@pytest.mark.parametrize("rows", SHAPES)
def test_correct_documents_with_metadata_are_correct(rows):
    run = fm.score(TRUTH, rows)
    assert run.micro.f1 == 1.0
    assert [note for note in run.notes if "metadata, which is not compared" in note]
    kept = fm.score(TRUTH, rows, inputs={"envelopes": "keep"})
    assert kept.micro.f1 < 0.7
    assert not [note for note in kept.notes if "metadata" in note]
    turned = fm.score(rows, TRUTH)
    assert turned.micro.f1 == 1.0


@pytest.mark.parametrize("rows", SHAPES)
def test_two_documents_are_compared_without_metadata(rows):
    expected, candidate = without_id(TRUTH[3]), without_id(rows[3])
    result = fm.compare(expected, candidate)
    assert (result.score, len(result.notes)) == (1.0, 1)
    assert result.to_dict()["notes"] == list(result.notes)
    assert fm.compare(expected, json.dumps(candidate)).score == 1.0
    assert fm.compare(expected, candidate, envelopes="keep").score < 1
    assert "notes" not in fm.compare(expected, expected).to_dict()
    fm.assert_extraction(expected, candidate)
    assert fm.compare_many(expected, [candidate, expected]).consistency == 1.0


def test_how_envelopes_are_read_is_checked():
    with pytest.raises(ConfigError, match="envelopes must be one of: unwrap, keep"):
        fm.compare({}, {}, envelopes="drop")


@pytest.mark.parametrize("rows", SHAPES)
def test_the_command_says_how_documents_are_read(rows, folder, command):
    write_rows(folder / "truth.jsonl", TRUTH)
    write_rows(folder / "found.jsonl", rows)
    done = command("score", "truth.jsonl", "found.jsonl", "--no-save", "--min", "micro.f1=1")
    assert done.code == 0
    assert "compare it with --envelopes keep" in done.out
    kept = command("score", "truth.jsonl", "found.jsonl", "--no-save", "--envelopes", "keep")
    assert "metadata" not in kept.out


@pytest.mark.parametrize("rows", SHAPES)
@pytest.mark.parametrize("source", ["candidates", "target", "inline"])
def test_evaluations_read_documents_without_metadata(rows, source, folder):
    write_rows(folder / "truth.jsonl", [{**row, "input": row["id"]} for row in TRUTH])
    truth = [{"id": row["id"], "input": row["id"], "expected": without_id(row)} for row in TRUTH]
    found = {row["id"]: without_id(row) for row in rows}
    write_rows(folder / "truth.jsonl", truth)
    write_rows(folder / "found.jsonl", [{"id": key, "output": own} for key, own in found.items()])
    (folder / "answers.json").write_text(json.dumps(found))
    (folder / "answer.py").write_text(
        "import json, sys\n"
        "print(json.dumps(json.load(open('answers.json'))[json.load(sys.stdin)['case_id']]))\n"
    )
    sources = {
        "candidates": "candidates: found.jsonl",
        "target": f"target: {{command: [{sys.executable}, answer.py]}}",
        "inline": "",
    }
    text = EVAL.format(candidates=sources[source])
    if source == "inline":
        cases = [{**row, "candidate": found[row["id"]]} for row in truth[:10]]
        text = text.replace("truth.jsonl", json.dumps(cases))
    if source == "target":  # each call starts a process
        write_rows(folder / "truth.jsonl", truth[:3])
    (folder / "a.eval.yaml").write_text(text)
    run = fm.evaluate(folder / "a.eval.yaml")
    assert run.micro.f1 == 1.0
    told = [*run.notes, *run.summary.warnings]
    assert [text for text in told if "metadata, which is not compared" in text]
    (folder / "a.eval.yaml").write_text(f"envelopes: keep\n{text}")
    kept = fm.evaluate(folder / "a.eval.yaml")
    assert not [text for text in (*kept.notes, *kept.summary.warnings) if "metadata" in text]


def test_documents_that_deviate_are_counted():
    other = {"id": "0", "total": 0.5, "vendor": {"value": "Vendor 0", "citations": []}}
    run = fm.score(TRUTH, [other, *CITED[1:]])
    (warning,) = [text for text in run.summary.warnings if "metadata" in text]
    assert warning == (
        "1 document does not have the metadata of the others, and was compared as it is"
    )
    assert run.summary.cases.perfect == 49


def test_a_field_of_the_ground_truth_is_never_metadata():
    """A rare field that only later ground truth has stays a field of its case."""
    rare = {**TRUTH[40], "total_page": 7}
    found = [{**row, "total_page": 7} for row in TRUTH]
    run = fm.score([*TRUTH[:40], rare], found[:41])
    assert run.attributes["total_page"].tp == 1
    rated = [{"id": "a", "m": {"value": 1, "source": "x"}}]
    assert fm.score(rated, rated).attributes["m.source"].tp == 1


def test_confidences_are_read_from_envelopes_with_other_metadata():
    rows = [
        {"id": row["id"], **{key: {"value": row[key], "confidence": 0.9, "page": 1} for key in row if key != "id"}}
        for row in TRUTH
    ]  # fmt: skip
    run = fm.score(TRUTH, rows, confidence=True)
    figures = run.summary.confidence.pooled
    assert (run.micro.f1, figures.fields, figures.without_confidence) == (1.0, 100, 0)
    beside = [{**row, "total_confidence": 0.8, "vendor_confidence": 0.7} for row in TRUTH]
    figures = fm.score(TRUTH, beside, confidence=True).summary.confidence.pooled
    assert (figures.fields, figures.without_confidence) == (100, 0)


@pytest.mark.parametrize(
    "option",
    [
        pytest.param({"value": "amount", "confidence": "p"}, id="both"),
        pytest.param({"value": "amount"}, id="value"),
    ],
)
def test_the_key_of_a_value_can_be_named(option, folder, command):
    rows = [
        {"id": row["id"], "total": {"amount": row["total"], "p": 0.9, "unit": "EUR"}}
        for row in TRUTH
    ]
    truth = [{"id": row["id"], "total": row["total"]} for row in TRUTH]
    run = fm.score(truth, rows, rules={"fields": [{"path": "total"}], "confidence": option})
    assert run.micro.f1 == 1.0
    assert not [text for text in run.summary.warnings if "confidence" in text]


def test_values_in_objects_with_other_data_are_a_warning_that_says_how_to_read_them():
    rows = [{"id": row["id"], "total": {"value": row["total"], "unit": "EUR"}} for row in TRUTH]
    run = fm.score([{"id": row["id"], "total": row["total"]} for row in TRUTH], rows)
    (warning,) = run.summary.structural_warnings
    assert warning == (
        "single values in ground truth, but objects with 'value' in predictions: total; to compare "
        "these values, name the key in the rules, as in confidence: {value: value}"
    )
    assert not fm.score(rows, rows).summary.structural_warnings


# --- keys of rows ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "note"),
    [
        pytest.param({"confidence": {"total": 0.9}}, "", id="confidence"),
        pytest.param({"evidence": {"total": []}}, "'evidence' is not read", id="evidence"),
        pytest.param({"repeat": 1}, "'repeat' is not read", id="repeat"),
        pytest.param({"exclude": []}, "", id="nothing-excluded"),
    ],
)
def test_rows_with_keys_of_envelopes_are_envelopes(more, note):
    rows = [{"id": row["id"], "predicted": without_id(row), **more} for row in TRUTH]
    run = fm.score(TRUTH, rows)
    assert run.micro.f1 == 1.0
    assert not note or [text for text in run.notes if note in text]
    both = [{"expected": without_id(row), "candidate": without_id(row), **more} for row in TRUTH]
    assert fm.score(both).micro.f1 == 1.0


@pytest.mark.parametrize("place", [0, 40])
@pytest.mark.parametrize("key", ["expected", "predicted"])
@pytest.mark.parametrize("form", ["rows", "files"])
def test_rows_with_excluded_fields_are_refused(place, key, form, tmp_path):
    rows = [{"id": row["id"], key: without_id(row)} for row in TRUTH]
    rows[place]["exclude"] = ["total"]
    sides = (rows, TRUTH) if key == "expected" else (TRUTH, rows)
    if form == "files":
        envelopes = [{"id": row["id"], "expected": without_id(row)} for row in TRUTH]
        sides = tuple(rows if side is rows else envelopes for side in sides)
        sides = tuple(write_rows(tmp_path / f"{n}.jsonl", side) for n, side in enumerate(sides))
    with pytest.raises(DataError, match="rows with 'exclude' cannot be scored"):
        fm.score(*sides)


# --- CSV ------------------------------------------------------------------------------------------


def table(path, header, *rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header.split(","), *(row.split(",") for row in rows)])
    return path


def test_columns_have_types(tmp_path):
    header = "id,code,total,paid,note"
    truth = table(tmp_path / "t.csv", header, "a,007,10.5,true,x", "b,7,3,false,")
    found = table(tmp_path / "c.csv", header, "a,007,10.50,True,x", "b,7,3.0,FALSE,")
    run = fm.score(truth, found)
    assert run.micro.f1 == 1.0
    assert "cells of CSV read as numbers in total and booleans in paid; read text with " in str(
        run.notes
    )
    as_text = fm.score(truth, found, inputs={"cells": "text"})
    assert {name for name, own in as_text.attributes.items() if own.fp} == {"total", "paid"}


@pytest.mark.parametrize(
    ("expected", "candidate", "matches"),
    [
        pytest.param("007", "7", False, id="a leading zero"),
        pytest.param("1.10", "1.1", True, id="a trailing zero"),
        pytest.param("-0.5", "-.5", False, id="no digit before the point"),
        pytest.param("1E5", "100000", False, id="a code with a letter"),
        pytest.param("1e+05", "100000", True, id="an exponent as programs write it"),
        pytest.param("1,000", "1000", False, id="grouped digits"),
        pytest.param("12345678901234567890", "12345678901234567891", False, id="many digits"),
        pytest.param("12345678901234567", "12345678901234568", False, id="beyond a float"),
        pytest.param("0.12345678901234567891", "0.12345678901234567892", False, id="many places"),
        pytest.param("yes", "Yes", False, id="no boolean of a program"),
        pytest.param("1", "true", False, id="two types"),
        pytest.param("TRUE", "true", True, id="booleans of spreadsheets"),
        pytest.param(" 10 ", "10", True, id="blanks"),
    ],
)
def test_cells_match(expected, candidate, matches, tmp_path):
    header = "id;n"
    paths = [tmp_path / name for name in ("t.csv", "c.csv")]
    for path, cell in zip(paths, (expected, candidate), strict=True):
        path.write_text(f"{header}\na;{cell}\n")
    assert (fm.score(*paths).micro.f1 == 1.0) is matches


@pytest.mark.parametrize("other", ['{""b"": 5}', "[1, 2]"], ids=["an object", "a list"])
def test_objects_and_lists_in_a_column_of_numbers_are_read_as_they_are(other, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f'id;a\na;1.0\nb;"{other}"\n')
    run = fm.score(path, path)
    assert run.micro.f1 == 1.0
    assert [note for note in run.notes if "numbers in a;" in note]
    numbers = tmp_path / "c.csv"
    numbers.write_text("id;a\na;1\nb;5\n")
    assert fm.score(path, numbers).attributes["a"].tp == 1


def test_a_number_beyond_all_floats_is_text(tmp_path):
    path = table(tmp_path / "t.csv", "id,a", f"a,1{'0' * 5000}", "b,5")
    run = fm.score(path, path)
    assert run.micro.f1 == 1.0
    assert not [note for note in run.notes if "cells of CSV" in note]


@pytest.mark.parametrize("confidence", [None, True, {"value": "value"}], ids=str)
@pytest.mark.parametrize("form", ["cells", "numbers in cells", "rows"])
def test_values_with_metadata_have_the_types_of_their_columns(form, confidence, tmp_path):
    truth = table(tmp_path / "t.csv", "id,total,zip", "a,10.50,007", "b,3,008")
    rows = [("a", "10.5", "007"), ("b", "3.0", "008")]
    number = str if form == "cells" else float
    wrapped = [
        {
            "id": name,
            "total": {"value": number(total), "confidence": 0.9},
            "zip": {"value": code, "confidence": 0.8},
        }
        for name, total, code in rows
    ]
    found = write_rows(tmp_path / "c.jsonl", wrapped)
    if form != "rows":
        found = tmp_path / "c.csv"
        with found.open("w", newline="") as file:
            writer = csv.DictWriter(file, ["id", "total", "zip"])
            writer.writeheader()
            for row in wrapped:
                cells = {key: json.dumps(value) for key, value in row.items() if key != "id"}
                writer.writerow({"id": row["id"], **cells})
    run = fm.score(truth, found, confidence=confidence)
    assert run.micro.f1 == 1.0
    assert [note for note in run.notes if "cells of CSV read as numbers in total;" in note]


@pytest.mark.parametrize("convention", ["confusion", "field_accuracy", "taxonomy", "taxonomy_code"])
def test_the_default_of_a_convention_compares_numbers_by_value(convention, tmp_path):
    truth = table(tmp_path / "t.csv", "id,total", "a,10.5", "b,3")
    found = table(tmp_path / "c.csv", "id,total", "a,10.50", "b,3.0")
    assert fm.score(truth, found, convention=convention).micro.f1 == 1.0
    rule = {"total": {"match": "normalized_text"}}
    assert fm.score(truth, found, convention=convention, rules=rule).micro.f1 == 0.0


@pytest.mark.parametrize(
    "name", ["invoice_id", "Customer No.", "zip", "productCode", "Phone", "PO number", "version"]
)
def test_identifiers_are_text(name, tmp_path):
    truth = table(tmp_path / "t.csv", f"id,{name}", "a,1.0")
    assert fm.score(truth, table(tmp_path / "c.csv", f"id,{name}", "a,1")).micro.f1 == 0


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param({"total": {"match": "fuzzy"}}, id="rule"),
        pytest.param({"**": {"match": "exact_text"}}, id="pattern"),
        pytest.param(
            {"defaults": {"match": "fuzzy"}, "fields": [{"path": "x", "required": False}]},
            id="default",
        ),
    ],
)
def test_columns_with_a_rule_for_text_are_text(rules, tmp_path):
    truth = table(tmp_path / "t.csv", "id,total", "a,10.5")
    found = table(tmp_path / "c.csv", "id,total", "a,10.5")
    run = fm.score(truth, found, rules=rules)
    assert run.micro.f1 == 1.0
    assert not [note for note in run.notes if "cells of CSV" in note]
    numbers = {"total": {"match": "numeric_tolerance", "tolerance": 1}}
    assert [note for note in fm.score(truth, found, rules=numbers).notes if "cells of CSV" in note]


def test_rules_of_evaluators_keep_text(folder):
    table(folder / "truth.csv", "id,total,tax", "a,10.5,1.5")
    table(folder / "found.csv", "id,total,tax", "a,10.5,1.50")
    (folder / "a.eval.yaml").write_text(
        "cases: truth.csv\ncandidates: found.csv\nevaluators:\n"
        "  - {name: a, type: field_accuracy, fields: [{path: total, match: fuzzy}, {path: tax}]}\n"
    )
    assert fm.evaluate("a.eval.yaml").summary.mean_score == 1.0


@pytest.mark.parametrize(
    ("cells", "counted"),
    [(1, ("1 cell", "it is neither")), (2, ("2 cells", "they are neither"))],
)
def test_a_later_cell_of_another_type_is_text_and_counted(cells, counted, tmp_path):
    rows = [f"{n},{n}.0" for n in range(300)]
    truth = table(tmp_path / "t.csv", "id,total", *rows)
    others = [f"{n},about {n}" for n in range(300 - cells, 300)]
    run = fm.score(truth, table(tmp_path / "c.csv", "id,total", *rows[:-cells], *others))
    assert run.attributes["total"].errors_by_type.format_error == cells
    (warning,) = [text for text in run.summary.warnings if "cell" in text]
    number, are = counted
    assert warning.startswith(f"{number} in columns of numbers or booleans compared as text")
    assert warning.endswith(are)


@pytest.mark.parametrize("turned", [False, True], ids=["truth", "prediction"])
def test_csv_against_json(turned, tmp_path):
    cells = table(tmp_path / "t.csv", "id,total,paid,code", "a,10.50,True,007", "b,3.0,False,008")
    values = [
        {"id": "a", "total": 10.5, "paid": True, "code": "007"},
        {"id": "b", "total": 3, "paid": False, "code": "008"},
    ]
    sides = cells, write_rows(tmp_path / "c.jsonl", values)
    assert fm.score(*sides[:: -1 if turned else 1]).micro.f1 == 1.0
    strings = [{"id": "a", "total": "10.50", "paid": "True", "code": "007"}]
    one = table(tmp_path / "one.csv", "id,total,paid,code", "a,10.50,True,007")
    assert fm.score(one, strings).micro.f1 == 1.0
    assert fm.score(one, [{"id": "a", "total": "10.5"}]).attributes["total"].tp == 0


def test_values_in_columns_of_both_sides_have_types(tmp_path):
    both = table(tmp_path / "b.csv", "id,expected,candidate", "a,10.5,10.50", "b,1,1.0")
    assert fm.score(both).micro.f1 == 1.0
    truth = table(tmp_path / "t.csv", "id,expected", "a,10.5")
    assert fm.score(truth, table(tmp_path / "c.csv", "id,predicted", "a,10.50")).micro.f1 == 1.0


def test_the_first_rows_of_large_documents_are_read_ahead(tmp_path):
    """A block of a file has only one large document, which does not decide alone."""
    text = "x" * 40_000
    truth = [{"id": f"{n}", "text": text, "total": n} for n in range(6)]
    cited = [
        {"id": row["id"], "text": {"value": text, "page": 1}, "total": {"value": row["total"], "page": 1}}
        for row in truth
    ]  # fmt: skip
    cited[0] = truth[0]
    paths = [
        write_rows(tmp_path / name, rows) for name, rows in (("t.jsonl", truth), ("c.jsonl", cited))
    ]
    run = fm.score(*paths)
    assert run.micro.f1 == 1.0
    assert [text for text in run.summary.warnings if text.startswith("1 document does not")]
