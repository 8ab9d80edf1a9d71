"""Python's cycle collector, told to look less often while documents stream by.

Documents are made and dropped by the thousand and hold no cycles; looking through them again and
again costs a fifth of a run. The collector stays on, for whatever plug-ins leave behind.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["patient_collector"]

_THRESHOLDS: Final = (50_000, 20, 20)
_lock: Final = threading.Lock()
_usual: list[tuple[int, int, int]] = []
"""What held before the first of the runs that are under way, once for each of them."""


@contextmanager
def patient_collector() -> Iterator[None]:
    """Collect less often; what held before holds again when the last run is over."""
    with _lock:
        _usual.append(_usual[0] if _usual else gc.get_threshold())
        gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        with _lock:
            usual = _usual.pop()
            if not _usual:
                gc.set_threshold(*usual)
