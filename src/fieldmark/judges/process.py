"""Programs that are run contained: their time, their output and their children have limits."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from fieldmark.judges.contained import Contained
from fieldmark.judges.escapees import kill_marked
from fieldmark.judges.leash import Leash, Stopped
from fieldmark.judges.limits import LIMITS, ProcessLimits
from fieldmark.judges.secrecy import Secrets
from fieldmark.judges.streams import Pumped, Streams

__all__ = [
    "LIMITS",
    "Failure",
    "Finished",
    "Leash",
    "ProcessLimits",
    "failed",
    "not_started",
    "run_contained",
]


class Failure(StrEnum):
    """Why a program gave no answer that can be used."""

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
class Finished:
    """What a program left behind.

    `failure` is nothing exactly if it ended by itself with exit code 0, and `reason` says a
    failure in words, with the end of what the program wrote to standard error. Values of
    variables that look like secrets are taken out of both texts, not out of `stdout`.
    """

    stdout: bytes = b""
    stderr: str = ""
    code: int | None = None
    signal: str | None = None
    failure: Failure | None = None
    reason: str = ""


def run_contained(
    argv: Sequence[str],
    *,
    stdin: bytes = b"",
    cwd: Path | None = None,
    env: Mapping[str, str],
    limits: ProcessLimits = LIMITS,
    leash: Leash | None = None,
) -> Finished:
    r"""Run a program to its end, or end it with everything that it started.

    `argv` is the program and its arguments, never a shell's text; `env` is its whole environment.
    A leash ends it from another thread.

    >>> run_contained(["echo", "hello"], env={"PATH": "/usr/bin:/bin"}).stdout
    b'hello\n'
    """
    if len(stdin) > limits.input_bytes:
        told = f"the request has {len(stdin):,} bytes, at most {limits.input_bytes:,} are sent"
        return failed(Failure.INPUT_LIMIT, told)
    leash = Leash() if leash is None else leash
    try:
        with leash.holding():
            return _run(argv, stdin, cwd, env, limits, leash)
    except Stopped:
        return failed(Failure.INTERRUPTED, "the run was interrupted")
    except (OSError, ValueError) as error:
        return not_started(argv[0], error)


def _run(
    argv: Sequence[str],
    stdin: bytes,
    cwd: Path | None,
    env: Mapping[str, str],
    limits: ProcessLimits,
    leash: Leash,
) -> Finished:
    deadline = time.monotonic() + limits.seconds
    mark = leash.new_mark()
    try:
        with (
            Contained(argv, cwd=cwd, env=env, limits=limits, mark=mark) as program,
            Streams(program, limits) as streams,
        ):
            streams.send(stdin, last=True)
            pumped = streams.until_exit(deadline, leash)
            program.end()
            streams.drain()
            pumped = Pumped.FLOODED if streams.flooded else pumped
    except KeyboardInterrupt:
        # It may have come while the program was being started and had no owner yet.
        kill_marked(mark)
        raise
    return _finished(pumped, program, streams, env, limits)


def failed(failure: Failure, told: str, stderr: str = "") -> Finished:
    """The end of a program without an answer, in words."""
    return Finished(
        failure=failure, stderr=stderr, reason=f"{failure}: {told}{quoted_tail(stderr)}"
    )


def not_started(program: str, error: OSError | ValueError) -> Finished:
    """A program that the system would not start."""
    words = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return failed(Failure.NOT_STARTED, f"{program} cannot be started: {words}")


def _finished(
    pumped: Pumped,
    program: Contained,
    streams: Streams,
    env: Mapping[str, str],
    limits: ProcessLimits,
) -> Finished:
    failure, told = _fate(pumped, program, limits)
    stderr = Secrets.of(env).hidden(streams.tail) if streams.tail else ""
    return Finished(
        stdout=bytes(streams.output),
        stderr=stderr,
        code=program.code,
        signal=program.signal,
        failure=failure,
        reason="" if failure is None else failed(failure, told, stderr).reason,
    )


def _fate(pumped: Pumped, program: Contained, limits: ProcessLimits) -> tuple[Failure | None, str]:
    if pumped is Pumped.LATE:
        return Failure.TIMEOUT, f"no end after {limits.seconds:g} s"
    if pumped is Pumped.FLOODED:
        return Failure.OUTPUT_LIMIT, limits.flood
    if pumped is Pumped.STOPPED:
        return Failure.INTERRUPTED, "the run was interrupted"
    if program.signal is not None:
        return Failure.SIGNAL, f"ended by {program.signal}"
    if program.code:
        return Failure.EXIT_STATUS, f"ended with exit code {program.code}"
    return None, ""


_QUOTED = 1_000


def quoted_tail(stderr: str) -> str:
    """The last words of a program, as they follow a reason."""
    words = stderr.strip()
    if not words:
        return ""
    dots = "…" if len(words) > _QUOTED else ""
    return f"; it last said: {dots}{words[-_QUOTED:]}"
