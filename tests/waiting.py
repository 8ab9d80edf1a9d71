"""Waiting for another thread or process, also on a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120.0
"""Much longer than anything takes: only a failing test waits this long."""


def eventually(condition: Callable[[], object], seconds: float = PATIENCE) -> bool:
    """Wait for a condition; return whether it became true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
