"""Exit codes. If several apply, the first in this order is used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fieldmark.analyses.run_result import RunResult


class ExitCode(IntEnum):
    """Exit codes, from the highest priority to success."""

    INTERRUPTED = 130
    LOCKED = 75
    STORAGE = 74
    BUG = 70
    BAD_INPUT = 2
    TOO_MANY_ERRORS = 3
    GATE_FAILED = 1
    PLATEAU = 11
    CONTINUE = 10
    OK = 0


MEANINGS: Final[Mapping[ExitCode, str]] = {
    ExitCode.OK: "success",
    ExitCode.GATE_FAILED: "a gate failed, or `lint` has findings",
    ExitCode.BAD_INPUT: "invalid input or usage",
    ExitCode.TOO_MANY_ERRORS: "too many evaluation errors, or no scored case",
    ExitCode.CONTINUE: "--trend: the target is not reached; continue",
    ExitCode.PLATEAU: "--trend: the target is not reached, and recent gains are too small",
    ExitCode.BUG: "a bug in fieldmark; FIELDMARK_DEBUG=1 prints the traceback",
    ExitCode.STORAGE: "results or output could not be written",
    ExitCode.LOCKED: "another process is writing to the run",
    ExitCode.INTERRUPTED: "interrupted",
}
"""The exit codes as help lists them."""
COMMON_CODES: Final = frozenset({ExitCode.OK, ExitCode.BAD_INPUT, ExitCode.STORAGE})
"""The exit codes of every command."""
RUN_CODES: Final = frozenset(ExitCode) - {ExitCode.CONTINUE, ExitCode.PLATEAU}
"""The exit codes of commands that make a run."""


def combine_exit_codes(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the code with the highest priority."""
    codes = set(codes)
    return next((code for code in ExitCode if code in codes), ExitCode.OK)


def run_exit_code(run: RunResult) -> ExitCode:
    """Return the exit code of a finished run."""
    from fieldmark.metrics.gates import RunFailure  # help and --version do not need it

    codes: Mapping[RunFailure, ExitCode] = {
        RunFailure.UNKNOWN_METRIC: ExitCode.BAD_INPUT,
        RunFailure.INVALID_TRUTH: ExitCode.BAD_INPUT,
        RunFailure.UNMET_SELECTION: ExitCode.BAD_INPUT,
        RunFailure.TOO_MANY_ERRORS: ExitCode.TOO_MANY_ERRORS,
        RunFailure.NOTHING_SCORED: ExitCode.TOO_MANY_ERRORS,
        RunFailure.FAILED_EVALUATOR: ExitCode.TOO_MANY_ERRORS,
        RunFailure.GATE_FAILED: ExitCode.GATE_FAILED,
    }
    return combine_exit_codes(codes[failure] for failure in run.summary.failures)
