"""Hypothesis profiles and long tests.

`HYPOTHESIS_PROFILE` is dev (the default), ci or prove. Tests with the mark `prove` run only if
`FIELDMARK_PROVE` is 1.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from proving import PROVING

# No deadline: tests must not fail on a busy machine.
STEADY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

settings.register_profile("dev", STEADY, max_examples=30)
settings.register_profile("ci", STEADY, max_examples=50, derandomize=True, database=None)
settings.register_profile("prove", STEADY, max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "dev")

# Scripts of tests run with this interpreter; launchers such as that of pyenv take longer than they do.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

# Background jobs of a shell ignore interrupts, and so would the processes that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect the tests without garbage collections, which would search all of them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()  # tests are not searched later either


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out long tests unless they are wanted."""
    if not PROVING:
        left_out = {item for item in items if item.get_closest_marker("prove")}
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
