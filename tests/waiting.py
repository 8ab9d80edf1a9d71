"""Waiting for another thread or process, also on a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable

TIMEOUT = 120.0
"""Seconds until a waiting test fails; much longer than anything takes, also on a busy machine."""


def eventually(condition: Callable[[], object], seconds: float = TIMEOUT) -> bool:
    """Wait for a condition; return whether it became true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
