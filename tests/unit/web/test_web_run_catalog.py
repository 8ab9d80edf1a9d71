"""Caches of the server are limited by the number of cases that they hold."""

from __future__ import annotations

import pytest

import fieldmark as fm
from fieldmark.web import run_catalog
from fieldmark.web.run_catalog import RecentValues, RunCatalog


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        pytest.param("abc", "abc", id="few"),
        pytest.param("abcd", "bcd", id="at-most-three"),
        pytest.param(["a", "bbbb", "c"], ["bbbb", "c"], id="too-many-cases"),
        pytest.param(["a", "bbbbbbb"], ["bbbbbbb"], id="one-is-kept-also-if-large"),
        pytest.param(["a", "b", "c", "a", "d"], ["c", "a", "d"], id="used-last"),
    ],
)
def test_values_that_were_used_last_are_kept(added, expected):
    recent = RecentValues(len, most=3, most_cases=5)
    for text in added:
        if recent.get(text) is None:
            recent.add(text, text)
    assert {text for text in added if recent.get(text)} == set(expected)


def test_indexes_of_large_runs_are_dropped_but_not_those_of_a_comparison(tmp_path, monkeypatch):
    monkeypatch.setattr(run_catalog, "_MAX_INDEXED_CASES", 5)
    truth = [{"id": str(n), "total": n} for n in range(4)]
    for name in "abc":
        fm.score(truth, truth, out=tmp_path / "runs" / name)
    catalog = RunCatalog(tmp_path / "runs", tmp_path / "temporary")
    first, second = catalog.cases("a"), catalog.cases("b")
    assert (catalog.cases("a"), catalog.cases("b")) == (first, second)
    catalog.cases("c")
    assert catalog.cases("b") is second
    assert catalog.cases("a") is not first
