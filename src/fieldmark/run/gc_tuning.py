"""Run the cyclic garbage collector less often while documents stream by.

Documents are created and dropped by the thousand and hold no cycles; scanning them again and again
costs a fifth of a run. The collector stays enabled, for whatever plug-ins leave behind.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["relaxed_gc"]

_THRESHOLDS: Final = (50_000, 20, 20)
_lock: Final = threading.Lock()
_previous: list[tuple[int, int, int]] = []
"""The thresholds before the first of the runs in progress, once for each of them."""


@contextmanager
def relaxed_gc() -> Iterator[None]:
    """Collect less often; the previous thresholds are restored when the last run ends."""
    with _lock:
        _previous.append(_previous[0] if _previous else gc.get_threshold())
        gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        with _lock:
            thresholds = _previous.pop()
            if not _previous:
                gc.set_threshold(*thresholds)
