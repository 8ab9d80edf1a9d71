"""The manifest of a run names its original inputs, not the copies of the server."""

from __future__ import annotations

import json
import tempfile

import pytest

import fieldmark as fm
from fieldmark.analyses.score import score_with
from fieldmark.data.roots import DataRoots
from fieldmark.errors import ConfigError
from fieldmark.runs.run_options import complete_options, options_of_run
from fieldmark.runs.stored_run import open_run
from fieldmark.web.routes.batch import InputSource, record_input_sources
from fieldmark.web.server_options import ServerLimits
from page_files import png
from row_files import lines
from unit.web.live_server import PREDICTIONS, TRUTH, live, write_jsonl
from waiting import TIMEOUT


@pytest.fixture
def root(tmp_path):
    directory = tmp_path / "files"
    directory.mkdir()
    write_jsonl(directory / "truth.jsonl", TRUTH)
    write_jsonl(directory / "predictions.jsonl", PREDICTIONS)
    return directory


PATH = {"path": "data/truth.jsonl"}, {"path": "data/predictions.jsonl"}
TEXT = tuple(
    {"name": name, "text": lines(rows)}
    for name, rows in (("my truth.jsonl", TRUTH), ("predictions.jsonl", PREDICTIONS))
)
FILES = tuple(
    {"files": [{"name": f"{row['id']}.json", "text": json.dumps(row)} for row in rows]}
    for rows in (TRUTH, PREDICTIONS[:1])
)
ROWS = {"rows": TRUTH}, {"rows": PREDICTIONS[:1]}


@pytest.mark.parametrize(
    ("sides", "names", "resumable"),
    [
        pytest.param(PATH, ["data/truth.jsonl", "data/predictions.jsonl"], True, id="paths"),
        pytest.param(TEXT, ["my truth.jsonl", "predictions.jsonl"], False, id="uploads"),
        pytest.param(FILES, ["case-1.json and 7 more", "case-1.json"], False, id="files"),
        pytest.param(({**FILES[0], "name": "golden"}, FILES[1]), ["golden", "case-1.json"], False, id="folder"),
        pytest.param(ROWS, ["8 rows", "1 row"], False, id="rows"),
    ],
)  # fmt: skip
def test_manifest_has_the_original_names_of_inputs(tmp_path, root, sides, names, resumable):
    with live(tmp_path, write=True, roots={"data": root}) as server:
        run = tmp_path / "runs" / server.batch(*sides)["result"]["run"]
    manifest = open_run(run).manifest
    assert [source.name for source in manifest.inputs] == names
    assert "fieldmark-serve-" not in (run / "manifest.json").read_text("utf-8")
    assert (manifest.options is not None) is resumable


def test_batch_names_the_directory_with_its_page_images(tmp_path, root):
    (root / "scan.png").write_bytes(png())
    rows = [{"id": "a", "expected": 1, "candidate": 1, "metadata": {"pages": "scan.png"}}]
    with live(tmp_path, write=True, roots={"data": root}) as server:
        body = {"truth": {"rows": rows}, "pages": "data"}
        run = server.batch(**body)["result"]["run"]
        response = server.client.get(f"/api/runs/{run}/cases/1/pages").json()
        assert [page["file"] for page in response["pages"]] == ["data/scan.png"]
        for unknown in ("files", "data/files", str(root)):
            refused = server.client.post("/api/batch", json={**body, "pages": unknown})
            assert (refused.status_code, refused.json()["error"]["code"]) == (403, "outside_roots")


def make_interrupted_run(directory, sources):
    """Create a run as a killed server leaves it."""
    fm.score(sources[0].copy, sources[1].copy, out=directory)
    record_input_sources(directory, sources, "scans")
    manifest = json.loads((directory / "manifest.json").read_text("utf-8"))
    (directory / "manifest.json").write_text(json.dumps({**manifest, "status": "running"}), "utf-8")
    (directory / "summary.json").unlink()


def copies(tmp_path, root, roots=None):
    sides = []
    for name in ("truth.jsonl", "predictions.jsonl"):
        copy = tmp_path / f"copy-{name}"
        copy.write_bytes((root / name).read_bytes())
        file = roots.location(f"data/{name}") if roots else None
        sides.append(InputSource(name=f"data/{name}", copy=copy, file=file))
    return sides


def resume(run):
    stored = options_of_run(run, "score")
    return score_with(complete_options(**{**stored, "out": run, "resume": True}))


def test_run_over_paths_can_be_resumed_after_the_server_was_killed(tmp_path, root):
    sources = copies(tmp_path, root, DataRoots({"data": root}))
    make_interrupted_run(tmp_path / "run", sources)
    for source in sources:
        source.copy.unlink()
    assert resume(tmp_path / "run").micro.f1 == 0.75


def test_run_over_rows_cannot_be_resumed(tmp_path, root):
    make_interrupted_run(tmp_path / "runs" / "killed", copies(tmp_path, root))
    with pytest.raises(ConfigError, match="cannot be resumed"):
        resume(tmp_path / "runs" / "killed")
    with live(tmp_path, write=True) as server, server.browser() as browser:
        assert "cannot be resumed" in browser.get("/runs/killed").text


def test_page_of_an_interrupted_run_over_paths_says_that_it_can_be_resumed(tmp_path, root):
    make_interrupted_run(
        tmp_path / "runs" / "killed", copies(tmp_path, root, DataRoots({"data": root}))
    )
    with live(tmp_path, write=True) as server, server.browser() as browser:
        page = browser.get("/runs/killed").text
    assert "it can be resumed in the workspace: fieldmark score --resume runs/killed" in page


def test_job_cancelled_before_its_start_deletes_its_copies(tmp_path, monkeypatch, held_job):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    body = {"truth": {"rows": TRUTH}, "candidate": {"rows": PREDICTIONS}}
    with live(tmp_path, limits=ServerLimits(waiting_jobs=2)) as server:
        first = server.client.post("/api/batch", json=body).json()["id"]
        assert held_job.started.wait(TIMEOUT)
        second = server.client.post("/api/batch", json=body).json()["id"]
        cancelled = server.client.delete(f"/api/jobs/{second}").json()
        remaining = list(tmp_path.glob("fieldmark-serve-*/inbox/*"))
        server.client.delete(f"/api/jobs/{first}")
        held_job.released.set()
        server.wait_for_job(first)
    assert cancelled["state"] == "cancelled"
    assert len(remaining) == 1
