"""Garbage collection during a run."""

from __future__ import annotations

import gc
import weakref

import pytest

import fieldmark as fm
from fieldmark.runs import gc_tuning, session
from fieldmark.runs.gc_tuning import relaxed_gc


@pytest.fixture(autouse=True)
def _default_thresholds(monkeypatch):
    """Start without runs in progress, whatever other tests have left behind."""
    monkeypatch.setattr(gc_tuning, "_previous", [])
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_garbage_collection_is_relaxed_during_a_run_and_restored():
    before = gc.get_threshold()
    with relaxed_gc():
        assert gc.isenabled()
        assert gc.get_threshold()[0] > before[0]
    assert gc.get_threshold() == before


def test_last_of_several_runs_restores_the_original_thresholds():
    before = gc.get_threshold()
    first, second = relaxed_gc(), relaxed_gc()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold() != before
    second.__exit__(None, None, None)
    assert gc.get_threshold() == before


def test_failed_run_restores_the_thresholds():
    before = gc.get_threshold()
    with pytest.raises(ZeroDivisionError), relaxed_gc():
        _ = 1 / 0
    assert gc.get_threshold() == before


def test_run_is_freed_before_the_thresholds_are_restored(monkeypatch):
    runs, freed = [], []
    set_threshold = gc.set_threshold

    class Session(session.Session):
        def __init__(self, *args):
            super().__init__(*args)
            runs.append(weakref.ref(self))

    def record(*thresholds):
        freed.append([run() is None for run in runs])
        set_threshold(*thresholds)

    monkeypatch.setattr(session, "Session", Session)
    monkeypatch.setattr(gc, "set_threshold", record)
    fm.score([({"a": 1}, {"a": 2})])
    assert freed == [[], [True]]
