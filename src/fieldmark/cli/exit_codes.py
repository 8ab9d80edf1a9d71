"""Exit codes. If several apply, the first in this order is used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fieldmark.run.result import RunResult

__all__ = ["MEANINGS", "ExitCode", "combine_exit_codes", "run_exit_code"]


class ExitCode(IntEnum):
    """Exit codes, from the highest priority to success."""

    INTERRUPTED = 130
    LOCKED = 75
    STORAGE = 74
    BUG = 70
    BAD_INPUT = 2
    TOO_MANY_ERRORS = 3
    GATE_FAILED = 1
    OK = 0


MEANINGS: Final[Mapping[ExitCode, str]] = {
    ExitCode.OK: "success",
    ExitCode.GATE_FAILED: "a gate failed",
    ExitCode.BAD_INPUT: "invalid input or usage",
    ExitCode.TOO_MANY_ERRORS: "too many evaluation errors",
    ExitCode.BUG: "a bug in fieldmark; FIELDMARK_DEBUG=1 prints the traceback",
    ExitCode.STORAGE: "results or output could not be written",
    ExitCode.LOCKED: "another process is writing to the run",
    ExitCode.INTERRUPTED: "interrupted",
}
"""The exit codes as help lists them."""


def combine_exit_codes(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the code with the highest priority."""
    given = set(codes)
    return next((code for code in ExitCode if code in given), ExitCode.OK)


def run_exit_code(run: RunResult, max_errors: int | None = None) -> ExitCode:
    """Return the exit code of a finished run.

    `max_errors` overrides the limit of the run on cases with evaluation errors.
    """
    cases = run.summary.cases
    codes = []
    if cases.invalid_truth or not all(gate.known for gate in run.summary.gates):
        codes.append(ExitCode.BAD_INPUT)
    too_many = cases.errors > (run.max_errors if max_errors is None else max_errors)
    if too_many or any(each.error for each in run.summary.evaluators.values()):
        codes.append(ExitCode.TOO_MANY_ERRORS)
    if not run.passed:
        codes.append(ExitCode.GATE_FAILED)
    return combine_exit_codes(codes)
