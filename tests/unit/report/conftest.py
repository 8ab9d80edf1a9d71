"""Runs that several exports are tested with; no test changes them."""

from __future__ import annotations

import pytest

from unit.report.exported import hostile_run, ordinary_run


@pytest.fixture(scope="session")
def ordinary(tmp_path_factory):
    return ordinary_run(tmp_path_factory.mktemp("runs") / "ordinary")


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    return hostile_run(tmp_path_factory.mktemp("runs") / "hostile")
