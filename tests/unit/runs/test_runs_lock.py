"""Locks of runs and directories, with the functions of POSIX and of Windows."""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from pathlib import Path

import pytest

from fieldmark.errors import RunLockedError
from fieldmark.runs import lock as posix_lock
from waiting import TIMEOUT
from without_posix import fake_msvcrt


@pytest.fixture
def windows_lock(monkeypatch):
    """The module as it is imported on Windows."""
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", fake_msvcrt)
    spec = importlib.util.spec_from_file_location("fieldmark.runs.lock", posix_lock.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=["fcntl", "msvcrt"])
def lock(request):
    return posix_lock if request.param == "fcntl" else request.getfixturevalue("windows_lock")


def test_second_writer_is_told_who_the_first_is(lock, tmp_path):
    with lock.RunLock(tmp_path) as first:
        first.write_owner()
        with (
            pytest.raises(RunLockedError, match=f"process {os.getpid()} on "),
            lock.RunLock(tmp_path),
        ):
            pass
    with lock.RunLock(tmp_path):
        pass


def test_run_is_locked_only_while_it_is_written(lock, tmp_path):
    assert not lock.is_locked(tmp_path)
    with lock.RunLock(tmp_path):
        assert lock.is_locked(tmp_path)
    assert not lock.is_locked(tmp_path)


def test_looking_at_a_lock_leaves_it_free(lock, tmp_path):
    with lock.RunLock(tmp_path):
        pass
    assert not any(lock.is_locked(tmp_path) for _ in range(3))
    with lock.RunLock(tmp_path):
        pass


def test_two_processes_that_look_do_not_see_a_writer(lock, tmp_path, monkeypatch):
    (tmp_path / lock.LOCK).touch()
    file = os.open(tmp_path / lock.LOCK, os.O_RDWR)
    lock._try_lock(file, shared=True)
    # The other process finishes while this one waits to look again.
    monkeypatch.setattr(lock.time, "sleep", lambda _: lock._unlock(file))
    try:
        assert not lock.is_locked(tmp_path)
    finally:
        os.close(file)


def test_one_thread_at_a_time_holds_the_lock_of_a_directory(lock, tmp_path):
    holding, most, rounds = [], [], 20

    def work():
        for _ in range(rounds):
            with lock.directory_lock(tmp_path):
                holding.append(1)
                most.append(len(holding))
                holding.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    assert most == [1] * 4 * rounds
    assert not list(tmp_path.iterdir())


def test_removed_file_is_not_a_lock_of_its_directory(windows_lock, tmp_path, monkeypatch):
    """Another process removes the file after this one opened it, as the last owner does."""
    try_lock, removed = windows_lock._try_lock, []

    def try_lock_late(file, **options):
        if not removed:
            removed.append((tmp_path / ".lock").unlink())
        try_lock(file, **options)

    monkeypatch.setattr(windows_lock, "_try_lock", try_lock_late)
    with windows_lock.directory_lock(tmp_path):
        assert (tmp_path / ".lock").exists()


def test_file_that_windows_does_not_remove_while_it_is_open_is_removed_later(
    windows_lock, tmp_path, monkeypatch
):
    closed, close, unlink = [], os.close, Path.unlink

    def unlink_closed(path, **options):
        if not closed:
            raise PermissionError(13, "The file is being used")
        unlink(path, **options)

    with windows_lock.directory_lock(tmp_path):
        monkeypatch.setattr(os, "close", lambda file: closed.append(file) or close(file))
        monkeypatch.setattr(Path, "unlink", unlink_closed)
    assert not list(tmp_path.iterdir())


def test_directory_without_a_lock_is_used_anyway(lock, tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(lock.os, "open", refuse)
    monkeypatch.setattr(lock.time, "sleep", lambda _: None)
    entered = []
    with lock.directory_lock(tmp_path):
        entered.append(tmp_path)
    assert entered
