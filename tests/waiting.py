"""Waiting for what another thread or process does, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120.0
"""Far longer than anything takes: only a test that fails waits for so long."""


def eventually(condition: Callable[[], object], seconds: float = PATIENCE) -> bool:
    """Whether a condition comes true; it is tried again until it does."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
