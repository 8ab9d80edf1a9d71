"""The code judge: a program that reads a case as JSON and writes a score."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from math import isfinite
from pathlib import Path
from typing import ClassVar, cast

from fieldmark.errors import OptionError
from fieldmark.evaluators.base import CaseScorer, Score
from fieldmark.judges.judge_protocol import (
    InvalidReplyError,
    encode_request,
    judge_request,
    read_reply,
)
from fieldmark.judges.managed_process import MEGABYTE, ProcessGroup, ProcessLimits
from fieldmark.judges.process_pool import ProcessPool, WorkerProgram
from fieldmark.judges.program import (
    check_environment,
    program_argv,
    program_environment,
    startup_problem,
)
from fieldmark.judges.redaction import Redactor
from fieldmark.judges.run_process import ProcessResult, quoted_errors, run_process
from fieldmark.model.case import Case, Verdict
from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["CodeJudge", "JudgeProtocol"]


class JudgeProtocol(StrEnum):
    """How a judge is asked: a process for each case, or one that stays and gets a line a case."""

    PROCESS = "process"
    LINES = "lines"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeJudge:
    """The score of a program: it reads a request, and writes a reply with a score in [0, 1].

    `script` is the program and its arguments; no shell ever sees them. `env` names variables to
    hand on, or gives them values. `max_output` is in bytes, `memory` in megabytes for each of its
    processes. Settings that are none of these reach the program as `config`.
    """

    name: ClassVar[str] = "code_judge"
    collects_unknown: ClassVar[str] = "config"

    script: tuple[str, ...]
    cwd: Path | None = None
    timeout: float = 30.0
    env: Mapping[str, str] | tuple[str, ...] = ()
    protocol: JudgeProtocol = JudgeProtocol.PROCESS
    workers: int = 1
    pass_threshold: float = 0.8
    max_output: int = MEGABYTE
    memory: int | None = None
    config: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.script or not self.script[0]:
            raise OptionError("script", "must name a program")
        if any("\0" in word for word in self.script):
            raise OptionError("script", "holds a character that no argument may hold")
        if not (isfinite(self.timeout) and self.timeout > 0):
            raise OptionError("timeout", f"must be more than 0 seconds, not {self.timeout:g}")
        if not 0 <= self.pass_threshold <= 1:
            message = f"must lie between 0 and 1, not {self.pass_threshold:g}"
            raise OptionError("pass_threshold", message)
        for option, number in (("workers", self.workers), ("max_output", self.max_output)):
            if number < 1:
                raise OptionError(option, f"must be at least 1, not {number}")
        if self.memory is not None and self.memory < 1:
            raise OptionError("memory", f"must be at least 1, not {self.memory}")
        if self.protocol not in tuple(JudgeProtocol):
            message = f"must be one of {', '.join(JudgeProtocol)}, not {self.protocol}"
            raise OptionError("protocol", message)
        if self.workers > 1 and self.protocol != JudgeProtocol.LINES:
            raise OptionError("workers", "belongs to protocol: lines")
        check_environment(self.env)

    def unready(self) -> str | None:
        """Return why the program cannot be started, without starting it."""
        return startup_problem(self.script, self.cwd, self.env)

    @contextmanager
    def opened(self) -> Iterator[CaseScorer]:
        """Open the judge for one run; leaving ends every process that was started."""
        env = program_environment(self.env)
        argv = program_argv(self.script, env)
        limits = ProcessLimits(
            seconds=self.timeout,
            output_bytes=self.max_output,
            memory_bytes=None if self.memory is None else self.memory * MEGABYTE,
            long_lived=self.protocol == JudgeProtocol.LINES,
        )
        redactor = Redactor.from_environment(env)
        with ProcessGroup() as group:
            if self.protocol == JudgeProtocol.PROCESS:

                def run(request: bytes) -> ProcessResult:
                    return run_process(
                        argv, stdin=request, cwd=self.cwd, env=env, limits=limits, group=group
                    )

                yield partial(self._judge, run, redactor)
                return
            # Without this, Python would buffer its lines.
            program = WorkerProgram(argv, self.cwd, {"PYTHONUNBUFFERED": "1", **env}, limits)
            with ProcessPool(program, self.workers, group) as pool:
                yield partial(self._judge, pool.ask, redactor)

    def _judge(
        self, ask: Callable[[bytes], ProcessResult], redactor: Redactor, case: Case
    ) -> Score:
        result = ask(encode_request(judge_request(case, self.config)))
        if result.failure is not None:
            return Score.error(result.reason)
        try:
            case_id = case.id if self.protocol == JudgeProtocol.LINES else None
            reply = read_reply(result.stdout, case_id)
        except InvalidReplyError as error:
            problem = redactor.redact(str(error))
            return Score.error(f"bad_reply: {problem}{quoted_errors(result.stderr)}")
        return Score(
            score=reply.score,
            verdict=Verdict.PASS if reply.score >= self.pass_threshold else Verdict.FAIL,
            hits=tuple(map(redactor.redact, reply.hits)),
            misses=tuple(map(redactor.redact, reply.misses)),
            reasoning=redactor.redact(reply.reasoning),
            details=cast("JsonObject", redactor.redact_value(reply.details)),
        )
