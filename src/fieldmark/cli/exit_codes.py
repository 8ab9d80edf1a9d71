"""What the command's exit code says. When several apply, the first in this order wins."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

__all__ = ["ExitCode", "strongest"]


class ExitCode(IntEnum):
    """Exit codes, strongest first, success last."""

    INTERRUPTED = 130
    LOCKED = 75
    STORAGE = 74
    BUG = 70
    BAD_INPUT = 2
    TOO_MANY_ERRORS = 3
    GATE_FAILED = 1
    OK = 0


def strongest(codes: Iterable[ExitCode]) -> ExitCode:
    """The code that wins when several apply."""
    found = set(codes)
    return next((code for code in ExitCode if code in found), ExitCode.OK)
