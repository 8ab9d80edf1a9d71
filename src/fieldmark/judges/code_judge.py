"""A program of the user that scores cases: JSON on its standard input, JSON on its output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from math import isfinite
from pathlib import Path
from typing import ClassVar, cast

from fieldmark.errors import OptionError
from fieldmark.evaluators.base import CaseScorer, Score
from fieldmark.judges.environment import check_declared, environment
from fieldmark.judges.leash import Leash
from fieldmark.judges.limits import MEGABYTE, ProcessLimits
from fieldmark.judges.lines import Crew, Post
from fieldmark.judges.preflight import program_of, unready_program
from fieldmark.judges.process import Finished, quoted_tail, run_contained
from fieldmark.judges.reply import BadReply, read_reply
from fieldmark.judges.request import request_of, written
from fieldmark.judges.secrecy import Secrets
from fieldmark.model.case import Case, Verdict
from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["CodeJudge", "Protocol"]


class Protocol(StrEnum):
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
    protocol: Protocol = Protocol.PROCESS
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
            told = f"must lie between 0 and 1, not {self.pass_threshold:g}"
            raise OptionError("pass_threshold", told)
        for option, number in (("workers", self.workers), ("max_output", self.max_output)):
            if number < 1:
                raise OptionError(option, f"must be at least 1, not {number}")
        if self.memory is not None and self.memory < 1:
            raise OptionError("memory", f"must be at least 1, not {self.memory}")
        if self.protocol not in tuple(Protocol):
            told = f"must be one of {', '.join(Protocol)}, not {self.protocol}"
            raise OptionError("protocol", told)
        if self.workers > 1 and self.protocol != Protocol.LINES:
            raise OptionError("workers", "belongs to protocol: lines")
        check_declared(self.env)

    def unready(self) -> str | None:
        """Why the program cannot be started; nothing if it probably can."""
        return unready_program(self.script, self.cwd, self.env)

    def opened(self) -> AbstractContextManager[CaseScorer]:
        """What scores the cases of one run; leaving it ends every process that was started."""
        return self._opened()

    @contextmanager
    def _opened(self) -> Iterator[CaseScorer]:
        env = environment(self.env)
        argv = program_of(self.script, env)
        secrets = Secrets.of(env)
        with Leash() as leash:
            if self.protocol == Protocol.PROCESS:
                ask = partial(_ask_once, argv, self.cwd, env, self._limits(), leash)
                yield partial(self._judge, ask, secrets)
                return
            # Python would keep lines back until it has many of them.
            post = Post(
                argv=argv,
                cwd=self.cwd,
                env={"PYTHONUNBUFFERED": "1", **env},
                limits=self._limits(),
            )
            with Crew(post, self.workers, leash) as crew:
                yield partial(self._judge, crew.ask, secrets)

    def _limits(self) -> ProcessLimits:
        return ProcessLimits(
            seconds=self.timeout,
            output_bytes=self.max_output,
            memory_bytes=None if self.memory is None else self.memory * MEGABYTE,
            long_lived=self.protocol == Protocol.LINES,
        )

    def _judge(self, ask: Callable[[bytes], Finished], secrets: Secrets, case: Case) -> Score:
        finished = ask(written(request_of(case, self.config)))
        if finished.failure is not None:
            return Score.error(finished.reason)
        named = case.id if self.protocol == Protocol.LINES else None
        try:
            reply = read_reply(finished.stdout, named)
        except BadReply as error:
            return Score.error(
                f"bad_reply: {secrets.hidden(str(error))}{quoted_tail(finished.stderr)}"
            )
        return Score(
            score=reply.score,
            verdict=Verdict.PASS if reply.score >= self.pass_threshold else Verdict.FAIL,
            hits=tuple(map(secrets.hidden, reply.hits)),
            misses=tuple(map(secrets.hidden, reply.misses)),
            reasoning=secrets.hidden(reply.reasoning),
            details=cast("JsonObject", secrets.hidden_in(reply.details)),
        )


def _ask_once(
    argv: tuple[str, ...],
    cwd: Path | None,
    env: Mapping[str, str],
    limits: ProcessLimits,
    leash: Leash,
    request: bytes,
) -> Finished:
    return run_contained(argv, stdin=request, cwd=cwd, env=env, limits=limits, leash=leash)
