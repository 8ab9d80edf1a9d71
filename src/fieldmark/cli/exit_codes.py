"""Exit codes. When several apply, the first in this order wins."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fieldmark.run.run_result import RunResult

__all__ = ["ExitCode", "run_exit_code", "strongest"]


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
    """Return the code that wins when several apply."""
    found = set(codes)
    return next((code for code in ExitCode if code in found), ExitCode.OK)


def run_exit_code(run: RunResult, max_errors: int | None = None) -> ExitCode:
    """Return the strongest code that applies to a finished run.

    Without `max_errors`, the run itself says how many cases may fail to be evaluated.
    """
    cases = run.summary.cases
    codes = []
    if cases.invalid_truth or not all(gate.known for gate in run.summary.gates):
        codes.append(ExitCode.BAD_INPUT)
    if cases.errors > (run.max_errors if max_errors is None else max_errors):
        codes.append(ExitCode.TOO_MANY_ERRORS)
    if not run.passed:
        codes.append(ExitCode.GATE_FAILED)
    return strongest(codes)
