"""Only files below the configured roots can be opened, whatever the path."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from types import SimpleNamespace
from urllib.parse import quote

import pytest

from fieldmark.server import data_roots
from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.data_roots import DataRoots
from loopback_server import Answer, loopback
from unit.server.live_server import error_code, live
from waiting import TIMEOUT

SECRET = "secret value"


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "data"
    (root / "inner").mkdir(parents=True)
    (root / "inner" / "truth.jsonl").write_text('{"a": 1}\n', "utf-8")
    (tmp_path / "data-secret").mkdir()
    (tmp_path / "data-secret" / "canary.jsonl").write_text(f'{{"a": "{SECRET}"}}\n', "utf-8")
    (tmp_path / "canary.jsonl").write_text(f'{{"a": "{SECRET}"}}\n', "utf-8")
    return tmp_path


@pytest.fixture(params=["relative", "checked"])
def roots(tree, request, monkeypatch):
    """Roots whose files are opened as on POSIX, or as on Windows."""
    if request.param == "checked":
        monkeypatch.setattr(data_roots, "_RELATIVE", False)
        monkeypatch.setattr(data_roots, "_FILE", os.O_RDONLY)
    return DataRoots({"data": tree / "data"})


def read(roots, path):
    with roots.open(path) as opened:
        return os.read(opened.fd, 1 << 16) if opened.is_file else b""


def test_file_below_a_root_is_opened(roots):
    assert read(roots, "data/inner/truth.jsonl") == b'{"a": 1}\n'


PAYLOADS = [
    "", "/", ".", "..", "data/..", "data/../canary.jsonl", "data/inner/../../canary.jsonl", "data/./inner/truth.jsonl",
    "data//inner/truth.jsonl", "data/", "/data/inner/truth.jsonl", "../data/inner/truth.jsonl", "data/.../canary.jsonl",
    "data/....//canary.jsonl", "data/..;/canary.jsonl", "data/.. /canary.jsonl", "data/..\t/canary.jsonl",
    "data-secret/canary.jsonl", "data/../data-secret/canary.jsonl", "data-secret", "dat/canary.jsonl", "DATA/inner/truth.jsonl",
    "data\\..\\canary.jsonl", "data/..\\canary.jsonl", "..\\canary.jsonl", "data/\\..\\/canary.jsonl", "\\\\server\\share\\x",
    "//server/share/x", "C:/canary.jsonl", "C:\\canary.jsonl", "c:canary.jsonl", "data/c:canary.jsonl", "file:///etc/passwd",
    "data/%2e%2e/canary.jsonl", "data/%2e%2e%2fcanary.jsonl", "data/..%2fcanary.jsonl", "data/%252e%252e/canary.jsonl",
    "data/%c0%ae%c0%ae/canary.jsonl", "data/..%c0%afcanary.jsonl", "data/%u002e%u002e/canary.jsonl", "data/inner%00/truth.jsonl",
    "data/\0/truth.jsonl", "data/inner/truth.jsonl\0.txt", "data/inner/truth.jsonl\n", "data/inner\r/truth.jsonl",
    "data/inner/truth.jsonl.", "data/inner/truth.jsonl ", "data/inner./truth.jsonl", "~/canary.jsonl", "data/~/canary.jsonl",
    "data/" + "a" * 300, "data/" + "a/" * 200 + "b", "/etc/passwd", "etc/passwd", "data/inner/truth.jsonl/x", "data/none.jsonl",
    "data/․․/canary.jsonl", "data/．．/canary.jsonl", "data/\u202e../canary.jsonl", "data/\ud800", "proc/self/environ",
    "data/inner/../../../../../../../../../../etc/passwd",
]  # fmt: skip


@pytest.mark.parametrize("path", PAYLOADS, ids=range(len(PAYLOADS)))
def test_other_paths_are_rejected_without_details(roots, path):
    with pytest.raises(ApiError) as error:
        read(roots, path)
    assert error.value.code is ErrorCode.OUTSIDE_ROOTS
    assert "canary" not in error.value.message


@pytest.mark.parametrize("path", [p for p in PAYLOADS if "\ud800" not in p][::3], ids=str)
def test_http_does_not_read_or_name_files_outside_the_roots(tree, path):
    with live(tree / "data", roots={"data": tree / "data"}) as server:
        responses = [
            server.client.post("/api/batch", json={"truth": {"path": path}}),
            server.client.get(f"/api/files?path={quote(path or '.')}"),
        ]
        for response in responses:
            assert response.status_code == 403 or (
                path == "" and response.status_code in {200, 403}
            )
            assert SECRET not in response.text
            assert "canary" not in response.text
            assert str(tree) not in response.text


@pytest.mark.parametrize("path", ["{}", "data/{}", "{}?x=data/truth.jsonl"])
def test_http_does_not_fetch_urls(tree, path):
    with (
        loopback(Answer(body=b'{"id": 1}')) as server,
        live(tree / "data", roots={"data": tree / "data"}) as own,
    ):
        url = path.format(server.url)
        response = own.client.post("/api/batch", json={"truth": {"path": url}})
        assert response.status_code == 403
        assert server.received == []


@pytest.mark.parametrize(
    ("link", "target"),
    [
        pytest.param("data/file.jsonl", "canary.jsonl", id="file"),
        pytest.param("data/directory", "data-secret", id="directory"),
        pytest.param("data/chain", "data/file2", id="chain-of-links"),
    ],
)
def test_symbolic_links_are_not_followed(tree, roots, link, target):
    (tree / "data" / "file2").symlink_to(tree / "canary.jsonl")
    (tree / link).symlink_to(tree / target)
    for path in (link, f"{link}/canary.jsonl"):
        with pytest.raises(ApiError):
            read(roots, path)
    assert link.split("/")[1] not in [name for name, *_ in roots.list_directory("data", 100)]


def test_symbolic_link_in_a_directory_is_skipped(tree, roots):
    (tree / "data" / "inner" / "linked.json").symlink_to(tree / "canary.jsonl")
    with roots.open("data/inner") as directory:
        assert [opened.name for opened in roots.files_in(directory, 100)] == ["truth.jsonl"]


def test_file_that_is_swapped_for_a_link_while_opening_is_not_followed(tree, roots):
    swapped = tree / "data" / "swapped"
    temporary = tree / "data" / "temporary"
    stopped = threading.Event()

    def swap():
        while not stopped.is_set():
            temporary.unlink(missing_ok=True)
            temporary.symlink_to(tree / "canary.jsonl")
            temporary.replace(swapped)
            temporary.write_text("fine", "utf-8")
            temporary.replace(swapped)

    swapped.write_text("fine", "utf-8")
    thread = threading.Thread(target=swap)
    thread.start()
    seen = Counter()
    until = time.monotonic() + TIMEOUT
    try:
        # Both the file and the link must have been found often, however the threads take turns.
        while min(seen[b"fine"], seen[None]) < 1000 and time.monotonic() < until:
            try:
                seen[read(roots, "data/swapped")] += 1
            except ApiError:
                seen[None] += 1
    finally:
        stopped.set()
        thread.join()
    assert set(seen) == {b"fine", None}


def test_pipe_is_rejected_without_blocking(tree, roots):
    os.mkfifo(tree / "data" / "pipe")
    os.mkfifo(tree / "data" / "inner" / "pipe")
    with pytest.raises(ApiError):
        read(roots, "data/pipe")
    with roots.open("data/inner") as directory:
        assert [opened.name for opened in roots.files_in(directory, 100)] == ["truth.jsonl"]


def test_directory_with_too_many_files_is_rejected(tree, roots):
    with roots.open("data/inner") as directory, pytest.raises(ApiError) as error:
        list(roots.files_in(directory, 0))
    assert error.value.code is ErrorCode.LIMIT_EXCEEDED


def test_input_over_the_size_limit_is_rejected(tree):
    from fieldmark.server.options import ServerLimits

    (tree / "data" / "large.jsonl").write_bytes(b"1\n" * 4096)
    with live(tree, roots={"data": tree / "data"}, limits=ServerLimits(input_bytes=1000)) as server:
        response = server.client.post("/api/batch", json={"truth": {"path": "data/large.jsonl"}})
        assert (response.status_code, error_code(response)) == (413, "too_large")


@pytest.fixture
def checked_roots(tree, monkeypatch):
    """Roots whose files are opened as on Windows."""
    monkeypatch.setattr(data_roots, "_RELATIVE", False)
    return DataRoots({"data": tree / "data"})


@pytest.mark.parametrize("name", ["CON", "nul", "aux.jsonl", "COM1", "lpt9.txt"])
def test_names_of_devices_are_not_opened_on_windows(tree, checked_roots, name):
    (tree / "data" / name).write_text("{}", "utf-8")
    with pytest.raises(ApiError):
        read(checked_roots, f"data/{name}")


def test_junctions_of_windows_are_not_followed(checked_roots, monkeypatch):
    assert read(checked_roots, "data/inner/truth.jsonl")
    lstat = os.lstat

    def lstat_junction(path):
        found = lstat(path)
        is_junction = str(path).endswith("inner")
        return (
            SimpleNamespace(st_mode=found.st_mode, st_reparse_tag=0xA0000003)
            if is_junction
            else found
        )

    monkeypatch.setattr(os, "lstat", lstat_junction)
    with pytest.raises(ApiError):
        read(checked_roots, "data/inner/truth.jsonl")


def test_other_file_than_the_checked_one_is_not_read_on_windows(tree, checked_roots, monkeypatch):
    opened = os.open
    canary = tree / "canary.jsonl"
    monkeypatch.setattr(os, "open", lambda _, *flags: opened(canary, *flags))
    with pytest.raises(ApiError):
        read(checked_roots, "data/inner/truth.jsonl")
