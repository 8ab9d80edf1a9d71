"""Runs in object stores: the same files as in a directory, and never complete before they are."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import fsspec
import pytest

import fieldmark as fm
from fieldmark.analyses.planned import merge_plan, plan_run, work_on
from fieldmark.analyses.report import write_report
from fieldmark.data import remote_files
from fieldmark.data.remote_files import RemoteDirectory
from fieldmark.runs import remote_runs
from fieldmark.runs.run_options import complete_options
from partitioned_runs import content, rows, written
from published.command_line import ENVIRONMENT, fieldmark_here
from s3_server import s3_server

PROVE = os.environ.get("FIELDMARK_PROVE") == "1"
URL = "memory://runs/one"
EVAL = """
cases: truth.jsonl
candidates: found.jsonl
evaluators:
  - {name: fields, type: field_accuracy, fields: [{path: n}, {path: text}]}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("remote-runs")
    written(path, list(rows(700, seed=5)))
    (path / "eval.yaml").write_text(EVAL)
    return path


@pytest.fixture(autouse=True)
def memory(folder, tmp_path, monkeypatch):
    """An empty object store in memory."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("FIELDMARK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(remote_files, "_FIRST_DELAY", 0.001)
    store = fsspec.filesystem("memory")
    store.store.clear()
    store.pseudo_dirs[:] = [""]
    return store


def score(out, **options):
    return fm.score("truth.jsonl", "found.jsonl", out=out, intervals=False, **options)


def evaluate(out, **options):
    return fm.evaluate("eval.yaml", out=out, intervals=False, **options)


def merge(out, **options):
    plan = Path(os.environ["FIELDMARK_CACHE"]).parent / f"plan-of-{Path(out).name}"
    if not plan.exists():
        plan_run(complete_options(truth="truth.jsonl", candidate="found.jsonl"), plan, 1)
        work_on(plan, 0)
    return merge_plan(plan, out, **options)


def rescore(out, **options):
    saved = Path(os.environ["FIELDMARK_CACHE"]).parent / "saved"
    if not saved.exists():
        score(saved)
    return fm.rescore(saved, options={"wrong_value": "fp"}, out=out, **options)


def files(memory, url=URL):
    """Return the content of all files of a run by name."""
    root = url.removeprefix("memory:/")
    return {name.removeprefix(f"{root}/"): memory.cat_file(name) for name in memory.find(root)}


def downloaded(memory, directory, url=URL):
    """Return the content of a run, copied to a directory without any code of the project."""
    directory.mkdir()
    for name, body in files(memory, url).items():
        if "/" not in name:
            (directory / name).write_bytes(body)
    return content(directory)


@pytest.mark.parametrize("write", [score, evaluate, merge, rescore])
def test_run_in_an_object_store_has_the_same_files_as_in_a_directory(write, memory, tmp_path):
    options = {} if write is rescore else {"results": "parquet"}
    local, remote = write(tmp_path / "one", **options), write(URL, **options)
    names = [each.relative_to(local.path) for each in local.path.rglob("*") if each.is_file()]
    assert sorted(files(memory)) == sorted({*map(str, names)} - {"lock"})
    assert downloaded(memory, tmp_path / "copy") == content(local.path)
    assert (remote.url, content(remote.path)) == (URL, content(local.path))
    assert [case.id for case in remote.cases] == [case.id for case in local.cases]
    assert repr(fm.open_run(URL)) == repr(fm.open_run(local.path))


def test_prefix_with_files_is_refused(memory):
    memory.pipe_file("/runs/one/notes.txt", b"mine")
    with pytest.raises(fm.ConfigError, match="memory://runs/one is not empty; use a new prefix"):
        score(URL)
    assert files(memory) == {"notes.txt": b"mine"}


def test_second_of_two_runs_that_start_at_the_same_time_leaves_the_first_alone(memory, monkeypatch):
    score(URL)
    before = files(memory)
    monkeypatch.setattr(RemoteDirectory, "list", lambda *_: [])
    with pytest.raises(fm.ConfigError, match="memory://runs/one is not empty"):
        score(URL)
    assert files(memory) == before


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_web_server_is_read_only(scheme):
    with pytest.raises(fm.ConfigError, match="runs cannot be written to a web server; use a dir"):
        score(f"{scheme}://127.0.0.1:9/run")


class Stopped(Exception):
    """The end of a process in the middle of a run."""


@pytest.mark.parametrize("error", [KeyboardInterrupt, Stopped])
def test_interrupted_run_is_resumed_from_the_store_alone(error, memory, tmp_path, monkeypatch):
    def stop(done, *_):
        if done > 600:
            raise error

    with pytest.raises(error):
        score(URL, progress=stop)
    manifest = json.loads(files(memory)["manifest.json"])
    assert manifest["status"] == ("interrupted" if error is KeyboardInterrupt else "failed")
    assert [name for name in files(memory) if name.startswith("parts/")]
    with pytest.raises(fm.DataError, match="has no summary; resume it to finish it"):
        fm.open_run(URL)
    monkeypatch.setenv("FIELDMARK_CACHE", str(tmp_path / "elsewhere"))
    memory.pipe_file("/runs/one/spent.jsonl", b"")
    run = score(URL, resume=True)
    assert content(run.path) == content(score(tmp_path / "one").path)
    assert downloaded(memory, tmp_path / "copy") == content(run.path)
    assert not [name for name in files(memory) if name.startswith(("parts/", "spent"))]
    with pytest.raises(fm.ConfigError, match="memory://runs/one is already complete"):
        score(URL, resume=True)


def test_store_that_fails_at_any_request_never_has_a_complete_run_without_its_files(
    memory, tmp_path, monkeypatch
):
    monkeypatch.setattr(remote_runs, "_PART_BYTES", 50_000)
    monkeypatch.setattr(remote_files, "_ATTEMPTS", 1)
    whole = content(score(tmp_path / "one").path)[:2]
    left = math.inf

    def failing(original):
        def request(*given, **options):
            nonlocal left
            left -= 1
            if left < 0:
                raise OSError("not available")
            return original(*given, **options)

        return request

    for name in ("pipe_file", "put_file"):
        monkeypatch.setattr(type(memory), name, failing(getattr(type(memory), name)))
    left = 1_000
    score("memory://runs/counted")
    requests = 1_000 - left
    assert requests > 6
    for last in range(0, requests, 1 if PROVE else 3):
        url, left = f"memory://runs/{last}", last
        with pytest.raises(fm.StorageError, match="cannot write file after 1 attempts: not avail"):
            score(url)
        left = math.inf
        found = files(memory, url)
        if last:
            assert json.loads(found["manifest.json"])["status"] == "running"
            score(url, resume=True)
            results, summary, _ = downloaded(memory, tmp_path / f"copy-{last}", url)
            assert [results, summary] == whole


def test_temporary_faults_are_retried(memory, tmp_path, monkeypatch):
    original, requests = type(memory).put_file, []

    def every_second(*given, **options):
        requests.append(1)
        if len(requests) % 2:
            raise OSError("busy")
        return original(*given, **options)

    monkeypatch.setattr(type(memory), "put_file", every_second)
    score(URL)
    assert downloaded(memory, tmp_path / "copy") == content(score(tmp_path / "one").path)


def test_run_is_downloaded_once_and_again_if_it_was_replaced(memory, monkeypatch):
    score(URL)
    names = []
    original = RemoteDirectory.download

    def download(self, name, local):
        names.append(name)
        return original(self, name, local)

    monkeypatch.setattr(RemoteDirectory, "download", download)
    first = fm.open_run(URL)
    assert names == []
    memory.rm("/runs/one", recursive=True)
    fm.score("truth.jsonl", "truth.jsonl", inputs={"candidate_key": "expected"}, out="memory://b")
    memory.copy("/b", "/runs/one", recursive=True)
    assert fm.open_run(URL).mean_score > first.mean_score
    assert "results.jsonl" in names


@pytest.mark.parametrize("name", ["results.jsonl", "summary.json"])
def test_run_with_a_truncated_file_is_an_error(name, memory, tmp_path, monkeypatch):
    score(URL)
    memory.pipe_file(f"/runs/one/{name}", memory.cat_file(f"/runs/one/{name}")[:-10])
    monkeypatch.setenv("FIELDMARK_CACHE", str(tmp_path / "elsewhere"))
    for _ in range(2):
        with pytest.raises(fm.DataError, match=r"do not have the sizes recorded in manifest\.json"):
            fm.open_run(URL)


def test_missing_part_is_an_error(memory, monkeypatch):
    monkeypatch.setattr(remote_runs, "_PART_BYTES", 50_000)
    with pytest.raises(ZeroDivisionError):
        score(URL, progress=lambda done, *_: 1 // (done < 600))
    parts = [name for name in files(memory) if name.startswith("parts/")]
    assert len(parts) > 2
    memory.rm_file(f"/runs/one/{parts[1]}")
    with pytest.raises(fm.DataError, match=r"the rows before 0*[0-9]+ are missing"):
        score(URL, resume=True)


def test_unknown_run_is_an_error():
    with pytest.raises(
        fm.DataError, match=r"memory://nothing: run not found; there is no manifest"
    ):
        fm.open_run("memory://nothing")


def test_baseline_can_be_at_a_url():
    score(URL)
    again = score("memory://runs/two", baseline=URL, max_drop={"mean_score": 0})
    assert [gate.passed for gate in again.summary.gates] == [True]


def test_report_of_a_run_at_a_url_needs_a_file(tmp_path):
    score(URL)
    with pytest.raises(fm.ConfigError, match="out is required for a report of a run at a URL"):
        write_report(URL)
    assert write_report(URL, tmp_path / "report.html").stat().st_size > 1_000


def test_commands_write_and_read_runs_at_urls(tmp_path):
    url, local = f"{tmp_path.as_uri()}/store/one", str(tmp_path / "one")
    inputs = "score", "truth.jsonl", "found.jsonl"
    done = fieldmark_here(*inputs, "--out", url)
    assert done.err.splitlines()[-1] == f"saved run to {url}"
    assert fieldmark_here(*inputs, "--out", local).out == done.out
    assert content(tmp_path / "store" / "one") == content(Path(local))
    for command in (("show",), ("improve",)):
        assert fieldmark_here(*command, url) == fieldmark_here(*command, local)
    for command, message in (
        (("report", url), "--out is required for a run at a URL"),
        ((*inputs, "--out", url), f"{url} is not empty"),
        (("score", "--resume", url), f"{url} is already complete"),
    ):
        with pytest.raises((fm.ConfigError, click.UsageError), match=message):
            fieldmark_here(*command)


# --- S3 ---------------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
import fieldmark as fm
from fieldmark.runs import remote_runs
remote_runs._PART_SECONDS = 0
def kill(done, *_):
    if done > 600:
        os.kill(os.getpid(), signal.SIGKILL)
fm.score("truth.jsonl", "found.jsonl", out=sys.argv[1], intervals=False, progress=kill)
"""


@pytest.fixture(scope="module")
def store():
    with s3_server() as (client, environment):
        client.create_bucket(Bucket="bucket")
        yield client, environment


@pytest.mark.slow
def test_run_whose_process_was_killed_is_resumed_on_another_machine(
    s3, folder, tmp_path, monkeypatch
):
    url = "s3://bucket/runs/killed"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, url],
        cwd=folder,
        env={**ENVIRONMENT, **os.environ},
        check=False,
        capture_output=True,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    manifest = s3.get_object(Bucket="bucket", Key="runs/killed/manifest.json")["Body"].read()
    assert json.loads(manifest)["status"] == "running"
    with pytest.raises(fm.ConfigError, match="s3://bucket/runs/killed is not empty"):
        score(url)
    monkeypatch.setenv("FIELDMARK_CACHE", str(tmp_path / "another"))
    run = score(url, resume=True)
    assert content(run.path) == content(score(tmp_path / "one").path)
    keys = [each["Key"] for each in s3.list_objects_v2(Bucket="bucket", Prefix="runs/")["Contents"]]
    names = "attributes.jsonl", "manifest.json", "results.jsonl", "summary.json"
    assert keys == [f"runs/killed/{name}" for name in names]
    stored = s3.get_object(Bucket="bucket", Key="runs/killed/results.jsonl")["Body"].read()
    assert stored == (run.path / "results.jsonl").read_bytes()


@pytest.mark.slow
def test_claim_of_a_prefix_is_atomic(s3, monkeypatch):
    score("s3://bucket/claimed")
    monkeypatch.setattr(RemoteDirectory, "list", lambda *_: [])
    with pytest.raises(fm.ConfigError, match="s3://bucket/claimed is not empty"):
        score("s3://bucket/claimed")


@pytest.mark.slow
def test_missing_bucket_is_an_error_and_is_not_created(s3):
    with pytest.raises(fm.StorageError, match=r"s3://nothing/run/manifest\.json: file not found"):
        score("s3://nothing/run")
    assert "nothing" not in [each["Name"] for each in s3.list_buckets()["Buckets"]]
