"""Only files below the configured roots can be opened, whatever the path."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from fieldmark.data import roots as roots_module
from fieldmark.data.roots import DataRoots, LocalRoots, OutsideRootsError
from fieldmark.errors import LimitError
from root_paths import PAYLOADS, secret_tree
from waiting import TIMEOUT


@pytest.fixture
def tree(tmp_path):
    return secret_tree(tmp_path)


@pytest.fixture(params=["relative", "checked"])
def roots(tree, request, monkeypatch):
    """Roots whose files are opened as on POSIX, or as on Windows."""
    if request.param == "checked":
        monkeypatch.setattr(roots_module, "_RELATIVE", False)
        monkeypatch.setattr(roots_module, "_FILE", os.O_RDONLY)
    return DataRoots({"data": tree / "data"})


def read(roots, path):
    with roots.open(path) as opened:
        return os.read(opened.fd, 1 << 16) if opened.is_file else b""


def test_file_below_a_root_is_opened(roots):
    assert read(roots, "data/inner/truth.jsonl") == b'{"a": 1}\n'


@pytest.mark.parametrize("path", PAYLOADS, ids=range(len(PAYLOADS)))
def test_other_paths_are_rejected_without_details(roots, path):
    with pytest.raises(OutsideRootsError) as error:
        read(roots, path)
    assert "canary" not in str(error.value)


@pytest.mark.parametrize(
    ("link", "target"),
    [
        pytest.param("data/file.jsonl", "canary.jsonl", id="file"),
        pytest.param("data/directory", "data-secret", id="directory"),
        pytest.param("data/chain", "data/file2", id="chain-of-links"),
    ],
)
@pytest.mark.parametrize("below", ["", "/canary.jsonl"], ids=["itself", "below"])
def test_symbolic_links_are_not_followed(tree, roots, link, target, below):
    (tree / "data" / "file2").symlink_to(tree / "canary.jsonl")
    (tree / link).symlink_to(tree / target)
    with pytest.raises(OutsideRootsError):
        read(roots, f"{link}{below}")
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
            except OutsideRootsError:
                seen[None] += 1
    finally:
        stopped.set()
        thread.join()
    assert set(seen) == {b"fine", None}


def test_pipe_is_rejected_without_blocking(tree, roots):
    os.mkfifo(tree / "data" / "pipe")
    os.mkfifo(tree / "data" / "inner" / "pipe")
    with pytest.raises(OutsideRootsError):
        read(roots, "data/pipe")
    with roots.open("data/inner") as directory:
        assert [opened.name for opened in roots.files_in(directory, 100)] == ["truth.jsonl"]


def test_directory_with_too_many_files_is_rejected(tree, roots):
    with roots.open("data/inner") as directory, pytest.raises(LimitError):
        list(roots.files_in(directory, 0))


@pytest.mark.parametrize(
    "path",
    ["inner/truth.jsonl", "./inner/../inner/truth.jsonl", "inner", ".", "{root}/inner/truth.jsonl"],
)
def test_local_path_below_a_root_is_resolved(tree, monkeypatch, path):
    monkeypatch.chdir(tree / "data")
    found = LocalRoots([tree / "data"]).resolve(path.format(root=tree / "data"))
    assert found.is_relative_to(tree.resolve() / "data")
    assert found.exists()


@pytest.mark.parametrize("path", PAYLOADS, ids=range(len(PAYLOADS)))
def test_other_local_paths_are_rejected_without_details(tree, monkeypatch, path):
    monkeypatch.chdir(tree)
    roots = LocalRoots([tree / "data"])
    try:
        found = roots.resolve(path)
    except OutsideRootsError:
        return
    # Some are unusual spellings of what is below the root.
    assert found.is_relative_to(tree.resolve() / "data")
    assert found.name in {"data", "inner", "truth.jsonl"}


@pytest.mark.parametrize(
    ("link", "target"),
    [("data/file", "canary.jsonl"), ("data/directory", "data-secret"), ("data/loop", "data/loop")],
)
@pytest.mark.parametrize("below", ["", "canary.jsonl"], ids=["itself", "below"])
def test_local_links_out_of_the_roots_are_rejected(tree, link, target, below):
    (tree / link).symlink_to(tree / target)
    with pytest.raises(OutsideRootsError):
        LocalRoots([tree / "data"]).resolve(str(tree / link / below))


def test_local_link_from_one_root_to_another_is_resolved(tree):
    (tree / "data" / "linked").symlink_to(tree / "data-secret")
    roots = LocalRoots([tree / "data", tree / "data-secret"])
    found = roots.resolve(str(tree / "data" / "linked" / "canary.jsonl"))
    assert found == tree.resolve() / "data-secret" / "canary.jsonl"
    assert not LocalRoots([tree / "data"]).contains(Path(tree, "data", "linked"))


def test_local_pipe_is_rejected_without_blocking(tree):
    os.mkfifo(tree / "data" / "pipe")
    with pytest.raises(OutsideRootsError):
        LocalRoots([tree / "data"]).resolve(str(tree / "data" / "pipe"))


@pytest.fixture
def checked_roots(tree, monkeypatch):
    """Roots whose files are opened as on Windows."""
    monkeypatch.setattr(roots_module, "_RELATIVE", False)
    return DataRoots({"data": tree / "data"})


@pytest.mark.parametrize("name", ["CON", "nul", "aux.jsonl", "COM1", "lpt9.txt"])
def test_names_of_devices_are_not_opened_on_windows(tree, checked_roots, name):
    (tree / "data" / name).write_text("{}", "utf-8")
    with pytest.raises(OutsideRootsError):
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
    with pytest.raises(OutsideRootsError):
        read(checked_roots, "data/inner/truth.jsonl")


def test_other_file_than_the_checked_one_is_not_read_on_windows(tree, checked_roots, monkeypatch):
    opened = os.open
    canary = tree / "canary.jsonl"
    monkeypatch.setattr(os, "open", lambda _, *flags: opened(canary, *flags))
    with pytest.raises(OutsideRootsError):
        read(checked_roots, "data/inner/truth.jsonl")
