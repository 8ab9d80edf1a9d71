"""Runs a program once, with limits on its time, its output and its children."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from fieldmark.judges.managed_process import (
    LIMITS,
    GroupStopped,
    ManagedProcess,
    ProcessGroup,
    ProcessLimits,
    kill_marked,
)
from fieldmark.judges.process_pipes import PipeState, ProcessPipes
from fieldmark.judges.redaction import Redactor

__all__ = [
    "ProcessFailure",
    "ProcessResult",
    "failed",
    "input_too_large",
    "interrupted",
    "not_started",
    "quoted_errors",
    "run_process",
]

_MAX_QUOTED: Final = 1_000


class ProcessFailure(StrEnum):
    """Why a program returned no usable answer."""

    NOT_STARTED = "not_started"
    TIMEOUT = "timeout"
    OUTPUT_LIMIT = "output_limit"
    INPUT_LIMIT = "input_limit"
    EXIT_STATUS = "exit_status"
    SIGNAL = "signal"
    INTERRUPTED = "interrupted"
    DIED = "died"
    OUT_OF_STEP = "out_of_step"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessResult:
    """The output and the exit status of a program.

    `failure` is none if it exited by itself with code 0. `reason` describes the failure and quotes
    the end of standard error. Secrets are redacted from `stderr` and `reason`, not from `stdout`.
    """

    stdout: bytes = b""
    stderr: str = ""
    exit_code: int | None = None
    signal: str | None = None
    failure: ProcessFailure | None = None
    reason: str = ""


def run_process(
    argv: Sequence[str],
    *,
    stdin: bytes = b"",
    cwd: Path | None = None,
    env: Mapping[str, str],
    limits: ProcessLimits = LIMITS,
    group: ProcessGroup | None = None,
) -> ProcessResult:
    r"""Run a program until it exits, or kill it with everything that it started.

    There is no shell, and `env` is the complete environment. Stopping the group from another
    thread ends the program.

    >>> run_process(["echo", "hello"], env={"PATH": "/usr/bin:/bin"}).stdout
    b'hello\n'
    """
    if len(stdin) > limits.input_bytes:
        return input_too_large(stdin, limits)
    group = ProcessGroup() if group is None else group
    try:
        with group.running():
            deadline = time.monotonic() + limits.seconds
            marker = group.new_marker()
            try:
                with (
                    ManagedProcess(argv, cwd=cwd, env=env, limits=limits, marker=marker) as program,
                    closing(ProcessPipes(program, limits)) as pipes,
                ):
                    pipes.send(stdin, last=True)
                    state = pipes.wait_for_exit(deadline, group)
                    program.end()
                    pipes.drain()
            except KeyboardInterrupt:
                # It may have come while the program was starting and no context owned it yet.
                kill_marked(marker)
                raise
    except GroupStopped:
        return interrupted()
    except (OSError, ValueError) as error:
        return not_started(argv[0], error)
    state = PipeState.TOO_MUCH_OUTPUT if pipes.too_much_output else state
    failure, message = _failure(state, program, limits)
    tail = pipes.error_tail
    stderr = Redactor.from_environment(env).redact(tail) if tail else ""
    ended = ProcessResult(stderr=stderr) if failure is None else failed(failure, message, stderr)
    return replace(
        ended,
        stdout=bytes(pipes.output),
        exit_code=program.exit_code,
        signal=program.signal,
    )


def _failure(
    state: PipeState, program: ManagedProcess, limits: ProcessLimits
) -> tuple[ProcessFailure | None, str]:
    if state is PipeState.TIMED_OUT:
        return ProcessFailure.TIMEOUT, f"no end after {limits.seconds:g} s"
    if state is PipeState.TOO_MUCH_OUTPUT:
        return ProcessFailure.OUTPUT_LIMIT, limits.output_message
    if state is PipeState.STOPPED:
        return ProcessFailure.INTERRUPTED, "the run was interrupted"
    if program.signal is not None:
        return ProcessFailure.SIGNAL, f"ended by {program.signal}"
    if program.exit_code:
        return ProcessFailure.EXIT_STATUS, f"ended with exit code {program.exit_code}"
    return None, ""


def failed(failure: ProcessFailure, message: str, stderr: str = "") -> ProcessResult:
    """Return the result of a program without an answer."""
    reason = f"{failure}: {message}{quoted_errors(stderr)}"
    return ProcessResult(failure=failure, stderr=stderr, reason=reason)


def input_too_large(stdin: bytes, limits: ProcessLimits) -> ProcessResult:
    """Return the result for an input that is not sent."""
    message = f"the request has {len(stdin):,} bytes, at most {limits.input_bytes:,} are sent"
    return failed(ProcessFailure.INPUT_LIMIT, message)


def interrupted() -> ProcessResult:
    """Return the result of a program that was not started because its group was stopped."""
    return failed(ProcessFailure.INTERRUPTED, "the run was interrupted")


def not_started(program: str, error: OSError | ValueError) -> ProcessResult:
    """Return the result of a program that the system did not start."""
    message = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return failed(ProcessFailure.NOT_STARTED, f"{program} cannot be started: {message}")


def quoted_errors(stderr: str) -> str:
    """Return the end of standard error, as it is appended to a reason."""
    text = stderr.strip()
    if not text:
        return ""
    dots = "…" if len(text) > _MAX_QUOTED else ""
    return f"; it last said: {dots}{text[-_MAX_QUOTED:]}"
