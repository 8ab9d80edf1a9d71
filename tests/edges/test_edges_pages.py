"""`--pages`: the directory with page images of a run and of its report."""

from __future__ import annotations

import json
import re

import pytest

import fieldmark as fm
from fieldmark.analyses import report as embedded_pages
from fieldmark.analyses.report import write_report
from fieldmark.errors import ConfigError
from page_files import pdf, png
from row_files import read_rows, write_rows


@pytest.fixture
def scored(folder):
    """A run of three cases: one with an image, one with a long PDF file, and one without pages."""
    (folder / "scans").mkdir()
    (folder / "scans" / "photo.png").write_bytes(png())
    (folder / "scans" / "b.pdf").write_bytes(pdf(6))
    rows = [
        {"id": "a", "expected": {"x": 1}, "candidate": {"x": 2}, "metadata": {"pages": "photo.png"}},
        {"id": "b", "expected": {"x": 1}, "candidate": {"x": 2}},
        {"id": "c", "expected": {"x": 1}, "candidate": {"x": 2}},
    ]  # fmt: skip
    write_rows(folder / "rows.jsonl", rows)
    return folder


def embedded(path):
    """The pages of the cases of a report by rank."""
    text = re.search(r'id="opened">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)[1]
    return {rank: case.get("pages") for rank, case in json.loads(text).items()}


def test_pages_are_named_in_the_manifest_and_part_of_a_report_on_request(scored, command):
    done = command("score", "rows.jsonl", "--pages", "scans", "--out", "runs/one")
    assert done.code == 0, done.err
    manifest = json.loads((scored / "runs" / "one" / "manifest.json").read_text("utf-8"))
    assert manifest["pages"] == "scans"
    assert command("report", "runs/one", "--out", "plain.html").code == 0
    assert set(embedded(scored / "plain.html").values()) == {None}
    assert command("report", "runs/one", "--pages", "scans", "--out", "full.html").code == 0
    first, second, third = embedded(scored / "full.html").values()
    assert [page["file"] for page in first["pages"]] == ["photo.png"]
    assert first["pages"][0]["src"].startswith("data:image/png;base64,")
    assert [page["number"] for page in second["pages"]] == [1, 2, 3, 4]
    assert second["left_out"].startswith("4 of 6 pages shown.")
    assert (third["pages"], third["left_out"]) == ([], "No page was found for this case.")
    assert str(scored) not in (scored / "full.html").read_text("utf-8")
    assert command("rescore", "runs/one", "--set", "wrong_value=fp", "--out", "runs/two").code == 0
    again = json.loads((scored / "runs" / "two" / "manifest.json").read_text("utf-8"))
    assert again["pages"] == "scans"


def test_pages_beyond_the_limit_of_a_report_are_left_out(scored, monkeypatch):
    fm.score(scored / "rows.jsonl", pages="scans", out="runs/one")
    monkeypatch.setattr(embedded_pages.EmbeddedPages.__init__, "__defaults__", (1_000,))
    write_report("runs/one", "small.html", pages="scans")
    first, *others = embedded(scored / "small.html").values()
    assert len(first["pages"]) == 1
    assert [each["pages"] for each in others] == [[], []]
    assert "up to 24 MB of pages" in others[-1]["left_out"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param("score rows.jsonl --pages none", "pages: directory 'none' not found", id="score"),
        pytest.param("report runs/one --pages none", "pages: directory 'none' not found", id="report"),
        pytest.param("report runs/one --pages scans --as csv", "only HTML reports can contain pages", id="csv"),
        pytest.param("report runs/one --pages scans --no-values", "pages show values", id="no-values"),
        pytest.param("serve --pages none --no-browser", "--pages: directory 'none' not found", id="serve"),
    ],
)  # fmt: skip
def test_invalid_use_is_an_error(scored, command, words, message):
    fm.score(scored / "rows.jsonl", out="runs/one")
    done = command(*words.split())
    assert done.code == 2
    assert message in done.err


def test_all_runs_of_a_ranking_name_the_directory(scored):
    rows = read_rows(scored / "rows.jsonl")
    fm.score_many("rows.jsonl", {"one": rows, "two": rows}, pages="scans", out="runs")
    for run in ("one", "two"):
        manifest = json.loads((scored / "runs" / run / "manifest.json").read_text("utf-8"))
        assert manifest["pages"] == "scans"


def test_eval_names_the_directory_too(scored):
    spec = {"cases": [{"id": "a", "expected": {"x": 1}, "candidate": {"x": 1}}],
            "evaluators": [{"type": "field_accuracy", "fields": [{"path": "x"}]}]}  # fmt: skip
    fm.evaluate(spec, pages="scans", out="runs/evaluated")
    manifest = json.loads((scored / "runs" / "evaluated" / "manifest.json").read_text("utf-8"))
    assert manifest["pages"] == "scans"
    with pytest.raises(ConfigError, match=r"directory .* not found"):
        fm.evaluate(spec, pages="none")


def test_coco_cases_have_the_size_and_the_file_of_their_image(folder):
    image = {"id": 7, "width": 640, "height": 480, "file_name": "seven.jpg"}
    box = {"image_id": 7, "category_id": 1, "bbox": [10, 20, 30, 40]}
    truth = {"images": [image, {"id": 8}], "annotations": [{**box, "id": 1, "area": 1200, "iscrowd": 0}],
             "categories": [{"id": 1, "name": "dog"}]}  # fmt: skip
    (folder / "truth.json").write_text(json.dumps(truth), "utf-8")
    (folder / "found.json").write_text(json.dumps([{**box, "score": 0.9}]), "utf-8")
    run = fm.score(folder / "truth.json", folder / "found.json", inputs={"format_in": "coco"}, out="runs/coco")  # fmt: skip
    first, second = run.cases
    assert first.metadata == {"width": 640, "height": 480, "pages": "seven.jpg"}
    assert not second.metadata
    write_report("runs/coco", "coco.html")
    assert '"frame":[640,480]' in (folder / "coco.html").read_text("utf-8")
