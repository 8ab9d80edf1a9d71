"""Time and chance, as they are used while a model is asked."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

__all__ = ["SYSTEM", "Clock"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """The seconds of a clock that never goes back, a way to wait, and a number from 0 to 1."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random


SYSTEM: Final = Clock()
