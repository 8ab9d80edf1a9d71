"""A run that the server made says where its data came from, and nothing of the server's own."""

from __future__ import annotations

import json
import tempfile

import pytest

import fieldmark as fm
from fieldmark.api.score import score_with
from fieldmark.errors import ConfigError
from fieldmark.run.options import options_of_run
from fieldmark.server.data_roots import DataRoots
from fieldmark.server.options import ServerLimits
from fieldmark.server.uploads import InputSource, record_input_sources
from fieldmark.store.run_reader import open_run
from unit.server.live_server import FOUND, PATIENCE, TRUTH, held_job, lines, live  # noqa: F401


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    lines(folder / "truth.jsonl", TRUTH)
    lines(folder / "found.jsonl", FOUND)
    return folder


PATH = {"path": "data/truth.jsonl"}, {"path": "data/found.jsonl"}
TEXT = tuple(
    {"name": name, "text": "".join(f"{json.dumps(row)}\n" for row in rows)}
    for name, rows in (("my truth.jsonl", TRUTH), ("found.jsonl", FOUND))
)
ROWS = {"rows": TRUTH}, {"rows": FOUND[:1]}


@pytest.mark.parametrize(
    ("sides", "names", "resumable"),
    [
        pytest.param(PATH, ["data/truth.jsonl", "data/found.jsonl"], True, id="paths"),
        pytest.param(TEXT, ["my truth.jsonl", "found.jsonl"], False, id="files-of-a-browser"),
        pytest.param(ROWS, ["8 rows", "1 row"], False, id="rows"),
    ],
)
def test_inputs_are_called_what_people_called_them(tmp_path, root, sides, names, resumable):
    with live(tmp_path, write=True, roots={"data": root}) as server:
        body = dict(zip(("truth", "candidate"), sides, strict=True))
        job = server.ask.post("/api/batch", json=body).json()["id"]
        run = tmp_path / "runs" / server.finished(job)["result"]["run"]
    manifest = open_run(run).manifest
    assert [each.name for each in manifest.inputs] == names
    assert "fieldmark-serve-" not in (run / "manifest.json").read_text("utf-8")
    assert (manifest.options is not None) is resumable


def broken_off(folder, sources):
    """A run as a killed server leaves it."""
    fm.score(sources[0].copy, sources[1].copy, out=folder)
    record_input_sources(folder, sources)
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    (folder / "manifest.json").write_text(json.dumps({**manifest, "status": "running"}), "utf-8")
    (folder / "summary.json").unlink()


def copies(tmp_path, root, roots=None):
    sides = []
    for name in ("truth.jsonl", "found.jsonl"):
        copy = tmp_path / f"copy-{name}"
        copy.write_bytes((root / name).read_bytes())
        file = roots.location(f"data/{name}") if roots else None
        sides.append(InputSource(name=f"data/{name}", copy=copy, file=file))
    return sides


def resume(run):
    return score_with(options_of_run(run, "score").resumed(run))


def test_a_run_over_paths_goes_on_after_the_server_was_killed(tmp_path, root):
    sources = copies(tmp_path, root, DataRoots({"data": root}))
    broken_off(tmp_path / "run", sources)
    for each in sources:
        each.copy.unlink()
    assert resume(tmp_path / "run").micro.f1 == 0.75


def test_a_run_over_rows_says_that_it_cannot_go_on(tmp_path, root):
    broken_off(tmp_path / "runs" / "killed", copies(tmp_path, root))
    with pytest.raises(ConfigError, match="cannot go on by its name alone"):
        resume(tmp_path / "runs" / "killed")
    with live(tmp_path, write=True) as server, server.browser() as browser:
        assert "cannot go on" in browser.get("/runs/killed").text


def test_a_run_that_can_go_on_says_how(tmp_path, root):
    broken_off(tmp_path / "runs" / "killed", copies(tmp_path, root, DataRoots({"data": root})))
    with live(tmp_path, write=True) as server, server.browser() as browser:
        page = browser.get("/runs/killed").text
    assert "fieldmark score --resume runs/killed" in page


def test_a_job_that_is_cancelled_before_it_began_keeps_no_copy(tmp_path, monkeypatch, held_job):  # noqa: F811
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    body = {"truth": {"rows": TRUTH}, "candidate": {"rows": FOUND}}
    with live(tmp_path, limits=ServerLimits(waiting_jobs=2)) as server:
        first = server.ask.post("/api/batch", json=body).json()["id"]
        assert held_job.started.wait(PATIENCE)
        second = server.ask.post("/api/batch", json=body).json()["id"]
        told = server.ask.delete(f"/api/jobs/{second}").json()
        held = list(tmp_path.glob("fieldmark-serve-*/inbox/*"))
        server.ask.delete(f"/api/jobs/{first}")
        held_job.released.set()
        server.finished(first)
    assert told["state"] == "cancelled"
    assert len(held) == 1
