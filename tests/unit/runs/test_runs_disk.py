"""Disk operations on systems that do not support all of them."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from fieldmark.runs import disk
from fieldmark.runs.disk import DISK


def test_file_that_another_process_has_open_is_replaced_when_it_is_closed(tmp_path, monkeypatch):
    """Windows refuses it with an error that has a number of its own."""
    replace, refused = Path.replace, []

    def replace_later(source, destination):
        if len(refused) < 3:
            error = PermissionError(errno.EACCES, "Access is denied")
            error.winerror = 5
            refused.append(error)
            raise error
        return replace(source, destination)

    monkeypatch.setattr(Path, "replace", replace_later)
    monkeypatch.setattr(disk.time, "sleep", lambda _: None)
    (tmp_path / "new").write_text("new", "utf-8")
    DISK.replace(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "old").read_text("utf-8") == "new"
    assert len(refused) == 3


def test_missing_permission_is_an_error_at_once(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "replace", refuse)
    monkeypatch.setattr(disk.time, "sleep", lambda _: pytest.fail("waited"))
    with pytest.raises(PermissionError):
        DISK.replace(tmp_path / "new", tmp_path / "old")


@pytest.mark.parametrize(
    ("number", "fails"),
    [(errno.EINVAL, False), (errno.EBADF, False), (errno.EACCES, False), (errno.EIO, True)],
)
def test_directory_is_synchronized_only_where_that_is_possible(
    tmp_path, monkeypatch, number, fails
):
    def refuse(_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    if fails:
        with pytest.raises(OSError, match="error"):
            DISK.sync_directory(tmp_path)
    else:
        DISK.sync_directory(tmp_path)


def test_bytes_within_a_file_are_overwritten(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"one\ntwo\nthree\n")
    DISK.overwrite(path, 4, b"TWO")
    assert path.read_bytes() == b"one\nTWO\nthree\n"
