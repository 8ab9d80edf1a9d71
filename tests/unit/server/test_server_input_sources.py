"""A run that the server made says where its data came from, and nothing of the server's own."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

import fieldmark as fm
from fieldmark.api.score import resume_score
from fieldmark.errors import ConfigError
from fieldmark.server.data_roots import DataRoots
from fieldmark.server.input_sources import InputSource, record_input_sources
from fieldmark.server.options import ServerLimits
from fieldmark.server.redaction import PathRedactor
from fieldmark.store.reader import open_run
from unit.server.live_server import FOUND, TRUTH, lines, live


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
    assert [each["name"] for each in manifest["inputs"]] == names
    assert "fieldmark-serve-" not in (run / "manifest.json").read_text("utf-8")
    assert isinstance(manifest["request"], dict) is resumable


def broken_off(folder, origins):
    """A run as a killed server leaves it."""
    fm.score(origins[0].copy, origins[1].copy, out=folder)
    record_input_sources(folder, origins)
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    (folder / "manifest.json").write_text(json.dumps({**manifest, "status": "running"}), "utf-8")
    (folder / "summary.json").unlink()


def copies(tmp_path, root, places=None):
    sides = []
    for name in ("truth.jsonl", "found.jsonl"):
        copy = tmp_path / f"copy-{name}"
        copy.write_bytes((root / name).read_bytes())
        file = places.where(f"data/{name}") if places else None
        sides.append(InputSource(name=f"data/{name}", copy=copy, file=file))
    return sides


def test_a_run_over_paths_goes_on_after_the_server_was_killed(tmp_path, root):
    origins = copies(tmp_path, root, DataRoots({"data": root}))
    broken_off(tmp_path / "run", origins)
    for each in origins:
        each.copy.unlink()
    assert resume_score(tmp_path / "run").micro.f1 == 0.75


def test_a_run_over_rows_says_that_it_cannot_go_on(tmp_path, root):
    broken_off(tmp_path / "runs" / "killed", copies(tmp_path, root))
    with pytest.raises(ConfigError, match="cannot go on by its name alone"):
        resume_score(tmp_path / "runs" / "killed")
    with live(tmp_path, write=True) as server, server.browser() as browser:
        assert "cannot go on" in browser.get("/runs/killed").text


def test_a_run_that_can_go_on_says_how(tmp_path, root):
    broken_off(tmp_path / "runs" / "killed", copies(tmp_path, root, DataRoots({"data": root})))
    with live(tmp_path, write=True) as server, server.browser() as browser:
        page = browser.get("/runs/killed").text
    assert "fieldmark score --resume runs/killed" in page


def test_a_job_that_is_cancelled_before_it_began_keeps_no_copy(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    many = [{"id": str(n), "text": f"row {n} " * 20} for n in range(20_000)]
    with live(tmp_path, limits=ServerLimits(waiting_jobs=2)) as server:
        first, second = (
            server.ask.post(
                "/api/batch", json={"truth": {"rows": rows}, "candidate": {"rows": rows}}
            ).json()["id"]
            for rows in (many, many[:1])  # the second is there before the first is done
        )
        told = server.ask.delete(f"/api/jobs/{second}").json()
        held = list(tmp_path.glob("fieldmark-serve-*/inbox/*"))
        server.ask.delete(f"/api/jobs/{first}")
        server.finished(first)
    assert told["state"] == "cancelled"
    assert len(held) <= 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("/srv/data/a.jsonl: not JSON", "a.jsonl: not JSON", id="a-file-below"),
        pytest.param("nothing in /srv/data.", "nothing in .", id="the-folder-at-the-end"),
        pytest.param("'/srv/data'", "''", id="the-folder-in-quotes"),
        pytest.param("/srv/database/a", "/srv/database/a", id="a-longer-name"),
        pytest.param("/srv/data.old/a", "/srv/data.old/a", id="a-name-with-a-suffix"),
        pytest.param("unit/srv/data", "unit/srv/data", id="the-middle-of-a-value"),
    ],
)
def test_only_places_of_ours_are_hidden(tmp_path, text, shown):
    assert PathRedactor(tmp_path, [Path("/srv/data")]).text(text) == shown


def test_a_folder_that_is_named_relatively_hides_no_word(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    redactor = PathRedactor(tmp_path / "scratch", [Path(), Path("data")])
    assert redactor.text("metadata.total differs.") == "metadata.total differs."
    assert redactor.text(f"{tmp_path}/data/a.jsonl") == "a.jsonl"


def test_attributes_keep_their_names(tmp_path):
    found = PathRedactor(tmp_path, [Path("/app")]).value(
        {"attributes": {"/app/total": {"f1": 1.0}}}
    )
    assert found == {"attributes": {"/app/total": {"f1": 1.0}}}
