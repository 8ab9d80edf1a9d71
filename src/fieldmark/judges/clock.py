"""The clock and the random numbers of the LLM client, replaceable in tests."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

__all__ = ["SYSTEM", "Clock"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """A monotonic time in seconds, a way to sleep, and a random number between 0 and 1."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random


SYSTEM: Final = Clock()
