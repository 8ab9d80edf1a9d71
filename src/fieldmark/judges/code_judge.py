"""The code judge: a program that reads a case as JSON and writes a score."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import ClassVar, cast

from fieldmark.compare.options import checked_choice
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import CaseScorer, Score
from fieldmark.judges.judge_protocol import (
    InvalidResponseError,
    encode_request,
    judge_request,
    parse_response,
)
from fieldmark.judges.managed_process import (
    ProcessGroup,
    ProcessResult,
    run_process,
    stderr_suffix,
)
from fieldmark.judges.process_pool import ProcessPool
from fieldmark.judges.program import (
    MEGABYTE,
    ProcessLimits,
    Program,
    check_environment,
    startup_problem,
)
from fieldmark.judges.redaction import Redactor
from fieldmark.metrics.conventions import OnError
from fieldmark.model.case import Case
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.strict_json import is_finite

__all__ = ["CodeJudge", "JudgeProtocol"]


class JudgeProtocol(StrEnum):
    """How a judge receives its requests: one process per case, or one line per case."""

    PROCESS = "process"
    LINES = "lines"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeJudge:
    """Score a case with a program that reads a JSON request and writes a JSON response.

    `script` is the program and its arguments; it is not passed to a shell. `env` lists environment
    variables to pass on, or sets them. `max_output` is in bytes, `memory` in megabytes per process.
    With `on_error: zero`, a case that cannot be judged scores 0 and is not an error.
    All other settings are passed to the program as `config`.
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
    on_error: OnError = OnError.UNDEFINED
    config: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.script or not self.script[0]:
            raise OptionError("script", "must name a program")
        if any("\0" in word for word in self.script):
            raise OptionError("script", "must not contain NUL characters")
        if not (is_finite(self.timeout) and self.timeout > 0):
            raise OptionError("timeout", f"must be greater than 0, got {self.timeout:g}")
        if not 0 <= self.pass_threshold <= 1:
            message = f"must be a number from 0 to 1, got {self.pass_threshold:g}"
            raise OptionError("pass_threshold", message)
        for option, number in (("workers", self.workers), ("max_output", self.max_output)):
            if number < 1:
                raise OptionError(option, f"must be at least 1, got {number}")
        if self.memory is not None and self.memory < 1:
            raise OptionError("memory", f"must be at least 1, got {self.memory}")
        if self.protocol not in tuple(JudgeProtocol):
            message = f"must be one of: {', '.join(JudgeProtocol)}; got {str(self.protocol)!r}"
            raise OptionError("protocol", message)
        if self.workers > 1 and self.protocol != JudgeProtocol.LINES:
            raise OptionError("workers", "requires protocol: lines")
        object.__setattr__(self, "on_error", checked_choice("on_error", self.on_error, OnError))
        check_environment(self.env)

    def unready(self) -> str | None:
        """Return why the program cannot be started, or `None`; the program is not started."""
        return startup_problem(self.script, self.cwd, self.env)

    @contextmanager
    def opened(self) -> Iterator[CaseScorer]:
        """Open the judge for one run; leaving the context ends all its processes."""
        by_lines = self.protocol == JudgeProtocol.LINES
        limits = ProcessLimits(
            seconds=self.timeout,
            output_bytes=self.max_output,
            memory_bytes=None if self.memory is None else self.memory * MEGABYTE,
            long_lived=by_lines,
        )
        program = Program.from_options(self.script, self.env, self.cwd, limits)
        with ProcessGroup() as group:
            if by_lines:
                with ProcessPool(program, self.workers, group) as pool:
                    yield partial(self._judge, pool.request, program.redactor)
            else:
                run = partial(run_process, program, group=group)
                yield partial(self._judge, run, program.redactor)

    def _judge(
        self, run: Callable[[bytes], ProcessResult], redactor: Redactor, case: Case
    ) -> Score:
        result = run(encode_request(judge_request(case, self.config)))
        if result.failure is not None:
            return Score.error(result.reason)
        try:
            case_id = case.id if self.protocol == JudgeProtocol.LINES else None
            score = parse_response(result.stdout, self.pass_threshold, case_id)
        except InvalidResponseError as error:
            problem = redactor.redact(str(error))
            return Score.error(f"bad_reply: {problem}{stderr_suffix(result.stderr)}")
        return replace(
            score,
            hits=tuple(map(redactor.redact, score.hits)),
            misses=tuple(map(redactor.redact, score.misses)),
            reasoning=redactor.redact(score.reasoning),
            details=cast("JsonObject", redactor.redact_value(score.details)),
        )
