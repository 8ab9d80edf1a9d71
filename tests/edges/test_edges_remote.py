"""Inputs in object stores and on web servers: the same results as local files, or a typed error."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from s3fs import S3FileSystem

import fieldmark as fm
from compressed_files import in_members
from fieldmark.data import file_blocks, input_files, remote_files
from fieldmark.runs import session
from loopback_server import Answer, loopback
from row_files import lines
from s3_server import s3_environment, s3_server

CASES = 1_200
BUCKET = "extractions"


def documents(side):
    for number in range(CASES):
        document = {"total": number, "vendor": f"Vendor {number % 7}", "lines": [{"x": number}]}
        if side == "found" and number % 5 == 0:
            document["vendor"] = "other"
        yield {"id": str(number), **document}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A directory with the same rows in several formats, and their run."""
    path = tmp_path_factory.mktemp("remote")
    for side in ("truth", "found"):
        rows = list(documents(side))
        text = lines(rows).encode()
        (path / f"{side}.jsonl").write_bytes(text)
        for suffix in ("gz", "zst"):
            compressed = in_members(text, [*range(0, len(text), 9_000)], suffix)
            (path / f"{side}.jsonl.{suffix}").write_bytes(compressed)
        pq.write_table(pa.Table.from_pylist(rows), path / f"{side}.parquet", row_group_size=200)
    fm.score(path / "truth.jsonl", path / "found.jsonl", out=path / "run")
    return path


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(remote_files, "_FIRST_DELAY", 0.001)


def content(run):
    return [(run / name).read_bytes() for name in ("results.jsonl", "summary.json")]


# --- S3 ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def store(folder):
    """An S3 server with the files."""
    with s3_server() as (client, environment):
        client.create_bucket(Bucket=BUCKET)
        for file in folder.glob("*.*"):
            client.upload_file(str(file), BUCKET, file.name)
        yield client, environment


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "jsonl.zst", "parquet"])
def test_objects_give_the_same_results_as_files(suffix, s3, folder, tmp_path):
    names = [f"s3://{BUCKET}/{side}.{suffix}" for side in ("truth", "found")]
    fm.score(*names, out=tmp_path / "run")
    assert content(tmp_path / "run") == content(folder / "run")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "parquet"])
def test_workers_read_ranges_of_objects(suffix, s3, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(session, "PARALLEL_BYTES", 0)
    monkeypatch.setattr(file_blocks, "_SEARCH_BYTES", 5_000)
    names = [f"s3://{BUCKET}/{side}.{suffix}" for side in ("truth", "found")]
    run = fm.score(*names, out=tmp_path / "run", workers=2)
    assert content(tmp_path / "run") == content(folder / "run")
    assert not any("one process" in note for note in run.notes)


@pytest.mark.slow
def test_manifest_names_the_version_and_the_run_can_be_resumed_by_name(s3, folder, tmp_path):
    names = [f"s3://{BUCKET}/{side}.jsonl" for side in ("truth", "found")]
    fm.score(*names, out=tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert [each["name"] for each in manifest["inputs"]] == names
    etag = s3.head_object(Bucket=BUCKET, Key="truth.jsonl")["ETag"]
    size = (folder / "truth.jsonl").stat().st_size
    assert manifest["inputs"][0] == {"name": names[0], "bytes": size, "version": etag}
    assert manifest["options"]["truth"] == names[0]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_object_that_changes_during_the_run_is_an_error(workers, s3, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(session, "PARALLEL_BYTES", 0)
    changing = (folder / "found.jsonl").read_bytes()
    s3.put_object(Bucket=BUCKET, Key="changing.jsonl", Body=changing)

    def change(*_):
        body = changing.replace(b"Vendor", b"vendor")
        s3.put_object(Bucket=BUCKET, Key="changing.jsonl", Body=body)

    inputs = folder / "truth.jsonl", f"s3://{BUCKET}/changing.jsonl"
    with pytest.raises(fm.DataError, match=r"changing\.jsonl: the file has changed while it was"):
        fm.score(*inputs, out=tmp_path / "run", workers=workers, progress=change)
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["status"] == "failed"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("url", "message"),
    [
        (f"s3://{BUCKET}/nothing.jsonl", "file not found"),
        ("s3://no-such-bucket/truth.jsonl", "file not found"),
        (f"s3://{BUCKET}", "not a file; directories of documents must be local"),
    ],
)
@pytest.mark.usefixtures("s3")
def test_missing_object_is_an_error_that_names_it(url, message, folder):
    with pytest.raises(fm.DataError) as raised:
        fm.score(url, folder / "found.jsonl")
    assert str(raised.value) == f"{url}: {message}"


# --- HTTP -------------------------------------------------------------------------------------------


@contextmanager
def web(folder, fault=lambda *_: None):
    """Serve the files of a directory; `fault` may return another answer."""

    def script(request, number):
        found = fault(request, number)
        if found is not None:
            return found
        path = request.path.partition("?")[0].removeprefix(f"/{BUCKET}")
        file = folder / path.removeprefix("/")
        if not file.is_file():
            return Answer(status=404, body=b"")
        body = file.read_bytes()
        headers = {"ETag": '"1"', "Accept-Ranges": "bytes"}
        if request.method == "HEAD":
            return Answer(body=b"", promised=len(body), headers=headers)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("Range", ""))
        if wanted is None:
            return Answer(body=body, headers=headers)
        start, end = int(wanted[1]), min(int(wanted[2]), len(body) - 1)
        headers["Content-Range"] = f"bytes {start}-{end}/{len(body)}"
        return Answer(status=206, body=body[start : end + 1], headers=headers)

    with loopback(script=script) as server:
        yield server, f"http://127.0.0.1:{server.port}"


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "parquet"])
def test_web_server_gives_the_same_results_as_files(suffix, folder, tmp_path):
    with web(folder) as (_, url):
        names = [f"{url}/{side}.{suffix}" for side in ("truth", "found")]
        fm.score(*names, out=tmp_path / "run")
    assert content(tmp_path / "run") == content(folder / "run")


def test_worker_requests_the_lines_of_a_segment_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(session, "PARALLEL_BYTES", 0)
    rows = "".join(f'{{"id": "{n}", "text": "{n}{" word" * 80}"}}\n' for n in range(1_100))
    (tmp_path / "rows.jsonl").write_text(rows)
    with web(tmp_path) as (server, url):
        fm.score(tmp_path / "rows.jsonl", f"{url}/rows.jsonl", out=tmp_path / "run", workers=2)
    wanted = [re.findall(r"\d+", each.headers.get("Range", "")) for each in server.received]
    sizes = [int(end) - int(start) + 1 for start, end in filter(None, wanted)]
    # The first segment is read in order, as is what finds out the layout and where lines end.
    segments = rows.splitlines(keepends=True)
    assert {len("".join(segments[n : n + 512])) for n in (512, 1024)} <= set(sizes)
    assert len(sizes) <= 3 + 4, sizes


@contextmanager
def bucket(folder, monkeypatch, fault):
    """Serve the files of a directory as objects of S3, which may fail."""
    with web(folder, fault) as (server, url):
        # The client library would wait between its own attempts.
        for name, value in {**s3_environment(url), "AWS_MAX_ATTEMPTS": "1"}.items():
            monkeypatch.setenv(name, value)
        S3FileSystem.clear_instance_cache()
        yield server
    S3FileSystem.clear_instance_cache()


FAULTS = {
    "server-errors": Answer(status=500),
    "busy": Answer(status=429),
    "hangs-up": Answer(hang_up=True),
    "truncated": Answer(status=206, body=b"{", promised=99),
    "short": Answer(status=206, body=b"{"),
    "slow": Answer(status=503, after=0.1),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_temporary_faults_do_not_change_the_results(fault, folder, tmp_path):
    def every_second(request, number):
        return fault if number % 2 and request.method == "GET" else None

    with web(folder, every_second) as (server, url):
        fm.score(folder / "truth.jsonl", f"{url}/found.jsonl", out=tmp_path / "run")
    assert content(tmp_path / "run") == content(folder / "run")
    assert len(server.received) > 3


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_temporary_faults_of_s3_do_not_change_the_results(fault, folder, tmp_path, monkeypatch):
    def every_second(request, number):
        return fault if number % 2 and request.method == "GET" else None

    with bucket(folder, monkeypatch, every_second) as server:
        fm.score(folder / "truth.jsonl", f"s3://{BUCKET}/found.jsonl", out=tmp_path / "run")
    assert content(tmp_path / "run") == content(folder / "run")
    assert len(server.received) > 3


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Answer(status=500), "cannot read file after 5 attempts: "),
        (Answer(status=206, body=b"{"), "cannot read file after 5 attempts: 1 of "),
        (Answer(status=403), "access denied; check the credentials"),
        (Answer(status=404), "file not found"),
    ],
    ids=["500", "short", "403", "404"],
)
def test_permanent_fault_of_s3_is_an_error_that_says_what_is_wrong(
    fault, message, folder, monkeypatch
):
    name = f"s3://{BUCKET}/found.jsonl"
    with (
        bucket(folder, monkeypatch, lambda request, _: fault if request.method == "GET" else None),
        pytest.raises(fm.DataError) as raised,
    ):
        fm.score(folder / "truth.jsonl", name)
    assert str(raised.value).startswith(f"{name}: {message}")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Answer(status=500), "cannot read file after 5 attempts: 500 Internal Server Error"),
        (Answer(status=206, body=b"{"), "cannot read file after 5 attempts: 1 of "),
        (Answer(status=403), "access denied; check the credentials"),
        (Answer(status=401), "access denied; check the credentials"),
        (Answer(status=404), "file not found"),
        (Answer(status=400), "cannot read file: 400 Bad Request"),
        (Answer(body=b"x" * 1_000_000), "the server does not support range requests; download"),
        (Answer(after=600), "cannot read file after 5 attempts: no response within"),
    ],
    ids=["500", "short", "403", "401", "404", "400", "no-ranges", "no-response"],
)
def test_permanent_fault_is_an_error_that_says_what_is_wrong(fault, message, folder, monkeypatch):
    monkeypatch.setattr(remote_files, "_SECONDS", 0.1 if fault.after else 60.0)
    with web(folder, lambda request, _: fault if request.method == "GET" else None) as (_, url):
        name = f"{url}/found.jsonl"
        with pytest.raises(fm.DataError) as raised:
            fm.score(folder / "truth.jsonl", name)
    assert str(raised.value).startswith(f"{name}: {message}")
    assert "\n" not in str(raised.value)


def test_changed_etag_is_an_error(folder):
    def change(request, number):
        body = (folder / "found.jsonl").read_bytes()
        tag = {"ETag": f'"{number}"'}
        if request.method == "HEAD":
            return Answer(body=b"", promised=len(body), headers=tag)
        return None

    with (
        web(folder, change) as (_, url),
        pytest.raises(fm.DataError, match=r"found\.jsonl: the file has changed while it was read"),
    ):
        fm.score(folder / "truth.jsonl", f"{url}/found.jsonl")


def test_signatures_and_passwords_are_neither_shown_nor_stored(folder, tmp_path):
    with web(folder) as (server, url):
        signed = f"{url}/found.jsonl?X-Signature=s3cret".replace("//", "//me:passw0rd@")
        run = fm.score(folder / "truth.jsonl", signed, out=tmp_path / "run", inputs={"id_key": ""})
        with pytest.raises(fm.DataError) as raised:
            fm.score(folder / "truth.jsonl", signed.replace("found", "nothing"))
    assert any("X-Signature=s3cret" in request.path for request in server.received)
    stored = b"".join(path.read_bytes() for path in (tmp_path / "run").iterdir())
    texts = [stored.decode(), str(raised.value), str(run.notes), repr(run)]
    assert not [text for text in texts if "s3cret" in text or "passw0rd" in text]
    assert "options" not in json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert str(raised.value) == f"{url}/nothing.jsonl: file not found"


@pytest.mark.parametrize(
    ("url", "redacted"),
    [
        ("s3://bucket/key.jsonl", "s3://bucket/key.jsonl"),
        ("https://u:p@host:8443/a/b.jsonl?sig=1#x", "https://host:8443/a/b.jsonl"),
        ("https://u@host/a@b.jsonl", "https://host/a@b.jsonl"),
    ],
)
def test_redacted_url_has_no_credentials(url, redacted):
    assert input_files.redacted_url(url) == redacted


@pytest.mark.parametrize("name", ["truth.jsonl", "c:/truth.jsonl", "C:\\a", "a/b://c", "-", ""])
def test_file_names_are_not_urls(name):
    assert not input_files.is_url(name)


def test_path_object_is_never_a_url(folder, tmp_path):
    with web(folder) as (server, url):
        with pytest.raises(fm.DataError, match="file not found"):
            fm.score(folder / "truth.jsonl", tmp_path.__class__(f"{url}/found.jsonl"))
        assert server.received == []


def test_unknown_protocol_is_an_error(folder):
    with pytest.raises(fm.DataError, match=r"nonsense://a/b\.jsonl: Protocol not known: nonsense"):
        fm.score("nonsense://a/b.jsonl", folder / "found.jsonl")
