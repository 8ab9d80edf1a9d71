"""The four-phase workflow in a browser: evaluate, save, export, batch of files, metrics, history."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from fieldmark.analyses.report import write_report
from unit.evaluators.walk_through import CANDIDATE, EXPECTED
from unit.web.live_server import live
from waiting import eventually


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with two comparable four-phase runs, one of which passes its gate."""
    workspace = tmp_path_factory.mktemp("workflow")
    truth = [{"id": str(n), "name": f"Name {n}", "total": n} for n in range(8)]
    wrong = [{**row, "total": 0} for row in truth]
    for name, rows in (("first", wrong), ("second", truth)):
        out = workspace / "runs" / name
        fm.score(truth, rows, convention="four_phase", min={"rqs": 0.8}, out=out)
    with live(workspace, write=True) as server:
        yield server


@pytest.fixture
def page(visit, server):
    return visit(server)


def test_evaluation_is_saved_with_the_same_tabs_and_exported(page, tmp_path):
    page.type("#expected", json.dumps(EXPECTED))
    page.type("#candidate", json.dumps(CANDIDATE))
    page.choose("#convention", "four_phase")
    page.wait_for_text("#headline", "four_phase")
    evaluated = {}
    for tab in ("completeness", "hallucination", "accuracy", "safety", "rqs"):
        page.click(f"#tab-{tab}")
        evaluated[tab] = page.text(".tab-panel")
    page.download_to(tmp_path)
    before = page.completed_downloads
    for number, kind in enumerate(("json", "xlsx", "html"), 1):
        page.click("#export > button")
        page.run(f"document.querySelector('#export [data-export={kind}]').click()")
        assert eventually(lambda number=number: page.completed_downloads == before + number)
    quality = json.loads((tmp_path / "evaluation.json").read_bytes())["quality"]
    assert round(quality["rqs"], 4) == 0.7375
    assert (tmp_path / "evaluation.xlsx").read_bytes().startswith(b"PK")
    assert b"extra_field" in (tmp_path / "evaluation.html").read_bytes()
    page.click("#save-run")
    page.wait_for(".saved a")
    assert page.text(".saved").startswith("Saved as Evaluation ")
    page.click(".saved a")
    page.wait_for("#cases tbody a")
    score = evaluated["rqs"].split("\t")[-1].split("\n")[0]
    assert page.text("#quality [data-metric=rqs-sum]") == score
    page.click("#cases tbody a")
    page.wait_for(".tabs")
    for tab in ("completeness", "hallucination", "safety", "rqs"):
        page.click(f"#tab-{tab}")
        assert page.text(".tab-panel") == evaluated[tab]
        assert page.run("new URLSearchParams(location.search).get('tab')") == tab
    assert "status" in evaluated["completeness"]
    assert "extra_field" in evaluated["hallucination"]
    assert "semantic" in evaluated["accuracy"]
    assert "Safety was not evaluated" in evaluated["safety"]
    assert page.violations() == []


def test_folder_is_uploaded_and_wrong_files_are_refused(page, tmp_path):
    for side, value in (("truth", 1), ("candidate", 2)):
        (tmp_path / side).mkdir()
        for name in ("a", "b c"):
            (tmp_path / side / f"{name}.json").write_text(json.dumps({"x": value}), "utf-8")
    (tmp_path / "notes.txt").write_text("no document", "utf-8")
    page.navigate("/batch", "#truth-limits")
    assert "5,000 files" in page.text("#truth-limits")
    files = sorted((tmp_path / "truth").iterdir())
    page.select_files("#truth-file", *files, tmp_path / "notes.txt")
    page.wait_for(".problem")
    assert page.text(".problem") == (
        "notes.txt is not a .json file. Several files must be named ID.json, with one document each."
    )
    assert page.is_disabled("#start")
    page.select_files("#truth-file", *files)
    page.select_files("#candidate-folder", tmp_path / "candidate")
    page.wait("document.querySelectorAll('.chosen strong').length === 2")
    assert page.text("#source-truth .chosen").startswith("2 files, ")
    assert page.text("#source-candidate .chosen").startswith("candidate, 2 files, ")
    page.click("#start")
    job = ".job:first-child[data-state=done]"
    page.wait_for_text(f"{job} .job-title", "a.json and 1 more · candidate")
    assert "2 cases" in page.text(f"{job} .job-status")
    page.click(f"{job} a")
    page.wait("document.querySelectorAll('#cases tbody a').length === 2")
    assert "b c" in page.text("#cases tbody")


def test_run_is_named_noted_archived_and_exported(page, server, tmp_path):
    page.navigate("/runs", "tbody a")
    for name, verdict in (("first", "fail"), ("second", "pass")):
        assert verdict in page.text(f'tr:has(a[href="/runs/{name}"]) .verdict')
    assert page.violations() == []
    page.click("[data-value=quality]")
    page.wait("location.search === '?figures=quality'")
    page.wait_for_text("thead", "Completeness")
    page.navigate("/runs/first", "#cases tbody a")
    page.click(".editable button")
    page.type("#edit-name", "baseline <b>")
    page.press("Enter", 13)
    page.wait_for_text(".run-title", "baseline <b>")
    page.click('[aria-label="Add note"]')
    page.type("#edit-note", "before\nthe change")
    page.run("document.querySelector('.editable-form').requestSubmit()")
    page.wait_for(".run-note")
    stored = server.client.get("/api/runs/first").json()
    assert (stored["name"], stored["note"]) == ("baseline <b>", "before\nthe change")
    page.download_to(tmp_path)
    before = page.completed_downloads
    page.click("#downloads > button")
    page.click("#downloads [data-export=csv-cases]")
    assert eventually(lambda: page.completed_downloads == before + 1)
    assert b'"quality_rqs"' in (tmp_path / "first.cases.csv").read_bytes()
    page.wait_for("#advice .advice, #advice .empty")
    page.click("#more > button")
    page.click("#archive")
    page.wait_for(".toast")
    assert server.client.get("/api/runs/first").json()["archived"] is True
    page.click(".toast .undo")
    page.wait("!document.querySelector('.case-facts').innerText.includes('archived')")
    assert page.violations() == []


def test_report_has_the_tabs_of_a_case(open_page, tmp_path):
    fm.score([(EXPECTED, CANDIDATE)], convention="four_phase", out=tmp_path / "run")
    page = open_page(write_report(tmp_path / "run"))
    page.run("location.hash = '#case-1?tab=rqs'")
    page.wait_for("#single .tabs")
    assert page.text("[data-metric=rqs-sum]") == "0.7375"
    page.press("End", 35)
    page.focus("#tab-rqs")
    page.press("ArrowLeft", 37)
    page.wait("location.hash === '#case-1?tab=safety'")
    assert "not evaluated" in page.text("#single .tab-panel")
    page.press("Home", 36)
    page.wait("location.hash === '#case-1' && document.querySelector('#single .tree')")
