"""The primary metric leads every view, vacuous metrics say so, and views name their convention."""

from __future__ import annotations

import json
import re

import openpyxl
import pytest

import fieldmark as fm
from fieldmark.analyses.runs import RunList
from fieldmark.analyses.show import CaseDetails, CaseList
from fieldmark.report.case_view import case_view
from fieldmark.report.exports.json import Json
from fieldmark.report.exports.markdown import markdown, short_markdown
from fieldmark.report.exports.xlsx import Xlsx
from fieldmark.report.html.metrics import case_tiles, tiles
from fieldmark.report.html.view import view_of
from fieldmark.report.metric_titles import rqs_formula
from fieldmark.report.render import (
    csv_table,
    document_csv,
    document_markdown,
    document_text,
    markdown_summary,
)
from fieldmark.report.run_document import run_document
from fieldmark.runs.run_index import list_runs
from unit.report.exported import as_text, shown

FULL = [({"a": 1, "b": 2}, {"a": 1, "b": 3})]
EMPTY = [({"a": 1, "b": 2}, {})]
NOTHING = [({"a": None}, {"a": ""})]
FORMULA = "RQS = 0.45 · accuracy + 0.25 · completeness + 0.15 · safety \N{MINUS SIGN} 0.15 · hallucination; at most 0.85"  # fmt: skip

LEADING = {
    "confusion": ["Macro F1 by attribute", "Mean score"],
    "field_accuracy": ["Mean score", "Macro F1 by attribute"],
    "taxonomy": ["Macro F1 by case", "Mean score"],
    "taxonomy_code": ["Macro F1 by case", "Mean score"],
    "four_phase": ["RQS", "Mean score", "Completeness", "Hallucination", "Accuracy", "Safety"],
}
QUALITY = {"RQS", "Completeness", "Hallucination", "Accuracy", "Safety"}


def summary_of(pairs, convention="confusion"):
    rules = {"defaults": {"match": "exact"}}
    return fm.score(pairs, convention=convention, rules=rules).summary


@pytest.mark.parametrize("convention", LEADING)
def test_primary_metric_leads_tiles_tables_and_text(convention):
    summary, first = summary_of(FULL, convention), LEADING[convention]
    labels = [tile.label for tile in tiles(summary)]
    assert labels[: len(first)] == first
    quality = [index for index, label in enumerate(labels) if label in QUALITY]
    assert convention == "four_phase" or min(quality) > labels.index("Errors")
    assert markdown_summary(summary).lower().startswith(f"**{first[0].lower()} ")
    scores = document_text(run_document(summary)).partition("\n\n")[2].splitlines()
    titles = {"Mean score": "mean score", "RQS": "RQS"}
    word = titles.get(first[0], first[0].lower().replace(" f1", ""))
    assert scores[1].startswith(word)


def test_evaluators_make_the_mean_score_the_primary_metric():
    summary = summary_of(FULL)
    evaluated = fm.evaluate(
        {
            "cases": [{"id": "1", "expected": {"a": 1}, "candidate": {"a": 1}}],
            "evaluators": [{"type": "field_accuracy", "fields": [{"path": "a"}]}],
        }
    )
    assert next(iter(summary.metrics)) == "macro_f1_by_attribute"
    assert next(iter(evaluated.summary.metrics)) == "mean_score"
    assert tiles(evaluated.summary)[0].meaning == "mean of the scores of the evaluators"


@pytest.mark.parametrize("convention", LEADING)
def test_primary_metric_leads_the_tiles_of_a_case(convention):
    case = fm.compare(*FULL[0], convention=convention, rules={"defaults": {"match": "exact"}})
    label = {
        "confusion": "Macro F1", "field_accuracy": "Weighted average", "four_phase": "RQS",
    }.get(convention, "F1")  # fmt: skip
    first = case_tiles(case)[0]
    assert (first.label, first.value) == (label, case.score)
    assert case.to_dict()["convention"] == convention


def test_formula_of_rqs_is_shown_with_the_metric(tmp_path):
    fm.score(
        FULL, convention="four_phase", rules={"defaults": {"match": "exact"}}, out=tmp_path / "r"
    )
    run = shown(tmp_path / "r")
    assert view_of(run).run["formula"] == FORMULA
    for text in (document_text(run_document(run.summary)), markdown(run), short_markdown(run)):
        assert FORMULA in text
    assert "RQS" not in document_text(run_document(summary_of(FULL)))
    other = fm.score(FULL, options={"rqs_form": "complement", "rqs_weights": {"safety": 0}})
    assert rqs_formula(other.summary.rqs_counting) == (
        "RQS = 0.45 · accuracy + 0.25 · completeness + 0 · safety"
        " + 0.15 · (1 \N{MINUS SIGN} hallucination); at most 0.85"
    )


# --- vacuous metrics --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "convention", "flags"),
    [
        pytest.param(FULL, "confusion", {}, id="everything-rests-on-data"),
        pytest.param(EMPTY, "confusion", {"Accuracy": "vacuous"}, id="no-value-was-compared"),
        pytest.param(
            EMPTY, "four_phase",
            {
                "Accuracy": "vacuous", "RQS": "accuracy vacuous", "Mean score": "accuracy vacuous",
                "Safety": "not evaluated",
            },
            id="mean-of-rqs",
        ),
        pytest.param(
            NOTHING, "confusion",
            {
                "Macro F1 by attribute": "vacuous", "Mean score": "vacuous",
                "Macro F1 by case": "vacuous", "Perfect": "vacuous", "Completeness": "vacuous",
                "Accuracy": "vacuous",
            },
            id="nothing-was-scored",
        ),
        pytest.param(
            NOTHING, "taxonomy",
            {
                "Macro F1 by attribute": "vacuous", "Mean score": "vacuous",
                "Macro F1 by case": "vacuous", "Micro F1": "vacuous", "Perfect": "vacuous",
                "Completeness": "vacuous", "Accuracy": "vacuous",
            },
            id="zero-that-rests-on-nothing",
        ),
    ],
)  # fmt: skip
def test_metrics_with_nothing_behind_them_are_marked(pairs, convention, flags):
    result = tiles(summary_of(pairs, convention))
    assert {tile.label: tile.note for tile in result if tile.note} == flags


def test_counts_of_mistakes_are_never_vacuous():
    rules = {"scope": "configured", "fields": [{"path": "other"}]}
    lines = document_text(run_document(fm.score(FULL, rules=rules).summary)).splitlines()
    (extra,) = [line for line in lines if "hallucination" in line]
    assert extra.split()[-2:] == ["0.000", "vacuous"]
    assert [line for line in lines if re.search(r"extra +0  vacuous", line)] == []


def test_every_view_says_that_a_metric_is_vacuous(tmp_path):
    fm.score(NOTHING, out=tmp_path / "runs/r")
    run = shown(tmp_path / "runs/r")
    lines = document_text(run_document(run.summary)).splitlines()
    [mean] = [line for line in lines if line.startswith("mean score")]
    assert "1.000  vacuous" in mean
    assert any(line.rstrip().endswith("accuracy       1.000  vacuous") for line in lines)
    assert "mean score 1.000 (vacuous)" in markdown_summary(run.summary)
    assert "| Mean score | 1.000 |" in markdown(run)
    assert "(**vacuous**) |" in markdown(run)
    tile = next(item for item in view_of(run).run["tiles"] if item["label"] == "Mean score")
    assert (tile["note"], tile.get("interval")) == ("vacuous", None)
    Xlsx().write(run, tmp_path / "x.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "x.xlsx")
    notes = {row[0]: row[5] for row in sheet["Summary"].iter_rows(values_only=True) if len(row) > 5}
    assert notes["Mean score"] == "vacuous"
    [headings, case] = sheet["Cases"].iter_rows(values_only=True)
    assert case[headings.index("Vacuous")] is True
    Json().write(run, tmp_path / "x.json")
    exported = json.loads((tmp_path / "x.json").read_text("utf-8"))
    assert exported["cases"][0]["vacuous"] is True
    assert exported["summary"]["cases"]["vacuous"] == 1
    assert exported["summary"]["macro"]["by_attribute"]["vacuous"] is True
    [entry] = list_runs(tmp_path / "runs")
    assert "mean_score" in entry.vacuous
    assert "vacuous scores" in repr(RunList(entries=(entry,)))
    worst = CaseList.of(run.cases(), 10).document()
    assert "1.000 (vacuous)" in document_text(worst)
    assert document_csv(worst).splitlines()[1].endswith('"true"')
    case = fm.compare(*NOTHING[0])
    assert "score 1.000 (vacuous)  confusion" in as_text(case_view(case))
    assert "score 1.000 (vacuous) (confusion)" in document_markdown(
        CaseDetails(case=case).document()
    )
    assert repr(case).startswith("CaseResult(score=1.000 (vacuous), ")
    assert (case_tiles(case)[0].note, case.to_dict()["vacuous"]) == ("vacuous", True)


def test_every_view_names_the_convention(tmp_path):
    fm.score(FULL, convention="taxonomy", out=tmp_path / "runs/r")
    run = shown(tmp_path / "runs/r")
    [entry] = list_runs(tmp_path / "runs")
    listed = RunList(entries=(entry,)).document()
    for text in (
        document_text(run_document(run.summary)),
        markdown_summary(run.summary),
        csv_table(run.summary),
        markdown(run),
        short_markdown(run),
        document_text(listed),
        document_markdown(listed),
        document_csv(listed),
        json.dumps(view_of(run).run["convention"]),
    ):
        assert "taxonomy" in text
