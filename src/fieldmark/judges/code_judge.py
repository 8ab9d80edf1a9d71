"""The code judge: a program that reads a case as JSON and writes a score."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar, cast

from fieldmark.errors import OptionError
from fieldmark.evaluators.base import CODE_JUDGE, CaseScorer, Score
from fieldmark.judges.judge_protocol import (
    InvalidResponseError,
    encode_request,
    judge_request,
    parse_response,
)
from fieldmark.judges.managed_process import (
    ProcessGroup,
    ProcessPool,
    ProcessResult,
    run_process,
    stderr_suffix,
)
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
from fieldmark.values.annotations import CommandLine, PositiveFloat, PositiveInt, Share
from fieldmark.values.strategy_options import check_options


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

    name: ClassVar[str] = CODE_JUDGE
    collects_unknown: ClassVar[str] = "config"

    script: Annotated[tuple[str, ...], CommandLine()]
    cwd: Path | None = None
    timeout: PositiveFloat = 30.0
    env: Mapping[str, str] | tuple[str, ...] = ()
    protocol: JudgeProtocol = JudgeProtocol.PROCESS
    workers: PositiveInt = 1
    pass_threshold: Share = 0.8
    max_output: PositiveInt = MEGABYTE
    memory: PositiveInt | None = None
    on_error: OnError = OnError.UNDEFINED
    config: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_options(self)
        if self.workers > 1 and self.protocol is not JudgeProtocol.LINES:
            raise OptionError("workers", "requires protocol: lines")
        check_environment(self.env)

    def unready(self) -> str | None:
        """Return why the program cannot be started, or `None`; the program is not started."""
        return startup_problem(self.script, self.cwd, self.env)

    @contextmanager
    def opened(self) -> Iterator[CaseScorer]:
        """Open the judge for one run; leaving the context ends all its processes."""
        by_lines = self.protocol is JudgeProtocol.LINES
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
            case_id = case.id if self.protocol is JudgeProtocol.LINES else None
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
