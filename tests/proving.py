"""Whether `make prove` runs, which takes long; `make test` runs a part of the same tests."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest

PROVING = os.environ.get("FIELDMARK_PROVE") == "1"


def rows(names: Iterable[str], *, proved: Iterable[str]) -> list[object]:
    """Return the rows of a table of tests; those that are `proved` run only in `make prove`."""
    names, marked = list(names), set(proved)
    assert marked < set(names)
    return [
        pytest.param(name, id=name, marks=[pytest.mark.prove] if name in marked else [])
        for name in names
    ]
