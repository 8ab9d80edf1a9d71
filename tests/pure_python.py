"""Switches the kernel off, so that the Python functions do all the work."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from fieldmark.data import file_blocks, json_parser, pairing, row_layout
from fieldmark.metrics import case_score
from fieldmark.plan import plan
from fieldmark.runs import case_rows as cases
from fieldmark.runs import warnings

__all__ = ["both_ways", "pure_python", "with_and_without_kernel"]


@contextmanager
def pure_python():
    """Use the package as if it was installed without a compiler."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (
            case_score,
            cases,
            row_layout,
            json_parser,
            file_blocks,
            pairing,
            plan,
            warnings,
        ):
            patch.setattr(module, "COMPILED", False)
        yield


def both_ways(work):
    """Return what a function returns with the kernel and without it."""
    compiled = work()
    with pure_python():
        return compiled, work()


@pytest.fixture(scope="module", autouse=True, params=["kernel", "python"])
def with_and_without_kernel(request):
    """Run each test of a directory whose `conftest.py` imports this twice."""
    if request.param == "kernel":
        yield
    else:
        with pure_python():
            yield
